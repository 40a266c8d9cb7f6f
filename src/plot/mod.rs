//! Charts as data ([`Chart`]) and one drawing of them over any plotters backend.

mod chart;

pub use chart::{Axis, Chart, Colour, Mark, Point, Quantity, Series, Spacing};
