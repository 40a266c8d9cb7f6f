//! The history of a campaign: what each launch added to what was fastest so far, as a section of the page and of
//! reports.

use super::{
    Job,
    journal::{Journal, JournalEntry, LaunchOutcome},
};
use crate::{
    plot::{Axis, Chart, Colour, FileLine, Mark, Point, Quantity, Series, Spacing},
    report::{Exhibit, Section},
    tuning::plan::duration,
    units::{count, percent},
};

/// A sentence on how many launches were made, without its stop.
pub fn summary(journal: &Journal) -> String {
    let failed = journal.entries.iter().filter(|entry| entry.outcome.failure().is_some()).count();
    let made = launches(journal.entries.len());
    match failed {
        0 => made,
        failed => format!("{made}, of which {failed} left no measurements"),
    }
}

/// A number of launches in words.
pub fn launches(number: usize) -> String {
    count(number as u64, "launch").replace("launchs", "launches")
}

/// The section on a journal; `None` where it has no launches. `file` is the number of the journal's file, to which
/// points of the chart then lead. A reason why a launch failed may quote a line of its log, and with it the name of a
/// host: `with_reasons` says whether these are included.
pub fn section(journal: &Journal, file: Option<u16>, with_reasons: bool) -> Option<Section> {
    if journal.entries.is_empty() {
        return None;
    }
    let mut text = vec![format!("{} in {}.", summary(journal), duration::words(journal.seconds()))];
    let jobs = jobs(journal);
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

/// The collectives and scales in the order in which they were first launched.
fn jobs(journal: &Journal) -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    for entry in &journal.entries {
        if !jobs.contains(&entry.job) {
            jobs.push(entry.job);
        }
    }
    jobs
}

fn place(job: Job) -> String {
    format!("{} on {}", job.collective, job.scale)
}

/// The launches of a job with the mean gain of the fastest so far over the default after each, in per cent.
fn gains(journal: &Journal, job: Job) -> impl Iterator<Item = (&JournalEntry, f64)> {
    let of_job = journal.entries.iter().filter(move |entry| entry.job == job);
    of_job.filter_map(|entry| Some((entry, entry.brought?.mean_gain_pct?)))
}

/// A sentence on how far the search of a job came, and which launch was the last that found something faster.
fn progress(journal: &Journal, job: Job) -> Option<String> {
    let (_, gain) = gains(journal, job).last()?;
    let is_faster = |entry: &&JournalEntry| entry.brought.is_some_and(|brought| brought.sizes > 0);
    let last = journal.entries.iter().filter(|entry| entry.job == job).filter(is_faster).last();
    let since = |last: &JournalEntry| {
        let later = journal.measurements().filter(|entry| entry.job == job && entry.launch > last.launch).count();
        match later {
            0 => format!("launch {} found something faster still", last.launch),
            later => format!("{} after launch {} found nothing faster", launches(later), last.launch),
        }
    };
    let since = last.map(since)?;
    Some(format!(
        "{}: the fastest so far is {} faster than the default, as the mean over the sizes; {since}.",
        place(job),
        percent(gain)
    ))
}

/// The mean gain of the fastest so far over launches; `None` before two launches were measured.
fn chart(journal: &Journal, jobs: &[Job], file: Option<u16>) -> Option<Chart> {
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
            series.push(Series::new(place(*job), colour, Mark::LineAndDots, points));
        }
    }
    let best = series.iter().filter_map(|series| series.points.last().map(|last| (series, last)));
    let best = best.max_by(|a, b| a.1.y.total_cmp(&b.1.y))?;
    let summary = format!(
        "{}: after launch {} the fastest so far is {} faster than the default, as the mean over the sizes.",
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
