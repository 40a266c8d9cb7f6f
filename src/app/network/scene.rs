//! What is drawn, prepared once: when chunks arrive, when anything happens, which link is which.

use std::sync::{Arc, Weak};

use crate::{
    schedule::film::{Film, STEPS},
    topology::{listing, network::Network},
    units::count,
    workbench::topology::edit::EditTarget,
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
pub struct Scene {
    /// Links and schedules.
    pub network: Arc<Network>,
    /// The link of the topology that films call by each place.
    pub whole: Vec<u32>,
    /// The node of the topology that films call by each place.
    pub alive: Vec<u32>,
    /// Its schedules, prepared.
    pub acts: Vec<Act>,
    /// When the last schedule is done, in ns.
    pub end_ns: f64,
    /// How long a transfer takes on average, in ns.
    pub step_ns: f64,
}

/// Scenes are the same that were made of the same network.
impl PartialEq for Scene {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.network, &other.network)
    }
}

/// A schedule, prepared.
pub struct Act {
    /// Nodes down and chunks across of which it is told when they meet; every so many there is one.
    pub cells: (u32, u32),
    /// See [`Act::cells`].
    pub every: (u32, u32),
    /// When each of these chunks is whole at each of these nodes, as [`Film::ownership`] says.
    pub ownership: Vec<u64>,
    /// The cells of it in the order of arrival.
    pub order: Vec<u32>,
    /// Shares of busy links over time.
    pub busy: Vec<(f64, f64)>,
    /// How many transfers come to each node.
    pub due: Vec<u32>,
    /// What moves: all of it, or its beginning.
    pub reel: Reel,
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
pub struct Reels {
    of: Key,
    all: Vec<Option<Reel>>,
}

/// What moves in a span of time.
pub struct Reel {
    /// The film of the span; `None` where it is that of the network.
    pub film: Option<Film>,
    /// The chunk that was asked for besides.
    pub chunk: Option<u32>,
    /// Transfers that have arrived at each node before, and when more do, ascending.
    pub arrived: Vec<u32>,
    /// See [`Reel::arrived`].
    pub arrivals: Vec<Vec<u64>>,
    /// When anything begins or ends, ascending.
    pub events: Vec<u64>,
    /// Transfers on the critical path.
    pub is_critical: Vec<bool>,
}

impl Reel {
    /// What moves in a film.
    pub fn new(film: &Film) -> Self {
        let mut is_critical = vec![false; film.len()];
        film.critical.iter().for_each(|index| is_critical[*index as usize] = true);
        let (mut arrivals, mut events) = (film.arrivals(), film.events());
        let mut arrived = vec![0; arrivals.len()];
        if let Some(cut) = &film.cut {
            // A chunk that was asked for moves beyond the span as well.
            let is_inside = |at: &u64| (cut.from + 1..=cut.to).contains(at);
            arrivals.iter_mut().for_each(|arrivals| arrivals.retain(is_inside));
            events.retain(is_inside);
            arrived.clone_from(&cut.arrived);
        }
        Self { film: None, chunk: None, arrived, arrivals, events, is_critical }
    }

    fn with(self, film: Film) -> Self {
        Self { film: Some(film), ..self }
    }

    /// How many transfers have arrived at a node by an instant.
    pub fn there(&self, node: usize, time: u64) -> u32 {
        self.arrived[node] + self.arrivals[node].partition_point(|arrival| *arrival <= time) as u32
    }
}

impl Act {
    fn new(film: &Film) -> Self {
        let reel = Reel::new(film);
        let cells = |every: (u32, u32)| (film.nodes.div_ceil(every.0), film.chunks.div_ceil(every.1));
        let (every, ownership, busy) = match film.known() {
            Some(known) => (known.every, known.ownership.clone(), known.busy.clone()),
            None => ((1, 1), film.ownership(), film.utilisation(STEPS)),
        };
        let mut due = vec![0; film.nodes as usize];
        for (link, (_, to)) in (0..).zip(&film.links) {
            due[*to as usize] += film.carries(link);
        }
        Self { cells: cells(every), every, order: Film::in_order(&ownership), ownership, busy, due, reel }
    }
}

impl Scene {
    /// Prepares what is drawn.
    pub fn new(network: Arc<Network>) -> Self {
        let films = || network.films.iter().map(|(_, film)| film);
        Self {
            whole: network.whole(),
            alive: network.alive(),
            acts: films().map(Act::new).collect(),
            end_ns: films().map(|film| film.ns(film.end)).fold(0.0, f64::max),
            step_ns: films().next().map_or(0.0, step_ns),
            network,
        }
    }

    /// A schedule with what was prepared of it.
    pub fn act(&self, index: usize) -> Option<(&Film, &Act)> {
        Some((&self.network.films.get(index)?.1, self.acts.get(index)?))
    }

    /// What moves of a schedule, by what came last.
    pub fn moving<'a>(&'a self, index: usize, reels: &'a Reels) -> Option<(&'a Film, &'a Reel)> {
        let (film, act) = self.act(index)?;
        let newer = reels.all.get(index).filter(|_| reels.of == self.key()).and_then(Option::as_ref);
        Some(newer.and_then(|reel| Some((reel.film.as_ref()?, reel))).unwrap_or((film, &act.reel)))
    }

    /// Which network it is.
    pub fn key(&self) -> Key {
        Key(Arc::downgrade(&self.network))
    }

    /// What is picked, where the graph has it.
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

    /// Takes what continues films that are cut.
    pub fn continued(&self, cuts: Vec<Film>, chunk: Option<u32>) -> Reels {
        let reel = |((_, film), by): (&(String, Film), Film)| {
            film.cut.as_ref()?;
            let film = film.continued(by);
            Some(Reel { chunk, ..Reel::new(&film) }.with(film))
        };
        Reels { of: self.key(), all: self.network.films.iter().zip(cuts).map(reel).collect() }
    }

    /// From when on films have to be continued to show an instant and soon what follows, and the way of a chunk.
    pub fn lacks(&self, reels: &Reels, time_ns: f64, chunk: Option<u32>) -> bool {
        const SOON: f64 = 0.6;
        (0..self.acts.len()).filter_map(|index| self.moving(index, reels)).any(|(film, reel)| {
            film.cut.as_ref().is_some_and(|cut| {
                let time = ticks(film, time_ns).min(film.end);
                let late = cut.from + ((cut.to - cut.from) as f64 * SOON) as u64;
                time < cut.from || (time > late && cut.to < film.end) || reel.chunk != chunk
            })
        })
    }

    /// What films call a link of the topology; `None` of one that is cut.
    pub fn of_film(&self, link: u32) -> Option<u32> {
        self.whole.binary_search(&link).ok().map(|place| place as u32)
    }

    /// What films call a node of the topology; `None` of one that is dead.
    pub fn node_of_film(&self, node: u32) -> Option<usize> {
        self.alive.binary_search(&node).ok()
    }

    /// What the node is called that films call by a number.
    pub fn name(&self, node: u32) -> String {
        self.network.topology.label(self.alive.get(node as usize).copied().unwrap_or(node))
    }

    /// What is to be seen of a schedule at an instant, in words.
    pub fn words(&self, index: usize, reels: &Reels, time_ns: f64) -> String {
        let (Some((all, act)), Some((film, reel))) = (self.act(index), self.moving(index, reels)) else {
            return self.network.topology.name.clone();
        };
        let time = ticks(film, time_ns);
        let busy = (0..film.links.len() as u32).filter(|link| film.carried(*link, time).is_some()).count();
        let (there, of) = match all.known() {
            Some(known) => {
                let there = (0..reel.arrived.len()).map(|node| u64::from(reel.there(node, time))).sum();
                (there, count(known.transfers, "transfer"))
            }
            None => {
                let there = act.order.partition_point(|cell| act.ownership[*cell as usize] <= time);
                (there as u64, format!("{} of chunk and node", count(act.order.len() as u64, "pair")))
            }
        };
        format!(
            "{}, {}, at {} of {}: {busy} of {} busy, {there} of {of} there",
            self.network.topology.name,
            self.network.films[index].0,
            listing::time(time_ns),
            listing::time(film.ns(film.end)),
            count(film.links.len() as u64, "link"),
        )
    }
}

/// How long a transfer takes on average, in ns.
fn step_ns(film: &Film) -> f64 {
    let all = (0..).zip(&film.durations).map(|(link, takes)| f64::from(film.carries(link)) * *takes as f64);
    all.sum::<f64>() / (film.transfers() as f64).max(1.0) / film.ticks_per_ns.max(1) as f64
}

/// An instant as films count it.
pub fn ticks(film: &Film, time_ns: f64) -> u64 {
    (time_ns * film.ticks_per_ns as f64 + 0.5) as u64
}
