//! `collectune report`: what was found, in the form that travels.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use clap::{
    Args,
    builder::{PathBufValueParser, TypedValueParser},
};

use super::{
    CliError,
    arguments::{self, LEARNING},
    files,
    learnt::FromSweeps,
    overlap, policy, save, synthesize, terminal,
};
use crate::{
    form::{Choices, Field},
    intake::{Outcome, files::OpenedFiles},
    overlap::{features::Settings, study::compute_importances},
    policy::request::{LatencySource, ReplaySettings},
    progress::Silent,
    report::{self, Contents, ReportFormat, Workbench, Written, link},
    tuning::read::RunKind,
    workbench::{Study, WorkbenchError},
    worker::executor::Executor,
};

/// Write a report: one HTML page, Markdown, JSON or a link
///
/// The report says what to deploy for each size, how far to trust it, what to measure next, and carries the tuner
/// files. The page opens it again, from the HTML as well as from the JSON. A report among the files is written again.
#[derive(Args)]
#[command(after_help = "Examples:
  collectune report merged_metrics.csv -o report.html --open
  collectune report all_reduce_*.csv > report.md
  collectune report sweep.csv --link --site https://tuning.example.org/collectune/
  collectune report report.html -o report.md
  collectune report ring.csv --choices 'collective=all_reduce&chunk=4MiB' -o ring.html
  collectune report mesh:8x8 > mesh.md")]
pub(super) struct Report {
    /// Sweeps, logs and saved models; or tables of kernels beside collectives; or link graphs, dumps of machines and
    /// schedules; or a form such as mesh:8x8; or one report; - is the standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Where to write it: .html, .md or .json says in which form; without it, Markdown goes to the standard output
    #[arg(short, long, value_name = "FILE", value_parser = PathBufValueParser::new().try_map(output))]
    output: Option<(PathBuf, ReportFormat)>,

    /// Show the written report with the system's viewer
    #[arg(long, requires = "output")]
    open: bool,

    /// Write a link that carries the report in its fragment, which no server sees
    #[arg(long, requires = "site", conflicts_with = "output")]
    link: bool,

    /// Where Collectune is hosted
    #[arg(long, value_name = "URL", requires = "link", value_parser = site)]
    site: Option<String>,

    /// What is chosen of kernels, or of links and schedules, as the page's address says it:
    /// collective=all_reduce&chunk=4MiB&cut=0-1
    #[arg(long, value_name = "CHOICES", default_value = "", hide_default_value = true)]
    choices: String,

    #[command(flatten)]
    parts: Parts,

    #[command(flatten)]
    from: FromSweeps,
}

/// What goes into the report.
#[derive(Args)]
#[command(next_help_heading = "Contents")]
struct Parts {
    /// Leave out the names of the files
    #[arg(long)]
    no_file_names: bool,

    /// Leave out the charts
    #[arg(long)]
    no_charts: bool,

    /// Leave out the tuner files
    #[arg(long)]
    no_tuner_files: bool,

    /// Leave out the measurements that a comparison with a later sweep needs
    #[arg(long)]
    no_measurements: bool,

    /// The day to put on it
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = date)]
    date: Option<String>,
}

/// Names choices that no field of the form is for.
fn say_unused(choices: &Choices, form: &[Field]) {
    let unused = choices.iter().filter(|(key, _)| !form.iter().any(|field| field.key == *key));
    let notes: Vec<String> = unused.map(|(key, _)| format!("--choices: {key} is not used here")).collect();
    terminal::say_notes(&notes);
}

fn date(text: &str) -> Result<String, String> {
    let parts: Vec<u32> = text.split('-').filter_map(|part| part.parse().ok()).collect();
    let widths: Vec<usize> = text.split('-').map(str::len).collect();
    match parts[..] {
        [_, month, day] if widths == [4, 2, 2] && (1..=12).contains(&month) && (1..=31).contains(&day) => {
            Ok(text.to_owned())
        }
        _ => Err("a day is written like 2026-11-23".to_owned()),
    }
}

/// A file and the form that its name says.
fn output(path: PathBuf) -> Result<(PathBuf, ReportFormat), String> {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    let form = match extension.as_deref() {
        Some("html" | "htm") => ReportFormat::Html,
        Some("md" | "markdown") => ReportFormat::Markdown,
        Some("json") => ReportFormat::Json,
        _ => return Err("the name of a report ends in .html, .md or .json".to_owned()),
    };
    Ok((path, form))
}

fn site(url: &str) -> Result<String, String> {
    let plain = url.split('#').next().unwrap_or_default();
    let is_site = ["https://", "http://", "file://"].iter().any(|scheme| plain.starts_with(scheme));
    let is_one_word = !plain.contains(|c: char| c.is_whitespace() || c.is_control());
    if is_site && is_one_word { Ok(plain.to_owned()) } else { Err("is no address of a page".to_owned()) }
}

impl Report {
    pub(super) fn run(self) -> Result<(), CliError> {
        let report = self.report()?;
        let form = match &self.output {
            Some((_, form)) => *form,
            None if self.link => ReportFormat::Link,
            None => ReportFormat::Markdown,
        };
        let text = match report::write(&report, form)? {
            Written::File { text, .. } => text,
            Written::Link(link) => return self.tell(&link),
        };
        let Some((path, _)) = &self.output else { return terminal::write_file(&text) };
        save::save("report", path, text)?;
        if self.open { open(path) } else { Ok(()) }
    }

    /// One of the files, if it is a report; else what is found in them.
    fn report(&self) -> Result<report::Report, CliError> {
        if let [form] = &self.files[..]
            && synthesize::is_form(form)
        {
            let name = files::name(form);
            let (kind, size) = name.split_once(':').unwrap_or((&name, ""));
            let mut choices = Choices::parse(&self.choices);
            choices.set("graph", &kind.to_ascii_lowercase());
            Self::say_sweep_options();
            if !size.is_empty() {
                choices.set(&kind.to_ascii_lowercase(), size);
            }
            return self.of_links(Executor::default(), choices);
        }
        let opened = self.from.read_any(&self.files)?;
        self.output.iter().try_for_each(|(path, _)| save::check("report", path))?;
        let of = Self::workbench(&opened);
        Self::say_left_out(&opened, of);
        if of == Some(Workbench::Overlap) {
            Self::say_sweep_options();
            return self.of_kernels(opened);
        }
        if of == Some(Workbench::Policy) {
            Self::say_sweep_options();
            arguments::say_unused(&["choices"], "what logs of rewards don't say is given to policy replay");
            return self.of_rewards(opened);
        }
        if of == Some(Workbench::Topology) {
            Self::say_sweep_options();
            let mut executor = Executor::default();
            executor.take_in(opened, self.from.learning.target, &mut Silent)?;
            return self.of_links(executor, Choices::parse(&self.choices));
        }
        if opened.rows.is_empty() {
            let made = "a report is written again as it was made";
            Self::say_sweep_options();
            let contents =
                ["choices", "seed", "no_file_names", "no_charts", "no_tuner_files", "no_measurements", "date"];
            arguments::say_unused(&contents, made);
            let mut reports = opened.documents.reports.into_iter();
            return reports.next().map(|(_, report)| *report).ok_or(CliError::NothingRead);
        }
        arguments::say_unused(&["choices"], "a report of sweeps has no choices");
        let is_default = opened.rows.iter().all(|row| row.kind == RunKind::Default);
        if is_default {
            let mut executor = Executor::default();
            let loaded = executor.take_in(opened, self.from.learning.target, &mut Silent)?;
            terminal::say_notes(&loaded.notes);
            arguments::say_unused(
                &LEARNING,
                "only the library's default was measured, and nothing is learnt from that",
            );
            return Ok(executor.report(&self.contents())?);
        }
        let parameters = self.from.parameters(&opened);
        let learnt = self.from.learn(opened, &parameters, None)?;
        Ok(learnt.executor.report(&self.contents())?)
    }

    /// The workbench that the report is about: of files of several workbenches, the first of these.
    fn workbench(opened: &OpenedFiles) -> Option<Workbench> {
        match () {
            () if !opened.rows.is_empty() => Some(Workbench::Tuning),
            () if !opened.parts.kernels.is_empty() => Some(Workbench::Overlap),
            () if !opened.parts.rewards.is_empty() => Some(Workbench::Policy),
            () if !opened.parts.topologies.is_empty() => Some(Workbench::Topology),
            () => None,
        }
    }

    /// Names the files that the report is not about.
    fn say_left_out(opened: &OpenedFiles, of: Option<Workbench>) {
        let documents = opened.documents.files();
        let mut used: Vec<u32> = opened
            .parts
            .files()
            .into_iter()
            .filter(|(workbench, _)| Some(*workbench) == of)
            .map(|(_, id)| id)
            .collect();
        match of {
            Some(Workbench::Tuning) => {
                used.extend(&documents.jobs);
                used.extend(opened.parts.topologies.iter().map(|(id, ..)| *id));
            }
            None => used.extend(documents.reports.first()),
            Some(_) => {}
        }
        for file in opened.files.iter().filter(|file| !used.contains(&file.id)) {
            if let Outcome::Known { format, .. } = &file.outcome {
                let what = format!("{} is not in the report: it holds {format}", file.name);
                terminal::say("warning", &what);
            }
        }
    }

    /// Names the options that are of sweeps alone.
    fn say_sweep_options() {
        let why = "only a report of sweeps has it";
        arguments::say_unused(&LEARNING, why);
        arguments::say_unused(&["set_aside", "configuration", "set", "topology"], why);
    }

    /// How much slower kernels get beside collectives.
    fn of_kernels(&self, opened: OpenedFiles) -> Result<report::Report, CliError> {
        let mut executor = Executor::default();
        executor.take_in(opened, self.from.learning.target, &mut Silent)?;
        let bench = &mut executor.studies.overlap;
        let choices = Choices::parse(&self.choices);
        bench.choose(choices.clone(), &mut Silent).map_err(|error| CliError::Told(error.to_string()))?;
        say_unused(&choices, &bench.form().map_err(|error| CliError::Told(error.to_string()))?);
        let shown = bench.shown();
        let study = bench.study();
        let seed = self.from.learning.seed.unwrap_or(Settings::default().seed);
        let studied = study.study(Settings { seed, ..study.settings().clone() }).map_err(overlap::told)?;
        let folds = overlap::on_threads(&studied)?;
        study.judge(&folds, shown).map_err(overlap::told)?;
        if studied.results.verdict.is_some() {
            study.set_importances(compute_importances(&studied.run, &mut terminal::Bar::new()).map_err(overlap::told)?);
        }
        Ok(executor.report(&Contents { workbench: Workbench::Overlap, ..self.contents() })?)
    }

    /// The report on reward logs, with the cost of strategies for the first key that can be replayed.
    fn of_rewards(&self, opened: OpenedFiles) -> Result<report::Report, CliError> {
        let mut executor = Executor::default();
        executor.take_in(opened, self.from.learning.target, &mut Silent)?;
        let study = executor.studies.policy.study();
        let seed = self.from.learning.seed.unwrap_or(0);
        let settings = crate::policy::request::Settings { seed, ..Default::default() };
        let studied = study.study(settings, &mut terminal::Bar::new()).map_err(policy::told)?;
        if let Some((place, _)) = (0..).zip(&studied.can_replay).find(|(_, can)| **can) {
            policy::play(
                study,
                &ReplaySettings { world: LatencySource::Key(place), steps: 2000, seeds: 200, strategies: Vec::new() },
            )?;
        }
        Ok(executor.report(&Contents { workbench: Workbench::Policy, ..self.contents() })?)
    }

    /// The best schedule for links, and schedules that others made, as the page shows them.
    fn of_links(&self, mut executor: Executor, mut choices: Choices) -> Result<report::Report, CliError> {
        if let Some(seed) = self.from.learning.seed {
            choices.set("seed", &seed.to_string());
        }
        let mut bar = terminal::Bar::new();
        let study = &mut executor.studies.topology;
        let told = |error: WorkbenchError| CliError::Told(error.to_string());
        study.choose(choices.clone(), &mut bar).map_err(told)?;
        let mut last_ms = 0;
        while study.jobs().map_err(told)?.goes_on {
            let began = Instant::now();
            study.go_on(last_ms, &mut bar).map_err(told)?;
            last_ms = (began.elapsed().as_millis() as u32).max(1);
        }
        drop(bar);
        if let Some(why) = study.why() {
            return Err(CliError::Told(why.to_owned()));
        }
        say_unused(&choices, &study.form().map_err(told)?);
        Ok(executor.report(&Contents { workbench: Workbench::Topology, ..self.contents() })?)
    }

    fn contents(&self) -> Contents {
        let Parts { no_file_names, no_charts, no_tuner_files, no_measurements, ref date } = self.parts;
        Contents {
            workbench: Workbench::Tuning,
            file_names: !no_file_names,
            charts: !no_charts,
            deployables: !no_tuner_files,
            measurements: !no_measurements && !self.link,
            made_on: date.clone(),
        }
    }

    fn tell(&self, link: &link::Link) -> Result<(), CliError> {
        if !link.fits {
            return Err(CliError::TooLong { chars: link.chars, most: link::MOST_MADE });
        }
        let address = format!("{}{}", self.site.as_deref().unwrap_or_default(), link.fragment);
        link.left_out.iter().for_each(|what| terminal::say("note", &format!("left out of the link: {what}")));
        for limit in link::LIMITS.iter().filter(|limit| address.len() > limit.chars) {
            let (who, most) = (limit.who, limit.chars);
            terminal::say(
                "note",
                &format!("{who} cuts links at about {most} characters; this one has {}", address.len()),
            );
        }
        terminal::write(&(address + "\n"))
    }
}

/// Shows a file with whatever the system shows such files with.
fn open(path: &Path) -> Result<(), CliError> {
    let program = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else {
        "xdg-open"
    };
    let name = files::name(path);
    let started = Command::new(program).arg(path).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    started.map(|_| ()).map_err(|error| CliError::Open { name, error })
}
