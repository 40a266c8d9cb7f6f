//! What people read in the project's files: words are spelled right, and comments fit the width that code has.

#![allow(clippy::unwrap_used)]

use std::{fs, path::PathBuf, process::Command};

use unicase::UniCase;
use xtask::{firefox::LEFT_OUT, root};

/// Words that look like misspellings and are none: abbreviations, names, and a column that a reader must see through.
const KNOWN: [&str; 11] = ["abd", "alls", "ba", "cpy", "dbe", "flate", "launchs", "linaer", "mape", "nd", "ser"];

/// Characters in a line, as in rustfmt.toml, which leaves comments alone. Rows of tables can not be broken.
const WIDTH: usize = 120;

/// The files of the project with one of these endings, and their texts.
fn files(endings: &[&str]) -> Vec<(String, String)> {
    let listed = Command::new("git").args(["ls-files"]).current_dir(root()).output().unwrap();
    let names = String::from_utf8(listed.stdout).unwrap();
    let ends = |name: &&str| endings.iter().any(|ending| name.ends_with(ending));
    let files: Vec<(String, PathBuf)> =
        names.lines().filter(ends).map(|name| (name.to_owned(), root().join(name))).collect();
    assert!(files.len() > 5, "git lists {} files in {}", files.len(), root().display());
    let read = |(name, path): (String, PathBuf)| Some((name, fs::read_to_string(path).ok()?));
    files.into_iter().filter_map(read).collect()
}

/// The words of a line: runs of letters, parted where a capital follows a small letter, without those of `\n` and `\t`.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for letter in line.replace("\\n", " ").replace("\\t", " ").chars() {
        if !letter.is_alphabetic() || (letter.is_uppercase() && before.is_lowercase()) {
            words.push(String::new());
        }
        if letter.is_alphabetic() {
            words.last_mut().unwrap().push(letter);
        }
        before = letter;
    }
    words
}

fn misspelled(line: &str) -> Vec<String> {
    let words = words(line).into_iter().filter(|word| !KNOWN.contains(&word.to_lowercase().as_str()));
    let right = |word: &String| Some(typos_dict::WORD.find(&UniCase::new(word.as_str()))?.join(" or "));
    words.filter_map(|word| right(&word).map(|right| format!("{word} should be {right}"))).collect()
}

#[test]
fn misspelled_words_are_found() {
    assert_eq!(
        misspelled("// it is recieved\\nwith teh isRecieved"),
        ["recieved should be received", "teh should be the", "Recieved should be received"]
    );
    assert_eq!(misspelled("let received = NCCL;"), Vec::<String>::new());
}

#[test]
fn words_are_spelled_right() {
    let mut found = Vec::new();
    for (name, text) in files(&[".rs", ".md", ".html", ".css", ".js", ".toml", ".yml", ".sh", ".py"]) {
        // The test above.
        if name.ends_with("xtask/tests/text.rs") {
            continue;
        }
        for (number, line) in (1..).zip(text.lines()) {
            found.extend(misspelled(line).into_iter().map(|word| format!("{name}:{number}: {word}")));
        }
    }
    assert!(found.is_empty(), "{}\nA word that is right belongs in KNOWN, xtask/tests/text.rs.", found.join("\n"));
}

#[test]
fn comments_fit_the_width_of_the_code() {
    let mut found = Vec::new();
    for (name, text) in files(&[".rs"]) {
        let is_table = |line: &str| line.trim_start_matches(['/', '!', ' ']).starts_with("|");
        let is_comment = |line: &str| line.trim_start().starts_with("//") && !is_table(line);
        let is_long = |line: &str| is_comment(line) && line.chars().count() > WIDTH;
        let long = (1..).zip(text.lines()).filter(|(_, line)| is_long(line));
        found.extend(long.map(|(number, line)| format!("{name}:{number}: {} characters", line.chars().count())));
    }
    assert!(found.is_empty(), "Comments have at most {WIDTH} characters a line:\n{}", found.join("\n"));
}

/// Which browser tests don't run in Firefox is said to people as it is to the program.
#[test]
fn tests_that_do_not_run_in_firefox_are_listed_with_their_reasons() {
    let rows: String = LEFT_OUT.iter().map(|(name, why)| format!("| `{name}` | {why} |\n")).collect();
    let text = fs::read_to_string(root().join("docs/ux.md")).unwrap();
    assert!(text.contains(&format!("| test | why |\n|---|---|\n{rows}\n")), "docs/ux.md needs:\n{rows}");
    for (name, _) in LEFT_OUT {
        let (module, test) = name.split_once("::").unwrap();
        let source = fs::read_to_string(root().join(format!("tests/browser/{module}.rs"))).unwrap();
        assert!(source.contains(&format!("fn {test}()")), "there is no test {name}");
    }
}
