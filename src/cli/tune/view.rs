//! What a campaign shows while it runs, on stderr: a line for each launch, and in a terminal below it what is running
//! and the fastest so far.

use std::{
    io::{self, IsTerminal},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::folder::Folder;
use crate::{
    cli::table,
    text::visible,
    tuning::{
        campaign::{
            best::BestSoFar,
            journal::{JournalEntry, Phase, Requested},
            next::{LaunchesLeft, NextLaunch, time_left_s},
        },
        plan::duration,
    },
    units::percent,
};

/// The most sizes of the fastest so far: more would fill a terminal.
const MOST_SIZES: usize = 24;

/// What is shown of a campaign.
pub(super) struct View {
    /// What is running, in a terminal; wiped out when it has ended.
    running: Option<ProgressBar>,
}

impl View {
    pub(super) fn new() -> Self {
        Self { running: None }
    }

    /// Says that a launch begins, why, and how long the campaign goes on at most.
    pub(super) fn begin(&mut self, launch: &NextLaunch, folder: &Folder, best: &BestSoFar) {
        let mut what = format!("{}  {}", heading(folder.next_number(), launch, folder), visible(&launch.why));
        if let Some(pct) = launch.expected_pct {
            what += &format!(" ({} expected)", percent(pct));
        }
        if let Some(seconds) = time_left_s(&folder.settings, &folder.journal) {
            what += &format!("; at most {} left", duration::words(seconds));
        }
        if !io::stderr().is_terminal() {
            eprintln!("{what}");
            return;
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{msg} … {elapsed}") {
            bar.set_style(style);
        }
        let mut fastest = best.listing(Some(launch.job));
        fastest.rows.truncate(MOST_SIZES);
        let fastest =
            if fastest.rows.is_empty() { String::new() } else { format!("{}\n\n", table::of_listing(&fastest)) };
        bar.set_message(fastest + &what);
        bar.enable_steady_tick(Duration::from_secs(1));
        self.running = Some(bar);
    }

    /// Takes away what a terminal shows of the launch that was running.
    pub(super) fn end(&mut self) {
        if let Some(bar) = self.running.take() {
            bar.finish_and_clear();
        }
    }

    /// Says what a launch brought, or why it left nothing.
    pub(super) fn ended(&mut self, launch: &NextLaunch, entry: &JournalEntry, folder: &Folder) {
        self.end();
        let is_tried = entry.phase == Phase::Search && entry.requested != Requested::Default;
        let mut what = match (entry.outcome.failure(), entry.brought.map(|brought| brought.places())) {
            (Some(why), _) => format!("left nothing: {why}"),
            (None, Some(places)) if !places.is_empty() => format!("fastest so far at {places}"),
            (None, Some(_)) if is_tried => "nothing faster".to_owned(),
            (None, _) => "measured".to_owned(),
        };
        if let Some(pct) = entry.brought.and_then(|brought| brought.mean_gain_pct) {
            what += &format!("; so far {} over the default", percent(pct));
        }
        let what = format!("{:>4.0} s  {}", entry.seconds, visible(&what));
        if io::stderr().is_terminal() {
            eprintln!("{}  {what}", heading(entry.launch, launch, folder));
        } else {
            eprintln!("{:>8}  {what}", "");
        }
    }
}

/// The number of a launch, of how many where that is known, its phase, and what it asks for.
fn heading(number: u32, launch: &NextLaunch, folder: &Folder) -> String {
    let made = folder.journal.entries.len() as u32;
    let left = LaunchesLeft::new(&folder.settings, &folder.journal).0;
    let of = left.map_or_else(String::new, |left| format!("/{}", made.saturating_add(left)));
    let job = match folder.settings.jobs.len() {
        1 => String::new(),
        _ => format!("{}  ", launch.job),
    };
    format!("{number:>4}{of}  {:<8}  {job}{:<16}", launch.phase.name(), launch.requested.to_string())
}
