//! The history of a campaign: what each launch added to what was fastest so far, as a section of the page and of
//! reports.

use std::collections::BTreeSet;

use super::{
    Job,
    journal::{Journal, JournalEntry, LaunchOutcome},
};
use crate::{
    order::CompactCollect,
    plot::{Axis, Chart, Colour, FileLine, Mark, Point, Quantity, Series, Spacing},
    report::{Exhibit, Section},
    tuning::plan::duration,
    units::{count, percent},
};

/// A sentence on how many launches were made, without its stop.
pub fn summary(journal: &Journal) -> String {
    let failed = journal.entries.iter().filter(|entry| entry.outcome.failure().is_some()).count();
    let made = count(journal.entries.len() as u64, "launch");
    match failed {
        0 => made,
        failed => format!("{made}, of which {failed} left no measurements"),
    }
}

/// The section on a journal; `None` where it has no launches. `file` is the number of the journal's file, to which
/// points of the chart then lead. A reason why a launch failed may quote a line of its log, and with it the name of a
/// host: `with_reasons` says whether these are included.
pub fn section(journal: &Journal, file: Option<u16>, with_reasons: bool) -> Option<Section> {
    if journal.entries.is_empty() {
        return None;
    }
    let mut text = vec![format!("{}; they took {}.", summary(journal), duration::words(journal.seconds()))];
    let jobs: BTreeSet<Job> = journal.entries.iter().map(|entry| entry.job).compact_collect();
    text.extend(jobs.iter().filter_map(|job| progress(journal, *job)));
    if journal.is_torn {
        text.push("The last line of the journal has no end: its launch is made again.".to_owned());
    }
    Some(Section {
        title: "Search history".to_owned(),
        text,
        charts: chart(journal, &jobs, file).into_iter().collect(),
        tables: vec![Exhibit::new("launches", "Launches", journal.listing(with_reasons))],
        ..Section::default()
    })
}

/// The launches of a job with the mean gain of the fastest so far over the default after each, in per cent.
fn gains(journal: &Journal, job: Job) -> impl Iterator<Item = (&JournalEntry, f64)> {
    let of_job = journal.entries.iter().filter(move |entry| entry.job == job);
    of_job.filter_map(|entry| Some((entry, entry.brought?.mean_gain_pct?)))
}

/// A sentence on how far the search of a job came, and with which launch.
fn progress(journal: &Journal, job: Job) -> Option<String> {
    /// Gains, in per cent, that differ by no more than this count as the same.
    const CLOSE_PCT: f64 = 1.0;
    let (_, gain) = gains(journal, job).last()?;
    let (reached, _) = gains(journal, job).find(|(_, so_far)| *so_far >= gain - CLOSE_PCT)?;
    Some(format!(
        "{job}: the mean gain of the fastest so far over the default is {}; launch {} was the first to come within one \
         percentage point of that.",
        percent(gain),
        reached.launch
    ))
}

/// The mean gain of the fastest so far over launches; `None` before two launches were measured.
fn chart(journal: &Journal, jobs: &BTreeSet<Job>, file: Option<u16>) -> Option<Chart> {
    let line = |entry: &JournalEntry| Some(FileLine { file: file?, line: entry.launch, others: 0 });
    let at = |entry: &JournalEntry, gain: f64, note: String| Point {
        line: line(entry),
        ..Point::new(f64::from(entry.launch), gain, format!("{}, {note}", entry.requested))
    };
    let mut series = Vec::new();
    let mut failed = Vec::new();
    for (index, job) in jobs.iter().enumerate() {
        let found = |entry: &JournalEntry| match entry.brought.map(|brought| brought.places()).unwrap_or_default() {
            found if found.is_empty() => format!("{}: nowhere the fastest", entry.phase.name()),
            found => format!("{}: the fastest at {found}", entry.phase.name()),
        };
        let points: Vec<Point> = gains(journal, *job).map(|(entry, gain)| at(entry, gain, found(entry))).collect();
        let colour = if jobs.len() == 1 { Colour::Answer } else { Colour::Palette(index as u8) };
        let mut before = 0.0;
        for entry in journal.entries.iter().filter(|entry| entry.job == *job) {
            let gain = entry.brought.and_then(|brought| brought.mean_gain_pct);
            before = gain.unwrap_or(before);
            let why = match entry.outcome {
                LaunchOutcome::Measured => continue,
                LaunchOutcome::Failed(_) => "failed",
                LaunchOutcome::TimedOut(_) => "ended by the time limit",
            };
            failed.push(at(entry, before, why.to_owned()));
        }
        if points.len() > 1 {
            series.push(Series::new(job.to_string(), colour, Mark::LineAndDots, points));
        }
    }
    let best = series.iter().filter_map(|series| series.points.last().map(|last| (series, last)));
    let best = best.max_by(|a, b| a.1.y.total_cmp(&b.1.y))?;
    let summary = format!(
        "{}: after launch {} the mean gain of the fastest so far over the default is {}.",
        best.0.name,
        best.1.x,
        percent(best.1.y)
    );
    if !failed.is_empty() {
        series.push(Series::new("No measurements", Colour::Muted, Mark::Rings, failed));
    }
    Some(Chart {
        id: "search-history".to_owned(),
        title: "Gain of the fastest so far over launches".to_owned(),
        summary,
        x: Axis::new("Launch", Quantity::Count, Spacing::Linear),
        y: Axis::new("Gain so far", Quantity::Percent, Spacing::Linear),
        series,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Collective, Scale},
        tuning::campaign::journal::{Brought, Phase, Requested},
    };

    fn entry(launch: u32, gain_pct: Option<f64>) -> JournalEntry {
        JournalEntry {
            launch,
            phase: Phase::Search,
            job: Job { collective: Collective::AllReduce, scale: Scale { nodes: 2, ranks: 16 } },
            requested: Requested::Default,
            repeat: 1,
            why: String::new(),
            expected_pct: None,
            log: String::new(),
            began_s: 1,
            seconds: 30.0,
            outcome: gain_pct.map_or(LaunchOutcome::Failed("host-7 is away".to_owned()), |_| LaunchOutcome::Measured),
            brought: gain_pct.map(|gain| Brought { sizes: 0, most_pct: 0.0, mean_gain_pct: Some(gain) }),
        }
    }

    fn journal(gains: &[Option<f64>]) -> Journal {
        let entries = (1..).zip(gains).map(|(launch, gain)| entry(launch, *gain)).collect();
        Journal { entries, is_torn: false }
    }

    #[test]
    fn the_gain_is_drawn_over_launches_and_said_with_the_launch_that_reached_it() {
        let journal = journal(&[Some(0.0), Some(4.0), None, Some(11.5), Some(12.0)]);
        let section = section(&journal, Some(3), true).unwrap();
        assert_eq!(section.text[0], "5 launches, of which 1 left no measurements; they took 3 min.");
        assert!(section.text[1].contains("is +12.0 %; launch 4 was the first"), "{}", section.text[1]);
        let chart = &section.charts[0];
        let ys = |series: usize| chart.series[series].points.iter().map(|point| point.y).collect::<Vec<_>>();
        assert_eq!((ys(0), ys(1)), (vec![0.0, 4.0, 11.5, 12.0], vec![4.0]));
        assert_eq!(chart.series[1].points[0].line, Some(FileLine { file: 3, line: 3, others: 0 }));
    }

    #[test]
    fn reasons_that_quote_a_log_are_left_out_where_they_are_not_wanted() {
        let journal = journal(&[Some(0.0), None]);
        let outcomes = |with_reasons| {
            let section = section(&journal, None, with_reasons).unwrap();
            assert!(section.charts.is_empty(), "one point is no line");
            section.tables[0].listing.rows.iter().map(|row| row[6].text.clone()).collect::<Vec<_>>()
        };
        assert_eq!(outcomes(true), ["measured", "host-7 is away"]);
        assert_eq!(outcomes(false), ["measured", "failed"]);
        assert!(section(&Journal::default(), None, true).is_none());
    }
}
