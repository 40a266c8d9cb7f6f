//! Cancel ends every kind of work within a second, and it stays ended: nothing begins again by itself, and what was
//! there before is still there.

use serde_json::Value;

use crate::{loading::dist, page::Page, support::real, sweep::sweep};

/// Cancels the work under way as soon as it says `doing`.
fn cancel(page: &Page, doing: &str) {
    cancel_beside(page, doing, "");
}

/// Waits in the page until the work under way says `doing` and the page shows `shown`, presses Cancel, and makes sure
/// that the work ends within a second and that none begins for a while after it.
fn cancel_beside(page: &Page, doing: &str, shown: &str) {
    let ended = page.run(
        "const [doing, shown] = arguments;
         const root = document.documentElement;
         const until = (is_so) => new Promise((done) => {
             const look = () => (is_so() ? done() : setTimeout(look, 5));
             look();
         });
         const button = () => document.querySelector('.status .cancel');
         const words = () => document.querySelector('.status-words')?.textContent ?? '';
         const isShown = () => document.querySelector('main').textContent.includes(shown);
         await until(() => button() && words().includes(doing) && isShown());
         const began = performance.now();
         button().click();
         await until(() => !button());
         const took = performance.now() - began;
         await until(() => root.dataset.state === 'idle');
         const workers = watched.workers.length;
         const seen = [];
         const watch = new MutationObserver(() => seen.push(`${root.dataset.state} ${words()}`));
         watch.observe(root, { attributes: true, attributeFilter: ['data-state'] });
         // Long enough for whatever would begin again: the page's own tasks, and the beat that it has once a second.
         await new Promise((done) => setTimeout(done, 2500));
         watch.disconnect();
         return [took, seen, watched.workers.length - workers, words()];",
        &[doing.into(), shown.into()],
    );
    let took_ms = ended[0].as_f64().unwrap();
    assert!(took_ms < 1000.0, "{doing}: Cancel took {took_ms} ms");
    assert_eq!((&ended[1], &ended[2]), (&Value::Array(Vec::new()), &Value::from(0)), "{doing}: work began again");
}

fn example(name: &str) -> Vec<u8> {
    std::fs::read(dist().join("examples").join(name)).unwrap()
}

/// A sweep whose training takes a while.
fn slow_training() -> Page {
    let page = Page::with_files(&[("sweep.csv", sweep(14, 16).as_bytes())]);
    page.show("Model");
    page.fill("Trees", "2000");
    page
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn training_and_validation() {
    let page = slow_training();
    page.show("Answer");
    let answer = page.text_in("region", "Answer");
    page.show("Model");
    page.fill("Trees", "2000");
    page.click("button", "Train");
    cancel(&page, "Training");
    page.show("Answer");
    assert_eq!(page.text_in("region", "Answer"), answer, "what was there stays");
    // The worker that comes instead has what it needs when somebody asks for it.
    page.choose("Size", "16 KiB");
    page.wait_for_text("all_reduce of 16 KiB");
    page.wait_until_idle();
    page.wait_for_text("The answer is that of the last training that was validated, with the settings of then.");
    // A step back to another panel does not begin it again.
    page.show("Heat map");
    page.wait_until_idle();
    page.run("history.back(); await new Promise((done) => setTimeout(done, 1500))", &[]);
    assert_eq!(page.state(), "idle");
    page.wait_for_text("The answer is that of the last training that was validated, with the settings of then.");
    page.show("Model");
    page.fill("Trees", "300");
    page.click("button", "Train");
    cancel(&page, "Validating");
    page.wait_for_text("The answer is that of the model, which is not validated.");
    page.fill("Trees", "20");
    page.click("button", "Train");
    page.wait_until_idle();
    page.wait_for_text("validated on held-out measurements");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn reading() {
    let page = Page::open();
    let large = sweep(20, 900);
    page.drop_files(&[("large.csv", large.as_bytes())]);
    cancel(&page, "Reading");
    page.wait_for_text("Reading was cancelled; the files are still open.");
    page.click("link", "Topology");
    page.wait_for_text("The study was cancelled");
    page.unfold();
    page.click("button", "Close large.csv");
    page.wait_for_text("all_gather over dgx1v");
    page.wait_until_idle();
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_replay_of_policies() {
    let page = Page::closed();
    page.visit("#v=1&w=policy&world=clear&seeds=2000&steps=20000");
    cancel(&page, "Running seeds");
    page.wait_for_text("Not everything was replayed.");
    page.visit("#v=1&w=policy&world=clear&seeds=20&steps=200");
    page.wait_until_idle();
    page.wait_for_text("20 seeds of 200 steps");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_regressors_of_a_training_step() {
    let page = Page::closed();
    page.visit("#v=1&w=training-time");
    page.wait_until_idle();
    page.drop_files(&[("samples.zip", &example("simulated_training.zip"))]);
    cancel(&page, "Predicting");
    page.click("button", if page.look_for("button", "Study again").is_some() { "Study again" } else { "Go on" });
    page.wait_until_idle();
    page.wait_for_text("The errors are those at samples, or published steps, that were held out.");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_real_training_folder_with_shared_data() {
    let files = real::files(&["ett/Perlmutter"]);
    let page = Page::closed();
    page.visit("#v=1&w=training-time");
    page.wait_until_idle();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, content)| (name.as_str(), content.as_slice())).collect();
    page.drop_folder("cluster", &files);
    cancel(&page, "Reading");
    page.click("button", "Read again");
    cancel(&page, "Predicting");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_search_of_layouts() {
    let page = Page::closed();
    page.visit("#v=1&w=training-time&x=1&s.gpus=1024&tab=layouts");
    // The search may be over before another command from here arrives.
    cancel_beside(&page, "", "Layouts by step time");
    // What was found is there.
    assert!(page.rows("Layouts by step time") > 0);
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_synthesis() {
    let page = Page::closed();
    page.visit("#v=1&w=topology&graph=mesh&mesh=32x32");
    cancel(&page, "");
    page.wait_for_text("The study was cancelled");
    page.click("button", "Study again");
    cancel(&page, "");
    page.visit("#v=1&w=topology");
    page.wait_for_text("all_gather over dgx1v");
    page.wait_until_idle();
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_comparison_of_models() {
    let page = Page::open();
    page.drop_files(&[("kernels.csv", &example("simulated_kernels.csv"))]);
    cancel(&page, "Predicting what was held out");
    page.wait_for_text("Not all models were compared.");
    page.click("button", "Compare");
    page.wait_until_idle();
    page.wait_for_text("Each model was tested on kernels that it was not fitted on.");
    page.assert_clean();
}
