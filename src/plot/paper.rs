//! A sheet in CSS pixels over plotters' drawing area in backend units.

use plotters::{
    coord::Shift,
    drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea},
    element::{Circle, PathElement, Polygon, Rectangle},
    style::{
        Color, FontFamily, FontStyle, RGBAColor, ShapeStyle, TextStyle,
        text_anchor::{HPos, Pos, VPos},
    },
};
use plotters_backend::DrawingBackend;

use super::{
    Rect, Style,
    measure::{Lettering, Measured, text_width},
};

/// An error of the drawing backend, with its message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DrawError(String);

/// A drawing area of any backend, so that the code above it is compiled only once.
trait Area {
    fn fill(&self, colour: RGBAColor) -> Result<(), DrawError>;
    fn path(&self, path: &PathElement<Unit>) -> Result<(), DrawError>;
    fn polygon(&self, polygon: &Polygon<Unit>) -> Result<(), DrawError>;
    fn circle(&self, circle: &Circle<Unit, i32>) -> Result<(), DrawError>;
    fn rectangle(&self, rectangle: &Rectangle<Unit>) -> Result<(), DrawError>;
    fn text(&self, text: &str, style: &TextStyle<'_>, place: Unit) -> Result<(), DrawError>;
    fn present(&self) -> Result<(), DrawError>;
}

/// A position in backend units.
type Unit = (i32, i32);

fn draw_error<E: std::error::Error + Send + Sync>(error: &DrawingAreaErrorKind<E>) -> DrawError {
    DrawError(error.to_string())
}

impl<B: DrawingBackend> Area for DrawingArea<Measured<B>, Shift> {
    fn fill(&self, colour: RGBAColor) -> Result<(), DrawError> {
        self.fill(&colour).map_err(|error| draw_error(&error))
    }

    fn path(&self, path: &PathElement<Unit>) -> Result<(), DrawError> {
        self.draw(path).map_err(|error| draw_error(&error))
    }

    fn polygon(&self, polygon: &Polygon<Unit>) -> Result<(), DrawError> {
        self.draw(polygon).map_err(|error| draw_error(&error))
    }

    fn circle(&self, circle: &Circle<Unit, i32>) -> Result<(), DrawError> {
        self.draw(circle).map_err(|error| draw_error(&error))
    }

    fn rectangle(&self, rectangle: &Rectangle<Unit>) -> Result<(), DrawError> {
        self.draw(rectangle).map_err(|error| draw_error(&error))
    }

    fn text(&self, text: &str, style: &TextStyle<'_>, place: Unit) -> Result<(), DrawError> {
        self.draw_text(text, style, place).map_err(|error| draw_error(&error))
    }

    fn present(&self) -> Result<(), DrawError> {
        self.present().map_err(|error| draw_error(&error))
    }
}

/// The font of the user interface on the reader's system.
pub(super) const FONTS: &str = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";

/// Size, weight, anchor and colour of a text.
#[derive(Clone, Copy)]
pub(super) struct Letters {
    pub size: f64,
    pub bold: bool,
    pub colour: RGBAColor,
    /// The end of the text that is at its position; the text is always centred vertically.
    pub anchor: HPos,
}

impl Letters {
    pub fn new(size: f64, colour: &impl Color) -> Self {
        Self { size, bold: false, colour: colour.to_rgba(), anchor: HPos::Left }
    }

    pub fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    pub fn anchored(self, anchor: HPos) -> Self {
        Self { anchor, ..self }
    }

    /// The width of a text in CSS pixels.
    pub fn width(&self, text: &str) -> f64 {
        text_width(text, self.size) * if self.bold { 1.1 } else { 1.0 }
    }
}

/// A sheet to draw on; all lengths and places are CSS pixels.
pub(super) struct Paper<'a> {
    area: Box<dyn Area + 'a>,
    units: f64,
    /// Backend units per device pixel.
    device: f64,
}

impl<'a> Paper<'a> {
    pub fn new<B: DrawingBackend + 'a>(backend: B, style: &Style, lettering: Lettering) -> Self {
        let area = Measured::new(backend, style.size_in_units(), lettering).into_drawing_area();
        Self { area: Box::new(area), units: style.units_per_pixel(), device: f64::from(style.fineness.clamp(1, 16)) }
    }

    fn point(&self, (x, y): (f64, f64)) -> (i32, i32) {
        ((x * self.units).round() as i32, (y * self.units).round() as i32)
    }

    fn points(&self, points: &[(f64, f64)]) -> Vec<(i32, i32)> {
        points.iter().map(|&point| self.point(point)).collect()
    }

    fn stroke(&self, colour: &impl Color, width: f64) -> ShapeStyle {
        let stroke_width = (width * self.units).round().max(1.0) as u32;
        ShapeStyle { color: colour.to_rgba(), filled: false, stroke_width }
    }

    /// Fills the whole area.
    pub fn fill(&self, colour: &impl Color) -> Result<(), DrawError> {
        self.area.fill(colour.to_rgba())
    }

    /// A crisp horizontal or vertical line about one CSS pixel wide, moved to whole device pixels.
    pub fn hairline(&self, from: (f64, f64), to: (f64, f64), colour: &impl Color) -> Result<(), DrawError> {
        let pixels = (self.units / self.device + 0.25).floor().max(1.0);
        let centre = if (pixels / 2.0).fract() == 0.5 { 0.5 } else { 0.0 };
        let snap = |length: f64| ((length * self.units / self.device).floor() + centre) * self.device;
        let snapped = |(x, y): (f64, f64)| (snap(x).round() as i32, snap(y).round() as i32);
        let width = (pixels * self.device).round() as u32;
        let style = ShapeStyle { color: colour.to_rgba(), filled: false, stroke_width: width };
        self.area.path(&PathElement::new(vec![snapped(from), snapped(to)], style))
    }

    /// A line through points, broken by a pattern of dash and gap lengths in turn.
    pub fn line(
        &self,
        points: &[(f64, f64)],
        colour: &impl Color,
        width: f64,
        pattern: &[f64],
    ) -> Result<(), DrawError> {
        let style = self.stroke(colour, width);
        for dash in dashed(points, pattern) {
            if dash.len() > 1 {
                self.area.path(&PathElement::new(self.points(&dash), style))?;
            }
        }
        Ok(())
    }

    /// A filled polygon.
    pub fn polygon(&self, corners: &[(f64, f64)], colour: &impl Color) -> Result<(), DrawError> {
        self.area.polygon(&Polygon::new(self.points(corners), colour.to_rgba()))
    }

    /// The nearest boundary between two device pixels, in CSS pixels.
    pub fn snapped(&self, length: f64) -> f64 {
        (length * self.units / self.device).round() * self.device / self.units
    }

    /// The size of a device pixel in CSS pixels.
    pub fn pixel(&self) -> f64 {
        self.device / self.units
    }

    /// A filled rectangle.
    pub fn rectangle(&self, area: &Rect, colour: &impl Color) -> Result<(), DrawError> {
        let corners = [self.point((area.left, area.top)), self.point((area.right, area.bottom))];
        self.area.rectangle(&Rectangle::new(corners, colour.to_rgba().filled()))
    }

    /// A filled disc.
    pub fn disc(&self, centre: (f64, f64), radius: f64, colour: &impl Color) -> Result<(), DrawError> {
        let radius = (radius * self.units).round() as i32;
        self.area.circle(&Circle::new(self.point(centre), radius, colour.to_rgba().filled()))
    }

    /// A circle.
    pub fn ring(&self, centre: (f64, f64), radius: f64, colour: &impl Color, width: f64) -> Result<(), DrawError> {
        let radius = (radius * self.units).round() as i32;
        self.area.circle(&Circle::new(self.point(centre), radius, self.stroke(colour, width)))
    }

    /// A line of text.
    pub fn text(&self, text: &str, place: (f64, f64), letters: Letters) -> Result<(), DrawError> {
        let weight = if letters.bold { FontStyle::Bold } else { FontStyle::Normal };
        let font = (FontFamily::Name(FONTS), letters.size * self.units, weight);
        let style = TextStyle::from(font).color(&letters.colour).pos(Pos::new(letters.anchor, VPos::Center));
        self.area.text(text, &style, self.point(place))
    }

    /// Completes the drawing and passes it to the backend.
    pub fn present(&self) -> Result<(), DrawError> {
        self.area.present()
    }
}

/// A path with more dashes than this is drawn solid: the eye sees no difference, the backend does.
const MOST_DASHES: f64 = 4000.0;

fn distance((x, y): (f64, f64), (to_x, to_y): (f64, f64)) -> f64 {
    ((to_x - x) * (to_x - x) + (to_y - y) * (to_y - y)).sqrt()
}

/// Cuts a path into its dashes; the path itself for an empty pattern.
fn dashed(points: &[(f64, f64)], pattern: &[f64]) -> Vec<Vec<(f64, f64)>> {
    let whole: f64 = points.windows(2).map(|pair| distance(pair[0], pair[1])).sum();
    let period: f64 = pattern.iter().sum();
    let solid = pattern.is_empty() || whole > period * MOST_DASHES;
    let (Some(&first), false) = (points.first(), solid) else { return vec![points.to_vec()] };
    let mut dashes = Vec::new();
    let mut dash = vec![first];
    let (mut step, mut left) = (0, pattern[0]);
    for pair in points.windows(2) {
        let ((x, y), (next_x, next_y)) = (pair[0], pair[1]);
        let length = distance(pair[0], pair[1]);
        let mut walked = 0.0;
        while length - walked > left {
            walked += left;
            let place = (x + (next_x - x) * walked / length, y + (next_y - y) * walked / length);
            dash.push(place);
            if step % 2 == 0 {
                dashes.push(std::mem::take(&mut dash));
            }
            dash = vec![place];
            step += 1;
            left = pattern[step % pattern.len()];
        }
        left -= length - walked;
        dash.push((next_x, next_y));
    }
    if step % 2 == 0 {
        dashes.push(dash);
    }
    dashes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_follow_the_path() {
        let path = [(0.0, 0.0), (6.0, 0.0), (6.0, 7.0)];
        assert_eq!(dashed(&path, &[]), [path.to_vec()]);
        assert_eq!(dashed(&path, &[4.0, 3.0]), [vec![(0.0, 0.0), (4.0, 0.0)], vec![(6.0, 1.0), (6.0, 5.0)]]);
        assert_eq!(
            dashed(&path, &[8.0, 3.0]),
            [vec![(0.0, 0.0), (6.0, 0.0), (6.0, 2.0)], vec![(6.0, 5.0), (6.0, 7.0)]]
        );
        assert_eq!(dashed(&[], &[4.0, 3.0]), [Vec::new()]);
    }
}
