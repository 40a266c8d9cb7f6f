//! The tables that RCCL brings along: what they decide, what a file takes away, and what is written after its rules.

#![allow(clippy::unwrap_used)]

use collectune::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    conf::built_in::Table,
    math::Stream,
    tuning::{
        aggregate::Point,
        conf::{
            Code, Finding, Reader, Rule, Severity,
            against::against,
            choose,
            export::{ConfExport, ExportInput, ExportOptions, export},
            lint::lint_for,
            read,
        },
        decision::Decision,
        platform::{Gpu, Library, Platform, Version},
        recommend::measured,
        result::Recommendation,
        support::SupportMatrix,
        sweep::Sweep,
    },
};

use crate::support::real;

const GFX950: Gpu = Gpu::Gfx(0x950);

fn version(text: &str) -> Option<Version> {
    Some(text.parse().unwrap())
}

pub(crate) fn at(collective: Collective, (nodes, ranks): (u32, u32), size_bytes: u64) -> Workload {
    Workload { collective, scale: Scale { nodes, ranks }, size_bytes }
}

fn decides(rules: &[Rule], reader: Reader, workload: &Workload) -> String {
    choose(rules, reader, &SupportMatrix::default(), workload).effect.to_string()
}

fn findings(text: impl AsRef<[u8]>, reader: Reader, platform: Platform) -> Vec<Finding> {
    lint_for(text.as_ref(), &[reader], platform, &Sweep::default())
}

fn lines(code: Code, findings: &[Finding]) -> Vec<u32> {
    findings.iter().filter(|finding| finding.code == code).map(|finding| finding.line).collect()
}

fn rccl(version: Option<Version>) -> Platform {
    Platform { version, gpu: Some(GFX950), ..Library::Rccl.into() }
}

const LIBRARY: &str = "the library's choice";
const OPEN: &str = "RING/LL, channels of the library's choice";

#[test]
fn rows_answer_at_their_ends() {
    let table: Table = "rccl-2.31.2-gfx950".parse().unwrap();
    for reader in Reader::OF_CONF {
        let rules = table.rules(*reader);
        let none = choose(&[], *reader, &SupportMatrix::default(), &at(Collective::AllReduce, (1, 8), 1)).effect;
        let none = none.to_string();
        for (scale, size_bytes, expected) in [
            ((1, 8), 0, "TREE/LL/1"),
            ((1, 8), 16_383, "TREE/LL/1"),
            ((1, 8), 16_384, OPEN),
            ((1, 8), 458_752, OPEN),
            ((1, 8), 524_288, "RING/LL/32"),
            ((1, 8), 737_280, "RING/LL/32"),
            ((1, 8), 1_048_576, "RING/LL/56"),
            ((1, 8), 1_474_560, "RING/LL/56"),
            ((1, 8), 1_835_008, "RING/LL/56"),
            ((1, 8), 2_097_000, "RING/LL/56"),
            ((1, 8), 2_097_001, &*none),
            ((1, 8), 2_097_152, &*none),
            ((2, 16), 33_554_432, "RING/LL128/64"),
            ((2, 16), 54_525_952, "TREE/SIMPLE/64"),
            ((2, 16), 134_217_728, "RING/SIMPLE/48"),
            ((2, 16), 234_881_025, &*none),
            ((1, 4), 458_752, &*none),
            ((2, 8), 33_554_432, &*none),
        ] {
            let workload = at(Collective::AllReduce, scale, size_bytes);
            assert_eq!(decides(&rules, *reader, &workload), expected, "{reader:?} {workload:?}");
        }
        assert_eq!(decides(&rules, *reader, &at(Collective::AllGather, (1, 8), 458_752)), none);
    }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn the_tables_are_those_of_rccl_with_shared_data() {
    for (name, file) in [("rccl-2.30.4-gfx950", "4rules"), ("rccl-2.31.2-gfx950", "7rules")] {
        let table: Table = name.parse().unwrap();
        let text = real::text(&format!("reach/embedded_gfx950_{file}.csv"));
        assert_eq!(text.lines().collect::<Vec<_>>(), table.of.rows);
    }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn findings_on_the_example_of_rccl_with_shared_data() {
    let bytes = real::file("reach/rccl_tuner_gfx950.conf");
    let rules = read(&bytes, Reader::Rccl);
    assert_eq!(rules.len(), 174);
    for (collective, scale, size_bytes, expected) in [
        (Collective::AllReduce, (2, 16), 8_388_608, "TREE/LL128/64"),
        (Collective::Broadcast, (2, 16), 2048, "RING/LL/1"),
        (Collective::AllGather, (8, 64), 20_971_520, "RING/LL/48"),
        (Collective::AllReduce, (1, 8), 458_752, LIBRARY),
    ] {
        assert_eq!(decides(&rules, Reader::Rccl, &at(collective, scale, size_bytes)), expected);
    }
    let found = findings(&bytes, Reader::Rccl, rccl(version("2.30.4")));
    let spikes = lines(Code::ChannelSpike, &found);
    let spikes: Vec<_> = rules.iter().filter(|rule| spikes.contains(&rule.line)).collect();
    let place = |rule: &&Rule| (rule.collective, rule.nodes.min, rule.min_bytes);
    let (broadcast, scatter) = (Collective::Broadcast, Collective::ReduceScatter);
    let mut expected = [
        (broadcast, 2, 1537),
        (broadcast, 2, 3073),
        (broadcast, 2, 6145),
        (broadcast, 2, 12289),
        (broadcast, 2, 24577),
        (broadcast, 4, 1537),
        (broadcast, 8, 6145),
        (broadcast, 8, 12289),
        (scatter, 4, 1537),
        (scatter, 4, 6145),
    ];
    let mut places: Vec<_> = spikes.iter().map(place).collect();
    expected.sort_unstable();
    places.sort_unstable();
    assert_eq!(places, expected);
    // Its own comment says 4 MiB; 2.31 has other thresholds.
    for (version, dead, partly) in [(None, 30, 3), (version("2.30.4"), 30, 3), (version("2.31.2"), 32, 3)] {
        let found = findings(&bytes, Reader::Rccl, rccl(version));
        let of = |severity| {
            found.iter().filter(|finding| finding.code == Code::DeadRow && finding.severity == severity).count()
        };
        assert_eq!((of(Severity::Dead), of(Severity::Note)), (dead, partly), "{version:?}");
    }
    // It has nothing for one node: every row of the table is lost.
    let displaced = found.iter().find(|finding| finding.code == Code::DisplacedTable).unwrap();
    assert_eq!(displaced.severity, Severity::Changes);
    assert!(displaced.message.contains("all_reduce on 1 node, 8 ranks: 0 B to "), "{}", displaced.message);
    assert!(lines(Code::BoundaryGap, &found).is_empty() && lines(Code::EmptyDisplaces, &found).is_empty());
}

#[test]
fn rules_that_dda_takes_the_common_calls_of_are_named() {
    let rules = "allreduce,0,1048576,ring,ll,8,1,8,-1,-1\nallgather,16777216,33554432,ring,ll128,8,1,8,-1,-1\n\
                 allreduce,100000000,200000000,ring,simple,8,1,8,-1,-1\nallreduce,0,1048576,tree,ll,8,2,16,-1,-1\n\
                 broadcast,0,1048576,ring,ll,8,1,8,-1,-1\n";
    let named = |platform: Platform| {
        let found = findings(rules, Reader::Rccl, platform);
        let of_dda = found.into_iter().filter(|finding| finding.code == Code::DeadRow);
        of_dda.map(|finding| (finding.line, finding.severity, finding.message)).collect::<Vec<_>>()
    };
    let found = named(rccl(version("2.30.4")));
    assert_eq!(found.iter().map(|(line, ..)| *line).collect::<Vec<_>>(), [1, 2]);
    assert!(found.iter().all(|(_, severity, message)| *severity == Severity::Note && message.contains("up to 64 MiB")));
    assert!(found[0].2.contains("sums of fp32") && found[1].2.contains("calls of fp32"), "{found:?}");
    // The third begins above 64 MiB, and below 128 MiB.
    assert_eq!(named(rccl(version("2.30.7"))).len(), 3);
    assert_eq!(named(rccl(version("2.30.3"))).len(), 0);
    assert_eq!(named(rccl(None)).len(), 0);
}

#[test]
fn what_a_file_takes_away_is_told_as_far_as_it_can_be_known() {
    let own = "allreduce,300000,500000,ring,simple,8,1,8,-1,-1\n";
    let told = |text: &str, reader, platform: Platform| {
        let found = findings(text, reader, platform);
        found.into_iter().find(|finding| finding.code == Code::DisplacedTable)
    };
    let known = rccl(version("2.30.4"));
    for reader in [Reader::Rccl, Reader::DnTuner, Reader::Example] {
        let finding = told(own, reader, known).unwrap();
        assert_eq!((finding.severity, finding.line), (Severity::Changes, 1));
        assert!(finding.message.contains("rows of RCCL 2.30.4 gfx950's own table"), "{}", finding.message);
    }
    // Two ranges are left, below and above the rule.
    let message = told(own, Reader::Rccl, known).unwrap().message;
    assert!(message.contains("0 B to ") && message.matches(" to ").count() == 2, "{message}");
    // Our own plugin carries the rows where it is told to.
    assert_eq!(told(own, Reader::Collectune, known).unwrap().severity, Severity::Note);
    for (platform, what) in [
        (rccl(None), "without its version"),
        (Library::Rccl.into(), "without the GPU"),
        (Platform { version: version("2.30.4"), ..Library::Rccl.into() }, "without the GPU"),
    ] {
        let finding = told(own, Reader::Rccl, platform).unwrap();
        assert!(finding.severity == Severity::Note && finding.message.contains(what), "{}", finding.message);
    }
    let gfx942 = Platform { gpu: Some(Gpu::Gfx(0x942)), ..known };
    for platform in [rccl(version("2.27.7")), gfx942, Library::Nccl.into()] {
        assert_eq!(told(own, Reader::Rccl, platform), None, "{platform:?}");
    }
    for empty in ["", "# nothing\n", "alltoall,0,1,ring,ll,1,1,8\n"] {
        let found = findings(empty, Reader::Rccl, known);
        let of = found.iter().find(|finding| finding.code == Code::EmptyDisplaces).unwrap();
        assert_eq!(of.severity, Severity::Changes);
    }
    // A rule that the library has ruled out leaves its sizes open.
    let ruled_out = "allreduce,0,-1,collnet_chain,simple,8,1,8\n";
    assert_eq!(told(ruled_out, Reader::Rccl, known).unwrap().severity, Severity::Changes);
}

/// What is written after the own rules is exactly what the finding asks for, and the order decides.
#[test]
fn the_order_of_own_rules_and_rows_decides() {
    let table: Table = "rccl-2.30.4-gfx950".parse().unwrap();
    let own = "allreduce,300000,500000,ring,simple,8,1,8,-1,-1\n".to_owned();
    for reader in [Reader::Rccl, Reader::DnTuner, Reader::Collectune] {
        let rows = table.text(reader);
        let merged = own.clone() + &rows;
        let run = |text: &str, size_bytes| {
            decides(&read(text.as_bytes(), reader), reader, &at(Collective::AllReduce, (1, 8), size_bytes))
        };
        let runs = |text: &str| [299_999, 458_752, 500_001].map(|size_bytes| run(text, size_bytes));
        assert_eq!(runs(&merged), [OPEN, "RING/SIMPLE/8", OPEN]);
        assert_eq!(runs(&(rows + &own)), [OPEN, OPEN, OPEN]);
        let platform = rccl(version("2.30.4"));
        let found = findings(&merged, reader, platform);
        assert!(found.iter().all(|finding| finding.severity == Severity::Note), "{found:?}");
        assert!(lines(Code::DisplacedTable, &found).is_empty(), "{found:?}");
        assert!(!lines(Code::DisplacedTable, &findings(&own, reader, platform)).is_empty());
        // Each range of the comparison is what the three files run at its ends.
        let rules = read(own.as_bytes(), reader);
        let ranges = against(&rules, reader, &table, &SupportMatrix::default());
        assert_eq!((ranges[0].min_bytes, ranges[ranges.len() - 1].max_bytes), (0, u64::MAX));
        assert!(ranges.windows(2).all(|pair| pair[0].max_bytes + 1 == pair[1].min_bytes));
        for range in &ranges {
            for size_bytes in [range.min_bytes, range.max_bytes] {
                assert_eq!(range.merged.to_string(), run(&merged, size_bytes), "{size_bytes}");
                assert_eq!(range.own.0.to_string(), run(&own, size_bytes), "{size_bytes}");
                let row = decides(&table.rules(reader), reader, &at(range.collective, (1, 8), size_bytes));
                assert_eq!(range.table.map_or(LIBRARY.to_owned(), |effect| effect.to_string()), row);
            }
        }
    }
}

#[test]
fn a_narrow_hole_between_rules_is_told() {
    let hole = |first: u64, second: u64| {
        let text = format!("allreduce,0,{first},ring,ll,8,1,8\nallreduce,{second},4194304,ring,ll,16,1,8\n");
        lines(Code::BoundaryGap, &findings(text, Reader::Rccl, Library::Nccl.into()))
    };
    assert_eq!(hole(2_097_000, 2_097_152), [2]);
    assert_eq!(hole(2_000_000, 2_039_999), [2]);
    for (first, second) in [(2_097_151, 2_097_152), (2_000_000, 2_050_000), (2_097_152, 2_097_000)] {
        assert!(hole(first, second).is_empty(), "{first} {second}");
    }
}

fn options(reader: Reader, version: Option<Version>) -> ExportOptions {
    ExportOptions { reader, version, gpu: Some(GFX950), ..ExportOptions::default() }
}

fn written(sweep: &Sweep, recommendations: &[Recommendation], options: &ExportOptions) -> ConfExport {
    let basis = ExportInput { sweep, recommendations, between_sizes: &[], names: &[], set: None, level: 0.9 };
    export(&basis, options)
}

/// Without a measurement the file decides what the table decides: at every end of a row and beside it, and at random
/// sizes, scales and collectives.
#[test]
fn an_empty_sweep_writes_the_table() {
    let mut stream = Stream::new(31);
    let support = SupportMatrix::default();
    let mut decided = 0;
    for version in [None, version("2.28.3"), version("2.30.4"), version("2.31.2")] {
        let table = Table::find(GFX950, version).unwrap();
        for reader in Reader::OF_CONF {
            let text = &written(&Sweep::default(), &[], &options(*reader, version)).files[0].text;
            assert!(text.contains(&format!("# from {table}, embedded\n")), "{text}");
            let (file, alone) =
                (read(text.as_bytes(), *reader), read(table.of.rows.join("\n").as_bytes(), Reader::Rccl));
            let ends = alone.iter().flat_map(|row| [row.min_bytes, row.max_bytes]);
            let mut sizes: Vec<u64> = ends.flat_map(|end| [end.saturating_sub(1), end, end + 1]).collect();
            sizes.extend((0..2000).map(|_| stream.next_u64() >> stream.below(64)));
            let gap = choose(&[], *reader, &support, &at(Collective::AllReduce, (1, 8), 1)).effect;
            for size_bytes in sizes {
                for scale in [(1, 8), (2, 16), (1, 4), (2, 8), (4, 32)] {
                    for collective in Collective::ALL {
                        let workload = at(*collective, scale, size_bytes);
                        let theirs = choose(&alone, Reader::Rccl, &support, &workload);
                        let ours = choose(&file, *reader, &support, &workload);
                        assert_eq!(ours.rule, theirs.rule, "{reader:?} {workload:?}");
                        if theirs.rule.is_some() {
                            assert_eq!(ours.effect, theirs.effect, "{reader:?} {workload:?}");
                            decided += 1;
                        } else if *collective == Collective::AllReduce {
                            assert_eq!(ours.effect, gap, "{reader:?} {workload:?}");
                        }
                    }
                }
            }
        }
    }
    assert!(decided > 1000, "{decided}");
}

/// One measured size at which a rule is worth it: a deployed ring on 8 channels, with the default beside it.
pub(crate) fn one_size(scale: (u32, u32), size_bytes: u64, protocol: Protocol) -> (Sweep, Recommendation) {
    let workload = at(Collective::AllReduce, scale, size_bytes);
    let ring = Configuration { algorithm: Algorithm::Ring, protocol, channels: 8 };
    let points = [100.0, 80.0].map(|gbps| Point::new(workload, ring, gbps));
    let recommendation = Recommendation {
        configuration: Some(ring),
        measured_best: Some(measured(&points[0])),
        default: Some(measured(&points[1])),
        decision: Decision::Deploy,
        ..Recommendation::unknown(workload)
    };
    let [point, default] = points;
    (Sweep { points: vec![point], defaults: vec![default] }, recommendation)
}

#[test]
fn rows_are_written_after_the_rules_where_the_library_has_them() {
    let (sweep, recommendation) = one_size((1, 8), 458_752, Protocol::Simple);
    let of = |options: &ExportOptions| written(&sweep, std::slice::from_ref(&recommendation), options);
    let table: Table = "rccl-2.30.4-gfx950".parse().unwrap();
    for reader in Reader::OF_CONF {
        let with = of(&options(*reader, version("2.30.4")));
        let text = &with.files[0].text;
        assert!(text.ends_with(&table.text(*reader)), "{text}");
        assert_eq!(with.files[0].rules, 5);
        assert!(with.warnings.iter().any(|warning| warning.contains("The last 4 rows are those of RCCL 2.30.4")));
        // What will run is told with the rows.
        let rows = read(text.as_bytes(), *reader);
        for range in &with.rows {
            for size_bytes in [range.min_bytes, range.max_bytes] {
                let workload = at(Collective::AllReduce, (1, 8), size_bytes);
                let found = choose(&rows, *reader, &SupportMatrix::new(rccl(None).matrix(), &sweep), &workload);
                assert_eq!(found.effect, range.effect, "{reader:?} {size_bytes}");
            }
        }
        let without = of(&ExportOptions { leaves_out_built_in: true, ..options(*reader, version("2.30.4")) });
        assert_eq!(without.files[0].rules, 1);
        assert!(without.files[0].text.contains("is not loaded beside this file"), "{}", without.files[0].text);
        assert!(without.warnings.iter().any(|warning| warning.contains("rows are left out here")));
        for none in [
            options(*reader, version("2.27.7")),
            ExportOptions { gpu: Some(Gpu::Gfx(0x942)), ..options(*reader, version("2.30.4")) },
            ExportOptions { library: Library::Nccl, ..options(*reader, version("2.30.4")) },
        ] {
            let file = &of(&none).files[0];
            assert!(file.rules == 1 && !file.text.contains("embedded"), "{}", file.text);
        }
    }
    // The name that RCCL looks for says gfx950; of another reader's file nothing is known.
    assert_eq!(of(&ExportOptions { reader: Reader::Rccl, ..ExportOptions::default() }).files[0].rules, 5);
    let unknown = of(&ExportOptions { reader: Reader::DnTuner, ..ExportOptions::default() });
    assert_eq!(unknown.files[0].rules, 1);
    assert!(unknown.warnings.iter().any(|warning| warning.contains("can't be known")), "{:?}", unknown.warnings);
    let untold = of(&options(Reader::Rccl, None));
    assert!(untold.warnings.iter().any(|warning| warning.contains("version isn't given")), "{:?}", untold.warnings);
}
