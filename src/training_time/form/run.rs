//! The run: from a dropped file, from the form, or from both.

use super::TrainingTime;
use crate::{
    training_time::run::{Execution, Layout, Model, Recompute, Run},
    workbench::WorkbenchError,
};

impl TrainingTime {
    pub(super) fn number(&self, key: &str, usual: u32) -> Result<u32, WorkbenchError> {
        Ok(self.choices.parsed::<u32>(key, "a whole number")?.unwrap_or(usual))
    }

    pub(super) fn decimal(&self, key: &str, usual: f64) -> Result<f64, WorkbenchError> {
        let value = self.choices.parsed::<f64>(key, "a number")?.unwrap_or(usual);
        Ok(if value.is_finite() { value } else { usual })
    }

    /// The dropped run that is chosen, or the first one.
    pub(super) fn dropped_run(&self) -> Option<&Run> {
        let runs = &self.study.bundle().runs;
        let chosen = self.choices.get("run").and_then(|number| number.parse::<usize>().ok()).unwrap_or(1);
        runs.get(chosen.saturating_sub(1)).map(|configured| &configured.run)
    }

    /// A model to search for where no run was dropped: the reference's example of 7 billion parameters.
    pub(super) fn blank(&self) -> Run {
        let dense = Model::dense(32, 4096, 32, 4096);
        Run {
            name: "Typed run".to_owned(),
            gpu: None,
            cluster: None,
            model: match self.study.bundle().catalogue.architectures.first() {
                Some(known) => dense.with_layer_of(known),
                None => dense,
            },
            layout: Layout { pipeline: 1, tensor: 1, data: 1, expert: 1, gpus_per_node: 4 },
            micro_batch: 1,
            micro_batches: 8,
            execution: Execution::default(),
        }
    }

    /// The run with what was typed instead; `None` where nothing was dropped nor typed.
    pub(super) fn run(&self) -> Result<Option<Run>, WorkbenchError> {
        let is_typed = self.choices.iter().any(|(key, _)| key.starts_with("r."));
        let Some(mut run) = self.dropped_run().cloned().or_else(|| is_typed.then(|| self.blank())) else {
            return Ok(None);
        };
        let before = run.model.clone();
        let model = &mut run.model;
        for (key, value) in [
            ("r.layers", &mut model.layers),
            ("r.hidden", &mut model.hidden),
            ("r.heads", &mut model.heads),
            ("r.l", &mut model.sequence),
            ("r.vocabulary", &mut model.vocabulary),
            ("r.experts", &mut model.experts),
            ("r.top-k", &mut model.top_k),
            ("r.pp", &mut run.layout.pipeline),
            ("r.tp", &mut run.layout.tensor),
            ("r.dp", &mut run.layout.data),
            ("r.ep", &mut run.layout.expert),
            ("r.g", &mut run.layout.gpus_per_node),
            ("r.b", &mut run.micro_batch),
            ("r.m", &mut run.micro_batches),
            ("r.chunks", &mut run.execution.virtual_stages),
        ] {
            *value = self.number(key, *value)?;
        }
        // What stands in a proportion to the hidden size and the heads keeps it.
        if before.ffn == before.hidden.saturating_mul(4) {
            run.model.ffn = run.model.hidden.saturating_mul(4);
        }
        if before.kv_heads == before.heads {
            run.model.kv_heads = run.model.heads;
        }
        if run.model.layers != before.layers || self.choices.get("r.pp").is_some() {
            run.execution.layers_per_stage = None;
        }
        run.model.load_balance = self.decimal("r.balance", run.model.load_balance)?;
        run.execution.data_overlap = self.decimal("r.hidden-exchange", run.execution.data_overlap)?;
        if let Some(again) = self.choices.get("r.recompute") {
            run.execution.recompute = recompute_of(again);
        }
        if let Some(zero) = self.choices.get("r.zero") {
            run.execution.zero = u8::from(zero == "1");
        }
        if let Some(hides) = self.choices.get("r.p2p") {
            run.execution.p2p_overlapped = hides == "1";
        }
        Ok(Some(run))
    }
}

pub(super) fn recompute_of(name: &str) -> Recompute {
    match name {
        "selective" => Recompute::Selective,
        "none" => Recompute::None,
        _ => Recompute::Full,
    }
}
