//! The report of the training-time workbench: the step and what it is made of, memory, the best layouts, calibration,
//! and the health of the samples.

pub(super) mod estimate;
mod samples;

pub use samples::SHOWN;

use crate::report::{
    Contents, Exhibit, Fact, LoadedFile, Report, Section, Workbench, left_out,
    placement::{Figure, Tab},
    privacy::NameReplacements,
};
use crate::{
    text::{Column, Entry, Listing, Problems},
    training_time::{
        calibrate::{Applied, Calibration},
        interval::Basis,
        memory::{GIB, StageMemory},
        needs,
        prediction::Mark,
        regressors::what_if::{self, Change},
        search::{self, listing as layouts, views},
        settings::Group,
        step::{
            Component, Step, charts,
            listing::{self, share, time},
            plan::PartQuery,
        },
        study::{Outcome, Searched, StudyError, TrainingTimeStudy},
    },
    units::{capitalised, count, grouped, percent},
};

// The tabs, by which the page shows the sections.
const STEP: Tab = Tab::new("step", "Step");
const LAYER: Tab = Tab::new("layer", "Layer");
const MEMORY: Tab = Tab::new("memory", "Memory");
const LAYOUTS: Tab = Tab::new("layouts", "Layouts");
const CALIBRATION: Tab = Tab::new("calibration", "Calibration");
const NOT_SAMPLED: Tab = Tab::new("not-sampled", "Not sampled");
const SAMPLES: Tab = Tab::new("samples", "Samples");
const REGRESSORS: Tab = Tab::new("regressors", "Regressors");
const CATALOGUE: Tab = Tab::new("catalogue", "Catalogue");
const FILES: Tab = Tab::new("files", "Files");

/// The input of a report.
pub struct TrainingTimeReportInput<'a> {
    pub study: &'a TrainingTimeStudy,
    /// The run's step, or why there is none; `None` before its regressors are trained.
    pub outcome: Option<Result<&'a Outcome, String>>,
    /// The coefficients fitted to measured steps.
    pub calibration: Option<&'a Calibration>,
    pub searched: Option<&'a Searched>,
    /// The number of the regressor that is shown, and the input of its chart.
    pub shown: (Option<u32>, Option<String>),
    /// The reason why the catalogue entries that were entered can't be read.
    pub catalogue_error: Option<&'a str>,
    pub files: Vec<LoadedFile>,
    /// The same files: what their owner calls them, maybe with a path, and what of them can't be used.
    pub problems: Vec<(&'a str, &'a Problems)>,
}

/// Makes the report. Returns an error if there are no samples.
pub fn report(material: TrainingTimeReportInput<'_>, contents: &Contents) -> Result<Report, StudyError> {
    let TrainingTimeReportInput { study, outcome, calibration, searched, shown, catalogue_error, mut files, problems } =
        material;
    let privacy = NameReplacements::of(contents, &mut files, &problems);
    let settings = study.settings();
    let mut summary = Vec::new();
    let mut in_view = 1;
    let mut sections = Vec::new();
    let notes = study.notes();
    let mut needs = study.needs();
    if let Some(Ok(outcome)) = &outcome {
        needs.extend(needs::points(&outcome.plan));
    }
    let missing = samples::missing(study, &needs);
    let is_hopeless = needs.iter().any(|need| need.instead.is_none());
    if is_hopeless {
        sections.extend(missing.clone().map(|section| section.on(NOT_SAMPLED)));
    }
    match &outcome {
        Some(Ok(outcome)) => {
            summary.push(headline(outcome));
            summary.extend(doubts(outcome));
            in_view = summary.len();
            summary.extend(step_sentences(outcome));
            sections.extend(step(outcome, &settings.changes));
        }
        Some(Err(why)) => summary.push(format!("There is no step: {why}.")),
        None if is_hopeless => {
            summary.push("The run can't be predicted: what it needs and nobody sampled is below.".to_owned());
        }
        None if settings.run.is_some() => summary.push("The run's operators are being learnt.".to_owned()),
        None => {
            summary.push("There is no run to predict: give a run configuration, or type one.".to_owned());
            summary.extend(samples::refused_runs(study.bundle()));
        }
    }
    summary.extend(notes.iter().map(|note| sentence(note)));
    match searched {
        Some(searched) => {
            summary.extend(best(searched));
            sections.push(search_section(searched).on(LAYOUTS));
        }
        None => {
            let text = vec!["Type how many GPUs the job has, and all layouts on them are searched.".into()];
            sections.push(Section { text, ..Section::with_form(Group::Search) }.on(LAYOUTS));
        }
    }
    match calibration {
        Some(calibration) => sections.push(calibration_section(study, calibration).on(CALIBRATION)),
        None if !study.bundle().steps.is_empty() => {
            let section = Section { text: vec![uncalibrated(study)], ..Section::with_form(Group::Calibration) };
            sections.push(section.on(CALIBRATION));
        }
        None => {}
    }
    sections.extend(missing.filter(|_| !is_hopeless).map(|section| section.on(NOT_SAMPLED)));
    sections.push(samples::health(study)?.on(SAMPLES));
    let predicted = outcome.as_ref().and_then(|outcome| outcome.as_ref().ok().copied());
    sections.push(samples::regressors(study, predicted, shown)?.on(REGRESSORS));
    sections.push(samples::catalogue(&study.bundle().catalogue, catalogue_error).on(CATALOGUE));
    sections.push(samples::files(study.bundle()).on(FILES));
    sections.extend(left_out::section(&problems).map(|section| section.on(FILES)));
    if !contents.charts {
        sections.iter_mut().for_each(|section| section.charts.clear());
    }
    let name = settings.run.as_ref().map_or("Samples", |run| run.name.as_str());
    let mut report = Report {
        workbench: Workbench::TrainingTime,
        title: match &outcome {
            Some(Ok(outcome)) => format!("{name}: a step of {}", time(outcome.step.total_us)),
            _ => format!("Training time: {name}"),
        },
        summary,
        program: concat!("collectune ", env!("CARGO_PKG_VERSION")).into(),
        made_on: contents.made_on.clone(),
        files,
        parameters: parameters(study),
        sections,
        figures: outcome.and_then(Result::ok).map(figures).unwrap_or_default(),
        in_view,
        ..Report::default()
    };
    privacy.apply(&mut report);
    Ok(report)
}

/// The most suspect times in the summary; all of them are in the table of times.
const DOUBTS: usize = 3;

/// What makes the step doubtful: that it does not fit, and suspect times.
fn doubts(outcome: &Outcome) -> Vec<String> {
    let unfit = listing::fits(&outcome.memory, outcome.capacity_bytes).filter(|_| !outcome.fits());
    let suspect = outcome.plan.suspect_times();
    unfit.into_iter().chain(suspect.iter().take(DOUBTS).map(|doubt| sentence(&doubt.why))).collect()
}

/// The time of the step in a sentence.
fn headline(outcome: &Outcome) -> String {
    let step = &outcome.step;
    let [low, high] = outcome.interval_us;
    let layout = &outcome.plan.run.layout;
    let interval = match outcome.basis {
        basis if basis.is_interval() => format!(", {} to {} in nine of ten cases", time(low), time(high)),
        _ => String::new(),
    };
    format!(
        "A step takes {}{interval}, on {} GPUs (pp {}, tp {}, dp {}): {} tokens per second and GPU; the pipeline \
         waits {} of it.",
        time(step.total_us),
        layout.gpus(),
        layout.pipeline,
        layout.tensor,
        layout.data,
        grouped(outcome.tokens_per_gpu.round() as u64),
        share(waiting(step))
    )
}

/// The share of the step's time that the busiest stage waits for others.
fn waiting(step: &Step) -> f64 {
    step.components.of(Component::Bubble) / step.total_us
}

/// What else there is to say of the step, beside its [`headline`] and its [`doubts`].
fn step_sentences(outcome: &Outcome) -> Vec<String> {
    let [low, high] = outcome.interval_us;
    let mut sentences = Vec::new();
    if !outcome.basis.is_interval() && outcome.basis != Basis::Nothing {
        sentences.push(format!("{} to {}: {}.", time(low), time(high), outcome.basis.source_phrase()));
    }
    sentences.extend(changed(outcome));
    let beyond = outcome.marks[Mark::Extrapolated as usize] + outcome.marks[Mark::Suspect as usize];
    sentences.push(if beyond > 0.0 {
        format!("{} of its time is extrapolated or suspect.", share(beyond))
    } else {
        "None of it is extrapolated.".to_owned()
    });
    if outcome.fits() {
        sentences.extend(listing::fits(&outcome.memory, outcome.capacity_bytes));
    }
    sentences
}

/// The step's time with its interval, what it processes, what the pipeline waits, and the memory of the fullest stage.
fn figures(outcome: &Outcome) -> Vec<Figure> {
    let [low, high] = outcome.interval_us;
    let beyond = outcome.marks[Mark::Extrapolated as usize] + outcome.marks[Mark::Suspect as usize];
    let range = match outcome.basis {
        Basis::Nothing => "no interval".to_owned(),
        basis if basis.is_interval() => format!("{} to {} (90 %)", time(low), time(high)),
        Basis::Samples => format!("{} to {} by the errors of its samples alone", time(low), time(high)),
        Basis::Steps(_) => format!("{} to {}, no 90 % interval", time(low), time(high)),
    };
    let sure = if beyond > 0.0 { format!("{range}; {} extrapolated", share(beyond)) } else { range };
    let memory = outcome.memory.iter().map(StageMemory::total).fold(0.0, f64::max) / GIB;
    let fits = outcome.capacity_bytes.map_or_else(String::new, |capacity| {
        let verdict = if memory * GIB > capacity { "does not fit" } else { "fits" };
        format!("of {:.1} GiB: {verdict}", capacity / GIB)
    });
    vec![
        Figure::new("Step", time(outcome.step.total_us), sure),
        Figure::new("Tokens", format!("{} /s", grouped(outcome.tokens_per_gpu.round() as u64)), "of each GPU"),
        Figure::new("Pipeline waits", share(waiting(&outcome.step)), "of the step"),
        Figure::new("Memory", format!("{memory:.1} GiB"), fits),
    ]
}

/// The effect of the changes in a sentence; `None` if there are none.
fn changed(outcome: &Outcome) -> Option<String> {
    Some(changed_by(outcome.step.total_us, outcome.unchanged_us?))
}

/// The effect of changes on the time of a step in a sentence.
fn changed_by(after_us: f64, before_us: f64) -> String {
    if after_us == before_us {
        return "What is changed changes nothing here.".to_owned();
    }
    format!("The changes make it {} ({} before).", percent((after_us / before_us - 1.0) * 100.0), time(before_us))
}

/// The step with other times, beside what can be changed.
fn what_if(outcome: &Outcome, changes: &[Change]) -> Section {
    let collectives = outcome.plan.parts.iter().filter_map(|part| match part.asked {
        PartQuery::Collective(_, communicator) => Some((part.name.as_str(), communicator)),
        PartQuery::Operator(..) => None,
    });
    let collectives: Vec<_> = collectives.collect();
    let mut text: Vec<String> = changed(outcome).into_iter().collect();
    text.extend(what_if::table_notes(changes, &collectives));
    if text.is_empty() {
        text.push("These times and curves can be changed: the step and the layouts follow.".into());
    }
    Section { text, ..Section::with_form(Group::WhatIf) }
}

fn step(outcome: &Outcome, changes: &[Change]) -> Vec<Section> {
    let marks = Mark::ALL.map(|mark| (mark, outcome.marks[mark as usize]));
    let marks = Listing {
        columns: vec![
            Column::words("Where from", "measured, interpolated, extrapolated, or suspect"),
            Column::numbers("Share", "of the step's time"),
        ],
        rows: marks
            .iter()
            .map(|(mark, of)| vec![Entry::text(listing::mark(*mark)), Entry::number(Some(*of), share)])
            .collect(),
    };
    let mut charts_of_step = vec![charts::breakdown(&outcome.step)];
    charts_of_step.extend(charts::timeline(&outcome.plan, &outcome.step));
    vec![
        Section {
            title: "Step".into(),
            charts: charts_of_step,
            tables: vec![
                Exhibit::new("components", "What the time goes into", listing::components(&outcome.step)),
                Exhibit::new("marks", "Where it comes from", marks),
                Exhibit::new("stages", "Stages", listing::stages(&outcome.step)),
            ],
            ..Section::default()
        }
        .as_picture()
        .on(STEP),
        what_if(outcome, changes).on(STEP),
        Section {
            title: "Layer".into(),
            tables: vec![
                Exhibit::new("layer", "One layer and micro-batch", listing::layer(&outcome.plan)),
                Exhibit::new("parts", "All times that the step is made of", listing::parts(&outcome.plan)),
            ],
            ..Section::default()
        }
        .on(LAYER),
        Section {
            title: "Memory".into(),
            tables: vec![Exhibit::new(
                "memory",
                "Memory of each stage",
                listing::memory(&outcome.memory, outcome.capacity_bytes),
            )],
            ..Section::default()
        }
        .on(MEMORY),
    ]
}

/// The best layout in sentences.
fn best(searched: &Searched) -> Vec<String> {
    let found = &searched.found;
    let Some(first) = found.rows.first() else {
        return found.nothing().into_iter().map(|why| sentence(&why)).collect();
    };
    let ties = found.rows.iter().filter(|row| row.rank == first.rank && row.rank.is_some()).count();
    let tied = match ties {
        0 | 1 => String::new(),
        2 => "; another one can't be told from it".to_owned(),
        _ => format!("; {} others can't be told from it", ties - 1),
    };
    let best = if found.is_partial { "The best layout so far is" } else { "The best layout is" };
    let mut sentences = vec![format!("{best} {}: {}{tied}.", views::words(first), time(first.total_us))];
    match &found.covered {
        Some(row) if row != first => sentences.push(format!(
            "The best that needs no extrapolation is {}: {}.",
            views::words(row),
            time(row.total_us)
        )),
        None if !found.is_partial => sentences.push("Every layout needs extrapolation.".to_owned()),
        _ => {}
    }
    if let Some(before) = &searched.unchanged {
        let same = (before.layout, before.micro_batch) == (first.layout, first.micro_batch);
        sentences.push(if same {
            format!("Without the changes it is the best as well, with {}.", time(before.total_us))
        } else {
            format!("Without the changes the best is {}: {}.", views::words(before), time(before.total_us))
        });
    }
    sentences
}

fn search_section(searched: &Searched) -> Section {
    let found: &search::SearchResult = &searched.found;
    let looked_at = format!(
        "{} layouts, {} candidates with a micro-batch fit, {} were looked at; {}.",
        found.layouts,
        found.candidates,
        found.looked_at,
        if found.is_partial { "these are the first" } else { "no other can be among those listed" }
    );
    Section {
        text: best(searched).into_iter().take(1).chain([looked_at]).collect(),
        charts: vec![views::time_over_memory(found), views::by_degrees(found)],
        tables: vec![
            Exhibit::new("layouts", "Layouts by step time", layouts::layouts(&found.rows, found.basis)),
            Exhibit::new("layouts-dropped", "Layouts that were left out", layouts::dropped(found)),
        ],
        ..Section::with_form(Group::Search)
    }
}

fn uncalibrated(study: &TrainingTimeStudy) -> String {
    match study.settings().calibrate {
        None => "Choose a table of measured steps, and the coefficients that they tell are applied here and in the search.",
        Some((table, _)) if study.ran_on(table).is_none() => {
            "Say on which cluster these steps were measured: neither their folder nor the samples name one that the catalogue \
             knows."
        }
        Some((table, _)) if study.bundle().steps.get(table).is_some_and(|steps| steps.suspicion.is_some()) => {
            "The times of these steps have a doubtful unit: say which it is under the health of the samples."
        }
        Some(_) => "The operators of the measured steps are being learnt.",
    }
    .to_owned()
}

fn calibration_section(study: &TrainingTimeStudy, calibration: &Calibration) -> Section {
    let ran_on = study.settings().calibrate.and_then(|(table, _)| study.ran_on(table)).unwrap_or_default();
    let settings = study.settings();
    let search = settings.search.as_ref().map(|question| &question.run);
    let model = settings.run.as_ref().or(search).map(|run| &run.model);
    let applied = model.map_or_else(Applied::default, |model| calibration.applied(model, settings.calibrate_anyway));
    let remedy = (!applied.is_used).then(|| "Choose to use the coefficients anyway, and they are.".to_owned());
    let left_out = calibration.left_out.first().map(|(step, why)| {
        let all = count(calibration.left_out.len() as u64, "measured step");
        format!("{all} left out; the first, {step}: {why}.")
    });
    Section {
        text: std::iter::once(sentence(&calibration.sentence(ran_on, study.samples_of(), &applied)))
            .chain(remedy)
            .chain(left_out)
            .collect(),
        charts: vec![calibration.chart()],
        tables: vec![
            Exhibit::new("calibration-errors", "How well measured steps are predicted", calibration.scores_listing()),
            Exhibit::new("coefficients", "Coefficients", calibration.coefficients_listing()),
        ],
        ..Section::with_form(Group::Calibration)
    }
}

fn parameters(study: &TrainingTimeStudy) -> Vec<Fact> {
    let settings = study.settings();
    let fact = |name: &str, value: String| Fact { name: name.into(), value };
    let cluster =
        study.bundle().clusters.get(settings.cluster).map_or_else(String::new, |cluster| cluster.name.clone());
    let mut facts = vec![
        fact("Mode", settings.mode.name().to_owned()),
        fact("Cluster", cluster),
        fact("Seed", settings.seed.to_string()),
    ];
    if let Some(run) = &settings.run {
        let (layout, model) = (&run.layout, &run.model);
        facts.push(fact(
            "Model",
            format!(
                "{} layers, hidden {}, {} heads, sequence {}, vocabulary {}",
                model.layers, model.hidden, model.heads, model.sequence, model.vocabulary
            ),
        ));
        facts.push(fact(
            "Layout",
            format!(
                "pp {}, tp {}, dp {}, ep {}, {} GPUs a node, b {}, m {}",
                layout.pipeline,
                layout.tensor,
                layout.data,
                layout.expert,
                layout.gpus_per_node,
                run.micro_batch,
                run.micro_batches
            ),
        ));
    }
    facts
}

/// The text as a sentence, with a capital letter and a full stop.
fn sentence(text: &str) -> String {
    capitalised(text) + if text.ends_with('.') { "" } else { "." }
}
