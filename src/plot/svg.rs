//! Writes a chart as an SVG document.

use std::fmt::Write;

use plotters_svg::SVGBackend;

use super::{
    Chart, Series, Style, Theme,
    draw::draw_on,
    marks::{self, key_width},
    measure::{Lettering, printable},
    palette::inks,
    paper::{DrawError, Paper},
};

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for glyph in printable(text).chars() {
        match glyph {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            glyph => safe.push(glyph),
        }
    }
    safe
}

/// Draws on an SVG sheet of the style's size and puts a root element of CSS pixels around it.
fn document(style: &Style, head: &str, draw: impl FnOnce(&Paper<'_>) -> Result<(), DrawError>) -> String {
    let (width, height) = style.size();
    let (columns, rows) = style.size_in_units();
    let mut drawing = String::new();
    let backend = SVGBackend::with_string(&mut drawing, (columns, rows));
    // Writing to a string can't fail.
    let _ = Paper::new(backend, style, Lettering::SVG).and_then(|paper| {
        draw(&paper)?;
        paper.present()
    });
    let marks = drawing.split_once('\n').map_or("", |(_, marks)| marks);
    let mut text = String::with_capacity(marks.len() + 600);
    let _ = writeln!(
        text,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {columns} {rows}\" \
         role=\"img\" stroke-linejoin=\"round\">\n{head}{marks}",
    );
    text
}

/// The chart as a self-contained SVG document, with its title and summary for those who can't see it.
///
/// All text is escaped; nothing in it runs or is fetched.
pub fn svg(chart: &Chart, style: &Style) -> String {
    let head = format!("<title>{}</title>\n<desc>{}</desc>\n", escaped(&chart.title), escaped(&chart.summary));
    document(style, &head, |paper| draw_on(paper, chart, style).map(|_| ()))
}

/// A series' sign in the legend as an SVG document, 28 × 16 CSS pixels, or wider where it is a scale of colours.
pub fn key_svg(series: &Series, theme: Theme) -> String {
    let style = Style { width: key_width(&series.mark) + 2.0, height: 16.0, theme, ..Style::default() };
    document(&style, "", |paper| marks::key(paper, series, (1.0, 8.0), inks(theme)))
}
