//! Tuner files: what the C readers make of them, what the lint says, and that what is exported is what runs.

#![allow(clippy::unwrap_used)]

use std::time::Instant;

use crate::support::real;
use collectune::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    conf::built_in,
    intake::{self, FileContent},
    math::Stream,
    progress::Silent,
    tuning::{
        aggregate::{Point, Target},
        conf::{
            Code, Finding, Reader, Rule, Severity, choose,
            export::{ConfExport, ExportInput, ExportOptions, export},
            lint, read,
            scan::LONGEST_LINE,
        },
        decision::{Decision, KeepReason},
        parameters::Parameters,
        recommend::measured,
        result::Recommendation,
        runs::aggregate,
        sizes::boundary,
        study::TuningStudy,
        support::SupportMatrix,
        sweep::{Sweep, best},
    },
};
use proptest::prelude::*;

fn of(code: Code, findings: &[Finding]) -> Vec<&Finding> {
    findings.iter().filter(|finding| finding.code == code).collect()
}

fn lint_alone(text: impl AsRef<[u8]>, reader: Reader) -> Vec<Finding> {
    lint(text.as_ref(), reader, &SupportMatrix::default(), None)
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn each_half_wildcard_of_the_shared_conf_is_found() {
    let bytes = real::file("tuning/conf/gfx950_base_tuner.conf");
    for (reader, severity, what) in [
        (Reader::Example, Severity::Changes, "read as ring"),
        (Reader::DnTuner, Severity::Changes, "memory outside the table"),
        (Reader::Rccl, Severity::Dead, "skipped with a warning"),
        (Reader::Collectune, Severity::Dead, "one is left to the library and the other is not"),
    ] {
        let findings = lint_alone(&bytes, reader);
        let found = of(Code::HalfWildcard, &findings);
        assert_eq!(found.iter().map(|f| f.line).collect::<Vec<_>>(), [2, 4, 6, 8, 10, 12, 14, 16]);
        assert!(found.iter().all(|f| f.severity == severity && f.message.contains(what)), "{found:?}");
        // Our own plugin knows a header.
        let headers: Vec<u32> = of(Code::HeaderAsRule, &findings).iter().map(|f| f.line).collect();
        assert_eq!(headers, if reader == Reader::Collectune { vec![] } else { vec![1] });
        let rules = if matches!(reader, Reader::Rccl | Reader::Collectune) { 1747 } else { 1756 };
        assert_eq!(read(&bytes, reader).len(), rules);
    }
}

/// What each reader finds in a line, in a conf of it alone: code and severity.
#[test]
fn every_malformed_line_is_located() {
    use Code::*;
    use Severity::{Changes, Dead, Note};
    type Expected = Option<(Code, Severity)>;
    let long = format!("allreduce,0,4095,ring,ll,4,2,16,-1,-1{}allreduce,0,4095,ring,ll,4,2,16", " ".repeat(220));
    let comment = format!("#{}allreduce,0,4095,ring,ll,4,2,16", "x".repeat(254));
    let table: &[(&str, [Expected; 3])] = &[
        ("allreduce,0,4095,ring,ll,4,2,16,-1,-1", [None, None, None]),
        ("allreduce,0,4095,ring,ll,4,2,16", [None, None, None]),
        (" allreduce\t, 0 ,4095 , ring,ll ,4, 2,16 ", [None, None, None]),
        ("allreduce,0,4095,ring,ll,-1,2,16", [Some((Channels, Changes)), None, None]),
        ("allreduce,0,4095,ring,ll,0,2,16", [Some((Channels, Note)); 3]),
        (
            "allreduce,0,4095,ring,ll,-5,2,16",
            [Some((Channels, Changes)), Some((Channels, Changes)), Some((Channels, Note))],
        ),
        ("allreduce,0,4095,ring,ll,280,2,16", [Some((Channels, Changes)); 3]),
        (
            "allreduce,0,4095,-1,ll,4,2,16",
            [Some((HalfWildcard, Changes)), Some((HalfWildcard, Changes)), Some((HalfWildcard, Dead))],
        ),
        (
            "allreduce,0,4095,ring,-1,4,2,16",
            [Some((HalfWildcard, Changes)), Some((HalfWildcard, Changes)), Some((HalfWildcard, Dead))],
        ),
        ("allreduce,0,4095,-1,-1,4,2,16", [Some((UnknownAlgorithm, Changes)), None, Some((UnknownAlgorithm, Dead))]),
        (
            "alltoall,0,4095,ring,ll,4,2,16",
            [Some((UnknownCollective, Changes)), Some((UnknownCollective, Changes)), Some((UnknownCollective, Dead))],
        ),
        (
            "all_reduce,0,4095,ring,ll,4,2,16",
            [Some((UnknownCollective, Note)), Some((UnknownCollective, Note)), Some((UnknownCollective, Dead))],
        ),
        (
            "allreduce,0,4095,direct,ll,4,2,16",
            [Some((UnknownAlgorithm, Changes)), Some((UnknownAlgorithm, Changes)), Some((UnknownAlgorithm, Dead))],
        ),
        (
            "allreduce,0,4095,ring,ll64,4,2,16",
            [Some((UnknownProtocol, Changes)), Some((UnknownProtocol, Changes)), Some((UnknownProtocol, Dead))],
        ),
        (
            "allreduce,0,4095,TREE,ll,4,2,16",
            [Some((UpperCase, Changes)), Some((UpperCase, Changes)), Some((UpperCase, Dead))],
        ),
        (
            "AllReduce,0,4095,ring,ll,4,2,16",
            [Some((UpperCase, Note)), Some((UpperCase, Note)), Some((UpperCase, Dead))],
        ),
        (
            "Broadcast,0,4095,ring,ll,4,2,16",
            [Some((UpperCase, Changes)), Some((UpperCase, Changes)), Some((UpperCase, Dead))],
        ),
        ("allreduce,8192,4096,ring,ll,4,2,16", [Some((EmptyRange, Dead)); 3]),
        ("allreduce,0,4096,ring,ll,4,0,16", [Some((EmptyRange, Dead)); 3]),
        ("broadcast,0,4095,tree,ll,4,2,16", [Some((Unsupported, Dead)); 3]),
        ("allreduce,0,4095,collnet_chain,simple,4,2,16", [Some((Unsupported, Dead)); 3]),
        ("allreduce,0,4095,ring,ll128,4,1,8", [Some((Substituted, Changes)); 3]),
        ("allreduce,0,4095,tree,simple,4,1,8", [Some((Substituted, Changes)); 3]),
        ("allreduce,0,4095,nvls,simple,4,2,16", [Some((Substituted, Changes)); 3]),
        ("allgather,0,4095,ring,simple,4,2,16", [Some((Substituted, Note)); 3]),
        ("allreduce,0,4095,ring", [Some((TooFewFields, Dead)); 3]),
        ("garbage", [Some((TooFewFields, Dead)); 3]),
        ("  \t", [Some((TooFewFields, Note)), Some((TooFewFields, Note)), None]),
        ("\r", [Some((TooFewFields, Note)), Some((TooFewFields, Note)), None]),
        ("allreduce,0,4095,,ll,4,2,16", [Some((EmptyField, Dead)); 3]),
        (
            "allreduce,0,4095,,ll,4,2,16,-1,-1",
            [Some((EmptyField, Changes)), Some((EmptyField, Changes)), Some((EmptyField, Dead))],
        ),
        (
            "allreduce,0,4095, ,ll,4,2,16",
            [Some((EmptyField, Changes)), Some((EmptyField, Changes)), Some((EmptyField, Dead))],
        ),
        ("allreduce,0,4095,ring,ll,4,2,16,", [Some((EmptyField, Note)); 3]),
        (
            "allreduce,0,4095,ring,ll,4,2,16,\r",
            [Some((BadNumber, Changes)), Some((BadNumber, Changes)), Some((EmptyField, Note))],
        ),
        ("allreduce,0,4095,ring,ll,4,2,16\r", [None, None, None]),
        ("allreduce,0,4095,ring,ll,four,2,16", [Some((BadNumber, Changes)); 3]),
        ("allreduce,0,-1,ring,ll,4,2,16", [Some((BadNumber, Changes)); 3]),
        ("allreduce,0,99999999999999999999,ring,ll,4,2,16", [Some((BadNumber, Changes)); 3]),
        ("allreduce,0,128M,ring,ll,4,2,16", [Some((TrailingText, Changes)); 3]),
        ("allreduce,0,4095,ring,ll,4,2,16 # two nodes", [Some((TrailingText, Note)); 3]),
        ("allreduce,0,4095,ring,ll,4,2,16,-1,-1,any,more", [Some((TrailingText, Note)); 3]),
        ("allreduce,0,4095,ring,ll,4,2,16,-1,-1\0,x", [Some((TrailingText, Note)); 3]),
        ("  # a comment", [Some((CommentNotFirst, Note)), Some((CommentNotFirst, Note)), None]),
        (
            " # allreduce,0,4095,tree,ll,4,2,16",
            [Some((CommentNotFirst, Changes)), Some((CommentNotFirst, Changes)), None],
        ),
        (
            "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks",
            [Some((HeaderAsRule, Note)); 3],
        ),
        (&long, [Some((LongLine, Changes)); 3]),
        (&comment, [Some((LongLine, Changes)); 3]),
    ];
    for (line, expected) in table {
        for (reader, expected) in Reader::ALL.iter().zip(expected) {
            // The line stands third, so that its place is told.
            let text = format!("# first\n\n{line}\n");
            // What else is said of the file as a whole, and of what a line becomes besides, is not asked here.
            let found = lint_alone(&text, *reader);
            let found: Vec<&Finding> = found.iter().filter(|f| f.code != Gap).collect();
            match expected {
                None => assert!(found.is_empty(), "{reader:?} {line:?}: {found:?}"),
                Some((code, severity)) => assert!(
                    found.iter().any(|f| (f.line, f.code, f.severity) == (3, *code, *severity)),
                    "{reader:?} {line:?}: {found:?}"
                ),
            }
            assert!(found.iter().all(|f| f.line == 3), "{reader:?} {line:?}: {found:?}");
        }
    }
}

#[test]
fn our_own_plugin_skips_what_the_others_guess_at() {
    use Code::*;
    use Severity::{Changes, Dead};
    let long = format!("allreduce,0,4095,tree,ll,4,2,16{}# far beyond the buffers of C", " ".repeat(300));
    for (line, expected) in [
        ("  # a comment", None),
        ("AllReduce,0,4K,TREE,ll,4,2,16 # a comment", None),
        (&long, None),
        ("collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks", None),
        ("allreduce,0,4095,auto,auto,4,2,16", None),
        ("alltoall,0,4095,ring,ll,4,2,16", Some((UnknownCollective, Dead))),
        ("allreduce,0,4095,rnig,ll,4,2,16", Some((UnknownAlgorithm, Dead))),
        ("allreduce,0,4095,ring,ll1,4,2,16", Some((UnknownProtocol, Dead))),
        ("allreduce,0,4095,-1,ll,4,2,16", Some((HalfWildcard, Dead))),
        ("allreduce,,4095,ring,ll,4,2,16", Some((EmptyField, Dead))),
        ("allreduce,0,many,ring,ll,4,2,16", Some((BadNumber, Dead))),
        ("allreduce,4095,0,ring,ll,4,2,16", Some((EmptyRange, Dead))),
        ("allreduce,0,4095,ring,ll,256,2,16", Some((Channels, Dead))),
        ("allreduce,0,4095,ring,ll", Some((TooFewFields, Dead))),
        ("allreduce,0,4095,ring,ll,4,2,16,-1,1", Some((Registration, Changes))),
    ] {
        let found = lint_alone(format!("# first\n\n{line}\n"), Reader::Collectune);
        let found: Vec<_> = found.iter().filter(|f| f.code != Gap).map(|f| (f.line, f.code, f.severity)).collect();
        let expected: Vec<_> = expected.into_iter().map(|(code, severity)| (3, code, severity)).collect();
        assert_eq!(found, expected, "{line}");
    }
}

#[test]
fn overlaps_and_gaps_are_told_with_what_they_do() {
    let text = "allreduce,0,4095,tree,ll,4,2,16\n\
                allreduce,2048,8191,ring,ll,8,2,16\n\
                allreduce,1024,2047,ring,ll,2,2,16\n\
                alltoall,0,65535,ring,simple,4,-1,-1\n\
                broadcast,0,4095,tree,ll,4,2,16\n\
                broadcast,0,4095,ring,ll,4,2,16\n\
                broadcast,8192,16383,ring,ll,4,2,16\n";
    let brief = |reader| {
        let found = lint_alone(text, reader);
        let of_ranges = found.iter().filter(|f| matches!(f.code, Code::Overlap | Code::Gap));
        of_ranges.map(|f| (f.line, f.code.name(), f.severity)).collect::<Vec<_>>()
    };
    use Severity::{Changes, Dead, Note};
    assert_eq!(brief(Reader::Rccl), [(2, "overlap", Changes), (3, "overlap", Dead), (6, "gap", Note)]);
    let dn = brief(Reader::DnTuner);
    // The alltoall rule is one for allreduce: it is partly shadowed, and fills what is beyond.
    assert_eq!(dn, [(2, "overlap", Changes), (3, "overlap", Dead), (4, "overlap", Changes), (6, "gap", Note)]);
    let example = lint_alone(text, Reader::Example);
    let gap = of(Code::Gap, &example);
    assert!(gap.iter().any(|f| f.severity == Changes && f.message.contains("run on one channel")), "{gap:?}");
    assert!(gap.iter().any(|f| f.message.starts_with("no rule is about reduce, allgather, reducescatter")), "{gap:?}");
    let message = &of(Code::Overlap, &lint_alone(text, Reader::Rccl))[0].message.clone();
    assert_eq!(message, "line 1 matches first for 2 KiB to 4095 B, so TREE/LL/4 runs there, not RING/LL/8");
}

/// What the lint says of overlaps and gaps against every size and scale tried one by one.
#[test]
fn overlaps_and_gaps_are_true() {
    const LARGEST: u64 = 40;
    let mut stream = Stream::new(6);
    let support = SupportMatrix::default();
    let (mut dead, mut gaps) = (0, 0);
    for _ in 0..2000 {
        let mut text = String::new();
        for _ in 0..2 + stream.below(9) {
            let (from, length) = (stream.below(30) as u64, stream.below(16) as u64);
            let (nodes, ranks) = [("2", "16"), ("3", "24"), ("-1", "-1"), ("2", "-1")][stream.below(4)];
            let algorithm = ["ring", "ring", "ring", "tree"][stream.below(4)];
            let collective = ["allreduce", "reduce"][stream.below(2)];
            let (to, channels) = (from + length, 1 + stream.below(3));
            text += &format!("{collective},{from},{to},{algorithm},ll,{channels},{nodes},{ranks}\n");
        }
        let rules = read(text.as_bytes(), Reader::Rccl);
        let findings = lint(text.as_bytes(), Reader::Rccl, &support, None);
        let mut applies = vec![false; rules.len()];
        for (collective, scale) in [Collective::AllReduce, Collective::Reduce].into_iter().flat_map(|collective| {
            [(2, 16), (3, 24), (2, 8), (5, 5)].map(|(nodes, ranks)| (collective, Scale { nodes, ranks }))
        }) {
            let mut lines = Vec::new();
            for size_bytes in 0..=LARGEST + 16 {
                let workload = Workload { collective, scale, size_bytes };
                let choice = choose(&rules, Reader::Rccl, &support, &workload);
                choice.rule.into_iter().for_each(|index| applies[index] = true);
                lines.push(choice.rule.is_some());
            }
            let of_scale = |rule: &&Rule| rule.collective == collective && rule.scale() == Some(scale);
            let first = lines.iter().position(|covered| *covered);
            let last = lines.iter().rposition(|covered| *covered);
            let has_hole = first.zip(last).is_some_and(|(first, last)| lines[first..last].contains(&false));
            let name = format!("{collective} on {scale}:");
            let told = of(Code::Gap, &findings).iter().any(|f| f.message.starts_with(&name));
            if rules.iter().any(|rule| {
                of_scale(&rule) && (collective == Collective::AllReduce || rule.algorithm == Some(Algorithm::Ring))
            }) {
                assert_eq!(has_hole, told, "{name}\n{text}\n{findings:?}");
                gaps += usize::from(told);
            }
        }
        for finding in of(Code::Overlap, &findings) {
            let index = rules.iter().position(|rule| rule.line == finding.line).unwrap();
            if finding.severity == Severity::Dead {
                assert!(!applies[index], "{finding:?}\n{text}");
                dead += 1;
            }
        }
    }
    assert!(dead > 500 && gaps > 500, "{dead} {gaps}");
}

#[test]
fn a_byte_order_mark_is_seen() {
    let found = lint_alone("\u{FEFF}# a comment\n", Reader::DnTuner);
    assert!(found[0].message.contains("byte order mark"), "{found:?}");
    let found = lint_alone("\u{FEFF}broadcast,0,1,ring,ll,1,1,8\n", Reader::DnTuner);
    assert_eq!((found[0].code, found[0].severity), (Code::UnknownCollective, Severity::Changes));
    assert!(found[0].message.contains("(byte order mark)broadcast"), "{found:?}");
}

#[test]
fn a_conf_without_a_rule_is_told_where_it_matters() {
    let found = lint_alone("# nothing\n", Reader::Example);
    assert_eq!((found.len(), found[0].severity), (1, Severity::Changes));
    assert!(lint_alone("# nothing\n", Reader::DnTuner).is_empty());
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn a_conf_is_linted_in_milliseconds() {
    let bytes = real::file("tuning/conf/gfx950_base_tuner.conf");
    let start = Instant::now();
    const TIMES: u32 = 5;
    for _ in 0..TIMES {
        Reader::ALL.iter().for_each(|reader| drop(lint_alone(&bytes, *reader)));
    }
    let each = start.elapsed() / TIMES;
    eprintln!("1,756 rules, three readers: {each:?}");
    assert!(each.as_millis() < 500, "{each:?}");
}

#[test]
fn no_conf_holds_anybody_up() {
    // Many scales, each with many rules, and rules for any scale between them.
    let text: String = (0..60_000_u64)
        .map(|i| {
            let nodes = if i % 2 == 0 { -1 } else { i as i64 };
            format!("allreduce,{},{},ring,ll,{},{nodes},{}\n", i * 64 % 4096, u64::MAX - i, 1 + i % 9, i % 977)
        })
        .collect();
    let start = Instant::now();
    let findings = lint_alone(&text, Reader::DnTuner);
    assert!(!findings.is_empty() && start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

// --- Export ---

const FIVE: [Collective; 5] = [
    Collective::AllReduce,
    Collective::AllGather,
    Collective::ReduceScatter,
    Collective::Broadcast,
    Collective::Reduce,
];

/// A sweep as it could be measured, and any decisions about it.
fn random_table(stream: &mut Stream) -> (Sweep, Vec<Recommendation>) {
    let mut sweep = Sweep::default();
    let mut recommendations = Vec::new();
    let mut collectives = FIVE.to_vec();
    collectives.push(Collective::AllToAll);
    let groups = 1 + stream.below(4);
    let mut seen = Vec::new();
    for _ in 0..groups {
        let nodes = 1 + stream.below(4) as u32;
        let key = (collectives[stream.below(6)], Scale { nodes, ranks: nodes * 8 });
        if seen.contains(&key) {
            continue;
        }
        seen.push(key);
        let (collective, scale) = key;
        let mut sizes: Vec<u64> = (0..1 + stream.below(12))
            .map(|_| match stream.below(3) {
                0 => 1 << (8 + stream.below(24)),
                1 => 1 + stream.next_u64() % 100,
                _ => 1 + stream.next_u64() % (1 << 32),
            })
            .collect();
        sizes.sort_unstable();
        sizes.dedup();
        let direct_below = if stream.below(2) == 0 { 0 } else { sizes[stream.below(sizes.len())] };
        for size_bytes in sizes {
            let workload = Workload { collective, scale, size_bytes };
            let mut points: Vec<Point> = Vec::new();
            for _ in 0..1 + stream.below(6) {
                let channels = [1, 2, 4, 8, 16, 48, 168, 0][stream.below(8)];
                let (algorithm, protocol) = if collective == Collective::AllToAll {
                    (Algorithm::None, Protocol::None)
                } else if collective == Collective::AllGather && size_bytes < direct_below {
                    (Algorithm::Direct, Protocol::Simple)
                } else {
                    let pairs = [
                        (Algorithm::Ring, Protocol::Simple),
                        (Algorithm::Ring, Protocol::Ll),
                        (Algorithm::Ring, Protocol::Ll128),
                        (Algorithm::Tree, Protocol::Ll),
                    ];
                    pairs[stream.below(if collective == Collective::AllReduce { 4 } else { 3 })]
                };
                let configuration = Configuration { algorithm, protocol, channels };
                if points.iter().all(|point| point.configuration != configuration) {
                    let mut point = Point::new(workload, configuration, 1.0 + stream.unit());
                    point.marks.wrapped_channels = channels == 168;
                    points.push(point);
                }
            }
            points.sort_by_key(|point| point.configuration);
            let default = (stream.below(3) > 0).then(|| {
                let configuration = points[stream.below(points.len())].configuration;
                Point::new(workload, configuration, 0.9 + stream.unit())
            });
            let choice = points[stream.below(points.len())].clone();
            let mut configuration = choice.configuration;
            if stream.below(8) == 0 {
                configuration.channels = 300;
            }
            recommendations.push(Recommendation {
                configuration: Some(configuration),
                measured_best: best(&points).map(measured),
                default: default.as_ref().map(measured),
                decision: match stream.below(5) {
                    0 => Decision::KeepDefault { reason: KeepReason::Uncertain },
                    1 => Decision::Unknown,
                    2 => Decision::NoDefault,
                    _ => Decision::Deploy,
                },
                ..Recommendation::unknown(workload)
            });
            sweep.points.extend(points);
            sweep.defaults.extend(default);
        }
    }
    sweep.points.sort_by_key(|point| (point.workload, point.configuration));
    sweep.defaults.sort_by_key(|point| point.workload);
    stream.shuffle(&mut recommendations);
    (sweep, recommendations)
}

/// What is exported and read back chooses at each size what its column shows. Returns how many choices were compared.
fn check_round_trip(
    sweep: &Sweep,
    recommendations: &[Recommendation],
    options: &ExportOptions,
    stream: &mut Stream,
) -> usize {
    let names = ["a,b\n\u{7}allreduce,0,1,ring,ll,1,1,8".to_owned(), "é".repeat(300)];
    let basis = ExportInput { sweep, recommendations, between_sizes: &[], names: &names, set: None, level: 0.9 };
    let exported = export(&basis, options);
    let support = SupportMatrix::new(options.platform().matrix(), sweep);
    let mut compared = 0;
    for file in &exported.files {
        let rules = read(file.text.as_bytes(), options.reader);
        assert_eq!(rules.len(), file.rules, "{}", file.text);
        for line in file.text.lines() {
            assert!(line.len() <= LONGEST_LINE, "{line}");
            assert!(line.starts_with('#') || !line.starts_with("alltoall"), "{line}");
        }
        let of_file =
            |scale: Scale| !options.by_scale || file.name.contains(&format!("_{}n{}r", scale.nodes, scale.ranks));
        for row in exported.rows.iter().filter(|row| of_file(row.scale)) {
            let mut sizes = vec![row.min_bytes, row.max_bytes, row.min_bytes.midpoint(row.max_bytes)];
            sizes.extend(&row.sizes);
            let width = row.max_bytes - row.min_bytes;
            sizes.extend((0..4).map(|_| row.min_bytes + stream.next_u64() % width.saturating_add(1).max(1)));
            for size_bytes in sizes {
                let workload = Workload { collective: row.collective, scale: row.scale, size_bytes };
                let choice = choose(&rules, options.reader, &support, &workload);
                assert_eq!(choice.effect, row.effect, "{options:?} {workload:?}\n{}", file.text);
                compared += 1;
            }
        }
        let rows = built_in::rows(options.reader);
        for rule in rules.iter().filter(|rule| !rows.iter().any(|row| row.says(rule))) {
            let scale = rule.scale().unwrap();
            let points = sweep.points_of(rule.collective, scale).iter();
            let most = points.filter(|p| !p.marks.wrapped_channels).map(|p| p.configuration.channels).max();
            assert!(most.is_none_or(|most| rule.channels <= most as i32), "{rule:?}");
        }
        // Nothing that stands there is read as something else.
        let findings = lint(file.text.as_bytes(), options.reader, &support, Some(sweep));
        let lines = |f: &&Finding| f.severity != Severity::Note && f.code != Code::Gap;
        let bad: Vec<_> = findings.iter().filter(lines).collect();
        assert!(bad.is_empty(), "{bad:?}\n{}", file.text);
    }
    // Rows cover every size of every group, without holes and overlaps.
    for rows in exported.rows.chunk_by(|a, b| (a.collective, a.scale) == (b.collective, b.scale)) {
        assert_eq!((rows[0].min_bytes, rows[rows.len() - 1].max_bytes), (0, u64::MAX));
        assert!(rows.windows(2).all(|pair| pair[0].max_bytes + 1 == pair[1].min_bytes), "{rows:?}");
        if options.reader == Reader::Example {
            assert!(rows.iter().all(|row| row.rule.is_some() || rows.len() == 1), "{rows:?}");
        }
    }
    compared
}

fn all_options() -> Vec<ExportOptions> {
    let mut all = Vec::new();
    for reader in Reader::ALL {
        for (by_scale, open_ends) in [(false, false), (true, true)] {
            all.push(ExportOptions { reader: *reader, by_scale, open_ends, ..ExportOptions::default() });
        }
    }
    all
}

#[test]
fn what_is_exported_runs_as_its_column_says() {
    let mut stream = Stream::new(4);
    let mut compared = 0;
    for _ in 0..3000 {
        let (sweep, recommendations) = random_table(&mut stream);
        for options in all_options() {
            compared += check_round_trip(&sweep, &recommendations, &options, &mut stream);
        }
    }
    assert!(compared > 300_000, "{compared}");
}

fn study(names: &[&str]) -> TuningStudy {
    let mut rows = Vec::new();
    for (id, name) in (0..).zip(names) {
        let bytes = real::file(&format!("tuning/{name}"));
        let (_, content) = intake::open(&bytes[..], name, bytes.len() as u64, id, None, &mut Silent);
        if let FileContent::Rows(of_file) = content {
            rows.extend(of_file);
        }
    }
    TuningStudy::new(aggregate(&rows, Target::Time), Target::Time)
}

const SWEEPS: [&str; 6] = [
    "all_gather_2n.csv",
    "all_reduce_1n.csv",
    "all_reduce_2n_median.csv",
    "all_reduce_3n_median.csv",
    "broadcast_1n.csv",
    "broadcast_2n.csv",
];

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn real_sweeps_run_as_their_column_says() {
    let mut stream = Stream::new(5);
    for names in SWEEPS.iter().map(std::slice::from_ref).chain([&SWEEPS[..]]) {
        let mut study = study(names);
        let winners = study.winners().unwrap();
        let predicted = study.train(Parameters::default(), &mut Silent).unwrap().to_vec();
        for recommendations in [winners, predicted] {
            for options in all_options() {
                let compared = check_round_trip(study.sweep(), &recommendations, &options, &mut stream);
                let refused = options.reader == Reader::Example;
                assert!(compared > 0 || refused, "{names:?} {options:?}");
            }
        }
    }
}

fn export_of(study: &TuningStudy, reader: Reader) -> ConfExport {
    let winners = study.winners().unwrap();
    let names = ["sweep.csv".to_owned()];
    let basis = ExportInput {
        sweep: study.sweep(),
        recommendations: &winners,
        between_sizes: &[],
        names: &names,
        set: None,
        level: 0.9,
    };
    export(&basis, &ExportOptions { reader, ..ExportOptions::default() })
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn direct_all_gather_becomes_channels_only_for_the_reader_that_knows_it() {
    let study = study(&["all_gather_2n.csv"]);
    let dn = export_of(&study, Reader::DnTuner);
    // Direct was measured up to 4 MiB, other algorithms from 8 MiB on.
    let end = boundary(4 << 20, 8 << 20);
    for rule in read(dn.files[0].text.as_bytes(), Reader::DnTuner) {
        assert_eq!(rule.algorithm.is_none(), rule.max_bytes < end, "{}", dn.files[0].text);
    }
    let rccl = export_of(&study, Reader::Rccl);
    let is_direct = |rule: &&Rule| rule.collective == Collective::AllGather && rule.max_bytes < end;
    for rule in read(rccl.files[0].text.as_bytes(), Reader::Rccl).iter().filter(is_direct) {
        assert_eq!((rule.algorithm, rule.protocol), (Some(Algorithm::Ring), Some(Protocol::Simple)));
    }
    assert!(rccl.rows.iter().any(|row| row.effect.to_string().starts_with("Direct/SIMPLE/")), "{:?}", rccl.rows);
    assert_eq!(rccl.files[0].name, "rccl_tuner_gfx950.csv");
    assert_eq!(dn.files[0].name, "nccl_tuner.conf");
}

/// One size of one collective: a ring on 8 channels, and the default.
fn one_size(size_bytes: u64, ring_gbps: f64, default_gbps: f64, decision: Decision) -> (Vec<Point>, Recommendation) {
    let scale = Scale { nodes: 1, ranks: 8 };
    let workload = Workload { collective: Collective::AllReduce, scale, size_bytes };
    let ring = Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Simple, channels: 8 };
    let points = [(ring, ring_gbps), (Configuration { channels: 224, ..ring }, default_gbps)];
    let points: Vec<Point> = points.map(|(configuration, gbps)| Point::new(workload, configuration, gbps)).to_vec();
    let recommendation = Recommendation {
        configuration: Some(ring),
        measured_best: Some(measured(&points[0])),
        default: Some(measured(&points[1])),
        decision,
        ..Recommendation::unknown(workload)
    };
    (points, recommendation)
}

/// A default that is printed as 0.05 GB/s may be 0.045: 0.048 is no loss. With more digits it is.
#[test]
fn a_loss_that_rounding_may_have_made_refuses_nothing() {
    for (default_gbps, is_refused) in [(0.05, false), (0.050_012_3, true), (0.06, true)] {
        let decision = Decision::KeepDefault { reason: KeepReason::NotFaster };
        let (points, recommendation) = one_size(8192, 0.048, default_gbps, decision);
        let (large, other) = one_size(1 << 20, 20.0, 10.0, Decision::Deploy);
        let sweep = Sweep {
            points: [&points, &large].map(|points| points[0].clone()).to_vec(),
            defaults: [&points, &large].map(|points| points[1].clone()).to_vec(),
        };
        let recommendations = [recommendation, other];
        let basis = ExportInput {
            sweep: &sweep,
            recommendations: &recommendations,
            between_sizes: &[],
            names: &[],
            set: None,
            level: 0.9,
        };
        let exported = export(&basis, &ExportOptions { reader: Reader::Example, ..ExportOptions::default() });
        assert_eq!(exported.refusals.len(), usize::from(is_refused), "{default_gbps}: {:?}", exported.refusals);
        assert_eq!(exported.files.is_empty(), is_refused, "{default_gbps}");
    }
}

#[test]
fn a_scale_that_would_lose_is_refused_with_its_sizes() {
    let keep = Decision::KeepDefault { reason: KeepReason::NotFaster };
    let (small, deploy) = one_size(1 << 20, 100.0, 80.0, Decision::Deploy);
    let (large, lose) = one_size(1 << 26, 140.0, 400.0, keep);
    let (tiny, tie) = one_size(1 << 12, 0.99, 1.0, keep);
    let sweep = Sweep {
        points: [&tiny, &small, &large].map(|points| points[0].clone()).to_vec(),
        defaults: [&tiny, &small, &large].map(|points| points[1].clone()).to_vec(),
    };
    let of = |reader, recommendations: &[Recommendation]| {
        let basis =
            ExportInput { sweep: &sweep, recommendations, between_sizes: &[], names: &[], set: None, level: 0.9 };
        export(&basis, &ExportOptions { reader, ..ExportOptions::default() })
    };
    let all = [tie.clone(), deploy.clone(), lose];
    let refused = of(Reader::Example, &all);
    assert!(refused.files.is_empty() && refused.rows.is_empty());
    assert_eq!(
        refused.refusals[0].message(),
        "Nothing is written for 1 node, 8 ranks: this reader can't keep the default, and every configuration that was \
         forced is slower than it at all_reduce of 64 MiB (−65.0 %)."
    );
    // The others keep the default where it wins, and where it ties.
    let dn = of(Reader::DnTuner, &all);
    assert_eq!(read(dn.files[0].text.as_bytes(), Reader::DnTuner).len(), 1);
    assert!(dn.files[0].text.contains("# all_reduce on 1 node, 8 ranks: default kept at: 4 KiB, 64 MiB\n"));
    assert!(
        dn.warnings.iter().any(|w| w.contains("the default ran 224 at 1 MiB, more than twice as many")),
        "{:?}",
        dn.warnings
    );
    // Within noise the best forced configuration stands in for it.
    let within = of(Reader::Example, &[tie, deploy]);
    assert!(within.files[0].text.ends_with("allreduce,0,18446744073709551615,ring,simple,8,1,8,-1,-1\n"));
}

#[test]
fn more_channels_than_were_measured_are_not_written() {
    let (points, mut deploy) = one_size(1 << 20, 100.0, 80.0, Decision::Deploy);
    deploy.configuration = deploy.configuration.map(|choice| Configuration { channels: 48, ..choice });
    let sweep = Sweep { points: vec![points[0].clone()], defaults: vec![points[1].clone()] };
    let recommendations = [deploy];
    let basis = ExportInput {
        sweep: &sweep,
        recommendations: &recommendations,
        between_sizes: &[],
        names: &[],
        set: None,
        level: 0.9,
    };
    let exported = export(&basis, &ExportOptions { reader: Reader::Rccl, ..ExportOptions::default() });
    assert!(exported.files[0].text.contains(",ring,simple,8,1,8,"), "{}", exported.files[0].text);
    assert!(
        exported.warnings.iter().any(|w| w.contains("RING/SIMPLE/8 is written instead")),
        "{:?}",
        exported.warnings
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        for reader in Reader::ALL {
            prop_assert!(read(&bytes, *reader).len() <= bytes.len());
            lint_alone(&bytes, *reader);
        }
    }

    #[test]
    fn any_fields_are_read(text in "(([a-z#]{0,4}|-?[0-9]{0,21}|allreduce|ring|ll|-1)[, \t\r\n\0]{1,2}){0,60}") {
        for reader in Reader::ALL {
            // For our own plugin, a carriage return ends a line as well.
            let ends = |byte: &u8| *byte == b'\n' || *byte == b'\r' && *reader == Reader::Collectune;
            let lines = 1 + text.as_bytes().iter().filter(|byte| ends(byte)).count() as u32;
            let rules = read(text.as_bytes(), *reader);
            prop_assert!(rules.iter().all(|rule| rule.line >= 1 && rule.line <= lines));
            for finding in lint_alone(&text, *reader) {
                prop_assert!(finding.line >= 1 && finding.line <= lines, "{finding:?}");
            }
        }
    }
}
