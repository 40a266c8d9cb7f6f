//! `collectune tuning ab` and `ab-plan`: which rules of a tuner file an A/B campaign lets stand, and the next A/B.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use serde::Serialize;

use crate::{
    cli::{
        arguments::{self, Asked, Measured},
        error::{CliError, refuse},
        files,
        json::object,
        save, table, terminal,
    },
    collective::Collective,
    launch::{Launcher, Sizes},
    report::Workbench,
    text::visible,
    tuning::{
        ab::{
            self, AbAnswer, AbQuestion,
            script::CampaignPlan,
            verdict::{JudgedRule, Limits, RuleVerdict},
        },
        conf::{read, readers_of, rule::Rule},
    },
};

/// Judge a tuner file by runs with it and without it
///
/// Reads the per-size file of a campaign (per_size_stats.csv), or the logs of one whose names tell the arm
/// (all_reduce_2n_default_r1.log, all_reduce_2n_conf_r1.log, all_reduce_2n_empty_r1.log, as the script of collectune
/// tuning ab-plan names them). Says of each rule how likely it is better than the default, whether to keep it, and why
/// not.
#[derive(Args)]
#[command(after_help = "Examples:
  collectune tuning ab allreduce_1n.per_size_stats.csv --conf candidate.conf -o trimmed.conf
  collectune tuning ab logs/*.log --conf candidate.conf --json")]
pub(in crate::cli) struct Ab {
    /// Per-size files of a campaign, or its logs
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The tuner file that the second arm ran; without it each size is judged by itself
    #[arg(long, value_name = "CONF")]
    conf: Option<PathBuf>,

    /// The collective, where neither the file's name nor the tuner file says it
    #[arg(long, value_name = "C")]
    collective: Option<Collective>,

    /// Ranks over all nodes, where neither the logs nor the tuner file say them; needed to convert bandwidths to times
    #[arg(long, value_name = "R", value_parser = arguments::up_to::<u32>(10_000_000))]
    ranks: Option<u32>,

    /// A rule is kept if it is better with at least this probability
    #[arg(long, value_name = "P", default_value_t = Limits::default().confidence, value_parser = arguments::share)]
    confidence: f64,

    /// The gain that at least one size must reach, in per cent
    #[arg(long, value_name = "PCT", default_value_t = Limits::default().min_gain_pct, value_parser = arguments::minimum_gain)]
    least_gain: f64,

    /// The loss that no size may exceed, in per cent
    #[arg(long, value_name = "PCT", default_value_t = Limits::default().max_loss_pct, value_parser = arguments::minimum_gain)]
    largest_loss: f64,

    /// Write the tuner file with the rules that are kept
    #[arg(short, long, value_name = "FILE", requires = "conf")]
    output: Option<PathBuf>,

    /// Write the answer as JSON
    #[arg(long)]
    json: bool,
}

/// Write the next A/B as a bash script: no plugin, the tuner file, an empty tuner file, in a balanced order
#[derive(Args)]
#[command(after_help = "Example:
  collectune tuning ab-plan --collective all_reduce --nodes 2 --ranks 16 --plugin /opt/tuner.so --conf tuned.conf >ab.sh")]
pub(in crate::cli) struct AbPlan {
    #[command(flatten)]
    asked: Asked,

    /// The path of the plugin; the library ignores one that it can't find
    #[arg(long, value_name = "FILE")]
    plugin: String,

    /// The tuner file that is to be judged
    #[arg(long, value_name = "FILE")]
    conf: String,

    /// The smallest message size to measure
    #[arg(long, default_value = "4K", value_parser = arguments::size)]
    min: u64,

    /// The largest message size to measure
    #[arg(long, default_value = "512M", value_parser = arguments::size)]
    max: u64,

    /// Launches of each arm; with three, equal arms look different in one of twenty cases
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = arguments::up_to::<u32>(CampaignPlan::MAX_REPEATS.into()))]
    repeats: u32,

    /// Seed of the order of the launches
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,

    /// The program that starts the ranks
    #[arg(long, value_enum, default_value_t)]
    launcher: Launcher,
}

impl AbPlan {
    pub(super) fn run(self) -> Result<(), CliError> {
        let Self { asked, plugin, conf, min, max, repeats, seed, launcher } = self;
        if min > max {
            return refuse("--min is above --max: no size lies between them");
        }
        let (collective, scale, sizes) = (asked.collective, asked.launched_scale()?, Sizes { first: min, last: max });
        // The file of the cluster need not be here; one that is named without its folders was meant to be.
        let read_here = fs::read(&conf);
        if let Some(error) = read_here.as_ref().err().filter(|_| Path::new(&conf).is_relative()) {
            let what =
                format!("{conf} can't be read here ({error}), so its rules are not checked; the script needs it");
            terminal::say("note", &what);
        }
        if let Ok(bytes) = read_here {
            let rules = read(&bytes, readers_of(&bytes)[0]);
            let [nodes, ranks] = [scale.nodes, scale.ranks].map(i64::from);
            let is_here = |rule: &Rule| rule.nodes.contains(nodes) && (rule.per_rank || rule.ranks.contains(ranks));
            if !rules.iter().any(|rule| rule.collective == collective && is_here(rule)) {
                let what =
                    format!("{conf} has no rule for {collective} on {scale}: the A/B would judge none of its rules");
                terminal::say("warning", &what);
            }
        }
        terminal::write_file(&CampaignPlan { collective, scale, sizes, repeats, seed, launcher, plugin, conf }.script())
    }
}

impl Ab {
    pub(super) fn run(self) -> Result<(), CliError> {
        let opened = files::read(&self.files, &Measured::default(), files::Reads::Of(Workbench::Tuning))?;
        let conf = self.conf.as_deref().map(files::rules).transpose()?;
        let (confidence, min_gain_pct, max_loss_pct) = (self.confidence, self.least_gain, self.largest_loss);
        let limits = Limits { confidence, min_gain_pct, max_loss_pct };
        let question = AbQuestion { collective: self.collective, ranks: self.ranks, limits, ..AbQuestion::default() };
        let comparisons = &opened.documents.comparisons;
        if let (true, Some(why)) = (comparisons.is_empty(), opened.documents.uncompared.first()) {
            return refuse(why.clone());
        }
        if comparisons.is_empty() {
            return refuse(
                "there is nothing to compare: give per_size_stats.csv, or the logs of a campaign, whose names tell the arm \
                 (all_reduce_2n_default_r1.log, all_reduce_2n_conf_r1.log)",
            );
        }
        let mut answers = Vec::new();
        for (id, text) in comparisons {
            let name = opened.files.iter().find(|file| file.id == *id).map_or("", |file| file.name.as_str());
            let answer = ab::judge(text, name, conf.as_deref(), &question);
            files::say_problems(name, &answer.problems);
            answers.push((name, answer));
        }
        if let Some(path) = &self.output {
            let mut trimmed = answers.iter().filter_map(|(name, answer)| Some((*name, answer.trimmed.as_deref()?)));
            match (trimmed.next(), trimmed.next()) {
                (None, _) => {
                    terminal::say_notes(answers.iter().flat_map(|(_, answer)| &answer.notes));
                    return refuse("no campaign ran a tuner file with rules: nothing is written");
                }
                (Some((first, _)), Some((second, _))) => {
                    return refuse(format!(
                        "-o takes what one campaign leaves of the tuner file, and there are several ({first}, {second}): \
                         give the files of one"
                    ));
                }
                (Some((_, trimmed)), None) => save::save("tuner file", path, trimmed)?,
            }
        }
        if self.json {
            return terminal::write_json(&answers.iter().map(|(name, answer)| json(name, answer)).collect::<Vec<_>>());
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

fn json(file: &str, answer: &AbAnswer) -> impl Serialize {
    object! {
        file: file,
        void: &answer.void,
        notes: &answer.notes,
        problems: &answer.problems.kept,
        rules: answer.rules.iter().map(rule).collect::<Vec<_>>(),
        /// All sizes, also those of a file without rules.
        sizes: &answer.effects,
    }
}

fn rule(judged: &JudgedRule) -> impl Serialize {
    object! {
        line: judged.rule.line,
        rule: &judged.rule.text,
        min_bytes: judged.rule.min_bytes,
        max_bytes: judged.rule.max_bytes,
        gain_pct: judged.gain_pct,
        better: judged.better,
        null_rate: judged.null_rate,
        #[serde(flatten)]
        verdict: verdict(&judged.verdict),
        peers: verdict(&judged.peers),
        sizes: &judged.effects,
        missing_bytes: &judged.missing,
        notes: &judged.notes,
    }
}

fn verdict(verdict: &RuleVerdict) -> impl Serialize {
    let reason = Some(verdict.reason()).filter(|reason| !reason.is_empty());
    object! {
        verdict: if matches!(verdict, RuleVerdict::NotJudged(_)) { "not_judged" } else { verdict.word() },
        #[serde(flatten)]
        reason: reason.map(|reason| object! { reason: reason }),
    }
}
