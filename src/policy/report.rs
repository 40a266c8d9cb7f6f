//! The report of the policy workbench: what to run for each key and how sure that is, one key in detail, what overlap
//! changes, what strategies would have cost, and files to deploy.

use crate::report::{
    Contents, Exhibit, Fact, LoadedFile, Report, Section, TextFile, Workbench, left_out,
    placement::{Figure, Tab},
    privacy::NameReplacements,
};
use crate::{
    conf::Reader,
    form::RowChoice,
    policy::{
        request::{Export, Highlight},
        result::{Decision, Flag, KeyResult, StudyError},
        settings::Group,
        study::PolicyStudy,
    },
    text::Problems,
    units::{count, percent},
};

// The tabs, by which the page shows the sections.
const DECISION: Tab = Tab::new("decision", "Decision");
const ARMS: Tab = Tab::new("arms", "Arms");
const OVERLAP: Tab = Tab::new("overlap", "Overlap");
const STRATEGIES: Tab = Tab::new("strategies", "Strategies");
const FILES: Tab = Tab::new("files", "Files");

/// The input of a report.
pub struct PolicyReportInput<'a> {
    pub study: &'a PolicyStudy,
    /// The index of the key that is shown in detail.
    pub key: u32,
    pub highlight: &'a Highlight,
    /// Whether the fields of strategies have a section before the first results.
    pub awaits_replay: bool,
    /// The generation of the policy file.
    pub generation: u64,
    pub files: Vec<LoadedFile>,
    /// The same files: what their owner calls them, maybe with a path, and what of them can't be used.
    pub problems: Vec<(&'a str, &'a Problems)>,
}

/// What the page shows where no log can be used: what they lack, and the fields in which it is said.
pub fn of_lacking(lacking: &str) -> Report {
    Report {
        workbench: Workbench::Policy,
        title: "The logs don't say enough".to_owned(),
        summary: vec![format!("No log can be used: {lacking}.")],
        sections: vec![Section::with_form(Group::Attribution)],
        ..Report::default()
    }
}

/// Makes the report. Returns an error if there is no such key.
pub fn report(material: PolicyReportInput<'_>, contents: &Contents) -> Result<Report, StudyError> {
    let PolicyReportInput { study, key, highlight, awaits_replay, generation, mut files, problems } = material;
    let studied = study.studied();
    let privacy = NameReplacements::of(contents, &mut files, &problems);
    let mut sections = Vec::new();
    if !studied.results.is_empty() {
        let mut keys = Exhibit::new("policy-keys", "Keys", studied.listing.clone());
        let values = (1..=studied.results.len()).map(|place| place.to_string()).collect();
        keys.choose = Some(RowChoice { key: "key".into(), values });
        let text = studied.logs.iter().map(|log| format!("{}: {}.", log.name, log.attribution)).collect();
        let decision = Section { title: "Decision".into(), text, tables: vec![keys], ..Section::default() };
        sections.push(decision.on(DECISION));
        sections.push(of_key(study, key, highlight, contents)?.on(ARMS));
    }
    if !studied.overlap.rows.is_empty() {
        let overlap = Section {
            title: "Overlap".into(),
            text: vec!["A flip is shown only where both winners are better in their mode with 95 %: of K arms that are all alike, (K − 1)/K of the cells flip by chance.".into()],
            tables: vec![Exhibit::new("policy-overlap", "With and without overlap", studied.overlap.clone())],
            ..Section::default()
        };
        sections.push(overlap.on(OVERLAP));
    }
    let strategies = study.replayed().map(|replayed| {
        let charts = [&replayed.regret, &replayed.shares];
        let mut table = Exhibit::new("policy-strategies", "Strategies", replayed.listing.clone());
        let values = (1..=replayed.listing.rows.len()).map(|place| place.to_string()).collect();
        table.choose = Some(RowChoice { key: "strategy".into(), values });
        Section {
            text: replayed.sentences.clone(),
            charts: charts.into_iter().flatten().filter(|_| contents.charts).cloned().collect(),
            tables: vec![table],
            ..Section::with_form(Group::Strategies)
        }
    });
    // The fields stay where they are until the first results come, and so does the focus.
    let awaited = || awaits_replay.then(|| Section::with_form(Group::Strategies));
    if let Some(strategies) = strategies.or_else(awaited) {
        let strategies = if studied.results.is_empty() { strategies.as_picture() } else { strategies };
        sections.push(strategies.on(STRATEGIES));
    }
    for (place, of) in studied.tables.iter().enumerate() {
        let (title, heading, text) = if of.is_policy {
            ("Policy", "What it runs", "what its plugin runs; a key that is not listed runs auto.")
        } else {
            ("Tables of means", "Means", "a table of means has no spread in it, and nothing is concluded from it.")
        };
        let table = Section {
            title: title.into(),
            text: vec![format!("{}: {text}", of.name)],
            tables: vec![Exhibit::new(format!("policy-means-{}", place + 1), heading, of.listing.clone())],
            ..Section::default()
        };
        sections.push(table.on(FILES));
    }
    if contents.deployables && !studied.results.is_empty() {
        let files = Section { title: "Files".into(), files: deployables(study, generation), ..Section::default() };
        sections.push(files.on(FILES));
    }
    let of_logs = study.logs().iter().flat_map(|named| {
        named.log.notes.iter().map(|note| format!("{}: {note}.", named.name)).collect::<Vec<String>>()
    });
    let notes: Vec<String> = of_logs.chain(studied.notes.iter().map(|note| format!("{note}."))).collect();
    if !notes.is_empty() {
        sections.push(Section { title: "Notes".into(), text: notes, ..Section::default() }.on(DECISION));
    }
    sections.extend(left_out::section(&problems).map(|section| section.on(FILES)));
    let fact = |name: &str, value: String| Fact { name: name.into(), value };
    let bounds: Vec<String> =
        studied.settings.bands.bounds().iter().map(|bound| crate::units::Size(*bound).to_string()).collect();
    let mut parameters =
        vec![fact("Bands end before", bounds.join(", ")), fact("Seed", studied.settings.seed.to_string())];
    parameters.extend(studied.settings.library.clone().map(|version| fact("Library", version)));
    let mut report = Report {
        workbench: Workbench::Policy,
        title: title(study),
        summary: summary(study, key as usize),
        program: concat!("collectune ", env!("CARGO_PKG_VERSION")).into(),
        made_on: contents.made_on.clone(),
        files,
        parameters,
        sections,
        figures: studied.results.get(key as usize).map(figures).unwrap_or_default(),
        ..Report::default()
    };
    privacy.apply(&mut report);
    Ok(report)
}

/// What to run for a key, what it saves, and how sure that is.
fn figures(of: &KeyResult) -> Vec<Figure> {
    let key = of.key.map_or_else(String::new, |key| key.to_string());
    let run = match of.decision {
        Decision::None => "no decision".to_owned(),
        Decision::Keep | Decision::Deploy(_) => of.chosen().to_string(),
    };
    let mut figures = vec![Figure::new("Run", run, key)];
    let candidate = of.of_candidate();
    figures.extend(candidate.and_then(|arm| Some((arm.arm, arm.compared()?))).map(|(arm, against)| {
        let range = format!("{:.1} to {:.1} % (95 %), of {arm}", against.gain_low_pct, against.gain_high_pct);
        Figure::new("Time saved", percent(against.gain_pct), range)
    }));
    figures.extend(of.p_better().map(|p| Figure::new("P(better)", format!("{:.1} %", p * 100.0), "than auto")));
    figures.push(Figure::new("Independent values", format!("{:.0}", of.n_eff()), "of the arm that has fewest"));
    figures
}

fn title(study: &PolicyStudy) -> String {
    let results = study.results();
    if results.is_empty() {
        let tables = &study.studied().tables;
        return match tables.first() {
            None => "A simulation of strategies",
            Some(_) if tables.iter().all(|table| table.is_policy) => "What a policy runs",
            Some(_) => "A table of means",
        }
        .into();
    }
    let deployed = results.iter().filter(|of| matches!(of.decision, Decision::Deploy(_))).count();
    format!("{deployed} of {} worth another arm than auto", count(results.len() as u64, "key"))
}

/// A sentence on each key, for the first few; first on the one that is shown.
fn summary(study: &PolicyStudy, shown: usize) -> Vec<String> {
    const MOST: usize = 6;
    let results = study.results();
    let of_shown = results.get(shown).into_iter();
    let others = results.iter().enumerate().filter(|(place, _)| *place != shown).map(|(_, of)| of);
    let mut told: Vec<String> = of_shown
        .chain(others)
        .take(MOST)
        .filter_map(|of| Some(format!("{}: {}. {}", of.key?, of.verdict, of.sentences.first()?)))
        .collect();
    if results.len() > MOST {
        told.push(format!("And {} more.", count((results.len() - MOST) as u64, "key")));
    }
    if results.iter().any(|of| of.flags.contains(&Flag::CommunicationOnly)) {
        told.push("Communication only: a collective that is faster alone may slow the computation beside it.".into());
    }
    if results.is_empty() {
        told.extend(study.replayed().iter().flat_map(|of| of.sentences.iter().skip(1).cloned()));
    }
    told
}

fn of_key(study: &PolicyStudy, place: u32, highlight: &Highlight, contents: &Contents) -> Result<Section, StudyError> {
    let results = study.results();
    let of = results.get(place as usize).ok_or(StudyError::NoKey(place))?;
    let shown = study.key(place, highlight)?;
    let mut text: Vec<String> = of.key.iter().map(|key| format!("{key}: {}.", of.verdict)).collect();
    text.push(of.estimator.words().to_owned());
    text.extend(of.sentences.iter().cloned());
    let mut arms = Exhibit::new("policy-arms", "Arms", shown.arms.without_empty_columns());
    let values = of.arms.iter().map(|arm| arm.arm.to_string()).collect();
    arms.choose = Some(RowChoice { key: "arm".into(), values });
    let mut tables = vec![arms];
    if !shown.estimates.rows.is_empty() {
        tables.push(Exhibit::new(
            "policy-estimates",
            "On the very lines of the log",
            shown.estimates.without_empty_columns(),
        ));
    }
    let charts = [Some(shown.latencies), shown.posteriors];
    let charts = charts.into_iter().flatten().filter(|chart| contents.charts && !chart.series.is_empty()).collect();
    Ok(Section { text, charts, tables, ..Section::with_form(Group::Key) }.as_picture())
}

fn deployables(study: &PolicyStudy, generation: u64) -> Vec<TextFile> {
    let policy = study.export(&Export::Policy(generation));
    let confs = Reader::OF_CONF.iter().filter_map(|reader| Some((*reader, study.export(&Export::Conf(*reader)).ok()?)));
    let named = |(reader, files): (Reader, Vec<TextFile>)| {
        files.into_iter().map(move |file| TextFile { name: format!("{}_{}", reader.key(), file.name), ..file })
    };
    let all = policy.into_iter().flatten().chain(confs.flat_map(named));
    all.collect()
}
