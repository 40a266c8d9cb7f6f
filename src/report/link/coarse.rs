//! What a link leaves out.

use crate::report::Report;

/// The report, finest first, as coarse as a link may need it: each with what was left out, in words.
#[must_use]
pub fn for_link(report: &Report) -> Vec<(Report, Vec<String>)> {
    let without = Report { snapshot: None, ..report.clone() };
    vec![(report.clone(), Vec::new()), (without, vec!["what a comparison with a later state needs".to_owned()])]
}
