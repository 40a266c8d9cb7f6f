//! Charts as data ([`Chart`]) and one drawing of them over any plotters backend.

mod chart;
mod layout;
mod style;
mod table;

pub use chart::{Axis, Chart, Colour, Mark, Point, Quantity, Series, Spacing};
pub use layout::{DrawnSeries, Layout, Place, Rect, Walk};
pub use style::{Pick, Style, Theme};
pub use table::{Reading, Table, reading, table, value_text};
