//! The hotspots of a published default curve are those that its publishers found.

#![allow(clippy::unwrap_used)]

mod support;

use collectune::{
    intake::{self, FileContent},
    progress::Silent,
    tuning::{
        aggregate::{Target, aggregate},
        hotspots,
    },
};
use support::real;

#[test]
fn the_published_report_comes_out_byte_for_byte() {
    let Some(curve) = real::file("tuning/curves/broadcast_reduce_default_curves.csv") else { return };
    let Some(published) = real::text("tuning/curves/broadcast_reduce_hotspots_10.csv") else { return };
    let (report, content) = intake::open(&curve[..], "curves.csv", curve.len() as u64, 0, None, &mut Silent);
    let FileContent::Rows(rows) = content else { panic!("{report:?}") };
    let sweep = aggregate(&rows, Target::Printed).sweep;
    let answer = hotspots::answer(&sweep, &[], &hotspots::HotspotQuestion::default());
    assert_eq!(answer.report, published);
    assert_eq!(answer.listing.rows.len(), 1);
}
