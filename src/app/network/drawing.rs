//! A network prepared for drawing: the arrival order of chunks, the events of its timelines, the numbering of links.

use std::sync::{Arc, Weak};

use crate::{
    schedule::timeline::{STEPS, Timeline},
    topology::form::edit::EditTarget,
    topology::{listing, network::Network},
    units::count,
};

/// The identity of a network. While a key exists, its address is not reused by another network.
#[derive(Clone, Default)]
pub struct Key(Weak<Network>);

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }
}

/// A network and its timelines, prepared for drawing.
pub struct NetworkDrawing {
    /// The network as the worker sent it.
    pub network: Arc<Network>,
    /// The indices in the topology of the links that timelines number: see [`Network::whole`].
    pub whole: Vec<u32>,
    /// The indices in the topology of the nodes that timelines number: see [`Network::alive`].
    pub alive: Vec<u32>,
    /// The timelines of the network, prepared.
    pub timelines: Vec<PreparedTimeline>,
    /// The end of the longest timeline, in ns.
    pub end_ns: f64,
    /// The average duration of a transfer, in ns.
    pub step_ns: f64,
}

/// Drawings of the same network are equal.
impl PartialEq for NetworkDrawing {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.network, &other.network)
    }
}

/// A timeline with the aggregates that are drawn.
pub struct PreparedTimeline {
    /// The size of the matrix of arrivals: rows (nodes) and columns (chunks).
    pub cells: (u32, u32),
    /// The strides in nodes and in chunks of the matrix.
    pub every: (u32, u32),
    /// The tick at which each sampled node has each sampled chunk, as [`Timeline::ownership`].
    pub ownership: Vec<u64>,
    /// The cells of the matrix in the order of arrival.
    pub order: Vec<u32>,
    /// The shares of busy links over time.
    pub busy: Vec<(f64, f64)>,
    /// The number of transfers that each node receives.
    pub due: Vec<u32>,
    /// The transfers that can be played: all, or those of the first window.
    pub window: PreparedWindow,
}

/// A picked element of the graph.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Picked {
    /// A node, by its number.
    Node(u32),
    /// A link, by its index in the topology.
    Link(u32),
    /// Two nodes without a link, where one can be added.
    Gap(u32, u32),
}

/// The windows that were loaded last, for the timelines that are abridged.
#[derive(Default)]
pub struct PreparedWindows {
    of: Key,
    all: Vec<Option<PreparedWindow>>,
}

/// The transfers of a window of time, prepared for playing.
pub struct PreparedWindow {
    /// The timeline of the window; `None` where it is that of the network.
    pub timeline: Option<Timeline>,
    /// The chunk of which all transfers are included.
    pub chunk: Option<u32>,
    /// The number of transfers that have arrived at each node before the window.
    pub arrived: Vec<u32>,
    /// The ticks at which transfers arrive at each node within the window, ascending.
    pub arrivals: Vec<Vec<u64>>,
    /// The ticks within the window at which a transfer begins or ends, ascending.
    pub events: Vec<u64>,
    /// Whether each transfer is on the critical path.
    pub is_critical: Vec<bool>,
}

impl PreparedWindow {
    /// Prepares the transfers of a timeline.
    pub fn new(timeline: &Timeline) -> Self {
        let mut is_critical = vec![false; timeline.len()];
        timeline.critical.iter().for_each(|index| is_critical[*index as usize] = true);
        let (mut arrivals, mut events) = (timeline.arrivals(), timeline.events());
        let mut arrived = vec![0; arrivals.len()];
        if let Some(span) = &timeline.window {
            // The transfers of a requested chunk also lie outside the window.
            let is_inside = |at: &u64| (span.from + 1..=span.to).contains(at);
            arrivals.iter_mut().for_each(|arrivals| arrivals.retain(is_inside));
            events.retain(is_inside);
            arrived.clone_from(&span.arrived);
        }
        Self { timeline: None, chunk: None, arrived, arrivals, events, is_critical }
    }

    fn with(self, timeline: Timeline) -> Self {
        Self { timeline: Some(timeline), ..self }
    }

    /// The number of transfers that have arrived at a node by a tick.
    pub fn arrived_by(&self, node: usize, time: u64) -> u32 {
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
    /// Prepares a network for drawing.
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

    /// A timeline and its prepared aggregates.
    pub fn prepared(&self, index: usize) -> Option<(&Timeline, &PreparedTimeline)> {
        Some((&self.network.timelines.get(index)?.1, self.timelines.get(index)?))
    }

    /// The timeline and the transfers to be played: those of the window that was loaded last, if there is one.
    pub fn window<'a>(
        &'a self,
        index: usize,
        windows: &'a PreparedWindows,
    ) -> Option<(&'a Timeline, &'a PreparedWindow)> {
        let (timeline, prepared) = self.prepared(index)?;
        let newer = windows.all.get(index).filter(|_| windows.of == self.key()).and_then(Option::as_ref);
        Some(newer.and_then(|window| Some((window.timeline.as_ref()?, window))).unwrap_or((timeline, &prepared.window)))
    }

    /// The identity of the network.
    pub fn key(&self) -> Key {
        Key(Arc::downgrade(&self.network))
    }

    /// The picked element, if it exists in the graph.
    pub fn picked(&self, spot: Option<EditTarget>) -> Option<Picked> {
        let topology = &self.network.topology;
        match spot? {
            EditTarget::Node(node) => (node < topology.nodes).then_some(Picked::Node(node)),
            EditTarget::Link(from, to) if from != to && from.max(to) < topology.nodes => {
                Some(topology.link(from, to).map_or(Picked::Gap(from, to), Picked::Link))
            }
            EditTarget::Link(..) => None,
        }
    }

    /// Completes the windows that the worker has sent.
    pub fn completed(&self, loaded: Vec<Timeline>, chunk: Option<u32>) -> PreparedWindows {
        let window = |((_, timeline), by): (&(String, Timeline), Timeline)| {
            timeline.window.as_ref()?;
            let timeline = timeline.completed(by);
            Some(PreparedWindow { chunk, ..PreparedWindow::new(&timeline) }.with(timeline))
        };
        PreparedWindows { of: self.key(), all: self.network.timelines.iter().zip(loaded).map(window).collect() }
    }

    /// Whether windows have to be loaded to show an instant, to continue soon after it, or to show a chunk.
    pub fn needs_windows(&self, windows: &PreparedWindows, time_ns: f64, chunk: Option<u32>) -> bool {
        const SOON: f64 = 0.6;
        (0..self.timelines.len()).filter_map(|index| self.window(index, windows)).any(|(timeline, window)| {
            timeline.window.as_ref().is_some_and(|span| {
                let time = ticks(timeline, time_ns).min(timeline.end);
                let late = span.from + ((span.to - span.from) as f64 * SOON) as u64;
                time < span.from || (time > late && span.to < timeline.end) || window.chunk != chunk
            })
        })
    }

    /// The number of a link in timelines; `None` for a cut link.
    pub fn link_in_timeline(&self, link: u32) -> Option<u32> {
        self.whole.binary_search(&link).ok().map(|place| place as u32)
    }

    /// The number of a node in timelines; `None` for a dead node.
    pub fn node_in_timeline(&self, node: u32) -> Option<usize> {
        self.alive.binary_search(&node).ok()
    }

    /// The name of the node with this number in timelines.
    pub fn name(&self, node: u32) -> String {
        self.network.topology.label(self.alive.get(node as usize).copied().unwrap_or(node))
    }

    /// Describes the state of a schedule at an instant, for screen readers.
    pub fn description(&self, index: usize, windows: &PreparedWindows, time_ns: f64) -> String {
        let (Some((all, prepared)), Some((timeline, window))) = (self.prepared(index), self.window(index, windows))
        else {
            return self.network.topology.name.clone();
        };
        let time = ticks(timeline, time_ns);
        let busy = (0..timeline.links.len() as u32).filter(|link| timeline.transfer_at(*link, time).is_some()).count();
        let (there, of) = match all.summary() {
            Some(summary) => {
                let there = (0..window.arrived.len()).map(|node| u64::from(window.arrived_by(node, time))).sum();
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

/// The average duration of a transfer, in ns.
fn step_ns(timeline: &Timeline) -> f64 {
    let all =
        (0..).zip(&timeline.durations).map(|(link, takes)| f64::from(timeline.chunks_carried(link)) * *takes as f64);
    all.sum::<f64>() / (timeline.transfer_count() as f64).max(1.0) / timeline.ticks_per_ns.max(1) as f64
}

/// Converts an instant in ns to ticks of the timeline.
pub fn ticks(timeline: &Timeline, time_ns: f64) -> u64 {
    (time_ns * timeline.ticks_per_ns as f64 + 0.5) as u64
}
