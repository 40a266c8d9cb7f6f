//! Generates topologies of known forms.

use super::{
    layout::grid_neighbours,
    model::{Link, Topology, Unit},
    shape::Shape,
};
use crate::{math::Stream, units::grouped};

/// The most nodes of a generated topology.
pub const MOST: u32 = 4096;
/// The most links of a generated topology, or of one joined from dumps.
pub const MOST_LINKS: u64 = 200_000;

/// The forms that a topology can be generated in.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A ring, with links in both directions or in one.
    Ring {
        /// The number of nodes on the ring.
        nodes: u32,
        /// Whether links go in one direction only.
        one_way: bool,
    },
    /// A line of this many nodes.
    Line(u32),
    /// A grid with these numbers of nodes along its dimensions.
    Mesh(Vec<u32>),
    /// A grid of these sizes that wraps in every dimension.
    Torus(Vec<u32>),
    /// A hypercube of this many dimensions.
    Hypercube(u32),
    /// A complete graph of this many nodes.
    Full(u32),
    /// NVIDIA's DGX-1 with V100: eight GPUs with links of 25 and 50 GiB/s and 700 ns.
    Dgx1v,
    /// A switch with this many nodes, unrolled into links: every node reaches every other, and divides its port among
    /// them.
    Switch(u32),
    /// A fat tree of two levels, unrolled into links. Between leaf switches a link has a share of the node's port, or
    /// of the leaf's uplink where that is less.
    FatTree {
        /// The number of leaf switches.
        leaves: u32,
        /// Number of nodes per leaf switch.
        nodes: u32,
        /// The oversubscription: the bandwidth of a leaf's ports over that of its uplink.
        over: u32,
    },
    /// Two complete graphs with some links between them.
    TwoGroups {
        /// The number of nodes in each of the two graphs.
        nodes: u32,
        /// Number of links between the two, each in both directions.
        between: u32,
    },
    /// A connected graph whose links are drawn at random.
    Random {
        /// The number of nodes in all.
        nodes: u32,
        /// The average number of links out of each node.
        degree: u32,
        /// The seed of the random links.
        seed: u64,
    },
}

/// A form with the rates of its links.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// The form of the graph, with its sizes.
    pub kind: Kind,
    /// Latency of each link, in ns.
    pub latency_ns: f64,
    /// Bandwidth of each link; for a switch, of each port.
    pub bandwidth: f64,
    /// Bandwidth of the slow links: those between groups, along all dimensions of a grid but the last, or some links of
    /// a random graph.
    pub slow_bandwidth: Option<f64>,
    /// Latency of the slow links, in ns.
    pub slow_latency_ns: Option<f64>,
    /// The unit of `bandwidth` and `slow_bandwidth`.
    pub unit: Unit,
}

/// Why a topology can't be generated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecipeError {
    /// The text does not name a form.
    #[error(
        "\"{0}\" is no topology: write ring:5, ring:5:one-way, line:5, mesh:4x4, torus:8x8, hypercube:4, full:8, dgx1v, \
         switch:8, fattree:4x8 or fattree:4x8:2, twogroups:4x2, or random:16:3:seed"
    )]
    Unknown(String),
    /// Too few or too many nodes.
    #[error("{0} nodes: between 2 and {MOST} can be made")]
    Size(u64),
    /// Returned when these nodes would have this many links, more than [`MOST_LINKS`].
    #[error(
        "{} nodes with {} links: at most {} links can be made; take fewer nodes, or a form with fewer links",
        grouped(*.0),
        grouped(*.1),
        grouped(MOST_LINKS)
    )]
    Links(u64, u64),
    /// Too many links between the two groups.
    #[error("{0} links between groups of {1} nodes: at least 1 and at most one for each node")]
    Between(u32, u32),
    /// No link, or more links from each node than there are other nodes.
    #[error("{0} links from each of {1} nodes: at least 1 and at most one to each other node")]
    Degree(u32, u32),
}

impl Kind {
    /// Parses the name of a form, such as `mesh:4x4`.
    ///
    /// # Errors
    /// Returns [`RecipeError::Unknown`] if the text does not name a form.
    pub fn parse(text: &str) -> Result<Self, RecipeError> {
        let unknown = || RecipeError::Unknown(crate::text::excerpt(text));
        let lower = text.trim().to_ascii_lowercase();
        let mut words = lower.split(':');
        let word: String = words.next().unwrap_or_default().chars().filter(char::is_ascii_alphanumeric).collect();
        let numbers: Vec<u32> = match words.next() {
            Some(sizes) => {
                sizes.split('x').map(|size| size.trim().parse().ok().ok_or_else(unknown)).collect::<Result<_, _>>()?
            }
            None => Vec::new(),
        };
        let more: Vec<&str> = words.collect();
        /// A grid of the allowed size can't have more dimensions.
        const MOST_DIMENSIONS: usize = 16;
        if numbers.len() > MOST_DIMENSIONS {
            return Err(unknown());
        }
        let kind = match (word.as_str(), &numbers[..], &more[..]) {
            ("ring", [nodes], []) => Self::Ring { nodes: *nodes, one_way: false },
            ("ring", [nodes], ["one-way" | "uni"]) => Self::Ring { nodes: *nodes, one_way: true },
            ("line", [nodes], []) => Self::Line(*nodes),
            ("mesh" | "grid", [_, ..], []) => Self::Mesh(numbers),
            ("torus", [_, ..], []) => Self::Torus(numbers),
            ("hypercube" | "cube", [dimensions], []) => Self::Hypercube(*dimensions),
            ("full" | "fc" | "fullyconnected", [nodes], []) => Self::Full(*nodes),
            ("dgx1v" | "dgx1", [], []) => Self::Dgx1v,
            ("switch", [nodes], []) => Self::Switch(*nodes),
            ("fattree", [leaves, nodes], more) => {
                let over = match more {
                    [] => 1,
                    [over] => over.parse().ok().filter(|over| (1..=1000).contains(over)).ok_or_else(unknown)?,
                    _ => return Err(unknown()),
                };
                Self::FatTree { leaves: *leaves, nodes: *nodes, over }
            }
            ("twogroups" | "twogroup", [nodes, between], []) => Self::TwoGroups { nodes: *nodes, between: *between },
            ("random", [nodes], [degree, seed]) => Self::Random {
                nodes: *nodes,
                degree: degree.parse().ok().ok_or_else(unknown)?,
                seed: seed.parse().ok().ok_or_else(unknown)?,
            },
            _ => return Err(unknown()),
        };
        kind.size()?;
        Ok(kind)
    }

    /// The number of nodes.
    ///
    /// # Errors
    /// Returns a [`RecipeError`] if there are too few nodes, or too many nodes or links.
    pub fn size(&self) -> Result<u32, RecipeError> {
        let product = |sizes: &[u32]| sizes.iter().fold(1_u64, |all, size| all.saturating_mul(u64::from(*size)));
        let nodes = match self {
            Self::Ring { nodes, .. } | Self::Line(nodes) | Self::Full(nodes) | Self::Switch(nodes) => u64::from(*nodes),
            Self::Mesh(sizes) | Self::Torus(sizes) => product(sizes),
            Self::Hypercube(dimensions) => 1_u64 << (*dimensions).min(63),
            Self::Dgx1v => 8,
            Self::FatTree { leaves, nodes, .. } => product(&[*leaves, *nodes]),
            Self::TwoGroups { nodes, between } => {
                if *between == 0 || between > nodes {
                    return Err(RecipeError::Between(*between, *nodes));
                }
                2 * u64::from(*nodes)
            }
            Self::Random { nodes, degree, .. } => {
                if *nodes > 1 && (*degree == 0 || degree >= nodes) {
                    return Err(RecipeError::Degree(*degree, *nodes));
                }
                u64::from(*nodes)
            }
        };
        if !(2..=u64::from(MOST)).contains(&nodes) {
            return Err(RecipeError::Size(nodes));
        }
        let links = self.links(nodes);
        if links > MOST_LINKS { Err(RecipeError::Links(nodes, links)) } else { Ok(nodes as u32) }
    }

    /// The most links that it can have.
    fn links(&self, nodes: u64) -> u64 {
        let full = |nodes: u64| nodes * (nodes - 1);
        match self {
            Self::Ring { .. } | Self::Line(_) => 2 * nodes,
            Self::Mesh(sizes) | Self::Torus(sizes) => 2 * nodes * sizes.iter().filter(|size| **size > 1).count() as u64,
            Self::Hypercube(dimensions) => nodes * u64::from(*dimensions),
            Self::Full(_) | Self::Switch(_) | Self::FatTree { .. } => full(nodes),
            Self::Dgx1v => 32,
            Self::TwoGroups { between, .. } => 2 * full(nodes / 2) + 2 * u64::from(*between),
            Self::Random { degree, .. } => nodes * u64::from(*degree),
        }
    }

    /// The name, as [`Kind::parse`] reads it.
    pub fn name(&self) -> String {
        let by = |sizes: &[u32]| sizes.iter().map(u32::to_string).collect::<Vec<_>>().join("x");
        match self {
            Self::Ring { nodes, one_way: false } => format!("ring:{nodes}"),
            Self::Ring { nodes, one_way: true } => format!("ring:{nodes}:one-way"),
            Self::Line(nodes) => format!("line:{nodes}"),
            Self::Mesh(sizes) => format!("mesh:{}", by(sizes)),
            Self::Torus(sizes) => format!("torus:{}", by(sizes)),
            Self::Hypercube(dimensions) => format!("hypercube:{dimensions}"),
            Self::Full(nodes) => format!("full:{nodes}"),
            Self::Dgx1v => "dgx1v".to_owned(),
            Self::Switch(nodes) => format!("switch:{nodes}"),
            Self::FatTree { leaves, nodes, over: 1 } => format!("fattree:{leaves}x{nodes}"),
            Self::FatTree { leaves, nodes, over } => format!("fattree:{leaves}x{nodes}:{over}"),
            Self::TwoGroups { nodes, between } => format!("twogroups:{nodes}x{between}"),
            Self::Random { nodes, degree, seed } => format!("random:{nodes}:{degree}:{seed}"),
        }
    }
}

impl Kind {
    /// Whether some links can be slower than others.
    pub fn has_slow_links(&self) -> bool {
        matches!(
            self,
            Self::Mesh(_) | Self::Torus(_) | Self::FatTree { .. } | Self::TwoGroups { .. } | Self::Random { .. }
        )
    }
}

/// A note about the contention in a switch that is unrolled into links: of these many out of each node.
pub(super) fn unrolled(switch: &str, links: u32, node: &str) -> String {
    format!(
        "The {switch} is unrolled: each of the {links} links out of {node} has an equal share of its port's bandwidth, or of \
         the receiver's where that is less, so no port carries more than it can; what sends to few nodes at once could be \
         faster through the switch"
    )
}

/// Among how many links a fat tree divides a port, or what a leaf has upwards, between nodes of different leaves. The
/// nodes of a leaf divide its uplink among all nodes of the other leaves.
fn share_above(leaves: u32, nodes: u32, over: u32) -> u32 {
    (over * (leaves * nodes - nodes)).max(leaves * nodes - 1)
}

impl Recipe {
    /// A form with the default rates: 500 ns and 50 GiB/s, and for the slow links of two groups 1,000 ns and 5 GiB/s.
    pub fn new(kind: Kind) -> Self {
        let between = matches!(kind, Kind::TwoGroups { .. });
        Self {
            kind,
            latency_ns: 500.0,
            bandwidth: 50.0,
            slow_bandwidth: between.then_some(5.0),
            slow_latency_ns: between.then_some(1000.0),
            unit: Unit::Gib,
        }
    }

    /// A note about contention in a form whose switches are unrolled into links: what the links share.
    pub fn contention(&self) -> Option<String> {
        match self.kind {
            Kind::Switch(nodes) => Some(unrolled("switch", nodes - 1, "a node")),
            Kind::FatTree { leaves, nodes, over } => {
                let (links, others) = (leaves * nodes - 1, leaves * nodes - nodes);
                let share = share_above(leaves, nodes, over);
                let of_slow = if self.has_slower_links() { "the slow bandwidth" } else { "a port" };
                let above = if share > links {
                    format!(
                        "between leaves each pair of nodes has 1/{share} of {of_slow}, as a leaf has {over} times less bandwidth \
                         upwards than to its nodes, and all {others} nodes of other leaves share it"
                    )
                } else if self.has_slower_links() {
                    format!("between leaves each pair of nodes has 1/{share} of {of_slow}")
                } else {
                    "leaves have as much bandwidth upwards as to their nodes, so that nothing contends above".to_owned()
                };
                let within = if self.has_slower_links() {
                    format!("each of the {} links out of a node within its leaf has 1/{links}", nodes - 1)
                } else {
                    format!("each of the {links} links out of a node has an equal share")
                };
                Some(format!(
                    "The switches are unrolled: {within} of its port's bandwidth; {above}; what sends to few nodes at once could \
                     be faster through the switches"
                ))
            }
            _ => None,
        }
    }

    /// Whether links that can be slower have another bandwidth than the others.
    fn has_slower_links(&self) -> bool {
        self.slow_bandwidth.is_some_and(|slow| slow != self.bandwidth)
    }

    /// Generates the topology.
    ///
    /// # Errors
    /// Returns a [`RecipeError`] if there are too few nodes, or too many nodes or links.
    pub fn make(&self) -> Result<Topology, RecipeError> {
        let nodes = self.kind.size()?;
        let mut maker = Maker { recipe: self, links: Vec::new() };
        let all: Vec<u32> = (0..nodes).collect();
        let shape = match &self.kind {
            Kind::Ring { one_way, .. } => {
                for node in 0..nodes {
                    let next = (node + 1) % nodes;
                    maker.fast(node, next);
                    if !one_way && nodes > 2 {
                        maker.fast(next, node);
                    }
                }
                Some(Shape::Ring(all))
            }
            Kind::Line(_) => {
                (1..nodes).for_each(|node| maker.pair(node - 1, node, false));
                Some(Shape::Line(all))
            }
            Kind::Mesh(sizes) => Some(maker.grid(sizes, false, nodes)),
            Kind::Torus(sizes) => Some(maker.grid(sizes, true, nodes)),
            Kind::Hypercube(dimensions) => {
                for node in 0..nodes {
                    (0..*dimensions).for_each(|bit| maker.fast(node, node ^ (1 << bit)));
                }
                Some(Shape::Hypercube(*dimensions))
            }
            Kind::Full(_) => {
                maker.full(0..nodes, 1);
                None
            }
            Kind::Switch(_) => {
                maker.full(0..nodes, nodes - 1);
                None
            }
            Kind::Dgx1v => {
                maker.dgx1v();
                None
            }
            Kind::FatTree { leaves, nodes: below, over } => {
                let groups: Vec<Vec<u32>> =
                    (0..*leaves).map(|leaf| (leaf * below..(leaf + 1) * below).collect()).collect();
                for from in 0..nodes {
                    for to in (0..nodes).filter(|to| *to != from) {
                        let is_above = from / below != to / below;
                        let share = if is_above { share_above(*leaves, *below, *over) } else { nodes - 1 };
                        maker.shared(from, to, share, is_above);
                    }
                }
                Some(Shape::Groups(groups))
            }
            Kind::TwoGroups { nodes: each, between } => {
                maker.full(0..*each, 1);
                maker.full(*each..nodes, 1);
                for link in 0..*between {
                    // Spread the links evenly over the nodes of each group.
                    let at = if *between > 1 { link * (each - 1) / (between - 1) } else { 0 };
                    maker.pair(at, each + at, true);
                }
                Some(Shape::Groups(vec![(0..*each).collect(), (*each..nodes).collect()]))
            }
            Kind::Random { degree, seed, .. } => {
                maker.random(nodes, *degree, *seed);
                None
            }
        };
        let unit = self.unit;
        Ok(Topology { name: self.kind.name(), nodes, links: maker.links, unit, labels: Vec::new(), shape })
    }
}

struct Maker<'a> {
    recipe: &'a Recipe,
    links: Vec<Link>,
}

impl Maker<'_> {
    fn link(&mut self, from: u32, to: u32, share: u32, is_slow: bool) {
        let Recipe { latency_ns, bandwidth, slow_bandwidth, slow_latency_ns, .. } = *self.recipe;
        let (latency_ns, bandwidth) = if is_slow {
            (slow_latency_ns.unwrap_or(latency_ns), slow_bandwidth.unwrap_or(bandwidth))
        } else {
            (latency_ns, bandwidth)
        };
        self.links.push(Link { from, to, latency_ns, bandwidth: bandwidth / f64::from(share.max(1)) });
    }

    fn fast(&mut self, from: u32, to: u32) {
        self.link(from, to, 1, false);
    }

    fn shared(&mut self, from: u32, to: u32, share: u32, is_slow: bool) {
        self.link(from, to, share, is_slow);
    }

    fn pair(&mut self, a: u32, b: u32, is_slow: bool) {
        self.link(a, b, 1, is_slow);
        self.link(b, a, 1, is_slow);
    }

    fn full(&mut self, nodes: std::ops::Range<u32>, share: u32) {
        for from in nodes.clone() {
            nodes.clone().filter(|to| *to != from).for_each(|to| self.link(from, to, share, false));
        }
    }

    fn grid(&mut self, sizes: &[u32], wraps: bool, nodes: u32) -> Shape {
        let last = sizes.last().copied().unwrap_or(1);
        for from in 0..nodes {
            for to in grid_neighbours(sizes, wraps, from) {
                // Links along any dimension but the last are slow, where there are slow links.
                self.link(from, to, 1, from / last != to / last);
            }
        }
        Shape::Grid { dimensions: sizes.to_vec(), wraps }
    }

    fn dgx1v(&mut self) {
        // NVLinks of an NVIDIA DGX-1 with V100: one or two between two GPUs.
        const DOUBLE: [(u32, u32); 8] = [(0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (4, 7), (5, 6), (6, 7)];
        const SINGLE: [(u32, u32); 8] = [(0, 1), (0, 2), (1, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7)];
        for (pairs, bandwidth) in [(DOUBLE, 50.0), (SINGLE, 25.0)] {
            for (a, b) in pairs {
                for (from, to) in [(a, b), (b, a)] {
                    self.links.push(Link { from, to, latency_ns: 700.0, bandwidth });
                }
            }
        }
    }

    /// A ring through all nodes in random order, so that the graph is connected, with random links in addition.
    fn random(&mut self, nodes: u32, degree: u32, seed: u64) {
        let mut stream = Stream::new(seed);
        let mut order: Vec<u32> = (0..nodes).collect();
        stream.shuffle(&mut order);
        let mut known = vec![Vec::new(); nodes as usize];
        let mut ends = Vec::new();
        for (index, from) in order.iter().enumerate() {
            ends.push((*from, order[(index + 1) % order.len()]));
        }
        for from in 0..nodes {
            for _ in 1..degree {
                ends.push((from, stream.below(nodes as usize) as u32));
            }
        }
        for (from, to) in ends {
            if from != to && !known[from as usize].contains(&to) {
                known[from as usize].push(to);
                let is_slow = stream.unit() < 0.3;
                self.link(from, to, 1, is_slow);
            }
        }
    }
}
