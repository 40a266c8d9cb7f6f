//! The run: from a dropped file, from the form, or from both.

use super::{TrainingTime, settings::decimal};
use crate::{
    form::{Control, Field, Form},
    training_time::{
        run::{Execution, Layout, Model, Recompute, Run},
        search::listing as layouts,
        settings::Group,
    },
};

impl TrainingTime {
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

    /// The fields of the run, and the run with what was typed; `None` where nothing was dropped nor typed.
    pub(super) fn run(&self, form: &mut Form<'_>, dropped: Option<&Run>) -> Option<Run> {
        form.group(Group::Run);
        let mut run = dropped.cloned().unwrap_or_else(|| self.blank());
        let before = run.model.clone();
        let (model, layout, execution) = (&mut run.model, &mut run.layout, &mut run.execution);
        // The fields of experts are there where there are some.
        form.is_listed = false;
        form.number(Field::new("r.experts", "Experts", Control::Number), &mut model.experts);
        let has_experts = model.experts > 1;
        let mut number = |key: &str, label: &str, is_listed: bool, value: &mut u32| {
            form.is_listed = is_listed;
            form.number(Field::new(key, label, Control::Number), value);
        };
        number("r.pp", "Pipeline stages", true, &mut layout.pipeline);
        number("r.tp", "Tensor degree", true, &mut layout.tensor);
        number("r.dp", "Data-parallel degree", true, &mut layout.data);
        number("r.ep", "Expert degree", has_experts, &mut layout.expert);
        number("r.g", "GPUs of a node", true, &mut layout.gpus_per_node);
        number("r.b", "Sequences of a micro-batch", true, &mut run.micro_batch);
        number("r.m", "Micro-batches per step", true, &mut run.micro_batches);
        number("r.chunks", "Chunks per stage", true, &mut execution.virtual_stages);
        number("r.layers", "Layers", true, &mut model.layers);
        number("r.hidden", "Hidden size", true, &mut model.hidden);
        number("r.heads", "Attention heads", true, &mut model.heads);
        number("r.l", "Sequence length", true, &mut model.sequence);
        number("r.vocabulary", "Vocabulary", true, &mut model.vocabulary);
        number("r.experts", "Experts", true, &mut model.experts);
        number("r.top-k", "Experts of a token", has_experts, &mut model.top_k);
        form.is_listed = true;
        // What stands in a proportion to the hidden size and the heads keeps it.
        if before.ffn == before.hidden.saturating_mul(4) {
            model.ffn = model.hidden.saturating_mul(4);
        }
        if before.kv_heads == before.heads {
            model.kv_heads = model.heads;
        }
        if model.layers != before.layers || form.get("r.pp").is_some() {
            execution.layers_per_stage = None;
        }
        let mut one = |key: &str, label: &str, options: &[(&str, &str)], usual: &str| {
            form.chosen(Field::new(key, label, Control::one(options)).usually(usual))
        };
        let again = [("full", "full"), ("selective", "selective"), ("none", "none")];
        if let Some(again) = one("r.recompute", "Recompute", &again, layouts::recompute(execution.recompute)) {
            execution.recompute = recompute_of(again);
        }
        let zero = [("0", "every rank updates everything"), ("1", "the optimizer is sharded")];
        if let Some(zero) = one("r.zero", "ZeRO", &zero, &execution.zero.to_string()) {
            execution.zero = u8::from(zero == "1");
        }
        let p2p = [("0", "block"), ("1", "hide behind computing")];
        let usual = if execution.p2p_overlapped { "1" } else { "0" };
        if let Some(hides) = one("r.p2p", "Messages between stages", &p2p, usual) {
            execution.p2p_overlapped = hides == "1";
        }
        let slider = |least, most| Control::Slider { least, most, step: 0.05 };
        let field = Field::new("r.hidden-exchange", "Hidden share of the gradients' exchange", slider(0.0, 1.0));
        decimal(form, field, &mut execution.data_overlap);
        form.is_listed = has_experts;
        let field = Field::new("r.balance", "Fullest expert over the mean", slider(1.0, 4.0));
        decimal(form, field, &mut model.load_balance);
        let is_typed = self.choices.iter().any(|(key, _)| key.starts_with("r."));
        (dropped.is_some() || is_typed).then_some(run)
    }
}

pub(super) fn recompute_of(name: &str) -> Recompute {
    match name {
        "selective" => Recompute::Selective,
        "none" => Recompute::None,
        _ => Recompute::Full,
    }
}
