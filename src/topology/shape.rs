//! The forms of topologies that determine where nodes are drawn.

use serde::{Deserialize, Serialize};

/// A form that determines the positions of nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Shape {
    /// A circle in the order of this list.
    Ring(Vec<u32>),
    /// A line in the order of this list.
    Line(Vec<u32>),
    /// A grid whose last dimension is horizontal; a torus if it wraps.
    Grid {
        /// The number of nodes along each dimension.
        dimensions: Vec<u32>,
        /// Whether the first and the last node of a dimension are neighbours.
        wraps: bool,
    },
    /// A hypercube of this many dimensions.
    Hypercube(u32),
    /// Groups, each drawn as a circle.
    Groups(Vec<Vec<u32>>),
}
