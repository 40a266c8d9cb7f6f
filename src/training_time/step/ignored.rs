//! The settings of a run that its composition does not use.

use super::Mode;
use crate::training_time::{
    anatomy::{Anatomy, OperatorUse},
    catalogue::Catalogue,
    run::{Recompute, Run},
};

/// In words, what of a run changes nothing: widths that no operator of its layer depends on, and in parity mode all
/// that the reference knows nothing of.
pub fn ignored(run: &Run, mode: Mode, catalogue: &Catalogue) -> Vec<String> {
    let (model, execution) = (&run.model, &run.execution);
    let anatomy = Anatomy::of(run, catalogue);
    let takes = |input: &str| {
        let depends =
            |op: &OperatorUse| catalogue.operator(&op.name).is_none_or(|known| known.inputs.iter().any(|i| i == input));
        anatomy.layer.iter().any(depends)
    };
    let mut notes = Vec::new();
    let usual = [("ffn", model.ffn, model.hidden.saturating_mul(4)), ("kv_heads", model.kv_heads, model.heads)];
    for (name, value, of_layer) in usual {
        if value != of_layer && !takes(name) {
            notes.push(format!(
                "{name} = {value} changes no time: the operators of this layer are those of {name} = {of_layer}; \
                 architecture: llama has operators that depend on it"
            ));
        }
    }
    if model.experts < 2 && (model.top_k != 1 || model.load_balance != 1.0) {
        notes.push("top_k and load_balance change nothing where experts is 1".to_owned());
    }
    if mode == Mode::Parity {
        let recompute = match execution.recompute {
            Recompute::Full => None,
            Recompute::Selective => Some("recompute selective"),
            Recompute::None => Some("recompute none"),
        };
        let others = [
            (execution.virtual_stages > 1, "interleaved chunks"),
            (execution.layers_per_stage.is_some(), "layers_per_stage"),
            (execution.p2p_overlapped, "overlapped messages"),
            (execution.data_overlap > 0.0, "dp_overlap"),
            (execution.sequence_parallel, "sequence_parallel"),
            (model.experts > 1, "experts"),
        ];
        let unknown = others.into_iter().filter(|(is_there, _)| *is_there).map(|(_, name)| name);
        let unknown: Vec<&str> = recompute.into_iter().chain(unknown).collect();
        if !unknown.is_empty() {
            notes.push(format!(
                "Parity composes as the reference does, which knows no {}: the time is without",
                unknown.join(", ")
            ));
        }
    }
    notes
}
