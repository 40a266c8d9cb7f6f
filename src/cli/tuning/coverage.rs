//! `collectune tuning coverage`: the sizes that a job really sends, and which rules they hit.

use std::{collections::BTreeMap, path::PathBuf};

use clap::Args;
use serde::Serialize;

use super::FromSweeps;
use crate::{
    cli::{
        arguments::{self, Batches, JobRunsOn, UntoldScale},
        error::{CliError, refuse},
        files,
        json::object,
        table, terminal,
    },
    collective::{Collective, Workload},
    tuning::{
        conf::{Reader, reader_of},
        coverage::{CoverageAnswer, CoverageLine, CoverageQuestion, Hit, calls::TypedCalls},
        data_type::DataType,
        platform::Library,
        reach::unread_variables,
    },
    units::Size,
    worker::executor::Executor,
};

/// Say which rules the sizes of a job hit, and what they cost per step
///
/// The calls come from logs of the job (NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=COLL or TUNING), or are typed as batch ×
/// hidden × data type. With a sweep their times are given: measured, between measured sizes, or from the model.
#[derive(Args)]
#[command(after_help = "Examples:
  collectune tuning coverage job.log --conf nccl_tuner.conf --reader dn-tuner --sweep merged_metrics.csv --steps 100
  collectune tuning coverage --collective all_reduce --batches 1,8,64 --hidden 8192 --type bf16 --calls 160 \\
    --nodes 1 --ranks 8 --conf nccl_tuner.conf --reader rccl")]
pub(in crate::cli) struct Coverage {
    /// Logs of the job; - is the standard input
    #[arg(value_name = "LOG")]
    logs: Vec<PathBuf>,

    /// The tuner file whose rules are looked up
    #[arg(long, value_name = "CONF")]
    conf: Option<PathBuf>,

    /// The reader of the tuner file, which decides what its rules mean [default: that of its
    /// grammar: ncclx, else example]
    #[arg(long, value_enum, requires = "conf")]
    reader: Option<Reader>,

    /// Sweeps from which the times of calls are taken
    #[arg(long, value_name = "SWEEP", num_args = 1..)]
    sweep: Vec<PathBuf>,

    #[command(flatten)]
    from: FromSweeps,

    /// The library whose rules say what can run [default: as the files say, else rccl]
    #[arg(long, value_enum)]
    library: Option<Library>,

    #[command(flatten)]
    scale: UntoldScale,

    #[command(flatten)]
    on: JobRunsOn,

    /// Steps of the job that the log holds
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "batches", value_parser = clap::value_parser!(u32).range(1..))]
    steps: u32,

    /// Ranks that wrote the log
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "batches", value_parser = clap::value_parser!(u32).range(1..))]
    logging_ranks: u32,

    /// Typed calls: the collective that is called
    #[arg(long, value_name = "COLLECTIVE", default_value_t = Collective::AllReduce, requires = "batches")]
    collective: Collective,

    /// Typed calls: batch sizes, or tokens
    #[arg(long, value_name = "LIST", requires = "hidden", conflicts_with = "logs")]
    batches: Option<Batches>,

    /// Typed calls: hidden size of the model
    #[arg(long, value_name = "N", requires = "batches", value_parser = clap::value_parser!(u64).range(1..))]
    hidden: Option<u64>,

    /// Typed calls: data type of the messages
    #[arg(long = "type", value_name = "TYPE", default_value = "bf16", value_parser = data_type, requires = "batches")]
    type_bytes: u32,

    /// Typed calls: how many of each per step (layers × calls of a layer)
    #[arg(long, value_name = "N", default_value_t = 1, requires = "batches", value_parser = clap::value_parser!(u32).range(1..))]
    calls: u32,

    /// Write the answer as JSON
    #[arg(long)]
    json: bool,
}

fn data_type(text: &str) -> Result<u32, &'static str> {
    DataType::parse(text).map(|of| of.bytes).ok_or("it must be a data type like bf16, half, float or fp8")
}

impl Coverage {
    pub(super) fn run(self) -> Result<(), CliError> {
        if self.logs.is_empty() && self.batches.is_none() {
            return refuse("give logs of the job, or --batches and --hidden");
        }
        let scale = self.scale.scale()?;
        let mut opened = self.from.read_any(&[&self.logs[..], &self.sweep].concat())?;
        let jobs: Vec<u32> = opened.documents.jobs.iter().map(|(id, _)| *id).collect();
        files::say_unused(&opened, files::Reads::Sweeps, &jobs);
        if self.sweep.is_empty() && opened.rows.is_empty() {
            let why = "no sweep is given (--sweep)";
            arguments::say_unused(&["set", "configuration", "seed", "topology"], why);
            arguments::say_unused(&arguments::LEARNING, why);
        }
        let parameters = self.from.parameters(&opened)?;
        // A number that no file has.
        let conf = opened.files.len() as u32;
        let mut reader = self.reader.unwrap_or_default();
        if let Some(path) = &self.conf {
            let bytes = files::bytes(path)?;
            reader = self.reader.unwrap_or_else(|| reader_of(&bytes, reader));
            opened.documents.confs.push((conf, bytes));
        }
        let mut bar = terminal::Bar::new();
        let mut executor = Executor::default();
        let loaded = executor.take_in(opened, self.from.learning.target, &mut bar)?;
        if !executor.studies.tuning.loaded.study.sweep().points.is_empty()
            && let Err(error) = executor.studies.tuning.loaded.train(parameters, &mut bar)
        {
            terminal::say("note", &format!("times come from the measurements alone: {error}"));
        }
        drop(bar);
        terminal::say_notes(loaded.notes.into_iter().chain(executor.studies.tuning.loaded.study.notes()));
        let typed = self.batches.zip(self.hidden).map(|(Batches(batches), hidden)| TypedCalls {
            collective: self.collective,
            batches,
            hidden,
            type_bytes: self.type_bytes,
            calls: self.calls,
        });
        let told = executor.studies.tuning.loaded.platform();
        let question = CoverageQuestion {
            typed,
            conf: self.conf.map(|_| conf),
            reader,
            library: self.library.or(told.map(|told| told.library)).unwrap_or_default(),
            scale,
            divide_by: self.steps.saturating_mul(self.logging_ranks),
            on: self.on.place(),
        };
        let answer = executor.studies.tuning.loaded.coverage(&question)?;
        terminal::say_notes(answer.notes.iter().chain(&unread_variables(&question.on)));
        if self.json {
            return terminal::write_json(&json(&answer, executor.studies.tuning.loaded.set.as_deref()));
        }
        let next: Vec<String> = answer.measure_next.iter().map(|(workload, _)| in_words(workload)).collect();
        let next = if next.is_empty() { String::new() } else { format!("\nMeasure next: {}.\n", next.join("; ")) };
        terminal::write(&format!("{}\n{}\n{next}", table::of_listing(&answer.listing), answer.sentence))
    }
}

fn in_words(workload: &Workload) -> String {
    format!("{} of {} on {}", workload.collective, Size(workload.size_bytes), workload.scale)
}

/// The JSON output; unknown values are null.
fn json(answer: &CoverageAnswer, set: Option<&str>) -> impl Serialize {
    object! {
        /// Which of several sets of measurements tells times.
        set: set,
        total: &answer.total,
        lines: answer.lines.iter().map(call).collect::<Vec<_>>(),
        measure_next: answer.measure_next.iter().map(|(workload, _)| place(workload)).collect::<Vec<_>>(),
        notes: &answer.notes,
    }
}

fn place(workload: &Workload) -> impl Serialize + use<> {
    object! {
        collective: workload.collective.name(),
        num_nodes: workload.scale.nodes,
        num_gpus: workload.scale.ranks,
        size_bytes: workload.size_bytes,
    }
}

fn call(line: &CoverageLine) -> impl Serialize {
    let (hits, rule) = match line.hit {
        Hit::Rule(line) => ("rule", Some(line)),
        Hit::Gap => ("gap", None),
        Hit::Untuned => ("untuned", None),
    };
    object! {
        #[serde(flatten)]
        place: place(&line.workload),
        calls: line.calls,
        /// The paths of these calls through the library, each with its share in percent; a tuner is asked on `tuner`,
        /// `tuner-or-library`, `own-table` and `library`.
        paths: line.paths.iter().map(|(path, share)| (path.name(), share * 100.0)).collect::<BTreeMap<_, _>>(),
        /// The configuration that ran, as the log says.
        ran: line.seen.map(|seen| seen.as_known()),
        /// How the tuner file applies: `rule`, `gap` or `untuned`.
        hits: hits,
        /// The line of the rule in the tuner file, from 1.
        line: rule,
        would_run: line.effect.map(|effect| effect.to_string()),
        /// The time of one call, in µs.
        now_us: line.now.and_then(|now| now.time_us),
        now_known_by: line.now.map(|now| now.basis),
        /// What the default ran whose time `now_us` is, where that is another algorithm or protocol than ran in the
        /// job.
        now_of: line.default_ran.map(|ran| ran.as_known()),
        /// The time of one call, in µs.
        conf_us: line.with_conf.and_then(|with| with.time_us),
        conf_known_by: line.with_conf.map(|with| with.basis),
        measured: line.is_measured,
    }
}
