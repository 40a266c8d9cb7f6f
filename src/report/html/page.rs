//! HTML is written here only: words escaped, tags as they are.

use crate::text::visible_lines;

/// The text of a page that is being written.
#[derive(Default)]
pub(super) struct Page {
    pub text: String,
}

impl Page {
    pub fn raw(&mut self, markup: &str) {
        self.text.push_str(markup);
    }

    /// Appends text, with special characters escaped.
    pub fn text(&mut self, words: &str) {
        self.text.push_str(&escaped(words));
    }

    /// Words of others, such as the name of a file, which turn the direction of nothing around them.
    pub fn isolated(&mut self, words: &str) {
        self.element_of("bdi", "", words);
    }

    /// Appends an element with trusted attributes and escaped text.
    pub fn element(&mut self, tag: &str, attributes: &str, words: &str) {
        self.element_of(tag, attributes, words);
        self.raw("\n");
    }

    fn element_of(&mut self, tag: &str, attributes: &str, words: &str) {
        self.raw(&format!("<{tag}{attributes}>"));
        self.text(words);
        self.raw(&format!("</{tag}>"));
    }
}

/// Words that are no markup, between tags and between quotes. Control characters other than line ends and tabs are
/// written out.
fn escaped(words: &str) -> String {
    let mut safe = String::with_capacity(words.len());
    for c in visible_lines(words).chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}
