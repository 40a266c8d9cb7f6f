//! Where nodes are drawn, by the shape of their topology.

use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};

use super::{model::Topology, shape::Shape};
use crate::{math, order::CompactSort};

/// A position in the unit square, y downwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// Horizontal position, from 0 to 1.
    pub x: f32,
    /// Vertical position downwards, from 0 to 1.
    pub y: f32,
}

/// The form in which a topology was generated, or that is recognised by its links.
pub fn shape(topology: &Topology) -> Option<Shape> {
    topology.shape.clone().or_else(|| recognise(topology))
}

/// Where each node is drawn, in the order of nodes: by the topology's shape, otherwise on a circle.
pub fn places(topology: &Topology) -> Vec<Place> {
    let mut places = match shape(topology) {
        Some(shape) => of_shape(&shape, topology.nodes),
        None => circle(&(0..topology.nodes).collect::<Vec<_>>(), topology.nodes),
    };
    places.resize(topology.nodes as usize, Place::default());
    fit(&mut places);
    places
}

fn circle(order: &[u32], nodes: u32) -> Vec<Place> {
    let mut places = vec![Place::default(); nodes as usize];
    for (index, node) in order.iter().enumerate() {
        let angle = TAU * index as f64 / order.len() as f64;
        if let Some(place) = places.get_mut(*node as usize) {
            *place = Place { x: math::sin(angle) as f32, y: -math::cos(angle) as f32 };
        }
    }
    places
}

fn of_shape(shape: &Shape, nodes: u32) -> Vec<Place> {
    match shape {
        Shape::Ring(order) => circle(order, nodes),
        Shape::Line(order) => {
            let mut places = vec![Place::default(); nodes as usize];
            for (index, node) in order.iter().enumerate() {
                if let Some(place) = places.get_mut(*node as usize) {
                    place.x = index as f32;
                }
            }
            places
        }
        Shape::Grid { dimensions, wraps } => (0..nodes).map(|node| on_grid(dimensions, *wraps, node)).collect(),
        Shape::Hypercube(dimensions) => {
            // Each further pair of dimensions moves a node less, along rotated axes, so that no two nodes coincide.
            let step = |bit: u32| match bit {
                0 => (1.0, 0.0),
                1 => (0.0, 1.0),
                _ => {
                    let size = 0.42 / f64::from(1 << ((bit - 2) / 2));
                    if bit.is_multiple_of(2) { (size, -size * 0.7) } else { (size * 0.35, size * 1.1) }
                }
            };
            let place = |node: u32| {
                let bits = (0..*dimensions).filter(|bit| node >> bit & 1 == 1).map(step);
                let (x, y) = bits.fold((0.0, 0.0), |(x, y), (dx, dy)| (x + dx, y + dy));
                Place { x: x as f32, y: y as f32 }
            };
            (0..nodes).map(place).collect()
        }
        Shape::Groups(groups) => {
            let mut places = vec![Place::default(); nodes as usize];
            let columns = (1..=groups.len()).find(|columns| columns * columns >= groups.len()).unwrap_or(1);
            for (index, group) in groups.iter().enumerate() {
                let own = circle(group, nodes);
                let (x, y) = ((index % columns) as f32, (index / columns) as f32);
                for node in group {
                    if let Some(place) = places.get_mut(*node as usize) {
                        let of = own[*node as usize];
                        *place = Place { x: of.x + 3.0 * x, y: of.y + 3.0 * y };
                    }
                }
            }
            places
        }
    }
}

/// The position on a grid: the last dimension goes right, the one before down, and each further pair moves by whole
/// grids. A torus is drawn slightly bent, so that its wrapping links are visible beside the others.
fn on_grid(dimensions: &[u32], wraps: bool, node: u32) -> Place {
    let (mut rest, mut along) = (node, Vec::new());
    for size in dimensions.iter().rev() {
        along.push((rest % size.max(&1), *size));
        rest /= size.max(&1);
    }
    let (mut steps, mut at) = ([1.0_f64, 1.0], [0.0_f64, 0.0]);
    for (index, (place, size)) in along.iter().enumerate() {
        let axis = index % 2;
        at[axis] += f64::from(*place) * steps[axis];
        steps[axis] *= f64::from(*size) + 1.0;
    }
    if wraps && let [(column, columns), (row, rows), ..] = along[..] {
        let bend = |place: u32, size: u32| {
            0.35 * math::sin(std::f64::consts::PI * f64::from(place) / f64::from(size.max(2) - 1))
        };
        at = [at[0] + bend(row, rows), at[1] + bend(column, columns)];
    }
    Place { x: at[0] as f32, y: at[1] as f32 }
}

/// Scales positions into the unit square, equally in both directions.
fn fit(places: &mut [Place]) {
    let range = |of: &dyn Fn(&Place) -> f32| {
        places.iter().map(of).fold((f32::MAX, f32::MIN), |(low, high), value| (low.min(value), high.max(value)))
    };
    let (left, right) = range(&|place| place.x);
    let (top, bottom) = range(&|place| place.y);
    let size = (right - left).max(bottom - top);
    let scale = if size > 0.0 { 1.0 / size } else { 0.0 };
    let (dx, dy) = ((1.0 - (right - left) * scale) / 2.0, (1.0 - (bottom - top) * scale) / 2.0);
    for place in places {
        *place = Place { x: (place.x - left) * scale + dx, y: (place.y - top) * scale + dy };
    }
}

/// Recognises a form by the links: rings, lines, grids, tori and hypercubes whose nodes are numbered in order, and
/// groups of nodes with faster links inside than between them.
pub fn recognise(topology: &Topology) -> Option<Shape> {
    let nodes = topology.nodes as usize;
    if nodes < 2 {
        return None;
    }
    let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); nodes];
    for link in &topology.links {
        let (from, to) = (link.from as usize, link.to as usize);
        if from < nodes && to < nodes {
            neighbours[from].push(link.to);
            neighbours[to].push(link.from);
        }
    }
    neighbours.iter_mut().for_each(|near| {
        near.compact_sort();
        near.dedup();
    });
    if let Some(shape) = chain(&neighbours) {
        return Some(shape);
    }
    let is_same = |near: &dyn Fn(u32) -> Vec<u32>| (0..nodes).all(|node| near(node as u32) == neighbours[node]);
    if nodes.is_power_of_two() {
        let dimensions = nodes.trailing_zeros();
        let near = |node: u32| {
            let mut near: Vec<u32> = (0..dimensions).map(|bit| node ^ (1 << bit)).collect();
            near.compact_sort();
            near
        };
        if dimensions > 2 && is_same(&near) {
            return Some(Shape::Hypercube(dimensions));
        }
    }
    for dimensions in factors(nodes as u32) {
        for wraps in [false, true] {
            if is_same(&|node| grid_neighbours(&dimensions, wraps, node)) {
                return Some(Shape::Grid { dimensions, wraps });
            }
        }
    }
    groups(topology)
}

/// Recognises a ring or a line, with the nodes numbered in any order.
fn chain(neighbours: &[Vec<u32>]) -> Option<Shape> {
    if neighbours.iter().any(|near| near.is_empty() || near.len() > 2) {
        return None;
    }
    let start = neighbours.iter().position(|near| near.len() == 1);
    let mut order = vec![start.unwrap_or(0) as u32];
    while let Some(next) = neighbours[order[order.len() - 1] as usize]
        .iter()
        .find(|next| !order[order.len().saturating_sub(2)..].contains(next) && **next != order[0])
    {
        order.push(*next);
        if order.len() > neighbours.len() {
            return None;
        }
    }
    (order.len() == neighbours.len()).then(|| if start.is_some() { Shape::Line(order) } else { Shape::Ring(order) })
}

/// The factorisations of a number into two, three or four factors of at least 2.
fn factors(nodes: u32) -> Vec<Vec<u32>> {
    let mut all = Vec::new();
    let mut open: Vec<(Vec<u32>, u32)> = vec![(Vec::new(), nodes)];
    while let Some((taken, rest)) = open.pop() {
        if rest == 1 && taken.len() > 1 {
            all.push(taken);
            continue;
        }
        if taken.len() < 4 {
            for factor in (2..=rest).filter(|factor| rest.is_multiple_of(*factor)) {
                let mut more = taken.clone();
                more.push(factor);
                open.push((more, rest / factor));
            }
        }
    }
    all.compact_sort_by_key(Vec::len);
    all
}

/// The neighbours of a node on a grid whose last dimension counts fastest, ascending.
pub(super) fn grid_neighbours(dimensions: &[u32], wraps: bool, node: u32) -> Vec<u32> {
    let mut near = Vec::new();
    let mut step = 1;
    for size in dimensions.iter().rev() {
        let at = node / step % size;
        if at + 1 < *size {
            near.push(node + step);
        } else if wraps && *size > 2 {
            near.push(node - at * step);
        }
        if at > 0 {
            near.push(node - step);
        } else if wraps && *size > 2 {
            near.push(node + (size - 1) * step);
        }
        step *= size;
    }
    near.compact_sort();
    near.dedup();
    near
}

/// The most groups that are drawn as groups.
const MOST_GROUPS: usize = 64;

/// The representative of a node's group (union-find with path compression).
fn lowest(leads: &mut [u32], node: u32) -> u32 {
    let mut at = node;
    while leads[at as usize] != at {
        leads[at as usize] = leads[leads[at as usize] as usize];
        at = leads[at as usize];
    }
    at
}

/// Recognises groups of at least three nodes whose links inside are faster than those between groups.
fn groups(topology: &Topology) -> Option<Shape> {
    let slowest = topology.links.iter().map(|link| link.bandwidth).fold(f64::INFINITY, f64::min);
    // Each node points to one of its group with a lower number, and the lowest to itself.
    let mut leads: Vec<u32> = (0..topology.nodes).collect();
    for link in topology.links.iter().filter(|link| link.bandwidth > slowest) {
        let (from, to) = (lowest(&mut leads, link.from), lowest(&mut leads, link.to));
        leads[from.max(to) as usize] = from.min(to);
    }
    let mut place = vec![usize::MAX; topology.nodes as usize];
    let mut groups: Vec<Vec<u32>> = Vec::new();
    for node in 0..topology.nodes {
        let first = lowest(&mut leads, node) as usize;
        if first == node as usize {
            if groups.len() == MOST_GROUPS {
                return None;
            }
            place[first] = groups.len();
            groups.push(Vec::new());
        }
        groups[place[first]].push(node);
    }
    (groups.len() > 1 && groups.iter().all(|group| group.len() > 2)).then_some(Shape::Groups(groups))
}
