//! A collective on a graph, as a reduction followed by a copy. A reduction is solved as a copy that is reversed in
//! time.

use std::borrow::Cow;

use super::{
    bound::{Bounds, bounds},
    demand::Demand,
    graph::Graph,
    plan::Schedule,
    verify::{Fault, faults},
};

/// A collective on a graph: first `reduce`, then `copy`.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The link graph.
    pub graph: Graph,
    reversed: Graph,
    /// For each link a link of the same duration in the other direction, where all links have one.
    opposite: Option<Vec<u32>>,
    /// The reduction, as the copying of which it is the mirror image.
    pub reduce: Option<Demand>,
    /// The demand that is copied.
    pub copy: Option<Demand>,
}

/// One phase of a problem, as a demand to be copied over a graph.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The graph; for a reduction with reversed links.
    pub graph: &'a Graph,
    /// The demand to be copied.
    pub demand: &'a Demand,
}

/// The phases of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Adds up, backwards in time over the reversed links.
    Reduce,
    /// Copies chunks to the nodes that want them.
    Copy,
}

impl Problem {
    /// Combines a graph with the demands of a collective.
    pub fn new(graph: Graph, reduce: Option<Demand>, copy: Option<Demand>) -> Self {
        let reversed = graph.reversed();
        let opposite = if reduce.is_some() { opposites(&graph) } else { None };
        Self { graph, reversed, opposite, reduce, copy }
    }

    /// Number of chunks.
    pub fn chunks(&self) -> usize {
        self.copy.as_ref().or(self.reduce.as_ref()).map_or(0, Demand::chunks)
    }

    /// The phases that have to be solved. An all_reduce over links that all have an opposite needs the copy only: the
    /// reduction is its mirror image.
    pub fn phases(&self) -> Vec<Phase> {
        match (&self.reduce, &self.copy) {
            (Some(reduce), Some(copy)) if self.opposite.is_some() && reduce == copy => vec![Phase::Copy],
            (reduce, copy) => {
                let reduce = reduce.iter().map(|_| Phase::Reduce);
                reduce.chain(copy.iter().map(|_| Phase::Copy)).collect()
            }
        }
    }

    /// A phase as a task; `None` where the collective does not have it.
    pub fn task(&self, phase: Phase) -> Option<Task<'_>> {
        Some(match phase {
            Phase::Reduce => Task { graph: &self.reversed, demand: self.reduce.as_ref()? },
            Phase::Copy => Task { graph: &self.graph, demand: self.copy.as_ref()? },
        })
    }

    /// The bounds of the phases, in the order of [`Problem::phases`].
    pub fn bounds(&self) -> Vec<Bounds> {
        self.phases()
            .into_iter()
            .filter_map(|phase| self.task(phase))
            .map(|task| bounds(task.graph, task.demand))
            .collect()
    }

    /// How often the time of the solved phases counts in the time of the collective: 2 where one solution serves both
    /// phases.
    pub fn repetitions(&self) -> u64 {
        if self.reduce.is_some() && self.copy.is_some() && self.phases().len() == 1 { 2 } else { 1 }
    }

    /// The schedule of the collective from those of its phases, which are in the order of [`Problem::phases`].
    pub fn combined<'a>(&self, parts: &[&'a Schedule]) -> Cow<'a, Schedule> {
        match (parts, self.phases().as_slice()) {
            ([part], [Phase::Reduce]) => Cow::Owned((*part).clone().reversed(&self.reversed)),
            ([part], [Phase::Copy]) => match &self.opposite {
                Some(opposite) if self.repetitions() == 2 => {
                    let mut turned = (*part).clone();
                    turned.transfers.iter_mut().for_each(|transfer| transfer.link = opposite[transfer.link as usize]);
                    Cow::Owned(turned.reversed(&self.reversed).then(&self.graph, (*part).clone()))
                }
                _ => Cow::Borrowed(*part),
            },
            ([first, second], _) => {
                Cow::Owned((*first).clone().reversed(&self.reversed).then(&self.graph, (*second).clone()))
            }
            _ => Cow::Owned(Schedule::default()),
        }
    }

    /// The faults of a schedule; empty for a valid one.
    pub fn faults(&self, schedule: &Schedule) -> Vec<Fault> {
        faults(&self.graph, schedule, self.reduce.as_ref(), self.copy.as_ref())
    }

    /// A lower bound of any schedule, in ticks, including those that copy parts of a sum before all of it is complete:
    /// in an all_reduce, each node's part of each chunk must cross some link once, and the sum once back (Patarasuk and
    /// Yuan 2009). For other collectives, the sum of the phases' bounds.
    pub fn lower_bound(&self, bounds: &[Bounds]) -> u64 {
        match (&self.reduce, &self.copy) {
            (Some(_), Some(copy)) => {
                let enough = |time: u64| {
                    let links = self.graph.links().iter();
                    let all = links.map(|link| u128::from(time / link.duration)).sum::<u128>();
                    all >= 2 * copy.pairs() as u128
                };
                let mut time = bounds.iter().map(Bounds::time).max().unwrap_or(0);
                let mut step = 1_u64 << 62;
                // Binary search for the last time that is not enough, plus one.
                if enough(time) {
                    return time;
                }
                while step > 0 {
                    if time.checked_add(step).is_some_and(|then| !enough(then)) {
                        time += step;
                    }
                    step /= 2;
                }
                time.saturating_add(1)
            }
            _ => bounds.iter().map(Bounds::best).sum(),
        }
    }
}

fn opposites(graph: &Graph) -> Option<Vec<u32>> {
    let mut taken = vec![false; graph.links().len()];
    let mut opposite = Vec::with_capacity(graph.links().len());
    for link in graph.links() {
        let back = graph.outgoing(link.to as usize).iter().copied().find(|back| {
            let of = graph.links()[*back as usize];
            of.to == link.from && of.duration == link.duration && !taken[*back as usize]
        })?;
        taken[back as usize] = true;
        opposite.push(back);
    }
    Some(opposite)
}
