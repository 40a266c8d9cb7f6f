//! Writes a report as one HTML page without scripts or external resources.
//!
//! Charts are SVG for a light background; in the dark theme the style sheet replaces their colours. The report itself
//! is data in the page's head, so that the page opens as a live report again.

mod page;
mod sketch;

use super::{
    Exhibit, Report, Section, TextFile,
    annotations::NOTE,
    markdown::made_by,
    open::{DATA_BEGIN, DATA_END, META},
    wire::{self, WireError},
};
use crate::{
    plot::{self, Chart, Colour, Mark, Series, Style, Theme},
    text::{Column, Listing, is_control},
};
use page::Page;

const STYLE: &str = include_str!("style.css");
/// Its SHA-256 in base64, for the policy that lets no other style in.
const STYLE_HASH: &str = "V/tEKxoJ5s9MnK6OGz865DGKZ2JGd7AfmZKcGyxpkbM=";
/// The number of rows beyond which a table is collapsed.
const LONG: usize = 60;
/// The number of points from which a chart is not repeated as a table; the points are in the data.
const MOST_NOTES: usize = 400;

/// The report as a page.
///
/// # Errors
/// Returns an error if the report exceeds the limits within which reports are read.
pub fn html(report: &Report) -> Result<String, WireError> {
    let data = as_data(&wire::write(report));
    wire::is_within_bounds(&data)?;
    let mut page = Page::default();
    page.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.raw(&format!("{META} content=\"{}\">\n", wire::VERSION));
    page.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-");
    page.raw(STYLE_HASH);
    page.raw("'; base-uri 'none'; form-action 'none'\">\n");
    page.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.raw("<meta name=\"referrer\" content=\"no-referrer\">\n");
    page.element("title", "", &format!("{} · Collectune", report.title));
    page.raw("<style>");
    page.raw(STYLE);
    page.raw("</style>\n");
    page.raw(DATA_BEGIN);
    page.raw(&data);
    page.raw(DATA_END);
    page.raw("\n</head>\n<body>\n<div class=\"page\">\n");
    head(&mut page, report);
    page.raw("<main>\n");
    for (index, part) in report.sections.iter().enumerate() {
        section(&mut page, part, index);
    }
    made(&mut page, report);
    page.raw(
        "</main>\n<footer>This file is complete: nothing in it runs, and it asks nothing of any server. Dropped on \
              Collectune, it opens as the live report.</footer>\n</div>\n</body>\n</html>\n",
    );
    Ok(page.text)
}

/// JSON that can be placed in a script element without changing its value.
fn as_data(json: &str) -> String {
    let mut data = String::with_capacity(json.len() + json.len() / 64);
    for c in json.chars() {
        match c {
            '<' | '>' | '&' => data.push_str(&format!("\\u{:04x}", u32::from(c))),
            c if is_control(c) && c != '\n' => data.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => data.push(c),
        }
    }
    data
}

fn head(page: &mut Page, report: &Report) {
    page.raw("<header>\n<p class=\"kind\"><span><b>Collectune</b> report: ");
    page.text(&report.workbench.name().to_ascii_lowercase());
    page.raw("</span><span>");
    page.text(&made_by(report));
    page.raw("</span></p>\n");
    page.raw("<h1>");
    page.isolated(&report.title);
    page.raw("</h1>\n");
    if !report.summary.is_empty() {
        page.raw("<div class=\"answer\">\n");
        report.summary.iter().for_each(|sentence| paragraph(page, sentence));
        page.raw("</div>\n");
    }
    page.raw("</header>\n<nav aria-label=\"Sections\">\n<ul>\n");
    for (index, section) in report.sections.iter().enumerate() {
        page.raw(&format!("<li><a href=\"#s{}\">", index + 1));
        page.text(&section.title);
        page.raw("</a></li>\n");
    }
    page.raw("<li><a href=\"#made\">How this was made</a></li>\n</ul>\n</nav>\n");
}

fn section(page: &mut Page, section: &Section, index: usize) {
    let id = format!("s{}", index + 1);
    page.raw(&format!("<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n"));
    page.element("h2", &format!(" id=\"{id}-title\""), &section.title);
    let (notes, text): (Vec<&String>, Vec<&String>) = section.text.iter().partition(|text| text.starts_with(NOTE));
    notes.into_iter().for_each(|note| paragraph(page, note));
    match &text[..] {
        [] => {}
        [one] => paragraph(page, one),
        [first, rest @ ..] => {
            paragraph(page, first);
            page.raw("<ul class=\"notes\">\n");
            rest.iter().for_each(|sentence| page.element("li", "", sentence));
            page.raw("</ul>\n");
        }
    }
    section.charts.iter().for_each(|one| chart(page, one));
    for one in &section.tables {
        table(page, one);
    }
    section.files.iter().for_each(|file| text_file(page, file));
    page.raw("</section>\n");
}

/// A sentence, marked where it is a note.
fn paragraph(page: &mut Page, sentence: &str) {
    page.element("p", if sentence.starts_with(NOTE) { " class=\"note\"" } else { "" }, sentence);
}

fn chart(page: &mut Page, chart: &Chart) {
    page.raw("<figure>\n");
    page.element("figcaption", "", &chart.title);
    if !chart.summary.is_empty() {
        page.element("p", "", &chart.summary);
    }
    page.raw("<ul class=\"legend\">\n");
    for series in &chart.series {
        page.raw("<li>");
        page.raw(&slim(&plot::key_svg(series, Theme::Light)).replacen("role=\"img\"", "aria-hidden=\"true\"", 1));
        page.text(&plot::legend_text(series));
        page.raw("</li>\n");
    }
    page.raw("</ul>\n");
    // Two drawings, for letters that can be read on a desk and in a hand.
    for (class, width, height) in [("wide", 960.0, 400.0), ("narrow", 340.0, 300.0)] {
        let height = chart.height().unwrap_or(height);
        let style = Style { width, height, captions: false, fineness: 4, ..Style::default() };
        page.raw(&slim(&plot::svg(&sketch::sketch(chart, &style), &style)).replacen(
            "<svg ",
            &format!("<svg class=\"{class}\" "),
            1,
        ));
    }
    page.raw("</figure>\n");
    chart_data(page, chart);
}

/// The numbers behind a chart; measurements in the background are left out where they are many.
fn chart_data(page: &mut Page, chart: &Chart) {
    let count = |series: &[Series]| series.iter().map(|series| series.points.len()).sum::<usize>();
    let all = count(&chart.series);
    let mut told = chart.clone();
    if all > MOST_NOTES {
        told.series.retain(|series| series.colour != Colour::Muted || matches!(series.mark, Mark::Cells(..)));
    }
    let left_out = all - count(&told.series);
    if count(&told.series) == 0 || count(&told.series) > MOST_NOTES {
        return;
    }
    page.raw("<details class=\"data\">\n<summary>The chart as a table");
    if left_out > 0 {
        page.raw(&format!(" <span>without its {left_out} points in the background</span>"));
    }
    page.raw("</summary>\n");
    listing(page, &Exhibit::of_chart(&told).listing, &chart.title);
    page.raw("</details>\n");
}

/// The drawing without redundant attributes.
fn slim(svg: &str) -> String {
    // Quotes in words are escaped: these stand in tags only.
    const FONT: &str = " font-family=\"";
    let mut slim = svg
        .replace(" opacity=\"1\"", "")
        .replace(" stroke=\"none\" stroke-width=\"1\"", "")
        .replace(" stroke=\"none\"", "");
    while let Some(begin) = slim.find(FONT) {
        let Some(end) = slim[begin + FONT.len()..].find('"') else { break };
        let family = slim[begin..=begin + FONT.len() + end].to_owned();
        slim = slim.replace(&family, "");
    }
    slim
}

fn table(page: &mut Page, exhibit: &Exhibit) {
    let rows = exhibit.listing.rows.len();
    let listed = exhibit.listing.without_secondary_columns().without_empty_columns();
    if rows > LONG {
        page.raw("<details>\n<summary>");
        page.text(&exhibit.title);
        page.raw(&format!(" <span>{}</span></summary>\n", crate::units::count(rows as u64, "row")));
    } else {
        page.element("h3", "", &exhibit.title);
    }
    listing(page, &listed, &exhibit.title);
    if rows > LONG {
        page.raw("</details>\n");
    }
    if listed.columns.iter().any(|column| !column.meaning.is_empty()) {
        page.raw("<details class=\"columns\">\n<summary>What the columns mean</summary>\n<dl>\n");
        for column in listed.columns.iter().filter(|column| !column.meaning.is_empty()) {
            page.element("dt", "", &column.name);
            page.element("dd", "", &column.meaning);
        }
        page.raw("</dl>\n</details>\n");
    }
}

fn listing(page: &mut Page, listing: &Listing, caption: &str) {
    /// The number of characters beyond which the text of a cell wraps.
    const WIDE: usize = 48;
    page.raw("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"");
    page.text(caption);
    page.raw("\">\n<table>\n<thead><tr>");
    let class = |column: &Column| if column.is_numeric { " class=\"n\"" } else { "" };
    for (index, column) in listing.columns.iter().enumerate() {
        page.raw(&format!("<th scope=\"col\"{}>", class(column)));
        page.text(&listing.heading(index));
        page.raw("</th>");
    }
    page.raw("</tr></thead>\n<tbody>\n");
    for row in &listing.rows {
        page.raw("<tr>");
        for (index, (column, entry)) in listing.columns.iter().zip(row).enumerate() {
            let accent = accent(&entry.text);
            let (open, close) = if index == 0 { ("<th scope=\"row\"", "</th>") } else { ("<td", "</td>") };
            page.raw(open);
            match accent {
                Some(accent) => page.raw(&format!(" class=\"{accent}\"")),
                None if entry.text.chars().count() > WIDE => page.raw(" class=\"wide\""),
                None => page.raw(class(column)),
            }
            page.raw(">");
            if column.is_numeric {
                page.text(&entry.text);
            } else {
                page.isolated(&entry.text);
            }
            page.raw(close);
        }
        page.raw("</tr>\n");
    }
    page.raw("</tbody>\n</table>\n</div>\n");
}

/// The class that emphasises certain words.
fn accent(text: &str) -> Option<&'static str> {
    match text {
        "deploy" | "faster" => Some("good"),
        "extrapolated" | "slower" => Some("bad"),
        "interpolated" => Some("mid"),
        _ => None,
    }
}

fn text_file(page: &mut Page, file: &TextFile) {
    page.raw("<details>\n<summary>");
    page.isolated(&file.name);
    page.raw(&format!(" <span>{}</span></summary>\n", crate::units::count(file.text.lines().count() as u64, "line")));
    if !file.note.is_empty() {
        page.element("p", "", &file.note);
    }
    // A page takes the first line end for its own.
    page.raw("<pre tabindex=\"0\">\n");
    page.text(&file.text);
    page.raw("</pre>\n</details>\n");
}

fn made(page: &mut Page, report: &Report) {
    page.raw(
        "<section id=\"made\" aria-labelledby=\"made-title\">\n<h2 id=\"made-title\">How this was made</h2>\n<dl>\n",
    );
    page.element("dt", "", "Made by");
    page.element("dd", "", &made_by(report));
    for fact in &report.parameters {
        page.element("dt", "", &fact.name);
        page.element("dd", "", &fact.value);
    }
    page.raw("</dl>\n");
    if !report.files.is_empty() {
        page.element("h3", "", "Loaded files");
        listing(page, &super::loaded(&report.files), "Loaded files");
    }
    page.raw("</section>\n");
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn the_policy_lets_the_style_sheet_in() {
        let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(STYLE));
        assert_eq!(STYLE_HASH, hash);
    }

    #[test]
    fn every_ink_has_one_for_the_dark() {
        for (light, dark) in plot::inks_in_the_dark() {
            let rule = format!("[fill=\"{light}\"] {{ fill: {dark}; }} [stroke=\"{light}\"] {{ stroke: {dark}; }}\n");
            assert!(STYLE.contains(&rule), "{rule}");
        }
    }

    #[test]
    fn data_ends_no_script() {
        let json = "{\"a\":\"</script><!--<script>&\u{2028}\u{2029}\u{9b}\u{202e}\"}";
        let data = as_data(json);
        assert!(!data.contains(['<', '>', '&']) && !data.contains(is_control), "{data}");
        let same = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
        assert_eq!(same(&data), same(json));
    }
}
