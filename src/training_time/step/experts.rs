//! The exchange of a mixture of experts: tokens go to their experts and back, twice per expert layer and direction.

use super::plan::Builder;
use crate::training_time::{run::Run, samples::Communicator};

/// The part of one exchange: each token, `top_k` times, from the fullest rank's point of view. `None` where all experts
/// are on every rank.
pub(super) fn exchange(run: &Run, group: Communicator, builder: &mut Builder<'_>) -> Option<u32> {
    let model = &run.model;
    if model.experts < 2 || run.layout.expert < 2 {
        return None;
    }
    let tokens = f64::from(run.micro_batch) * f64::from(model.sequence) * f64::from(model.hidden);
    let copies = f64::from(model.top_k.max(1)) * model.load_balance.max(1.0);
    let elements = (tokens * copies / f64::from(run.layout.tensor.max(1))).floor();
    Some(builder.collective("alltoall", elements, u64::MAX, group))
}
