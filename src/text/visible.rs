//! Makes text from files safe to display.

use std::borrow::Cow;

/// Whether a character is not shown itself, but steers what shows it: the control characters, of which a terminal makes
/// commands; those that turn the direction of the text around them; and ends of lines that are none in a file.
pub fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// Whether a character leaves nothing to see: white space, control characters, and those that Unicode has any program
/// ignore that can't show them (`Default_Ignorable_Code_Point`).
pub fn is_invisible(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// The text with control characters replaced by their escape sequences, such as `\n` and `\u{1b}`.
///
/// ```
/// use collectune::text::visible;
/// assert_eq!(visible("a\u{1b}[31m\n.csv"), "a\\u{1b}[31m\\n.csv");
/// assert_eq!(visible("größe.csv"), "größe.csv");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// The same for text of several lines: their ends, and tabs, are left as they are.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| matches!(c, '\n' | '\t'))
}

fn escaped(text: &str, is_left: fn(char) -> bool) -> Cow<'_, str> {
    let is_escaped = |c: char| is_control(c) && !is_left(c);
    if !text.contains(is_escaped) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_escaped(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_control_is_shown() {
        for (text, shown) in [
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("\u{9b}31m\u{8}\r", "\\u{9b}31m\\u{8}\\r"),
            ("gpj\u{202e}exe", "gpj\\u{202e}exe"),
            ("\u{2066}a\u{2069}\u{61c}", "\\u{2066}a\\u{2069}\\u{61c}"),
            ("tab\tline\n", "tab\\tline\\n"),
        ] {
            assert_eq!(visible(text), shown);
        }
        assert_eq!(visible_lines("a\tb\nc\u{1b}\r\n"), "a\tb\nc\\u{1b}\\r\n");
    }

    proptest! {
        #[test]
        fn no_control_is_left(text in any::<String>()) {
            prop_assert!(!visible(&text).contains(is_control));
            prop_assert!(!visible_lines(&text).chars().any(|c| is_control(c) && !matches!(c, '\n' | '\t')));
            if !text.contains(is_control) {
                prop_assert_eq!(&*visible(&text), &*text);
            }
        }
    }
}
