//! The hotspots of a published default curve are those that its publishers found.

#![allow(clippy::unwrap_used)]

use crate::support::real;
use collectune::{
    intake::{self, FileContent},
    progress::Silent,
    tuning::{aggregate::Target, hotspots, runs::aggregate},
};

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn the_published_report_comes_out_byte_for_byte() {
    let curve = real::file("tuning/curves/broadcast_reduce_default_curves.csv");
    let published = real::text("tuning/curves/broadcast_reduce_hotspots_10.csv");
    let (report, content) = intake::open(&curve[..], "curves.csv", curve.len() as u64, 0, None, &mut Silent);
    let FileContent::Rows(rows) = content else { panic!("{report:?}") };
    let sweep = aggregate(&rows, Target::Printed);
    let answer = hotspots::answer(&sweep, &[], &hotspots::HotspotQuestion::default());
    assert_eq!(answer.report, published);
    assert_eq!(answer.listing.rows.len(), 1);
}
