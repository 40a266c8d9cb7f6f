//! Coverage: what a job's calls hit and cost, from logs and typed, from the worker's protocol.

#![allow(clippy::unwrap_used)]

use collectune::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    intake::{FileReport, Outcome, files::OpenedFiles},
    progress::Silent,
    text::Problems,
    tuning::{
        aggregate::{Point, Target},
        conf::{
            self, Reader,
            expect::ExpectationBasis as Known,
            export::{self, ExportOptions},
            lint, overlay,
        },
        coverage::{CoverageError, CoverageInput, CoverageQuestion, Hit, calls::TypedCalls, coverage},
        job::{CollectiveCall, Cost, CostTable, JobLog, LibraryDecision},
        platform::Library,
        reach::{Path, Reach, ReachQuestion, ReachReader},
        read::{Row, RowMarks, RunKind, Sample},
        sweep::Sweep,
    },
    worker::executor::Executor,
};

const SCALE: Scale = Scale { nodes: 2, ranks: 16 };
const RING: Configuration = Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Simple, channels: 8 };
const TREE: Configuration = Configuration { algorithm: Algorithm::Tree, protocol: Protocol::Ll, channels: 4 };

fn all_reduce(size_bytes: u64) -> Workload {
    Workload { collective: Collective::AllReduce, scale: SCALE, size_bytes }
}

/// The default runs a tree and takes 100 us at 64 KiB, 200 us at 256 KiB; the ring is twice as fast.
fn sweep() -> Sweep {
    let busbw = |size: u64, time_us: f64| Collective::AllReduce.busbw_gbps(16, size, time_us);
    let point = |size, configuration, time_us| Point::new(all_reduce(size), configuration, busbw(size, time_us));
    Sweep {
        points: vec![point(1 << 16, RING, 50.0), point(1 << 18, RING, 100.0)],
        defaults: vec![point(1 << 16, TREE, 100.0), point(1 << 18, TREE, 200.0)],
    }
}

fn call(collective: Collective, size_bytes: u64, ranks: Option<u32>) -> CollectiveCall {
    CollectiveCall { collective, size_bytes, ranks, is_per_rank: false }
}

fn job() -> JobLog {
    let mut job = JobLog { torn_lines: 3, ..JobLog::default() };
    job.calls.insert(call(Collective::AllReduce, 1 << 16, Some(16)), 40);
    job.calls.insert(call(Collective::AllReduce, 1 << 17, Some(16)), 20);
    job.calls.insert(call(Collective::AllReduce, 1 << 20, None), 2);
    job.calls.insert(call(Collective::AllToAll, 1 << 20, Some(8)), 10);
    job.decisions.insert(
        LibraryDecision {
            collective: Collective::AllReduce,
            size_bytes: 1 << 16,
            is_per_rank: false,
            configuration: TREE,
        },
        40,
    );
    job
}

fn close(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value / expected - 1.0).abs() < 1e-9)
}

#[test]
fn each_call_hits_its_rule_or_the_gap_and_costs_its_time() {
    let rules = conf::read(b"allreduce,4096,131072,ring,simple,8,2,16\n", Reader::DnTuner);
    let sweep = sweep();
    let basis = CoverageInput { sweep: &sweep, rules: Some(&rules), predict: None, reach: None };
    let question = CoverageQuestion { reader: Reader::DnTuner, divide_by: 20, ..CoverageQuestion::default() };
    let answer = coverage(&job(), &basis, &question).unwrap();

    let line = |size, collective| {
        let found = answer.lines.iter().find(|l| (l.workload.size_bytes, l.workload.collective) == (size, collective));
        found.unwrap()
    };
    let small = line(1 << 16, Collective::AllReduce);
    assert_eq!((small.calls, small.hit, small.seen, small.is_measured), (2.0, Hit::Rule(1), Some(TREE), true));
    assert!(close(small.now_us(), 200.0) && close(small.with_conf_us(), 100.0), "{small:?}");
    // Half way in the logarithm: busbw is the geometric mean of its neighbours'.
    let between = line(1 << 17, Collective::AllReduce);
    assert_eq!(between.now.map(|now| now.basis), Some(Known::Interpolated));
    assert!(close(between.now_us(), 100.0 * 2_f64.sqrt()) && close(between.with_conf_us(), 50.0 * 2_f64.sqrt()));
    // Beyond the measured sizes nothing is claimed.
    let large = line(1 << 20, Collective::AllReduce);
    assert_eq!((large.hit, large.now, large.with_conf, large.workload.scale), (Hit::Gap, None, None, SCALE));
    let exchange = line(1 << 20, Collective::AllToAll);
    assert_eq!((exchange.hit, exchange.workload.scale), (Hit::Untuned, Scale { nodes: 1, ranks: 8 }));

    assert!(close(Some(answer.total.now_us), 200.0 + 100.0 * 2_f64.sqrt()));
    assert!(close(answer.total.with_conf_us, 100.0 + 50.0 * 2_f64.sqrt()));
    assert_eq!((answer.total.calls, answer.total.covered, answer.total.known), (3.6, 3.0, 3.0));
    assert_eq!(
        answer.sentence,
        "341.4 µs per step now, 170.7 µs with the file (−50.0 %), known for 83 % of 3.600 calls per step; 83 % of the \
         calls hit a rule."
    );
    assert_eq!(
        answer.measure_next.iter().map(|(workload, _)| *workload).collect::<Vec<_>>(),
        [all_reduce(1 << 17), all_reduce(1 << 20)]
    );
    assert!(answer.notes.iter().any(|note| note == "torn and not counted: 3 lines of the logs"), "{:?}", answer.notes);
    assert!(answer.notes.iter().any(|note| note.starts_with("communicators of 8 ranks are taken for 1 node")));
    assert_eq!(answer.listing.rows.len(), 4);
    assert!(answer.listing.rows.iter().all(|row| row.len() == answer.listing.columns.len()));
}

#[test]
fn the_time_of_a_call_is_that_of_what_ran() {
    let mut job = JobLog::default();
    let ran = |configuration| {
        let (collective, size_bytes, is_per_rank) = (Collective::AllReduce, 1 << 16, false);
        LibraryDecision { collective, size_bytes, is_per_rank, configuration }
    };
    let sweep = sweep();
    let basis = CoverageInput { sweep: &sweep, rules: None, predict: None, reach: None };
    let mut line = |configuration| {
        job.calls = [(call(Collective::AllReduce, 1 << 16, Some(16)), 1)].into();
        job.decisions = [(ran(configuration), 1)].into();
        let answer = coverage(&job, &basis, &CoverageQuestion::default()).unwrap();
        let known = answer.listing.rows[0].last().unwrap().text.to_string();
        (answer.lines[0].now.and_then(|now| now.time_us).map(f64::round), known)
    };
    assert_eq!(line(TREE), (Some(100.0), "measured".to_owned()));
    // The default of the sweep ran TREE, and the job something else: its own time, or a default that is named.
    assert_eq!(line(RING), (Some(50.0), "measured".to_owned()));
    let unmeasured = Configuration { channels: RING.channels + 1, ..RING };
    assert_eq!(line(unmeasured), (Some(100.0), format!("measured of a default that ran {TREE}")));
    assert_eq!(line(Configuration { channels: 1, ..TREE }), (Some(100.0), "measured".to_owned()));
}

#[test]
fn a_gap_costs_one_channel_with_the_reader_that_sets_it() {
    let rules = conf::read(b"allreduce,1,2,ring,simple,8,2,16\n", Reader::Example);
    let mut sweep = sweep();
    let slow = Configuration { channels: 1, ..TREE };
    sweep.points.insert(0, Point::new(all_reduce(1 << 16), slow, 0.1));
    let basis = CoverageInput { sweep: &sweep, rules: Some(&rules), predict: None, reach: None };
    let mut job = JobLog::default();
    job.calls.insert(call(Collective::AllReduce, 1 << 16, None), 1);
    let answer = coverage(&job, &basis, &CoverageQuestion::default()).unwrap();
    assert_eq!(answer.lines[0].effect.unwrap().to_string(), "the library's choice on 1 channel");
    assert_eq!(answer.lines[0].with_conf.map(|with| with.busbw_gbps), Some(0.1));
}

#[test]
fn what_is_missing_is_said() {
    let empty = Sweep::default();
    let basis = CoverageInput { sweep: &empty, rules: None, predict: None, reach: None };
    assert_eq!(coverage(&JobLog::default(), &basis, &CoverageQuestion::default()).err(), Some(CoverageError::NoCalls));
    let mut job = JobLog::default();
    job.calls.insert(call(Collective::AllReduce, 1 << 16, None), 1);
    assert_eq!(coverage(&job, &basis, &CoverageQuestion::default()).err(), Some(CoverageError::NoScale));
    let asked = CoverageQuestion { scale: Some(SCALE), ..CoverageQuestion::default() };
    let answer = coverage(&job, &basis, &asked).unwrap();
    assert_eq!(answer.sentence, "1 call per step; what they cost is not known.");
    assert_eq!(answer.lines[0].hit, Hit::Untuned);
}

#[test]
fn typed_calls_are_batch_times_hidden_times_type() {
    let sweep = sweep();
    let predict = |_: &Workload, _: &Configuration| Some(1.0);
    let rules = conf::read(b"allreduce,0,-1,ring,simple,8,-1,-1\n", Reader::Rccl);
    let basis = CoverageInput { sweep: &sweep, rules: Some(&rules), predict: Some(&predict), reach: None };
    let typed = TypedCalls {
        collective: Collective::AllReduce,
        batches: vec![4, 45, u64::MAX],
        hidden: 8192,
        type_bytes: 2,
        calls: 160,
    };
    let question = CoverageQuestion { typed: Some(typed), reader: Reader::Rccl, ..CoverageQuestion::default() };
    let answer = coverage(&JobLog::default(), &basis, &question).unwrap();
    let mut sizes: Vec<u64> = answer.lines.iter().map(|line| line.workload.size_bytes).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [1 << 16, 737_280]);
    let outside = answer.lines.iter().find(|line| line.workload.size_bytes == 737_280).unwrap();
    assert_eq!(outside.with_conf.map(|with| with.basis), Some(Known::Model));
    assert_eq!(answer.measure_next.iter().map(|(workload, _)| *workload).collect::<Vec<_>>(), [all_reduce(737_280)]);
}

#[test]
fn the_library_s_own_table_is_drawn_beside_what_was_measured() {
    let sweep = sweep();
    let cost = |algorithm, latency_us, algbw_gbps| Cost {
        collective: Collective::AllReduce,
        algorithm,
        protocol: Protocol::Simple,
        latency_us,
        algbw_gbps,
    };
    let mut job = job();
    job.costs.push(CostTable { ranks: Some(9), costs: vec![cost(Algorithm::Ring, 1.0, 1.0)] });
    job.costs.push(CostTable {
        ranks: Some(16),
        costs: vec![cost(Algorithm::Ring, 30.0, 100.0), cost(Algorithm::Tree, 20.0, 50.0)],
    });
    let answer = coverage(
        &job,
        &CoverageInput { sweep: &sweep, rules: None, predict: None, reach: None },
        &CoverageQuestion::default(),
    )
    .unwrap();
    let [chart] = &answer.costs[..] else { panic!("{:?}", answer.costs.len()) };
    let names: Vec<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names, ["Best measured", "Default, measured", "RING/SIMPLE, believed", "TREE/SIMPLE, believed"]);
    // 1 MiB: 30 us + 1048576 / 100000 us.
    let point = chart.series[2].points.iter().find(|point| point.x == 1_048_576.0).unwrap();
    let expected = Collective::AllReduce.busbw_gbps(16, 1 << 20, 30.0 + 10.48576);
    assert!((point.y - expected).abs() < 1e-9);
}

/// The worker with a sweep, a log and a tuner file.
fn executor() -> Executor {
    let row = |line, size_bytes, ran: Configuration, time_us, kind| Row {
        file: 0,
        line,
        workload: all_reduce(size_bytes),
        ran,
        in_place: Some(Sample {
            time_us: Some(time_us),
            busbw_gbps: Collective::AllReduce.busbw_gbps(16, size_bytes, time_us),
        }),
        out_of_place: None,
        repeats: 1,
        spread_pct: None,
        kind,
        marks: RowMarks::default(),
        asked: Default::default(),
        evidence: Default::default(),
        origin: 0,
    };
    let mut opened = OpenedFiles::default();
    opened.rows = vec![
        row(2, 1 << 16, RING, 50.0, RunKind::Asked),
        row(3, 1 << 16, TREE, 100.0, RunKind::Default),
        row(4, 1 << 18, RING, 100.0, RunKind::Asked),
        row(5, 1 << 18, TREE, 200.0, RunKind::Default),
    ];
    let outcome = Outcome::Loaded {
        format: "sweep".to_owned(),
        rows: 4,
        default_rows: 2,
        problems: Problems::default(),
        notes: Vec::new(),
    };
    opened.files =
        vec![FileReport { id: 0, name: "/home/me/sweep.csv".to_owned(), size_bytes: 1, outcome, completes: false }];
    opened.documents.jobs.push((1, job()));
    opened.documents.confs.push((2, b"allreduce,0,131072,ring,simple,8,2,16\nalltoall,0,1,RING,ll,1,1,8\n".to_vec()));
    let mut executor = Executor::default();
    executor.take_in(opened, Target::Time, &mut Silent).unwrap();
    executor
}

#[test]
fn tuner_files_are_checked_laid_over_the_sweep_and_written() {
    let executor = executor();
    let (tuning, library) = (&executor.studies.tuning.loaded, Library::Rccl);
    let findings = tuning.lint(2, Reader::ALL, library).unwrap();
    let (listing, summary) = (lint::listing(&findings), lint::summary(&findings));
    assert!(findings.iter().any(|f| f.code.name() == "unknown-collective" && f.line == 2));
    assert_eq!(findings.len(), listing.rows.len());
    assert!(summary.contains("change what runs"), "{summary}");

    let choices = tuning.overlay(2, Reader::Rccl, library).unwrap();
    assert_eq!(
        overlay::summary(&choices),
        "At 2 of 2 measured sizes what would run is known: it loses 25.0 % of the best on average, at most 50.0 % \
         (all_reduce of 256 KiB on 2 nodes, 16 ranks); 1 size without a rule."
    );
    assert_eq!(overlay::listing(&choices).rows.len(), 2);
    let chart = overlay::chart(&choices, Collective::AllReduce, SCALE, Reader::Rccl);
    assert_eq!(chart.series.iter().map(|s| s.points.len()).collect::<Vec<_>>(), [2, 2, 2]);

    let export = tuning.export(&ExportOptions { reader: Reader::Rccl, ..ExportOptions::default() }).unwrap();
    assert_eq!(export.files.len(), 1);
    assert!(export.files[0].text.contains("# sweep: sweep.csv\n"), "{}", export.files[0].text);
    assert!(!export.files[0].text.contains("/home"));
    assert_eq!(export::listing(&export.rows).rows.len(), export.rows.len());

    let environment = tuning.environment((Collective::AllReduce, SCALE), None, library).unwrap();
    assert_eq!(environment.configuration, RING);
    assert!(environment.warnings[0].contains("loses 0.0 %") && environment.warnings[1].contains("not equivalent"));

    let error = tuning.overlay(9, Reader::Rccl, library).unwrap_err();
    assert_eq!(error.to_string(), "this tuner file is not loaded any more; give it again");
}

#[test]
fn coverage_is_computed_with_the_rules_of_a_loaded_file() {
    let executor = executor();
    let question = CoverageQuestion { conf: Some(2), reader: Reader::Rccl, ..CoverageQuestion::default() };
    let answer = executor.studies.tuning.loaded.coverage(&question).unwrap();
    assert_eq!(answer.lines[0].hit, Hit::Rule(1));
    assert!(answer.histogram.series.iter().any(|series| series.name == "all_reduce, in a gap"));
}

/// Of ten calls that a rule would halve, a tuner is asked about four, three take a path before it, and of three no line
/// shows the path: the gain that is claimed is that of the four.
#[test]
fn gains_are_claimed_only_for_what_a_tuner_is_asked_about() {
    let call = |count: u64, line: &str| {
        let called = format!(
            "n0:7:7 [0] NCCL INFO AllReduce: opCount 1 sendbuff 0x1 recvbuff 0x2 count {count} datatype 7 op 0 root 0 \
             comm 0x5 [nranks=16] stream 0x6\n"
        );
        format!("{called}{line}")
    };
    let init = "n0:7:7 [0] NCCL INFO comm 0x5 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0\n";
    let decided = "n0:7:7 [0] NCCL INFO AllReduce: 65536 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..3}\n";
    let symmetric = "n0:7:7 [0] NCCL INFO AllReduce [Symmetric]: 65536 Bytes -> Kernel AllReduce_AGxLL_R nchannels 8 \
                     nthreads 512 nWorks 1\n";
    let log = init.to_owned()
        + &call(16384, decided).repeat(4)
        + &call(16384, symmetric).repeat(3)
        + &call(16384, "").repeat(3);
    let mut reader = ReachReader::default();
    assert!(reader.text("job.log", &log));
    let reach = reader.reach(&ReachQuestion::default());

    let rules = conf::read(b"allreduce,4096,131072,ring,simple,8,2,16\n", Reader::DnTuner);
    let sweep = sweep();
    let mut job = JobLog::default();
    job.calls.insert(CollectiveCall { ranks: Some(16), ..self::call(Collective::AllReduce, 1 << 16, None) }, 10);
    let question = CoverageQuestion { reader: Reader::DnTuner, ..CoverageQuestion::default() };
    let with = |reach: Option<&Reach>| {
        let basis = CoverageInput { sweep: &sweep, rules: Some(&rules), predict: None, reach };
        coverage(&job, &basis, &question).unwrap()
    };
    let answer = with(Some(&reach));
    let paths = [(Path::TunerOrLibrary, 0.4), (Path::Symmetric, 0.3), (Path::Unknown, 0.3)];
    assert_eq!(answer.lines[0].paths, paths);
    let total = answer.total;
    assert!(close(Some(total.now_us), 1000.0) && close(total.with_conf_us, 800.0), "{total:?}");
    assert!(close(total.with_untold_us, 650.0) && close(Some(total.asked_us), 400.0), "{total:?}");
    assert!(close(Some(total.asked), 4.0) && close(Some(total.untold), 3.0) && close(Some(total.covered), 7.0));
    assert_eq!(
        answer.sentence,
        "1000 µs per step now, with the file 800.0 µs (−20.0 %), or 650.0 µs (−35.0 %) if a tuner is asked about the \
         calls of unknown path too, known for 100 % of 10 calls per step; 70 % of the calls hit a rule. A tuner is asked \
         about 40.0 % of the calls and 40.0 % of their time; 30.0 % take another path, and of 30.0 % no line shows the \
         path."
    );
    let column = answer.listing.columns.iter().position(|column| column.name == "Path").expect("it is shown");
    assert_eq!(answer.listing.rows[0][column].text, "tuner-or-library 40 %, symmetric 30 %, unknown 30 %");
    let without = with(None);
    assert!(close(without.total.with_conf_us, 500.0) && !without.sentence.contains("A tuner is asked"));
    assert!(without.listing.columns.iter().all(|column| column.name != "Path"));
}

#[test]
fn bytes_of_one_rank_are_counted_and_compared_with_nothing() {
    let mut job = JobLog::default();
    job.calls.insert(CollectiveCall { is_per_rank: true, ..call(Collective::AllGather, 1 << 16, None) }, 7);
    let (sweep, question) = (sweep(), CoverageQuestion { scale: Some(SCALE), ..CoverageQuestion::default() });
    let basis = CoverageInput { sweep: &sweep, rules: None, predict: None, reach: None };
    assert_eq!(coverage(&job, &basis, &question).err(), Some(CoverageError::PerRank(7)));
    job.calls.insert(call(Collective::AllReduce, 1 << 16, Some(16)), 40);
    let answer = coverage(&job, &basis, &question).expect("there is a call");
    assert_eq!((answer.lines.len(), answer.total.calls), (1, 40.0));
    assert!(answer.notes.iter().any(|note| note.starts_with("7 calls of all_gather or reduce_scatter: per rank")));
}
