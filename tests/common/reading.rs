//! What becomes of the files that people drop: every form of a sweep, and everything that is none.

use std::path::PathBuf;

use crate::support::{archives::gzipped, real};
use collectune::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    intake::{self, ColumnSource, FileContent, FileReport, Mapping, MappingRequest, Outcome},
    progress::{Progress, Silent},
    text::{Cell, Problems, Table},
    tuning::{
        aggregate::Target,
        read::{Asked, Evidence, Row, RunKind},
        runs::aggregate,
        simulate::Simulation,
    },
};
use proptest::prelude::*;

const OLD: &str = "collective,num_nodes,num_gpus,size_bytes,count,data_type,redop,time_oop_us,algbw_oop,busbw_oop,\
                   errors_oop,time_ip_us,algbw_ip,busbw_ip,errors_ip,algo,proto,nchannels";
const REQUESTED: &str =
    ",requested_algo,requested_proto,requested_nchannels,substituted,measured_algo_raw,nchannels_source";
const MEDIANS: &str = ",n_repeats,spread_pct";
const OLD_ROW: &str = "all_reduce_perf,1,8,8192,2048,float,sum,40.91,0.2,0.35,0,40.14,0.2,0.36,0,RING,SIMPLE,1";

fn open(bytes: &[u8]) -> (FileReport, FileContent) {
    intake::open(bytes, "sweep.csv", bytes.len() as u64, 3, None, &mut Silent)
}

#[track_caller]
fn outcome_of(bytes: &[u8]) -> (Vec<Row>, Problems, Vec<String>, String) {
    match open(bytes) {
        (
            FileReport { outcome: Outcome::Loaded { rows, default_rows, problems, notes, format }, .. },
            FileContent::Rows(mut read),
        ) => {
            // Rows with wrong values are handed on, since they tell of their configuration, and are no measurements.
            read.retain(|row| !row.marks.has_wrong_values);
            assert_eq!(rows, read.len() as u64);
            assert_eq!(default_rows, read.iter().filter(|r| r.kind == RunKind::Default).count() as u64);
            (read, problems, notes, format)
        }
        (report, _) => panic!("{report:?}"),
    }
}

#[track_caller]
fn loaded(bytes: &[u8]) -> (Vec<Row>, Problems) {
    let (rows, problems, _, _) = outcome_of(bytes);
    (rows, problems)
}

/// The one row of a file of a header and a line.
#[track_caller]
fn row(header: &str, line: &str) -> Row {
    let (rows, problems) = loaded(format!("{header}\n{line}\n").as_bytes());
    assert_eq!(problems.count, 0, "{:?}", problems.kept);
    rows[0]
}

/// The one problem of a file of a header and a line.
#[track_caller]
fn problem(header: &str, line: &str) -> String {
    let (rows, problems) = loaded(format!("{header}\n{line}\n").as_bytes());
    assert_eq!((rows.len(), problems.count), (0, 1));
    problems.kept[0].to_string()
}

#[track_caller]
fn refused(bytes: &[u8]) -> String {
    match open(bytes) {
        (FileReport { outcome: Outcome::Refused(why), .. }, FileContent::Nothing) => why,
        (report, _) => panic!("{report:?}"),
    }
}

#[track_caller]
fn asks_for_mapping(bytes: &[u8]) -> MappingRequest {
    match open(bytes) {
        (FileReport { outcome: Outcome::NeedsMapping(request), .. }, FileContent::Nothing) => request,
        (report, _) => panic!("{report:?}"),
    }
}

fn example() -> String {
    Simulation { sizes: vec![4096, 1 << 20], channels: vec![1, 8], ..Simulation::example() }.to_csv()
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn real_sweeps_load_whole() {
    for (name, defaults) in [
        ("all_gather_2n.csv", 0),
        ("all_reduce_1n.csv", 54),
        ("all_reduce_2n_median.csv", 18),
        ("all_reduce_3n_median.csv", 18),
        ("broadcast_1n.csv", 0),
        ("broadcast_2n.csv", 0),
        ("optimized/all_gather_2n_optimized.csv", 0),
        ("optimized/all_reduce_2n_optimized.csv", 2),
        ("curves/all_gather_broadcast_default_curves.csv", 90),
        ("curves/broadcast_reduce_default_curves.csv", 72),
    ] {
        let bytes = real::file(&format!("tuning/{name}"));
        let data_lines = bytes.iter().filter(|b| **b == b'\n').count() - 1;
        let (rows, problems) = loaded(&bytes);
        assert_eq!((rows.len(), problems.count), (data_lines, 0), "{name}: {:?}", problems.kept.first());
        assert_eq!(rows.iter().filter(|r| r.kind == RunKind::Default).count(), defaults, "{name}");
    }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn real_medians_are_those_of_the_printed_values() {
    let bytes = real::file("tuning/all_reduce_1n.csv");
    let (rows, _) = loaded(&bytes);
    let sweep = aggregate(&rows, Target::Printed);
    assert_eq!((sweep.points.len(), sweep.defaults.len()), (540, 18));
    for point in sweep.points.iter().chain(&sweep.defaults) {
        let same = |r: &&Row| {
            r.workload == point.workload
                && (sweep.defaults.contains(point) || (r.ran == point.configuration && r.kind == RunKind::Asked))
                && (r.kind == RunKind::Default) == sweep.defaults.contains(point)
        };
        let mut printed: Vec<f64> = rows.iter().filter(same).filter_map(|r| r.in_place).map(|s| s.busbw_gbps).collect();
        printed.sort_by(f64::total_cmp);
        assert_eq!(point.repeats as usize, printed.len());
        if printed.len() % 2 == 1 {
            assert_eq!(point.busbw_gbps.to_bits(), printed[printed.len() / 2].to_bits());
        }
    }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn winners_and_default_curves_are_noticed() {
    let bytes = real::file("tuning/optimized/all_reduce_2n_optimized.csv");
    let notes = aggregate(&loaded(&bytes).0, Target::Time).notes();
    assert!(notes.iter().any(|n| n.contains("only one configuration per size") && n.contains("merged")), "{notes:?}");
    let bytes = real::file("tuning/curves/broadcast_reduce_default_curves.csv");
    let notes = aggregate(&loaded(&bytes).0, Target::Time).notes();
    assert!(notes.iter().all(|n| n.contains("only runs of the default")), "{notes:?}");
}

/// What a file of the trade that is no sweep is called and holds.
#[track_caller]
fn known(bytes: &[u8]) -> (String, String, FileContent) {
    match open(bytes) {
        (FileReport { outcome: Outcome::Known { format, holds, .. }, .. }, content) => (format, holds, content),
        (report, _) => panic!("{report:?}"),
    }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn other_real_files_are_known() {
    for (name, format, holds) in [
        ("curves/broadcast_reduce_hotspots_10.csv", "report of hotspots", "1 hotspot"),
        ("ab/allreduce_1n.per_size_stats.csv", "comparison with the default", "18 sizes"),
        ("ab/allreduce_1n_times.csv", "list of launches", "14 launches"),
        ("ab/allreduce_1n_candidate.conf", "tuner file", "12 rules"),
        ("ab/all_gather_5n.validated.csv", "tuner file", "4 rules"),
        ("ab/allreduce_1n_candidate.validated.csv", "tuner file", "8 rules"),
        ("conf/gfx950_base_tuner.conf", "tuner file", "1755 rules"),
        ("conf/nccl_tuner_channels_only.conf", "tuner file", "170 rules"),
        ("conf/all_reduce_2n_adaptive.conf", "tuner file", "11 rules"),
        ("conf/one_rule_no_newline.conf", "tuner file", "1 rule"),
    ] {
        let bytes = real::file(&format!("tuning/{name}"));
        let (found_format, found_holds, content) = known(&bytes);
        assert_eq!((found_format.as_str(), found_holds.as_str()), (format, holds), "{name}");
        match content {
            FileContent::Conf(conf) => assert_eq!(conf, bytes, "a conf is handed on byte for byte"),
            FileContent::Comparison(text) => assert_eq!(text.as_bytes(), bytes),
            FileContent::Listing(listing) => assert!(!listing.rows.is_empty() && listing.columns.len() > 5),
            content => panic!("{name}: {content:?}"),
        }
    }
}

#[test]
fn a_conf_without_a_rule_is_one() {
    for text in [
        "# dropped: allgather,134217600,134217600,ring,ll128,48,5,40,-1,-1   (best gain only -0.2%)\n",
        "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff\n",
        "# collective_type,min_bytes,max_bytes,algorithm\n\n",
    ] {
        let (format, holds, content) = known(text.as_bytes());
        assert_eq!((format.as_str(), holds.as_str()), ("tuner file", "0 rules"), "{text}");
        assert_eq!(content, FileContent::Conf(text.as_bytes().to_vec()));
    }
    let odd = "nonsense,0,1\r\nallreduce,0,18446744073709551615,tree,ll,4,1,8\r\n";
    assert_eq!(known(odd.as_bytes()).1, "1 rule");
}

#[test]
fn measurements_for_the_tuner_example() {
    let header = "collective,size_bytes,algorithm,protocol,channels,nodes,ranks,pipeOps,regBuff,cost_metric,bandwidth_gbps,latency_us";
    let lines = [
        "allreduce,1048576,ring,simple,8,2,16,-1,-1,0.5,15.0,131.072",
        "allreduce,1048576,-1,-1,-1,2,16,-1,-1,-1,14.0,-1",
        "allreduce,1048576,tree,ll,4,2,16,-1,-1,0.85,-1,-1",
        "allreduce,1048576,tree,ll,-1,2,16,-1,-1,0.85,15.0,-1",
        "allreduce,1024,tree,simple,2,2,16,-1,-1,0.85,125.5,12.3",
    ];
    let (rows, problems, _, format) = outcome_of(format!("{header}\n{}\n", lines.join("\n")).as_bytes());
    assert_eq!(format, "measurements for NCCL's tuner example");
    assert_eq!(
        rows.iter().map(|r| (r.ran.to_string(), r.kind)).collect::<Vec<_>>(),
        [("RING/SIMPLE/8".to_owned(), RunKind::Asked), ("N/A/N/A/0".to_owned(), RunKind::Default),]
    );
    let told: Vec<String> = problems.kept.iter().map(ToString::to_string).collect();
    assert!(told[0].starts_with("line 4, column bandwidth_gbps: \"-1\" is no measurement"), "{told:?}");
    assert!(told[1].starts_with("line 5, column channels: \"-1\" is not a number of channels"), "{told:?}");
    assert!(told[2].contains("contradicts size / time"), "{told:?}");
}

#[test]
fn other_tables_are_listed() {
    for (header, row, format) in [
        (
            "timestamp,collective,num_nodes,num_gpus,num_channels,algo,proto,avg_busbw,max_busbw,status,duration_sec,rccl_version",
            "2026,all_reduce,2,16,8,RING,LL,1.5,3.0,ok,11,2.28",
            "rccl-sweep's summary of runs",
        ),
        (
            "collective,num_nodes,size_bytes,algo,proto,nchannels,winner_busbw,default_busbw,predicted_gain_pct",
            "all_reduce,2,4096,TREE,LL,2,0.3,0.2,50",
            "list of predicted gains",
        ),
    ] {
        let (found, _, content) = known(format!("{header}\n{row}\nshort\n").as_bytes());
        assert_eq!(found, format);
        let FileContent::Listing(listing) = content else { panic!("{content:?}") };
        assert_eq!(listing.rows.len(), 1);
        assert!(listing.columns.iter().any(|c| c.is_numeric) && listing.columns.iter().any(|c| !c.is_numeric));
    }
    let winners =
        "collective,num_nodes,num_gpus,size_bytes,algo,proto,nchannels,busbw_ip\nall_reduce,2,16,4096,TREE,LL,2,0.3\n";
    assert_eq!(loaded(winners.as_bytes()).0.len(), 1);
}

#[test]
fn what_was_asked_and_how_it_is_known() {
    let header = format!("{OLD}{REQUESTED}");
    let asked = row(&header, &format!("{OLD_ROW},TREE,LL128,16,1,RING,A_flag_ceiling"));
    assert_eq!(asked.asked.algorithm, Some(Algorithm::Tree));
    assert_eq!(
        (asked.asked.protocol, asked.asked.channels.map(std::num::NonZero::get)),
        (Some(Protocol::Ll128), Some(16))
    );
    assert_eq!(asked.evidence, Evidence::Planned);
    assert_eq!(row(&header, &format!("{OLD_ROW},,,,0,RING,A_flag_ceiling")).asked, Asked::default());
    let mixed = format!("{OLD}\n{OLD_ROW}\n{}\n", OLD_ROW.replace("float", "half"));
    let (_, _, notes, _) = outcome_of(mixed.as_bytes());
    assert_eq!(notes, Vec::<String>::new(), "data types of one file are kept apart, and that is told of all files");
}

#[test]
fn the_older_form() {
    let row = row(OLD, OLD_ROW);
    assert_eq!((row.file, row.line, row.kind), (3, 2, RunKind::Asked));
    assert_eq!(
        row.workload,
        Workload { collective: Collective::AllReduce, scale: Scale { nodes: 1, ranks: 8 }, size_bytes: 8192 }
    );
    assert_eq!(row.ran, Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Simple, channels: 1 });
    assert_eq!(row.in_place.map(|s| (s.time_us, s.busbw_gbps)), Some((Some(40.14), 0.36)));
    assert_eq!(row.out_of_place.map(|s| (s.time_us, s.busbw_gbps)), Some((Some(40.91), 0.35)));
    assert_eq!((row.repeats, row.spread_pct), (1, None));
    assert!(size_of::<Row>() <= 120, "a million rows must stay small: {}", size_of::<Row>());
}

#[test]
fn what_was_requested() {
    let header = format!("{OLD}{REQUESTED}");
    let asked = row(&header, &format!("{OLD_ROW},RING,SIMPLE,1.0,0,RING,A_flag_ceiling"));
    assert_eq!((asked.kind, asked.marks.substituted), (RunKind::Asked, false));
    let default = row(&header, &format!("{OLD_ROW},,,,0,RING,A_flag_ceiling"));
    assert_eq!(default.kind, RunKind::Default);
    let substituted = row(&header, &format!("{OLD_ROW},TREE,SIMPLE,1,1,RING,A_flag_ceiling"));
    assert_eq!((substituted.kind, substituted.marks.substituted), (RunKind::Asked, true));
    assert_eq!(substituted.ran.algorithm, Algorithm::Ring);
    let warp = row(&header, &format!("{},RING,SIMPLE,1,0,RING*,A_flag_ceiling", OLD_ROW.replace("RING", "RING*")));
    assert_eq!((warp.ran.algorithm, warp.marks.warp_speed), (Algorithm::Ring, true));
    // Only the requested columns, and nothing in them.
    let bare = row(&format!("{OLD},requested_algo"), &format!("{OLD_ROW},"));
    assert_eq!(bare.kind, RunKind::Default);
}

#[test]
fn rows_of_an_older_file_in_a_merge_are_no_defaults() {
    let text = format!("{OLD}{REQUESTED}\n{OLD_ROW},,,,,,\n{OLD_ROW},,,,0,RING,A_flag_ceiling\n");
    let (rows, _, notes, _) = outcome_of(text.as_bytes());
    assert_eq!(rows.iter().map(|r| r.kind).collect::<Vec<_>>(), [RunKind::Asked, RunKind::Default]);
    assert!(notes.iter().any(|n| n.contains("1 row without a word on what was asked")), "{notes:?}");
}

#[test]
fn medians_with_spread() {
    let header = format!("{OLD}{REQUESTED}{MEDIANS}");
    let median = row(&header, &format!("{OLD_ROW},RING,SIMPLE,1.0,0,RING,A_flag_ceiling,3.0,15.3846"));
    assert_eq!((median.repeats, median.spread_pct), (3, Some(15.3846)));
    let point = &aggregate(&[median], Target::Time).points[0];
    assert_eq!((point.repeats, point.spread_pct), (3, Some(15.3846)));
    // The median of an even number of runs: times 10 and 30, bandwidths 0.82 and 0.27.
    let even = "broadcast_perf,2,16,8192,2048,float,none,20,0.55,0.55,0,20,0.55,0.55,0,RING,LL,1";
    let even = row(&format!("{OLD}{MEDIANS}"), &format!("{even},2,100.0"));
    assert_eq!(even.in_place.map(|s| Target::Time.busbw_gbps(&even.workload, &s)), Some(0.55));
    assert!(problem(OLD, &even_row_of_one_run()).contains("contradicts size / time, which is 0.4096 GB/s"));
}

fn even_row_of_one_run() -> String {
    "broadcast_perf,2,16,8192,2048,float,none,20,0.55,0.55,0,20,0.55,0.55,0,RING,LL,1".to_owned()
}

#[test]
fn run_ids_and_other_columns() {
    let row = row(&format!("run_id,{OLD},host,note"), &format!("run7,{OLD_ROW},node1,\"a, \"\"b\"\"\""));
    assert_eq!(row.ran.channels, 1);
}

#[test]
fn numbers_in_every_spelling() {
    let row =
        row(OLD, "AllReduce,1.0,8.0,8192.0,2048,float,sum,+40.91,+0.2,0.35,0.0,4.014e+01,.2,0.36,0,ring,simple,1.0");
    assert_eq!((row.workload.scale.ranks, row.ran.channels), (8, 1));
    let slow = "broadcast_perf,2,16,536870912,1,float,none,110322.0,4.87,4.87,-1,N/A,N/A,N/A,N/A,RING,SIMPLE,2.0";
    let slow = self::row(OLD, slow);
    assert!(slow.in_place.is_none() && slow.out_of_place.is_some());
}

#[test]
fn collectives_by_every_alias() {
    for (name, collective) in [
        ("all_reduce_perf", Collective::AllReduce),
        ("allreduce", Collective::AllReduce),
        ("AllReduce", Collective::AllReduce),
        ("ncclAllReduce", Collective::AllReduce),
        ("reduce_scatter_perf", Collective::ReduceScatter),
        ("all_to_all", Collective::AllToAll),
        ("sendrecv", Collective::SendRecv),
        ("hypercube", Collective::Hypercube),
    ] {
        let header = "collective,num_nodes,num_gpus,size_bytes,busbw_ip,algo,proto,nchannels";
        assert_eq!(row(header, &format!("{name},2,16,4096,1.0,RING,LL,2")).workload.collective, collective);
    }
}

#[test]
fn runs_without_algorithm_protocol_and_channels() {
    let line = "alltoall_perf,2,16,1048576,1,float,none,100,10.49,9.83,N/A,100,10.49,9.83,N/A,N/A,N/A,N/A";
    let row = row(OLD, line);
    assert_eq!(row.ran, Configuration { algorithm: Algorithm::None, protocol: Protocol::None, channels: 0 });
    assert!(problem(OLD, &OLD_ROW.replace("SIMPLE,1", "SIMPLE,N/A")).contains("is not a whole number"));
    assert!(problem(OLD, &OLD_ROW.replace("SIMPLE,1", "SIMPLE,0")).contains("is not a number of channels"));
}

#[test]
fn default_curves() {
    let header = "collective,num_nodes,num_gpus,size_bytes,busbw_ip,algo,proto,nchannels";
    let row = row(header, "all_gather_perf,1,8,4096,0.31,DEFAULT,DEFAULT,0");
    assert_eq!((row.kind, row.ran.channels), (RunKind::Default, 0));
    assert_eq!(row.in_place.map(|s| (s.time_us, s.busbw_gbps)), Some((None, 0.31)));
}

#[test]
fn errors_leave_a_row_out() {
    let wrong = problem(OLD, &OLD_ROW.replace("0.36,0,RING", "0.36,17,RING"));
    assert_eq!(wrong, "line 2, column errors_ip: \"17\" wrong values came out of this run; the row was left out");
    assert!(problem(OLD, &OLD_ROW.replace("0.35,0,", "0.35,2.0,")).contains("column errors_oop"));
    row(OLD, &OLD_ROW.replace("0.36,0,RING", "0.36,-1,RING"));
    row(OLD, &OLD_ROW.replace("0.36,0,RING", "0.36,N/A,RING"));
}

#[test]
fn wrapped_channels() {
    for (printed, read) in [("-88", 168), ("-32.0", 224), ("-1", 255), ("-128", 128)] {
        let row = row(OLD, &OLD_ROW.replace("SIMPLE,1", &format!("SIMPLE,{printed}")));
        assert_eq!((row.ran.channels, row.marks.wrapped_channels), (read, true));
    }
    let text = format!("{OLD}\n{}\n", OLD_ROW.replace("SIMPLE,1", "SIMPLE,-88"));
    assert!(outcome_of(text.as_bytes()).2.iter().any(|n| n.contains("256 + n")));
    assert!(problem(OLD, &OLD_ROW.replace("SIMPLE,1", "SIMPLE,-129")).contains("is not a number of channels"));
}

#[test]
fn rows_under_wrong_names_are_refused() {
    // The time stands where the bandwidth should.
    let shifted = OLD_ROW.replace("40.14,0.2,0.36", "0.2,0.36,40.14");
    let shifted = problem(OLD, &shifted);
    assert_eq!(
        shifted,
        "line 2, column algbw_ip: \"0.36\" contradicts size / time, which is 40.96 GB/s; the row was left out"
    );
    let busbw = problem(OLD, &OLD_ROW.replace("0.36,0,RING", "0.96,0,RING"));
    assert!(busbw.contains("column busbw_ip: \"0.96\" contradicts size / time, which is 0.2041 GB/s"), "{busbw}");
    // Two decimals are no contradiction: 4096 B in 231.65 us are 0.0177 GB/s.
    let tiny = "all_gather_perf,2,16,4096,64,float,none,234.9,0.02,0.02,0,231.65,0.02,0.02,0,Direct,SIMPLE,1";
    let tiny = row(OLD, tiny);
    let time = tiny.in_place.map(|s| Target::Time.busbw_gbps(&tiny.workload, &s)).unwrap_or_default();
    assert!((time - 0.016_577).abs() < 1e-5, "{time}");
    // Nothing but zeros is printed at 8 bytes: the time still tells.
    let zero = "all_reduce_perf,2,16,8,2,float,sum,30.1,0.0,0.0,0,30.0,0.00,0.00,0,TREE,LL,1";
    let zero = row(OLD, zero);
    for target in [Target::Time, Target::Printed] {
        assert!(zero.in_place.map(|s| target.busbw_gbps(&zero.workload, &s)).unwrap_or_default() > 0.0);
    }
}

#[test]
fn a_bad_cell_is_located() {
    for (from, to, expected) in [
        ("SIMPLE,1", "SIMPLE,auto", "line 2, column nchannels: \"auto\" is not a whole number; the row was left out"),
        ("RING", "SQUARE", "line 2, column algo: \"SQUARE\" is not an algorithm; the row was left out"),
        ("SIMPLE", "", "line 2, column proto: \"\" is not a protocol; the row was left out"),
        ("all_reduce_perf", "dance", "line 2, column collective: \"dance\" is not a collective; the row was left out"),
        (
            ",8192,",
            ",0,",
            "line 2, column size_bytes: \"0\" is not a size in bytes (1 to 9007199254740992); the row was left out",
        ),
        ("40.14", "-40.14", "line 2, column time_ip_us: \"-40.14\" is not a time above zero; the row was left out"),
        ("0.36", "inf", "line 2, column busbw_ip: \"inf\" is not a bandwidth; the row was left out"),
        (",8,8192", ",8.5,8192", "line 2, column num_gpus: \"8.5\" is not a whole number; the row was left out"),
    ] {
        assert_eq!(problem(OLD, &OLD_ROW.replacen(from, to, 1)), expected);
    }
    let short = problem(OLD, "all_reduce_perf,1,8");
    assert_eq!(
        short,
        "line 2, whole line: \"all_reduce_perf,1,8\" has 3 cells where the header has 18; the row was left out"
    );
    assert!(problem(OLD, &format!("{OLD_ROW},7")).contains("has 19 cells where the header has 18"));
    row(OLD, &format!("{OLD_ROW},,"));
}

#[test]
fn any_dialect() {
    let plain = loaded(example().as_bytes()).0;
    let same = |bytes: &[u8]| {
        let (rows, problems) = loaded(bytes);
        assert_eq!(problems.count, 0, "{:?}", problems.kept.first());
        assert_eq!(rows, plain);
    };
    let text = example();
    same(text.replace('\n', "\r\n").as_bytes());
    same(text.replace('\n', "\r").as_bytes());
    same(text.replace(',', "\t").as_bytes());
    same(text.replace(',', ";").as_bytes());
    same(text.replace(',', ";").replace('.', ",").as_bytes());
    same(text.lines().map(|l| format!("\"{}\"\n", l.replace(',', "\",\""))).collect::<String>().as_bytes());
    same([b"\xEF\xBB\xBF", text.as_bytes()].concat().as_slice());
    same(&[&b"\xFF\xFE"[..], &text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>()].concat());
    same(&[&b"\xFE\xFF"[..], &text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>()].concat());
    same(&gzipped(text.as_bytes()));
    let (first, second) = text.split_at(text.len() / 2);
    same(&[gzipped(first.as_bytes()), gzipped(second.as_bytes())].concat());
    same(text.trim_end().as_bytes());
}

#[test]
fn any_order_of_columns() {
    let text = example();
    let reversed: String = text.lines().map(|l| l.rsplit(',').collect::<Vec<_>>().join(" , ") + "\n").collect();
    assert_eq!(loaded(reversed.as_bytes()), loaded(text.as_bytes()));
    let upper = text.replacen("collective,num_nodes", " Collective ,NUM_NODES", 1);
    assert_eq!(loaded(upper.as_bytes()), loaded(text.as_bytes()));
}

#[test]
fn what_is_no_table() {
    for (bytes, words) in [
        (&b""[..], "is empty"),
        (b"\n \n", "is empty"),
        (b"PK\x03\x04whatever", "a zip archive that breaks off"),
        (b"PAR1\x15\x04", "Parquet"),
        (b"\x89PNG\r\n\x1a\n", "an image"),
        (b"just a few words", "is not a table"),
        (b"{\"version\": 3}", "is JSON"),
        (b"[{\"a\": 3}]", "is JSON"),
        (b"{\"version\": ", "begins like JSON"),
        (b"a,b,c\n", "has a header and no data lines"),
        (b"a,b\0,c\n1,2,3\n", "binary"),
        (b"c\0o\0l\0l\0e\0c\0t\0i\0v\0e\0,\0n\0", "UTF-16"),
        (b"<!DOCTYPE html>\n<html><body>a, b</body></html>", "web page"),
    ] {
        let why = refused(bytes);
        assert!(why.starts_with("sweep.csv ") && why.contains(words) && why.ends_with('.'), "{why}");
    }
    // By its name it is a tuner file, and that displaces the library's own table.
    for nothing in ["", "\n", "# none\n\n  # at all\n"] {
        let (report, _) = intake::open(nothing.as_bytes(), "tuned.conf", nothing.len() as u64, 1, None, &mut Silent);
        let Outcome::Known { format, holds, .. } = &report.outcome else { panic!("{nothing:?}: {:?}", report.outcome) };
        assert_eq!((format.as_str(), holds.as_str()), ("tuner file", "0 rules"));
    }
    assert!(refused(OLD.as_bytes()).contains("no data lines"));
    assert!(refused(format!("{OLD_ROW}\n{OLD_ROW}\n").as_bytes()).contains("has no header line"));
    assert!(refused(&gzipped(b"")).contains("is empty"));
    assert!(refused(&gzipped(&gzipped(b"a,b\n"))).contains("inside a gzip"));
}

#[test]
fn missing_columns_are_named() {
    let request = asks_for_mapping(
        example().replace("busbw_ip", "speed").replace("time_ip_us", "t").replace("_oop", "").as_bytes(),
    );
    assert!(
        request.problem.starts_with("the table lacks busbw_ip (or time_ip_us); it has run_id, collective,"),
        "{}",
        request.problem
    );
    let request = asks_for_mapping(example().replace("nchannels,", "blocks,").as_bytes());
    assert!(request.problem.contains("the table lacks nchannels; it has "), "{}", request.problem);
}

#[test]
fn a_mapping_makes_a_table_readable() {
    let text = "Operation;Nodes;GPUs;bytes;bw;what;how;channels\nallreduce;2;16;16M;210,5;RING;SIMPLE;32\n\
                allreduce;2;16;4K;0,2;TREE;LL;2\n";
    let request = asks_for_mapping(text.as_bytes());
    let guess = |name: &str| request.wanted.iter().find(|w| w.name == name).and_then(|w| w.guess);
    let names = ["collective", "num_nodes", "num_gpus", "size_bytes", "busbw_ip", "algo", "proto", "nchannels"];
    assert_eq!(names.map(guess), [0, 1, 2, 3, 4, 5, 6, 7].map(Some));
    assert_eq!(request.sample[0][3], "16M");
    let columns = names.iter().enumerate().map(|(i, n)| ((*n).to_owned(), ColumnSource::Column(i))).collect::<Vec<_>>();
    let read = |columns: Vec<(String, ColumnSource)>| {
        let mapping = Mapping { columns };
        intake::open(text.as_bytes(), "t.csv", text.len() as u64, 0, Some(&mapping), &mut Silent)
    };
    let (report, content) = read(columns.clone());
    let FileContent::Rows(rows) = content else { panic!("{report:?}") };
    assert_eq!(rows.iter().map(|r| r.workload.size_bytes).collect::<Vec<_>>(), [16 << 20, 4096]);
    assert_eq!(rows[0].in_place.map(|s| s.busbw_gbps), Some(210.5));

    let constant = |text: &str| {
        let mut columns = columns.clone();
        columns[1].1 = ColumnSource::Constant(text.to_owned());
        read(columns)
    };
    assert!(matches!(constant("4").1, FileContent::Rows(rows) if rows[0].workload.scale.nodes == 4));
    let Outcome::Refused(why) = constant("many").0.outcome else { panic!("a constant must fit") };
    assert_eq!(why, "t.csv can't be read with these columns: \"many\" can't stand for num_nodes (number of nodes).");
    let mut beyond = columns.clone();
    beyond[0].1 = ColumnSource::Column(99);
    assert!(matches!(read(beyond).0.outcome, Outcome::Refused(why) if why.contains("has 8 columns")));
    assert!(matches!(read(vec![]).0.outcome, Outcome::Refused(why) if why.contains("lacks collective")));
}

#[test]
fn a_cut_file_keeps_its_whole_rows() {
    let text = example();
    let cut = &text.as_bytes()[..text.len() - 60];
    let (rows, problems) = loaded(cut);
    assert_eq!((rows.len() + 2, problems.count), (text.lines().count(), 1));
    assert!(problems.kept[0].expected.starts_with("is cut: it has "), "{}", problems.kept[0]);

    let packed = gzipped(Simulation::example().to_csv().as_bytes());
    let (rows, problems, notes, _) = outcome_of(&packed[..packed.len() / 2]);
    assert!(rows.len() > 1000 && problems.count == 1, "{} {}", rows.len(), problems.count);
    assert!(problems.kept[0].expected.contains("breaks off"), "{}", problems.kept[0]);
    assert!(notes[0].starts_with("the gzip file breaks off"), "{notes:?}");
    // A wrong checksum at the end: everything was read, and it is said.
    let mut damaged = packed.clone();
    let at = damaged.len() - 8;
    damaged[at] ^= 1;
    let (rows, _, notes, _) = outcome_of(&damaged);
    assert_eq!(rows.len() as u64, Simulation::example().rows());
    assert!(notes[0].starts_with("the gzip file is damaged"), "{notes:?}");
}

#[test]
fn a_number_that_may_be_cut_is_said() {
    let text = format!("{OLD}\n{OLD_ROW}\n{OLD_ROW}");
    assert!(outcome_of(text.as_bytes()).2.iter().any(|n| n.contains("no line end")));
    assert!(outcome_of(format!("{text}\n").as_bytes()).2.is_empty());
}

#[test]
fn bombs_are_defused() {
    for bomb in [format!("{OLD}\n{}", "1,".repeat(32 << 20)), format!("{{{}", " ".repeat(64 << 20))] {
        let bomb = gzipped(bomb.as_bytes());
        let started = std::time::Instant::now();
        let why = refused(&bomb);
        assert!(why.contains("more than 200 times its size"), "{why}");
        assert!(started.elapsed().as_secs() < 2);
    }
    // A table of many equal rows is dense as well; below a MiB that is fine.
    let small = format!("{OLD}\n{}", format!("{OLD_ROW}\n").repeat(5000));
    assert_eq!(loaded(&gzipped(small.as_bytes())).0.len(), 5000);
}

#[test]
fn a_model_file_is_handed_on() {
    let text = r#"{"format": "collectune-model", "version": 1}"#;
    let (report, content) = open(text.as_bytes());
    assert!(matches!(report.outcome, Outcome::Loaded { rows: 0, .. }));
    assert_eq!(content, FileContent::Model(text.to_owned()));
    assert!(matches!(open(&gzipped(text.as_bytes())).1, FileContent::Model(_)));
}

#[test]
fn progress_is_by_bytes() {
    struct Steps(Vec<(u64, u64)>);
    impl Progress for Steps {
        fn report(&mut self, doing: &str, done: u64, total: u64) {
            assert_eq!(doing, "Reading sweep.csv");
            self.0.push((done, total));
        }
    }
    let text = Simulation::example().to_csv();
    let mut steps = Steps(Vec::new());
    intake::open(text.as_bytes(), "sweep.csv", text.len() as u64, 0, None, &mut steps);
    assert!(steps.0.len() > 3 && steps.0.is_sorted());
    assert_eq!((steps.0[0].0, steps.0.last()), (0, Some(&(text.len() as u64, text.len() as u64))));
}

#[test]
fn nothing_in_a_file_is_markup_or_endless_in_a_message() {
    let nasty = format!("{OLD}\n{}\n", OLD_ROW.replace("RING", &"<img src=x>\u{1b}[31m".repeat(100)));
    let (_, problems) = loaded(nasty.as_bytes());
    assert!(problems.kept[0].text.chars().count() <= 81);
    assert!(!problems.kept[0].text.contains('\u{1b}'));
}

/// The page's example is what the generator makes. `UPDATE_EXAMPLES=1 cargo test` writes it anew.
#[test]
fn the_example_is_current() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("public/examples/simulated_sweep.csv");
    let made = Simulation::example().to_csv();
    if std::env::var_os("UPDATE_EXAMPLES").is_some() {
        std::fs::write(&path, &made).expect("the example can be written");
    }
    let shipped = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        shipped == made,
        "{} is out of date: run UPDATE_EXAMPLES=1 cargo test --test common reading",
        path.display()
    );
    let (rows, problems) = loaded(shipped.as_bytes());
    assert_eq!((rows.len() as u64, problems.count), (Simulation::example().rows(), 0));
    let sweep = aggregate(&rows, Target::Time);
    assert_eq!((sweep.groups().len(), sweep.notes()), (4, vec![]));
}

fn mutated(text: &str, edits: &[(prop::sample::Index, u8)]) -> Vec<u8> {
    let header = text.find('\n').map_or(0, |at| at + 1);
    let mut bytes = text.as_bytes().to_vec();
    for (index, byte) in edits {
        let at = header + index.index(bytes.len() - header);
        // Lines stay lines, so that they can be counted.
        if bytes[at] != b'\n' && !matches!(byte, b'\n' | b'\r') {
            bytes[at] = *byte;
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        open(&bytes);
        open(&gzipped(&bytes));
        open(&[b"\xFF\xFE", bytes.as_slice()].concat());
        open(&[b"\x1F\x8B\x08\0\0\0\0\0\0\xFF", bytes.as_slice()].concat());
    }

    #[test]
    fn any_text(text in "[a-z,;\"\t\r\n0-9.{}#'-]{0,400}") {
        open(text.as_bytes());
        open(format!("{OLD}\n{text}").as_bytes());
    }

    #[test]
    fn any_edit_is_a_row_or_a_problem(edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..60)) {
        let text = example();
        let bytes = mutated(&text, &edits);
        let (rows, problems) = loaded(&bytes);
        prop_assert_eq!(rows.len() as u64 + problems.count, text.lines().count() as u64 - 1);
        for target in [Target::Time, Target::Printed] {
            let sweep = aggregate(&rows, target);
            prop_assert!(sweep.points.iter().chain(&sweep.defaults).all(|p| p.busbw_gbps.is_finite() && p.busbw_gbps > 0.0));
            prop_assert!(sweep.notes().len() < 100);
        }
    }

    #[test]
    fn what_is_written_is_read(lines in prop::collection::vec((0..6_usize, 1..5_u32, 0..3_usize, 1..65_u32, 12..30_u32, 1.0..1e5_f64), 1..40)) {
        let headers = ["note", "algo", "size_bytes", "collective", "num_nodes", "num_gpus", "time_ip_us", "proto", "nchannels"];
        let mut table = Table::new(headers);
        for (collective, nodes, protocol, channels, log2_size, time_us) in &lines {
            table.push(vec![
                "=1+1, \"quoted\"\nand broken".into(),
                "RING".into(),
                (1_u64 << log2_size).into(),
                Collective::ALL[*collective].name().into(),
                (*nodes).into(),
                (nodes * 8).into(),
                Cell::Number(*time_us, 3),
                Protocol::ALL[*protocol].name().into(),
                (*channels).into(),
            ]);
        }
        let (rows, problems) = loaded(table.to_csv().as_bytes());
        prop_assert_eq!((rows.len(), problems.count), (lines.len(), 0));
        for (row, (collective, nodes, protocol, channels, log2_size, time_us)) in rows.iter().zip(lines) {
            prop_assert_eq!(row.workload, Workload {
                collective: Collective::ALL[collective],
                scale: Scale { nodes, ranks: nodes * 8 },
                size_bytes: 1 << log2_size,
            });
            let protocol = Protocol::ALL[protocol];
            prop_assert_eq!(row.ran, Configuration { algorithm: Algorithm::Ring, protocol, channels });
            let read = row.in_place.and_then(|s| s.time_us).unwrap_or_default();
            prop_assert!((read - time_us).abs() < 0.001);
        }
    }

    #[test]
    fn any_cut_is_read(at in any::<prop::sample::Index>()) {
        let text = example();
        open(&text.as_bytes()[..at.index(text.len())]);
        let packed = gzipped(text.as_bytes());
        open(&packed[..at.index(packed.len())]);
    }

    #[test]
    fn any_mapping(columns in prop::collection::vec((0..24_usize, 0..30_usize, any::<bool>(), ".{0,6}"), 0..12)) {
        let text = example().replace("collective", "c");
        let name = |i: usize| collectune::tuning::columns::Column::ALL.get(i).map_or("nonsense", |c| c.name()).to_owned();
        let columns = columns
            .into_iter()
            .map(|(i, at, constant, text)| {
                (name(i), if constant { ColumnSource::Constant(text) } else { ColumnSource::Column(at) })
            })
            .collect();
        intake::open(text.as_bytes(), "x", 0, 0, Some(&Mapping { columns }), &mut Silent);
    }
}

/// A header and a row of it.
const SHORT: &str =
    "size_bytes,collective,num_nodes,num_gpus,busbw_ip,algo,proto,nchannels\n16384,all_gather,2,16,7.5,TREE,LL,4";

#[test]
fn another_header_in_a_sweep_says_what_stands_below_it() {
    let (rows, problems) = loaded(format!("{OLD}\n{OLD_ROW}\n{OLD}\n{OLD_ROW}\n{SHORT}\n").as_bytes());
    assert_eq!((rows.len(), problems.count), (3, 0), "{:?}", problems.kept);
    assert_eq!(rows[1].line, 4);
    assert_eq!(rows[2].workload.size_bytes, 16384);
    assert_eq!(rows[2].ran, Configuration { algorithm: Algorithm::Tree, protocol: Protocol::Ll, channels: 4 });
}

#[test]
fn another_header_without_what_is_needed_ends_the_sweep() {
    let without = SHORT.replace("busbw_ip", "median");
    let (rows, problems) = loaded(format!("{OLD}\n{OLD_ROW}\n{without}\n").as_bytes());
    assert_eq!((rows.len(), problems.count), (1, 1));
    let text = problems.kept[0].to_string();
    assert!(text.contains("line 3") && text.contains("the table lacks busbw_ip (or time_ip_us)"), "{text}");
    assert!(text.ends_with("the rows after it were left out"), "{text}");
}

#[test]
fn words_for_nothing_that_was_asked_mean_the_default() {
    for word in ["", "nan", "None", "DEFAULT", "auto", "-1", "N/A"] {
        let asked = row(&format!("{OLD}{REQUESTED}"), &format!("{OLD_ROW},{word},{word},{word},0,RING,A_flag_ceiling"));
        assert_eq!(asked.kind, RunKind::Default, "{word}");
        assert_eq!(asked.asked, Asked::default(), "{word}");
    }
    let asked = row(&format!("{OLD}{REQUESTED}"), &format!("{OLD_ROW},RING,None,-1,0,RING,A_flag_ceiling"));
    assert_eq!(asked.kind, RunKind::Asked);
}
