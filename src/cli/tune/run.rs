//! Makes one launch after another until the campaign is done, and leaves its folder whole after each.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use super::{
    folder::{Folder, append},
    launcher::{Command, Template},
    machine,
    process::{self, Ending},
    view::View,
};
use crate::{
    cli::{
        error::{CliError, refuse, told},
        save, table, terminal, tuning,
    },
    intake::files::OpenedFiles,
    launch,
    math::median,
    order::CompactCollect,
    progress::Silent,
    report::{self, Contents, ReportFormat, WriteOptions, Written},
    text::{Lines, excerpt},
    tuning::{
        ab::{
            self, AbQuestion,
            rules::{RuleRange, RunScale},
            verdict::{JudgedRule, RuleVerdict},
        },
        aggregate::Target,
        campaign::{
            Budget, CampaignSettings, Job,
            best::BestSoFar,
            history,
            journal::{Journal, JournalEntry, LaunchOutcome, Phase, Requested},
            next::{self, NextLaunch, SearchStep},
            play::{PlayedLaunch, Player},
        },
        conf::{
            Reader,
            export::{ExportOptions, loading},
            read,
        },
        loaded::LoadedTuning,
        log::{self, LogAnswers, LogRows},
        origin::Aspect,
        parameters::Parameters,
        plan::duration,
        read::Row,
        sweep::Sweep,
    },
    units::{Size, capitalised, count},
    worker::executor::Executor,
};

/// What answers the launches of a campaign.
pub(super) enum Cluster {
    /// The cluster, by a launcher.
    Launched(Template),
    /// A sweep that was measured before.
    Played(Box<Player>),
}

/// The tuner file that the A/B judges.
const CANDIDATE: &str = "candidate.conf";
/// What the A/B has left of it: to be judged once more, or to be deployed.
const TRIMMED: &str = "trimmed.conf";
/// The tuner file to deploy.
const TUNED: &str = "tuned.conf";
/// A tuner file without rules.
const EMPTY: &str = "empty.conf";
/// What the vendor's tool says of the GPUs before the first launch.
const MACHINE: &str = ".warm_up/gpus.txt";
/// The report, for a browser.
const REPORT: &str = "report.html";

/// The time that a launch may take before anything is known of its neighbours, in seconds.
const FIRST_LIMIT_S: f64 = 1800.0;
/// The launches with a tuner file that may fail before it is given up; the first of them ends the A/B until it is
/// resumed.
const MAX_FAILED_WITH_FILE: usize = 2;
/// Why a rule is dropped of which the A/B says nothing.
const NO_RUNS: &str = "not validated: the A/B has no runs of both arms on its scale";
/// How often the best file so far and the report are written anew.
const REPORT_EVERY: Duration = Duration::from_secs(120);
/// Later it may take this many times as long as the median launch of its job, and a minute.
const LIMIT_FACTOR: f64 = 5.0;

/// A campaign under way, with its folder open.
pub(super) struct Campaign {
    folder: Folder,
    cluster: Cluster,
    /// Earlier measurements, which say what to expect.
    prior: Option<Sweep>,
    /// What was fastest in search and confirmation.
    best: BestSoFar,
    view: View,
    /// When report and tuner file were last written.
    looked_at: Instant,
    /// The sets of nodes on which launches ran, each once.
    nodes: RefCell<Vec<String>>,
    /// Whether it was said that launches measure sizes that were not asked for.
    said_sizes: Cell<bool>,
}

/// What becomes of the tuner file.
enum Deployment {
    /// It is to be deployed.
    File {
        /// The number of its rules.
        rules: usize,
        /// How they were confirmed, as the end of a sentence.
        how: &'static str,
    },
    /// No tuner file is, for this reason.
    None(String),
}

/// What an A/B has left of a tuner file.
struct JudgedFile {
    left: String,
    /// Whether all launches of the A/B were made.
    is_complete: bool,
}

/// What was read of the logs.
struct Measured {
    executor: Executor,
    /// Sentences on drifts that were taken out.
    drift: Vec<String>,
}

impl Measured {
    fn loaded(&self) -> Option<&LoadedTuning> {
        let loaded = &self.executor.studies.tuning.loaded;
        (!loaded.study.groups().is_empty()).then_some(loaded)
    }

    /// Learns as the page does.
    fn learn(&mut self) -> Result<(), CliError> {
        tuning::train(&mut self.executor, &Parameters::default(), &mut Silent).map(drop)
    }
}

impl Campaign {
    pub(super) fn new(folder: Folder, cluster: Cluster, prior: Option<Sweep>) -> Self {
        Self {
            folder,
            cluster,
            prior,
            best: BestSoFar::default(),
            view: View::new(),
            looked_at: Instant::now(),
            nodes: RefCell::default(),
            said_sizes: Cell::default(),
        }
    }

    /// Goes on until the campaign is done.
    pub(super) fn run(&mut self) -> Result<(), CliError> {
        if process::end_leftovers(self.folder.whole_path()) {
            terminal::say("note", "a launch of this campaign was still running, and was ended");
        }
        self.folder.clear_debug();
        if !self.folder.journal.entries.is_empty() {
            terminal::say("note", &format!("goes on after {}", history::summary(&self.folder.journal)));
            self.best = self.folder.best()?;
        } else if let Cluster::Launched(template) = &self.cluster
            && let Some(job) = self.folder.settings.jobs.last()
        {
            let library = self.folder.settings.platform.library;
            let output = self.folder.prepare(MACHINE)?;
            let found = machine::look(template, job.scale, library, self.folder.whole_path(), &output);
            found.iter().for_each(|found| terminal::say("warning", found));
        }
        let ended = self.search().and_then(|why| {
            why.iter().for_each(|why| terminal::say("note", why));
            self.confirm_by_ab()
        });
        if process::is_stopped() {
            self.write_state()?;
            let name = self.folder.path().display();
            return refuse(format!("stopped; collectune tune --resume {name} goes on after the last whole launch"));
        }
        let deployed = ended?;
        let learnt = self.learnt()?;
        if learnt.loaded().is_none() {
            return refuse("nothing was measured that can be compared: the notes above say why");
        }
        self.write_report(&learnt)?;
        // What an earlier end of this campaign has left is not to be deployed any more.
        if matches!(deployed, Deployment::None(_)) {
            remove(&self.folder.file(TUNED))?;
        }
        self.say_end(&deployed)
    }

    /// Searches and repeats until nothing more is worth a launch. Returns why it ended.
    fn search(&mut self) -> Result<Vec<String>, CliError> {
        if self.has_ab_begun() {
            return Ok(Vec::new());
        }
        loop {
            let mut measured = self.measured()?;
            let settings = &self.folder.settings;
            let journal = &self.folder.journal;
            let mut step = next::search(settings, journal, measured.loaded(), self.prior.as_ref(), &mut Silent)?;
            let is_search = matches!(&step, SearchStep::Launch(launch) if launch.phase <= Phase::Search);
            // What is repeated and deployed is what the model recommends, as the page does with the same logs.
            if !is_search && let Some(loaded) = measured.loaded() {
                if let SearchStep::Done(why) = &step
                    && !loaded.study.has_choice()
                {
                    return refuse(format!(
                        "{}; the default was measured and nothing else: give more time (--budget) or more launches \
                         (--launches), fewer launches of the A/B (--ab-repeats) or none (--without-ab)",
                        why.join("; ")
                    ));
                }
                measured.learn()?;
                step = next::search(settings, journal, measured.loaded(), self.prior.as_ref(), &mut Silent)?;
            }
            match step {
                SearchStep::Done(why) => {
                    measured.drift.iter().for_each(|note| terminal::say("note", note));
                    let fastest = self.best.listing(None);
                    if !fastest.rows.is_empty() {
                        terminal::write(&format!("Fastest, as measured\n{}\n", table::of_listing(&fastest)))?;
                    }
                    self.write_candidate(&measured)?;
                    return Ok(why);
                }
                SearchStep::Launch(launch) => self.launch(&launch, None)?,
            }
            if matches!(self.cluster, Cluster::Launched(_)) && self.looked_at.elapsed() >= REPORT_EVERY {
                self.write_state()?;
                self.looked_at = Instant::now();
            }
            if process::is_stopped() {
                return Ok(Vec::new());
            }
        }
    }

    /// Reads all logs, and learns from them.
    fn learnt(&self) -> Result<Measured, CliError> {
        let mut measured = self.measured()?;
        if measured.loaded().is_some() {
            measured.learn()?;
        }
        Ok(measured)
    }

    /// Reads the logs of search and confirmation.
    fn measured(&self) -> Result<Measured, CliError> {
        let (opened, drift) = self.folder.read()?;
        let mut executor = Executor::default();
        executor.take_in(opened, Target::Time, &mut Silent)?;
        Ok(Measured { executor, drift })
    }

    /// Makes a launch and enters it into the journal. `conf` is the tuner file that it runs with.
    fn launch(&mut self, launch: &NextLaunch, conf: Option<&Path>) -> Result<(), CliError> {
        self.view.begin(launch, &self.folder, &self.best);
        let made = self.make(launch, conf);
        self.view.end();
        made
    }

    fn make(&mut self, launch: &NextLaunch, conf: Option<&Path>) -> Result<(), CliError> {
        let log = self.folder.log_name(launch);
        let path = self.folder.prepare(&log)?;
        let began_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let began = Instant::now();
        let (outcome, seconds) = match &self.cluster {
            Cluster::Played(player) => play(player, &self.folder, launch, &path, conf)?,
            Cluster::Launched(template) => {
                let outcome = self.start(template, launch, &path, conf)?;
                (outcome, began.elapsed().as_secs_f64())
            }
        };
        if process::is_stopped() {
            // The launch was cut off: it is made again.
            let _ = fs::remove_file(&path);
            return Ok(());
        }
        let outcome = match outcome {
            LaunchOutcome::Measured => self.checked(&path, launch.job)?,
            failed => failed,
        };
        let log = match outcome.failure() {
            None => log,
            // What it measured before it failed is no measurement of a configuration that works.
            Some(_) => {
                let failed = format!(".failed/{:03}.txt", self.folder.next_number());
                let to = self.folder.prepare(&failed)?;
                fs::rename(&path, &to).map_err(|error| told(format!("{}: {error}", path.display())))?;
                failed
            }
        };
        let NextLaunch { phase, job, requested, repeat, why, expected_pct } = launch.clone();
        let brought = if phase.counts() && outcome == LaunchOutcome::Measured {
            Some(self.best.take(job, requested, &self.folder.read_log(&log)?.rows))
        } else {
            None
        };
        let failure = outcome.failure();
        let entry = JournalEntry {
            launch: self.folder.next_number(),
            phase,
            job,
            requested,
            repeat,
            why,
            expected_pct,
            log,
            began_s,
            seconds,
            outcome,
            brought,
        };
        self.view.ended(launch, &entry, &self.folder);
        let shown = format!("{}/{}", self.folder.path().display(), entry.log);
        self.folder.append(entry)?;
        match failure {
            Some(why) if phase == Phase::WarmUp => refuse(format!(
                "the first launches must work, and this one did not: {why}; its output is in {shown}. When that is mended, \
                 collectune tune --resume {} goes on",
                self.folder.path().display()
            )),
            _ => Ok(()),
        }
    }

    /// Starts a launch on the cluster.
    fn start(
        &self,
        template: &Template,
        launch: &NextLaunch,
        log: &Path,
        conf: Option<&Path>,
    ) -> Result<LaunchOutcome, CliError> {
        let debug = self.folder.debug_file()?;
        let words = request(&self.folder.settings, template, launch, &debug, conf);
        let limit = self.limit_s(launch.job);
        let ending = process::run(&words, self.folder.whole_path(), log, Duration::from_secs_f64(limit));
        let ending = ending.map_err(|error| {
            told(format!("{} can't be started: {error}; see --launcher", words.first().map_or("", String::as_str)))
        })?;
        let last = last_line(log);
        let texts = self.folder.take_debug(log)?;
        Ok(match ending {
            Ending::Stopped => LaunchOutcome::Failed("it was stopped".to_owned()),
            Ending::TimedOut => LaunchOutcome::TimedOut(limit),
            Ending::Ended(status) if !status.success() => {
                LaunchOutcome::Failed(format!("it ended with {status}{last}"))
            }
            Ending::Ended(_) if texts.is_empty() && self.checked(log, launch.job)? == LaunchOutcome::Measured => LaunchOutcome::Failed(
                "the library wrote no debug file: the campaign's folder must lie on a file system that all nodes share, and the \
                 launcher must pass {env} on"
                    .to_owned(),
            ),
            Ending::Ended(_) if launch.requested == Requested::TunerFile && !texts.iter().any(|text| has_tuner(text, conf)) => {
                LaunchOutcome::Failed(
                    "no line of the library says that a tuner read the file".to_owned(),
                )
            }
            Ending::Ended(_) => LaunchOutcome::Measured,
        })
    }

    /// Whether a log has a table that can be used, of as many ranks and nodes as were launched, up to the last size,
    /// and without wrong values.
    fn checked(&self, log: &Path, job: Job) -> Result<LaunchOutcome, CliError> {
        let bytes = fs::read(log).map_err(|error| told(format!("{}: {error}", log.display())))?;
        let mut lines = Lines::new(&bytes[..]);
        let read = log::read_text(&mut lines, &mut || 0.0);
        if !read.has_runs() {
            return Ok(LaunchOutcome::Failed(format!("its output has no table of nccl-tests{}", last_line(log))));
        }
        let name = log.file_name().unwrap_or_default().to_string_lossy();
        // What a log lacks is told when it is read with the others.
        let Ok(LogRows { rows, reading, .. }) = read.rows(0, &name, &LogAnswers::default()) else {
            return Ok(LaunchOutcome::Measured);
        };
        let of_row = |row: &Row| reading.origins.get(row.origin).values()[Aspect::Nodes as usize].clone();
        if let Some(nodes) = rows.first().and_then(of_row) {
            self.take_nodes(nodes, job);
        }
        let ranks = job.scale.ranks;
        let asked = self.folder.settings.sizes;
        let is_launched = matches!(self.cluster, Cluster::Launched(_));
        let sizes = || rows.iter().map(|row| row.workload.size_bytes);
        let (first, last) = (sizes().min().unwrap_or_default(), sizes().max().unwrap_or_default());
        // The smallest message of some collectives is an element for each rank.
        let first_asked = asked.first.max(u64::from(ranks) * 64);
        let is_beyond = last > asked.last || first.saturating_mul(2) <= asked.first;
        if is_launched && is_beyond && !rows.is_empty() {
            self.say_sizes_beyond([first, last]);
        }
        let wrong = rows.iter().filter(|row| row.marks.has_wrong_values).count() as u64;
        Ok(match (rows.first(), reading.problems.kept.first()) {
            (None, Some(problem)) => LaunchOutcome::Failed(format!("no row of its table can be used: {problem}")),
            (Some(row), _) if row.workload.scale.ranks != ranks => LaunchOutcome::Failed(format!(
                "its table is of {}, and {ranks} were launched: are the programs built with MPI (MPI=1)?",
                count(row.workload.scale.ranks.into(), "rank")
            )),
            (Some(row), _) if is_launched && row.workload.scale.nodes != job.scale.nodes => {
                LaunchOutcome::Failed(format!(
                    "its table is of {}, and {} were asked for: does the launcher spread ranks over all of them ({{nodes}}, \
                 {{ranks_per_node}})?",
                    count(row.workload.scale.nodes.into(), "node"),
                    job.scale.nodes
                ))
            }
            (Some(_), _) if wrong > 0 => LaunchOutcome::Failed(format!(
                "{} of its table has wrong values (#wrong): what ran does not compute what it should",
                count(wrong, "row")
            )),
            // Sizes are rounded down to a multiple of the ranks, and a row that can't be read is told with the others.
            (Some(_), None) if is_launched && last.saturating_mul(2) <= asked.last => LaunchOutcome::Failed(format!(
                "its table ends at {}, and sizes up to {} were asked for{}",
                Size(last),
                Size(asked.last),
                last_line(log)
            )),
            (Some(_), None) if is_launched && first >= first_asked.saturating_mul(2) => LaunchOutcome::Failed(format!(
                "its table begins at {}, and sizes from {} on were asked for: do the program's own arguments choose others?",
                Size(first),
                Size(asked.first)
            )),
            _ => LaunchOutcome::Measured,
        })
    }

    /// Says once that launches measure sizes that were not asked for.
    fn say_sizes_beyond(&self, [first, last]: [u64; 2]) {
        if !self.said_sizes.replace(true) {
            let asked = self.folder.settings.sizes;
            let what = format!(
                "the launches measure {} to {}, and {} to {} were asked for (--sizes): the launcher or the program chooses \
                 others, which take their time and count as well",
                Size(first),
                Size(last),
                Size(asked.first),
                Size(asked.last)
            );
            terminal::say("warning", &what);
        }
    }

    /// Says once that launches run on different nodes.
    fn take_nodes(&self, nodes: String, job: Job) {
        let mut known = self.nodes.borrow_mut();
        if known.contains(&nodes) {
            return;
        }
        known.push(nodes);
        if known.len() == 2 {
            terminal::say(
                "warning",
                &format!(
                    "launches ran on different nodes, so that gains mix configurations and nodes: hold an allocation of \
                     exactly {}, or name them to the launcher",
                    count(job.scale.nodes.into(), "node")
                ),
            );
        }
    }

    fn limit_s(&self, job: Job) -> f64 {
        if let Some(limit) = self.folder.settings.time_limit_s {
            return limit;
        }
        let own = self.folder.journal.entries.iter().filter(|entry| entry.job == job);
        let mut seconds: Vec<f64> =
            own.filter(|entry| entry.outcome == LaunchOutcome::Measured).map(|entry| entry.seconds).collect();
        median(&mut seconds).map_or(FIRST_LIMIT_S, |median| LIMIT_FACTOR * median + 60.0)
    }

    /// Writes the tuner file of what is to be deployed by now, for the A/B. Nothing where nothing is better than the
    /// default beyond noise, whatever the best known is that a reader without the default would be given.
    fn write_candidate(&self, measured: &Measured) -> Result<(), CliError> {
        let Some(loaded) = measured.loaded() else { return Ok(()) };
        let settings = &self.folder.settings;
        let path = self.folder.file(CANDIDATE);
        if !next::has_gain(settings, loaded)? {
            return remove(&path);
        }
        let platform = settings.platform;
        let told = loaded.platform().filter(|told| told.library == platform.library).unwrap_or_default();
        let options = ExportOptions {
            reader: settings.reader,
            library: platform.library,
            by_scale: false,
            open_ends: false,
            architecture: None,
            version: platform.version.or(told.version),
            gpu: platform.gpu.or(told.gpu),
            leaves_out_built_in: false,
            measured_only: true,
        };
        let export = loaded.export(&options)?;
        export.warnings.iter().for_each(|warning| terminal::say("warning", warning));
        export.refusals.iter().for_each(|refusal| terminal::say("warning", &refusal.message()));
        match export.files.first() {
            Some(file) => save::save("tuner file", &path, &file.text),
            None => remove(&path),
        }
    }

    /// Writes the report and, until an A/B judges it, the best tuner file so far.
    fn write_state(&self) -> Result<(), CliError> {
        let learnt = self.learnt()?;
        if !self.has_ab_begun() {
            self.write_candidate(&learnt)?;
        }
        self.write_report(&learnt)
    }

    fn write_report(&self, learnt: &Measured) -> Result<(), CliError> {
        if learnt.loaded().is_none() {
            return Ok(());
        }
        let contents = Contents { file_names: false, ..Contents::whole() };
        let made = learnt.executor.report(&contents)?;
        let options = WriteOptions { form: ReportFormat::Html, ..WriteOptions::default() };
        match report::write(&made, &options)? {
            Written::File { text, .. } => save::save("report", &self.folder.file(REPORT), text),
            Written::Links(_) => Ok(()),
        }
    }

    fn has_ab_begun(&self) -> bool {
        self.folder.journal.entries.iter().any(|entry| matches!(entry.phase, Phase::Ab | Phase::AbOfRest))
    }

    /// Runs the tuner file against the default and an empty file, trims what does not hold, and does the same with what
    /// is left.
    fn confirm_by_ab(&mut self) -> Result<Deployment, CliError> {
        let candidate = self.folder.file(CANDIDATE);
        if process::is_stopped() || !candidate.is_file() {
            return Ok(Deployment::None("nothing was seen to be faster than the default beyond noise".to_owned()));
        }
        let whole = fs::read_to_string(&candidate).map_err(|error| told(format!("{CANDIDATE}: {error}")))?;
        if !has_rules(&whole) {
            return Ok(Deployment::None(format!(
                "no gain over the default is beyond noise by enough for a rule ({CANDIDATE})"
            )));
        }
        if self.folder.settings.ab.is_none() {
            return self.deployed(&whole, "not confirmed by an A/B");
        }
        if own_rules(&self.folder.settings, &whole) == 0 {
            return self.deployed(&whole, "not confirmed by an A/B, which can't judge the rules of this reader");
        }
        let first = match self.ab(Phase::Ab, &candidate)? {
            Ok(judged) => judged,
            Err(why) => return Ok(Deployment::None(why)),
        };
        let settings = &self.folder.settings;
        match (own_rules(settings, &first.left), own_rules(settings, &whole)) {
            (0, _) if !first.is_complete => {
                return Ok(Deployment::None(format!(
                    "the budget ended before the A/B could confirm a rule of {CANDIDATE}"
                )));
            }
            (0, _) => return Ok(Deployment::None(format!("the A/B confirmed no rule of {CANDIDATE}"))),
            (kept, all) if kept == all => return self.deployed(&first.left, "confirmed by the A/B"),
            _ => {}
        }
        let trimmed = self.folder.file(TRIMMED);
        save::save("tuner file", &trimmed, &first.left)?;
        match self.ab(Phase::AbOfRest, &trimmed)? {
            Ok(rest) if !rest.is_complete => self.deployed(
                &first.left,
                "each confirmed by the A/B; as it stands the file was not run often enough, since the budget allowed no more",
            ),
            Ok(rest) if own_rules(&self.folder.settings, &rest.left) == 0 => {
                Ok(Deployment::None(format!("the A/B confirmed no rule of {TRIMMED}")))
            }
            Ok(rest) => self.deployed(&rest.left, "confirmed by the A/B"),
            Err(why) => Ok(Deployment::None(why)),
        }
    }

    fn deployed(&self, text: &str, how: &'static str) -> Result<Deployment, CliError> {
        save::save("tuner file", &self.folder.file(TUNED), text)?;
        Ok(Deployment::File { rules: own_rules(&self.folder.settings, text), how })
    }

    /// An A/B of a tuner file. The error within is why it concludes nothing.
    fn ab(&mut self, phase: Phase, conf: &Path) -> Result<Result<JudgedFile, String>, CliError> {
        let empty = self.folder.file(EMPTY);
        save::save("tuner file", &empty, "")?;
        let mut is_complete = true;
        while let Some(launch) = next::ab(&self.folder.settings, &self.folder.journal, phase) {
            let failed = self.folder.journal.entries.iter().filter(|entry| {
                entry.phase == phase && entry.requested == Requested::TunerFile && entry.outcome.failure().is_some()
            });
            if failed.count() >= MAX_FAILED_WITH_FILE {
                return refuse(format!(
                    "the A/B ends here: {MAX_FAILED_WITH_FILE} launches with the tuner file failed; nothing is deployed that was \
                     not seen to work"
                ));
            }
            if next::LaunchesLeft::new(&self.folder.settings, &self.folder.journal).0 == Some(0) {
                terminal::say(
                    "warning",
                    "the budget allows no further launch: the A/B is judged by those that were made",
                );
                is_complete = false;
                break;
            }
            let with = match launch.requested {
                Requested::TunerFile => Some(conf),
                Requested::EmptyTunerFile => Some(empty.as_path()),
                _ => None,
            };
            let is_file = launch.requested == Requested::TunerFile;
            self.launch(&launch, with)?;
            if process::is_stopped() {
                return Ok(Err("it was stopped".to_owned()));
            }
            let Some(entry) = self.folder.journal.entries.last() else { continue };
            if let Some(why) = entry.outcome.failure().filter(|_| is_file) {
                return refuse(format!(
                    "the A/B ends here: a launch with the tuner file failed ({why}); nothing is deployed that was not seen to \
                     work"
                ));
            }
        }
        let judged = self.judge(phase, conf)?;
        Ok(judged.map(|left| JudgedFile { left, is_complete }))
    }

    /// What an A/B leaves of a tuner file. The error within is why it concludes nothing.
    fn judge(&self, phase: Phase, conf: &Path) -> Result<Result<String, String>, CliError> {
        let opened = self.folder.read_folder(if phase == Phase::Ab { "ab" } else { "ab_of_rest" })?;
        let mut text = fs::read_to_string(conf).map_err(|error| told(format!("{}: {error}", conf.display())))?;
        let OpenedFiles { documents, files, .. } = &opened;
        let mut kept: Vec<String> = Vec::new();
        for (id, comparison) in &documents.comparisons {
            let name = files.iter().find(|file| file.id == *id).map_or("", |file| file.name.as_str());
            let answer = ab::judge(comparison, name, Some(text.as_bytes()), &AbQuestion::default());
            let Some(trimmed) = answer.trimmed else { continue };
            if let Some(why) = answer.void {
                return Ok(Err(format!("the A/B concludes nothing: {why}")));
            }
            let is_judged = |rule: &&JudgedRule| !matches!(rule.verdict, RuleVerdict::NotJudged(_));
            let judged: Vec<JudgedRule> = answer.rules.iter().filter(is_judged).cloned().collect();
            if !judged.is_empty() {
                let table = table::of_listing(&ab::listing::by_rule(&judged));
                terminal::write(&format!("{}\n{table}\n", capitalised(phase.name())))?;
            }
            kept.extend(judged.into_iter().filter(|rule| rule.verdict == RuleVerdict::Keep).map(|rule| rule.rule.text));
            text = trimmed;
        }
        let settings = &self.folder.settings;
        let own = ab::rules::of_conf(text.as_bytes()).into_iter().filter(|rule| is_of_campaign(settings, rule));
        let unjudged = own.filter(|rule| !kept.contains(&rule.text)).map(|rule| (rule.line, NO_RUNS));
        let unjudged = unjudged.compact_collect::<BTreeMap<u64, &str>>();
        if unjudged.is_empty() {
            return Ok(Ok(text));
        }
        terminal::say(
            "warning",
            &format!("{} of the tuner file {NO_RUNS}: not deployed", count(unjudged.len() as u64, "rule")),
        );
        Ok(Ok(ab::trim::without(&text, &unjudged, None)))
    }

    fn say_end(&self, deployment: &Deployment) -> Result<(), CliError> {
        let name = self.folder.path().display();
        let made = history::summary(&self.folder.journal);
        let took = duration::words(self.folder.journal.seconds());
        let unspent = unspent(&self.folder.settings.budget, &self.folder.journal);
        let mut text = format!("{made} in {took}{unspent}; the report is {name}/{REPORT}\n");
        match deployment {
            Deployment::File { rules, how } => {
                text += &format!(
                    "{name}/{TUNED}: {}, {how}\n\n{}",
                    count(*rules as u64, "rule"),
                    loading(self.folder.settings.reader, TUNED)
                );
            }
            Deployment::None(why) => text += &format!("Deploy no tuner file: {why}\n"),
        }
        terminal::write(&text)
    }
}

/// Whether a rule of a tuner file is about what the campaign tunes, and none of the library's own table.
fn is_of_campaign(settings: &CampaignSettings, rule: &RuleRange) -> bool {
    let is_about = |job: &Job| {
        let (nodes, ranks) = (Some(job.scale.nodes), Some(job.scale.ranks));
        rule.is_about(&RunScale { collective: Some(job.collective), nodes, ranks })
    };
    !rule.is_built_in && settings.jobs.iter().any(is_about)
}

/// What is left of a budget, as a part of a sentence; nothing where it is spent, or there is none.
fn unspent(budget: &Budget, journal: &Journal) -> String {
    let launches = budget.launches.and_then(|most| {
        let left = most.saturating_sub(journal.entries.len() as u32);
        (left > 0).then(|| format!("{left} of {}", count(most.into(), "launch")))
    });
    let time = budget.seconds.and_then(|most| {
        let left = most - journal.seconds();
        (left >= 1.0).then(|| format!("{} of {}", duration::words(left), duration::words(most)))
    });
    let left: Vec<String> = launches.into_iter().chain(time).collect();
    if left.is_empty() { String::new() } else { format!(", {} not spent", left.join(" and ")) }
}

/// Whether a tuner file says anything besides the rows of the library's own table.
fn has_rules(conf: &str) -> bool {
    let is_said = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let built_in = ab::rules::of_conf(conf.as_bytes()).iter().filter(|rule| rule.is_built_in).count();
    conf.lines().filter(is_said).count() > built_in
}

/// Removes a file, if it is there.
fn remove(path: &Path) -> Result<(), CliError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(told(format!("{}: {error}", path.display()))),
        _ => Ok(()),
    }
}

/// How many rules of a tuner file are about what the campaign tunes.
fn own_rules(settings: &CampaignSettings, conf: &str) -> usize {
    if settings.reader == Reader::Ncclx {
        return read(conf.as_bytes(), settings.reader).len();
    }
    ab::rules::of_conf(conf.as_bytes()).iter().filter(|rule| is_of_campaign(settings, rule)).count()
}

/// The words of a launch's command.
pub(super) fn request(
    settings: &CampaignSettings,
    template: &Template,
    launch: &NextLaunch,
    debug: &str,
    conf: Option<&Path>,
) -> Vec<String> {
    let job = launch.job;
    let configuration = match launch.requested {
        Requested::Configuration(configuration) => Some(configuration),
        _ => None,
    };
    let asked = launch::environment(configuration, job.collective);
    let mut environment: Vec<(String, String)> =
        asked.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let mut set = |name: &str, value: &str| environment.push((name.to_owned(), value.to_owned()));
    if let Some(conf) = conf.and_then(|conf| std::path::absolute(conf).ok()) {
        let conf = conf.display().to_string();
        match settings.reader {
            Reader::Ncclx => set("NCCLX_TUNER_CONFIG_FILE", &conf),
            _ => set("NCCL_TUNER_CONFIG_FILE", &conf),
        }
        if let Some(plugin) = settings.ab.as_ref().and_then(|ab| ab.plugin.as_deref()) {
            set("NCCL_TUNER_PLUGIN", plugin);
        }
    }
    // An A/B needs no line of each call: writing them costs time, which must not fall on one arm alone. Of a loaded
    // plugin NCCL 2.21 to 2.24 speak under ENV.
    let is_ab = matches!(launch.phase, Phase::Ab | Phase::AbOfRest);
    set("NCCL_DEBUG", "INFO");
    set("NCCL_DEBUG_SUBSYS", if is_ab { "INIT,ENV" } else { "INIT,TUNING" });
    set("NCCL_DEBUG_FILE", debug);
    let mut arguments: Vec<String> =
        settings.sizes.arguments().split(' ').map(str::to_owned).chain(settings.arguments.iter().cloned()).collect();
    let gpus = if template.is_one_process() { job.scale.ranks } else { 1 };
    arguments.extend(["-g".to_owned(), gpus.to_string()]);
    let program = PathBuf::from(&settings.tests).join(launch::program(job.collective)).display().to_string();
    template.command(&Command { scale: job.scale, environment: &environment, program: &program, arguments: &arguments })
}

/// Answers a launch from a sweep.
fn play(
    player: &Player,
    folder: &Folder,
    launch: &NextLaunch,
    log: &Path,
    conf: Option<&Path>,
) -> Result<(LaunchOutcome, f64), CliError> {
    let reader = folder.settings.reader;
    let rules = match conf {
        Some(path) => {
            Some(read(&fs::read(path).map_err(|error| told(format!("{}: {error}", path.display())))?, reader))
        }
        None => None,
    };
    let played = player.play(&PlayedLaunch {
        number: folder.next_number(),
        job: launch.job,
        sizes: folder.settings.sizes,
        requested: launch.requested,
        rules: rules.as_deref().map(|rules| (rules, reader)),
    });
    let unwritten = |error: std::io::Error| told(format!("{}: {error}", log.display()));
    match played {
        Ok(played) => {
            fs::write(log, &played.output).map_err(unwritten)?;
            // In an A/B the library is not asked for its decisions.
            if !played.debug.is_empty() && launch.phase.counts() {
                append(log, &played.debug)?;
            }
            Ok((LaunchOutcome::Measured, played.seconds))
        }
        Err(error) => {
            fs::write(log, "").map_err(unwritten)?;
            Ok((LaunchOutcome::Failed(error.to_string()), 0.0))
        }
    }
}

/// Whether the library says that it loaded a tuner that reads the file: a plugin, NCCLX's, or RCCL's own, which names
/// the file, since without ours it would read another one.
fn has_tuner(debug: &str, conf: Option<&Path>) -> bool {
    let plugins =
        ["TUNER/Plugin: Using ", "Using tuner plugin ", "Successfully loaded external tuner plugin", "NCCLX TUNER: "];
    // Where the plugin that was asked for is not found, another one may be used: that of a network plugin, or none.
    let others = ["TUNER/Plugin: Could not find", "Using internal tuner plugin"];
    if others.iter().any(|line| debug.contains(line)) {
        return false;
    }
    let conf = conf.and_then(|conf| std::path::absolute(conf).ok());
    let mut own =
        debug.lines().filter_map(|line| Some(line.split_once("Using built-in CSV tuner, config: ")?.1.trim()));
    plugins.iter().any(|line| debug.contains(line)) || own.any(|file| conf.as_deref() == Some(Path::new(file)))
}

/// The last line of a launch's output, as the end of a sentence.
fn last_line(log: &Path) -> String {
    let bytes = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or_else(String::new, |line| format!("; its last line is \"{}\"", excerpt(line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_tuner_that_was_asked_for_counts() {
        let conf = std::path::absolute("a.csv").unwrap_or_default();
        let own = format!("NCCL INFO Using built-in CSV tuner, config: {}", conf.display());
        for (debug, is_read) in [
            ("NCCL INFO TUNER/Plugin: Using tuner plugin ours", true),
            ("NCCL INFO Successfully loaded external tuner plugin ours", true),
            (
                "NCCL INFO TUNER/Plugin: Could not find: ours.so\nNCCL INFO TUNER/Plugin: Using nccl_ofi_tuner (v3)",
                false,
            ),
            ("NCCL INFO TUNER/Plugin: Using internal tuner plugin.", false),
            (&own, true),
            ("NCCL INFO Using built-in CSV tuner, config: /opt/rocm/share/rccl/tuner/rccl_tuner.csv", false),
            ("", false),
        ] {
            assert_eq!(has_tuner(debug, Some(&conf)), is_read, "{debug}");
        }
    }
}
