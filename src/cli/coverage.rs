//! `collectune coverage`: the sizes that a job really sends, and which rules they hit.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::{
    CliError,
    arguments::{self, Deployment, Measured, Sizes},
    files,
    table::Table,
    terminal,
};
use crate::{
    collective::{Collective, Workload},
    tuning::{
        aggregate::Target,
        conf::{Reader, expect::ExpectationBasis},
        coverage::{
            CoverageAnswer, CoverageLine, CoverageQuestion, CoverageTotal, Hit,
            calls::{TypedCalls, type_bytes},
        },
        parameters::Parameters,
    },
    units::Size,
    worker::executor::Executor,
};

/// Say which rules the sizes of a job hit, and what they cost per step
///
/// The calls come from logs of the job (NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=COLL or TUNING), or are typed as batch ×
/// hidden × data type. With a sweep their times are told: measured, between measured sizes, or from the model.
#[derive(Args)]
#[command(after_help = "Examples:
  collectune coverage job.log --conf nccl_tuner.conf --reader dn-tuner --sweep merged_metrics.csv --steps 100
  collectune coverage --collective all_reduce --batches 1,8,64 --hidden 8192 --type bf16 --calls 160 \\
    --nodes 1 --ranks 8 --conf nccl_tuner.conf --reader rccl")]
pub(super) struct Coverage {
    /// Logs of the job; - is the standard input
    #[arg(value_name = "LOG")]
    logs: Vec<PathBuf>,

    /// The tuner file
    #[arg(long, value_name = "CONF", requires = "reader")]
    conf: Option<PathBuf>,

    /// Who reads it
    #[arg(long, value_enum, requires = "conf")]
    reader: Option<Reader>,

    /// Sweeps that tell times
    #[arg(long, value_name = "SWEEP", num_args = 1..)]
    sweep: Vec<PathBuf>,

    #[command(flatten)]
    measured: Measured,

    #[command(flatten)]
    deployment: Deployment,

    /// Nodes of communicators that the log does not tell
    #[arg(long, value_name = "N", requires = "ranks", value_parser = clap::value_parser!(u32).range(1..))]
    nodes: Option<u32>,

    /// Ranks of communicators that the log does not tell
    #[arg(long, value_name = "N", requires = "nodes", value_parser = clap::value_parser!(u32).range(1..))]
    ranks: Option<u32>,

    /// Steps of the job that the log holds
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "batches", value_parser = clap::value_parser!(u32).range(1..))]
    steps: u32,

    /// Ranks that wrote the log
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "batches", value_parser = clap::value_parser!(u32).range(1..))]
    logging_ranks: u32,

    /// Typed calls: the collective
    #[arg(long, value_name = "COLLECTIVE", value_parser = arguments::collective, default_value = "all_reduce", requires = "batches")]
    collective: Collective,

    /// Typed calls: batch sizes, or tokens
    #[arg(long, value_name = "LIST", value_parser = arguments::sizes, requires = "hidden", conflicts_with = "logs")]
    batches: Option<Sizes>,

    /// Typed calls: hidden size
    #[arg(long, value_name = "N", requires = "batches", value_parser = clap::value_parser!(u64).range(1..))]
    hidden: Option<u64>,

    /// Typed calls: data type
    #[arg(long = "type", value_name = "TYPE", default_value = "bf16", value_parser = data_type, requires = "batches")]
    type_bytes: u32,

    /// Typed calls: how many of each per step (layers × calls of a layer)
    #[arg(long, value_name = "N", default_value_t = 1, requires = "batches", value_parser = clap::value_parser!(u32).range(1..))]
    calls: u32,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

fn data_type(text: &str) -> Result<u32, String> {
    type_bytes(text).ok_or_else(|| "it must be a data type like bf16, half, float or fp8".to_owned())
}

impl Coverage {
    pub(super) fn run(self) -> Result<(), CliError> {
        if self.logs.is_empty() && self.batches.is_none() {
            return Err(CliError::Typed("give logs of the job, or --batches and --hidden"));
        }
        let mut opened =
            files::read_any(&[&self.logs[..], &self.sweep].concat(), None, &self.measured, files::Reads::Sweeps)?;
        let jobs: Vec<u32> = opened.documents.jobs.iter().map(|(id, _)| *id).collect();
        files::say_no_sweep(&opened, &jobs);
        if self.sweep.is_empty() && opened.rows.is_empty() {
            arguments::say_unused(&["set"], "no sweep is given (--sweep)");
        }
        // A number that no file has.
        let conf = opened.files.len() as u32;
        if let Some(path) = &self.conf {
            opened.documents.confs.push((conf, files::bytes(path)?));
        }
        let mut bar = terminal::Bar::new();
        let mut executor = Executor::default();
        let loaded = executor.take_in(opened, Target::Time, &mut bar)?;
        if !executor.tuning.study.sweep().points.is_empty()
            && let Err(error) = executor.tuning.train(Parameters::default(), &mut bar)
        {
            terminal::say("note", &format!("times come from the measurements alone: {error}"));
        }
        drop(bar);
        terminal::say_notes(&loaded.notes);
        let typed = self.batches.zip(self.hidden).map(|(Sizes(batches), hidden)| TypedCalls {
            collective: self.collective,
            batches,
            hidden,
            type_bytes: self.type_bytes,
            calls: self.calls,
        });
        let question = CoverageQuestion {
            typed,
            conf: self.conf.map(|_| conf),
            reader: self.reader.unwrap_or_default(),
            library: self.deployment.library,
            scale: self.nodes.zip(self.ranks).map(|(nodes, ranks)| arguments::scale(nodes, ranks)).transpose()?,
            divide_by: self.steps.saturating_mul(self.logging_ranks),
        };
        let answer = executor.tuning.coverage(&question)?;
        terminal::say_notes(&answer.notes);
        if self.json {
            return terminal::write_json(&Report::of(&answer, executor.tuning.set.as_deref()).to_json());
        }
        let next: Vec<String> = answer.measure_next.iter().map(|(workload, _)| place(workload)).collect();
        let next = if next.is_empty() { String::new() } else { format!("\nMeasure next: {}.\n", next.join("; ")) };
        terminal::write(&format!("{}\n{}\n{next}", Table::of(&answer.listing).lines(), answer.sentence))
    }
}

fn place(workload: &Workload) -> String {
    format!("{} of {} on {}", workload.collective, Size(workload.size_bytes), workload.scale)
}

/// The JSON output; unknown values are null.
#[derive(Serialize)]
struct Report<'a> {
    /// Which of several sets of measurements tells times.
    set: Option<&'a str>,
    total: &'a CoverageTotal,
    lines: Vec<Call>,
    measure_next: Vec<Place>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct Place {
    collective: &'static str,
    num_nodes: u32,
    num_gpus: u32,
    size_bytes: u64,
}

#[derive(Serialize)]
struct Call {
    #[serde(flatten)]
    place: Place,
    calls: f64,
    /// The configuration that ran, as the log says.
    ran: Option<String>,
    /// How the tuner file applies: `rule`, `gap` or `untuned`.
    hits: &'static str,
    /// The line of the rule in the tuner file, from 1.
    line: Option<u32>,
    would_run: Option<String>,
    /// The time of one call, in µs.
    now_us: Option<f64>,
    now_known_by: Option<ExpectationBasis>,
    /// The time of one call, in µs.
    conf_us: Option<f64>,
    conf_known_by: Option<ExpectationBasis>,
    measured: bool,
}

impl From<&Workload> for Place {
    fn from(workload: &Workload) -> Self {
        Self {
            collective: workload.collective.name(),
            num_nodes: workload.scale.nodes,
            num_gpus: workload.scale.ranks,
            size_bytes: workload.size_bytes,
        }
    }
}

impl From<&CoverageLine> for Call {
    fn from(line: &CoverageLine) -> Self {
        let (hits, rule) = match line.hit {
            Hit::Rule(line) => ("rule", Some(line)),
            Hit::Gap => ("gap", None),
            Hit::Untuned => ("untuned", None),
        };
        Self {
            place: Place::from(&line.workload),
            calls: line.calls,
            ran: line.seen.map(|seen| seen.to_string()),
            hits,
            line: rule,
            would_run: line.effect.map(|effect| effect.to_string()),
            now_us: line.now.and_then(|now| now.time_us),
            now_known_by: line.now.map(|now| now.basis),
            conf_us: line.with_conf.and_then(|with| with.time_us),
            conf_known_by: line.with_conf.map(|with| with.basis),
            measured: line.is_measured,
        }
    }
}

impl<'a> Report<'a> {
    fn of(answer: &'a CoverageAnswer, set: Option<&'a str>) -> Self {
        Self {
            set,
            total: &answer.total,
            lines: answer.lines.iter().map(Call::from).collect(),
            measure_next: answer.measure_next.iter().map(|(workload, _)| Place::from(workload)).collect(),
            notes: &answer.notes,
        }
    }

    fn to_json(&self) -> String {
        // Strings, numbers and lists can always be written.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}
