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
    arguments::{self, LEARNING},
    error::{CliError, refuse, told},
    files, save, terminal, threads, topology,
    tuning::FromSweeps,
};
use crate::{
    form::{Choices, Field},
    intake::{Outcome, files::OpenedFiles},
    progress::Silent,
    registry,
    report::{
        self, Contents, ReportFormat, Workbench, WriteOptions, Written,
        annotations::{Annotations, MOST_NOTE, MOST_NOTES, MOST_TITLE, Note, annotate},
        link::{self, LinkSize},
    },
    text::visible,
    topology::generate::Kind,
    tuning::read::RunKind,
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
  collectune report sweep.csv --link=small --site https://tuning.example.org/collectune/ --title 'After the firmware'
  collectune report report.html -o report.md
  collectune report ring.csv --choices 'collective=all_reduce&chunk=4MiB' -o ring.html
  collectune report mesh:8x8 > mesh.md")]
pub(super) struct Report {
    /// Files of one workbench: sweeps, logs and saved models; reward logs; samples of training steps; link graphs,
    /// dumps of machines and schedules, or a form such as mesh:8x8; tables of kernels; or one report. - is the standard
    /// input. None where --choices says it all: a graph that is made, a simulation of strategies, or a known model
    /// (e.model=llama-3.1-8b)
    #[arg(required_unless_present = "choices", value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Where to write it: .html, .md or .json says in which form; without it, Markdown goes to the standard output
    #[arg(short, long, value_name = "FILE", value_parser = PathBufValueParser::new().try_map(output))]
    output: Option<(PathBuf, ReportFormat)>,

    /// Show the written report with the system's viewer
    #[arg(long, requires = "output")]
    open: bool,

    /// Write a link that carries the report in its fragment, which no server sees; full where no size is given
    #[arg(long, value_name = "SIZE", num_args = 0..=1, require_equals = true, default_missing_value = "full")]
    #[arg(value_enum, requires = "site", conflicts_with = "output")]
    link: Option<LinkSize>,

    /// The address at which Collectune's page is hosted
    #[arg(long, value_name = "URL", requires = "link", value_parser = site)]
    site: Option<String>,

    /// What is chosen of kernels, training steps, reward logs, or links and schedules, as the page's address says it:
    /// collective=all_reduce&chunk=4MiB&cut=0-1
    #[arg(long, value_name = "CHOICES")]
    choices: Option<String>,

    #[command(flatten)]
    words: Words,

    #[command(flatten)]
    parts: Parts,

    #[command(flatten)]
    from: FromSweeps,
}

/// What the user says of the report.
#[derive(Args)]
#[command(next_help_heading = "Title and notes")]
struct Words {
    /// The title, instead of the report's own, which the summary then names; up to 120 characters
    #[arg(long, value_name = "TEXT", value_parser = |text: &str| up_to(MOST_TITLE, text))]
    title: Option<String>,

    /// A note on the whole report, of up to 2,000 characters; may be given several times
    #[arg(long, value_name = "TEXT", value_parser = |text: &str| up_to(MOST_NOTE, text))]
    note: Vec<String>,

    /// A note on a section, or on a row of its first table: 'all_reduce on 2 nodes, 16 ranks: 16 MiB=after the update'
    #[arg(long, value_name = "SECTION[: ROW]=TEXT", value_parser = note_for)]
    note_for: Vec<Note>,
}

impl Words {
    /// The title and the notes, those on the whole report first. Fails if there are more notes than a report takes.
    fn annotations(&self) -> Result<Annotations, CliError> {
        let on_all = self.note.iter().map(|text| Note { about: String::new(), text: text.clone() });
        let notes: Vec<Note> = on_all.chain(self.note_for.iter().cloned()).collect();
        if notes.len() > MOST_NOTES {
            return refuse(format!("a report takes at most {MOST_NOTES} notes, and {} are given", notes.len()));
        }
        Ok(Annotations { title: self.title.clone().unwrap_or_default(), notes })
    }
}

/// A text of at most so many characters.
fn up_to(most: usize, text: &str) -> Result<String, String> {
    match text.trim().chars().count() {
        count if count > most => Err(format!("it has {count} characters, and at most {most} are kept: shorten it")),
        _ => Ok(text.to_owned()),
    }
}

fn note_for(text: &str) -> Result<Note, String> {
    let (about, text) = text.split_once('=').ok_or("a note is written like 'Noise=one node was warm'")?;
    Ok(Note { about: about.trim().to_owned(), text: up_to(MOST_NOTE, text)? })
}

/// What goes into the report.
#[derive(Args)]
#[command(next_help_heading = "Contents")]
struct Parts {
    /// Leave out the names of the files
    #[arg(long)]
    no_file_names: bool,

    /// Leave the charts out of it
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

/// The most shares that the jobs of a workbench are done in.
const MOST_SHARES: usize = 64;

/// Names choices that no field of the form is for.
fn say_unused(choices: &Choices, form: &[Field]) {
    let unused = choices.iter().filter(|(key, _)| !form.iter().any(|field| field.key == *key));
    terminal::say_notes(unused.map(|(key, _)| format!("--choices: {key} is not used here")));
    terminal::say_notes(choices.not_offered(form).into_iter().map(|told| format!("--choices: {told}")));
}

/// The days of a month in the Gregorian calendar.
const fn days_of(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn date(text: &str) -> Result<String, String> {
    let parts: Vec<u32> = text.split('-').filter_map(|part| part.parse().ok()).collect();
    let widths: Vec<usize> = text.split('-').map(str::len).collect();
    match parts[..] {
        [year, month, day]
            if widths == [4, 2, 2] && (1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day) =>
        {
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
    let why = "the address of a page begins with https://, http:// or file://, and has no spaces";
    if is_site && is_one_word { Ok(plain.to_owned()) } else { Err(why.to_owned()) }
}

impl Report {
    pub(super) fn run(self) -> Result<(), CliError> {
        let report = self.report()?;
        let form = match &self.output {
            Some((_, form)) => *form,
            None if self.link.is_some() => ReportFormat::Link,
            None => ReportFormat::Markdown,
        };
        let (annotations, page) = (self.words.annotations()?, self.site.clone().unwrap_or_default());
        let options = WriteOptions { form, annotations, page };
        for about in annotate(&mut report.clone(), &options.annotations) {
            terminal::say("warning", &format!("nothing in the report is called {about}: the note is in its summary"));
        }
        let written = report::write(&report, &options);
        let text =
            match written.map_err(|why| told(format!("the report {why}: leave charts or measurements out of it")))? {
                Written::File { text, .. } => text,
                Written::Links(links) => return self.tell(&links.sizes),
            };
        let Some((path, _)) = &self.output else { return terminal::write_file(&text) };
        save::save("report", path, text)?;
        if self.open { open(path) } else { Ok(()) }
    }

    /// One of the files, if it is a report; else what is found in them.
    fn report(&self) -> Result<report::Report, CliError> {
        let given = self.choices.as_deref().unwrap_or_default();
        let mut choices = Choices::parse(given);
        let keys: Vec<&str> = given.split('&').filter_map(|pair| Some(pair.split_once('=')?.0)).collect();
        let is_again = |(at, key): &(usize, &&str)| keys[..*at].contains(*key);
        let repeated = keys.iter().enumerate().filter(is_again).map(|(_, key)| key);
        terminal::say_notes(repeated.map(|key| format!("--choices: {key} stands more than once: the last one counts")));
        if self.files.is_empty() {
            let of = match (choices.get("world"), choices.get("e.model")) {
                (Some(_), _) => Workbench::Policy,
                (None, Some(_)) => Workbench::TrainingTime,
                (None, None) => Workbench::Topology,
            };
            return self.of_workbench(of, OpenedFiles::default(), choices);
        }
        if let [form] = &self.files[..]
            && topology::is_form(form)
        {
            let name = files::name(form).to_ascii_lowercase();
            if let Err(error) = Kind::parse(&name) {
                return refuse(format!("{} is not there, and {error}", visible(&files::name(form))));
            }
            let (kind, size) = name.split_once(':').unwrap_or((&name, ""));
            choices.set("graph", kind);
            if !size.is_empty() {
                choices.set(kind, size);
            }
            return self.of_workbench(Workbench::Topology, OpenedFiles::default(), choices);
        }
        let opened = self.from.read_any(&self.files)?;
        self.output.iter().try_for_each(|(path, _)| save::check("report", path))?;
        let of = Self::workbench(&opened);
        Self::say_left_out(&opened, of);
        match of {
            Some(Workbench::Tuning) => self.of_sweeps(opened),
            Some(workbench) => self.of_workbench(workbench, opened, choices),
            None => {
                let mut reports = opened.documents.reports.into_iter();
                let Some((_, report)) = reports.next() else { return refuse(files::NOTHING_READ) };
                Self::say_sweep_options();
                let contents =
                    ["choices", "seed", "no_file_names", "no_charts", "no_tuner_files", "no_measurements", "date"];
                arguments::say_unused(&contents, "a report is written again as it was made");
                Ok(*report)
            }
        }
    }

    fn of_sweeps(&self, opened: OpenedFiles) -> Result<report::Report, CliError> {
        arguments::say_unused(&["choices"], "a report of sweeps has no choices");
        let contents = self.contents(Workbench::Tuning);
        if opened.rows.iter().any(|row| row.kind != RunKind::Default) {
            let parameters = self.from.parameters(&opened)?;
            return Ok(self.from.learn(opened, &parameters, None)?.executor.report(&contents)?);
        }
        let mut executor = Executor::default();
        let loaded = executor.take_in(opened, self.from.learning.target, &mut Silent)?;
        terminal::say_notes(loaded.notes.into_iter().chain(executor.studies.tuning.loaded.study.notes()));
        arguments::say_unused(&LEARNING, "only the library's default was measured, and nothing is learnt from that");
        Ok(executor.report(&contents)?)
    }

    /// The workbench that the report is about: of files of several workbenches, the first of these.
    fn workbench(opened: &OpenedFiles) -> Option<Workbench> {
        match () {
            () if !opened.rows.is_empty() => Some(Workbench::Tuning),
            () if !opened.parts.kernels.is_empty() => Some(Workbench::Overlap),
            () if !opened.parts.rewards.is_empty() => Some(Workbench::Policy),
            () if !opened.parts.topologies.is_empty() => Some(Workbench::Topology),
            () if !opened.parts.samples.is_empty() => Some(Workbench::TrainingTime),
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
                used.extend(documents.jobs.iter().chain(&documents.journals));
                used.extend(opened.parts.topologies.iter().map(|(id, ..)| *id));
            }
            None => used.extend(documents.reports.first()),
            Some(_) => {}
        }
        for file in opened.files.iter().filter(|file| !file.completes && !used.contains(&file.id)) {
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
        arguments::say_unused(&["configuration", "set", "topology"], why);
    }

    /// The report of a workbench on its files, by choices, as the page shows it when nothing is left to do.
    fn of_workbench(
        &self,
        workbench: Workbench,
        opened: OpenedFiles,
        mut choices: Choices,
    ) -> Result<report::Report, CliError> {
        Self::say_sweep_options();
        let mut executor = Executor::default();
        executor.take_in(opened, self.from.learning.target, &mut Silent)?;
        let given = choices.clone();
        match self.from.learning.seed {
            Some(_) if workbench == Workbench::TrainingTime => {
                arguments::say_unused(&["seed"], "a report on training steps has a seed of its own");
            }
            Some(seed) => choices.set("seed", &seed.to_string()),
            None => {}
        }
        let study = executor.studies.of_mut(workbench);
        let mut bar = terminal::Bar::new();
        study.choose(choices, &mut bar)?;
        let jobs = study.jobs()?;
        let numbers: Vec<u32> = jobs.rounds.concat().into_iter().map(|(job, _)| job).collect();
        // Each call unpacks what the jobs need.
        let shares: Vec<&[u32]> = numbers.chunks(numbers.len().div_ceil(MOST_SHARES).max(1)).collect();
        let share = |place: u32| registry::work(workbench, &jobs.basis, shares[place as usize], &mut Silent);
        let done = threads::each("Learning", shares.len(), share)?;
        done.iter().try_for_each(|done| study.take(done, &mut bar))?;
        study.conclude(&mut bar)?;
        let mut last_ms = 0;
        while study.jobs()?.goes_on {
            let began = Instant::now();
            study.go_on(last_ms, &mut bar)?;
            last_ms = (began.elapsed().as_millis() as u32).max(1);
        }
        drop(bar);
        say_unused(&given, &study.form()?);
        if let Some(why) = executor.studies.topology.why() {
            return refuse(why);
        }
        Ok(executor.report(&self.contents(workbench))?)
    }

    fn contents(&self, workbench: Workbench) -> Contents {
        let Parts { no_file_names, no_charts, no_tuner_files, no_measurements, ref date } = self.parts;
        Contents {
            workbench,
            file_names: !no_file_names,
            charts: !no_charts,
            deployables: !no_tuner_files,
            measurements: !no_measurements,
            made_on: date.clone(),
        }
    }

    fn tell(&self, sizes: &[link::Link]) -> Result<(), CliError> {
        let size = self.link.unwrap_or_default();
        let Some(link) = sizes.get(size as usize) else { return Ok(()) };
        if !link.fits {
            return refuse(format!(
                "the report makes a link of {} characters, and at most {} are made: send a file (-o report.html)",
                link.chars,
                size.most_chars()
            ));
        }
        link.left_out.iter().for_each(|what| terminal::say("note", &format!("left out of the link: {what}")));
        for (who, most) in LinkSize::ALL.into_iter().filter_map(|size| Some((size.cut_by()?, size.most_chars()))) {
            if link.chars > most {
                let what = format!("{who} cuts links at about {most} characters; this one has {}", link.chars);
                terminal::say("note", &what);
            }
        }
        terminal::write(&format!("{}{}\n", self.site.as_deref().unwrap_or_default(), link.fragment))
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
    let started = Command::new(program).arg(path).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    started.map(|_| ()).map_err(|error| files::unopened(path, &error))
}
