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
