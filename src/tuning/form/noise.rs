//! The sections of the noise panel: the runs behind an answer, what is set aside, and the required confidence.

use super::Tuning;
use crate::{
    collective::Workload,
    form::{RowChoice, Setting},
    report::{
        Exhibit, Section,
        placement::{Figure, Placement, RowMark},
    },
    text::{Column, Entry, Listing},
    tuning::{
        address::Address,
        decision::Noise,
        parameters::{SetAside, StallId},
        record::{RecordAnswer, RecordQuestion, RecordedConfiguration},
        settings::{DEFAULT_RUNS, Group},
        stalls::Stall,
    },
    units::percent,
};

impl Tuning {
    /// The sections of the panel.
    pub(super) fn noise(&self) -> Vec<Section> {
        if !self.has_data() {
            let text = "Drop a sweep to see how noisy it is.".to_owned();
            return vec![Section { title: "Noise".to_owned(), text: vec![text], ..Section::default() }];
        }
        let lead = "A configuration is recommended only if its whole interval is above the default.";
        let mut sections = vec![Section::led(Group::Confidence, lead)];
        if let Some(shown) = &self.settings.shown {
            sections.extend(self.runs(shown));
        }
        let RecordAnswer { stalls, stall_listing, .. } = self.loaded.record(&RecordQuestion::default());
        sections.push(self.stalled(&stalls, stall_listing));
        sections
    }

    /// The measured configurations of a workload with its noise, and the runs of the opened configuration.
    fn runs(&self, shown: &Workload) -> Vec<Section> {
        let RecordAnswer { measured, listing, noise, .. } =
            self.loaded.record(&RecordQuestion { workload: Some(*shown) });
        let key = |of: &RecordedConfiguration| {
            let Workload { collective, scale, .. } = *shown;
            if of.is_default {
                DEFAULT_RUNS.to_owned()
            } else {
                SetAside { collective, scale, configuration: of.configuration }.to_string()
            }
        };
        let opened = measured.iter().find(|of| key(of) == self.settings.opened);
        let value = |of: &RecordedConfiguration| {
            let is_open = opened.is_some_and(|opened| std::ptr::eq(opened, of));
            if is_open { String::new() } else { key(of) }
        };
        let mark = |of: &RecordedConfiguration| match of {
            RecordedConfiguration { is_set_aside: true, .. } => RowMark::Dead,
            RecordedConfiguration { is_tied: true, .. } => RowMark::Good,
            _ => RowMark::Plain,
        };
        let table = Exhibit {
            choose: Some(RowChoice { key: "open".to_owned(), values: measured.iter().map(value).collect() }),
            marks: measured.iter().map(mark).collect(),
            ..Exhibit::new("runs", "What was measured; open a row to see its runs", listing)
        };
        let placement = Placement {
            lead: Address::label(shown),
            figures: noise.as_ref().map(figures).unwrap_or_default(),
            ..Placement::default()
        };
        let title = "Runs behind the answer".to_owned();
        let mut sections = vec![Section { title, tables: vec![table], placement, ..Section::default() }];
        sections.extend(opened.map(runs_of));
        let screening = &self.settings.parameters.screening;
        if opened.is_some_and(|of| !of.is_default) || !screening.set_aside.is_empty() {
            sections.push(Section::with_form(Group::SetAside));
        }
        sections
    }

    /// The stalled runs of all workloads. Opening a row uses its run, or sets it aside again.
    fn stalled(&self, stalls: &[Stall], listing: Listing) -> Section {
        let lead = "These runs were much slower than their repeats. Measure them again. Open a row to use its run, or to \
                    set it aside again.";
        if stalls.is_empty() {
            let text = vec!["No run stalled.".to_owned()];
            return Section { title: "Stalled runs".to_owned(), text, ..Section::default() };
        }
        let back = &self.settings.parameters.screening.brought_back;
        let value = |stall: &Stall| {
            let mut others: Vec<StallId> = back.iter().copied().filter(|id| *id != stall.id()).collect();
            others.extend(stall.set_aside.then(|| stall.id()));
            others.text()
        };
        let mark = |stall: &Stall| if stall.set_aside { RowMark::Dead } else { RowMark::Plain };
        let table = Exhibit {
            choose: Some(RowChoice { key: "back".to_owned(), values: stalls.iter().map(value).collect() }),
            marks: stalls.iter().map(mark).collect(),
            ..Exhibit::new("stalls", "By workload", listing)
        };
        Section { tables: vec![table], ..Section::led(Group::Stalls, lead) }
    }
}

fn figures(noise: &Noise) -> Vec<Figure> {
    let more = noise.more_runs.words();
    let figure = |name: &str, value: String, note: &str| Figure { name: name.into(), value, note: note.into() };
    vec![
        figure(
            "Spread of one run",
            format!("{:.1} %", noise.spread_pct),
            "standard deviation, pooled over this and the neighbouring sizes",
        ),
        figure("Visible gain", percent(noise.visible_gain_pct), "the smallest that these runs detect half of the time"),
        figure("Runs", format!("{} and {}", noise.repeats, noise.default_repeats), "of the choice and of the default"),
        figure("To decide", if more.is_empty() { "decided".to_owned() } else { more }, "runs of each side"),
    ]
}

const RUN_COLUMNS: [Column; 5] = [
    Column::words("File", "file that it stands in"),
    Column::numbers("Line", "line in the file"),
    Column::numbers("busbw", "in place, GB/s"),
    Column::numbers("Out of place", "out-of-place busbw of the run, GB/s"),
    Column::words("Use", "whether it is used or set aside"),
];

fn runs_of(measured: &RecordedConfiguration) -> Section {
    let gbps = crate::units::significant;
    let rows = measured.runs.iter().map(|run| {
        vec![
            Entry::text(run.file.clone()),
            Entry::number(Some(f64::from(run.line)), |line| format!("{line}")),
            Entry::number(Some(run.busbw_gbps), gbps),
            Entry::number(run.out_of_place_gbps, gbps),
            Entry::text(if run.is_used { "used" } else { "set aside" }),
        ]
    });
    let listing = Listing { columns: RUN_COLUMNS.to_vec(), rows: rows.collect() };
    let mark = |is_used: bool| if is_used { RowMark::Plain } else { RowMark::Dead };
    let marks = measured.runs.iter().map(|run| mark(run.is_used)).collect();
    let name = if measured.is_default { "the default".to_owned() } else { measured.configuration.to_string() };
    let title = format!("Runs of {name}");
    let table = Exhibit { marks, ..Exhibit::new("opened-runs", title.clone(), listing) };
    Section { title, tables: vec![table], ..Section::default() }
}
