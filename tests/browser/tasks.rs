//! What a person who has never seen the page wants to know, each within three clicks after the drop, with nothing but
//! what is on view.

use std::{cell::Cell, fs};

use crate::{
    loading::dist,
    page::Page,
    sweep::{noisy_sweep, slower, sweep},
    topology::RING,
};

/// The most clicks, choices and typed fields of a task.
const MOST_ACTIONS: u32 = 3;

/// A person who counts what they do.
struct Person {
    page: Page,
    actions: Cell<u32>,
}

impl Person {
    /// Drops files on the first view, and waits for their answers.
    fn drops(files: &[(&str, &[u8])]) -> Self {
        let page = Page::closed();
        page.resize(1400, 900);
        page.visit("");
        page.wait_until_idle();
        page.drop_files(files);
        page.wait_until_idle();
        Self { page, actions: Cell::new(0) }
    }

    /// Acts once on the page, and waits for its answer.
    fn acts(&self, act: impl FnOnce(&Page)) -> &Self {
        self.actions.set(self.actions.get() + 1);
        act(&self.page);
        self.page.wait_until_idle();
        self
    }

    /// Acts once: shows a tab.
    fn opens(&self, tab: &str) -> &Self {
        self.acts(|page| page.click("tab", tab))
    }

    /// What stands in the window without a scroll.
    fn sees(&self) -> String {
        self.page.text_of(
            "const seen = [];
             const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
             const range = document.createRange();
             for (let node = walker.nextNode(); node; node = walker.nextNode()) {
                 range.selectNodeContents(node);
                 const { top, bottom, width } = range.getBoundingClientRect();
                 if (width > 0 && top >= 0 && bottom <= innerHeight) seen.push(node.data);
             }
             return seen.join(' ').replace(/\\s+/g, ' ');",
        )
    }

    /// Has an answer in the window that says all of this, after few actions.
    fn has_answered(self, parts: &[&str]) -> Page {
        let seen = self.sees();
        for part in parts {
            assert!(seen.contains(part), "`{part}` is not in view: {seen}");
        }
        assert!(self.actions.get() <= MOST_ACTIONS, "{} actions", self.actions.get());
        self.page.assert_clean();
        self.page
    }
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn which_configuration_for_16_mib_on_2_nodes_and_how_sure() {
    let of_four = |line: &str| line.replace("all_reduce,2,16,", "all_reduce,4,32,") + "\n";
    let text = sweep(14, 8) + &sweep(14, 8).lines().skip(1).map(of_four).collect::<String>();
    let person = Person::drops(&[("sweep.csv", text.as_bytes())]);
    person.acts(|page| page.choose("Scale", "2 nodes, 16 ranks")).acts(|page| page.choose("Size", "16 MiB"));
    person.has_answered(&["RING", "SIMPLE", "32 channels", "of 16 MiB on 2 nodes, 16 ranks", "GB/s", "measured"]);
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn which_file_made_a_stall() {
    let noisy = noisy_sweep();
    let person = Person::drops(&[("monday.csv", noisy.as_bytes()), ("sweep.csv", sweep(8, 4).as_bytes())]);
    person.opens("Noise");
    let page = person.has_answered(&["Noise"]);
    let stalls = page.text_in("region", "By workload");
    assert!(stalls.contains("monday.csv") && !stalls.contains("sweep.csv"), "{stalls}");
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn what_to_measure_next() {
    let person = Person::drops(&[("sweep.csv", noisy_sweep().as_bytes())]);
    person.opens("Measure next");
    let page = person.has_answered(&["Measure next"]);
    page.find("button", "Save measure.sh");
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_tuner_file_for_ones_plugin() {
    let person = Person::drops(&[("sweep.csv", noisy_sweep().as_bytes())]);
    person.opens("Tuner files").acts(|page| page.choose("Read by", "RCCL"));
    let page = person.has_answered(&["Write a tuner file"]);
    let saved = page.download(|| page.click("button", "Save"));
    assert!(String::from_utf8(saved).unwrap().contains("allreduce"));
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn whether_last_weeks_sweep_is_slower() {
    let files = [("this_week.csv", noisy_sweep()), ("last_week.csv", slower(1.3))];
    let person = Person::drops(&files.each_ref().map(|(name, text)| (*name, text.as_bytes())));
    person.opens("Compare");
    person.has_answered(&["slower"]);
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn what_limits_a_schedule() {
    let person = Person::drops(&[("ring.csv", RING.as_bytes())]);
    person.acts(|page| drop(page.run("document.querySelector('.answer summary').click()", &[])));
    person.has_answered(&["The bottleneck", "Lower bound"]);
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn which_layout_on_1024_gpus() {
    let example = fs::read(dist().join("examples/simulated_training.zip")).unwrap();
    let person = Person::drops(&[("samples.zip", &example)]);
    person.opens("Layouts").acts(|page| page.fill("GPUs of the job", "1024"));
    person.has_answered(&["The best layout is"]);
}
