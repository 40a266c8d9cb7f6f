//! The readers, and samples of what they read.

use std::sync::LazyLock;

use collectune::{
    collective::{Collective, Scale, Workload},
    intake::{
        self, ColumnSource, FileContent, Mapping, Outcome,
        files::{FileSource, FileToLoad, read_files},
        unpack::unpack,
    },
    math::Stream,
    overlap::{
        self,
        features::Settings,
        kernel::Kernel,
        loaded::{NamedKernelFile, bring_together},
    },
    progress::Silent,
    report::{html, link, markdown, wire},
    text::{Decoder, Lines},
    training_time::{
        self,
        prediction::{Direction, Mark, Missing, Prediction, Regressors},
        samples::Communicator,
        step::{self, Mode},
    },
    tuning::{
        ab,
        address::Address,
        aggregate::Target,
        columns::Column,
        conf,
        model_file::ModelFile,
        parameters::Parameters,
        reach::{ReachQuestion, ReachReader},
        runs::aggregate,
        simulate::Simulation,
        sizes::parse_sizes,
        study::TuningStudy,
        support::SupportMatrix,
    },
};

use super::{
    mutate::mutate,
    samples,
    studies::{self, SCENES, Scene},
    topologies,
};

#[path = "../support/archives.rs"]
mod archives;

/// A reader.
pub struct Reader {
    pub name: &'static str,
    /// Reads an input; it may refuse it, and must not panic.
    pub read: fn(&[u8]),
    samples: fn() -> &'static [Vec<u8>],
}

impl Reader {
    /// The input of a seed: a sample, mutated.
    pub fn input(&self, seed: u64) -> Vec<u8> {
        /// Small inputs are read faster, and most that goes wrong goes wrong in a few lines.
        const LONGEST: usize = 4096;
        const LONGEST_REPORT: usize = 256 << 10;
        let mut random = Stream::new(seed);
        if let Some(scene) = self.scene() {
            return studies::input(scene, &mut random);
        }
        let samples = (self.samples)();
        let longest = if self.is_bounded() { LONGEST_REPORT } else { LONGEST };
        mutate(&samples[random.below(samples.len())], samples, longest, &mut random)
    }

    /// What of the study behind it is chosen at random; `None` of a reader.
    fn scene(&self) -> Option<&'static Scene> {
        let key = self.name.strip_prefix("study-")?;
        SCENES.iter().find(|scene| scene.workbench.key() == key)
    }

    /// A study rather than a reader.
    pub fn is_study(&self) -> bool {
        self.scene().is_some()
    }

    /// What strangers send: it must be read in bounded time and room.
    pub fn is_bounded(&self) -> bool {
        matches!(self.name, "links" | "reports")
    }
}

/// The worst that each bound lets through, or just not.
pub fn extremes() -> Vec<(&'static str, &'static Reader, Vec<u8>)> {
    let reader = |name: &str| READERS.iter().find(|reader| reader.name == name);
    let (Some(links), Some(reports)) = (reader("links"), reader("reports")) else { return Vec::new() };
    let json = |inside: String| format!("{{\"collectune_report\":1,\"workbench\":\"tuning\",{inside}}}").into_bytes();
    let texts = |text: &str, n: usize| vec![format!("\"{text}\""); n].join(",");
    let column = format!("{{\"name\":\"a\",\"text\":[{}]}}", texts("7", 149_000));
    let numbers = format!("\"numbers\":[{}]", vec!["1e9"; 149_000].join(","));
    let table = |columns: &str| format!("\"sections\":[{{\"tables\":[{{\"id\":\"t\",\"columns\":[{columns}]}}]}}]");
    let points = vec!["12345.678"; 149_000].join(",");
    let series = format!("{{\"name\":\"s\",\"colour\":1,\"mark\":\"dots\",\"x\":[{points}],\"y\":[{points}]}}");
    let axes = "\"x\":[\"a\",\"number\",\"log\"],\"y\":[\"b\",\"number\",\"log\"]";
    vec![
        ("bomb of 64 MiB in a link", links, link::of_json(&"0".repeat(64 << 20)).fragment.into_bytes()),
        (
            "1 MiB in a link",
            links,
            link::of_json(&String::from_utf8_lossy(&json(format!("\"summary\":[{}]", texts("ab", 180_000)))))
                .fragment
                .into_bytes(),
        ),
        ("one text of 6 MiB", reports, json(format!("\"title\":\"{}\"", "x".repeat((6 << 20) - 100)))),
        ("escapes of 6 MiB", reports, json(format!("\"title\":\"{}\"", "\\u0041".repeat((1 << 20) - 100)))),
        ("300,000 texts", reports, json(format!("\"summary\":[{}]", texts("a", 299_000)))),
        (
            "300,000 texts of 18 letters",
            reports,
            json(format!("\"summary\":[{}]", texts("abcdefghijklmnopqr", 280_000))),
        ),
        ("300,000 empty lists", reports, json(format!("\"later\":[{}[]]", "[],".repeat(149_000)))),
        ("10,000 objects", reports, json(format!("\"sections\":[{}{{}}]", "{},".repeat(9_990)))),
        (
            "10,000 objects of 20 fields",
            reports,
            json(format!(
                "\"sections\":[{}{{}}]",
                format!("{{{}\"title\":\"b\"}},", (0..20).map(|n| format!("\"a{n}\":1,")).collect::<String>())
                    .repeat(9_990)
            )),
        ),
        ("a column of 149,000 cells", reports, json(table(&column))),
        ("the same with numbers", reports, json(table(&column.replace("]}", &format!("],{numbers}}}"))))),
        ("9,900 columns of nothing", reports, json(table("{},".repeat(9_900).trim_end_matches(',')))),
        (
            "149,000 points",
            reports,
            json(format!("\"sections\":[{{\"charts\":[{{\"id\":\"c\",{axes},\"series\":[{series}]}}]}}]")),
        ),
        (
            "a page of 8 MiB without an end",
            reports,
            format!(
                "<meta name=\"collectune-report\"><script type=\"application/json\" id=\"collectune-report\">{}",
                "[".repeat(8 << 20)
            )
            .into_bytes(),
        ),
    ]
}

/// Names of samples that are refused: mutations of them would never reach a reader.
pub fn not_understood() -> Vec<String> {
    let of = |reader: &&Reader| {
        let all = [
            "sweep",
            "log",
            "json",
            "report",
            "conf",
            "comparison",
            "kernels",
            "workbook",
            "xgboost",
            "training",
            "configuration",
            "profile",
            "topologies",
            "results",
            "dumps",
            "plans",
            "algorithms",
            "conditions",
            "any",
            "reports",
        ];
        all.contains(&reader.name)
    };
    let mut refused = Vec::new();
    for reader in READERS.iter().filter(of) {
        for (index, sample) in (reader.samples)().iter().enumerate() {
            let (report, _) = intake::open(&sample[..], "sample", sample.len() as u64, 1, None, &mut Silent);
            if matches!(report.outcome, Outcome::Refused(_)) && (reader.name != "any" || index != 2) {
                refused.push(format!("sample {index} of {}: {:?}", reader.name, report.outcome));
            }
        }
    }
    refused
}

macro_rules! samples {
    ($make:expr) => {
        || {
            static SAMPLES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| $make);
            &SAMPLES
        }
    };
}

/// All of them.
pub const READERS: &[Reader] = &[
    Reader { name: "sweep", read: |bytes| open(bytes, "sweep.csv", None), samples: samples!(sweeps()) },
    Reader { name: "mapping", read: mapped, samples: samples!(sweeps()) },
    Reader { name: "log", read: logs, samples: samples!(log_texts()) },
    Reader { name: "reach", read: reach, samples: samples!(reach_files()) },
    Reader { name: "json", read: logs, samples: samples!(jsons()) },
    Reader { name: "report", read: logs, samples: samples!(texts([samples::REPORT])) },
    Reader {
        name: "conf",
        read: confs,
        samples: samples!(texts([samples::CONF, samples::NCCLX, samples::NCCLX_JSON])),
    },
    Reader { name: "comparison", read: comparisons, samples: samples!(texts([samples::COMPARISON])) },
    Reader { name: "model", read: models, samples: samples!(model_files()) },
    Reader {
        name: "kernels",
        read: kernels,
        samples: samples!(texts([
            samples::MERGED,
            samples::STATISTICS,
            samples::METRICS,
            samples::NCU,
            samples::TRACE
        ])),
    },
    Reader { name: "profile", read: profile, samples: samples!(profiles()) },
    Reader { name: "workbook", read: kernels, samples: samples!(vec![samples::workbook()]) },
    Reader { name: "cells", read: cells, samples: samples!(texts(SHEETS)) },
    Reader { name: "entries", read: entries, samples: samples!(texts(samples::TRAINING.map(|(_, text)| text))) },
    Reader {
        name: "training",
        read: training,
        samples: samples!(samples::TRAINING.iter().map(|(_, text)| text.as_bytes().to_vec()).collect()),
    },
    Reader { name: "configuration", read: training, samples: samples!(texts(samples::CONFIGURATIONS)) },
    Reader {
        name: "archive",
        read: archived,
        samples: samples!(vec![archives::archive(&training_files()), archives::tarred(&training_files())]),
    },
    Reader {
        name: "expression",
        read: expression,
        samples: samples!(texts(["ceil(vocabulary/(128*mp))*128", "-b//mp % 3 + min(l, 2, dim)"])),
    },
    Reader { name: "xgboost", read: kernels, samples: samples!(texts([samples::XGBOOST])) },
    Reader { name: "rewards", read: rewards, samples: samples!(reward_logs()) },
    Reader { name: "policy", read: policies, samples: samples!(policy_files()) },
    Reader { name: "topologies", read: topologies::topologies, samples: samples!(texts(topologies::topology_files())) },
    Reader { name: "results", read: topologies::results, samples: samples!(texts(topologies::result_files())) },
    Reader { name: "dumps", read: topologies::dumps, samples: samples!(texts(topologies::dump_files())) },
    Reader {
        name: "plans",
        read: topologies::plans,
        samples: samples!(topologies::plan_files().into_iter().map(String::into_bytes).collect()),
    },
    Reader {
        name: "algorithms",
        read: topologies::algorithms,
        samples: samples!(topologies::algorithm_files().into_iter().map(String::into_bytes).collect()),
    },
    Reader {
        name: "conditions",
        read: topologies::conditions,
        samples: samples!(texts(topologies::condition_files())),
    },
    Reader { name: "choices", read: topologies::choices, samples: samples!(texts(topologies::fragments())) },
    Reader { name: "files", read: files, samples: samples!([sweeps(), log_texts(), packed()].concat()) },
    Reader { name: "any", read: |bytes| open(bytes, "any", None), samples: samples!([packed(), wide()].concat()) },
    Reader { name: "links", read: links, samples: samples!(golden(&["link"])) },
    Reader { name: "reports", read: reports, samples: samples!(golden(&["json", "html"])) },
    Reader {
        name: "address",
        read: address,
        samples: samples!(texts(["v=1&w=tuning&c=all_reduce&n=2&r=16&s=16777216&x=1"])),
    },
    Reader {
        name: "sizes",
        read: sizes,
        samples: samples!(texts(["1M,16M,64 MiB", "4096-1G", "1.5G 2kb", "RING/LL128/24"])),
    },
    Reader { name: "study-tuning", read: studies::tuning, samples: || &[] },
    Reader { name: "study-policy", read: studies::policy, samples: || &[] },
    Reader { name: "study-training-time", read: studies::training_time, samples: || &[] },
    Reader { name: "study-topology", read: studies::topology, samples: || &[] },
    Reader { name: "study-overlap", read: studies::overlap, samples: || &[] },
];

fn open(bytes: &[u8], name: &str, mapping: Option<&Mapping>) {
    let (report, content) = intake::open(bytes, name, bytes.len() as u64, 1, mapping, &mut Silent);
    if let Outcome::Loaded { problems, .. } | Outcome::Known { problems, .. } = &report.outcome {
        assert!(problems.kept.iter().all(|problem| problem.line > 0), "a problem without a place");
    }
    if let FileContent::Rows(rows) | FileContent::Log { rows, .. } = content {
        for target in [Target::Time, Target::Printed] {
            let sweep = aggregate(&rows, target);
            let is_sound = |busbw: f64| busbw.is_finite() && busbw > 0.0;
            assert!(
                sweep.points.iter().chain(&sweep.defaults).all(|p| is_sound(p.busbw_gbps)),
                "a point without a value"
            );
            assert!(sweep.notes().len() < 1000, "notes without end");
        }
    }
}

fn mapped(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).replace("collective", "c");
    // The mapping follows from the bytes, so that an input is all that is needed to repeat it.
    let mut random =
        Stream::new(bytes.iter().fold(7, |hash: u64, byte| hash.wrapping_mul(31).wrapping_add(u64::from(*byte))));
    let source = |random: &mut Stream| match random.below(4) {
        0 => ColumnSource::Constant(["DEFAULT", "RING", "8", "-1", "nan", ""][random.below(6)].to_owned()),
        _ => ColumnSource::Column(random.below(30)),
    };
    let columns = Column::ALL.iter().filter_map(|column| {
        let source = source(&mut random);
        (random.below(8) > 0).then(|| (column.name().to_owned(), source))
    });
    open(text.as_bytes(), "table.csv", Some(&Mapping { columns: columns.collect() }));
}

fn logs(bytes: &[u8]) {
    static CONFIGURATIONS: LazyLock<[Mapping; 2]> = LazyLock::new(|| {
        ["default", "RING/LL128/24"].map(|text| Mapping::configuration(text).expect("it is a configuration"))
    });
    open(bytes, "all_reduce_2n_ring_ll128_c24.log", None);
    CONFIGURATIONS.iter().for_each(|mapping| open(bytes, "log", Some(mapping)));
}

/// Logs of a call's way, and a list of calls.
fn reach_files() -> Vec<Vec<u8>> {
    let list = "collective,num_nodes,num_gpus,size_bytes,calls,data_type,redop\nall_reduce,1,8,458752,61,bf16,sum\n";
    let lines = [
        samples::CALL,
        samples::DECISION,
        "a:1:1 [0] NCCL INFO 8388608 Bytes -> Algo 1 proto 2 time 187.125000\n",
        "a:1:1 [0] NCCL INFO AllReduce [Symmetric]: 65536 Bytes -> Kernel K nchannels 8 nthreads 512 nWorks 1\n",
        "a:1:1 [0] NCCL INFO TUNER/CsvTuner: Applied config for allreduce, bytes=2048: algo=ring, proto=ll, channels=-1\n",
        "a:1:1 [0] NCCL INFO comm 0x2f rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0\n",
        "a:1:1 [0] NCCL INFO AllReduce impl selected: algo DDA-IPC\n",
        "a:1:1 [0] NCCL INFO RCCL DIRECT ALLGATHER count = 8, msgSize = 256, comm = 0x2f, stream = 0x5, rank = 0\n",
        "a:1:1 [0] NCCL INFO RCCL version : 2.30.4-Unknown\n",
    ];
    texts([list, &lines.concat()])
}

fn reach(bytes: &[u8]) {
    let mut reader = ReachReader::default();
    reader.read("reach", &mut Lines::new(Decoder::new(bytes)));
    let rules = Some((conf::read(samples::CONF.as_bytes(), conf::Reader::Rccl), conf::Reader::Rccl));
    let reach = reader.reach(&ReachQuestion { rules, ..ReachQuestion::default() });
    assert_eq!(reach.total.calls, reach.lines.iter().map(|line| line.calls).fold(0, u64::saturating_add));
}

fn confs(bytes: &[u8]) {
    open(bytes, "tuner.conf", None);
    let support = SupportMatrix::default();
    for reader in conf::Reader::ALL {
        let rules = conf::read(bytes, *reader);
        let _ = conf::lint(bytes, *reader, &support, None);
        for size_bytes in [0, 4096, 1 << 24, u64::MAX] {
            let scale = Scale { nodes: 2, ranks: 16 };
            let workload = Workload { collective: Collective::AllReduce, scale, size_bytes };
            let _ = conf::choose(&rules, *reader, &support, &workload);
        }
    }
}

fn comparisons(bytes: &[u8]) {
    let mut text = String::new();
    if std::io::Read::read_to_string(&mut Decoder::new(bytes), &mut text).is_err() {
        text = String::from_utf8_lossy(bytes).into_owned();
    }
    let _ = ab::judge(&text, "allreduce_1n.per_size_stats.csv", Some(samples::CONF.as_bytes()), &Default::default());
}

/// The samples, each in a folder of its own: some share a name, which an archive holds once.
fn training_files() -> Vec<(String, &'static str)> {
    let entry = |(index, (name, content)): (usize, &(&str, &'static str))| (format!("{index}/{name}"), *content);
    samples::TRAINING.iter().enumerate().map(entry).collect()
}

/// The files of an archive, the first ones as samples of training.
fn archived(bytes: &[u8]) {
    let files = unpack(Box::new(bytes), "archive.zip").unwrap_or_default();
    files.iter().take(4).for_each(|file| training(&file.bytes));
}

/// Parts of a workbook, and its shared texts behind a line of dashes. A mutated archive breaks its checksums, and
/// nothing of it would be read.
const SHEETS: [&str; 2] = [
    "<worksheet><sheetData><row r=\"1\"><c r=\"A1\" t=\"s\"><v>0</v></c><c r=\"B1\" t=\"s\"><v>1</v></c><c t=\"inlineStr\"><is>\
     <t>duration</t></is></c><c r=\"D1\" t=\"inlineStr\"><is><t>overlap_ratio</t></is></c></row><row r=\"2\"><c r=\"A2\"><v>a&lt;b\
     </v></c><c r=\"B2\"><v>100</v></c><c r=\"C2\"><v>1.2E2</v></c><c r=\"D2\"><v>0.5</v></c></row></sheetData></worksheet>\n---\n\
     <sst><si><t>kShortName</t></si><si><r><t>ground</t></r><r><t>_truth</t></r><rPh><t>x</t></rPh></si></sst>",
    "<x:worksheet><x:row><x:c><x:v><![CDATA[name]]></x:v></x:c></x:row><row r='7'><c r='XFD7'><v>1</v></c><c/></row></x:worksheet>\n\
     ---\n<sst><si/><si><t>&amp;&#65;&#x42;</t></si></sst>",
];

fn cells(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (sheet, shared) = text.split_once("\n---\n").unwrap_or((&text, ""));
    kernels(&archives::archive(&[("xl/worksheets/sheet1.xml", sheet), ("xl/sharedStrings.xml", shared)]));
}

fn entries(bytes: &[u8]) {
    let (first, second) = bytes.split_at(bytes.len() / 2);
    archived(&archives::archive(&[
        ("X/operator/A100_linear1_fp16.csv", bytes),
        ("a/b.csv", first),
        ("run.yml", second),
    ]));
}

/// Each of the samples' files in turn is the one that is read, so that what belongs together meets.
fn training(bytes: &[u8]) {
    let others = samples::TRAINING.iter().map(|(name, text)| (*name, text.as_bytes()));
    let configurations = samples::CONFIGURATIONS.iter().map(|text| ("run.yml", text.as_bytes()));
    let mut files = Vec::new();
    for (name, bytes) in others.chain(configurations).chain([("X_linear1_fp16.csv", bytes), ("file", bytes)]) {
        let (report, content) = intake::open(bytes, name, bytes.len() as u64, 1, None, &mut Silent);
        if let Outcome::Known { problems, .. } = &report.outcome {
            assert!(problems.kept.iter().all(|problem| problem.line > 0), "a problem without a place");
        }
        if let FileContent::Training(file) = content {
            files.push(*file);
        }
    }
    let bundle = training_time::bundle::bring_together(files, &Vec::new());
    for cluster in &bundle.clusters {
        for samples in &cluster.operators {
            assert_eq!(samples.values.len(), samples.len() * samples.inputs.len(), "rows of another width");
            assert!(samples.forward_us.iter().chain(&samples.backward_us).all(|time| *time > 0.0), "no time");
        }
        let _ = training_time::health::health(cluster, &bundle.catalogue);
        for sampling in bundle.samplings.iter().filter(|sampling| sampling.points() < 100_000) {
            let _ = training_time::coverage::coverage(cluster, sampling);
        }
    }
    for configured in &bundle.runs {
        for mode in [Mode::Default, Mode::Parity] {
            let needs = training_time::needs::needs(&bundle, &configured.run, &configured.functions, mode);
            let _ = training_time::sampling_files::sampling_script(&bundle, &configured.run, &needs);
            // Whatever a run asks for, it is composed or refused.
            if let Ok(plan) = step::plan(&configured.run, mode, &bundle.catalogue, &Instant) {
                let _ = plan.marks(&plan.step());
                let anatomy = training_time::anatomy::Anatomy::of(&configured.run, &bundle.catalogue);
                let _ = training_time::memory::of(&configured.run, &anatomy);
            }
        }
    }
    let again = training_time::catalogue::Catalogue::parse(&bundle.catalogue.to_yaml());
    // What is written may be longer than what may be read.
    assert!(again.map_or(true, |again| again == bundle.catalogue), "a catalogue that does not come back");
}

/// Everything takes a microsecond.
struct Instant;

impl Regressors for Instant {
    fn operator(&self, _: &str, _: Direction, _: &training_time::scope::Scope) -> Result<Prediction, Missing> {
        Ok(Prediction { time_us: 1.0, mark: Mark::Measured, beyond: None, regressor: 0, least_us: 0.0 })
    }

    fn collective(&self, _: &str, _: u64, _: Communicator) -> Result<Prediction, Missing> {
        Ok(Prediction { time_us: 1.0, mark: Mark::Measured, beyond: None, regressor: 1, least_us: 0.0 })
    }

    fn residuals(&self, _: u32, _: Mark) -> &[f64] {
        &[]
    }
}

fn expression(bytes: &[u8]) {
    let scope = training_time::scope::Scope::from([("mp", 2.0), ("b", 4.0), ("l", 0.0), ("dim", 1e300)]);
    if let Ok(expression) = training_time::expression::Expression::parse(&String::from_utf8_lossy(bytes))
        && let Ok(value) = expression.evaluate(&scope)
    {
        assert!(value.is_finite(), "an infinite value");
    }
}

/// Kernels are studied, and predicted by a model.
fn kernels(bytes: &[u8]) {
    let parts = [bytes, samples::MERGED.as_bytes(), samples::XGBOOST.as_bytes()];
    let parts = parts.into_iter().zip(["a", "b", "c"]).filter_map(|(bytes, name)| {
        match intake::open(bytes, name, bytes.len() as u64, 1, None, &mut Silent) {
            (_, FileContent::Kernels(part)) => Some(NamedKernelFile { name: name.to_owned(), part: *part }),
            _ => None,
        }
    });
    let loaded = bring_together(parts.collect());
    let is_sound = |kernel: &Kernel| kernel.slowdown().is_finite() && kernel.alone_ns > 0.0;
    assert!(loaded.datasets.iter().all(|dataset| dataset.kernels.iter().all(is_sound)), "a kernel without a slowdown");
    let _ = overlap::study::OverlapStudy::new(loaded).study(Settings::default());
    open(bytes, "kernels", None);
}

/// Logs are attributed in every way and judged.
fn rewards(bytes: &[u8]) {
    use collectune::policy::{
        arm::Arm,
        file::Policy,
        read::NamedLog,
        request::{Export, Schedule, Settings},
        simulate,
        study::PolicyStudy,
    };
    let (report, content) = intake::open(bytes, "times_1x8_4MB.log", bytes.len() as u64, 1, None, &mut Silent);
    if let Outcome::Known { problems, .. } = &report.outcome {
        assert!(problems.kept.iter().all(|problem| problem.line > 0), "a problem without a place");
    }
    let FileContent::Rewards(log) = content else { return };
    assert!(log.rows.iter().all(|row| row.latency_ms > 0.0 && row.latency_ms.is_finite()), "a row without a latency");
    let arms = || simulate::ARMS.iter().filter_map(|arm| Arm::parse(arm)).collect();
    let policies = policy_files().into_iter().next().and_then(|bytes| Some(Policy::read(&bytes).ok()?.policy));
    let policies: Vec<Policy> = policies.into_iter().collect();
    for schedule in [
        Schedule::default(),
        Schedule { arms: arms(), warm_up: Some(3), turns: Some(9), ..Schedule::default() },
        Schedule { policies, ..Schedule::default() },
    ] {
        let settings = Settings { schedule, ..Default::default() };
        let mut study = PolicyStudy::new(vec![NamedLog { name: "a.log".to_owned(), log: (*log).clone() }]);
        if let Ok(studied) = study.study(settings, &mut Silent) {
            for place in 0..studied.keys.len().min(3) {
                assert!(study.key(place as u32, &Default::default()).is_ok(), "a key without charts");
            }
            let _ = study.export(&Export::Policy(1));
        }
    }
}

/// A policy that is read is written as it is, and read again.
fn policies(bytes: &[u8]) {
    use collectune::policy::{
        file::{Policy, with_checksum},
        record,
    };
    let _ = record::policy(bytes);
    // Most mutations break the checksum; then nothing else would be read.
    let text = String::from_utf8_lossy(bytes);
    let body = text.rsplit_once("#crc32").map_or(&*text, |(body, _)| body);
    for text in [text.clone().into_owned(), with_checksum(body.to_owned())] {
        if let Ok(reading) = Policy::read(text.as_bytes()) {
            let again = Policy::read(reading.policy.text().as_bytes()).map(|reading| reading.policy);
            let again = again.unwrap_or_else(|error| panic!("what is written is not read: {error}"));
            assert!((again.arms, again.keys) == (reading.policy.arms, reading.policy.keys), "it reads otherwise");
        }
    }
}

pub fn reward_logs() -> Vec<Vec<u8>> {
    let plain = "allreduce,4194304,1,8,12.34\nallreduce,4194304,1,8,11.9\nncclAllGather,65536,2,16,0.4\n";
    let headed = "collective,size_bytes,num_nodes,num_gpus,latency_us,arm,propensity,call,generation,overlap,rank,timestamp\n\
                  allreduce,4096,1,8,35.1,auto,0.5,0,1,0,0,1.5\nallreduce,4096,1,8,31.0,tree/ll128,0.5,1,1,0,0,2.5\n";
    let own = "# collectune-rewards 1\ncollType,nBytes,nNodes,nRanks,iteration_ms,algo,proto,channels\n\
               allreduce,4096,1,8,3.5,tree,simple,8\nallreduce,4096,1,8,3.1,auto,,\n";
    let episodes = r#"[{"episode":0,"arm_idx":3,"arm_label":"auto","mean_ms":9.7},{"episode":1,"arm_idx":0,"arm_label":"tree_simple","mean_ms":9.9}]"#;
    let nested = r#"{"sequential":{"64KB":{"auto":8.443,"tree_simple":8.495}}}"#;
    let means = "# means\nmode,size,auto,tree_simple\nsequential,64KB,8.443,8.495\n";
    let of_episodes = "log,size,episode,arm,mean_ms\nucb1,64MB,0,auto,9.7\nucb1,64MB,1,tree_simple,9.9\n";
    let mut all = texts([plain, headed, own, "9.7\n9.8\n10.1\n", episodes, nested, means, of_episodes]);
    all.extend(policy_files());
    all
}

fn policy_files() -> Vec<Vec<u8>> {
    use collectune::policy::file::with_checksum;
    let text = r#"{"format":"collectune-policy","version":2,"generation":17,"library":"2.28.9","bands":[1024,262144],"seed":"0x2a","arms":[{"name":"auto"},{"algo":"tree","proto":"simple","channels":0}],"keys":[{"coll":"allreduce","band":1,"nodes":1,"ranks":8,"overlap":null,"arm":1},{"coll":"allreduce","band":2,"nodes":1,"ranks":8,"overlap":1,"counts":[3,5]}],"evidence":[{"key":0,"n":[64,64],"mean_ms":[10.5,9.25],"p_better":0.97,"gain_pct":4.1}],"chunk_sizes":[{"coll":"allreduce","nodes":1,"ranks":8,"algo":"ring","proto":"ll128","min_channel_bytes":1024,"chunk_bytes":3840}]}"#;
    vec![with_checksum(text.to_owned() + "\n").into_bytes(), text.as_bytes().to_vec()]
}

/// A link, and the link of a text.
fn links(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = link::decode(&text);
    if let Ok(report) = wire::read(&text) {
        let link = link::of_json(&text);
        assert!(link.chars > link::MOST_READ || link::decode(&link.fragment).ok() == Some(report), "it comes back");
    }
}

fn reports(bytes: &[u8]) {
    let (_, content) = intake::open(bytes, "report", bytes.len() as u64, 1, None, &mut Silent);
    let FileContent::Report(report) = content else { return };
    // Drawn and written now and then only: that takes longer than reading.
    let sum = bytes.iter().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(*byte)));
    if sum % 64 == 0 && bytes.len() < 1 << 20 {
        let page = html::html(&report).unwrap_or_default();
        assert!(page.matches("<script").count() == 1, "a script in a page");
        let _ = markdown::markdown(&report);
    }
}

/// Whole reports of every version; as JSON and in links both.
fn golden(extensions: &[&str]) -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/reports");
    let versions = 1..=wire::VERSION;
    let of = |version: u64| extensions.iter().map(move |extension| format!("v{version}.{extension}"));
    let files = versions.flat_map(of).filter_map(|name| std::fs::read(folder.join(name)).ok());
    let mut all: Vec<Vec<u8>> = files.collect();
    all.push(b"{\"collectune_report\":1,\"workbench\":\"tuning\",\"title\":\"t\",\"sections\":[{\"title\":\"s\",\"tables\":[{\"columns\":[{\"name\":\"Size\",\"text\":[\"4 KiB\",\"1 MiB\"],\"numbers\":[4096,null]}]}]}]}".to_vec());
    all
}

/// Databases as Nsight Systems and rocprofv3 write them.
fn profiles() -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/profiles");
    let names = ["nsight.sqlite", "rocpd3.db", "rocpd4.db"];
    names.iter().filter_map(|name| std::fs::read(folder.join(name)).ok()).collect()
}

fn profile(bytes: &[u8]) {
    for trace in training_time::trace::read_database(bytes).unwrap_or_default() {
        assert!(trace.steps > 0 && trace.step_us.is_finite(), "a trace without steps");
    }
}

fn models(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(model) = ModelFile::read(&text) {
        let _ = aggregate(&model.rows(0, &mut Default::default()).collect::<Vec<_>>(), Target::Time);
    }
    open(bytes, "model.json", None);
}

/// An input as two files at once.
fn files(bytes: &[u8]) {
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let parts = [first, second, bytes];
    let names: Vec<FileToLoad> =
        (0_u32..3).map(|id| FileToLoad { id, name: format!("{id}.csv"), mapping: None }).collect();
    let sources = parts.map(|part| FileSource::from(part.to_vec()));
    let _ = read_files(&names, sources.into(), &mut Silent);
}

fn address(bytes: &[u8]) {
    if let Ok(address) = Address::parse(&String::from_utf8_lossy(bytes)) {
        assert_eq!(Address::parse(&address.fragment()).ok(), Some(address), "an address that does not read back");
    }
}

fn sizes(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(sizes) = parse_sizes(&text) {
        assert!(sizes.len() < 1_000_000, "sizes without end");
    }
    let _ = Mapping::configuration(&text);
}

fn texts<const N: usize>(texts: [&str; N]) -> Vec<Vec<u8>> {
    texts.map(|text| text.as_bytes().to_vec()).into()
}

fn simulation() -> Simulation {
    Simulation { sizes: vec![4096, 1 << 20], channels: vec![1, 8], ..Simulation::example() }
}

/// Sweeps that something can be learnt from, and logs.
pub fn sweeps_to_learn() -> Vec<Vec<u8>> {
    let learnable = Simulation { sizes: vec![4096, 1 << 20, 1 << 24], channels: vec![1, 8], ..Simulation::example() };
    let csv = learnable.to_csv();
    let of = |count: usize| csv.lines().take(count).collect::<Vec<_>>().join("\n").into_bytes();
    let mut all = vec![of(30), of(80)];
    all.extend(log_texts());
    all
}

/// A sweep of some lines, in each of its forms.
fn sweeps() -> Vec<Vec<u8>> {
    let newer: Vec<String> = simulation().to_csv().lines().take(8).map(str::to_owned).collect();
    let newer = newer.join("\n") + "\n";
    let older = "collective,num_nodes,num_gpus,size_bytes,count,data_type,redop,time_oop_us,algbw_oop,busbw_oop,errors_oop,\
                 time_ip_us,algbw_ip,busbw_ip,errors_ip,algo,proto,nchannels\n\
                 all_reduce_perf,1,8,8192,2048,float,sum,40.91,0.2,0.35,0,40.14,0.2,0.36,0,RING,SIMPLE,1\n\
                 all_gather_perf,2,16,4096,64,float,none,234.9,0.02,0.02,0,231.65,0.02,0.02,-1,Direct,SIMPLE,-88\n";
    let curve = "collective,num_nodes,num_gpus,size_bytes,busbw_ip,algo,proto,nchannels\nbroadcast,3,24,65536,0.70,DEFAULT,DEFAULT,0\n";
    let measured = "collective,size_bytes,algorithm,protocol,channels,nodes,ranks,pipeOps,regBuff,cost_metric,bandwidth_gbps,\
                    latency_us\nallreduce,1048576,ring,simple,8,2,16,-1,-1,0.5,15.0,131.072\nallreduce,1048576,-1,-1,-1,2,16,-1,-1,-1,14,-1\n";
    let gains = "collective,num_nodes,size_bytes,algo,proto,nchannels,winner_busbw,default_busbw,predicted_gain_pct\n\
                 all_reduce,2,4096,TREE,LL,2,0.3,0.2,50\n";
    texts([&newer, &newer.replace(',', ";"), &newer.replace(',', "\t"), older, curve, measured, gains])
}

fn log_texts() -> Vec<Vec<u8>> {
    use samples::{CALL, COSTS, DECISION, END, HEADER, ROWS, START, log};
    let in_pieces = format!("{START}{HEADER}{}{DECISION}{}\n{END}", &ROWS[0][..60], &ROWS[0][60..]);
    let asked =
        format!("NCCL_ALGO=Ring NCCL_PROTO=LL NCCL_MIN_NCHANNELS=8 NCCL_MAX_NCHANNELS=8 ./all_reduce_perf\n{}", log());
    let planned = log().replace("       0\n", "       0    RING   LL128   24\n");
    let labelled: String = log().lines().map(|line| format!("[1,0]<stdout>:{line}\n")).collect();
    texts([&log(), &in_pieces, &asked, &planned, &labelled, &[CALL, DECISION, COSTS, CALL].concat()])
}

fn jsons() -> Vec<Vec<u8>> {
    let whole = format!("{}],\"out_of_bounds\":{{\"count\":0,\"okay\":\"true\"}}}}", samples::JSON);
    let report = r#"[{"numCycle":0,"name":"AllReduce","gpus":8,"size":1048576,"type":"float","redop":"sum","inPlace":1,"time":131.1,
                     "algBw":8.0,"busBw":14.0,"wrong":"N/A"}]"#;
    texts([&whole, samples::JSON, report])
}

fn packed() -> Vec<Vec<u8>> {
    let packed = archives::gzipped(samples::log().as_bytes());
    vec![archives::gzipped(&sweeps()[0]), packed.clone(), archives::gzipped(&packed)]
}

/// UTF-16, with either mark.
fn wide() -> Vec<Vec<u8>> {
    let text = sweeps()[0].clone();
    let little: Vec<u8> = [0xFF, 0xFE].into_iter().chain(text.iter().flat_map(|byte| [*byte, 0])).collect();
    let big: Vec<u8> = [0xFE, 0xFF].into_iter().chain(text.iter().flat_map(|byte| [0, *byte])).collect();
    vec![little, big, b"\xEF\xBB\xBF".iter().copied().chain(text).collect()]
}

/// A model of the smallest sweep that one can be learnt from.
fn model_files() -> Vec<Vec<u8>> {
    let simulation =
        Simulation { sizes: vec![4096, 1 << 20, 1 << 24], channels: vec![1, 8, 32], ..Simulation::example() };
    let csv = simulation.to_csv();
    let (_, content) = intake::open(csv.as_bytes(), "sweep.csv", csv.len() as u64, 0, None, &mut Silent);
    let FileContent::Rows(rows) = content else { return texts(["{\"format\":\"collectune-model\"}"]) };
    let mut study = TuningStudy::new(aggregate(&rows, Target::Time), Target::Time);
    let trained = study.train(Parameters::default(), &mut Silent).is_ok();
    let text =
        study.model_file(&Default::default()).ok().filter(|_| trained).map(|file| file.to_text()).unwrap_or_default();
    // A short beginning with its rows cut, so that mutations meet the fields and not only numbers.
    vec![text.into_bytes(), b"{\"format\":\"collectune-model\"}".to_vec()]
}
