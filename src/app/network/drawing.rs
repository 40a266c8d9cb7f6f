//! What is drawn, prepared once: when chunks arrive, when anything happens, which link is which.

use std::sync::{Arc, Weak};

use crate::{
    schedule::timeline::{STEPS, Timeline},
    topology::{listing, network::Network},
    units::count,
    workbench::topology::edit::Spot,
};

/// Which network something was made of: no other one can come to stand in its place as long as this is held.
#[derive(Clone, Default)]
pub struct Key(Weak<Network>);

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }
}

/// A network with its schedules.
pub struct NetworkDrawing {
    /// Links and schedules.
    pub network: Arc<Network>,
    /// The link of the topology that timelines call by each place.
    pub whole: Vec<u32>,
    /// The node of the topology that timelines call by each place.
    pub alive: Vec<u32>,
    /// Its schedules, prepared.
    pub timelines: Vec<PreparedTimeline>,
    /// When the last schedule is done, in ns.
    pub end_ns: f64,
    /// How long a transfer takes on average, in ns.
    pub step_ns: f64,
}

/// Drawings are the same that were made of the same network.
impl PartialEq for NetworkDrawing {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.network, &other.network)
    }
}

/// A schedule, prepared.
pub struct PreparedTimeline {
    /// Nodes down and chunks across of which it is told when they meet; every so many there is one.
    pub cells: (u32, u32),
    /// See [`PreparedTimeline::cells`].
    pub every: (u32, u32),
    /// When each of these chunks is whole at each of these nodes, as [`Timeline::ownership`] says.
    pub ownership: Vec<u64>,
    /// The cells of it in the order of arrival.
    pub order: Vec<u32>,
    /// Shares of busy links over time.
    pub busy: Vec<(f64, f64)>,
    /// How many transfers come to each node.
    pub due: Vec<u32>,
    /// What moves: all of it, or its beginning.
    pub window: PreparedWindow,
}

/// What is picked of a graph.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Picked {
    /// A node.
    Node(u32),
    /// A link, by its place.
    Link(u32),
    /// Two nodes that no link joins: one can be added.
    Gap(u32, u32),
}

/// What moves in each schedule of a network that is cut, as it was last asked for.
#[derive(Default)]
pub struct PreparedWindows {
    of: Key,
    all: Vec<Option<PreparedWindow>>,
}

/// What moves in a span of time.
pub struct PreparedWindow {
    /// The timeline of the span; `None` where it is that of the network.
    pub timeline: Option<Timeline>,
    /// The chunk that was asked for besides.
    pub chunk: Option<u32>,
    /// Transfers that have arrived at each node before, and when more do, ascending.
    pub arrived: Vec<u32>,
    /// See [`PreparedWindow::arrived`].
    pub arrivals: Vec<Vec<u64>>,
    /// When anything begins or ends, ascending.
    pub events: Vec<u64>,
    /// Transfers on the critical path.
    pub is_critical: Vec<bool>,
}

impl PreparedWindow {
    /// What moves in a timeline.
    pub fn new(timeline: &Timeline) -> Self {
        let mut is_critical = vec![false; timeline.len()];
        timeline.critical.iter().for_each(|index| is_critical[*index as usize] = true);
        let (mut arrivals, mut events) = (timeline.arrivals(), timeline.events());
        let mut arrived = vec![0; arrivals.len()];
        if let Some(cut) = &timeline.window {
            // A chunk that was asked for moves beyond the span as well.
            let is_inside = |at: &u64| (cut.from + 1..=cut.to).contains(at);
            arrivals.iter_mut().for_each(|arrivals| arrivals.retain(is_inside));
            events.retain(is_inside);
            arrived.clone_from(&cut.arrived);
        }
        Self { timeline: None, chunk: None, arrived, arrivals, events, is_critical }
    }

    fn with(self, timeline: Timeline) -> Self {
        Self { timeline: Some(timeline), ..self }
    }

    /// How many transfers have arrived at a node by an instant.
    pub fn there(&self, node: usize, time: u64) -> u32 {
        self.arrived[node] + self.arrivals[node].partition_point(|arrival| *arrival <= time) as u32
    }
}

impl PreparedTimeline {
    fn new(timeline: &Timeline) -> Self {
        let window = PreparedWindow::new(timeline);
        let cells = |every: (u32, u32)| (timeline.nodes.div_ceil(every.0), timeline.chunks.div_ceil(every.1));
        let (every, ownership, busy) = match timeline.summary() {
            Some(summary) => (summary.every, summary.ownership.clone(), summary.busy.clone()),
            None => ((1, 1), timeline.ownership(), timeline.utilisation(STEPS)),
        };
        let mut due = vec![0; timeline.nodes as usize];
        for (link, (_, to)) in (0..).zip(&timeline.links) {
            due[*to as usize] += timeline.chunks_carried(link);
        }
        Self { cells: cells(every), every, order: Timeline::arrival_order(&ownership), ownership, busy, due, window }
    }
}

impl NetworkDrawing {
    /// Prepares what is drawn.
    pub fn new(network: Arc<Network>) -> Self {
        let timelines = || network.timelines.iter().map(|(_, timeline)| timeline);
        Self {
            whole: network.whole(),
            alive: network.alive(),
            timelines: timelines().map(PreparedTimeline::new).collect(),
            end_ns: timelines().map(|timeline| timeline.ns(timeline.end)).fold(0.0, f64::max),
            step_ns: timelines().next().map_or(0.0, step_ns),
            network,
        }
    }

    /// A schedule with what was prepared of it.
    pub fn prepared(&self, index: usize) -> Option<(&Timeline, &PreparedTimeline)> {
        Some((&self.network.timelines.get(index)?.1, self.timelines.get(index)?))
    }

    /// What moves of a schedule, by what came last.
    pub fn moving<'a>(
        &'a self,
        index: usize,
        windows: &'a PreparedWindows,
    ) -> Option<(&'a Timeline, &'a PreparedWindow)> {
        let (timeline, prepared) = self.prepared(index)?;
        let newer = windows.all.get(index).filter(|_| windows.of == self.key()).and_then(Option::as_ref);
        Some(newer.and_then(|window| Some((window.timeline.as_ref()?, window))).unwrap_or((timeline, &prepared.window)))
    }

    /// Which network it is.
    pub fn key(&self) -> Key {
        Key(Arc::downgrade(&self.network))
    }

    /// What is picked, where the graph has it.
    pub fn picked(&self, spot: Option<Spot>) -> Option<Picked> {
        let topology = &self.network.topology;
        match spot? {
            Spot::Node(node) => (node < topology.nodes).then_some(Picked::Node(node)),
            Spot::Link(from, to) if from != to && from.max(to) < topology.nodes => {
                Some(topology.link(from, to).map_or(Picked::Gap(from, to), Picked::Link))
            }
            Spot::Link(..) => None,
        }
    }

    /// Takes what continues timelines that are cut.
    pub fn continued(&self, cuts: Vec<Timeline>, chunk: Option<u32>) -> PreparedWindows {
        let window = |((_, timeline), by): (&(String, Timeline), Timeline)| {
            timeline.window.as_ref()?;
            let timeline = timeline.completed(by);
            Some(PreparedWindow { chunk, ..PreparedWindow::new(&timeline) }.with(timeline))
        };
        PreparedWindows { of: self.key(), all: self.network.timelines.iter().zip(cuts).map(window).collect() }
    }

    /// From when on timelines have to be continued to show an instant and soon what follows, and the way of a chunk.
    pub fn lacks(&self, windows: &PreparedWindows, time_ns: f64, chunk: Option<u32>) -> bool {
        const SOON: f64 = 0.6;
        (0..self.timelines.len()).filter_map(|index| self.moving(index, windows)).any(|(timeline, window)| {
            timeline.window.as_ref().is_some_and(|cut| {
                let time = ticks(timeline, time_ns).min(timeline.end);
                let late = cut.from + ((cut.to - cut.from) as f64 * SOON) as u64;
                time < cut.from || (time > late && cut.to < timeline.end) || window.chunk != chunk
            })
        })
    }

    /// What timelines call a link of the topology; `None` of one that is cut.
    pub fn link_in_timeline(&self, link: u32) -> Option<u32> {
        self.whole.binary_search(&link).ok().map(|place| place as u32)
    }

    /// What timelines call a node of the topology; `None` of one that is dead.
    pub fn node_in_timeline(&self, node: u32) -> Option<usize> {
        self.alive.binary_search(&node).ok()
    }

    /// What the node is called that timelines call by a number.
    pub fn name(&self, node: u32) -> String {
        self.network.topology.label(self.alive.get(node as usize).copied().unwrap_or(node))
    }

    /// What is to be seen of a schedule at an instant, in words.
    pub fn words(&self, index: usize, windows: &PreparedWindows, time_ns: f64) -> String {
        let (Some((all, prepared)), Some((timeline, window))) = (self.prepared(index), self.moving(index, windows))
        else {
            return self.network.topology.name.clone();
        };
        let time = ticks(timeline, time_ns);
        let busy = (0..timeline.links.len() as u32).filter(|link| timeline.transfer_at(*link, time).is_some()).count();
        let (there, of) = match all.summary() {
            Some(summary) => {
                let there = (0..window.arrived.len()).map(|node| u64::from(window.there(node, time))).sum();
                (there, count(summary.transfers, "transfer"))
            }
            None => {
                let there = prepared.order.partition_point(|cell| prepared.ownership[*cell as usize] <= time);
                (there as u64, format!("{} of chunk and node", count(prepared.order.len() as u64, "pair")))
            }
        };
        format!(
            "{}, {}, at {} of {}: {busy} of {} busy, {there} of {of} there",
            self.network.topology.name,
            self.network.timelines[index].0,
            listing::time(time_ns),
            listing::time(timeline.ns(timeline.end)),
            count(timeline.links.len() as u64, "link"),
        )
    }
}

/// How long a transfer takes on average, in ns.
fn step_ns(timeline: &Timeline) -> f64 {
    let all =
        (0..).zip(&timeline.durations).map(|(link, takes)| f64::from(timeline.chunks_carried(link)) * *takes as f64);
    all.sum::<f64>() / (timeline.transfer_count() as f64).max(1.0) / timeline.ticks_per_ns.max(1) as f64
}

/// An instant as timelines count it.
pub fn ticks(timeline: &Timeline, time_ns: f64) -> u64 {
    (time_ns * timeline.ticks_per_ns as f64 + 0.5) as u64
}
