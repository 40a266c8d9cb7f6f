//! Words that occur in reports of simulated data or in the built-in catalogue, so that they reveal nothing about a
//! file whose name contains them.

use std::sync::LazyLock;

/// In lower case, ascending, a line each. Written by `cargo test --test common write_the_vocabulary -- --ignored`.
const WORDS: &str = include_str!("words.txt");

/// Parts of words shorter than this may occur in any word.
const LEAST_WITHIN: usize = 5;

/// The words of a text: its runs of letters and digits.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Whether a word of a name reveals nothing: one of the vocabulary, a number, a single letter, or a count such as
/// `2n` and `r01`.
pub(super) fn is_common(word: &str) -> bool {
    let has = |is: fn(char) -> bool| word.chars().any(is);
    let is_count = word.chars().count() < 4 && has(|c| c.is_ascii_digit());
    let is_listed = || LINES.binary_search(&word.to_lowercase().as_str()).is_ok();
    word.chars().count() < 2 || !has(char::is_alphabetic) || is_count || is_listed()
}

/// Whether a name consists of common words only.
pub(super) fn is_made_of_common_words(name: &str) -> bool {
    words(name).all(is_common)
}

/// Whether a word is so long, and so different from all of the vocabulary, that it can be replaced within others.
pub(super) fn is_unlike_all(word: &str) -> bool {
    word.chars().count() >= LEAST_WITHIN && !WORDS.contains(word)
}

static LINES: LazyLock<Vec<&str>> = LazyLock::new(|| WORDS.lines().collect());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_ascend() {
        assert!(LINES.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn common_words_are_known_in_any_case() {
        for word in ["busbw", "Ranks", "16", "2n", "r01", "a", "A100"] {
            assert!(is_common(word), "{word}");
        }
        for word in ["acme", "IBM", "frontierish", "ξένος"] {
            assert!(!is_common(word), "{word}");
        }
    }
}
