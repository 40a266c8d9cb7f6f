//! The studies behind the readers: the questions of the page to a worker, with random choices from the study's own
//! form.
//!
//! An input is a line of choices, as in an address, and below it a file. Each question is timed by itself, since the
//! page waits for each.

use std::{cell::RefCell, sync::LazyLock, time::Duration};

use collectune::{
    collective::{Collective, Scale, Workload},
    form::{Choices, Control, Field},
    intake::files::{FileSource, FileToLoad, read_files},
    math::Stream,
    progress::Silent,
    registry::{Studies, work},
    report::{self, Contents, ReportFormat, Workbench, Written, link, open},
    topology::network::CutRequest,
    tuning::{
        address::{Address, Panel},
        aggregate::Target,
        loaded::LoadedTuning,
        parameters::{Parameters, Preset},
        sets::SetChoice,
    },
    workbench::{Attachment, AttachmentKind, ReportContext, WorkbenchAnswer, WorkbenchQuestion, WorkbenchView},
    worker::{
        executor::Executor,
        protocol::{Request, Response},
    },
};

use super::{clock, mutate::mutate, samples, topologies};

thread_local! {
    /// The times of the questions since the last input began; empty for readers, which ask none.
    static QUESTIONS: RefCell<Option<(Duration, &'static str)>> = const { RefCell::new(None) };
}

/// Forgets the questions of the previous input.
pub fn begin() {
    QUESTIONS.set(None);
}

/// The longest question since [`begin`], and which it was.
pub fn longest() -> Option<(Duration, &'static str)> {
    QUESTIONS.with_borrow(|longest| *longest)
}

/// Asks one question.
fn timed<T>(what: &'static str, ask: impl FnOnce() -> T) -> T {
    let start = clock::busy();
    let answer = ask();
    let time = clock::busy().saturating_sub(start);
    QUESTIONS.with_borrow_mut(|longest| {
        if longest.is_none_or(|(known, _)| known < time) {
            *longest = Some((time, what));
        }
    });
    answer
}

fn parts(bytes: &[u8]) -> (Choices, &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let choices = Choices::parse(&String::from_utf8_lossy(&bytes[..end]));
    (choices, bytes.get(end + 1..).unwrap_or_default())
}

fn files(all: &[(&str, &[u8])]) -> (Vec<FileToLoad>, Vec<FileSource>) {
    let names = (0..).zip(all).map(|(id, (name, _))| FileToLoad { id, name: (*name).to_owned(), mapping: None });
    (names.collect(), all.iter().map(|(_, bytes)| FileSource::from(bytes.to_vec())).collect())
}

/// A random stream from the bytes of an input, so that the input alone repeats the execution.
fn random(bytes: &[u8]) -> Stream {
    Stream::new(bytes.iter().fold(7, |hash: u64, byte| hash.wrapping_mul(31).wrapping_add(u64::from(*byte))))
}

/// Writes a report in every form, and opens what was written.
fn leave(report: &report::Report) {
    for form in ReportFormat::ALL {
        match timed("a report that is written", || report::write(report, &(*form).into())) {
            Ok(Written::Links(links)) => {
                let opens = |link: &link::Link| link.fits && link::decode(&link.fragment).is_ok();
                assert!(links.sizes.iter().all(opens), "a link that can't be opened");
            }
            Ok(Written::File { text, .. }) if *form != ReportFormat::Markdown => {
                let opened = timed("a report that is opened", || open::open(&text));
                assert!(opened.is_ok(), "a report that can't be opened: {opened:?}");
            }
            Ok(_) | Err(_) => {}
        }
    }
}

/// Asks a workbench as the page does.
fn study(workbench: Workbench, bytes: &[u8], others: &[(&str, &[u8])]) {
    let mut random = random(bytes);
    let (choices, file) = parts(bytes);
    let name = if workbench == Workbench::TrainingTime { "X_linear1_fp16.csv" } else { "file.csv" };
    let all: Vec<(&str, &[u8])> =
        others.iter().copied().chain(Some((name, file)).filter(|(_, file)| !file.is_empty())).collect();
    let (names, sources) = files(&all);
    let mut studies =
        timed("reading", || Studies::new(LoadedTuning::default(), read_files(&names, sources, &mut Silent).parts));
    let mut ask = |question: WorkbenchQuestion, what: &'static str| match timed(what, || {
        studies.answer(workbench, question, ReportContext::default(), &mut Silent)
    }) {
        Ok(WorkbenchAnswer::Shown(shown)) => Some(shown),
        Ok(_) | Err(_) => None,
    };
    let Some(mut shown) = ask(WorkbenchQuestion::Choose(choices.clone()), "choices") else { return };
    for turn in 0..3 {
        let next: Box<WorkbenchView> = if shown.jobs.goes_on {
            let Some(next) = ask(WorkbenchQuestion::GoOn([0, 20, 500][turn]), "a piece of a search") else { break };
            next
        } else {
            let rounds = &shown.jobs.rounds;
            let Some(round) = (!rounds.is_empty()).then(|| &rounds[random.below(rounds.len())]) else { break };
            let (job, _) = round[random.below(round.len())];
            let basis = shown.jobs.basis.clone();
            let done = if workbench == Workbench::TrainingTime {
                let ask = WorkbenchQuestion::Do { basis, jobs: vec![job] };
                let mut other = Studies::default();
                let done = timed("a job", || other.answer(workbench, ask, ReportContext::default(), &mut Silent));
                if let Ok(WorkbenchAnswer::Done(done)) = done { done } else { break }
            } else {
                let Ok(done) = timed("a job", || work(workbench, &basis, &[job], &mut Silent)) else { break };
                done
            };
            let Some(next) = ask(WorkbenchQuestion::Take(vec![done]), "what a worker did") else { break };
            next
        };
        shown = next;
    }
    for (key, _) in &shown.files {
        if random.below(4) == 0 {
            ask(WorkbenchQuestion::Save(key.clone()), "a file");
        }
    }
    let part = CutRequest { from_ns: random.unit() * 1e6, chunk: None };
    let part = Attachment::new(AttachmentKind::Network, &part).expect("numbers can be written");
    ask(WorkbenchQuestion::Detail(part), "a part of a schedule");
    let study = studies.of(workbench);
    let contents = Contents { workbench, ..Contents::whole() };
    let whole = timed("a report", || study.report(ReportContext::default(), &contents));
    if let Ok(report) = whole
        && random.below(8) == 0
    {
        leave(&report);
    }
}

pub fn topology(bytes: &[u8]) {
    study(Workbench::Topology, bytes, &[]);
}

pub fn policy(bytes: &[u8]) {
    study(Workbench::Policy, bytes, &[]);
}

pub fn overlap(bytes: &[u8]) {
    study(Workbench::Overlap, bytes, &[]);
}

pub fn training_time(bytes: &[u8]) {
    static OTHERS: LazyLock<Vec<(&str, &[u8])>> = LazyLock::new(|| {
        let samples = samples::TRAINING.iter().map(|(name, text)| (*name, text.as_bytes()));
        samples.chain(samples::CONFIGURATIONS.iter().map(|text| ("run.yml", text.as_bytes()))).collect()
    });
    study(Workbench::TrainingTime, bytes, &OTHERS);
}

/// The tuning workbench: reading, learning, asking, reporting.
pub fn tuning(bytes: &[u8]) {
    let mut random = random(bytes);
    let (choices, file) = parts(bytes);
    let halves = [("a.csv", file), ("tuner.conf", samples::CONF.as_bytes()), ("job.log", samples::CALL.as_bytes())];
    let (names, sources) = files(&halves);
    let mut worker = Executor::default();
    let load = Request::Load { files: names, target: Target::Time, set: SetChoice::Largest };
    let loaded = timed("reading", || worker.execute(load, sources, &mut Silent));
    let Ok(Response::Loaded(loaded)) = loaded else { return };
    let mut ask =
        |request: Request, what: &'static str| timed(what, || worker.execute(request, Vec::new(), &mut Silent));
    let number = |key: &str, usual: u32| choices.get(key).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let parameters = Parameters {
        preset: Preset::ALL[random.below(Preset::ALL.len())],
        trees: number("trees", 3),
        stages: number("stages", 3),
        depth: number("depth", 3) as u16,
        ..Parameters::default()
    };
    let workload = loaded.winners.first().map_or(
        Workload { collective: Collective::AllReduce, scale: Scale { nodes: 2, ranks: 16 }, size_bytes: 4096 },
        |winner| winner.workload,
    );
    let contents = Contents { workbench: Workbench::Tuning, ..Contents::whole() };
    let own = number("size", 1 << 20);
    let mut study = |question: WorkbenchQuestion, what: &'static str| {
        let question = Box::new(question);
        match ask(Request::Study { workbench: Workbench::Tuning, question, is_held: false }, what) {
            Ok(Response::Study(answer)) => Some(*answer),
            _ => None,
        }
    };
    let choices = |panel: &str| {
        let Parameters { preset, trees, stages, depth, .. } = &parameters;
        let address = Address::of(&workload, SetChoice::Largest, false).fragment();
        WorkbenchQuestion::Choose(Choices::parse(&format!(
            "{address}&p={panel}&typed=1&calls.batches=1,8&sizes={own}&importances=1&preset={}&trees={trees}&\
             stages={stages}&depth={depth}",
            preset.key()
        )))
    };
    study(choices("answer"), "choices");
    if let Some(WorkbenchAnswer::Shown(shown)) = study(WorkbenchQuestion::GoOn(0), "learning")
        && let Some(round) = shown.jobs.rounds.first()
    {
        let question =
            WorkbenchQuestion::Do { basis: shown.jobs.basis, jobs: vec![round[random.below(round.len())].0] };
        if let Some(WorkbenchAnswer::Done(done)) = study(question, "a fold") {
            study(WorkbenchQuestion::Take(vec![done]), "folds");
        }
        study(WorkbenchQuestion::Save("model".to_owned()), "a model");
    }
    for panel in Panel::ALL {
        study(choices(panel.key()), panel.name());
    }
    if let Ok(Response::Report(report)) = ask(Request::Report(contents), "a report")
        && random.below(4) == 0
    {
        leave(&report);
    }
}

/// A study: its fragments to begin with, and its files.
pub struct Scene {
    pub workbench: Workbench,
    pub fragments: &'static [&'static str],
    pub files: fn() -> &'static [Vec<u8>],
}

/// Values for numbers, expected and unexpected. 4096 is not among them: a topology of that many nodes may take more
/// time and memory than the limits of studies allow (docs/fuzzing.md).
const NUMBERS: [&str; 22] = [
    "0",
    "1",
    "2",
    "3",
    "4",
    "7",
    "8",
    "16",
    "64",
    "255",
    "1000",
    "1500",
    "4097",
    "65536",
    "1000000000",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "-1",
    "1e308",
    "nan",
    "0.5",
];

/// The fields of a study's form after each of its fragments, with some of its files.
fn fields(scene: &Scene) -> &'static [Field] {
    static FORMS: LazyLock<[Vec<Field>; 5]> = LazyLock::new(|| {
        Workbench::ALL.iter().map(|workbench| of_forms(*workbench)).collect::<Vec<_>>().try_into().unwrap_or_default()
    });
    let at = Workbench::ALL.iter().position(|workbench| *workbench == scene.workbench);
    at.map_or(&[], |at| &FORMS[at])
}

fn of_forms(workbench: Workbench) -> Vec<Field> {
    let mut all: Vec<Field> = Vec::new();
    for scene in SCENES.iter().filter(|scene| scene.workbench == workbench) {
        for file in (scene.files)() {
            for fragment in scene.fragments {
                let named: Vec<(&str, &[u8])> = match workbench {
                    Workbench::TrainingTime => {
                        let samples = samples::TRAINING.iter().map(|(name, text)| (*name, text.as_bytes()));
                        samples.chain([("run.yml", &file[..])]).collect()
                    }
                    _ => vec![("file.csv", &file[..])],
                };
                let (names, sources) = files(&named);
                let mut studies = Studies::new(LoadedTuning::default(), read_files(&names, sources, &mut Silent).parts);
                let ask = WorkbenchQuestion::Choose(Choices::parse(fragment));
                if let Ok(WorkbenchAnswer::Shown(shown)) =
                    studies.answer(workbench, ask, ReportContext::default(), &mut Silent)
                {
                    for field in shown.form {
                        if all.iter().all(|known| known.key != field.key) {
                            all.push(field);
                        }
                    }
                }
            }
        }
    }
    all
}

/// A value for a field: one that it offers, or an absurd one.
fn value(field: &Field, random: &mut Stream) -> String {
    let any = |random: &mut Stream| NUMBERS[random.below(NUMBERS.len())].to_owned();
    if random.below(6) == 0 {
        return any(random);
    }
    match &field.control {
        Control::One(options) if !options.is_empty() => options[random.below(options.len())].0.clone(),
        Control::Many(options) => {
            let chosen: Vec<&str> =
                options.iter().filter(|_| random.below(2) == 0).map(|(value, _)| value.as_str()).collect();
            chosen.join(",")
        }
        Control::Switch => "1".to_owned(),
        Control::Text(likely) if !likely.is_empty() => {
            let text = &likely[random.below(likely.len())];
            if random.below(3) > 0 {
                return text.clone();
            }
            String::from_utf8_lossy(&mutate(text.as_bytes(), &[b"0x1,2:3*4".to_vec()], 60, random)).into_owned()
        }
        Control::Text(_) | Control::Lines => {
            let words = ["0-1", "1", "2,3", "0 -> all", "1 -> 2\n0 -> all", "4x2", "1,2,4,8", "auto,one", "5:6"];
            words[random.below(words.len())].to_owned()
        }
        Control::Slider { least, most, .. } => (least + random.unit() * (most - least)).to_string(),
        _ => any(random),
    }
}

/// An input of a study: choices at random, and a file that is mutated or not.
pub fn input(scene: &Scene, random: &mut Stream) -> Vec<u8> {
    let fields = fields(scene);
    let mut choices = Choices::parse(scene.fragments[random.below(scene.fragments.len())]);
    for _ in 0..random.below(6) {
        if let Some(field) = (!fields.is_empty()).then(|| &fields[random.below(fields.len())]) {
            choices.set(&field.key, &value(field, random));
        }
    }
    let mut line = choices.suffix().into_bytes();
    if random.below(8) == 0 {
        line = mutate(&line, &[b"=1&".to_vec()], 400, random);
        line.retain(|byte| *byte != b'\n');
    }
    line.push(b'\n');
    let files = (scene.files)();
    let file = &files[random.below(files.len())];
    if random.below(2) == 0 {
        line.extend(file);
    } else {
        line.extend(mutate(file, files, 4096, random));
    }
    line
}

macro_rules! files {
    ($make:expr) => {
        || {
            static FILES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| $make);
            &FILES
        }
    };
}

fn with_none(mut files: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    files.push(Vec::new());
    files
}

/// All of them.
pub const SCENES: &[Scene] = &[
    Scene {
        workbench: Workbench::Topology,
        fragments: &[
            "#graph=ring&ring=5&cut=0-1,1-0&slow=2-3*0.1&dead=4&weak=3*0.5&add=0-2,2-0*25*700&remove=1-2",
            "#graph=mesh&mesh=2x3&collective=own&conditions=0%20-%3E%201,2%0A3%20-%3E%20all&chunk=64K&latency=10&slower=5",
            "#graph=fattree&fattree=2x3:2&collective=broadcast&root=2&chunks=2&by=restarts&unit=gb&with=tacos,earliest&seeds=5",
            "#graph=random&random=8:2:1&collective=alltoall&by=exact&seed=3&sigma=0.3&draws=9&every=1&dead=1,2",
            "#graph=full&full=12&by=beam&collective=all_reduce",
            "#graph=torus&torus=4x4x2&by=symmetric",
            "#graph=switch&switch=9&by=routed&collective=gather",
            "#graph=m1&machines=3",
            "#",
        ],
        files: files!({
            let topologies = topologies::topology_files().map(String::from).to_vec();
            let results = topologies::result_files().map(String::from).to_vec();
            let dumps = topologies::dump_files().map(String::from).to_vec();
            let others = topologies::condition_files().map(String::from).to_vec();
            with_none([topologies, results, dumps, others].concat().into_iter().map(String::into_bytes).collect())
        }),
    },
    Scene {
        workbench: Workbench::Policy,
        fragments: &[
            "#",
            "#world=clear&steps=50&seeds=5",
            "#world=two-modes&steps=20&seeds=3",
            "#world=own&steps=30&seeds=2",
        ],
        files: files!(with_none(super::readers::reward_logs())),
    },
    Scene {
        workbench: Workbench::Overlap,
        fragments: &["#", "#shown=forest", "#shown=trees-lad&launch=1", "#metrics=Compute%20throughput"],
        files: files!(
            [samples::MERGED, samples::STATISTICS, samples::METRICS, samples::NCU, samples::TRACE, samples::XGBOOST]
                .map(|text| text.as_bytes().to_vec())
                .into()
        ),
    },
    Scene {
        workbench: Workbench::TrainingTime,
        fragments: &["#", "#s.gpus=16", "#mode=parity", "#r.dp=4&r.pp=2&r.m=8", "#s.gpus=8,64&s.all=1&s.b=1,2"],
        files: files!(samples::CONFIGURATIONS.iter().map(|text| text.as_bytes().to_vec()).collect()),
    },
    Scene {
        workbench: Workbench::Tuning,
        fragments: &["#", "#trees=9&stages=5&depth=2", "#size=1"],
        files: files!(super::readers::sweeps_to_learn()),
    },
];
