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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::plan::Transfer;

    /// Three nodes, each with a link to each other one that takes two ticks.
    fn triangle() -> Graph {
        Graph::of_durations(3, &[(0, 1, 2), (0, 2, 2), (1, 0, 2), (1, 2, 2), (2, 0, 2), (2, 1, 2)])
    }

    /// A ring of three nodes whose links lead to the next node in two ticks.
    fn ring() -> Graph {
        Graph::of_durations(3, &[(0, 1, 2), (1, 2, 2), (2, 0, 2)])
    }

    fn all() -> Demand {
        Demand::all_gather(3, 1)
    }

    fn schedule(transfers: &[(u32, u32, u64)]) -> Schedule {
        let transfers = transfers.iter().map(|&(link, chunk, start)| Transfer { link, chunk, start });
        Schedule { transfers: transfers.collect(), reducing: 0 }
    }

    /// Whether two phases are solved together, as one copy.
    fn is_solved_once(graph: Graph, nodes: usize) -> bool {
        let all = Demand::all_gather(nodes, 1);
        Problem::new(graph, Some(all.clone()), Some(all)).phases() == [Phase::Copy]
    }

    #[test]
    fn what_a_collective_has_no_phase_for_is_not_solved() {
        let of = |reduce: bool, copy: bool| Problem::new(ring(), reduce.then(all), copy.then(all));
        assert_eq!((of(true, false).phases(), of(true, false).chunks()), (vec![Phase::Reduce], 3));
        assert_eq!((of(false, true).phases(), of(false, true).chunks()), (vec![Phase::Copy], 3));
        assert_eq!((of(false, false).phases(), of(false, false).chunks()), (vec![], 0));
        assert_eq!(of(true, true).phases(), [Phase::Reduce, Phase::Copy]);
        assert!(of(true, false).task(Phase::Copy).is_none() && of(false, true).task(Phase::Reduce).is_none());
        let repetitions = [(true, false), (false, true), (true, true)].map(|(r, c)| of(r, c).repetitions());
        assert_eq!(repetitions, [1, 1, 1]);
        assert_eq!(*of(false, false).combined(&[]), Schedule::default());
        // A reduction is copied over the reversed links.
        let both = of(true, true);
        assert_eq!(both.task(Phase::Reduce).unwrap().graph.links()[0].from, 1);
        assert_eq!(both.task(Phase::Copy).unwrap().graph.links()[0].from, 0);
    }

    #[test]
    fn an_all_reduce_is_solved_once_where_each_link_has_an_opposite_of_its_own() {
        assert!(is_solved_once(triangle(), 3));
        assert!(!is_solved_once(ring(), 3));
        assert!(!is_solved_once(Graph::of_durations(2, &[(0, 1, 2), (1, 0, 3)]), 2), "the other direction is slower");
        assert!(
            !is_solved_once(Graph::of_durations(2, &[(0, 1, 2), (0, 1, 2), (1, 0, 2)]), 2),
            "one opposite for two links"
        );
        assert!(is_solved_once(Graph::of_durations(2, &[(0, 1, 2), (0, 1, 3), (1, 0, 3), (1, 0, 2)]), 2));
        // The mirror image of a copy to all nodes is no reduction to node 0.
        let other = Problem::new(triangle(), Some(Demand::broadcast(3, 0, 3)), Some(all()));
        assert_eq!((other.phases().len(), other.repetitions()), (2, 1));
    }

    #[test]
    fn one_copy_gives_both_phases_of_an_all_reduce() {
        // Two links there and two back, whose opposites are not in the same order.
        let graph = Graph::of_durations(2, &[(0, 1, 2), (0, 1, 5), (1, 0, 5), (1, 0, 2)]);
        let all = Demand::all_gather(2, 2);
        let problem = Problem::new(graph, Some(all.clone()), Some(all));
        let copied = schedule(&[(0, 0, 0), (1, 1, 0), (2, 2, 0), (3, 3, 1)]);
        let whole = problem.combined(&[&copied]);
        assert_eq!((problem.repetitions(), problem.bounds().len()), (2, 1));
        assert_eq!((problem.faults(&whole), whole.end(&problem.graph), whole.reducing), (vec![], 10, 4));
        let starts: Vec<u64> = whole.transfers[4..].iter().map(|transfer| transfer.start).collect();
        assert_eq!(starts, [5, 5, 5, 6], "the copy begins when the sums are complete");
    }

    #[test]
    fn the_schedules_of_phases_are_put_together_in_their_order() {
        let copied = schedule(&[(0, 0, 0), (1, 1, 0), (2, 2, 0), (1, 0, 2), (2, 1, 2), (0, 2, 2)]);
        // Over the reversed links chunks go round the other way.
        let reduced = schedule(&[(0, 1, 0), (1, 2, 0), (2, 0, 0), (0, 2, 2), (1, 0, 2), (2, 1, 2)]);
        let only_copy = Problem::new(ring(), None, Some(all()));
        assert_eq!(*only_copy.combined(&[&copied]), copied);
        assert!(!only_copy.faults(&reduced).is_empty(), "chunk 1 is not at node 0, where link 0 begins");
        let only_reduction = Problem::new(ring(), Some(all()), None);
        let sums = only_reduction.combined(&[&reduced]);
        assert_eq!((only_reduction.faults(&sums), sums.reducing, sums.end(&ring())), (vec![], 6, 4));
        let both = Problem::new(ring(), Some(all()), Some(all()));
        let whole = both.combined(&[&reduced, &copied]);
        assert_eq!((both.faults(&whole), whole.reducing, whole.end(&ring())), (vec![], 6, 8));
        assert_eq!((both.bounds().len(), both.bounds()[1].time()), (2, 4));
    }

    #[test]
    fn all_links_together_carry_each_part_of_a_sum_there_and_back() {
        let all_reduce = |graph: Graph, demand: Demand| {
            let problem = Problem::new(graph, Some(demand.clone()), Some(demand));
            problem.lower_bound(&problem.bounds())
        };
        // 12 transfers over six links; with long durations as well.
        assert_eq!(all_reduce(triangle(), all()), 4);
        let slow: Vec<_> = triangle().links().iter().map(|link| (link.from, link.to, 1_000_003)).collect();
        assert_eq!(all_reduce(Graph::of_durations(3, &slow), all()), 2_000_006);
        // 16 transfers: by tick 30 ten over the one link and six over the other, by tick 29 only nine and five.
        assert_eq!(all_reduce(Graph::of_durations(2, &[(0, 1, 3), (1, 0, 5)]), Demand::all_gather(2, 4)), 30);
        // Four transfers over four links; but the path of two links takes longer.
        let line = Graph::of_durations(3, &[(0, 1, 5), (1, 0, 5), (1, 2, 5), (2, 1, 5)]);
        assert_eq!(all_reduce(line, Demand::broadcast(3, 0, 1)), 10);
    }

    #[test]
    fn other_collectives_take_what_is_proven_of_each_phase() {
        let bounds = [Bounds { cut_time: 3, last_hop: 7, ..Bounds::default() }];
        assert_eq!(Problem::new(ring(), None, Some(all())).lower_bound(&bounds), 7);
        assert_eq!(Problem::new(ring(), Some(all()), None).lower_bound(&bounds), 7);
    }
}
