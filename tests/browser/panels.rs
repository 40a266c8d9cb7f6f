//! The sides of the workbench: what each says, what leaves the page from it, and how one gets there.

use std::fs;

use collectune::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale},
    tuning::campaign::{
        Job,
        journal::{Brought, Journal, JournalEntry, LaunchOutcome, Phase, Requested},
    },
};

use crate::{
    look::{assert_fits, assert_readable},
    page::{Page, key},
    support::real,
    sweep::{noisy_sweep, sweep},
};

const PANELS: [&str; 8] = ["Answer", "Heat map", "Model", "Noise", "Tuner files", "Coverage", "Measure next", "A/B"];

fn with_sweep() -> Page {
    Page::with_files(&[("sweep.csv", sweep(12, 8).as_bytes())])
}

fn show(page: &Page, panel: &str) {
    page.click("tab", panel);
    page.wait_until_idle();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_panel_is_part_of_the_address() {
    let page = with_sweep();
    assert!(!page.fragment().contains("p="), "{}", page.fragment());
    show(&page, "Noise");
    assert!(page.fragment().ends_with("&p=noise"), "{}", page.fragment());
    page.tab_to("tab", "Noise");
    page.press(key::RIGHT);
    page.wait_until(|| page.fragment().ends_with("&p=tuner-files"), "the arrow goes to the next panel");
    page.run("history.back()", &[]);
    page.wait_until(|| page.fragment().ends_with("&p=noise"), "Back goes to the panel before");
    page.find("heading", "Runs behind the answer");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn no_panel_asks_the_host_for_anything() {
    let page = with_sweep();
    let before = page.requests();
    for panel in PANELS {
        show(&page, panel);
    }
    assert_eq!(page.requests(), before);
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn every_panel_fits_a_narrow_window_and_is_readable() {
    let page = with_sweep();
    for scheme in ["light", "dark"] {
        page.prefer_color_scheme(scheme);
        page.resize(360, 740);
        for panel in PANELS {
            page.run(
                "[...document.querySelectorAll('[role=tab]')].find((t) => t.innerText === arguments[0]).click()",
                &[panel.into()],
            );
            page.wait_until_idle();
            assert_fits(&page);
            assert_readable(&page, scheme);
        }
    }
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_stalled_run_is_named_and_brought_back() {
    let page = Page::with_files(&[("noisy.csv", noisy_sweep().as_bytes())]);
    show(&page, "Noise");
    page.wait_for_text("set aside");
    let stalls = page.text_in("region", "By workload");
    assert!(stalls.contains("noisy.csv") && stalls.contains("set aside"), "{stalls}");
    page.click("checkbox", "Use them all like any other run");
    page.wait_until_idle();
    page.wait_until(|| !page.text_in("region", "By workload").contains("set aside"), "the stalls are used");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_configuration_is_set_aside_by_hand() {
    let page = with_sweep();
    show(&page, "Noise");
    let winner = page.text_of("return document.querySelector('.row-button').innerText");
    page.click("button", &winner);
    page.wait_until_idle();
    page.find("heading", &format!("Runs of {winner}"));
    page.find("heading", "Set aside by hand");
    let aside = format!("{winner} of all_reduce");
    let switch = page.text_of(&format!(
        "return [...document.querySelectorAll('label.check')].map((l) => l.innerText).find((t) => t.startsWith('{aside}'))"
    ));
    page.click("checkbox", &switch);
    page.wait_until_idle();
    let standing = || page.text_in("region", "What was measured; open a row to see its runs");
    page.wait_until(|| standing().contains("set aside"), "it is set aside at this size");
    page.wait_for_text("validated on held-out measurements");
    page.click("checkbox", &switch);
    page.wait_until_idle();
    page.wait_until(|| !standing().contains("set aside"), "nothing is set aside any more");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_tuner_file_is_written() {
    let page = with_sweep();
    show(&page, "Tuner files");
    let saved = page.download(|| page.click("button", "Save nccl_tuner.conf"));
    let saved = String::from_utf8(saved).unwrap();
    assert!(saved.lines().any(|line| line.starts_with("allreduce,0,")), "{saved}");
    page.unfold();
    assert!(page.rows("What this reader will run") > 0);
    page.choose("Read by", "RCCL");
    page.wait_for_text("rccl_tuner_");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_dropped_tuner_file_is_checked_and_laid_over_the_sweep() {
    let page = Page::open();
    let conf = "# ours\nallreduce,4096,1048576,-1,simple,8,2,16,-1,-1\nalltoall,0,4096,ring,ll,4,2,16,-1,-1\n";
    page.drop_files(&[("old.conf", conf.as_bytes())]);
    page.wait_until_idle();
    assert!(page.fragment().ends_with("p=tuner-files"), "{}", page.fragment());
    let findings = page.text_in("region", "Findings");
    assert!(findings.contains("half-wildcard") && findings.contains("unknown-collective"), "{findings}");
    page.drop_files(&[("sweep.csv", sweep(12, 8).as_bytes())]);
    page.wait_until_idle();
    show(&page, "Tuner files");
    page.unfold();
    assert_eq!(page.rows("What it would choose at the measured sizes"), 12);
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_tuner_file_of_two_thousand_rules_stays_interactive() {
    let mut conf = String::new();
    for rule in 0..2000_u64 {
        conf += &format!("allreduce,{},{},ring,-1,8,2,16,-1,-1\n", rule * 4096, rule * 4096 + 4095);
    }
    let page = with_sweep();
    page.drop_files(&[("large.conf", conf.as_bytes())]);
    page.wait_until_idle();
    page.find("region", "Findings");
    page.run(
        "window.long = []; new PerformanceObserver((list) => long.push(...list.getEntries().map((e) => e.duration)))
             .observe({ type: 'longtask' });",
        &[],
    );
    page.choose("Read by", "DN-TUNER");
    page.wait_until_idle();
    let longest = page.run("return Math.max(0, ...long)", &[]).as_f64().unwrap();
    // A loaded machine makes every task longer; a page that draws all rules at once takes ten times as long.
    assert!(longest < 2000.0, "the page froze for {longest} ms");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn what_a_job_sends_is_held_against_the_rules() {
    let page = with_sweep();
    page.drop_files(&[("deployed.conf", b"allreduce,0,65536,tree,ll,8,2,16,-1,-1\n")]);
    page.wait_until_idle();
    show(&page, "Coverage");
    page.fill("Batch sizes or tokens", "1, 23");
    page.click("button", "Show");
    page.wait_until_idle();
    assert_eq!(page.rows("Calls"), 2);
    let calls = page.text_in("region", "Calls");
    assert!(calls.contains("16 KiB") && calls.contains("368 KiB"), "{calls}");
    page.find("heading", "Called and never measured");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_log_of_a_job_opens_its_coverage() {
    let mut log = String::new();
    for call in 0..40 {
        log += &format!(
            "node1:123:456 [0] NCCL INFO AllReduce: opCount {call:x} sendbuff 0x7f recvbuff 0x7e count 184320 datatype 9 \
             op 0 root 0 comm 0x55aa [nranks=16] stream 0x66\n"
        );
    }
    log += "node1:123:456 [0] NCCL INFO AllReduce: 368640 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..3}\n";
    let page = Page::with_files(&[("job.log", log.as_bytes())]);
    assert!(page.fragment().ends_with("p=coverage"), "{}: {}", page.fragment(), page.text());
    // One call is decided, of the others no line shows the path; a row leads to the line that shows its own.
    page.wait_for_text("A tuner file can move 1 of 40 calls");
    assert_eq!((page.rows("Paths through the library"), page.rows("The path of each call")), (2, 2));
    let decided = "[...document.querySelectorAll('tr')].find((row) => row.innerText.includes('job.log:41'))";
    page.run(&format!("{decided}.querySelector('button').focus()"), &[]);
    page.press(key::ENTER);
    let dialog = || page.text_in("dialog", "job.log, line 41");
    page.wait_until(|| dialog().contains("Algo TREE proto LL"), "the line is shown");
    page.press(key::ESCAPE);
    page.wait_until(|| page.run("return !document.querySelector('dialog[open]')", &[]) == true, "Escape closes it");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn what_to_measure_next_leaves_as_a_script() {
    let page = with_sweep();
    show(&page, "Measure next");
    let script = String::from_utf8(page.download(|| page.click("button", "Save measure.sh"))).unwrap();
    assert!(script.starts_with("#!/usr/bin/env bash\n") && script.contains("all_reduce_perf"), "{script}");
    page.choose("Launched by", "srun");
    page.wait_for_text("srun");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_comparison_is_judged_rule_by_rule_with_shared_data() {
    let folder = real::path("tuning");
    let read = |name: &str| fs::read(folder.join("ab").join(name)).unwrap();
    let page = Page::with_files(&[
        ("allreduce_1n.per_size_stats.csv", &read("allreduce_1n.per_size_stats.csv")),
        ("allreduce_1n_candidate.conf", &read("allreduce_1n_candidate.conf")),
    ]);
    assert!(page.fragment().ends_with("p=ab"), "{}", page.fragment());
    assert_eq!(page.rows("By rule"), 12);
    assert_eq!(page.rows("By size"), 18);
    let trimmed = page.download(|| page.click("button", "Save allreduce_1n_candidate.trimmed.conf"));
    let trimmed = String::from_utf8(trimmed).unwrap();
    assert_eq!(trimmed.lines().filter(|line| line.starts_with("allreduce,")).count(), 5, "{trimmed}");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_log_that_does_not_say_what_ran_is_asked_about() {
    let mut log = String::from(
        "# nThread 1 nGpus 8 minBytes 8 maxBytes 64 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1\n\
         # Collective test starting: all_reduce_perf\n# Using devices\n",
    );
    for rank in 0..8 {
        log += &format!("#  Rank {rank:2} Group  0 Pid   1234 on    node1 device {rank:2} [0x0{rank}] AMD\n");
    }
    for size in (10..24).map(|power| 1_u64 << power) {
        let time_us = 20.0 + size as f64 / 1e5;
        let algbw = size as f64 / time_us / 1000.0;
        let half = format!("{time_us:.2} {algbw:.2} {:.2} 0", algbw * 1.75);
        log += &format!("{size} {} float sum -1 {half} {half}\n", size / 4);
    }
    let page = Page::open();
    page.drop_files(&[("job.log", log.as_bytes())]);
    page.find("heading", "What ran?");
    page.click("checkbox", "The library chose by itself");
    page.click("button", "Read");
    page.wait_until_idle();
    page.unfold();
    page.wait_for_text("14 of them default runs");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_report_is_shown_as_a_table() {
    let page = Page::open();
    let report = "collective,num_nodes,size_bytes,algo,proto,nchannels,winner_busbw,default_busbw,predicted_gain_pct\n\
                  all_reduce,2,4096,TREE,LL,2,0.2,0.18,11.1\n";
    page.drop_files(&[("predicted_gains.csv", report.as_bytes())]);
    page.wait_until_idle();
    assert!(page.fragment().ends_with("p=tables"), "{}", page.fragment());
    assert_eq!(page.rows("Content"), 1);
    page.assert_clean();
}

/// The journal of a search in which the fifth of six launches failed.
fn journal() -> String {
    let entry = |launch: u32| {
        let channels = 4 << launch;
        let configuration = Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Ll128, channels };
        let is_measured = launch != 5;
        let brought =
            Brought { sizes: launch % 3, most_pct: 12.5, mean_gain_pct: Some(f64::from(launch.min(4)) * 3.5 - 3.5) };
        JournalEntry {
            launch,
            phase: Phase::Search,
            job: Job { collective: Collective::AllReduce, scale: Scale { nodes: 2, ranks: 16 } },
            requested: if launch == 1 { Requested::Default } else { Requested::Configuration(configuration) },
            repeat: 1,
            why: "Expected to change the answer, most at 1 MiB".to_owned(),
            expected_pct: Some(3.0),
            log: format!("logs/{launch}.log"),
            began_s: 1,
            seconds: 20.0,
            outcome: if is_measured {
                LaunchOutcome::Measured
            } else {
                LaunchOutcome::Failed("<b>node 7</b> did not answer".to_owned())
            },
            brought: is_measured.then_some(brought),
        }
    };
    (1..=6).map(entry).map(|entry| Journal::line(&entry)).collect()
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_journal_of_a_campaign_shows_the_history_of_its_search() {
    let page = Page::with_files(&[("journal.jsonl", journal().as_bytes())]);
    page.wait_for_text("Search history");
    assert!(page.fragment().ends_with("p=campaign"), "{}", page.fragment());
    let said = page.text_in("region", "Search history");
    assert!(said.contains("6 launches, of which 1 left no measurements; they took 2 min"), "{said}");
    assert!(said.contains("is +10.5 %; launch 4 was the first"), "{said}");
    assert!(said.contains("<b>node 7</b> did not answer"), "{said}");
    page.find("img", "after launch 6 the mean gain of the fastest so far");
    // Beside a sweep the answer comes first, and the tab stays.
    page.drop_files(&[("sweep.csv", sweep(12, 8).as_bytes())]);
    page.wait_until_idle();
    show(&page, "Campaign");
    for scheme in ["light", "dark"] {
        page.prefer_color_scheme(scheme);
        page.resize(360, 740);
        page.wait_until_idle();
        assert_fits(&page);
        assert_readable(&page, scheme);
    }
    page.assert_clean();
}
