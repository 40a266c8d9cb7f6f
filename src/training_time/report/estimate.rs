//! The report on a step that is estimated without samples.

use super::{
    CATALOGUE, FILES, LAYOUTS, MEMORY, STEP, TrainingTimeReportInput, changed_by, left_out, samples, sentence,
};
use crate::{
    report::{
        Contents, Exhibit, Fact, Report, Section, Workbench,
        placement::{Figure, Tab},
        privacy::NameReplacements,
    },
    training_time::{
        estimate::{charts, listing, question::Estimated},
        models::Transformer,
        settings::Group,
        step::listing::time,
    },
    units::count,
};

/// The model and its step, or why there is none.
pub(crate) type EstimatedModel = (String, Transformer, Result<Estimated, String>);

const MODEL: Tab = Tab::new("model", "Model");
const TRACES: Tab = Tab::new("traces", "Traces");
const EXCHANGES: Tab = Tab::new("exchanges", "Exchanges");

/// The most warnings beside the answer; the others follow on demand.
const IN_VIEW: usize = 3;

/// Makes the report where there are no samples.
pub(crate) fn report(
    material: TrainingTimeReportInput<'_>,
    (name, model, answer): &EstimatedModel,
    contents: &Contents,
) -> Report {
    let TrainingTimeReportInput { study, catalogue_error, mut files, problems, .. } = material;
    let privacy = NameReplacements::of(contents, &mut files, &problems);
    let mut summary = Vec::new();
    let mut sections = Vec::new();
    let mut figures = Vec::new();
    let mut in_view = 1;
    match answer {
        Ok(answer) => {
            summary.push(sentence(&listing::headline(answer)));
            let warnings = listing::warnings(answer);
            in_view = 1 + warnings.len().min(IN_VIEW);
            summary.extend(warnings.iter().map(|warning| sentence(warning)));
            summary.push(sentence(&listing::layout_in_words(answer)));
            summary.extend(listing::notes(answer).iter().map(|note| sentence(note)));
            figures = of(answer);
            sections.push(
                Section {
                    title: "Step".into(),
                    charts: vec![charts::breakdown(answer)],
                    tables: vec![Exhibit::new(
                        "components",
                        "What the time goes into",
                        listing::components(&answer.step),
                    )],
                    ..Section::default()
                }
                .as_picture()
                .on(STEP),
            );
            let exchanges = listing::exchanges(answer);
            sections.push(
                Section {
                    text: std::iter::once(answer.unchanged_us.map_or_else(
                        || "These times and curves can be changed: the step and the layouts follow.".into(),
                        |before_us| changed_by(answer.step.time_us, before_us),
                    ))
                    .chain(listing::exchanges_in_words(answer).map(|words| sentence(&words)))
                    .collect(),
                    tables: if exchanges.rows.is_empty() {
                        Vec::new()
                    } else {
                        vec![Exhibit::new("exchanges", "What ranks exchange", exchanges)]
                    },
                    ..Section::with_form(Group::WhatIf)
                }
                .on(EXCHANGES),
            );
            if !answer.traces.is_empty() {
                sections.push(
                    Section {
                        title: "Traces".into(),
                        text: answer.traces.iter().map(|trace| sentence(&listing::trace_in_words(trace))).collect(),
                        tables: (1..)
                            .zip(&answer.traces)
                            .map(|(number, trace)| {
                                Exhibit::new(
                                    format!("trace-{number}"),
                                    "Where a traced step goes",
                                    listing::trace(trace),
                                )
                            })
                            .collect(),
                        ..Section::default()
                    }
                    .on(TRACES),
                );
            }
            sections.push(
                Section {
                    text: vec![sentence(&answer.layouts.in_words())],
                    charts: vec![charts::time_over_memory(&answer.layouts), charts::by_degrees(&answer.layouts)],
                    tables: vec![Exhibit::new(
                        "layouts",
                        "Layouts by step time",
                        listing::layouts(&answer.layouts.ranked),
                    )],
                    ..Section::with_form(Group::Estimate)
                }
                .on(LAYOUTS),
            );
            sections.push(
                Section {
                    title: "Memory".into(),
                    tables: vec![Exhibit::new("memory", "Memory of the fullest stage", listing::memory(&answer.step))],
                    ..Section::default()
                }
                .on(MEMORY),
            );
        }
        Err(why) => {
            summary.push(format!("There is no step: {why}."));
            sections.push(Section::with_form(Group::Estimate).on(LAYOUTS));
        }
    }
    let sequence = answer.as_ref().map_or(4096, |answer| answer.sequence);
    sections.push(
        Section {
            tables: vec![Exhibit::new("model", "The model", listing::model(model, sequence))],
            ..Section::with_form(Group::Model)
        }
        .on(MODEL),
    );
    sections.push(samples::catalogue(&study.bundle().catalogue, catalogue_error).on(CATALOGUE));
    sections.push(samples::files(study.bundle()).on(FILES));
    sections.extend(left_out::section(&problems).map(|section| section.on(FILES)));
    if !contents.charts {
        sections.iter_mut().for_each(|section| section.charts.clear());
    }
    let mut report = Report {
        workbench: Workbench::TrainingTime,
        title: match answer {
            Ok(answer) => format!("{name}: a step of about {}", time(answer.step.time_us)),
            Err(_) => format!("Training time: {name}"),
        },
        summary,
        program: concat!("collectune ", env!("CARGO_PKG_VERSION")).into(),
        made_on: contents.made_on.clone(),
        files,
        parameters: computed_with(answer),
        sections,
        figures,
        in_view,
        ..Report::default()
    };
    privacy.apply(&mut report);
    report
}

/// What the step was computed for, beside its layout.
fn computed_with(answer: &Result<Estimated, String>) -> Vec<Fact> {
    let fact = |name: &'static str, value: String| Fact { name: name.into(), value };
    let mut facts = vec![fact("Mode", "no samples".to_owned())];
    if let Ok(answer) = answer {
        facts.push(fact("Sequence", count(answer.sequence.into(), "token")));
        facts.push(fact("Global batch", count(answer.global_batch, "sequence")));
    }
    facts
}

/// The step with its interval, what it processes, the share of the peak, and the memory.
fn of(answer: &Estimated) -> Vec<Figure> {
    let [low, high] = answer.step.interval_us;
    let mut figures = vec![Figure::new(
        "Step",
        time(answer.step.time_us),
        format!("{} to {} (90 %), no samples", time(low), time(high)),
    )];
    let notes = ["of each GPU", "of the peak, without recomputation", "", "of the fullest stage"];
    let named = listing::figures(answer).into_iter().zip(notes).filter(|((name, _), _)| *name != "Tokens/day");
    figures.extend(named.map(|((name, value), note)| Figure::new(name, value, note)));
    figures
}
