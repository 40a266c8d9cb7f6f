//! The parameters of a drawing besides the chart itself.

use serde::{Deserialize, Serialize};

/// A light or dark theme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Theme {
    /// Dark text on a light background.
    #[default]
    Light,
    /// Light text on a dark background.
    Dark,
}

/// The indices that identify one point of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Pick {
    /// The series' index in [`Chart::series`](super::Chart::series), from 0.
    pub series: usize,
    /// The point's index in [`Series::points`](super::Series::points), from 0.
    pub point: usize,
}

/// The part of a chart that is shown: the values at the ends of each axis, or all of it for `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Zoom {
    /// The smallest and the largest value of the x axis.
    pub x: Option<(f64, f64)>,
    /// The same of the y axis. Without it, and with a part of the x axis, the y axis fits the points of that part.
    pub y: Option<(f64, f64)>,
}

impl Zoom {
    /// Whether all of the chart is shown.
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }
}

/// The style of a drawing: size, theme, and the viewer's selections.
///
/// Lengths are CSS pixels. Backends have integer coordinates, so they are given a finer grid than the device's: one
/// device pixel is `fineness` backend units, one CSS pixel `pixel_ratio × fineness`.
#[derive(Clone, Debug, PartialEq)]
pub struct Style {
    /// Width of the picture in CSS pixels.
    pub width: f64,
    /// Height of the picture in CSS pixels.
    pub height: f64,
    /// Device pixels per CSS pixel.
    pub pixel_ratio: f64,
    /// Backend units per device pixel: 1 for a bitmap, more where the backend can scale.
    pub fineness: u32,
    /// Light or dark, which decides all colours.
    pub theme: Theme,
    /// Title, legend and paper are part of the picture. The page has them beside it and turns this off.
    pub captions: bool,
    /// The names of the series that are not drawn.
    pub hidden: Vec<String>,
    /// The point that is marked with a ring and lines to the axes.
    pub highlight: Option<Pick>,
    /// The part of the chart that is shown.
    pub zoom: Zoom,
}

impl Default for Style {
    /// A light picture of 720 × 420 CSS pixels, with captions.
    fn default() -> Self {
        Self {
            width: 720.0,
            height: 420.0,
            pixel_ratio: 1.0,
            fineness: 8,
            theme: Theme::Light,
            captions: true,
            hidden: Vec::new(),
            highlight: None,
            zoom: Zoom::default(),
        }
    }
}

impl Style {
    /// The largest side of a picture in CSS pixels; larger wishes are cut to it.
    pub const LARGEST: f64 = 16_384.0;

    /// Backend units per CSS pixel.
    pub fn units_per_pixel(&self) -> f64 {
        let ratio = if self.pixel_ratio.is_finite() { self.pixel_ratio.clamp(0.25, 16.0) } else { 1.0 };
        ratio * f64::from(self.fineness.clamp(1, 16))
    }

    /// Width and height in CSS pixels, cut to what can be drawn.
    pub fn size(&self) -> (f64, f64) {
        let side = |length: f64| if length.is_finite() { length.clamp(1.0, Self::LARGEST) } else { 1.0 };
        (side(self.width), side(self.height))
    }

    /// Width and height in backend units: the size that the backend should have.
    pub fn size_in_units(&self) -> (u32, u32) {
        let (width, height) = self.size();
        let units = |length: f64| (length * self.units_per_pixel()).round() as u32;
        (units(width), units(height))
    }
}
