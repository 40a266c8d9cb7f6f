//! Text is measured by a table of glyph widths.
//!
//! Plotters measures text with the font system of the target: through the DOM in a browser (a styled `<span>` per
//! label, which a strict content security policy blocks and a worker doesn't have), by a rule of thumb elsewhere.
//! With a table the layout is the same in the page, in a worker and in a terminal.

/// Advance widths of DejaVu Sans for U+0020 to U+007E in thousandths of the font size. It is the widest of the
/// common interface fonts, so labels that have room by this table have room everywhere.
const WIDTHS: [u16; 95] = [
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636, 636,
    636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863,
    748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635,
    615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636,
    337, 636, 838,
];

fn glyph_width(glyph: char) -> f64 {
    let thousandths = match glyph {
        ' '..='~' => WIDTHS[glyph as usize - ' ' as usize],
        '\u{0}'..='\u{ff}' => 636,
        '–' => 500,
        '\u{100}'..='\u{10ff}' => 700,
        _ => 1000,
    };
    f64::from(thousandths) / 1000.0
}

/// The width of one line of text, in the unit of `font_size`.
pub(super) fn text_width(text: &str, font_size: f64) -> f64 {
    text.chars().map(glyph_width).sum::<f64>() * font_size
}

/// The text, or as much of its beginning as has room within `width`, ending in an ellipsis.
pub(super) fn shortened(text: &str, font_size: f64, width: f64) -> String {
    let mut used = 0.0;
    let mut kept = String::new();
    let mut fits = true;
    for glyph in text.chars() {
        used += glyph_width(glyph) * font_size;
        fits = used <= width;
        if !fits {
            break;
        }
        kept.push(glyph);
    }
    if !fits {
        while !kept.is_empty() && text_width(&kept, font_size) + glyph_width('…') * font_size > width {
            kept.pop();
        }
        kept.truncate(kept.trim_end().len());
        kept.push('…');
    }
    kept
}

/// Replaces what has no place on paper and, in XML, no right to be there: control characters, non-characters and
/// marks that turn the direction of writing.
pub(super) fn printable(text: &str) -> String {
    let unprintable = |glyph: char| {
        glyph.is_control()
            || matches!(glyph, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            || (glyph as u32 & 0xfffe) == 0xfffe
    };
    text.chars().map(|glyph| if unprintable(glyph) { '\u{fffd}' } else { glyph }).collect()
}

/// How a backend lays out text, where it differs from the canvas: sizes in backend units, centred on the em box.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lettering {
    /// The backend's font size for a glyph of one unit.
    pub size: f64,
    /// The distance by which text must move down to be centred, as a share of the font size.
    pub drop: f64,
}

impl Lettering {
    pub const CANVAS: Self = Self { size: 1.0, drop: 0.0 };
    /// plotters-svg divides sizes by 1.24, and centres on half of the x-height.
    pub const SVG: Self = Self { size: 1.24, drop: 0.08 };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_to_its_room() {
        assert_eq!(shortened("ring", 10.0, 100.0), "ring");
        assert_eq!(shortened("", 10.0, 0.0), "");
        let long = "ring simple 24 channels".repeat(50);
        let cut = shortened(&long, 10.0, 100.0);
        assert!(cut.ends_with('…') && text_width(&cut, 10.0) <= 100.0, "{cut}");
        assert_eq!(shortened("ring", 10.0, -5.0), "…");
    }

    #[test]
    fn every_glyph_has_a_width() {
        for glyph in (0..=u32::from(char::MAX)).filter_map(char::from_u32).step_by(7) {
            assert!(glyph_width(glyph) > 0.0);
        }
        assert!((text_width("16 MiB", 1000.0) - 3417.0).abs() < 1e-9);
    }

    #[test]
    fn control_characters_do_not_reach_the_paper() {
        assert_eq!(printable("a\u{0}b\u{202e}c\n\u{ffff}µ"), "a\u{fffd}b\u{fffd}c\u{fffd}\u{fffd}µ");
    }
}
