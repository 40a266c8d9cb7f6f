//! Commands under the names that they once had, which go on working: scripts and shells know them.

use std::ffi::{OsStr, OsString};

/// Commands as they were once called, the longer ones first, and as they are called.
const FORMER: [(&[&str], &[&str]); 14] = [
    (&["ab", "plan"], &["tuning", "ab-plan"]),
    (&["ab"], &["tuning", "ab"]),
    (&["chart"], &["tuning", "chart"]),
    (&["compare"], &["tuning", "compare"]),
    (&["conf"], &["tuning"]),
    (&["coverage"], &["tuning", "coverage"]),
    (&["plan"], &["tuning", "plan"]),
    (&["predict"], &["tuning", "predict"]),
    (&["train"], &["tuning", "train"]),
    (&["step"], &["training-time", "step"]),
    (&["layouts"], &["training-time", "layouts"]),
    (&["synthesize"], &["topology", "synthesize"]),
    (&["verify"], &["topology", "verify"]),
    (&["overlap"], &["overlap", "models"]),
];

/// What follows `collectune overlap` where that is no file, as it once was.
const OF_OVERLAP: [&str; 4] = ["models", "help", "-h", "--help"];

/// The arguments of the process, its own name first, as they are called now.
pub(super) fn renamed(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let first = if arguments.get(1).is_some_and(|word| word == "help") { 2 } else { 1 };
    let rest = arguments.get(first..).unwrap_or_default();
    let has_command = |command: &OsString| OF_OVERLAP.iter().any(|word| OsStr::new(word) == command);
    let is_former = |(words, _): &&(&[&str], &[&str])| {
        rest.len() >= words.len()
            && rest.iter().zip(*words).all(|(typed, word)| typed == word)
            && (*words != ["overlap"] || rest.get(1).is_some_and(|word| !has_command(word)))
    };
    if let Some((words, now)) = FORMER.iter().find(is_former) {
        arguments.splice(first..first + words.len(), now.iter().map(OsString::from));
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn former_names_are_replaced_at_the_beginning_alone() {
        for (then, now) in [
            ("train sweep.csv --seed 1", "tuning train sweep.csv --seed 1"),
            ("ab plan --nodes 2", "tuning ab-plan --nodes 2"),
            ("ab plan.log", "tuning ab plan.log"),
            ("conf lint a.conf", "tuning lint a.conf"),
            ("help step", "help training-time step"),
            ("overlap --json a.csv", "overlap models --json a.csv"),
            ("overlap models a.csv", "overlap models a.csv"),
            ("overlap --help", "overlap --help"),
            ("overlap", "overlap"),
            ("report train", "report train"),
            ("policy replay plan", "policy replay plan"),
            ("--version", "--version"),
            ("", ""),
        ] {
            let words =
                |line: &str| ["collectune"].into_iter().chain(line.split_whitespace()).map(OsString::from).collect();
            let expected: Vec<OsString> = words(now);
            assert_eq!(renamed(words(then)), expected, "{then}");
        }
    }
}
