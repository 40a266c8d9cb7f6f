//! What a tuner can decide of a job's calls: by logs of every form, and by the conditions of a version.

use collectune::{
    collective::{Collective, Scale},
    tuning::{
        conf::{Reader, lint, read},
        data_type::DataType,
        platform::{Gpu, Library, Version},
        reach::{JobPlace, ListedCall, Path, PathEvidence, Reach, ReachLine, ReachQuestion, ReachReader, listing},
    },
};
use proptest::prelude::*;

use crate::support::real;

fn reach_of(files: &[(&str, String)], question: &ReachQuestion) -> Reach {
    let mut reader = ReachReader::default();
    for (name, text) in files {
        assert!(reader.text(name, text), "{name} says nothing");
    }
    let reach = reader.reach(question);
    adds_up(&reach);
    reach
}

fn of_log(lines: &[String]) -> Reach {
    reach_of(&[("job.log", lines.concat())], &ReachQuestion::default())
}

/// The sums of a report are those of its lines, and no line is without calls.
#[track_caller]
fn adds_up(reach: &Reach) {
    let of = |keep: &dyn Fn(&ReachLine) -> bool| -> u64 {
        reach.lines.iter().filter(|line| keep(line)).map(|line| line.calls).sum()
    };
    assert_eq!(reach.total.calls, of(&|_| true));
    assert_eq!(reach.total.calls, reach.total.paths.iter().map(|path| path.calls).sum::<u64>());
    assert_eq!(reach.total.reached_calls, of(&|line| line.path.is_reached()));
    assert_eq!(reach.total.bytes, reach.total.paths.iter().map(|path| path.bytes).sum::<u64>());
    assert!(reach.total.reached_bytes <= reach.total.bytes);
    for path in &reach.total.paths {
        assert_eq!(path.calls, of(&|line| line.path == path.path), "{:?}", path.path);
    }
    assert!(reach.lines.iter().all(|line| line.calls >= line.grouped_calls && line.calls > 0));
    let pct: f64 = reach.lines.iter().map(|line| line.calls_pct).sum();
    assert!(reach.lines.is_empty() || (pct - 100.0).abs() < 1e-6, "{pct}");
    assert_eq!(listing(reach).rows.len(), reach.lines.len());
}

fn path_of(reach: &Reach) -> Vec<(Path, u64)> {
    reach.total.paths.iter().map(|of| (of.path, of.calls)).collect()
}

fn said(pid: u32, text: &str) -> String {
    format!("node0:{pid}:{pid} [0] NCCL INFO {text}\n")
}

fn called(pid: u32, name: &str, count: u64, ranks: u32) -> String {
    said(
        pid,
        &format!(
            "{name}: opCount 1a sendbuff 0x7 recvbuff 0x8 count {count} datatype 9 op 0 root 0 comm 0x5600 \
             [nranks={ranks}] stream 0x5700"
        ),
    )
}

fn decided(pid: u32, name: &str, bytes: u64, ran: &str) -> String {
    said(pid, &format!("{name}: {bytes} Bytes -> Algo {ran} channel{{Lo..Hi}}={{0..23}}"))
}

fn began(pid: u32, rank: u32, ranks: u32, nodes: u32) -> String {
    said(
        pid,
        &format!(
            "comm 0x5600 rank {rank} nRanks {ranks} nNodes {nodes} localRanks {} localRank 0 MNNVL 0",
            ranks / nodes
        ),
    )
}

const RING_LL: &str = "RING proto LL";

/// The sizes of 15 all_reduces of three served models, decoding.
const DECODE: [u64; 15] = [
    131_072, 131_072, 262_144, 524_288, 1_048_576, 2_097_152, 184_320, 184_320, 368_640, 737_280, 1_474_560, 2_949_120,
    458_752, 1_835_008, 7_340_032,
];

/// RCCL's table for gfx950 (ROCm/rocm-systems, projects/rccl/tuner/rccl_tuner_gfx950.csv at a30ca538).
const FOUR_ROWS: &str = "allreduce,0,16383,tree,ll,1,1,8,-1,-1\nallreduce,16384,524287,ring,ll,-1,1,8,-1,-1\n\
                         allreduce,524288,1048575,ring,ll,32,1,8,-1,-1\nallreduce,1048576,2097000,ring,ll,56,1,8,-1,-1";

fn mi355x(environment: &[(&str, &str)]) -> ReachQuestion {
    let environment = environment.iter();
    let environment = environment.map(|(name, value)| format!("{name}={value}").parse().expect("a variable")).collect();
    let on = JobPlace { version: Some(Version::release(2, 30, 4)), gpu: Some(Gpu::Gfx(0x950)), environment };
    ReachQuestion { library: Some(Library::Rccl), on, ..ReachQuestion::default() }
}

/// The same question in another version.
fn in_version(mut question: ReachQuestion, version: Version) -> ReachQuestion {
    question.on.version = Some(version);
    question
}

/// The same question on another GPU, or on one that is not known.
fn on_gpu(mut question: ReachQuestion, gpu: Option<Gpu>) -> ReachQuestion {
    question.on.gpu = gpu;
    question
}

fn decode() -> String {
    let row = |size: u64| format!("all_reduce,1,8,{size},1,bf16,sum\n");
    format!("collective,num_nodes,num_gpus,size_bytes,calls,data_type,redop\n{}", DECODE.map(row).concat())
}

#[test]
fn dda_takes_all_of_decoding_and_nothing_where_it_is_off() {
    let with = |question: &ReachQuestion| reach_of(&[("calls.csv", decode())], question);
    let on = with(&mi355x(&[]));
    assert_eq!((on.total.reached_calls, on.total.calls), (0, 15));
    assert_eq!(path_of(&on), [(Path::Dda, 15)]);
    assert_eq!(on.headline, "A tuner file can move 0 of 15 calls (0.0 % of the bytes)");
    let inferred = |line: &ReachLine| matches!(&line.evidence, PathEvidence::Inferred(why) if why.contains("67108864"));
    assert!(on.lines.iter().all(inferred), "{:?}", on.lines);

    let off = with(&mi355x(&[("RCCL_DDA_ENABLE", "0")]));
    assert_eq!((off.total.reached_calls, off.total.calls), (15, 15));
    let rules = Some((read(FOUR_ROWS.as_bytes(), Reader::Rccl), Reader::Rccl));
    let table = with(&ReachQuestion { rules, ..mi355x(&[("RCCL_DDA_ENABLE", "0")]) });
    assert_eq!(path_of(&table), [(Path::Tuner, 12), (Path::Library, 3)]);
    assert_eq!((table.total.reached_calls, table.total.calls), (15, 15));
    let rule = |size: u64| table.lines.iter().find(|line| line.size_bytes == Some(size)).and_then(|line| line.rule);
    assert_eq!([458_752, 737_280, 1_835_008, 2_097_152].map(rule), [Some(2), Some(3), Some(4), None]);

    // Before DDA; on another GPU; of sizes, types and scales that DDA does not take.
    assert_eq!(with(&in_version(mi355x(&[]), Version::release(2, 28, 3))).total.reached_calls, 15);
    assert_eq!(with(&on_gpu(mi355x(&[]), Some(Gpu::Gfx(0x90a)))).total.reached_calls, 15);
    let ranks = decode().replace(",1,8,", ",1,4,");
    assert_eq!(reach_of(&[("calls.csv", ranks)], &mi355x(&[])).total.reached_calls, 15);
    // What nccl-tests has for a collective that computes nothing.
    let gathers = decode().replace("all_reduce", "all_gather").replace(",sum", ",none");
    let found = reach_of(&[("calls.csv", gathers)], &mi355x(&[]));
    assert_eq!(found.total.calls, 15);
    let doubles = decode().replace("bf16", "double");
    assert_eq!(reach_of(&[("calls.csv", doubles)], &mi355x(&[])).total.reached_calls, 15);
    // NCCL_ALGO keeps DDA off from 2.31.2 on.
    let limited = |algorithms| mi355x(&[("NCCL_ALGO", algorithms)]);
    let newer = |algorithms| with(&in_version(limited(algorithms), Version::release(2, 31, 2)));
    assert_eq!(with(&limited("Ring,Tree")).total.reached_calls, 0);
    assert_eq!(newer("Ring,Tree").total.reached_calls, 15);
    // Of one algorithm the protocol and the channels are left.
    assert_eq!(path_of(&newer("Ring")), [(Path::TunerOrLibrary, 15)]);
    // What is not known is not guessed.
    let unknown = with(&on_gpu(mi355x(&[]), None));
    assert_eq!(path_of(&unknown), [(Path::Unknown, 15)]);
    let nccl = ReachQuestion { library: Some(Library::Nccl), ..ReachQuestion::default() };
    assert_eq!(path_of(&with(&nccl)), [(Path::TunerOrLibrary, 15)]);
}

#[test]
fn thresholds_of_dda_and_the_direct_all_gather() {
    let path = |collective, nodes, ranks, size_bytes, version, gpu| {
        let mut reader = ReachReader::default();
        let scale = Scale { nodes, ranks };
        let (data_type, is_sum) = (DataType::parse("bf16"), Some(true));
        reader.list([ListedCall { collective, size_bytes, scale, calls: 3, data_type, is_sum, place: None }]);
        let reach = reader.reach(&on_gpu(in_version(mi355x(&[]), version), Some(gpu)));
        adds_up(&reach);
        reach.lines[0].path
    };
    use Collective::{AllGather, AllReduce, AllToAll, Broadcast};
    let (gfx942, gfx950) = (Gpu::Gfx(0x942), Gpu::Gfx(0x950));
    let (old, new) = (Version::release(2, 30, 4), Version::release(2, 30, 7));
    let (mib, asked) = (1 << 20, Path::TunerOrLibrary);
    for (collective, nodes, ranks, size, version, gpu, expected) in [
        (AllReduce, 1, 8, 64 * mib, old, gfx950, Path::Dda),
        (AllReduce, 1, 8, 64 * mib + 128, old, gfx950, asked),
        (AllReduce, 1, 8, 64 * mib + 128, new, gfx950, Path::Dda),
        (AllReduce, 1, 8, 128 * mib + 128, new, gfx950, asked),
        (AllReduce, 1, 8, 8 * mib, old, gfx942, Path::Dda),
        (AllReduce, 1, 8, 8 * mib + 128, old, gfx942, asked),
        // Not a multiple of 16 bytes; above 256 KiB slices have to be.
        (AllReduce, 1, 8, 4104, old, gfx950, asked),
        (AllReduce, 1, 8, 262_144 + 16, old, gfx950, asked),
        (AllReduce, 2, 16, mib, old, gfx950, asked),
        (AllGather, 1, 8, 8 * mib, Version::release(2, 28, 3), gfx950, Path::Direct),
        (AllGather, 1, 8, 8 * mib + 8, Version::release(2, 28, 3), gfx950, asked),
        (AllGather, 1, 8, 4 * mib + 8, Version::release(2, 28, 3), gfx942, asked),
        (AllGather, 4, 32, 8 * mib, old, gfx950, Path::Direct),
        (AllGather, 4, 32, 8 * mib + 32, old, gfx950, asked),
        (AllGather, 3, 12, mib, old, gfx950, asked),
        (AllReduce, 1, 1, mib, old, gfx950, Path::OneRank),
        (AllReduce, 1, 8, 0, old, gfx950, Path::Empty),
        (AllToAll, 2, 16, mib, old, gfx950, Path::P2p),
        (Broadcast, 1, 8, mib, old, gfx950, asked),
    ] {
        let found = path(collective, nodes, ranks, size, version, gpu);
        assert_eq!(found, expected, "{collective} {nodes}×{ranks} {size} {version}");
    }
}

#[test]
fn bytes_of_one_rank_are_those_of_all_ranks_before_they_meet_a_conf() {
    let log = [called(102, "AllGather", 524_288, 8), decided(102, "AllGather", 1_048_576, "RING proto LL128")];
    let conf = "allgather,8388608,8388608,ring,ll128,-1,-1,-1,-1,-1\n";
    let question = ReachQuestion {
        rules: Some((read(conf.as_bytes(), Reader::Rccl), Reader::Rccl)),
        scale: Some(Scale { nodes: 1, ranks: 8 }),
        ..ReachQuestion::default()
    };
    let reach = reach_of(&[("a", log.concat())], &question);
    let line = &reach.lines[0];
    assert_eq!((line.size_bytes, line.is_per_rank, line.rule), (Some(8_388_608), false, Some(1)));
    assert_eq!((reach.counts.factor_unknown, reach.total.bytes), (0, 8_388_608));

    // Without the ranks the sizes become 'factor unknown', and the counts stay.
    let without = log.concat().replace("[nranks=8] ", "");
    let question = ReachQuestion { scale: None, ..question };
    let reach = reach_of(&[("a", without.clone())], &question);
    let line = &reach.lines[0];
    assert_eq!((line.size_bytes, line.is_per_rank, line.rule, line.calls), (Some(1_048_576), true, None, 1));
    assert_eq!((reach.total.calls, reach.total.unsized_calls, reach.counts.factor_unknown), (1, 1, 1));
    assert_eq!((reach.counts.call_lines, reach.counts.decision_lines), (1, 1));
    assert!(listing(&reach).rows[0].iter().any(|cell| cell.text == "1 MiB per rank, factor unknown"));
    assert!(reach.notes.iter().any(|note| note.contains("per rank, factor unknown")), "{:?}", reach.notes);

    // An INIT line has the ranks as well, and the nodes.
    let reach = reach_of(&[("a", began(102, 0, 8, 2) + &without)], &question);
    assert_eq!((reach.lines[0].size_bytes, reach.lines[0].rule), (Some(8_388_608), Some(1)));
    let known = reach.communicators[0];
    assert_eq!((known.ranks, known.nodes, known.local_ranks), (Some(8), Some(2), Some(4)));
}

#[test]
fn only_rank_0_counts() {
    let one = |pid: u32| began(pid, pid - 100, 8, 1) + &called(pid, "AllReduce", 1024, 8);
    let rank_0 = one(100) + &decided(100, "AllReduce", 2048, RING_LL);
    let others: Vec<String> = (101..108).map(one).collect();
    let reach = of_log(&[others.concat(), rank_0.clone()]);
    assert_eq!((reach.total.calls, reach.counts.call_lines, reach.counts.other_ranks_calls), (1, 8, 7));
    assert_eq!(path_of(&reach), [(Path::TunerOrLibrary, 1)]);
    assert!(!reach.communicators[0].is_rank_assumed);
    // The same in files of their own, in one process, and where no line says the ranks' numbers.
    let files: Vec<(String, String)> =
        others.iter().enumerate().map(|(n, text)| (format!("{n}.log"), text.clone())).collect();
    let mut files: Vec<(&str, String)> = files.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    files.push(("rank0.log", rank_0.clone()));
    let apart = reach_of(&files, &ReachQuestion::default());
    assert_eq!(apart.total, reach.total);
    assert_eq!(apart.lines[0].evidence, PathEvidence::Line(collectune::tuning::reach::Place { file: 7, line: 3 }));
    let inits = |text: String| {
        text.lines().filter(|line| !line.contains("nRanks")).map(|l| format!("{l}\n")).collect::<String>()
    };
    let unnumbered = of_log(&[inits(others.concat()), inits(rank_0)]);
    assert_eq!(unnumbered.total, reach.total);
    assert!(unnumbered.communicators[0].is_rank_assumed);
    // Without the log of rank 0 one rank's calls are counted, and nothing says what ran.
    let blind = of_log(&others);
    assert_eq!(path_of(&blind), [(Path::Unknown, 1)]);
}

#[test]
fn ranks_in_one_process_don_t_take_the_lines_of_rank_0() {
    let with = |text: &str, rank: u32| text.replace("0x5600", &format!("0x56{rank:02}"));
    let begun: String = (0..4).rev().map(|rank| with(&began(7, rank, 4, 1), rank)).collect();
    let calls: String = (0..4).rev().map(|rank| with(&called(7, "AllReduce", 1024, 4), rank)).collect();
    let reach = of_log(&[begun, calls, decided(7, "AllReduce", 2048, RING_LL)]);
    assert_eq!(path_of(&reach), [(Path::TunerOrLibrary, 1)]);
    assert_eq!((reach.counts.other_ranks_calls, reach.lines[0].grouped_calls), (3, 0));
}

#[test]
fn what_follows_from_the_line_of_a_call_alone() {
    let reach = of_log(&[
        called(1, "AllReduce", 1024, 1),
        called(1, "AllReduce", 0, 8),
        called(1, "AlltoAll", 16, 8),
        called(1, "Send", 16, 8),
        called(1, "Recv", 16, 8),
        called(1, "mscclpp_ncclAllReduce", 16, 8),
        called(1, "HierarchicalAllGather-Inter", 16, 8),
        called(1, "HierarchicalAllGather-Intra", 16, 8),
        called(1, "AllReduce", 1024, 8),
        called(1, "Teleport", 16, 8),
    ]);
    assert_eq!(
        path_of(&reach),
        [(Path::Direct, 1), (Path::Msccl, 1), (Path::P2p, 2), (Path::OneRank, 1), (Path::Empty, 1), (Path::Unknown, 1)]
    );
    assert_eq!((reach.counts.call_lines, reach.counts.parts), (9, 2));
    assert_eq!(reach.counts.unknown_functions.get("Teleport"), Some(&1));
    let one = of_log(&[called(1, "AllReduce", 1024, 1)]);
    assert_eq!(path_of(&one), [(Path::OneRank, 1)]);
    // No subsystem was asked for: that lines are absent proves nothing.
    assert!(reach.switch_on[0].contains("proves nothing") && reach.switch_on[0].contains("TUNING"));
}

#[test]
fn the_tuner_and_its_conf_decide_the_path() {
    let conf = "allreduce,0,4095,ring,ll,32,-1,-1,-1,-1\nallreduce,4096,8191,tree,ll,-1,-1,-1,-1,-1\n";
    let question =
        ReachQuestion { rules: Some((read(conf.as_bytes(), Reader::Rccl), Reader::Rccl)), ..ReachQuestion::default() };
    let calls: String = [1024, 2048, 8192]
        .map(|count| called(9, "AllReduce", count, 8) + &decided(9, "AllReduce", 2 * count, RING_LL))
        .concat();
    let with = |loaded: &str, question: &ReachQuestion| {
        let loaded = if loaded.is_empty() { String::new() } else { said(9, loaded) };
        path_of(&reach_of(&[("a", began(9, 0, 8, 1) + &loaded + &calls)], question))
    };
    let plugin = "TUNER/Plugin: Using Example (v5)";
    assert_eq!(with(plugin, &question), [(Path::Tuner, 1), (Path::Library, 1), (Path::Overridden, 1)]);
    assert_eq!(with(plugin, &ReachQuestion::default()), [(Path::TunerOrLibrary, 3)]);
    assert_eq!(with("Using internal tuner plugin.", &question), [(Path::Library, 3)]);
    assert_eq!(with("NCCL_TUNER_PLUGIN set by environment to none", &question), [(Path::Library, 3)]);
    assert_eq!(with("", &question), [(Path::TunerOrLibrary, 3)]);
    // The environment excludes what the file asks for at one size, and at no other.
    let forced = |value: &str| {
        let environment = vec![format!("NCCL_ALGO={value}").parse().expect("a variable")];
        ReachQuestion { on: JobPlace { environment, ..JobPlace::default() }, ..question.clone() }
    };
    for excluding in ["Ring", "allgather:tree;allreduce:ring", "^tree"] {
        let found = with(plugin, &forced(excluding));
        assert_eq!(found, [(Path::Tuner, 1), (Path::Library, 1), (Path::Env, 1)], "{excluding}");
    }
    for open in ["ring,tree", "^nvls", "allgather:ring", "bogus"] {
        let found = with(plugin, &forced(open));
        assert_eq!(found, [(Path::Tuner, 1), (Path::Library, 1), (Path::Overridden, 1)], "{open}");
    }
    // Before 2.24 no list is by collective: these are names, of which the library knows those between commas.
    let before = |value| in_version(forced(value), Version::release(2, 23, 4));
    let excluded = [(Path::Tuner, 1), (Path::Library, 1), (Path::Env, 1)];
    assert_ne!(with(plugin, &before("allgather:tree;allreduce:ring")), excluded);
    assert_eq!(with(plugin, &before("ring,tree;allreduce:tree")), excluded);
    assert_ne!(with(plugin, &forced("ring,tree;allreduce:tree")), excluded);
    let notes = |question: &ReachQuestion| {
        reach_of(&[("a", began(9, 0, 8, 1) + &said(9, plugin) + &calls)], question).notes.join("\n")
    };
    let told = notes(&before("ring,tree;allreduce:tree"));
    assert!(told.contains("from NCCL 2.24 on. 2.23.4 takes this for names between commas"), "{told}");
    assert!(notes(&forced("allreduce:ring")).contains("earlier ones take it for names between commas"));
    for question in [before("ring"), in_version(forced("allreduce:ring"), Version::release(2, 24, 3)), forced("ring")] {
        assert!(!notes(&question).contains("between commas"), "{question:?}");
    }
    // The rule of 32 channels is limited to four; the largest number does not hold against a larger smallest one.
    let channels = |values: &[&str]| {
        let environment = values.iter().map(|value| value.parse().expect("a variable")).collect();
        ReachQuestion { on: JobPlace { environment, ..JobPlace::default() }, ..question.clone() }
    };
    let told = notes(&channels(&["NCCL_MAX_NCHANNELS=4"]));
    assert!(told.contains("more channels than NCCL_MAX_NCHANNELS=4 leaves in 1 call: they run with 4"), "{told}");
    assert!(told.contains("NCCL_MAX_NCHANNELS bounds the number of channels"), "{told}");
    let told = notes(&channels(&["NCCL_MAX_NCHANNELS=4", "NCCL_MIN_NCHANNELS=8"]));
    assert!(told.contains("more channels than NCCL_MIN_NCHANNELS=8 leaves in 1 call: they run with 8"), "{told}");
    for enough in [&["NCCL_MAX_NCHANNELS=32"][..], &["NCCL_MAX_NCHANNELS=4", "NCCL_MIN_NCHANNELS=48"]] {
        assert!(!notes(&channels(enough)).contains("more channels than"), "{enough:?}");
    }
    // A tuner of the first interfaces wins over it.
    let old = in_version(ReachQuestion { library: Some(Library::Nccl), ..forced("Ring") }, Version::release(2, 21, 5));
    assert_eq!(with(plugin, &old).len(), 3);
}

#[test]
fn answers_of_tuners_are_evidence() {
    let applied = |bytes: u64| {
        said(
            108,
            &format!("TUNER/CsvTuner: Applied config for allreduce, bytes={bytes}: algo=ring, proto=ll, channels=-1"),
        )
    };
    let call = |count: u64, ran: &str| (called(108, "AllReduce", count, 8), decided(108, "AllReduce", 2 * count, ran));
    let log = |config: &str| {
        let loaded = said(108, &format!("Using built-in CSV tuner, config: {config}"));
        let (first, ran) = call(229_376, RING_LL);
        let (silent, library) = call(4_194_304, "RING proto SIMPLE");
        let (overridden, other) = call(65_536, "RING proto SIMPLE");
        [loaded, first, applied(458_752), ran, silent, library, overridden, applied(131_072), other]
    };
    let own = of_log(&log("<embedded>/rccl_tuner_gfx950.csv"));
    assert_eq!(path_of(&own), [(Path::OwnTable, 1), (Path::Library, 1), (Path::Overridden, 1)]);
    assert_eq!((own.counts.tuner_answers, own.total.reached_calls), (2, 2));
    let users = of_log(&log("/etc/rccl/ours.conf"));
    assert_eq!(path_of(&users), [(Path::Tuner, 1), (Path::Library, 1), (Path::Overridden, 1)]);

    let ofi = "NET/OFI Region Tuner choosing algo 1 proto 0 with cost 0.00000000 µsecs for coll 4 size 2048.";
    let left = "NET/OFI Falling back to NCCL's tuner for coll 4 size 4096.";
    let loaded = said(110, "NET/OFI Region base Tuner is chosen for platform: p5.48xlarge");
    let calls = [(1024, ofi), (2048, left)].map(|(count, line)| {
        called(110, "AllReduce", count, 8) + &said(110, line) + &decided(110, "AllReduce", 2 * count, RING_LL)
    });
    assert_eq!(path_of(&of_log(&[loaded, calls.concat()])), [(Path::Tuner, 1), (Path::Library, 1)]);
}

#[test]
fn the_lines_of_ncclx_s_tuner_are_evidence() {
    let conf = "allreduce,[0,1048576],ring,ll,,*,*\n";
    let rules = (read(conf.as_bytes(), Reader::Ncclx), Reader::Ncclx);
    assert_eq!(rules.0.len(), 1);
    let loaded = [
        "NCCLX TUNER: using built-in tuner (NCCLX_TUNER_CONFIG_FILE set)",
        "NCCLX TUNER: loaded 1 tuning rule(s) from '/etc/ncclx.csv'",
        "NCCLX TUNER: initialized for 2 node(s), 16 rank(s), 1 rule(s)",
    ];
    let matched = "NCCLX TUNER: matched rule for collType=4 nBytes=4096 (bytesPerRank=[0,1048576] nNodes=* nLocalRanks=*) \
                   -> algo=1 proto=0 channels=-1";
    // 4,096 bytes are answered, 64 MiB are 4 MiB per rank: no rule.
    let log = loaded.map(|line| said(7, line)).concat()
        + &called(7, "AllReduce", 2048, 16)
        + &said(7, matched)
        + &decided(7, "AllReduce", 4096, RING_LL)
        + &called(7, "AllReduce", 32 << 20, 16)
        + &decided(7, "AllReduce", 64 << 20, RING_LL);
    let reach = reach_of(&[("job.log", log)], &ReachQuestion { rules: Some(rules), ..ReachQuestion::default() });
    assert_eq!(path_of(&reach), [(Path::Tuner, 1), (Path::Library, 1)]);
    // The nodes are those that the tuner names.
    assert_eq!(reach.communicators[0].nodes, Some(2));
    assert_eq!(reach.lines.iter().map(|line| line.rule).collect::<Vec<_>>(), [None, Some(1)]);
    assert_eq!(reach.counts.tuner_answers, 1);
}

#[test]
fn calls_without_a_line_of_their_own_are_counted_once() {
    let selected = |name: &str, what: &str| said(5, &format!("{name} impl selected: algo {what}"));
    let reach = of_log(&[
        selected("AllReduce", "DDA-IPC"),
        selected("AllReduce", "DDA"),
        said(5, "AllReduce: taking DDA fabric LL path: nRanks=8 nNodes=1 count=1024 datatype=9 bytes=2048"),
        selected("AllGather", "Direct"),
        said(
            5,
            "RCCL DIRECT ALLGATHER count = 512, msgSize = 8192, comm = 0x5600, stream = 0x5700, rank = 0, sendbuff = \
             0x7f00, recvbuff = 0x7f10",
        ),
        (0..8).map(|_| called(5, "Send", 512, 8) + &called(5, "Recv", 512, 8)).collect(),
        called(5, "Send", 512, 8),
        selected("AllReduce", "SYM"),
        called(5, "AllReduce", 512, 8),
        said(5, "AllReduce [Symmetric]: 1024 Bytes -> Kernel AllReduce_AGxLL_R nchannels 8 nthreads 512"),
    ]);
    assert_eq!(path_of(&reach), [(Path::Symmetric, 1), (Path::Dda, 2), (Path::Direct, 1), (Path::P2p, 1)]);
    assert_eq!((reach.total.unsized_calls, reach.total.reached_calls), (1, 0));
    assert!(reach.headline.starts_with("A tuner file can move 0 of 5 calls (0.0 % of the bytes that are known"));
}

#[test]
fn groups_are_flagged_and_sums_found() {
    let calls =
        [called(3, "AllReduce", 1024, 8), called(3, "AllReduce", 512, 8), called(3, "AllGather", 512, 8)].concat();
    // Sorted, not in the order of the calls.
    let decisions = [
        decided(3, "AllReduce", 1024, RING_LL),
        decided(3, "AllReduce", 2048, RING_LL),
        decided(3, "AllGather", 1024, RING_LL),
    ];
    let reach = of_log(&[calls.clone(), decisions.concat(), called(3, "AllReduce", 512, 8), decisions[0].clone()]);
    let line = |collective, size| {
        let line = reach.lines.iter().find(|line| line.collective == collective && line.size_bytes == Some(size));
        line.map(|line| (line.calls, line.grouped_calls))
    };
    assert_eq!(line(Collective::AllReduce, 1024), Some((2, 1)));
    assert_eq!(line(Collective::AllReduce, 2048), Some((1, 1)));
    assert_eq!(line(Collective::AllGather, 8192), Some((1, 0)));
    assert!(reach.notes.iter().any(|note| note.starts_with("2 calls in groups")), "{:?}", reach.notes);

    // Older versions print the sum, of all ranks and without a name up to 2.22.
    let old = |bytes: u64, name: &str| said(3, &format!("{name}{bytes} Bytes -> Algo 1 proto 0 time 31.500000"));
    let summed = of_log(&[calls, old(3072, "AllReduce: "), old(8192, "")]);
    assert_eq!(path_of(&summed), [(Path::TunerOrLibrary, 3)]);
    assert_eq!(summed.counts.decisions_without_call, 0);
    assert_eq!(summed.lines.iter().map(|line| line.grouped_calls).sum::<u64>(), 2);
}

#[test]
fn decisions_alone_are_calls_and_those_beside_other_calls_are_not() {
    let alone = of_log(&[decided(4, "AllReduce", 1024, RING_LL), decided(4, "AllReduce", 1024, RING_LL)]);
    assert_eq!((alone.total.calls, alone.counts.decisions_as_calls), (2, 2));
    let beside = of_log(&[decided(4, "AllReduce", 1024, RING_LL), called(4, "AllReduce", 1024, 8)]);
    assert_eq!(path_of(&beside), [(Path::Unknown, 1)]);
    assert_eq!(beside.counts.decisions_without_call, 1);
    // A form that the version does not print is of another one.
    let mixed = of_log(&[said(4, "NCCL version 2.21.5+cuda12.4"), decided(4, "AllReduce", 1024, RING_LL)]);
    assert!(mixed.notes.iter().any(|note| note.contains("NCCL 2.21.5 does not print")), "{:?}", mixed.notes);
    assert_eq!((mixed.library, mixed.version), (Some(Library::Nccl), Some(Version::release(2, 21, 5))));
}

#[test]
fn dda_that_logs_nothing_is_said_to_be_missing() {
    let log = |version: &str, more: &str| {
        of_log(&[said(6, &format!("RCCL version : {version}")), more.to_owned(), called(6, "AllReduce", 512, 8)])
    };
    let is_said = |reach: &Reach| reach.switch_on.iter().any(|what| what.contains("RCCL_DDA_ENABLE=0"));
    assert!(is_said(&log("2.30.4-Unknown", "")) && is_said(&log("2.30.7", "")));
    for (version, more) in [
        ("2.28.3", ""),
        ("2.31.2", ""),
        ("2.30.4", "no P2P between GPU 0 and GPU 1, skipping DDA IPC"),
        ("2.30.4", "RCCL_DDA_ENABLE set by environment to 0."),
    ] {
        let more = if more.is_empty() { String::new() } else { said(6, more) };
        assert!(!is_said(&log(version, &more)), "{version} {more}");
    }
}

#[test]
fn bad_rows_of_a_list_are_left_out_and_named() {
    let text = "collective,nodes,ranks,bytes,calls\nall_reduce,1,8,16M,3\nteleport,1,8,16,3\nall_reduce,8,1,16,3\n\
                all_reduce,1,8,much,3\nall_reduce,1,8\nall_reduce,1,8,16,often\n";
    let reach = reach_of(&[("calls.csv", text.to_owned())], &mi355x(&[]));
    assert_eq!((reach.total.calls, reach.total.bytes), (3, 3 * (16 << 20)));
    let problems = &reach.problems[&0];
    let places: Vec<(u64, &str)> =
        problems.kept.iter().map(|problem| (problem.line, problem.column.as_str())).collect();
    assert_eq!(places, [(3, "collective"), (4, "num_gpus"), (5, "size_bytes"), (6, ""), (7, "calls")]);
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn every_line_of_the_example_is_counted_with_shared_data() {
    let text = String::from_utf8(real::file("reach/decision_lines.log")).expect("it is text");
    let reach = reach_of(&[("decision_lines.log", text)], &ReachQuestion::default());
    // Five decisions, two symmetric kernels, copy engines and the hierarchical form; the first names no collective.
    assert_eq!((reach.counts.decision_lines, reach.counts.not_understood), (9, 1));
    let calls = |path: Path| reach.total.paths.iter().find(|of| of.path == path).map_or(0, |of| of.calls);
    assert_eq!([Path::Symmetric, Path::Ce, Path::Dda, Path::Direct].map(calls), [2, 2, 1, 1]);
    assert_eq!((calls(Path::TunerOrLibrary), reach.counts.factor_unknown), (4, 2));
    assert_eq!((reach.counts.tuner_answers, reach.counts.left_to_library), (3, 1));
    assert_eq!((reach.counts.no_algorithm, reach.counts.dda_disqualified), (1, 1));
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn a_real_log_of_torn_lines_with_shared_data() {
    let text = String::from_utf8_lossy(&real::file("tuning/logs/scale_2x8gpu_all_reduce_nccl_debug.log")).into_owned();
    let of_rank_0 = text.lines().filter(|line| line.contains(": opCount ") && line.ends_with("globalrank 0")).count();
    let decisions = text.matches(" Bytes -> Algo ").count() as u64;
    let reach = reach_of(&[("debug.log", text)], &ReachQuestion::default());
    assert_eq!((reach.library, reach.version), (Some(Library::Rccl), Some(Version::release(2, 26, 6))));
    // Its lines begin at the 1,075th call; another rank has all.
    let of_rank_1 = reach.total.calls;
    assert_eq!(
        (of_rank_0 as u64 + reach.counts.missing_calls, reach.total.reached_calls < of_rank_1 / 4),
        (of_rank_1, true)
    );
    assert_eq!(of_rank_1, 1418);
    assert!(reach.counts.other_ranks_calls >= of_rank_1 && reach.counts.decision_lines <= decisions);
    // Its tuner is the library's own. The last call's decision may be cut off.
    let calls = |path: Path| reach.total.paths.iter().find(|of| of.path == path).map_or(0, |of| of.calls);
    assert!(calls(Path::Library) * 20 >= of_rank_0 as u64 * 19, "{:?}", reach.total);
    assert!(reach.lines.iter().all(|line| line.collective == Collective::AllReduce));
    // The nodes stand in the line of another rank alone.
    assert_eq!((reach.communicators[0].ranks, reach.communicators[0].nodes), (Some(16), Some(2)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Lines in any order, torn anywhere, of any processes: sums add up, and no call is counted twice.
    #[test]
    fn totals_add_up_whatever_a_log_holds(
        lines in proptest::collection::vec((0_usize..9, 1_u32..4, 0_u64..4, 0_usize..400), 0..60),
    ) {
        let mut text = String::new();
        let mut calls = 0;
        for (kind, pid, size, cut) in lines {
            let count = 256 << size;
            let line = match kind {
                0 | 1 => called(pid, "AllReduce", count, 8),
                2 => called(pid, "AllGather", count, 8),
                3 => decided(pid, "AllReduce", 2 * count, RING_LL),
                4 => decided(pid, "AllGather", 2 * count, RING_LL),
                5 => began(pid, pid - 1, 8, 1),
                6 => said(pid, &format!("AllReduce [Symmetric]: {count} Bytes -> Kernel K nchannels 8 nthreads 512")),
                7 => said(pid, "AllReduce impl selected: algo DDA"),
                _ => said(pid, &format!("AllGather: {count} Bytes -> Algo 1 proto 0 time 31.500000")),
            };
            calls += 1;
            let end = if cut < line.len() && cut % 5 == 0 { cut } else { line.len() };
            text += &line[..end];
        }
        let mut reader = ReachReader::default();
        reader.text("any.log", &text);
        let reach = reader.reach(&ReachQuestion::default());
        adds_up(&reach);
        prop_assert!(reach.total.calls <= calls);
    }

    #[test]
    fn no_text_is_too_strange(text in "\\PC{0,300}", list in any::<bool>()) {
        let header = if list { "collective,nodes,ranks,bytes\n" } else { "a:1:1 [0] NCCL INFO " };
        let mut reader = ReachReader::default();
        reader.text("any", &format!("{header}{text}"));
        adds_up(&reader.reach(&mi355x(&[])));
    }
}

#[test]
fn calls_that_rank_0_lacks_are_counted_and_not_known() {
    let of_rank =
        |pid: u32, calls: usize| began(pid, pid - 100, 8, 1) + &called(pid, "AllReduce", 1024, 8).repeat(calls);
    let decided = decided(100, "AllReduce", 2048, RING_LL);
    let reach = of_log(&[of_rank(101, 5), of_rank(102, 3), of_rank(100, 2), decided.repeat(2)]);
    adds_up(&reach);
    assert_eq!((reach.total.calls, reach.counts.missing_calls), (5, 3));
    assert_eq!(reach.total.reached_calls, 2);
    assert!(reach.notes.iter().any(|note| note.starts_with("3 calls that another rank logged")), "{:?}", reach.notes);
    // Two communicators of as many ranks: nothing says to which a rank belongs.
    let second = of_rank(101, 5) + &began(110, 0, 8, 1) + &called(110, "AllReduce", 1024, 8);
    assert_eq!(of_log(&[second, of_rank(100, 2)]).counts.missing_calls, 0);
}

#[test]
fn rules_that_hold_by_registration_or_aggregation_are_named() {
    let conf = "allreduce,0,1048576,ring,ll,4,-1,-1,-1,1\nallreduce,0,1048576,tree,ll,8,-1,-1\n";
    let rules = read(conf.as_bytes(), Reader::Example);
    let question = ReachQuestion { rules: Some((rules, Reader::Example)), ..ReachQuestion::default() };
    let reach = reach_of(&[("job.log", began(100, 0, 8, 1) + &called(100, "AllReduce", 1024, 8))], &question);
    assert_eq!(reach.lines[0].rule, Some(2));
    let note = reach.notes.iter().find(|note| note.contains("numPipeOps or regBuff")).unwrap();
    assert!(note.starts_with("Lines 1 of the tuner file") && note.contains("regBuff 0"), "{note}");
    let found = lint(conf.as_bytes(), Reader::Example, &Default::default(), None);
    let told: Vec<u32> =
        found.iter().filter(|of| of.message.contains("buffers with regBuff 1 only")).map(|of| of.line).collect();
    assert_eq!(told, [1]);
}
