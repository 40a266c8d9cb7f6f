//! Steps of training: how long samples take from the drop to the breakdown, learning, searching, and what sliders
//! answer. The figures of the reference are printed by `benches/against_training_reference/compare.py`.

use serde_json::Value;

use super::{WATCH_MEMORY, worker_memory_bytes};
use crate::{page::Page, training_time::samples};

/// Writes down whenever one of these changes: what is going on, the answer's title, the rows of the breakdown, of the
/// layouts, and of the regressors.
const WATCH: &str = "
    window.seen = [];
    addEventListener('drop', () => { window.dropped = performance.now(); }, { capture: true });
    const rows = (name) => document.querySelectorAll(`[role=region][aria-label=\"${name}\"] tbody tr`);
    let last = '';
    window.watch = new MutationObserver(() => {
        const line = document.querySelector('section[aria-label=\"Work under way\"]')?.textContent ?? '';
        const title = document.querySelector('#answer-heading')?.textContent ?? '';
        const now = [line.split(/[:0-9]/)[0], title, rows('What the time goes into').length, rows('Layouts by step time').length];
        const said = JSON.stringify(now);
        if (said !== last) seen.push([performance.now(), ...now]);
        last = said;
    });
    watch.observe(document, { subtree: true, childList: true, characterData: true });
";

/// What was seen at one moment.
struct Moment {
    /// Since the drop.
    ms: f64,
    /// What was going on.
    line: String,
    title: String,
    /// Rows of the breakdown, and of the layouts.
    parts: u64,
    layouts: u64,
}

struct Seen(Vec<Moment>);

impl Seen {
    fn of(page: &Page) -> Self {
        let seen = page.run("return [window.dropped, seen]", &[]);
        let dropped = seen[0].as_f64().unwrap_or_default();
        let step = |step: &Value| {
            let word = |at: usize| step[at].as_str().unwrap_or_default().to_owned();
            let count = |at: usize| step[at].as_u64().unwrap_or_default();
            let ms = step[0].as_f64().unwrap() - dropped;
            Moment { ms, line: word(1), title: word(2), parts: count(3), layouts: count(4) }
        };
        Self(seen[1].as_array().unwrap().iter().map(step).filter(|moment| moment.ms > 0.0).collect())
    }

    /// When something was first so, in ms since the drop.
    fn first(&self, is_so: impl Fn(&Moment) -> bool) -> f64 {
        self.0.iter().find(|moment| is_so(moment)).map_or(f64::NAN, |moment| moment.ms)
    }

    /// From the first words about the samples to the breakdown: what learning takes, to and from the workers included.
    fn learning_ms(&self) -> f64 {
        self.broken_down_ms() - self.first(|moment| !moment.title.is_empty())
    }

    fn broken_down_ms(&self) -> f64 {
        self.first(|moment| moment.parts > 0)
    }
}

/// Drops folders with a run, at an address.
fn drop_at(fragment: &str, folders: &[&str], run: Option<&[u8]>) -> Page {
    let files = samples(folders);
    let page = Page::closed();
    page.before_loading(WATCH);
    page.before_loading(WATCH_MEMORY);
    page.before_loading(WATCH_READING);
    page.visit(&format!("#v=1&w=training-time{fragment}"));
    page.wait_until_idle();
    let mut files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    files.extend(run.map(|run| ("run.yml", run)));
    page.drop_folder("bundle", &files);
    page
}

/// So many regressors are trained.
fn trained(page: &Page) -> u64 {
    let count = "return [...rows('Regressors')].filter((row) => row.innerText.includes('trained')).length";
    let prelude = "const rows = (name) => document.querySelectorAll(`[role=region][aria-label=\"${name}\"] tbody tr`);";
    page.run(&format!("{prelude} {count}"), &[]).as_u64().unwrap_or_default()
}

fn best(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}

#[test]
#[ignore = "needs the built page: cargo xtask bench"]
fn samples_to_the_breakdown_with_shared_data() {
    for (mode, floor_ms) in [("default", 2000.0), ("parity", f64::INFINITY)] {
        let (mut read, mut whole, mut learnt) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..5 {
            let fragment = format!("&mode={mode}");
            let page = drop_at(&fragment, &["ett/Perlmutter", "ett/examples"], None);
            page.wait_until(|| Seen::of(&page).broken_down_ms() > 0.0, "there is a breakdown");
            let seen = Seen::of(&page);
            read.push(seen.first(|moment| moment.line.starts_with("Predicting")));
            whole.push(seen.broken_down_ms());
            learnt.push(seen.learning_ms());
            if mode == "parity" {
                page.wait_until_idle();
                let (_, all) = worker_memory_bytes(&page);
                println!("training/parity: the largest worker's memory grew to {:.0} MB", all / 1e6);
                assert!(all < 150e6, "{all} bytes");
            }
        }
        println!(
            "training/{mode}: Perlmutter's 48 files read after {:.0} ms, example P broken down after {:.0} ms, of which learning \
             its regressors took {:.0} ms (best of five)",
            best(&read),
            best(&whole),
            best(&learnt)
        );
        println!("training/{mode}: all drops {whole:.0?} ms, all learnings {learnt:.0?} ms");
        assert!(best(&whole) <= floor_ms, "{:.0} ms", best(&whole));
    }
}

/// A run that asks for every operator, over many communicators: all that a cluster has is learnt for it.
const EVERYTHING: &str = "
training_config: [4, 2, 2, 4, 32, 4096, 4096, 8, 4]
encoders: 32
layernorm_name: layernorm
encoder_function_list: [layernorm, RMSlayernorm, linear1, RoPE, flash_atten, baddbmm, fillmask, softmax,
  ScaledUpperTriangMaskedSoftmax, bmm, linear2, linear3, gelu, linear4, res_add]
";

#[test]
#[ignore = "needs the built page: cargo xtask bench"]
fn all_regressors_of_a_cluster_with_shared_data() {
    for mode in ["default", "parity"] {
        let (mut learnt, mut count) = (Vec::new(), 0);
        for _ in 0..3 {
            let fragment = format!("&mode={mode}&s.gpus=32&s.between=1&s.b=4&tab=layouts");
            let page = drop_at(&fragment, &["ett/Perlmutter"], Some(EVERYTHING.as_bytes()));
            page.wait_until(|| Seen::of(&page).first(|moment| moment.layouts > 0) > 0.0, "there are layouts");
            let seen = Seen::of(&page);
            page.show("Regressors");
            count = trained(&page);
            learnt.push(seen.first(|moment| moment.layouts > 0) - seen.first(|moment| !moment.title.is_empty()));
        }
        println!("training/{mode}: {count} regressors of Perlmutter learnt in {:.0} ms ({learnt:.0?})", best(&learnt));
    }
}

/// Writes down how long the worker read the files, by what it said of its progress, and how long of that it waited for
/// the browser to hand over their bytes.
const WATCH_READING: &str = "
    window.reading = { handed: 0 };
    new BroadcastChannel('handed').onmessage = (event) => { reading.handed += event.data; };
    const timedInWorker = `
        const handed = new BroadcastChannel('handed');
        const read = FileReaderSync.prototype.readAsArrayBuffer;
        FileReaderSync.prototype.readAsArrayBuffer = function (blob) {
            const began = performance.now();
            const bytes = read.call(this, blob);
            handed.postMessage(performance.now() - began);
            return bytes;
        };
    `;
    window.Blob = class extends Blob {
        constructor(parts, options) {
            super(options?.type === 'text/javascript' ? [timedInWorker, ...parts] : parts, options);
        }
    };
    const post = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (message, ...more) {
        if (message.length > 10) {
            this.addEventListener('message', (event) => {
                const said = new TextDecoder().decode(event.data[0]);
                if (said.includes('Reading')) reading.began ??= performance.now();
                if (said.includes('Bringing')) reading.ended ??= performance.now();
            });
        }
        return post.call(this, message, ...more);
    };
";

#[test]
#[ignore = "needs the built page: cargo xtask bench"]
fn both_clusters_are_parsed_with_shared_data() {
    let (mut parsed, mut handed, mut merged) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..5 {
        let page = drop_at("", &["ett/Perlmutter", "ett/Vista"], None);
        page.wait_until_idle();
        let seen = page.run("return [reading.ended - reading.began, reading.handed]", &[]);
        let [read_ms, handed_ms] = [0, 1].map(|at: usize| seen[at].as_f64().unwrap());
        handed.push(handed_ms);
        parsed.push(read_ms - handed_ms);
        merged.push(Seen::of(&page).first(|moment| moment.line.starts_with("Predicting")));
    }
    println!(
        "training/parse: both clusters, 140,138 rows, parsed in {:.0} ms ({parsed:.0?}) after the browser had handed over \
         their bytes in {handed:.0?} ms; from the drop until they are merged {merged:.0?} ms",
        best(&parsed)
    );
    assert!(best(&parsed) <= 100.0, "{parsed:?}");
}

/// Answers how long each of some changes of a control took until the page said something else, and until that was
/// drawn.
const TIME_CHANGES: &str = "
    const [label, event, values] = arguments;
    const field = [...document.querySelectorAll('label.field')].find((field) => field.innerText.includes(label)).querySelector('input');
    const answer = document.querySelector('.answer');
    // It counts rows with every change, which takes longer than the change.
    window.watch.disconnect();
    const times = [];
    for (const value of values) {
        const began = performance.now();
        const changed = new Promise((resolve) => {
            const watch = new MutationObserver(() => { watch.disconnect(); resolve(); });
            watch.observe(answer, { subtree: true, childList: true, characterData: true });
        });
        field.value = value;
        field.dispatchEvent(new Event(event, { bubbles: true }));
        await changed;
        const said = performance.now() - began;
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
        times.push([said, performance.now() - began]);
        await new Promise((resolve) => setTimeout(resolve, 300));
    }
    return times;
";

/// Answers how long it took after each choice of a number of GPUs until the first layouts for it stood there, and until
/// the last did; lets all work end before the next.
const TIME_SEARCHES: &str = "
    const field = [...document.querySelectorAll('label.field')].find((field) => field.innerText.includes('GPUs of the job')).querySelector('input');
    const rows = () => document.querySelectorAll('[role=region][aria-label=\"Layouts by step time\"] tbody tr');
    const layouts = () => [...rows()].map((row) => row.textContent).join();
    window.watch.disconnect();
    const times = [];
    for (const value of arguments[0]) {
        let known = layouts();
        const began = performance.now();
        const seen = [];
        const watch = new MutationObserver(() => {
            const now = layouts();
            if (now && now !== known) seen.push(performance.now() - began);
            known = now;
        });
        watch.observe(document.querySelector('.answer'), { subtree: true, childList: true, characterData: true });
        field.value = value;
        field.dispatchEvent(new Event('change', { bubbles: true }));
        do await new Promise((resolve) => setTimeout(resolve, 1000)); while (document.documentElement.dataset.state !== 'idle');
        watch.disconnect();
        times.push([seen[0], seen[seen.length - 1]]);
    }
    return times;
";

fn changes(page: &Page, label: &str, event: &str, values: &[&str]) -> (Vec<f64>, Vec<f64>) {
    let values: Vec<Value> = values.iter().map(|value| (*value).into()).collect();
    let times = page.run(TIME_CHANGES, &[label.into(), event.into(), values.into()]);
    let of = |at: usize| times.as_array().unwrap().iter().filter_map(|pair| pair[at].as_f64()).collect();
    (of(0), of(1))
}

#[test]
#[ignore = "needs the built page: cargo xtask bench"]
fn the_search_of_1024_gpus_with_shared_data() {
    let fragment = "&s.gpus=512&s.batch=1024&tab=layouts";
    let page = drop_at(fragment, &["ett/Perlmutter", "ett/examples"], None);
    page.wait_until(|| Seen::of(&page).first(|moment| moment.layouts > 0) > 0.0, "there are layouts");
    page.wait_until_idle();
    page.wait_for_text("The errors are those at samples, or published steps, that were held out.");
    let values = ["1024", "512", "1024", "512", "1024"].map(Value::from).to_vec();
    let times = page.run(TIME_SEARCHES, &[values.clone().into()]);
    let of = |at: usize| times.as_array().unwrap().iter().filter_map(|pair| pair[at].as_f64()).collect::<Vec<f64>>();
    let (first, all) = (of(0), of(1));
    println!(
        "training/search: 1,024 and 512 GPUs in turn with five micro-batches: first layouts after {first:.0?} ms, all after \
         {all:.0?} ms; for the first 1,024 communicators were to be learnt"
    );
    assert!(all.len() == values.len() && best(&all) < 1000.0 && best(&first) < 100.0, "{times:?}");
}

#[test]
#[ignore = "needs the built page: cargo xtask bench"]
fn sliders_with_shared_data() {
    let page = drop_at("", &["ett/Perlmutter", "ett/examples"], None);
    page.wait_until(|| Seen::of(&page).broken_down_ms() > 0.0, "there is a breakdown");
    page.wait_until_idle();
    page.wait_for_text("The errors are those at samples, or published steps, that were held out.");
    let values = ["0.5", "0.6", "0.7", "0.8", "0.9", "1.1", "1.2", "1.3"];
    let (mut said, drawn) = changes(&page, "Messages between stages ×", "input", &values);
    println!("training/slider: said after {said:.0?} ms, drawn after {drawn:.0?} ms");
    said.sort_by(f64::total_cmp);
    assert!(said[said.len() / 2] <= 50.0, "{said:?}");
}

/// A model of 70 billion parameters.
const LARGE: &[u8] = br#"{"model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672,
    "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 128256}"#;

/// Writes down when the answer first names each number of GPUs.
const WATCH_GPUS: &str = "
    window.answers = {};
    addEventListener('drop', () => { window.dropped = performance.now(); }, { capture: true });
    new MutationObserver(() => {
        const gpus = document.querySelector('.answer')?.innerText.match(/ on ([0-9,]+) × H100/)?.[1];
        if (gpus) window.answers[gpus] ??= performance.now();
    }).observe(document, { subtree: true, childList: true, characterData: true });
";

/// Chooses a number of GPUs, and answers after how many ms the answer names it.
const CHOOSE_GPUS: &str = "
    const [gpus, named] = arguments;
    const field = [...document.querySelectorAll('label.field')].find((field) => field.innerText.trim().startsWith('GPUs')).querySelector('input');
    delete window.answers[named];
    const began = performance.now();
    field.value = gpus;
    field.dispatchEvent(new Event('change', { bubbles: true }));
    while (!window.answers[named]) await new Promise((resolve) => setTimeout(resolve, 20));
    return window.answers[named] - began;
";

#[test]
#[ignore = "needs the built page: cargo xtask bench"]
fn a_step_without_samples_and_the_search_for_its_layout() {
    let mut answered = Vec::new();
    for _ in 0..5 {
        let page = Page::closed();
        page.before_loading(WATCH_GPUS);
        page.visit("");
        page.wait_until_idle();
        page.drop_files(&[("config.json", LARGE)]);
        let answer = "return (Object.values(window.answers)[0] ?? NaN) - window.dropped";
        page.wait_until(|| page.run(answer, &[]).is_number(), "there is an answer");
        answered.extend(page.run(answer, &[]).as_f64());
        if answered.len() < 5 {
            continue;
        }
        page.wait_until_idle();
        page.fill("Global batch", "16384");
        page.wait_until_idle();
        for (gpus, named, most_ms) in [("1024", "1,024", 1000.0), ("16384", "16,384", 10_000.0)] {
            let mut took = Vec::new();
            for _ in 0..5 {
                page.run(CHOOSE_GPUS, &["256".into(), "256".into()]);
                page.wait_until_idle();
                took.extend(page.run(CHOOSE_GPUS, &[gpus.into(), named.into()]).as_f64());
                page.wait_until_idle();
            }
            println!("training/estimate: the best layout on {named} GPUs for a batch of 16,384 after {took:.0?} ms");
            assert!(took.len() == 5 && best(&took) <= most_ms, "{took:?}");
        }
    }
    println!("training/estimate: config.json dropped, answered after {answered:.0?} ms");
    answered.sort_by(f64::total_cmp);
    assert!(answered[answered.len() / 2] <= 1000.0, "{answered:?}");
}
