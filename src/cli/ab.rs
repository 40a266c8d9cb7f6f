//! `collectune ab`: which rules of a tuner file an A/B campaign lets stand.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde::Serialize;

use super::{CliError, arguments, files, save, table, terminal};
use crate::{
    collective::Collective,
    text::{Problem, visible},
    tuning::{
        ab::{
            self, AbAnswer, AbQuestion,
            script::CampaignPlan,
            verdict::{Limits, RuleVerdict, SizeEffect},
        },
        launch::{Launcher, Sizes},
    },
};

/// Judge a tuner file by runs with it and without it
///
/// Reads the per-size file of a campaign (per_size_stats.csv), or the logs of one whose names tell the arm
/// (all_reduce_2n_default_r1.log, all_reduce_2n_conf_r1.log, all_reduce_2n_empty_r1.log, as the script of collectune ab
/// plan names them). Says of each rule how likely it is better than the default, whether to keep it, and why not.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:
  collectune ab allreduce_1n.per_size_stats.csv --conf candidate.conf -o trimmed.conf
  collectune ab logs/*.log --conf candidate.conf --json
  collectune ab plan --collective all_reduce --nodes 2 --ranks 16 --plugin /opt/tuner.so --conf candidate.conf"
)]
pub(super) struct Ab {
    #[command(subcommand)]
    plan: Option<Next>,

    /// Per-size files of a campaign, or its logs
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The tuner file that the second arm ran; without it each size is judged by itself
    #[arg(long, value_name = "CONF")]
    conf: Option<PathBuf>,

    /// The collective, where neither the file's name nor the tuner file says it
    #[arg(long, value_name = "C", value_parser = arguments::collective)]
    collective: Option<Collective>,

    /// Ranks over all nodes, where neither the logs nor the tuner file say them: bandwidths tell a time only with them
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    ranks: Option<u32>,

    /// A rule is kept if it is better with at least this probability
    #[arg(long, value_name = "P", default_value_t = Limits::default().confidence, value_parser = arguments::share)]
    confidence: f64,

    /// Write what is left of the tuner file
    #[arg(short, long, value_name = "FILE", requires = "conf")]
    output: Option<PathBuf>,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum Next {
    Plan(Plan),
}

/// Write the next campaign as a bash script: no plugin, the tuner file, an empty tuner file, in a balanced order
#[derive(Args)]
struct Plan {
    /// The collective
    #[arg(long, value_name = "C", value_parser = arguments::collective)]
    collective: Collective,

    /// Nodes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    nodes: u32,

    /// Ranks over all nodes, one per GPU
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    ranks: u32,

    /// The plugin, with its path: a name that can't be found is passed over without an error
    #[arg(long, value_name = "FILE")]
    plugin: String,

    /// The tuner file
    #[arg(long, value_name = "FILE")]
    conf: String,

    /// The smallest message size
    #[arg(long, default_value = "4K", value_parser = arguments::size)]
    min: u64,

    /// The largest message size
    #[arg(long, default_value = "512M", value_parser = arguments::size)]
    max: u64,

    /// Launches of each arm; with three, equal arms look different in one of twenty cases
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=CampaignPlan::MAX_REPEATS as i64))]
    repeats: u32,

    /// Seed of the order
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,

    /// What starts the ranks
    #[arg(long, value_enum, default_value_t)]
    launcher: Launcher,
}

impl Plan {
    fn run(self) -> Result<(), CliError> {
        let Self { collective, nodes, ranks, plugin, conf, min, max, repeats, seed, launcher } = self;
        if min > max {
            return Err(CliError::Typed("--min is above --max: no size lies between them"));
        }
        let (scale, sizes) = (arguments::scale(nodes, ranks)?, Sizes { first: min, last: max });
        terminal::write_file(&CampaignPlan { collective, scale, sizes, repeats, seed, launcher, plugin, conf }.script())
    }
}

impl Ab {
    pub(super) fn run(self) -> Result<(), CliError> {
        if let Some(Next::Plan(plan)) = self.plan {
            return plan.run();
        }
        let opened = files::read_any(
            &self.files,
            None,
            &arguments::Measured::default(),
            files::Reads::Of(crate::report::Workbench::Tuning),
        )?;
        let conf = self.conf.as_deref().map(files::bytes).transpose()?;
        let limits = Limits { confidence: self.confidence, ..Limits::default() };
        let question = AbQuestion { collective: self.collective, ranks: self.ranks, limits, ..AbQuestion::default() };
        let comparisons = &opened.documents.comparisons;
        if comparisons.is_empty() {
            return Err(CliError::NothingToCompare);
        }
        if conf.as_deref().is_some_and(|conf| conf.trim_ascii().is_empty()) {
            let name = self.conf.as_deref().map(files::name).unwrap_or_default();
            return Err(CliError::Told(format!("{name} is empty: there is no rule to judge")));
        }
        let mut answers = Vec::new();
        for (id, text) in comparisons {
            let name = opened.files.iter().find(|file| file.id == *id).map_or("", |file| file.name.as_str());
            let answer = ab::judge(text, name, conf.as_deref(), &question);
            for problem in answer.problems.kept.iter().take(files::TOLD) {
                terminal::say("warning", &format!("{name}: {problem}"));
            }
            answers.push((name, answer));
        }
        if let Some(path) = &self.output {
            let mut trimmed = answers.iter().filter_map(|(name, answer)| Some((*name, answer.trimmed.as_deref()?)));
            match (trimmed.next(), trimmed.next()) {
                (None, _) => {
                    terminal::say_notes(
                        &answers.iter().flat_map(|(_, answer)| answer.notes.clone()).collect::<Vec<_>>(),
                    );
                    return Err(CliError::Typed("no campaign ran a tuner file with rules: nothing is written"));
                }
                (Some((first, _)), Some((second, _))) => {
                    return Err(CliError::Told(format!(
                        "-o takes what one campaign leaves of the tuner file, and there are several ({first}, {second}): \
                         give the files of one"
                    )));
                }
                (Some((_, trimmed)), None) => save::save("tuner file", path, trimmed)?,
            }
        }
        if self.json {
            let reports: Vec<Report> = answers.iter().map(|(name, answer)| report(name, answer)).collect();
            // Strings, numbers and lists can always be written.
            return terminal::write_json(&(serde_json::to_string_pretty(&reports).unwrap_or_default() + "\n"));
        }
        let texts: Vec<String> = answers.iter().map(|(name, answer)| for_people(name, answer)).collect();
        terminal::write(&texts.join("\n"))
    }
}

fn for_people(name: &str, answer: &AbAnswer) -> String {
    terminal::say_notes(&answer.notes);
    let void = answer.void.as_ref().map_or_else(String::new, |why| format!("Void: {why}.\n"));
    format!("{}\n{void}{}\n{}", visible(name), table::of_listing(&answer.by_rule), table::of_listing(&answer.by_size))
}

#[derive(Serialize)]
struct Report<'a> {
    file: &'a str,
    void: Option<&'a str>,
    notes: &'a [String],
    problems: &'a [Problem],
    rules: Vec<RuleReport<'a>>,
    /// All sizes, also those of a file without rules.
    sizes: &'a [SizeEffect],
}

#[derive(Serialize)]
struct RuleReport<'a> {
    line: u64,
    rule: &'a str,
    min_bytes: u64,
    max_bytes: u64,
    gain_pct: Option<f64>,
    better: f64,
    null_rate: Option<f64>,
    #[serde(flatten)]
    verdict: VerdictReport<'a>,
    peers: VerdictReport<'a>,
    sizes: &'a [SizeEffect],
    missing_bytes: &'a [u64],
    notes: &'a [String],
}

#[derive(Serialize)]
struct VerdictReport<'a> {
    verdict: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'a str,
}

impl<'a> VerdictReport<'a> {
    fn of(verdict: &'a RuleVerdict) -> Self {
        let key = if matches!(verdict, RuleVerdict::NotJudged(_)) { "not_judged" } else { verdict.word() };
        Self { verdict: key, reason: verdict.reason() }
    }
}

fn report<'a>(file: &'a str, answer: &'a AbAnswer) -> Report<'a> {
    let rules = answer.rules.iter().map(|judged| RuleReport {
        line: judged.rule.line,
        rule: &judged.rule.text,
        min_bytes: judged.rule.min_bytes,
        max_bytes: judged.rule.max_bytes,
        gain_pct: judged.gain_pct,
        better: judged.better,
        null_rate: judged.null_rate,
        verdict: VerdictReport::of(&judged.verdict),
        peers: VerdictReport::of(&judged.peers),
        sizes: &judged.effects,
        missing_bytes: &judged.missing,
        notes: &judged.notes,
    });
    Report {
        file,
        void: answer.void.as_deref(),
        notes: &answer.notes,
        problems: &answer.problems.kept,
        rules: rules.collect(),
        sizes: &answer.effects,
    }
}
