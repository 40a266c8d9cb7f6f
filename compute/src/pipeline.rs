//! A pipeline of stages that train on micro-batches: which stage computes what, and when.
//!
//! The schedule is one forward, one backward (1F1B; Narayanan et al., arXiv 2104.04473, section 2.2), with several
//! chunks of layers per stage its interleaved form. A stage does its operations in a fixed order; each starts when the
//! stage is free and its input has arrived.

/// The times of a pipeline, all in one unit. The model is divided into parts: part `chunk · stages + stage` is chunk
/// `chunk` of a stage, and micro-batches pass the parts in this order.
#[derive(Clone, Copy, Debug)]
pub struct Pipeline<'a> {
    /// Number of stages.
    pub stages: usize,
    /// Number of micro-batches.
    pub micro_batches: usize,
    /// Time of each part's forward pass of one micro-batch.
    pub forward: &'a [f64],
    /// Time of each part's backward pass of one micro-batch.
    pub backward: &'a [f64],
    /// Time from the end of an operation to the arrival of its result at the next part, for each part but the last. It
    /// does not occupy a stage.
    pub delay: &'a [f64],
}

/// A forward or backward pass of one micro-batch through one chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Whether it is a forward pass, else a backward pass.
    pub is_forward: bool,
    /// Index of the chunk among those of its stage.
    pub chunk: usize,
    /// Index of the micro-batch.
    pub micro_batch: usize,
}

/// An operation with its start and end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timed {
    /// Index of the stage.
    pub stage: usize,
    /// The operation.
    pub operation: Operation,
    /// Start, in the unit of the pipeline's times.
    pub start: f64,
    /// End, in the unit of the pipeline's times.
    pub end: f64,
}

impl Pipeline<'_> {
    fn chunks(&self) -> usize {
        (self.forward.len() / self.stages.max(1)).max(1)
    }

    /// The number of forward passes of a stage before its first backward pass: for 1F1B the number of stages that
    /// follow; interleaved as in Megatron-LM (`forward_backward_pipelining_with_interleaving`).
    fn warm_up(&self, stage: usize) -> usize {
        let following = self.stages - 1 - stage;
        let chunks = self.chunks();
        let count = if chunks == 1 { following } else { 2 * following + (chunks - 1) * self.stages };
        count.min(self.micro_batches * chunks)
    }

    /// The `index`-th pass of a stage in one direction. Micro-batches pass a chunk in groups of as many as there are
    /// stages; the last group has the remainder.
    fn pass(&self, index: usize, is_forward: bool) -> Operation {
        let chunks = self.chunks();
        let whole = self.micro_batches / self.stages * self.stages;
        let (before, group, index) = if index < whole * chunks {
            let group = index / (self.stages * chunks);
            (group * self.stages, self.stages, index % (self.stages * chunks))
        } else {
            (whole, self.micro_batches - whole, index - whole * chunks)
        };
        let chunk = index / group;
        let chunk = if is_forward { chunk } else { chunks - 1 - chunk };
        Operation { is_forward, chunk, micro_batch: before + index % group }
    }

    /// The `place`-th operation of a stage.
    fn operation(&self, stage: usize, place: usize) -> Operation {
        let (warm_up, all) = (self.warm_up(stage), self.micro_batches * self.chunks());
        if place < warm_up {
            return self.pass(place, true);
        }
        let after = place - warm_up;
        let steady = all - warm_up;
        if after < 2 * steady {
            let index = after / 2;
            return if after.is_multiple_of(2) { self.pass(warm_up + index, true) } else { self.pass(index, false) };
        }
        self.pass(after - steady, false)
    }

    /// Simulates the pipeline, passes each operation to `each`, those of a stage in order, and returns the makespan.
    /// `None` if the lengths do not match, or the stages deadlock: with several chunks, the number of micro-batches
    /// must be a multiple of that of stages.
    pub fn run(&self, mut each: impl FnMut(Timed)) -> Option<f64> {
        let (stages, batches, chunks) = (self.stages, self.micro_batches, self.chunks());
        let parts = stages * chunks;
        let fits = self.forward.len() == parts && self.backward.len() == parts && self.delay.len() + 1 >= parts;
        if stages == 0 || batches == 0 || !fits {
            return None;
        }
        // When each part has the input, and the gradient, of each micro-batch; NaN as long as it does not.
        let mut input = vec![f64::NAN; parts * batches];
        let mut gradient = vec![f64::NAN; parts * batches];
        input[..batches].fill(0.0);
        let mut place = vec![0; stages];
        let mut free = vec![0.0_f64; stages];
        let all = 2 * batches * chunks;
        let mut left = stages * all;
        while left > 0 {
            let before = left;
            for stage in 0..stages {
                while place[stage] < all {
                    let operation = self.operation(stage, place[stage]);
                    let part = operation.chunk * stages + stage;
                    let at = part * batches + operation.micro_batch;
                    let ready = if operation.is_forward { input[at] } else { gradient[at] };
                    if ready.is_nan() {
                        break;
                    }
                    let start = ready.max(free[stage]);
                    let end = start + if operation.is_forward { self.forward[part] } else { self.backward[part] };
                    match (operation.is_forward, part + 1 == parts) {
                        (true, true) => gradient[at] = end,
                        (true, false) => input[at + batches] = end + self.delay[part],
                        (false, _) if part > 0 => gradient[at - batches] = end + self.delay[part - 1],
                        (false, _) => {}
                    }
                    free[stage] = end;
                    place[stage] += 1;
                    left -= 1;
                    each(Timed { stage, operation, start, end });
                }
            }
            if left == before {
                return None;
            }
        }
        Some(free.iter().fold(0.0, |latest: f64, end| latest.max(*end)))
    }

    /// The end of the last operation. `None` as for [`Pipeline::run`].
    pub fn makespan(&self) -> Option<f64> {
        self.run(|_| {})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Stream;

    fn plain(forward: &[f64], backward: &[f64], micro_batches: usize) -> f64 {
        let delay = vec![0.0; forward.len() - 1];
        Pipeline { stages: forward.len(), micro_batches, forward, backward, delay: &delay }
            .makespan()
            .unwrap_or(f64::NAN)
    }

    #[test]
    fn four_uneven_stages_have_known_makespans() {
        let (forward, backward) = ([10.0, 20.0, 30.0, 10.0], [20.0, 40.0, 60.0, 20.0]);
        let spans = [1, 2, 4, 8].map(|batches| plain(&forward, &backward, batches));
        assert_eq!(spans, [210.0, 270.0, 450.0, 810.0]);
    }

    #[test]
    fn makespans_respect_lower_and_upper_bounds() {
        let mut stream = Stream::new(7);
        for _ in 0..2000 {
            let (stages, batches) = (1 + stream.below(9), 1 + stream.below(20));
            let mut draw = || (0..stages).map(|_| 1.0 + 9.0 * stream.unit()).collect::<Vec<f64>>();
            let (forward, backward) = (draw(), draw());
            let span = plain(&forward, &backward, batches);
            let both: Vec<f64> = forward.iter().zip(&backward).map(|(f, b)| f + b).collect();
            let (all, most) = (both.iter().sum::<f64>(), |of: &[f64]| of.iter().copied().fold(0.0, f64::max));
            let rest = (batches - 1) as f64;
            let least =
                (0..stages).map(|i| both[..i].iter().sum::<f64>() + batches as f64 * both[i]).fold(0.0, f64::max);
            assert!(span >= least * (1.0 - 1e-12), "{span} < {least}");
            assert!(span <= (all + rest * (most(&forward) + most(&backward))) * (1.0 + 1e-12), "{span} {all}");
            // In proportion, the bound is tighter; alike, it is reached.
            let double: Vec<f64> = forward.iter().map(|f| 2.0 * f).collect();
            let span = plain(&forward, &double, batches);
            assert!(span <= 3.0 * (forward.iter().sum::<f64>() + rest * most(&forward)) * (1.0 + 1e-12));
            let alike = plain(&vec![forward[0]; stages], &vec![backward[0]; stages], batches);
            assert!((alike / ((stages as f64 + rest) * both[0]) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn interleaved_chunks_shrink_the_bubble() {
        for (stages, groups, chunks) in [(2, 1, 2), (4, 2, 2), (4, 3, 3), (8, 8, 3), (35, 8, 3)] {
            let batches = stages * groups;
            let parts = stages * chunks;
            let (forward, backward, delay) = (vec![1.0; parts], vec![2.0; parts], vec![0.0; parts - 1]);
            let span =
                Pipeline { stages, micro_batches: batches, forward: &forward, backward: &backward, delay: &delay };
            let busy = 3.0 * (batches * chunks) as f64;
            assert_eq!(span.makespan(), Some(busy + 3.0 * (stages - 1) as f64), "{stages} {groups} {chunks}");
        }
    }

    #[test]
    fn no_deadlock_if_micro_batches_are_a_multiple_of_stages() {
        for (stages, chunks, batches) in (1..9).flat_map(|s| (1..5).flat_map(move |c| (1..30).map(move |b| (s, c, b))))
        {
            let parts = stages * chunks;
            let (time, delay) = (vec![1.0; parts], vec![0.5; parts - 1]);
            let run = Pipeline { stages, micro_batches: batches, forward: &time, backward: &time, delay: &delay };
            let mut done = 0;
            let span = run.run(|_| done += 1);
            if chunks == 1 || batches % stages == 0 {
                assert!(span.is_some(), "{stages} {chunks} {batches}");
                assert_eq!(done, 2 * parts * batches);
            }
        }
    }
}
