//! A collective on a graph, as what has to be copied, forwards or backwards in time.

use std::borrow::Cow;

use super::{
    bound::{Bounds, bounds},
    demand::Demand,
    graph::Graph,
    plan::Schedule,
    verify::{Fault, faults},
};

/// A collective: what is added up comes first, what is copied then.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The links.
    pub graph: Graph,
    reversed: Graph,
    /// Every link's opposite of the same duration, where all have one.
    opposite: Option<Vec<u32>>,
    /// What is added up, as the copying of which it is the mirror image.
    pub reduce: Option<Demand>,
    /// What is copied.
    pub copy: Option<Demand>,
}

/// One of a problem's two parts, as something to be copied.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The links.
    pub graph: &'a Graph,
    /// What is to be copied.
    pub demand: &'a Demand,
}

/// Parts of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Adds up, over the reversed links and backwards in time.
    Reduce,
    /// Copies.
    Copy,
}

impl Problem {
    /// Puts a collective together.
    #[must_use]
    pub fn new(graph: Graph, reduce: Option<Demand>, copy: Option<Demand>) -> Self {
        let reversed = graph.reversed();
        let opposite = if reduce.is_some() { opposites(&graph) } else { None };
        Self { graph, reversed, opposite, reduce, copy }
    }

    /// How many chunks there are.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.copy.as_ref().or(self.reduce.as_ref()).map_or(0, Demand::chunks)
    }

    /// Its parts that have to be solved: an all_reduce over links that all have an opposite needs one solution only.
    #[must_use]
    pub fn phases(&self) -> Vec<Phase> {
        match (&self.reduce, &self.copy) {
            (Some(reduce), Some(copy)) if self.opposite.is_some() && reduce == copy => vec![Phase::Copy],
            (reduce, copy) => {
                let reduce = reduce.iter().map(|_| Phase::Reduce);
                reduce.chain(copy.iter().map(|_| Phase::Copy)).collect()
            }
        }
    }

    /// One of its parts.
    #[must_use]
    pub fn task(&self, phase: Phase) -> Option<Task<'_>> {
        Some(match phase {
            Phase::Reduce => Task { graph: &self.reversed, demand: self.reduce.as_ref()? },
            Phase::Copy => Task { graph: &self.graph, demand: self.copy.as_ref()? },
        })
    }

    /// Bounds of its parts, in the order of [`Problem::phases`].
    #[must_use]
    pub fn bounds(&self) -> Vec<Bounds> {
        self.phases()
            .into_iter()
            .filter_map(|phase| self.task(phase))
            .map(|task| bounds(task.graph, task.demand))
            .collect()
    }

    /// How often a part's time counts in the whole.
    #[must_use]
    pub fn times(&self) -> u64 {
        if self.reduce.is_some() && self.copy.is_some() && self.phases().len() == 1 { 2 } else { 1 }
    }

    /// The whole of the parts, which are in the order of [`Problem::phases`].
    #[must_use]
    pub fn whole<'a>(&self, parts: &[&'a Schedule]) -> Cow<'a, Schedule> {
        match (parts, self.phases().as_slice()) {
            ([part], [Phase::Reduce]) => Cow::Owned((*part).clone().reversed(&self.reversed)),
            ([part], [Phase::Copy]) => match &self.opposite {
                Some(opposite) if self.times() == 2 => {
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

    /// What is wrong with a schedule; empty where nothing is.
    #[must_use]
    pub fn faults(&self, schedule: &Schedule) -> Vec<Fault> {
        faults(&self.graph, schedule, self.reduce.as_ref(), self.copy.as_ref())
    }

    /// The least time of any schedule at all, in ticks, where what is added up need not be complete before it is copied:
    /// of an all_reduce, each part of each chunk has to go over some link once and the sum back once (Patarasuk and Yuan
    /// 2009); elsewhere it is that of the parts.
    #[must_use]
    pub fn least(&self, bounds: &[Bounds]) -> u64 {
        match (&self.reduce, &self.copy) {
            (Some(_), Some(copy)) => {
                let enough = |time: u64| {
                    let links = self.graph.links().iter();
                    let all = links.map(|link| u128::from(time / link.duration)).sum::<u128>();
                    all >= 2 * copy.pairs() as u128
                };
                let mut time = bounds.iter().map(Bounds::time).max().unwrap_or(0);
                let mut step = 1_u64 << 62;
                // The last time at which it is not enough, plus one.
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
