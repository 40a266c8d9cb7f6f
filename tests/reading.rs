//! What becomes of the files that people drop: every form of a sweep, and everything that is none.

use std::path::PathBuf;

use collectune::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    intake::{self, ColumnSource, Content, FileReport, Mapping, Outcome},
    progress::Silent,
    text::Problems,
    tuning::{
        aggregate::{Target, aggregate},
        read::{Kind, Row},
    },
};

const OLD: &str = "collective,num_nodes,num_gpus,size_bytes,count,data_type,redop,time_oop_us,algbw_oop,busbw_oop,\
                   errors_oop,time_ip_us,algbw_ip,busbw_ip,errors_ip,algo,proto,nchannels";
const REQUESTED: &str =
    ",requested_algo,requested_proto,requested_nchannels,substituted,measured_algo_raw,nchannels_source";

fn open(bytes: &[u8]) -> (FileReport, Content) {
    intake::open(bytes, "sweep.csv", bytes.len() as u64, 3, None, &mut Silent)
}

#[track_caller]
fn loaded(bytes: &[u8]) -> (Vec<Row>, Problems) {
    match open(bytes) {
        (FileReport { outcome: Outcome::Loaded { rows, default_rows, problems, .. }, .. }, Content::Rows(read)) => {
            assert_eq!(rows, read.len() as u64);
            assert_eq!(default_rows, read.iter().filter(|r| r.kind == Kind::Default).count() as u64);
            (read, problems)
        }
        (report, _) => panic!("{report:?}"),
    }
}

#[track_caller]
fn refused(bytes: &[u8]) -> String {
    match open(bytes) {
        (FileReport { outcome: Outcome::Refused(why), .. }, Content::Nothing) => why,
        (report, _) => panic!("{report:?}"),
    }
}

fn real_file(name: &str) -> Option<Vec<u8>> {
    let shared = std::env::var_os("COLLECTUNE_DATA")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data"), PathBuf::from);
    let path = shared.join("tuning").join(name);
    let bytes = std::fs::read(&path).ok();
    if bytes.is_none() {
        eprintln!("SKIPPED: {} is not there", path.display());
    }
    bytes
}

#[test]
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
    ] {
        let Some(bytes) = real_file(name) else { return };
        let data_lines = bytes.iter().filter(|b| **b == b'\n').count() - 1;
        let (rows, problems) = loaded(&bytes);
        assert_eq!((rows.len(), problems.count), (data_lines, 0), "{name}: {:?}", problems.kept.first());
        assert_eq!(rows.iter().filter(|r| r.kind == Kind::Default).count(), defaults, "{name}");
        let sweep = aggregate(&rows, Target::Time).sweep;
        assert!(sweep.points.iter().all(|p| p.busbw_gbps > 0.0));
        println!("{name}: {} points, {} defaults, {:?}", sweep.points.len(), sweep.defaults.len(), sweep.notes());
    }
}
