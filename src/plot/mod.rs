//! Charts as data ([`Chart`]) and one drawing of them over any plotters backend: the canvas of the page, SVG in
//! reports, exports and tests.
//!
//! [`draw()`] returns the [`Layout`], by which pointer and keyboard find the points. Text is measured by
//! a table of glyph widths, so a layout is the same wherever it is made.

mod areas;
mod chart;
mod draw;
mod layout;
mod legend;
mod marks;
mod measure;
mod palette;
mod paper;
mod scale;
mod style;
mod svg;
mod table;
mod ticks;

pub use chart::{Axis, Chart, Colour, FileLine, Mark, Point, Quantity, Series, Spacing, is_same_label};
pub use draw::{draw, draw_highlights, with_captions};
pub use layout::{DrawnSeries, Layout, PointPosition, Rect, Walk};
pub use legend::legend_text;
pub use palette::{INK_STEPS, Ink, css, inks_in_the_dark, step_rgb};
pub use paper::DrawError;
pub use style::{Pick, Style, Theme, Zoom};
pub use svg::{key_svg, svg};
pub use table::{ChartTable, PointReadout, beside, reading, table, value_text, zoom_text};
