//! Colours, shapes and dash patterns.
//!
//! The hues are those of Okabe and Ito (2008), which stay apart for the colour-blind; their lightness is adapted to
//! the paper so that each has a contrast of at least 3:1 to it (WCAG 1.4.11), and text 4.5:1. A series differs from
//! the others in shape and dash pattern too.

use std::cmp::Ordering;

use plotters::style::RGBColor;

use super::{Colour, Theme};

/// The fixed colours of a theme.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inks {
    pub paper: RGBColor,
    /// Text, unless it is muted.
    pub ink: RGBColor,
    /// Tick labels and axis titles.
    pub muted: RGBColor,
    pub axis: RGBColor,
    pub grid: RGBColor,
    pub fine_grid: RGBColor,
    answer: RGBColor,
    default: RGBColor,
    context: RGBColor,
    hues: [RGBColor; 6],
    /// Text on a series' colour, or on the middle of the scale.
    on_hue: RGBColor,
    /// The colour scale of values, from low to high: equal steps of lightness in Oklch, from the background towards
    /// the text colour, with hues from yellow to blue, which colour-blind people can distinguish.
    steps: [RGBColor; STEPS],
    /// The opacity of a band, from 0 to 1.
    pub band: f64,
}

/// The number of colours of the scale of values, which is small enough for them to be distinguished. Each has its
/// text colour and its counterpart in the dark theme.
pub(super) const STEPS: usize = 9;

const fn rgb(hex: u32) -> RGBColor {
    RGBColor((hex >> 16) as u8, (hex >> 8) as u8, hex as u8)
}

const LIGHT: Inks = Inks {
    paper: rgb(0xFF_FF_FF),
    ink: rgb(0x14_17_1B),
    muted: rgb(0x52_5B_66),
    axis: rgb(0x8A_92_9B),
    grid: rgb(0xE3_E6_E9),
    fine_grid: rgb(0xF2_F3_F5),
    answer: rgb(0x00_72_B2),
    default: rgb(0x2B_30_36),
    context: rgb(0x7E_86_8F),
    hues: [rgb(0xD5_5E_00), rgb(0x00_95_6C), rgb(0xB4_57_8F), rgb(0xB0_78_00), rgb(0x2E_8F_C7), rgb(0x85_7A_00)],
    on_hue: rgb(0x00_00_00),
    steps: [
        rgb(0xF7_F5_CF),
        rgb(0xCA_E0_AB),
        rgb(0x92_CD_99),
        rgb(0x4F_B7_95),
        rgb(0x01_9C_96),
        rgb(0x06_7D_8E),
        rgb(0x03_5F_82),
        rgb(0x00_40_7D),
        rgb(0x1E_21_60),
    ],
    band: 0.14,
};

const DARK: Inks = Inks {
    paper: rgb(0x17_1B_21),
    ink: rgb(0xE8_EB_EF),
    muted: rgb(0xA3_AD_B9),
    axis: rgb(0x77_81_8D),
    grid: rgb(0x2C_32_3A),
    fine_grid: rgb(0x20_25_2C),
    answer: rgb(0x4D_A9_E6),
    default: rgb(0xD6_DA_DE),
    context: rgb(0x7B_84_8E),
    hues: [rgb(0xF0_80_3C), rgb(0x2D_BE_92), rgb(0xD9_8B_B8), rgb(0xE6_9F_00), rgb(0x8F_CB_F0), rgb(0xD9_CF_45)],
    on_hue: rgb(0x00_00_00),
    steps: [
        rgb(0x1B_1F_51),
        rgb(0x08_3B_6F),
        rgb(0x01_58_79),
        rgb(0x07_75_84),
        rgb(0x08_92_8D),
        rgb(0x38_AF_8B),
        rgb(0x7F_C5_88),
        rgb(0xBA_D8_8E),
        rgb(0xEF_EA_A4),
    ],
    band: 0.20,
};

/// The colours of a theme.
pub(super) fn inks(theme: Theme) -> &'static Inks {
    match theme {
        Theme::Light => &LIGHT,
        Theme::Dark => &DARK,
    }
}

/// A colour by its purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// The background of the whole chart.
    Paper,
    /// Text that is read first: titles and labels.
    Text,
    /// Text of less importance, such as numbers of ticks.
    Muted,
    /// Lines that carry meaning, such as axes.
    Axis,
    /// Lines in the background, such as gridlines.
    Grid,
    /// A series, by its colour in the chart.
    Of(Colour),
    /// The step with this index of the scale of values, from low to high.
    Step(usize),
}

/// The number of steps of the scale of values.
pub const INK_STEPS: usize = STEPS;

/// An ink as a canvas and a style sheet take it: `#0072B2`.
pub fn css(theme: Theme, ink: Ink) -> String {
    let all = inks(theme);
    let RGBColor(r, g, b) = match ink {
        Ink::Paper => all.paper,
        Ink::Text => all.ink,
        Ink::Muted => all.muted,
        Ink::Axis => all.axis,
        Ink::Grid => all.grid,
        Ink::Of(colour) => all.colour(colour),
        Ink::Step(step) => all.step(step).0,
    };
    format!("#{r:02X}{g:02X}{b:02X}")
}

/// The colour of a step of the scale as bytes.
pub fn step_rgb(theme: Theme, step: usize) -> [u8; 3] {
    let (RGBColor(r, g, b), _) = inks(theme).step(step);
    [r, g, b]
}

/// Each colour of the light theme with its counterpart in the dark theme, as written in an SVG.
pub fn inks_in_the_dark() -> Vec<(String, String)> {
    let all = |inks: &Inks| {
        let fixed = [
            inks.paper,
            inks.ink,
            inks.muted,
            inks.axis,
            inks.grid,
            inks.fine_grid,
            inks.answer,
            inks.default,
            inks.context,
        ];
        let all = fixed.into_iter().chain(inks.hues).chain(inks.steps);
        all.map(|RGBColor(r, g, b)| format!("#{r:02X}{g:02X}{b:02X}")).collect::<Vec<_>>()
    };
    all(&LIGHT).into_iter().zip(all(&DARK)).collect()
}

impl Inks {
    pub fn colour(&self, colour: Colour) -> RGBColor {
        match colour {
            Colour::Palette(n) => self.hues[usize::from(n) % self.hues.len()],
            Colour::Answer => self.answer,
            Colour::Default => self.default,
            Colour::Muted => self.context,
        }
    }

    /// The colour of text on a series' colour.
    pub fn on(&self, colour: Colour) -> RGBColor {
        match colour {
            Colour::Answer | Colour::Default => self.paper,
            Colour::Palette(_) | Colour::Muted => self.on_hue,
        }
    }

    /// A colour of the scale of values, and of text on it. In both themes text is of the paper's side at the ends.
    pub fn step(&self, step: usize) -> (RGBColor, RGBColor) {
        let step = step.min(STEPS - 1);
        let text = match step.cmp(&(STEPS / 2)) {
            Ordering::Less => self.ink,
            Ordering::Equal => self.on_hue,
            Ordering::Greater => self.paper,
        };
        (self.steps[step], text)
    }
}

/// The outline of a dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
    Nabla,
    Plus,
    Cross,
}

impl Shape {
    /// Seven shapes over six hues: 42 series before both repeat.
    pub fn of(colour: Colour) -> Self {
        const SHAPES: [Shape; 7] =
            [Shape::Circle, Shape::Square, Shape::Triangle, Shape::Diamond, Shape::Nabla, Shape::Plus, Shape::Cross];
        match colour {
            Colour::Palette(n) => SHAPES[usize::from(n) % SHAPES.len()],
            Colour::Answer | Colour::Muted => Shape::Circle,
            Colour::Default => Shape::Diamond,
        }
    }

    /// The corners around the origin for a dot of a radius; none for the circle. All have about the circle's area.
    pub fn corners(self, radius: f64) -> Vec<(f64, f64)> {
        let arm = 0.36;
        let unit: &[(f64, f64)] = match self {
            Self::Circle => &[],
            Self::Square => &[(-0.89, -0.89), (0.89, -0.89), (0.89, 0.89), (-0.89, 0.89)],
            Self::Triangle => &[(0.0, -1.3), (1.2, 0.8), (-1.2, 0.8)],
            Self::Nabla => &[(0.0, 1.3), (1.2, -0.8), (-1.2, -0.8)],
            Self::Diamond => &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
            Self::Plus => &[
                (-arm, -1.3),
                (arm, -1.3),
                (arm, -arm),
                (1.3, -arm),
                (1.3, arm),
                (arm, arm),
                (arm, 1.3),
                (-arm, 1.3),
                (-arm, arm),
                (-1.3, arm),
                (-1.3, -arm),
                (-arm, -arm),
            ],
            Self::Cross => {
                let turned = |&(x, y): &(f64, f64)| {
                    let half = std::f64::consts::FRAC_1_SQRT_2;
                    ((x - y) * half, (x + y) * half)
                };
                return Self::Plus.corners(radius).iter().map(turned).collect();
            }
        };
        unit.iter().map(|(x, y)| (x * radius, y * radius)).collect()
    }
}

/// The lengths of dashes and gaps in turn, in CSS pixels; empty for a solid line.
pub(super) fn dashes(colour: Colour) -> &'static [f64] {
    const PATTERNS: [&[f64]; 5] = [&[], &[11.0, 3.0], &[2.5, 2.5], &[9.0, 3.0, 2.0, 3.0], &[5.0, 2.5]];
    match colour {
        Colour::Palette(n) => PATTERNS[usize::from(n) % PATTERNS.len()],
        Colour::Answer | Colour::Default | Colour::Muted => &[],
    }
}

pub(super) const DASHED: &[f64] = &[6.0, 4.0];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::pow;

    /// The relative luminance as WCAG 2.2 defines it, from 0 to 1.
    fn luminance(RGBColor(r, g, b): RGBColor) -> f64 {
        let linear = |channel: u8| {
            let share = f64::from(channel) / 255.0;
            if share <= 0.040_45 { share / 12.92 } else { pow((share + 0.055) / 1.055, 2.4) }
        };
        0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
    }

    fn contrast(a: RGBColor, b: RGBColor) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn every_series_stands_out_from_the_paper() {
        for theme in [Theme::Light, Theme::Dark] {
            let inks = inks(theme);
            let colours = (0..=255).map(Colour::Palette).chain([Colour::Answer, Colour::Default, Colour::Muted]);
            for colour in colours {
                assert!(contrast(inks.colour(colour), inks.paper) >= 3.0, "{theme:?} {colour:?}");
            }
            for text in [inks.ink, inks.muted] {
                assert!(contrast(text, inks.paper) >= 4.5, "{theme:?}");
            }
            assert!(contrast(inks.axis, inks.paper) >= 3.0, "{theme:?}");
        }
    }

    #[test]
    fn words_on_colours_can_be_read() {
        for theme in [Theme::Light, Theme::Dark] {
            let inks = inks(theme);
            for colour in (0..6).map(Colour::Palette).chain([Colour::Answer, Colour::Default, Colour::Muted]) {
                let found = contrast(inks.on(colour), inks.colour(colour));
                assert!(found >= 4.5, "{theme:?} {colour:?} {found}");
            }
            let steps: Vec<_> = (0..STEPS).map(|step| inks.step(step)).collect();
            for (step, (colour, text)) in steps.iter().enumerate() {
                assert!(contrast(*text, *colour) >= 4.5, "{theme:?} {step}");
            }
            let away = |colour| contrast(colour, inks.paper);
            assert!(steps.windows(2).all(|pair| away(pair[1].0) >= 1.2 * away(pair[0].0)), "{theme:?}");
        }
    }

    #[test]
    fn colour_is_never_the_only_cue() {
        let cue = |n| (Shape::of(Colour::Palette(n)) as u8, Colour::Palette(n));
        for n in 0..6 {
            for m in 0..n {
                assert_ne!(Shape::of(Colour::Palette(n)), Shape::of(Colour::Palette(m)), "{:?} {:?}", cue(n), cue(m));
            }
        }
        for n in 0..5 {
            for m in 0..n {
                assert_ne!(dashes(Colour::Palette(n)), dashes(Colour::Palette(m)));
            }
        }
    }
}
