//! A sheet in CSS pixels over one of plotters' backends, which has finer units.

use std::cell::{Cell, RefCell};

use plotters::style::{
    Color, FontFamily, FontStyle, RGBAColor, RGBColor, ShapeStyle, TextStyle,
    text_anchor::{HPos, Pos, VPos},
};
use plotters_backend::{BackendColor, BackendCoord, DrawingBackend, DrawingErrorKind};

use super::{
    Rect, Style,
    measure::{Lettering, printable, text_width},
};

/// An error of the drawing backend, with its message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DrawError(String);

impl<E: std::error::Error + Send + Sync> From<DrawingErrorKind<E>> for DrawError {
    fn from(error: DrawingErrorKind<E>) -> Self {
        Self(format!("backend error: {error}"))
    }
}

/// A backend of any kind, so that the code above it is compiled only once.
trait Sheet {
    fn path(&mut self, path: Vec<BackendCoord>, style: &ShapeStyle) -> Result<(), DrawError>;
    fn polygon(&mut self, corners: Vec<BackendCoord>, colour: BackendColor) -> Result<(), DrawError>;
    fn circle(&mut self, centre: BackendCoord, radius: u32, style: &ShapeStyle) -> Result<(), DrawError>;
    fn rectangle(&mut self, from: BackendCoord, to: BackendCoord, colour: BackendColor) -> Result<(), DrawError>;
    fn text(&mut self, text: &str, place: BackendCoord, style: &TextStyle<'_>) -> Result<(), DrawError>;
    fn complete(&mut self) -> Result<(), DrawError>;
}

impl<B: DrawingBackend> Sheet for B {
    fn path(&mut self, path: Vec<BackendCoord>, style: &ShapeStyle) -> Result<(), DrawError> {
        Ok(self.draw_path(path, style)?)
    }

    fn polygon(&mut self, corners: Vec<BackendCoord>, colour: BackendColor) -> Result<(), DrawError> {
        Ok(self.fill_polygon(corners, &colour)?)
    }

    fn circle(&mut self, centre: BackendCoord, radius: u32, style: &ShapeStyle) -> Result<(), DrawError> {
        Ok(self.draw_circle(centre, radius, style, style.filled)?)
    }

    fn rectangle(&mut self, from: BackendCoord, to: BackendCoord, colour: BackendColor) -> Result<(), DrawError> {
        Ok(self.draw_rect(from, to, &colour, true)?)
    }

    fn text(&mut self, text: &str, place: BackendCoord, style: &TextStyle<'_>) -> Result<(), DrawError> {
        Ok(self.draw_text(text, style, place)?)
    }

    fn complete(&mut self) -> Result<(), DrawError> {
        Ok(self.present()?)
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
    sheet: RefCell<Box<dyn Sheet + 'a>>,
    /// In backend units, to which all places are held.
    size: BackendCoord,
    lettering: Lettering,
    units: f64,
    /// Backend units per device pixel.
    device: f64,
    /// The rectangle outside which no mark is drawn.
    clip: Cell<Option<Rect>>,
}

impl<'a> Paper<'a> {
    /// Begins a drawing. Fails if the backend can't be drawn on.
    pub fn new<B: DrawingBackend + 'a>(mut backend: B, style: &Style, lettering: Lettering) -> Result<Self, DrawError> {
        backend.ensure_prepared()?;
        let (width, height) = style.size_in_units();
        Ok(Self {
            sheet: RefCell::new(Box::new(backend)),
            size: (width as i32, height as i32),
            lettering,
            units: style.units_per_pixel(),
            device: f64::from(style.fineness.clamp(1, 16)),
            clip: Cell::new(None),
        })
    }

    /// Cuts lines and polygons to an area from now on, and leaves out circles and texts whose place lies outside it.
    /// Gridlines and rectangles are not cut.
    pub fn clip(&self, area: Option<Rect>) {
        self.clip.set(area);
    }

    fn is_outside(&self, (x, y): (f64, f64)) -> bool {
        self.clip.get().is_some_and(|area| !area.contains(x, y))
    }

    /// A place in backend units, not necessarily on the sheet.
    fn point(&self, (x, y): (f64, f64)) -> BackendCoord {
        ((x * self.units).round() as i32, (y * self.units).round() as i32)
    }

    fn held(&self, (x, y): BackendCoord) -> BackendCoord {
        (x.min(self.size.0).max(0), y.min(self.size.1).max(0))
    }

    fn points(&self, points: &[(f64, f64)]) -> Vec<BackendCoord> {
        points.iter().map(|&point| self.held(self.point(point))).collect()
    }

    fn stroke(&self, colour: &impl Color, width: f64) -> ShapeStyle {
        let stroke_width = (width * self.units).round().max(1.0) as u32;
        ShapeStyle { color: colour.to_rgba(), filled: false, stroke_width }
    }

    /// Fills the sheet from edge to edge.
    pub fn fill(&self, colour: &impl Color) -> Result<(), DrawError> {
        self.sheet.borrow_mut().rectangle((0, 0), self.size, colour.to_backend_color())
    }

    /// A crisp horizontal or vertical line about one CSS pixel wide, moved to whole device pixels.
    pub fn hairline(&self, from: (f64, f64), to: (f64, f64), colour: &impl Color) -> Result<(), DrawError> {
        let pixels = (self.units / self.device + 0.25).floor().max(1.0);
        let centre = if (pixels / 2.0).fract() == 0.5 { 0.5 } else { 0.0 };
        let snap = |length: f64| ((length * self.units / self.device).floor() + centre) * self.device;
        let snapped = |(x, y): (f64, f64)| (snap(x).round() as i32, snap(y).round() as i32);
        let width = (pixels * self.device).round() as u32;
        let style = ShapeStyle { color: colour.to_rgba(), filled: false, stroke_width: width };
        self.sheet.borrow_mut().path(vec![self.held(snapped(from)), self.held(snapped(to))], &style)
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
        let runs = self.clip.get().map_or_else(|| vec![points.to_vec()], |area| area.cut_line(points));
        for dash in runs.iter().flat_map(|run| dashed(run, pattern)) {
            if dash.len() > 1 {
                self.sheet.borrow_mut().path(self.points(&dash), &style)?;
            }
        }
        Ok(())
    }

    pub fn polygon(&self, corners: &[(f64, f64)], colour: &impl Color) -> Result<(), DrawError> {
        let corners = self.clip.get().map_or_else(|| corners.to_vec(), |area| area.cut_polygon(corners));
        if corners.is_empty() {
            return Ok(());
        }
        self.sheet.borrow_mut().polygon(self.points(&corners), colour.to_backend_color())
    }

    /// The nearest boundary between two device pixels, in CSS pixels.
    pub fn snapped(&self, length: f64) -> f64 {
        self.pixels(length) * self.pixel()
    }

    /// The number of device pixels that is nearest to a length in CSS pixels.
    fn pixels(&self, length: f64) -> f64 {
        (length * self.units / self.device).round()
    }

    /// The size of a device pixel in CSS pixels.
    pub fn pixel(&self) -> f64 {
        self.device / self.units
    }

    pub fn rectangle(&self, area: &Rect, colour: &impl Color) -> Result<(), DrawError> {
        let [a, b] = [(area.left, area.top), (area.right, area.bottom)].map(|corner| self.held(self.point(corner)));
        let (from, to) = ((a.0.min(b.0), a.1.min(b.1)), (a.0.max(b.0), a.1.max(b.1)));
        self.sheet.borrow_mut().rectangle(from, to, colour.to_backend_color())
    }

    /// Squares about as large as discs, whose edges are those of device pixels. Where squares lie on each other one is
    /// filled, with the opacity that they have together: drawing them all takes several times as long.
    pub fn squares(
        &self,
        places: impl Iterator<Item = (f64, f64)>,
        radius: f64,
        colour: RGBColor,
        opacity: f64,
    ) -> Result<(), DrawError> {
        let side = self.pixels(radius * std::f64::consts::PI.sqrt()).max(1.0) * self.pixel();
        let fill = |[left, top]: [usize; 2], opacity: f64| {
            let [left, top] = [left, top].map(|corner| corner as f64 * self.pixel());
            self.rectangle(&Rect { left, top, right: left + side, bottom: top + side }, &colour.mix(opacity))
        };
        // For each device pixel the number of squares that begin at it, and the pixels that have any.
        let [columns, rows] = [self.size.0, self.size.1].map(|side| (f64::from(side) / self.device) as usize + 1);
        let mut layers = vec![0_u8; columns.saturating_mul(rows).min(MOST_COUNTED)];
        let mut corners = Vec::new();
        for (x, y) in places.filter(|&place| !self.is_outside(place)) {
            let [column, row] = [x, y].map(|middle| self.pixels(middle - side / 2.0) as usize);
            let at = row.saturating_mul(columns).saturating_add(column.min(columns - 1));
            match layers.get_mut(at) {
                Some(count) => {
                    if *count == 0 {
                        corners.push(at);
                    }
                    *count = (*count + 1).min(MOST_LAYERS);
                }
                None => fill([column, row], opacity)?,
            }
        }
        // By opacity, since a canvas takes longer to change its colour than to fill a square.
        let mut clear = 1.0;
        for count in 1..=MOST_LAYERS {
            clear *= 1.0 - opacity;
            for &at in corners.iter().filter(|at| layers[**at] == count) {
                fill([at % columns, at / columns], 1.0 - clear)?;
            }
        }
        Ok(())
    }

    pub fn disc(&self, centre: (f64, f64), radius: f64, colour: &impl Color) -> Result<(), DrawError> {
        self.circle(centre, radius, &colour.to_rgba().filled())
    }

    /// The outline of a disc, `width` CSS pixels wide.
    pub fn ring(&self, centre: (f64, f64), radius: f64, colour: &impl Color, width: f64) -> Result<(), DrawError> {
        self.circle(centre, radius, &self.stroke(colour, width))
    }

    fn circle(&self, centre: (f64, f64), radius: f64, style: &ShapeStyle) -> Result<(), DrawError> {
        if self.is_outside(centre) {
            return Ok(());
        }
        // Below zero it is 0.
        let radius = (radius * self.units).round() as u32;
        self.sheet.borrow_mut().circle(self.held(self.point(centre)), radius, style)
    }

    /// One line of text, centred vertically on its place.
    pub fn text(&self, text: &str, place: (f64, f64), letters: Letters) -> Result<(), DrawError> {
        if self.is_outside(place) {
            return Ok(());
        }
        let weight = if letters.bold { FontStyle::Bold } else { FontStyle::Normal };
        let size = letters.size * self.units;
        let font = (FontFamily::Name(FONTS), size * self.lettering.size, weight);
        let style = TextStyle::from(font).color(&letters.colour).pos(Pos::new(letters.anchor, VPos::Center));
        let (x, y) = self.point(place);
        let drop = (size * self.lettering.drop).round() as i32;
        self.sheet.borrow_mut().text(&printable(text), (x, y + drop), &style)
    }

    /// Completes the drawing and passes it to the backend.
    pub fn present(&self) -> Result<(), DrawError> {
        self.sheet.borrow_mut().complete()
    }
}

/// The number of squares on each other above which one more changes no colour: at an opacity of 0.35, 0.1 % of what is
/// below them still shows.
const MOST_LAYERS: u8 = 16;

/// The number of device pixels, more than any screen has, up to which squares on each other are counted.
const MOST_COUNTED: usize = 1 << 26;

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
