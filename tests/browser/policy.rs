//! Policies from reward logs: a log is dropped, and its verdict and a replay are there without another click.

use crate::{
    loading::dist,
    look::assert_fits_a_phone,
    page::{Page, key},
};

fn example() -> Page {
    let page = Page::open_at("#v=1&w=policy");
    page.click("button", "Open the example");
    page.wait_until_idle();
    page.wait_for_text("This is the example: simulated rewards, not measurements.");
    page
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_example_opens_with_one_click_and_is_judged() {
    let page = example();
    assert_eq!(page.fragment(), "#v=1&w=policy&x=1");
    // 25 ms of computation: the faster arm takes more of the machine, and loses beside it.
    page.wait_for_text("ring/simple/24");
    page.wait_for_text("tree/ll128/4");
    assert!(page.look_for("heading", "Decision").is_some());
    page.show("Overlap");
    assert!(page.look_for("heading", "Overlap").is_some() && page.look_for("heading", "Decision").is_none());
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn numbers_of_strategies_have_units_and_one_sign_of_a_minus() {
    let page = example();
    page.show("Strategies");
    let heads = page.text_of("return document.querySelector('.data thead').innerText");
    for head in ["Regret, ms", "Latency, ms", "Best at end, %", "Right, %", "Exploration, ms", "Paid back, calls"] {
        assert!(heads.contains(head), "{head} is not in {heads}");
    }
    let hyphens = "return [...document.querySelectorAll('.data td')].map((cell) => cell.innerText)
         .filter((text) => /^-[0-9]/.test(text))";
    assert_eq!(page.run(hyphens, &[]), serde_json::json!([]));
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_log_that_names_no_arm_is_refused_in_a_sentence() {
    let page = Page::open();
    let line = "allreduce,4194304,1,8,12.34\n".repeat(20);
    page.drop_files(&[("rewards.log", line.as_bytes())]);
    page.wait_until_idle();
    page.wait_for_text("nothing says which arm ran");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn what_a_log_lacks_is_asked_for_in_fields() {
    let page = Page::open();
    page.drop_files(&[("latencies.csv", "12.25\n12.5\n".repeat(20).as_bytes())]);
    page.wait_until_idle();
    page.wait_for_text("No log can be used: latencies.csv says nothing of size, nodes and ranks");
    page.fill("latencies.csv: arm", "ring/simple");
    for (field, text) in [("Collective", "all_reduce"), ("Size", "1M"), ("Nodes", "1"), ("Ranks", "8")] {
        page.wait_until_idle();
        page.fill(field, text);
    }
    page.wait_for_text("all_reduce of 1 MiB on 1 node, 8 ranks");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn an_arm_or_a_strategy_that_is_chosen_is_shown_in_all_charts() {
    let page = example();
    page.show("Strategies");
    page.wait_for_text("Cumulative regret");
    page.show("Arms");
    // By keyboard: the first point of the second series is pinned.
    page.run("document.querySelector('.chart-stage[aria-label^=\"Where each\"]').focus()", &[]);
    for key in [key::RIGHT, key::DOWN, key::ENTER] {
        page.press(key);
    }
    page.wait_until(|| page.fragment().contains("&arm="), "what was pinned is chosen");
    page.wait_until_idle();
    let list = page.find("combobox", "Arm in colour");
    let chosen = page.run("return arguments[0].value", &[list.into()]);
    assert!(page.fragment().ends_with(&format!("&arm={}", chosen.as_str().unwrap())), "{}", page.fragment());
    page.click("button", "Unpin");
    page.wait_until(|| !page.fragment().contains("&arm="), "what was let go is not chosen any more");
    page.wait_until_idle();
    page.choose("Arm in colour", "tree/ll128/4");
    page.wait_until_idle();
    assert!(page.fragment().ends_with("&arm=tree/ll128/4"), "{}", page.fragment());
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn strategies_are_simulated_without_any_file() {
    let page = Page::open_at("#v=1&w=policy");
    page.click("button", "Simulate strategies");
    page.wait_for_text("A simulation: 200 seeds of 2000 steps");
    page.wait_until_idle();
    page.wait_for_text("The strategies run on simulated latencies.");
    assert_eq!(page.rows("Strategies"), 17);
    page.fill("Seeds", "20");
    page.wait_until_idle();
    page.wait_for_text("20 seeds of 2000 steps");
    page.choose("Latencies", "simulated: own arms");
    page.wait_until_idle();
    page.fill("Means, ms", "10, 9");
    page.wait_for_text("for each of the 3 arms");
    page.fill("Arms", "auto, mine");
    page.wait_until_idle();
    page.wait_for_text("where leaving the choice to the library loses 2000 ms");
    page.unfold();
    page.fill("sw-ucb: W, pulls", "50");
    page.wait_until_idle();
    page.wait_for_text("sw-ucb W = 50");
    let address = page.fragment();
    page.visit("");
    page.wait_until_idle();
    page.visit(&address);
    page.wait_until_idle();
    page.wait_for_text("sw-ucb W = 50");
    page.assert_clean();
}

/// One of the files that are offered beside the answer.
fn saved(page: &Page, file: &str) -> Vec<u8> {
    page.download(|| page.save_from_menu(file))
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn files_are_saved_with_the_generation_and_the_command_of_the_form() {
    let page = example();
    let first = String::from_utf8(saved(&page, "Policy file")).unwrap();
    assert!(first.contains("\"generation\":1,"), "{first}");
    page.drop_files(&[("next.policy", first.as_bytes())]);
    page.wait_until_idle();
    page.show("Files");
    page.wait_for_text("What it runs");
    let log = std::fs::read(dist().join("examples/simulated_rewards.csv")).unwrap();
    page.drop_files(&[("rewards.csv", &log)]);
    page.wait_until_idle();
    let second = String::from_utf8(saved(&page, "Policy file")).unwrap();
    assert!(second.contains("\"generation\":2,"), "one above what was dropped: {second}");
    page.unfold();
    page.fill("Command of the script", "srun python train.py");
    page.wait_until_idle();
    let script = String::from_utf8(saved(&page, "Script of runs that would settle it")).unwrap();
    assert!(script.contains("command=(srun python train.py)"));
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn broken_logs_and_policies_are_met_with_sentences() {
    let page = Page::open();
    let lines = "allreduce,4194304,1,8,12.34\n".repeat(9) + "allreduce,4Q,1,8,3\nallmadeup,4096,1,8,3\n";
    page.drop_files(&[("rewards_auto.log", lines.as_bytes())]);
    page.wait_until_idle();
    page.show("Files");
    assert_eq!(page.rows("The first lines that were left out"), 2);
    page.wait_for_text("is not a whole number below 2⁶⁴; the line was left out");
    page.wait_for_text("is no collective that is known; the line was left out");
    let torn = "{\"format\":\"collectune-policy\",\"version\":1";
    let mostly = "allreduce,4096,1,8,3\n".to_owned() + &"allreduce,4096,1,8,-1\n".repeat(9);
    page.drop_files(&[("next.policy", torn.as_bytes()), ("mostly.log", mostly.as_bytes())]);
    page.wait_until_idle();
    page.wait_for_text("it is torn, or no policy file");
    page.wait_for_text("has 10 lines of which 1 can be read");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_log_that_is_refused_says_why_with_nothing_else_open() {
    let page = Page::open();
    page.click("link", "Policy");
    let mostly = "allreduce,4096,1,8,3\n".to_owned() + &"allreduce,4096,1,8,-1\n".repeat(9);
    page.drop_files(&[("mostly.log", mostly.as_bytes())]);
    page.wait_until_idle();
    page.wait_for_text("has 10 lines of which 1 can be read");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_workbench_fits_a_narrow_window_and_is_readable() {
    assert_fits_a_phone(&example());
}
