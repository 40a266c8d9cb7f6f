//! The hotspots of a published default curve are those that its publishers found.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use collectune::{
    intake::{self, Content},
    progress::Silent,
    tuning::{
        aggregate::{Target, aggregate},
        hotspots,
    },
};

#[test]
fn the_published_report_comes_out_byte_for_byte() {
    let shared = std::env::var_os("COLLECTUNE_DATA")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data"), PathBuf::from);
    let folder = shared.join("tuning/curves");
    let name = "broadcast_reduce_default_curves.csv";
    let Ok(curve) = std::fs::read(folder.join(name)) else {
        eprintln!("SKIPPED: {} is not there", folder.join(name).display());
        return;
    };
    let published = std::fs::read_to_string(folder.join("broadcast_reduce_hotspots_10.csv")).unwrap();
    let (report, content) = intake::open(&curve[..], name, curve.len() as u64, 0, None, &mut Silent);
    let Content::Rows(rows) = content else { panic!("{report:?}") };
    let sweep = aggregate(&rows, Target::Printed).sweep;
    let answer = hotspots::answer(&sweep, &[], &hotspots::Question::default());
    assert_eq!(answer.report, published);
    assert_eq!(answer.listing.rows.len(), 1);
}
