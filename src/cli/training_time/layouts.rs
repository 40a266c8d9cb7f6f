//! `collectune training-time layouts`: the best layout on a number of GPUs.

use std::ops::ControlFlow;

use clap::Args;
use serde::Serialize;
use serde_json::Map;

use super::bundle::{self, BundleArguments, Opened};
use crate::{
    cli::{
        error::{CliError, told},
        files::TOLD,
        json::object,
        table, terminal,
    },
    progress::Silent,
    training_time::{
        interval::Basis,
        memory::GIB,
        run::Recompute,
        search::{Row, SearchResult, SearchSettings, listing},
    },
};

/// Find the best layout of tensor, pipeline and data parallelism on a number of GPUs
///
/// Ranks every layout that can run by its predicted step time; those that the intervals can't tell apart share a rank.
#[derive(Args)]
#[command(after_help = "Example:
  collectune training-time layouts Perlmutter --run llemma_7b.yml --gpus 1024 --batch 1024")]
pub(in crate::cli) struct Layouts {
    #[command(flatten)]
    bundle: BundleArguments,

    /// Numbers of GPUs to lay the run out on, like 256,512
    #[arg(long, value_name = "N", required = true, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    gpus: Vec<u32>,

    /// Sequences in a step of all replicas
    #[arg(long, value_name = "B", value_parser = clap::value_parser!(u64).range(1..))]
    batch: u64,

    /// Sizes of a micro-batch to try
    #[arg(long, value_name = "b", value_delimiter = ',', default_values_t = [1, 2, 4, 8, 16], value_parser = clap::value_parser!(u32).range(1..))]
    micro_batch: Vec<u32>,

    /// Kinds of recomputation to try [default: as the run]
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    recompute: Vec<Recompute>,

    /// Tensor groups may span nodes
    #[arg(long)]
    tensor_between_nodes: bool,

    /// Memory of a GPU in GiB; that of the catalogue where not given
    #[arg(long, value_name = "GIB", value_parser = bundle::gib())]
    memory: Option<f64>,

    /// How many of the best are listed
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    best: u32,

    /// Look at every layout, not only at those that may be among the best
    #[arg(long)]
    all: bool,
}

impl Layouts {
    pub(super) fn run(self) -> Result<(), CliError> {
        let Opened { mut study, mut settings } = self.bundle.open()?;
        let run = settings.run.take().ok_or_else(|| told("a run configuration is needed: --run CONFIG"))?;
        let of_gpu = study.bundle().memory_gib(&run, settings.cluster);
        let mut question = SearchSettings::new(run, 1, self.batch);
        (question.mode, question.gpus, question.micro_batches) = (settings.mode, self.gpus, self.micro_batch);
        if !self.recompute.is_empty() {
            question.recompute = self.recompute;
        }
        question.tensor_between_nodes = self.tensor_between_nodes;
        question.memory_gib = self.memory.or(of_gpu);
        (question.reserve_gib, question.best, question.everything) = (settings.reserve_gib, self.best, self.all);
        settings.search = Some(question);
        bundle::learn(&mut study, settings)?;
        let calibration = bundle::calibration(&study)?;
        let searched = study
            .searched(calibration.as_ref(), &mut Silent, &mut |_| ControlFlow::Continue(()))
            .map_err(bundle::with_remedy)?;
        let found = searched.map(|searched| searched.found).unwrap_or_default();
        if self.bundle.json {
            return terminal::write_json(&json(&found));
        }
        if let Some(why) = found.nothing() {
            terminal::say("note", &why);
        }
        for missing in found.missing.iter().take(TOLD) {
            terminal::say("note", &format!("layouts are left out: {missing}"));
        }
        terminal::write(&for_people(&found))
    }
}

fn for_people(found: &SearchResult) -> String {
    let mut text =
        format!("{} layouts, {} candidates fit, {} looked at\n\n", found.layouts, found.candidates, found.looked_at);
    text += &table::of_listing(&listing::layouts(&found.rows, found.basis));
    if !found.rows.is_empty() {
        text += &format!("\n{}: {}.\n", found.basis.title(), found.basis.source_phrase());
    }
    text += &format!("\n{}", table::of_listing(&listing::dropped(found)));
    if let Some(covered) = &found.covered {
        text += &format!(
            "\nBest that needs no extrapolation:\n{}",
            table::of_listing(&listing::layouts(std::slice::from_ref(covered), found.basis))
        );
    }
    text
}

fn json(found: &SearchResult) -> impl Serialize {
    let mut dropped = Map::new();
    for (reason, count) in found.dropped.iter() {
        dropped.insert(reason.key().to_owned(), count.into());
    }
    object! {
        layouts: found.layouts,
        candidates: found.candidates,
        looked_at: found.looked_at,
        /// How many fell to each reason.
        dropped: dropped,
        rows: found.rows.iter().map(|known| row(known, found.basis)).collect::<Vec<_>>(),
        best_without_extrapolation: found.covered.as_ref().map(|known| row(known, found.basis)),
        /// Why there is nothing, and what to change.
        nothing: found.nothing(),
        missing: &found.missing,
        /// The meaning of the spreads in the rows.
        spread: found.basis.title(),
        /// The notes that were also written to stderr.
        notes: terminal::said(),
    }
}

fn row(row: &Row, basis: Basis) -> impl Serialize {
    object! {
        rank: row.rank,
        tp: row.layout.tensor,
        pp: row.layout.pipeline,
        dp: row.layout.data,
        ep: row.layout.expert,
        micro_batch: row.micro_batch,
        micro_batches: row.micro_batches,
        recompute: listing::recompute(row.recompute),
        total_us: row.total_us,
        /// Holds about nine of ten steps, as measured steps tell; null where they don't.
        interval_us: row.interval_us.filter(|_| basis.is_interval()),
        spread_us: row.interval_us,
        tokens_per_second_per_gpu: row.tokens_per_gpu,
        mfu: row.utilisation,
        memory_gib: row.memory_bytes / GIB,
        bubble: row.bubble,
        marks: bundle::marks(&row.marks),
    }
}
