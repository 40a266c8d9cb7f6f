//! What the commands of training time share: files become a study that is learnt on all processors.

use std::path::{Path, PathBuf};

use clap::{Args, builder::TypedValueParser};
use serde::Serialize;

use crate::{
    cli::{
        arguments::{self, Measured},
        error::{CliError, refuse, told},
        files,
        json::object,
        terminal, threads,
    },
    intake::{FileReport, Outcome},
    progress::Silent,
    report::Workbench,
    training_time::{
        bundle::{Bundle, FileAnswer, FileQuestion, FileUse, QuestionKind, Unit},
        calibrate::{Calibration, Terms},
        health::Flag,
        loaded::DroppedFiles,
        memory,
        prediction::Mark,
        read::name::stem,
        regressors::Mode,
        run::Run,
        steps::StepTable,
        study::{Settings, StudyError, TrainingTimeStudy},
    },
    units::{count, grouped},
};

/// What is predicted, from which files.
#[derive(Args)]
pub(super) struct BundleArguments {
    /// Samples of operators and collectives, regressor settings, catalogues: files, folders or archives
    #[arg(required = true, value_name = "BUNDLE")]
    bundle: Vec<PathBuf>,

    /// Configuration of the run: YAML, or vTrain's JSON
    #[arg(long, value_name = "CONFIG")]
    run: Option<PathBuf>,

    /// How times are learnt, and how a step is composed of them
    #[arg(long, value_enum, default_value_t)]
    mode: Mode,

    /// Measured steps to calibrate with; all-reduce tables among them are used too
    #[arg(long, value_name = "MEASURED", num_args = 1..)]
    calibrate: Vec<PathBuf>,

    /// The cluster of the catalogue that they ran on; where not given, as their path or the samples tell
    #[arg(long, value_name = "NAME", requires = "calibrate")]
    measured_on: Option<String>,

    /// The architecture of the catalogue that they are of, where they do not say it; where not given, that of the
    /// catalogue's entry of their cluster, or of the run
    #[arg(long, value_name = "NAME", requires = "calibrate")]
    measured_as: Option<String>,

    /// Use their coefficients also where they make models like the run's worse
    #[arg(long, requires = "calibrate")]
    calibrate_anyway: bool,

    /// How many coefficients are fitted
    #[arg(long, value_name = "N", default_value = "4", value_parser = terms(), requires = "calibrate")]
    coefficients: Terms,

    /// The cluster whose samples are used, where several were given; also instead of missing samples of the run's GPU
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,

    /// The answer to an open question about a file: its operator, seconds, bytes, as-written or both; out leaves the
    /// file out
    #[arg(long, value_name = "FILE=ANSWER")]
    answer: Vec<String>,

    /// What of a GPU's memory is kept free, in GiB
    #[arg(long, value_name = "GIB", default_value_t = memory::RESERVE_GIB, value_parser = gib())]
    reserve: f64,

    /// Seed of what is drawn at random
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,

    /// Write the answer as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Says what the terminal can do about an error of the study.
pub(super) fn with_remedy(error: StudyError) -> CliError {
    match error {
        StudyError::OtherGpu(why) => told(format!("{why}: --cluster NAME")),
        error => error.into(),
    }
}

/// Parses a number of GiB, at least 0.
pub(super) fn gib() -> impl Fn(&str) -> Result<f64, &'static str> + Clone {
    arguments::number(0.0..=f64::MAX, "expected GiB, such as 80")
}

fn terms() -> impl TypedValueParser<Value = Terms> {
    arguments::one_of(&[Terms::Four, Terms::Six], |terms| if terms == Terms::Six { "6" } else { "4" })
}

const READS: files::Reads = files::Reads::Of(Workbench::TrainingTime);

/// The study and files that a command works on.
pub(super) struct Opened {
    pub(super) study: TrainingTimeStudy,
    pub(super) settings: Settings,
}

impl BundleArguments {
    /// The study of the files, and the settings that the arguments make, with the run if there is one. What became of
    /// the files is said. Fails if a file that was named, or that is one of samples and configurations, can't be used,
    /// or an argument names nothing.
    pub(super) fn open(&self) -> Result<Opened, CliError> {
        let paths: Vec<PathBuf> = self.bundle.iter().chain(&self.run).chain(&self.calibrate).cloned().collect();
        let opened = files::read_untold(&paths, &Measured::default(), READS)?;
        let taken: Vec<u32> = opened.parts.samples.iter().map(|(id, _)| *id).collect();
        let mut dropped = DroppedFiles::new(opened.parts.samples.into_iter().map(|(_, file)| file).collect());
        self.answer(&mut dropped)?;
        let study = TrainingTimeStudy::new(dropped);
        let mut broken = 0;
        for file in &opened.files {
            let is_named = paths.iter().any(|path| files::name(path) == file.name);
            match (&file.outcome, files::refusal(&file.name, &file.outcome, READS)) {
                // What is of samples is told below.
                _ if taken.contains(&file.id) && !matches!(file.outcome, Outcome::Known { .. }) => {}
                (_, Some(why)) if is_named => {
                    terminal::say("error", &why);
                    broken += 1;
                }
                (_, Some(why)) => terminal::say("note", &format!("not used: {why}")),
                (Outcome::Loaded { format, .. } | Outcome::Known { format, .. }, None) if !taken.contains(&file.id) => {
                    terminal::say(
                        "note",
                        &format!("{} is not used: it holds {format}, of which no step is made", file.name),
                    );
                }
                (_, None) => files::tell(file, READS, &paths),
            }
        }
        broken += say_files(study.bundle(), &opened.files);
        let bundle = study.bundle();
        terminal::say_notes(&bundle.notes);
        terminal::say_notes(bundle.questions.iter().map(asked));
        let run = self.chosen(&study)?;
        if broken > 0 {
            return refuse(format!(
                "{} can't be used, so nothing is predicted: mend what is said above, give it no more, or leave a file of the \
                 bundle out with --answer FILE=out",
                count(broken, "file")
            ));
        }
        let usual = run.as_ref().and_then(|run| bundle.cluster_for(run));
        let held = || bundle.clusters.iter().map(|cluster| cluster.name.clone()).collect::<Vec<_>>().join(", ");
        let cluster = match &self.cluster {
            None => {
                if usual.is_none() && bundle.clusters.len() > 1 {
                    terminal::say("note", &format!("the first of {} is taken; --cluster takes another", held()));
                }
                usual.unwrap_or(0)
            }
            Some(name) => {
                let found = bundle.clusters.iter().position(|cluster| cluster.name.eq_ignore_ascii_case(name));
                let why = || format!("--cluster {name} names no cluster of these files; they hold {}", held());
                found.ok_or_else(|| told(why()))?
            }
        };
        if self.cluster.is_some() || usual.is_some() {
            let others = bundle.clusters.iter().enumerate().filter(|(at, _)| *at != cluster);
            let others = joined(others.map(|(_, other)| &other.name));
            if !others.is_empty() {
                terminal::say("note", &format!("the samples of {others} are not used; --cluster takes others"));
            }
        }
        let stands_in = self.cluster.is_some();
        let chosen = bundle.clusters.get(cluster).filter(|_| !stands_in);
        if let Some(why) = run.as_ref().zip(chosen).and_then(|(run, chosen)| bundle.other_gpu(run, chosen)) {
            return Err(with_remedy(StudyError::OtherGpu(why)));
        }
        let settings = Settings {
            cluster,
            mode: self.mode,
            run,
            calibrate: self.table(bundle)?.map(|table| (table, self.coefficients)),
            measured_on: self.measured_on.clone(),
            measured_as: self.measured_as.clone(),
            calibrate_anyway: self.calibrate_anyway,
            stands_in,
            reserve_gib: self.reserve,
            seed: self.seed,
            ..Settings::default()
        };
        Ok(Opened { study, settings })
    }

    /// Answers what is asked of files, by their paths or the ends of these. Any file can be left out.
    fn answer(&self, dropped: &mut DroppedFiles) -> Result<(), CliError> {
        for given in &self.answer {
            let (path, word) = given.rsplit_once('=').ok_or_else(|| told("--answer takes FILE=ANSWER"))?;
            let is_of =
                |whole: &str| whole.strip_suffix(path).is_some_and(|folder| folder.is_empty() || folder.ends_with('/'));
            let bundle = dropped.bundle();
            let question = bundle.questions.iter().find(|question| is_of(&question.path));
            let file = bundle.files.iter().find(|file| is_of(&file.path));
            let (path, answer) = match (question, file) {
                (Some(question), _) => {
                    let none = || format!("--answer {given}: {word} is no answer; {} are", words(question));
                    let answer = question.asks.answer(word).ok_or_else(|| told(none()))?;
                    (question.path.clone(), answer)
                }
                (None, Some(file)) if word == "out" => (file.path.clone(), FileAnswer::LeftOut),
                _ => return refuse(format!("--answer {given}: nothing is asked of it")),
            };
            dropped.answer(&path, answer);
        }
        Ok(())
    }

    /// The table of measured steps that calibrates, by index.
    fn table(&self, bundle: &Bundle) -> Result<Option<usize>, CliError> {
        if self.calibrate.is_empty() {
            return Ok(None);
        }
        let catalogue = &bundle.catalogue;
        if let Some(name) = self.measured_as.as_ref().filter(|name| catalogue.architecture(name).is_none()) {
            let names = joined(catalogue.architectures.iter().map(|known| &known.name));
            return refuse(format!("--measured-as {name}: the catalogue knows {names}"));
        }
        if let Some(name) = self.measured_on.as_ref().filter(|name| catalogue.cluster(name).is_none()) {
            let names = joined(catalogue.clusters.iter().map(|known| &known.name));
            return refuse(format!("--measured-on {name}: the catalogue knows {names}"));
        }
        // What is named counts, and not a table that the bundle has besides.
        let is_named = |table: &StepTable| self.calibrate.iter().any(|path| Path::new(&table.name).starts_with(path));
        let tables = || bundle.steps.iter().enumerate();
        let named: Vec<(usize, &StepTable)> = tables().filter(|(_, table)| is_named(table)).collect();
        let named = if named.is_empty() { tables().collect() } else { named };
        match named.as_slice() {
            [] => {
                let names: Vec<String> = self.calibrate.iter().map(|path| files::name(path)).collect();
                refuse(format!("--calibrate {}: no table of measured steps is there", names.join(" ")))
            }
            [(number, one)] => match one.suspicion {
                None => Ok(Some(*number)),
                Some(_) => refuse(format!(
                    "--calibrate {}: its times have a doubtful unit; say --answer {0}=seconds or --answer {0}=as-written",
                    one.name
                )),
            },
            several => {
                let names = joined(several.iter().map(|(_, table)| &table.name));
                refuse(format!("--calibrate takes one table of measured steps; these are {names}"))
            }
        }
    }

    fn chosen(&self, study: &TrainingTimeStudy) -> Result<Option<Run>, CliError> {
        let runs = &study.bundle().runs;
        let Some(path) = &self.run else {
            if let [first, _, ..] = runs.as_slice() {
                let all = runs.len();
                terminal::say(
                    "note",
                    &format!("of {all} run configurations {} is taken; --run takes another", first.run.name),
                );
            }
            return Ok(runs.first().map(|configured| configured.run.clone()));
        };
        let name = files::name(path);
        let file = study.bundle().files.iter().rfind(|file| file.path == name);
        let stem = stem(&name);
        let why = match file.map(|file| &file.fate) {
            Some(FileUse::Unrecognised(_)) => "it can't be used, as is said above",
            fate => {
                let found = runs.iter().rfind(|configured| configured.run.name == stem).filter(|_| fate.is_some());
                if let Some(found) = found {
                    let others = runs.iter().map(|configured| &configured.run.name);
                    let others = joined(others.filter(|other| **other != found.run.name));
                    if !others.is_empty() {
                        terminal::say("note", &format!("run configurations that are not used: {others}"));
                    }
                    return Ok(Some(found.run.clone()));
                }
                "no configuration can be read from it"
            }
        };
        refuse(format!("--run {name}: {why}"))
    }
}

fn joined<'a>(names: impl Iterator<Item = &'a String>) -> String {
    names.map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// The words that answer a question.
fn words(question: &FileQuestion) -> String {
    question.asks.answers().into_iter().map(|(word, _)| word).collect::<Vec<_>>().join(", ")
}

fn asked(question: &FileQuestion) -> String {
    // Times that may be seconds calibrate nothing; sizes that may be bytes are taken as they are written.
    let counts = matches!(question.asks, QuestionKind::Unit { unit: Unit::Bytes, .. });
    let until = if counts { "It counts as written unless" } else { "It does not count until" };
    let (path, asked) = (&question.path, question.asks.sentence());
    format!("{path}: {asked} {until} --answer {path}=ANSWER says it: {}", words(question))
}

/// Says what became of the bundle's files, as the page's table of files does: the number of those that can't be used.
fn say_files(bundle: &Bundle, read: &[FileReport]) -> u64 {
    let mut broken = 0;
    for file in &bundle.files {
        let path = &file.path;
        match &file.fate {
            FileUse::Unrecognised(why) => {
                terminal::say("error", &format!("{path}: {why}"));
                broken += 1;
            }
            FileUse::KnownUnused(why) => terminal::say("note", &format!("{path} is not used: {why}")),
            FileUse::Used | FileUse::Asked => {}
        }
        // Notes on how a file was read have been said.
        let told = read.iter().find(|known| known.name == *path).map(|known| match &known.outcome {
            Outcome::Loaded { notes, .. } | Outcome::Known { notes, .. } => notes.as_slice(),
            _ => &[],
        });
        for note in &file.notes {
            if !told.is_some_and(|told| told.contains(note)) {
                terminal::say("note", &format!("{path}: {note}"));
            }
        }
        if file.duplicate_rows > 0 && file.duplicate_rows < file.rows {
            let rows = count(file.duplicate_rows as u64, "row");
            terminal::say(
                "note",
                &format!("{path}: {rows} of {} stand in an earlier file as well, and count once", file.rows),
            );
        }
    }
    broken
}

/// Notes before training: what was not sampled as the run needs it, and odd samples.
fn say_needs(study: &TrainingTimeStudy) -> Result<(), CliError> {
    terminal::say_notes(study.notes());
    terminal::say_notes(study.needs().into_iter().map(|need| need.sentence));
    let coverage = study.coverage()?;
    for sampling in &study.bundle().samplings {
        terminal::say(
            "note",
            &match coverage.iter().find(|known| known.function == sampling.function) {
                Some(known) => format!(
                    "of the sampling of {}, {} of {} points are there that can be",
                    known.function,
                    grouped(known.sampled as u64),
                    grouped(known.intended.saturating_sub(known.impossible) as u64)
                ),
                None => format!("of the sampling of {} there are no samples", sampling.function),
            },
        );
    }
    let flags = &study.health()?.flags;
    // What says that times have another unit comes first.
    let mut odd: Vec<&Flag> = flags.iter().filter(|flag| flag.rule.is_doubtful()).collect();
    odd.sort_by_key(|flag| !flag.what.ends_with('?'));
    let odd: Vec<String> = odd
        .into_iter()
        .map(|flag| match flag.what.rsplit_once(": ").filter(|(_, asked)| asked.ends_with('?')) {
            Some(_) => format!("{}, where {}", flag.target, flag.what),
            None => format!("{} of {} of {}", grouped(flag.count as u64), count(flag.of as u64, "row"), flag.target),
        })
        .collect();
    if !odd.is_empty() {
        let rest = odd.len().saturating_sub(files::TOLD);
        let more = if rest > 0 { format!(", and {rest} more") } else { String::new() };
        let odd = odd.into_iter().take(files::TOLD).collect::<Vec<_>>().join(", ");
        terminal::say("note", &format!("odd samples, on which predictions are suspect: {odd}{more}"));
    }
    Ok(())
}

/// Learns what the settings need, on all processors.
pub(super) fn learn(study: &mut TrainingTimeStudy, settings: Settings) -> Result<(), CliError> {
    study.choose(settings).map_err(with_remedy)?;
    say_needs(study)?;
    for (of, why) in study.library()?.unusable() {
        terminal::say("note", &format!("the saved regressor of {of} is not used: {why}"));
    }
    let jobs: Vec<u32> = study.rounds()?.concat().into_iter().map(|(job, _)| job).collect();
    let study: &TrainingTimeStudy = study;
    let job = |place: u32| study.work_here(jobs[place as usize], &mut Silent);
    threads::each("Learning from samples", jobs.len(), job).map_err(with_remedy)?;
    Ok(())
}

/// The calibration that was asked for, told in words besides.
pub(super) fn calibration(study: &TrainingTimeStudy) -> Result<Option<Calibration>, CliError> {
    let Some((table, _)) = study.settings().calibrate else { return Ok(None) };
    let ran_on = study.ran_on(table).ok_or_else(|| {
        told(
            "on which cluster were the steps measured? Neither their path nor the samples name one that the catalogue \
             knows: --measured-on NAME",
        )
    })?;
    let found = study.calibration().map_err(with_remedy)?;
    if let Some(found) = &found {
        let settings = study.settings();
        let search = settings.search.as_ref().map(|question| &question.run);
        if let Some(run) = settings.run.as_ref().or(search) {
            let applied = found.applied(&run.model, settings.calibrate_anyway);
            let remedy = if applied.is_used { "" } else { "; --calibrate-anyway uses the coefficients" };
            terminal::say("note", &format!("{}{remedy}", found.sentence(ran_on, study.samples_of(), &applied)));
        }
        for (step, why) in found.left_out.iter().take(files::TOLD) {
            terminal::say("warning", &format!("measured step {step} is left out: {why}"));
        }
        let rest = found.left_out.len().saturating_sub(files::TOLD);
        if rest > 0 {
            terminal::say("warning", &format!("{} more left out", count(rest as u64, "measured step")));
        }
    }
    Ok(found)
}

/// How much of a step's time is measured, and how much is not.
pub(super) fn marks(marks: &[f64; 4]) -> impl Serialize + use<> {
    let of = |mark: Mark| marks[mark as usize];
    object! {
        measured: of(Mark::Measured),
        interpolated: of(Mark::Interpolated),
        extrapolated: of(Mark::Extrapolated),
        suspect: of(Mark::Suspect),
    }
}
