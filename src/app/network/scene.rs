//! What is drawn, prepared once: when chunks arrive, when anything happens, which link is which.

use std::sync::Arc;

use crate::{
    order::Order,
    topology::{film::Film, listing, network::Network},
    units::count,
};

/// Steps of the curve of busy links.
pub const STEPS: usize = 240;

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
}

/// A schedule, prepared.
pub struct Act {
    /// When each chunk is whole at each node, as [`Film::ownership`] says.
    pub ownership: Vec<u64>,
    /// The cells of it in the order of arrival.
    pub order: Vec<u32>,
    /// When chunks arrive at each node of the topology, ascending; without those that are there from the beginning.
    pub arrivals: Vec<Vec<u64>>,
    /// When anything begins or ends, ascending.
    pub events: Vec<u64>,
    /// Transfers on the critical path.
    pub is_critical: Vec<bool>,
    /// Shares of busy links over time.
    pub busy: Vec<(f64, f64)>,
}

impl Act {
    fn new(film: &Film, alive: &[u32], nodes: u32) -> Self {
        let ownership = film.ownership();
        let mut order: Vec<u32> =
            (0..ownership.len() as u32).filter(|cell| ownership[*cell as usize] != u64::MAX).collect();
        order.order_by_key(|cell| ownership[*cell as usize]);
        let chunks = film.chunks.max(1) as usize;
        let mut arrivals = vec![Vec::new(); nodes as usize];
        let mut events = vec![0];
        for cell in &order {
            let at = ownership[*cell as usize];
            if at > 0 {
                let node = alive.get(*cell as usize / chunks).and_then(|node| arrivals.get_mut(*node as usize));
                node.into_iter().for_each(|arrivals: &mut Vec<u64>| arrivals.push(at));
            }
        }
        for link in 0..film.links.len() as u32 {
            events.extend(film.of_link(link).flat_map(|sent| [sent.start, sent.end]));
        }
        events.order_by_key(|at| *at);
        events.dedup();
        let mut is_critical = vec![false; film.len()];
        film.critical.iter().for_each(|index| is_critical[*index as usize] = true);
        Self { ownership, order, arrivals, events, is_critical, busy: film.utilisation(STEPS) }
    }
}

impl Scene {
    /// Prepares what is drawn.
    pub fn new(network: Arc<Network>) -> Self {
        let alive = network.alive();
        let acts = network.films.iter().map(|(_, film)| Act::new(film, &alive, network.topology.nodes)).collect();
        Self { whole: network.whole(), alive, acts, network }
    }

    /// A schedule with what was prepared of it.
    pub fn act(&self, index: usize) -> Option<(&Film, &Act)> {
        Some((&self.network.films.get(index)?.1, self.acts.get(index)?))
    }

    /// What films call a link of the topology; `None` of one that is cut.
    pub fn of_film(&self, link: u32) -> Option<u32> {
        self.whole.binary_search(&link).ok().map(|place| place as u32)
    }

    /// What films call a node of the topology; `None` of one that is dead.
    pub fn node_of_film(&self, node: usize) -> Option<usize> {
        self.alive.binary_search(&(node as u32)).ok()
    }

    /// What the node is called that films call by a number.
    pub fn name(&self, node: u32) -> String {
        self.network.topology.label(self.alive.get(node as usize).copied().unwrap_or(node))
    }

    /// When the last schedule is done, in ns.
    pub fn end_ns(&self) -> f64 {
        self.network.films.iter().map(|(_, film)| film.ns(film.end)).fold(0.0, f64::max)
    }

    /// What is to be seen of a schedule at an instant, in words.
    pub fn words(&self, index: usize, time_ns: f64) -> String {
        let Some((film, act)) = self.act(index) else { return self.network.topology.name.clone() };
        let time = ticks(film, time_ns);
        let busy = (0..film.links.len() as u32).filter(|link| film.carried(*link, time).is_some()).count();
        let arrived = act.order.partition_point(|cell| act.ownership[*cell as usize] <= time);
        format!(
            "{}, {}, at {} of {}: {busy} of {} busy, {arrived} of {} of chunk and node there",
            self.network.topology.name,
            self.network.films[index].0,
            listing::time(time_ns),
            listing::time(film.ns(film.end)),
            count(film.links.len() as u64, "link"),
            count(act.order.len() as u64, "pair"),
        )
    }
}

/// An instant as films count it.
pub fn ticks(film: &Film, time_ns: f64) -> u64 {
    (time_ns * film.ticks_per_ns as f64 + 0.5) as u64
}
