//! NCCLX's tuner file: which rule decides, what the lint says, and that what is exported is read back as it is told.

#![allow(clippy::unwrap_used)]

use crate::{
    built_in_tables::{at, one_size},
    support::real,
};
use collectune::{
    collective::{Algorithm, Collective, Protocol, Scale, Workload},
    conf::{
        ncclx::lines,
        readers_of,
        write::{line, sizes_of_line},
    },
    intake::{self, FileContent, Outcome},
    math::Stream,
    progress::Silent,
    tuning::{
        conf::{
            Code, Finding, Reader, Rule, Severity, choose,
            export::{ExportInput, ExportOptions, export},
            lint::lint_for,
            read,
        },
        platform::Library,
        support::SupportMatrix,
        sweep::Sweep,
    },
};
use proptest::prelude::*;

const NCCLX: Reader = Reader::Ncclx;

fn nccl() -> SupportMatrix {
    SupportMatrix::new(Library::Nccl.matrix(), &Sweep::default())
}

/// What runs, and the rule that decides it, by its place in the file from 1; 0 for none.
fn decides(rules: &[Rule], support: &SupportMatrix, workload: &Workload) -> (String, usize) {
    let choice = choose(rules, NCCLX, support, workload);
    (choice.effect.to_string(), choice.rule.map_or(0, |index| index + 1))
}

fn findings(text: &str) -> Vec<Finding> {
    lint_for(text.as_bytes(), &[NCCLX], Library::Rccl, &Sweep::default())
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn the_example_decides_as_it_should_with_shared_data() {
    let bytes = real::file("reach/ncclx_example_tuner_config.json");
    let rules = read(&bytes, NCCLX);
    assert_eq!(rules.iter().map(|rule| rule.line).collect::<Vec<_>>(), [3, 7, 11, 15, 19]);
    let (reduce, gather, scatter) = (Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter);
    for (collective, scale, size_bytes, rule) in [
        (reduce, (1, 8), 8_388_608, 1),
        (reduce, (1, 8), 8_388_615, 1),
        (reduce, (1, 8), 8_388_616, 3),
        // NCCL has no tree for all_gather: the library ignores the rule, and no other matches.
        (gather, (2, 16), 33_554_432, 0),
        (gather, (1, 8), 67_108_864, 5),
        (scatter, (2, 16), 16_777_232, 4),
        (scatter, (2, 16), 16_777_231, 0),
        (scatter, (1, 8), 16_777_232, 0),
    ] {
        let workload = at(collective, scale, size_bytes);
        assert_eq!(decides(&rules, &nccl(), &workload).1, rule, "{workload:?}");
    }
    let ll128 = decides(&rules, &nccl(), &at(reduce, (1, 8), 8_388_608)).0;
    assert_eq!(ll128, "RING/LL128, channels of the library's choice");
    let Some((11, Ok(third))) = lines(&bytes).into_iter().nth(2) else { panic!() };
    assert_eq!(third.chunk_bytes, 524_288);
    let found = lint_for(&bytes, readers_of(&bytes), Library::Rccl, &Sweep::default());
    let told: Vec<_> = found.iter().map(|finding| (finding.line, finding.code, finding.severity)).collect();
    assert!(told.contains(&(7, Code::Unsupported, Severity::Dead)), "{found:?}");
    assert!(told.contains(&(11, Code::ChunkSize, Severity::Changes)), "{found:?}");
    assert!(found.iter().all(|finding| finding.reader == NCCLX));

    let (report, content) = intake::open(&bytes[..], "a.json", bytes.len() as u64, 0, None, &mut Silent);
    assert!(matches!(content, FileContent::Conf(read) if read == bytes), "{:?}", report.outcome);
}

#[test]
fn sizes_count_per_rank_and_the_first_rule_that_can_run_wins() {
    let rules = read(
        b"allreduce,[2,3],ring,ll,4,[2,4),8\n\
          allreduce,*,ring,simple,0,*,8\n\
          reduce,(5,5),ring,ll,1,*,*\n\
          allgather,[1,1],ring,ll,-2,1,*\n\
          broadcast,(,0],ring,ll,2,(,1],[8,8]\n",
        NCCLX,
    );
    let of = |collective, scale, size_bytes| decides(&rules, &nccl(), &at(collective, scale, size_bytes)).1;
    let reduce = Collective::AllReduce;
    assert_eq!([31, 32, 63, 64].map(|size| of(reduce, (2, 16), size)), [2, 1, 1, 2]);
    assert_eq!([47, 48, 95, 96].map(|size| of(reduce, (3, 24), size)), [2, 1, 1, 2]);
    assert_eq!([of(reduce, (4, 32), 64), of(reduce, (1, 4), 8), of(reduce, (1, 8), 16)], [2, 0, 2]);
    // Ranks that differ from node to node: 17 on 2 nodes count as 16.
    assert_eq!([31, 32].map(|size| of(reduce, (2, 17), size)), [2, 1]);
    assert_eq!([0, 5, 6].map(|size| of(Collective::Reduce, (1, 1), size)), [0; 3]);
    assert_eq!([7, 8, 15, 16].map(|size| of(Collective::AllGather, (1, 8), size)), [0, 4, 4, 0]);
    assert_eq!([7, 8].map(|size| of(Collective::Broadcast, (1, 8), size)), [5, 0]);
    let effect = |collective, size| decides(&rules, &nccl(), &at(collective, (1, 8), size)).0;
    assert_eq!(effect(reduce, 64), "RING/SIMPLE, channels of the library's choice");
    assert_eq!(effect(Collective::AllGather, 8), "RING/LL on -2 channels: undefined");
}

#[test]
fn a_line_that_can_t_be_read_fails_the_communicator() {
    let found = findings("allreduce,*,ring,ll,-1,*,*\n\nallreduce,*,Ring,ll,-1,*,*\nbroadcast,1,ring,ll\n");
    let told: Vec<_> = found.iter().map(|finding| (finding.line, finding.code, finding.severity)).collect();
    let expected = [(3, Code::UnknownAlgorithm, Severity::Changes), (4, Code::TooFewFields, Severity::Changes)];
    assert_eq!(told, expected);
    assert_eq!(
        found[0].message,
        "algorithm: \"Ring\" is not ring, tree, nvls, nvls_tree, pat, collnet_direct or collnet_chain, in lower case; \
         creating a communicator fails with ncclInvalidUsage, unless NCCLX_TUNER_IGNORE_CONFIG_ERRORS=1 leaves this out"
    );
}

#[test]
fn rules_that_do_something_else_are_found() {
    use Severity::{Changes, Dead, Note};
    for (text, expected) in [
        ("allreduce,*,ring,ll,-1,*,*", vec![]),
        ("allreduce,*,ring,ll,280,*,*", vec![]),
        ("allreduce,*,ring,ll,0,*,*", vec![(1, Code::Channels, Note)]),
        ("allreduce,*,ring,ll,-2,*,*", vec![(1, Code::Channels, Changes)]),
        ("allreduce,(5,5),ring,ll,-1,*,*", vec![(1, Code::EmptyRange, Dead)]),
        ("allreduce,[-9,-1],ring,ll,-1,*,*", vec![(1, Code::EmptyRange, Dead)]),
        ("allreduce,*,ring,ll,-1,(1,2),*", vec![(1, Code::EmptyRange, Dead)]),
        ("allreduce,*,ring,ll,-1,*,0", vec![(1, Code::EmptyRange, Dead)]),
        ("allgather,*,tree,ll,-1,*,*", vec![(1, Code::Unsupported, Dead)]),
        // Chunk sizes: below the unit, above the buffer, at sizes of one channel.
        ("allreduce,*,ring,simple,-1,*,*,511", vec![(1, Code::ChunkSize, Changes)]),
        ("allreduce,*,ring,simple,-1,*,*,512", vec![]),
        ("allreduce,*,ring,ll128,-1,*,*,1919", vec![(1, Code::ChunkSize, Changes)]),
        ("allreduce,*,ring,ll,-1,*,*,15", vec![(1, Code::ChunkSize, Changes)]),
        ("allreduce,*,ring,ll,-1,*,*,32768", vec![]),
        ("allreduce,*,ring,ll,-1,*,*,32769", vec![(1, Code::ChunkSize, Note)]),
        ("allreduce,*,ring,simple,-1,*,*,2097152", vec![]),
        ("allreduce,*,tree,simple,-1,2,*,2097152", vec![(1, Code::ChunkSize, Note)]),
        ("allreduce,[0,),ring,simple,-1,*,*,65536", vec![(1, Code::ChunkSize, Changes)]),
        // Rules that an earlier one keeps from applying, wholly and in part.
        ("reduce,*,ring,ll,-1,[1,4],*\nreduce,[1,2],ring,ll,-1,[2,3],8", vec![(2, Code::Overlap, Dead)]),
        ("reduce,[0,9],ring,ll,-1,2,8\nreduce,[5,],ring,simple,-1,[2,3],8", vec![(2, Code::Overlap, Changes)]),
        ("reduce,[0,9],ring,ll,-1,1,8\nreduce,[5,],ring,simple,-1,[2,3],8", vec![]),
        ("reduce,*,ring,ll,-1,[0,),*\nreduce,*,ring,ll,-1,*,*", vec![(2, Code::Overlap, Dead)]),
        ("reduce,*,ring,ll,-1,(2,3),*\nreduce,*,ring,ll,-1,*,*", vec![(1, Code::EmptyRange, Dead)]),
        ("reduce,[0,9],ring,ll,-1,2,8\nreduce,[20,],ring,simple,-1,2,8", vec![(1, Code::Gap, Note)]),
        ("reduce,[0,9],ring,ll,-1,2,8\nreduce,[10,19],ring,simple,-1,(1,4),*\nreduce,[20,],ring,ll,-1,2,8", vec![]),
    ] {
        let found = findings(text);
        let told: Vec<_> = found.iter().map(|finding| (finding.line, finding.code, finding.severity)).collect();
        assert_eq!(told, expected, "{text}: {found:?}");
    }
    let overlap = &findings("reduce,[0,9],ring,ll,-1,2,8\nreduce,[5,],ring,simple,-1,[2,3],8")[0];
    assert!(overlap.message.starts_with("line 1 matches first for 5 B to 9 B per rank, so RING/LL"), "{overlap:?}");
    let gap = &findings("reduce,[0,9],ring,ll,-1,[2,3],8\nreduce,[20,],ring,simple,-1,[2,3],8")[0];
    assert!(
        gap.message.starts_with("reduce on [2,3] nodes, 8 ranks each: no rule matches 10 B to 19 B per rank"),
        "{gap:?}"
    );
}

/// What is told of overlaps, against every size and scale tried one by one.
#[test]
fn a_rule_that_never_applies_applies_nowhere() {
    let mut stream = Stream::new(8);
    let support = nccl();
    let mut dead = 0;
    for _ in 0..1000 {
        let mut text = String::new();
        for _ in 0..2 + stream.below(6) {
            let ends = ["[0,3]", "(3,9)", "*", "[4,)", "(,6]", "5", "(5,5)"][stream.below(7)];
            let (nodes, ranks) = (["*", "2", "[1,2]", "(1,)"][stream.below(4)], ["*", "2", "[2,)"][stream.below(3)]);
            text += &format!("reduce,{ends},ring,ll,{},{nodes},{ranks}\n", 1 + stream.below(3));
        }
        let rules = read(text.as_bytes(), NCCLX);
        let mut applies = vec![false; rules.len()];
        for nodes in 1..4 {
            for local in 1..4 {
                for size_bytes in 0..12 * u64::from(nodes * local) {
                    let workload = at(Collective::Reduce, (nodes, nodes * local), size_bytes);
                    let choice = choose(&rules, NCCLX, &support, &workload);
                    choice.rule.into_iter().for_each(|index| applies[index] = true);
                }
            }
        }
        for finding in findings(&text).iter().filter(|f| f.code == Code::Overlap && f.severity == Severity::Dead) {
            let index = rules.iter().position(|rule| rule.line == finding.line).unwrap();
            assert!(!applies[index], "{finding:?}\n{text}");
            dead += 1;
        }
    }
    assert!(dead > 300, "{dead}");
}

#[test]
fn a_dropped_file_is_recognised() {
    for (name, text, rules) in [
        (
            "a.csv",
            "# ours\nallreduce,[0,1048576],ring,ll128,-1,2,8\nallreduce,(1048576,),ring,simple,-1,2,8,65536\n",
            2,
        ),
        ("b.csv", "allgather,1024,ring,ll,1,1,8\n", 1),
        ("c.csv", "# collective,bytesPerRank,algorithm,protocol,channels,nNodes,nLocalRanks\n", 0),
        ("d.json", "{\"rules\": [{\"filter\": {\"collective\": \"reduce\"}, \"config\": {}}]}", 1),
    ] {
        let (report, content) = intake::open(text.as_bytes(), name, text.len() as u64, 0, None, &mut Silent);
        let Outcome::Known { format, holds, .. } = &report.outcome else { panic!("{name}: {:?}", report.outcome) };
        assert_eq!(format, "tuner file of NCCLX");
        assert!(holds.starts_with(&format!("{rules} rule")), "{name}: {holds}");
        assert!(matches!(content, FileContent::Conf(bytes) if bytes == text.as_bytes()));
        assert_eq!(readers_of(text.as_bytes()), [NCCLX]);
    }
    assert_eq!(readers_of(b"allreduce,0,4095,tree,ll,8,2,16,-1,-1\n"), Reader::OF_CONF);
}

#[test]
fn an_export_says_which_sizes_change_sides() {
    let of = |scale, sizes: &[(u64, Protocol)]| {
        let (sweeps, recommendations): (Vec<Sweep>, Vec<_>) =
            sizes.iter().map(|(size, protocol)| one_size(scale, *size, *protocol)).unzip();
        let sweep = Sweep {
            points: sweeps.iter().flat_map(|sweep| sweep.points.clone()).collect(),
            defaults: sweeps.iter().flat_map(|sweep| sweep.defaults.clone()).collect(),
        };
        let input = ExportInput {
            sweep: &sweep,
            recommendations: &recommendations,
            between_sizes: &[],
            names: &[],
            set: None,
            level: 0.9,
        };
        export(&input, &ExportOptions { reader: NCCLX, ..ExportOptions::default() })
    };
    let exact = of((2, 16), &[(65536, Protocol::Ll), (1 << 20, Protocol::Simple)]);
    let text = &exact.files[0].text;
    // A size alone is matched with those that have as many whole bytes per rank.
    assert!(
        text.ends_with("allreduce,[4096,4096],ring,ll,8,2,8\nallreduce,[65536,65536],ring,simple,8,2,8\n"),
        "{text}"
    );
    assert!(text.contains("# collective,bytesPerRank,algorithm,protocol,channels,nNodes,nLocalRanks\n"), "{text}");
    assert!(text.contains(": 65537 to 65551, 1048577 to 1048591\n"), "{text}");
    assert!(exact.warnings.iter().any(|told| told.contains("sizes of 65537 to 65551 bytes, and others")), "{exact:?}");
    assert_eq!(exact.files[0].name, "ncclx_tuner.csv");
    assert!(exact.loading.contains("export NCCLX_TUNER_CONFIG_FILE=/absolute/path/ncclx_tuner.csv\n"));
    let at_size = exact.rows.iter().find(|row| row.sizes == [65536]).unwrap();
    assert_eq!((at_size.min_bytes, at_size.max_bytes), (65536, 65551));
    // A size between two multiples of the ranks has the rule of those with as many whole bytes per rank.
    let between = of((3, 24), &[(49152, Protocol::Simple), (65536, Protocol::Ll)]);
    let rules = "nLocalRanks\nallreduce,[2048,2048],ring,simple,8,3,8\nallreduce,[2730,2730],ring,ll,8,3,8\n";
    assert!(between.files[0].text.ends_with(rules), "{between:?}");
    assert!(!between.files[0].text.contains(" 65536 to"), "{between:?}");
    // Two sizes that no line can part: the rule of the lower one has both.
    let both = of((3, 24), &[(49152, Protocol::Simple), (49160, Protocol::Ll)]);
    assert!(both.files[0].text.ends_with("nLocalRanks\nallreduce,[2048,2048],ring,simple,8,3,8\n"), "{both:?}");
    assert!(both.files[0].text.contains(" 49153 to 49175\n"), "{both:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Any edit of a file: nothing panics, and every line that is told is one of the file.
    #[test]
    fn any_edit_is_read(
        sample in prop::sample::select(vec![crate::support::samples::NCCLX, crate::support::samples::NCCLX_JSON]),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..4, any::<u8>()), 0..8),
    ) {
        let mut bytes = sample.as_bytes().to_vec();
        for (index, length, byte) in edits {
            let from = index.index(bytes.len() + 1);
            let to = (from + length).min(bytes.len());
            bytes.splice(from..to, [byte]);
        }
        let count = bytes.iter().filter(|byte| **byte == b'\n').count() as u32 + 1;
        for (line, _) in lines(&bytes) {
            prop_assert!((1..=count).contains(&line), "{line} of {count}");
        }
        for finding in lint_for(&bytes, &[NCCLX], Library::Nccl, &Sweep::default()) {
            prop_assert!((1..=count).contains(&finding.line), "{finding:?}");
        }
    }

    /// What is written is read back: it matches exactly the sizes that are told.
    #[test]
    fn a_written_line_matches_the_sizes_that_are_told(
        from in 0_u64..4000, length in 0_u64..4000, nodes in 1_u32..5, local in 1_u32..9, uneven in 0_u32..2,
    ) {
        let scale = Scale { nodes, ranks: nodes * local + uneven.min(nodes - 1) };
        let pair = Some((Algorithm::Ring, Protocol::Ll));
        let sizes = (from, from + length);
        let written = line(NCCLX, Collective::Reduce, sizes, pair, 8, scale);
        let told = sizes_of_line(NCCLX, sizes, scale);
        prop_assert_eq!(written.is_some(), told.is_some());
        let ranks = u64::from(nodes * local);
        let is_exact = from % ranks == 0 && (sizes.1 + 1) % ranks == 0;
        prop_assert_eq!(told == Some(sizes), is_exact);
        let rules = read(written.unwrap_or_default().as_bytes(), NCCLX);
        for size_bytes in 0..9000 {
            let matches = rules.iter().any(|rule| rule.is_about(scale) && rule.sizes_on(scale).contains(&size_bytes));
            prop_assert_eq!(matches, told.is_some_and(|(min, max)| (min..=max).contains(&size_bytes)));
        }
    }
}
