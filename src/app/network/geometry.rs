//! Where nodes and links are on a sheet.

use crate::{
    app::chart::CanvasSize,
    math,
    order::CompactSort,
    topology::form::edit::EditTarget,
    topology::{layout::shape, model::Topology, network::Network, shape::Shape},
};
use std::f64::consts::PI;

/// A link as a quadratic Bézier curve between the rims of two nodes.
#[derive(Clone, Copy)]
pub struct Curve {
    pub from: (f64, f64),
    pub bend: (f64, f64),
    pub to: (f64, f64),
}

/// The positions of nodes and links in CSS pixels.
pub struct Geometry {
    pub nodes: Vec<(f64, f64)>,
    /// The curves of all links, by index in the topology.
    pub curves: Vec<Curve>,
    /// The radius of a node.
    pub radius: f64,
    /// Whether there is room for the names of nodes.
    pub has_labels: bool,
    /// For each link whether it has no opposite.
    pub is_single: Vec<bool>,
}

fn between(a: (f64, f64), b: (f64, f64), share: f64) -> (f64, f64) {
    (a.0 + (b.0 - a.0) * share, a.1 + (b.1 - a.1) * share)
}

fn distance(a: (f64, f64), b: (f64, f64)) -> f64 {
    ((a.0 - b.0) * (a.0 - b.0) + (a.1 - b.1) * (a.1 - b.1)).sqrt()
}

impl Curve {
    /// The point at a share of the curve, in 0..=1.
    pub fn at(&self, share: f64) -> (f64, f64) {
        between(between(self.from, self.bend, share), between(self.bend, self.to, share), share)
    }

    /// The part of the curve between two shares.
    fn part(&self, start: f64, end: f64) -> Self {
        // De Casteljau's algorithm, twice.
        let half = Self { from: self.at(start), bend: between(self.bend, self.to, start), to: self.to };
        let end = (end - start) / (1.0 - start).max(1e-9);
        Self { from: half.from, bend: between(half.from, half.bend, end), to: half.at(end) }
    }
}

impl Geometry {
    /// Height over width of the layout, within sensible limits.
    pub fn aspect(network: &Network) -> f64 {
        let range = |of: fn(&crate::topology::layout::Place) -> f32| {
            let ends = network.places.iter().map(of).fold((1.0_f32, 0.0_f32), |(a, b), at| (a.min(at), b.max(at)));
            f64::from((ends.1 - ends.0).max(0.0))
        };
        let (across, down) = (range(|place| place.x), range(|place| place.y));
        if across > 0.0 { (down / across).clamp(0.25, 1.0) } else { 1.0 }
    }

    /// Lays out a network on a sheet.
    pub fn new(network: &Network, canvas_size: &CanvasSize) -> Self {
        /// The margin that lines and dots need beside the middle of a curve.
        const EDGE: f64 = 6.0;
        let (width, height) = (canvas_size.width(), canvas_size.height());
        let margin = 26.0_f64.min(width / 12.0);
        // The positions are in a unit square; scale them equally in both directions and centre them.
        let scale = (width - 2.0 * margin).max(1.0);
        let fits = (height - 2.0 * margin).max(1.0) / Self::aspect(network).max(1e-9);
        let (scale, centre) = (scale.min(fits), (width / 2.0, height / 2.0));
        let laid = Self::around(network, scale, centre);
        // If curves extend beyond the sheet, scale and move everything.
        let across = laid.extent(|at| at.0);
        let down = laid.extent(|at| at.1);
        let is_within = |(least, most): (f64, f64), length: f64| least >= EDGE && most <= length - EDGE;
        if is_within(across, width) && is_within(down, height) {
            return laid;
        }
        let share = |(least, most): (f64, f64), length: f64| (length - 2.0 * EDGE).max(1.0) / (most - least).max(1.0);
        let share = share(across, width).min(share(down, height)).min(1.0);
        let moved = |centre: f64, (least, most): (f64, f64)| centre + (centre - f64::midpoint(least, most)) * share;
        Self::around(network, scale * share, (moved(centre.0, across), moved(centre.1, down)))
    }

    /// The range that nodes and curves cover in one direction.
    fn extent(&self, of: fn(&(f64, f64)) -> f64) -> (f64, f64) {
        let nodes = self.nodes.iter().flat_map(|at| [of(at) - self.radius, of(at) + self.radius]);
        let curves = self.curves.iter().flat_map(|curve| [0.25, 0.5, 0.75].map(|share| of(&curve.at(share))));
        nodes.chain(curves).fold((f64::MAX, f64::MIN), |(least, most), at| (least.min(at), most.max(at)))
    }

    /// Lays out a network in a square of side `scale` around a point.
    fn around(network: &Network, scale: f64, centre: (f64, f64)) -> Self {
        let count = network.places.len().max(1) as f64;
        let place = |place: &crate::topology::layout::Place| {
            (centre.0 + (f64::from(place.x) - 0.5) * scale, centre.1 + (f64::from(place.y) - 0.5) * scale)
        };
        let nodes: Vec<(f64, f64)> = network.places.iter().map(place).collect();
        let links = &network.topology.links;
        let nearest = links
            .iter()
            .filter_map(|link| Some(distance(*nodes.get(link.from as usize)?, *nodes.get(link.to as usize)?)))
            .fold(scale, f64::min);
        let radius = (nearest * 0.3).min(scale / count.sqrt() * 0.3).clamp(1.5, 17.0);
        let mut ends: Vec<(u32, u32)> = links.iter().map(|link| (link.from, link.to)).collect();
        ends.compact_sort();
        let is_single: Vec<bool> =
            links.iter().map(|link| ends.binary_search(&(link.to, link.from)).is_err()).collect();
        let wraps = matches!(shape(&network.topology), Some(Shape::Grid { wraps: true, .. }));
        let curve = |(link, is_single): (&crate::topology::model::Link, &bool)| {
            let at = |node: u32| nodes.get(node as usize).copied().unwrap_or_default();
            let (from, to) = (at(link.from), at(link.to));
            let length = distance(from, to).max(1e-6);
            let middle = between(from, to, 0.5);
            if wraps && length > 2.5 * nearest {
                // Above its row or left of its column, which are bent the other way; the two directions beside each
                // other.
                let aside = nearest * if link.from < link.to { 0.2 } else { 0.32 };
                let (x, y) = if (to.0 - from.0).abs() > (to.1 - from.1).abs() { (0.0, -1.0) } else { (-1.0, 0.0) };
                let bend = (middle.0 + 2.0 * aside * x, middle.1 + 2.0 * aside * y);
                let rim = (radius + 1.0) / length;
                return Curve { from, bend, to }.part(rim, 1.0 - rim);
            }
            let aside =
                if *is_single { 0.0 } else { (0.09 * length).max(2.0 + radius * 0.25).min(0.09 * length + 8.0) };
            let (across, down) = ((to.1 - from.1) / length, (from.0 - to.0) / length);
            let whole = Curve { from, bend: (middle.0 + 2.0 * aside * across, middle.1 + 2.0 * aside * down), to };
            let rim = (radius + 1.0) / length;
            if rim < 0.45 { whole.part(rim, 1.0 - rim) } else { whole }
        };
        let curves = links.iter().zip(&is_single).map(curve).collect();
        Self { nodes, curves, radius, has_labels: radius >= 5.5, is_single }
    }

    /// The node or the link of the topology that is at a point.
    pub fn pick(&self, topology: &Topology, at: (f64, f64)) -> Option<EditTarget> {
        const NEAR: f64 = 8.0;
        let node = self.nodes.iter().position(|node| distance(*node, at) <= self.radius + 2.0);
        node.map(|node| EditTarget::Node(node as u32)).or_else(|| {
            let away = |curve: &Curve| {
                (0..=16).map(|step| distance(curve.at(f64::from(step) / 16.0), at)).fold(f64::MAX, f64::min)
            };
            let mut best = (NEAR, None);
            for (link, curve) in topology.links.iter().zip(&self.curves) {
                let reach = distance(curve.from, curve.to) / 32.0;
                let away = (away(curve) - reach).max(0.0);
                if away < best.0 {
                    best = (away, Some(EditTarget::Link(link.from, link.to)));
                }
            }
            best.1
        })
    }

    /// The two wings of the arrow head at the end of a link.
    pub fn arrow(&self, link: usize, size: f64) -> [(f64, f64); 2] {
        let Curve { bend, to, .. } = self.curves[link];
        let length = distance(bend, to).max(1e-6);
        let (x, y) = ((to.0 - bend.0) / length, (to.1 - bend.1) / length);
        [PI / 7.0, -PI / 7.0].map(|turn| {
            let (sin, cos) = (math::sin(turn), math::cos(turn));
            (to.0 - size * (x * cos - y * sin), to.1 - size * (x * sin + y * cos))
        })
    }
}
