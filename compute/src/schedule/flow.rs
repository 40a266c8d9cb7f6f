//! Maximum flows over the rates of links.

use super::graph::Graph;
use crate::order::CompactSort;

/// The residual graph of a flow: what is left of each link's rate, and what can be pushed back.
struct Residual<'a> {
    graph: &'a Graph,
    /// The number of inspections of a link that are left.
    steps: u64,
    /// The rate that is left, per link.
    left: Vec<u64>,
    /// The flow, per link.
    flow: Vec<u64>,
    /// For each node the link by which it was reached, and whether in the link's direction.
    reached: Vec<Option<(u32, bool)>>,
    queue: Vec<u32>,
}

impl<'a> Residual<'a> {
    fn new(graph: &'a Graph, times: u64, steps: u64) -> Self {
        Self {
            graph,
            left: graph.links().iter().map(|link| link.rate.saturating_mul(times)).collect(),
            flow: vec![0; graph.links().len()],
            steps,
            reached: vec![None; graph.nodes()],
            queue: Vec::new(),
        }
    }

    /// Pushes up to `amount` from one node to another along shortest augmenting paths (Edmonds–Karp), and returns how
    /// much was pushed. Where that is less, `queue` holds the nodes on the source's side of the minimum cut.
    fn push(&mut self, from: u32, to: u32, amount: u64) -> u64 {
        let mut gone = 0;
        while gone < amount && from != to && self.reach(from, to) {
            let (mut least, mut node) = (amount - gone, to);
            while node != from {
                let Some((link, forward)) = self.reached[node as usize] else { break };
                let ends = self.graph.links()[link as usize];
                least = least.min(if forward { self.left[link as usize] } else { self.flow[link as usize] });
                node = if forward { ends.from } else { ends.to };
            }
            node = to;
            while node != from {
                let Some((link, forward)) = self.reached[node as usize] else { break };
                let ends = self.graph.links()[link as usize];
                let (left, flow) = (&mut self.left[link as usize], &mut self.flow[link as usize]);
                if forward {
                    *left -= least;
                    *flow += least;
                } else {
                    *left += least;
                    *flow -= least;
                }
                node = if forward { ends.from } else { ends.to };
            }
            gone += least;
        }
        if from == to { amount } else { gone }
    }

    /// Finds a shortest augmenting path; `false` where there is none.
    fn reach(&mut self, from: u32, to: u32) -> bool {
        self.reached.fill(None);
        self.queue.clear();
        self.queue.push(from);
        let mut next = 0;
        while let Some(&node) = self.queue.get(next) {
            next += 1;
            let degree = self.graph.outgoing(node as usize).len() + self.graph.incoming(node as usize).len();
            self.steps = self.steps.saturating_sub(degree as u64 + 1);
            if self.steps == 0 {
                return false;
            }
            let out = self.graph.outgoing(node as usize).iter().map(|link| (*link, true));
            let back = self.graph.incoming(node as usize).iter().map(|link| (*link, false));
            for (link, forward) in out.chain(back) {
                let ends = self.graph.links()[link as usize];
                let (there, left) =
                    if forward { (ends.to, self.left[link as usize]) } else { (ends.from, self.flow[link as usize]) };
                if left == 0 || there == from || self.reached[there as usize].is_some() {
                    continue;
                }
                self.reached[there as usize] = Some((link, forward));
                self.queue.push(there);
                if there == to {
                    return true;
                }
            }
        }
        false
    }
}

/// The maximum flow between two nodes, and the nodes on the source's side of the minimum cut. `None` where it takes
/// more than `steps` inspections of a link; `steps` is reduced by those it took.
pub fn max_flow(graph: &Graph, from: u32, to: u32, steps: &mut u64) -> Option<(u64, Vec<u32>)> {
    let mut residual = Residual::new(graph, 1, *steps);
    let flow = residual.push(from, to, u64::MAX);
    *steps = residual.steps;
    let mut inside = residual.queue;
    inside.compact_sort();
    (*steps > 0).then_some((flow, inside))
}

/// The total rate of the links that leave a set of nodes.
pub fn leaving(graph: &Graph, inside: &[u32]) -> u64 {
    let mut is_inside = vec![false; graph.nodes()];
    inside.iter().for_each(|node| is_inside[*node as usize] = true);
    let crosses = |from: u32, to: u32| is_inside[from as usize] && !is_inside[to as usize];
    graph.links().iter().filter(|link| crosses(link.from, link.to)).map(|link| link.rate).sum()
}

/// The proper subset of nodes with the most nodes per leaving rate: the bottleneck of an all_gather (ForestColl, arXiv
/// 2402.06787), found by Newton's iteration over minimum cuts. `None` where no link leaves some set, or where it takes
/// more than `steps` inspections of a link.
pub fn bottleneck(graph: &Graph, mut steps: u64) -> Option<Vec<u32>> {
    let nodes = graph.nodes();
    let all = || 0..nodes as u32;
    let weigh = |inside: Vec<u32>| {
        let rate = leaving(graph, &inside);
        (inside.len() as u64, rate, inside)
    };
    let exceeds = |a: &(u64, u64, Vec<u32>), b: &(u64, u64, Vec<u32>)| {
        u128::from(a.0) * u128::from(b.1) > u128::from(b.0) * u128::from(a.1)
    };
    let mut best: Option<(u64, u64, u32)> = None;
    for node in all() {
        let rate = graph.incoming(node as usize).iter().map(|link| graph.links()[*link as usize].rate).sum::<u64>();
        if best.is_none_or(|(_, least, _)| rate < least) {
            best = Some((nodes as u64 - 1, rate, node));
        }
    }
    let without = best?.2;
    let mut best = weigh(all().filter(|node| *node != without).collect());
    loop {
        if best.1 == 0 {
            return None;
        }
        match violated(graph, best.1, best.0, &mut steps) {
            _ if steps == 0 => return None,
            None => return Some(best.2),
            Some(inside) => {
                let found = weigh(inside);
                if !exceeds(&found, &best) {
                    return Some(best.2);
                }
                best = found;
            }
        }
    }
}

/// A set of nodes out of which each node's flow can't reach `rate` / `size`; `None` where every node can send that much
/// to every other.
fn violated(graph: &Graph, rate: u64, size: u64, steps: &mut u64) -> Option<Vec<u32>> {
    let nodes = graph.nodes() as u32;
    let mut residual = Residual::new(graph, size, *steps);
    let found = found(graph, &mut residual, rate, nodes);
    *steps = residual.steps;
    found.then_some(residual.queue)
}

/// Whether some flow can't be pushed; then `residual.queue` holds the violated set.
fn found(graph: &Graph, residual: &mut Residual<'_>, rate: u64, nodes: u32) -> bool {
    // Consecutive sinks are neighbours, so that little of the flow has to be rerouted from one to the next.
    let order = depth_first(graph);
    let Some(mut sink) = order.first().copied() else { return false };
    for node in 0..nodes {
        if residual.push(node, sink, rate) < rate {
            return true;
        }
    }
    let Some(total) = rate.checked_mul(u64::from(nodes)) else { return false };
    for &next in &order[1..] {
        if residual.push(sink, next, total) < total {
            return true;
        }
        sink = next;
    }
    false
}

fn depth_first(graph: &Graph) -> Vec<u32> {
    let mut seen = vec![false; graph.nodes()];
    let mut order = Vec::with_capacity(graph.nodes());
    for start in 0..graph.nodes() as u32 {
        let mut stack = vec![start];
        while let Some(node) = stack.pop() {
            if std::mem::replace(&mut seen[node as usize], true) {
                continue;
            }
            order.push(node);
            stack.extend(graph.outgoing(node as usize).iter().map(|link| graph.links()[*link as usize].to));
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{math::Stream, schedule::graph::Link};

    /// Up to six nodes; from some of them nothing may lead to the others.
    fn random_graph(stream: &mut Stream) -> Graph {
        let nodes = 2 + stream.below(5);
        let mut links = Vec::new();
        let mut add = |from: usize, to: usize, rate: usize| {
            links.push(Link { from: from as u32, to: to as u32, duration: 1, rate: rate as u64 });
        };
        for node in 0..nodes {
            if stream.below(20) > 0 {
                add(node, (node + 1) % nodes, 1 + stream.below(9));
            }
        }
        for _ in 0..stream.below(2 * nodes) {
            let from = stream.below(nodes);
            add(from, (from + 1 + stream.below(nodes - 1)) % nodes, 1 + stream.below(9));
        }
        Graph::new(nodes, links).unwrap()
    }

    /// All sets of nodes but none and all.
    fn sets(graph: &Graph) -> impl Iterator<Item = Vec<u32>> {
        let nodes = graph.nodes() as u32;
        (1..(1_u32 << nodes) - 1).map(move |bits| (0..nodes).filter(|node| bits >> node & 1 == 1).collect())
    }

    #[test]
    fn the_bottleneck_has_the_most_nodes_for_what_leaves_it_of_all_sets() {
        let mut stream = Stream::new(1);
        for _ in 0..400 {
            let graph = random_graph(&mut stream);
            let share = |inside: &[u32]| inside.len() as f64 / leaving(&graph, inside) as f64;
            let worst = sets(&graph).map(|inside| share(&inside)).fold(0.0, f64::max);
            let found = bottleneck(&graph, u64::MAX).map_or(f64::INFINITY, |inside| share(&inside));
            assert_eq!(found, worst, "{graph:?}");
        }
    }

    #[test]
    fn the_most_that_flows_is_what_leaves_the_narrowest_set_on_the_way() {
        let mut stream = Stream::new(2);
        for _ in 0..200 {
            let graph = random_graph(&mut stream);
            let (from, to) = (0, graph.nodes() as u32 - 1);
            let is_between = |inside: &Vec<u32>| inside.contains(&from) && !inside.contains(&to);
            let narrowest = sets(&graph).filter(is_between).map(|inside| leaving(&graph, &inside)).min();
            let (flow, inside) = max_flow(&graph, from, to, &mut 1_000_000).unwrap();
            assert_eq!((Some(flow), leaving(&graph, &inside)), (narrowest, flow), "{graph:?}");
            assert!(is_between(&inside) && inside.is_sorted(), "{graph:?} {inside:?}");
        }
    }

    #[test]
    fn what_takes_too_many_steps_is_given_up() {
        let graph = Graph::of_durations(3, &[(0, 1, 1), (1, 2, 1), (2, 0, 1)]);
        assert!(bottleneck(&graph, 1_000).is_some() && bottleneck(&graph, 10).is_none());
        let mut steps = 1_000;
        assert!(max_flow(&graph, 0, 2, &mut steps).is_some() && (1..1_000).contains(&steps), "{steps}");
        assert_eq!(max_flow(&graph, 0, 2, &mut 3), None);
    }
}
