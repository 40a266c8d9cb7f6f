//! The smallest form of a report: what to deploy for each workload and why, with neighbouring sizes of the same
//! answer in one row; of a report without such tables, its first one.

use crate::{
    order::CompactSort,
    report::{
        Exhibit, Report, Section,
        annotations::{NOTE, NOTE_COLUMN, start_of},
    },
    text::{Column, Entry, Listing, number},
};

/// How much of a report is kept.
#[derive(Clone, Copy)]
pub(super) struct Most {
    /// The number of rows of the table.
    pub rows: usize,
    /// The number of characters of each text, an ellipsis included.
    pub chars: usize,
    /// The number of sentences of the summary, and as many notes of the sections.
    pub sentences: usize,
}

/// The advice that leaves the choice to the library, whatever that runs.
const KEEP: &str = "keep default";
/// The title of the section.
const TITLE: &str = "In short";
/// The column that names the workload of a row. Tables of what to deploy have none: their section is the workload.
const WORKLOAD: &str = "Workload";

/// The number of rows that [`small`] can keep.
pub(super) fn rows(report: &Report) -> usize {
    table(report).map_or(0, |(_, ranks)| ranks.len())
}

/// The report in its smallest form, and what it is left without.
pub(super) fn small(report: &Report, most: Most) -> (Report, Vec<String>) {
    let cut = |text: &String| start_of(text, most.chars);
    let is_note = |text: &&String| text.starts_with(NOTE);
    let mut notes = notes(report);
    // Notes before other sentences, where there is not enough room.
    let mut sentences: Vec<&String> = report.summary.iter().filter(is_note).collect();
    let others = most.sentences.saturating_sub(sentences.len());
    sentences.splice(0..0, report.summary.iter().filter(|text| !is_note(text)).take(others));
    sentences.truncate(most.sentences);
    let all_notes = notes.len();
    notes.truncate(most.sentences);
    let mut left_out = vec!["charts, files, parameters, measurements, and all tables but one".to_owned()];
    if lists_choices(report) {
        left_out.push("a row for each size where neighbouring ones have the same answer".to_owned());
    }
    let mut tables = Vec::new();
    if let Some((mut table, ranks)) = table(report) {
        let all = table.listing.rows.len();
        if most.rows < all {
            let mut order: Vec<usize> = (0..all).collect();
            order.compact_sort_by(|a, b| ranks[*b].total_cmp(&ranks[*a]).then(a.cmp(b)));
            let mut kept = order[..most.rows].to_vec();
            kept.compact_sort();
            table.listing.rows = kept.into_iter().map(|row| table.listing.rows[row].clone()).collect();
            left_out.push(format!("{} of {all} rows, those that gain least or come last", all - most.rows));
        }
        table.listing.rows.iter_mut().flatten().for_each(|cell| cell.text = cut(&cell.text));
        table.listing.columns.iter_mut().for_each(|column| column.name = start_of(&column.name, most.chars).into());
        table.title = cut(&table.title);
        // Names and number of columns are those of the report, which may be a stranger's.
        tables.extend(Some(table).filter(|table| !table.listing.rows.is_empty()));
    }
    if sentences.len() < report.summary.len() || notes.len() < all_notes {
        left_out.push("some sentences".to_owned());
    }
    let cuts = |text: &String| text.chars().count() > most.chars;
    if sentences.iter().copied().chain(&notes).chain([&report.title]).any(cuts) {
        left_out.push("the ends of long texts".to_owned());
    }
    let summary = sentences.into_iter().map(cut).collect();
    let mut text = vec![format!("Left out: {}.", left_out.join("; "))];
    text.extend(notes.iter().map(cut));
    let report = Report {
        workbench: report.workbench,
        title: cut(&report.title),
        summary,
        program: cut(&report.program),
        made_on: report.made_on.as_ref().map(cut),
        sections: vec![Section { title: TITLE.to_owned(), text, tables, ..Section::default() }],
        ..Report::default()
    };
    (report, left_out)
}

/// The notes on sections, and on rows of tables that are not kept.
fn notes(report: &Report) -> Vec<String> {
    let has_rules = lists_choices(report);
    let first = first(report);
    let is_kept = |table: &Exhibit| match has_rules {
        true => rule_columns(&table.listing).is_some(),
        false => first.is_some_and(|first| std::ptr::eq(first, table)),
    };
    let mut notes = Vec::new();
    for section in &report.sections {
        let title = &section.title;
        // Those of a report in its smallest form say already what they are about.
        let about = if title == TITLE { String::new() } else { format!("{title}: ") };
        let of_section = section.text.iter().filter_map(|text| text.strip_prefix(NOTE));
        notes.extend(of_section.map(|note| format!("{NOTE}{about}{note}")));
        for Listing { columns, rows } in section.tables.iter().filter(|table| !is_kept(table)).map(|t| &t.listing) {
            let column = columns.iter().position(|column| column.name == NOTE_COLUMN);
            let of_rows = rows.iter().filter_map(|row| Some((row.first()?, row.get(column?)?)));
            let of_rows = of_rows.filter(|(_, note)| !note.text.is_empty());
            notes.extend(of_rows.map(|(label, note)| format!("{NOTE}{title}: {}: {}", label.text, note.text)));
        }
    }
    notes
}

/// The table that is kept of a report without tables of what to deploy.
fn first(report: &Report) -> Option<&Exhibit> {
    let mut tables = report.sections.iter().flat_map(|section| &section.tables);
    tables.find(|table| !table.listing.rows.is_empty())
}

/// The table that is kept, and how much each of its rows matters.
fn table(report: &Report) -> Option<(Exhibit, Vec<f64>)> {
    let rules = rules(report);
    if !rules.is_empty() {
        let ranks = rules.iter().map(Rule::rank).collect();
        return Some((Exhibit::new("what-to-deploy", "What to deploy", listing(&rules)), ranks));
    }
    let first = first(report)?;
    let mut listing = first.listing.without_secondary_columns().without_empty_columns();
    listing.columns.iter_mut().for_each(|column| column.meaning = "".into());
    let ranks = (0..listing.rows.len()).map(|row| -(row as f64)).collect();
    Some((Exhibit::new(first.id.clone(), first.title.clone(), listing), ranks))
}

/// What to deploy for one size, or for neighbouring sizes.
struct Rule<'a> {
    workload: &'a str,
    first: &'a Entry,
    last: &'a str,
    advice: &'a str,
    /// Empty where the choice is the library's.
    configuration: &'a str,
    why: Vec<&'a str>,
    support: Vec<&'a str>,
    /// The lowest and the highest gain in per cent.
    gain: Option<[f64; 2]>,
    /// The lowest and the highest end of the intervals of these gains.
    interval: Option<[f64; 2]>,
    note: &'a str,
}

/// The places of the columns of what to deploy, those of size, advice and configuration first; `None` for another
/// table.
fn rule_columns(listing: &Listing) -> Option<[Option<usize>; 8]> {
    let names = ["Size", "Advice", "Configuration", "Why", "Gain", "Gain interval", "Support", NOTE_COLUMN];
    let columns = names.map(|name| listing.columns.iter().position(|column| column.name == name));
    let names_workloads = listing.columns.iter().any(|column| column.name == WORKLOAD);
    (!names_workloads && !columns[..3].contains(&None)).then_some(columns)
}

/// Whether a report has tables of what to deploy, so that one row of them can be as important as another.
pub(super) fn lists_choices(report: &Report) -> bool {
    !rules(report).is_empty()
}

fn rules(report: &Report) -> Vec<Rule<'_>> {
    let mut rules: Vec<Rule<'_>> = Vec::new();
    for (section, table) in report.sections.iter().flat_map(|s| s.tables.iter().map(move |table| (s, table))) {
        let Some(columns) = rule_columns(&table.listing) else { continue };
        for row in &table.listing.rows {
            let cells = columns.map(|column| column.and_then(|column| row.get(column)));
            let [Some(first), advice, configuration, why, gain, interval, support, note] = cells else { continue };
            let rule = Rule {
                workload: &section.title,
                first,
                last: &first.text,
                advice: text(advice),
                configuration: if text(advice) == KEEP { "" } else { text(configuration) },
                why: words(why),
                support: words(support),
                gain: gain.and_then(|gain| gain.number).filter(|gain| gain.is_finite()).map(|gain| [gain; 2]),
                interval: ends(text(interval)),
                note: text(note),
            };
            match rules.last_mut() {
                Some(last) if last.is_same(&rule) => last.take(rule),
                _ => rules.push(rule),
            }
        }
    }
    rules
}

fn text(cell: Option<&Entry>) -> &str {
    cell.map_or("", |cell| &cell.text)
}

/// The text of a cell, if it has any.
fn words(cell: Option<&Entry>) -> Vec<&str> {
    Some(text(cell)).filter(|text| !text.is_empty()).into_iter().collect()
}

/// The ends of an interval such as `−2.5 to +10.4 %`.
fn ends(interval: &str) -> Option<[f64; 2]> {
    let (low, high) = interval.split_once(" to ")?;
    let end = |text: &str| number(&text.trim_end_matches(" %").replace('−', "-"));
    Some([end(low)?, end(high)?])
}

impl<'a> Rule<'a> {
    fn is_same(&self, other: &Self) -> bool {
        let what = |rule: &Self| (rule.workload == self.workload, rule.advice == self.advice, rule.note.is_empty());
        what(self) == what(other) && self.note.is_empty() && self.configuration == other.configuration
    }

    fn take(&mut self, next: Self) {
        let wider = |a: Option<[f64; 2]>, b: Option<[f64; 2]>| match (a, b) {
            (Some(a), Some(b)) => Some([a[0].min(b[0]), a[1].max(b[1])]),
            (a, b) => a.or(b),
        };
        self.last = next.last;
        self.gain = wider(self.gain, next.gain);
        self.interval = wider(self.interval, next.interval);
        for (all, more) in [(&mut self.why, next.why), (&mut self.support, next.support)] {
            all.extend(more.into_iter().filter(|word| !all.contains(word)).collect::<Vec<&'a str>>());
        }
    }

    /// How much it matters: without bound with a note, else the gain of deploying it, in per cent.
    fn rank(&self) -> f64 {
        match self.gain {
            _ if !self.note.is_empty() => f64::INFINITY,
            Some([_, high]) if self.advice != KEEP => high,
            _ => f64::NEG_INFINITY,
        }
    }

    /// `+12 % (8.1 to 15)`, of several sizes `+12 to +30 % (8.1 to 34)`; nothing where the default stays.
    fn gain(&self) -> Entry {
        let Some([low, high]) = self.gain.filter(|_| self.advice != KEEP) else { return Entry::default() };
        let (from, to) = (short(low, "+"), short(high, "+"));
        let mut text = if from == to { format!("{to} %") } else { format!("{from} to {to} %") };
        if let Some([low, high]) = self.interval {
            text += &format!(" ({} to {})", short(low, ""), short(high, ""));
        }
        Entry { text, number: Some(low) }
    }
}

/// Per cents with two digits, with `plus` before positive ones.
fn short(pct: f64, plus: &str) -> String {
    let decimals = usize::from(pct.abs() < 9.95);
    let sign = if pct < 0.0 { "−" } else { plus };
    format!("{sign}{:.decimals$}", pct.abs())
}

fn listing(rules: &[Rule<'_>]) -> Listing {
    let columns = [
        Column::words(WORKLOAD, ""),
        Column::numbers("Size", ""),
        Column::words("Advice", ""),
        Column::words("Configuration", ""),
        Column::words("Why", ""),
        Column::numbers("Gain", "over the default, with its interval"),
        Column::words("Support", ""),
        Column::words(NOTE_COLUMN, ""),
    ];
    let row = |rule: &Rule<'_>| {
        let size = match rule.first.text == rule.last {
            true => rule.first.text.clone(),
            false => format!("{} – {}", rule.first.text, rule.last),
        };
        vec![
            Entry::text(rule.workload),
            Entry { text: size, number: rule.first.number },
            Entry::text(rule.advice),
            Entry::text(rule.configuration),
            Entry::text(rule.why.join(", ")),
            rule.gain(),
            Entry::text(rule.support.join(", ")),
            Entry::text(rule.note),
        ]
    };
    let listing = Listing { columns: columns.to_vec(), rows: rules.iter().map(row).collect() };
    listing.without_empty_columns()
}
