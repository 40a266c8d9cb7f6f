//! Ranges that a program names for its profiler: those of NVTX and ROCTx, by hand or by PyTorch's `emit_nvtx`.

use super::{TracedInputs, events::Events, shapes};
use crate::{order::CompactSort, text::excerpt};

/// A range of the host that may be a step, with its start and end in µs.
struct Candidate {
    /// Its name with `#` for numbers, by which it is told from others.
    name: String,
    thread: i64,
    start_us: f64,
    end_us: f64,
}

/// What is kept of the ranges of one process.
#[derive(Default)]
pub(super) struct Ranges {
    candidates: Vec<Candidate>,
    /// The ends in µs of what updates the parameters.
    updates_us: Vec<f64>,
    embeddings: Vec<(f64, TracedInputs)>,
}

/// The steps of a process, and which ranges they are.
pub(super) struct MarkedSteps {
    pub(super) steps: Vec<(f64, f64)>,
    /// A sentence without a full stop, to be said beside the result.
    pub(super) by: String,
}

/// The longest name of a range that is looked at: those of operators have their shapes.
const LONGEST: usize = 1000;

/// The most kinds of ranges among which the steps are looked for.
const MOST_NAMES: usize = 1000;

/// PyTorch's optimizers mark their updates so (torch/optim/optimizer.py), where `emit_nvtx` is on.
const UPDATE: &str = "Optimizer.step#";

/// Which steps these are where no range is called so.
const BETWEEN_UPDATES: &str =
    "Its steps go from one update of the parameters to the next, since no range is called step";

/// Words of a name that mean a step of training, and those that mean a part of one, or another kind of step.
const STEP: [&str; 6] = ["step", "iteration", "iter", "profilerstep", "trainstep", "trainingstep"];
const PART: [&str; 19] = [
    "forward",
    "backward",
    "fwd",
    "bwd",
    "optimizer",
    "optim",
    "opt",
    "lr",
    "scheduler",
    "grad",
    "loss",
    "data",
    "eval",
    "evaluation",
    "validation",
    "val",
    "test",
    "micro",
    "microbatch",
];

/// Whether a range of this name may be a step of training.
fn is_step(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let words = || lower.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty());
    words().any(|word| STEP.contains(&word)) && !words().any(|word| PART.contains(&word))
}

/// A name with `#` for its numbers.
fn without_numbers(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        match c.is_ascii_digit() {
            true if out.ends_with('#') => {}
            true => out.push('#'),
            false => out.push(c),
        }
    }
    out
}

impl Ranges {
    /// Adds a range, if it can be of use.
    pub(super) fn add(&mut self, name: &str, thread: i64, (start_us, end_us): (f64, f64)) {
        if name.len() > LONGEST {
            return;
        }
        if name.starts_with(UPDATE) {
            self.updates_us.push(end_us);
        } else if let Some(shapes) = name.strip_prefix("aten::embedding,") {
            self.embeddings.extend(embedded(shapes).map(|inputs| (start_us, inputs)));
        } else if is_step(name) {
            self.candidates.push(Candidate { name: without_numbers(name), thread, start_us, end_us });
        }
    }

    /// Moves the embeddings that were found to the events of the same process.
    pub(super) fn add_embeddings(&mut self, events: &mut Events) {
        for (start_us, inputs) in std::mem::take(&mut self.embeddings) {
            events.add_embedding(start_us, inputs);
        }
    }

    /// The steps: the ranges of one name and thread that are called steps, follow each other and together take the
    /// longest; where none are called so, what lies between the ends of updates of the parameters.
    pub(super) fn steps(mut self) -> Option<MarkedSteps> {
        self.candidates.compact_sort_by(|a, b| {
            a.name.cmp(&b.name).then(a.thread.cmp(&b.thread)).then(a.start_us.total_cmp(&b.start_us))
        });
        let alike = self.candidates.chunk_by(|a, b| a.name == b.name && a.thread == b.thread);
        let follow = |ranges: &&[Candidate]| ranges.windows(2).all(|pair| pair[1].start_us >= pair[0].end_us);
        let all = |ranges: &[Candidate]| ranges.iter().map(|range| range.end_us - range.start_us).sum::<f64>();
        // PyTorch's own name is no guess.
        let rank = |ranges: &[Candidate]| (ranges[0].name.starts_with("ProfilerStep"), all(ranges));
        let longest = alike.take(MOST_NAMES).filter(follow).max_by(|a, b| {
            let ((own, time), (other_own, other_time)) = (rank(a), rank(b));
            own.cmp(&other_own).then(time.total_cmp(&other_time))
        });
        if let Some(ranges) = longest {
            let steps = ranges.iter().map(|range| (range.start_us, range.end_us)).collect();
            let by = format!("Its steps are the ranges {:?}", excerpt(&ranges[0].name));
            return Some(MarkedSteps { steps, by });
        }
        let ends = updates(self.updates_us);
        let steps: Vec<_> = ends.windows(2).map(|pair| (pair[0], pair[1])).collect();
        (!steps.is_empty()).then(|| MarkedSteps { steps, by: BETWEEN_UPDATES.to_owned() })
    }
}

/// The last end of the updates of each step: of several optimizers, all update after each other.
fn updates(mut ends_us: Vec<f64>) -> Vec<f64> {
    /// Of the longest time between two updates: those of one step are nearer to each other.
    const NEAR: f64 = 0.25;
    ends_us.compact_sort_by(f64::total_cmp);
    let longest = ends_us.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
    let is_last = |at: usize| ends_us.get(at + 1).is_none_or(|next| next - ends_us[at] > NEAR * longest);
    (0..ends_us.len()).filter(|at| is_last(*at)).map(|at| ends_us[at]).collect()
}

/// What an embedding embeds, by the shapes that `emit_nvtx(record_shapes=True)` writes behind its name
/// (torch/csrc/profiler/util.cpp): `op_id = 3, sizes = [[50304, 4096], [1, 4096], []], input_op_ids = [...]`.
fn embedded(text: &str) -> Option<TracedInputs> {
    let (_, sizes) = text.split_once("sizes = ")?;
    let sizes = sizes.split_once(", input_op_ids").map_or(sizes, |(sizes, _)| sizes);
    shapes::embedded(&serde_json::from_str(sizes).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_told_by_their_names() {
        for name in
            ["step 3", "train_step", "iteration_12", "iter5", "sample_0 step=1 rank=0", "step::2", "ProfilerStep#7"]
        {
            assert!(is_step(name), "{name}");
        }
        for name in
            ["forward_step", "optimizer.step", "lr_scheduler.step", "eval step 3", "steps", "timestep", "allreduce"]
        {
            assert!(!is_step(name), "{name}");
        }
        assert_eq!(without_numbers("step 12 of 340"), "step # of #");
    }

    fn of(ranges: &[(&str, i64, f64, f64)]) -> Option<MarkedSteps> {
        let mut all = Ranges::default();
        ranges.iter().for_each(|(name, thread, start, end)| all.add(name, *thread, (*start, *end)));
        all.steps()
    }

    #[test]
    fn the_longest_ranges_that_follow_each_other_are_the_steps() {
        let inner = [("step 1", 1, 10.0, 20.0), ("iteration 1", 1, 0.0, 90.0), ("iteration 2", 1, 100.0, 190.0)];
        let found = of(&inner).unwrap();
        assert_eq!(
            (found.steps, &found.by[..]),
            (vec![(0.0, 90.0), (100.0, 190.0)], "Its steps are the ranges \"iteration #\"")
        );
        // A range around others of its name is not a step, and threads are apart.
        let nested = [("step 1", 1, 0.0, 100.0), ("step 2", 1, 10.0, 90.0), ("step 1", 2, 0.0, 30.0)];
        assert_eq!(of(&nested).unwrap().steps, [(0.0, 30.0)]);
        assert!(of(&[("forward", 1, 0.0, 1.0)]).is_none());
    }

    #[test]
    fn updates_of_the_parameters_part_steps() {
        let update = |end| ("Optimizer.step#AdamW.step", 1, end - 1.0, end);
        // Two optimizers in each step.
        let found = of(&[98.0, 100.0, 198.0, 200.0, 298.0, 300.0].map(update)).unwrap();
        assert_eq!(found.steps, [(100.0, 200.0), (200.0, 300.0)]);
        assert!(of(&[100.0].map(update)).is_none());
    }

    #[test]
    fn shapes_stand_behind_the_name() {
        let found =
            embedded(" op_id = 3, sizes = [[50304, 4096], [2, 2048], [], [], []], input_op_ids = [(1,0)]").unwrap();
        assert_eq!([found.vocabulary, found.hidden, found.micro_batch, found.tokens], [50304, 4096, 2, 2048]);
        assert_eq!(embedded(" seq = 4"), None);
    }
}
