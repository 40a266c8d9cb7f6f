//! Shapes of what an operator of PyTorch was called with, as its profilers record them.

use serde_json::Value;

use super::TracedInputs;

/// A count that is stored as a number.
pub(super) fn count(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|count| u32::try_from(count).ok())
}

/// What `aten::embedding` embeds, by the shapes of its inputs: a table, and the numbers of its rows.
pub(super) fn embedded(inputs: &Value) -> Option<TracedInputs> {
    let size = |input: usize, axis: usize| count(&inputs[input][axis]).filter(|size| *size > 0);
    let is_pair = |input: usize| inputs[input].as_array().is_some_and(|sizes| sizes.len() == 2);
    let found = TracedInputs {
        vocabulary: size(0, 0)?,
        hidden: size(0, 1)?,
        micro_batch: size(1, 0)?,
        tokens: size(1, 1)?,
        micro_batches: 1,
    };
    (is_pair(0) && is_pair(1)).then_some(found)
}
