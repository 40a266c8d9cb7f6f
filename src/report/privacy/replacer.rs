//! Many texts are found and replaced in one pass, whatever their case.

use crate::order::CompactSort;
use std::collections::BTreeMap;

/// The patterns to find, with their replacements.
pub(super) struct Replacer<'a> {
    patterns: Vec<Pattern<'a>>,
    /// The indices of the patterns by their first two bytes, longest pattern first.
    by_start: BTreeMap<[u8; 2], Vec<usize>>,
    /// Whether any pattern begins with this byte.
    begins: [bool; 256],
}

struct Pattern<'a> {
    /// In lower case as far as ASCII goes, as the text is when it is compared.
    text: &'a str,
    instead: &'a str,
    /// Whether a pattern is replaced within words; otherwise only where no letter or digit precedes or follows it.
    within_words: bool,
}

/// The number of letters below which a word cut at the end of a text reveals nothing.
const LEAST_CUT: usize = 3;

impl<'a> Replacer<'a> {
    /// Looks for lower-case texts of two bytes and more: each with what is written instead, and whether it is replaced
    /// within longer words too.
    pub fn new(patterns: impl IntoIterator<Item = (&'a str, &'a str, bool)>) -> Self {
        let all = patterns.into_iter().map(|(text, instead, within_words)| Pattern { text, instead, within_words });
        let mut patterns: Vec<Pattern> = all.filter(|pattern| pattern.text.len() > 1).collect();
        patterns.compact_sort_by_key(|pattern| usize::MAX - pattern.text.len());
        let (mut by_start, mut begins) = (BTreeMap::<[u8; 2], Vec<usize>>::new(), [false; 256]);
        for (at, pattern) in patterns.iter().enumerate() {
            let bytes = pattern.text.as_bytes();
            by_start.entry([bytes[0], bytes[1]]).or_default().push(at);
            begins[usize::from(bytes[0])] = true;
        }
        Self { patterns, by_start, begins }
    }

    /// Whether there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// The text with everything replaced; `None` where nothing of it is found.
    pub fn replaced(&self, text: &str) -> Option<String> {
        let lower = text.to_ascii_lowercase();
        let mut out = String::new();
        let (mut at, mut copied) = (0, 0);
        while at < text.len() {
            match self.match_at(&lower, at) {
                Some((length, instead)) => {
                    out.push_str(&text[copied..at]);
                    out.push_str(instead);
                    at += length;
                    copied = at;
                }
                None => at += text[at..].chars().next().map_or(1, char::len_utf8),
            }
        }
        if out.is_empty() {
            return None;
        }
        out.push_str(&text[copied..]);
        Some(out)
    }

    /// The number of bytes that are replaced from `at` on, and the replacement.
    fn match_at(&self, lower: &str, at: usize) -> Option<(usize, &'a str)> {
        let bytes = &lower.as_bytes()[at..];
        if !self.begins[usize::from(bytes[0])] {
            return None;
        }
        let candidates = self.by_start.get(&[bytes[0], *bytes.get(1)?])?;
        let (before, rest) = lower.split_at(at);
        let is_within = is_letter(before.chars().next_back()) && is_letter(rest.chars().next());
        let run = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        // What was too long for its place ends in an ellipsis.
        let is_cut = !is_within && run > 0 && rest[..run].chars().count() >= LEAST_CUT && rest[run..].starts_with('…');
        candidates.iter().map(|index| &self.patterns[*index]).find_map(|pattern| {
            if is_cut && pattern.text.starts_with(&rest[..run]) {
                return Some((run, pattern.instead));
            }
            let behind = rest.strip_prefix(pattern.text)?;
            let goes_on = is_letter(pattern.text.chars().next_back()) && is_letter(behind.chars().next());
            (pattern.within_words || !is_within && !goes_on).then_some((pattern.text.len(), pattern.instead))
        })
    }
}

fn is_letter(c: Option<char>) -> bool {
    c.is_some_and(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn whole_words_and_parts_of_words() {
        let replacer = Replacer::new([("dump", "1", false), ("dump.xml", "2", false), ("zq9", "3", true)]);
        for (text, expected) in [
            ("a dump, DUMP.xml", Some("a 1, 2")),
            ("dumps, adump", None),
            ("xzq9y", Some("x3y")),
            ("µdump µ-dump", Some("µdump µ-1")),
        ] {
            assert_eq!(replacer.replaced(text).as_deref(), expected);
        }
    }

    proptest! {
        #[test]
        fn what_is_replaced_within_words_is_gone(text in "\\PC{0,40}", word in "[a-z0-9]{3,9}", case in any::<bool>()) {
            let word_in = if case { word.to_ascii_uppercase() } else { word.clone() };
            let replacer = Replacer::new([(word.as_str(), "·", true)]);
            let all = format!("{text}{word_in}{text}");
            let out = replacer.replaced(&all).unwrap_or_default();
            prop_assert!(!out.to_ascii_lowercase().contains(&word));
        }
    }
}
