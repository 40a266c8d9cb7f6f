//! The glossary's explanations of the terms that labels use.
//!
//! `glossary.txt` is made from docs/glossary.md by `tests/common/glossary.rs`, which says how: a line for each term,
//! its spellings before the colon.

/// The terms that a label uses, each a line of its spellings and its meaning.
///
/// ```
/// use collectune::glossary::explained;
/// assert!(explained("Gain, %").starts_with("gain: bus bandwidth over that of the default"));
/// assert_eq!(explained("Again"), "");
/// ```
pub fn explained(label: &str) -> String {
    let is_used = |line: &&str| line.split_once(": ").is_some_and(|(spellings, _)| uses(label, spellings));
    include_str!("glossary.txt").lines().filter(is_used).collect::<Vec<_>>().join("\n")
}

/// Whether a label uses a term, which has these spellings, separated by commas; with or without a plural's s.
pub fn uses(label: &str, spellings: &str) -> bool {
    let plain = |c: char| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { ' ' };
    let label: String = label.chars().map(plain).collect();
    let words = label.split_ascii_whitespace().flat_map(|word| [" ", word]).chain([" "]).collect::<String>();
    let is_used = |name: &str| words.contains(&format!(" {name} ")) || words.contains(&format!(" {name}s "));
    spellings.split(", ").any(is_used)
}
