//! Names of files and folders leave a report where they are not to travel, and paths always.
//!
//! Much in a report is named after a file: the topology of a dump, the run of a configuration, the cluster of a folder,
//! an operator of a file of samples. So not only whole names are replaced, but also what is made of them: the path, its
//! end, the name without its extensions, each folder, and each word of these. A word that stands in reports of
//! simulated data as well ([`vocabulary`]) says nothing about a file and stays. Every text of a report passes through
//! here ([`texts`]).

mod replacer;
mod texts;
mod vocabulary;

use std::collections::{BTreeMap, BTreeSet};

use self::replacer::Replacer;
use super::{Contents, LoadedFile, Report, wire::leaf};
use crate::text::Problems;

/// Replaces names of files in reports by their numbers (`file 2`), or by their names without folders.
pub struct NameReplacements {
    /// Names in lower case with their replacements, and whether they are replaced within longer words as well.
    instead: BTreeMap<String, (String, bool)>,
}

impl NameReplacements {
    /// The replacements that `contents` requires for the names of loaded files, which are numbered in the order of
    /// `problems`; if no name may travel, those in `files` are removed.
    pub fn of(contents: &Contents, files: &mut [LoadedFile], problems: &[(&str, &Problems)]) -> Self {
        let mut known = BTreeSet::new();
        let paths: Vec<&str> = problems.iter().map(|(name, _)| *name).filter(|path| known.insert(*path)).collect();
        if contents.file_names {
            return Self::without_folders(&paths);
        }
        files.iter_mut().for_each(|file| file.name = None);
        Self::numbered(&paths)
    }

    /// Lets names travel without their folders.
    fn without_folders(paths: &[&str]) -> Self {
        let mut names = Self { instead: BTreeMap::new() };
        for path in paths {
            for (end, is_folder) in ends(path) {
                let last = leaf(end);
                // One folder alone may be what a cluster is called; two are a path.
                if end.len() > last.len() && !last.is_empty() {
                    names.add(end, &last, true);
                    if !is_folder {
                        stems(end).for_each(|stem| names.add(stem, &leaf(stem), true));
                    }
                }
            }
        }
        names
    }

    /// Lets no name travel.
    fn numbered(paths: &[&str]) -> Self {
        let mut names = Self { instead: BTreeMap::new() };
        let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
        let mut words: BTreeMap<String, (String, bool)> = BTreeMap::new();
        for (number, path) in (1..).zip(paths) {
            let of_file = format!("file {number}");
            for (end, is_folder) in ends(path) {
                let called = if is_folder {
                    let next = folders.len() + 1;
                    format!("folder {}", folders.entry(end).or_insert(next))
                } else {
                    of_file.clone()
                };
                let last = leaf(end);
                // With its extension or its folders a name is one, whatever words it has.
                for whole in [end, &last] {
                    if whole.contains(['.', '/', '\\']) || !vocabulary::is_made_of_common_words(whole) {
                        names.add(whole, &called, false);
                    }
                }
                for stem in stems(end).chain(stems(&last)) {
                    if !vocabulary::is_made_of_common_words(stem) {
                        names.add(stem, &called, false);
                    }
                }
                for word in vocabulary::words(end).filter(|word| !vocabulary::is_common(word)) {
                    let (of, is_shared) = words.entry(word.to_lowercase()).or_insert_with(|| (called.clone(), false));
                    *is_shared |= *of != called;
                }
            }
        }
        for (number, (word, (called, is_shared))) in (1..).zip(words) {
            let called = if is_shared { format!("name {number}") } else { called };
            names.add(&word, &called, vocabulary::is_unlike_all(&word));
        }
        names
    }

    fn add(&mut self, text: &str, instead: &str, within_words: bool) {
        self.instead.entry(text.to_ascii_lowercase()).or_insert_with(|| (instead.to_owned(), within_words));
    }

    /// Replaces the names in all texts of a report.
    pub fn apply(&self, report: &mut Report) {
        let replacer =
            Replacer::new(self.instead.iter().map(|(text, (instead, within))| (&**text, &**instead, *within)));
        if replacer.is_empty() {
            return;
        }
        texts::each(report, &mut |text, is_name| {
            if let Some(replaced) = replacer.replaced(text) {
                // Names of files and identifiers hold no space.
                *text = if is_name { replaced.replace(' ', "-") } else { replaced };
            }
        });
    }
}

/// A path and its shorter ends, and all of that for each folder on the way: `a/b/c.csv` gives `a/b/c.csv`, `b/c.csv`,
/// `c.csv`, and as folders `a`, `a/b`, `b`.
fn ends(path: &str) -> impl Iterator<Item = (&str, bool)> {
    let is_separator = |c: char| c == '/' || c == '\\';
    let folders = path.match_indices(is_separator).map(|(at, _)| (&path[..at], true));
    std::iter::once((path, false)).chain(folders).flat_map(move |(whole, is_folder)| {
        let shorter = whole.match_indices(is_separator).map(move |(at, _)| &whole[at + 1..]);
        std::iter::once(whole).chain(shorter).filter(|end| !end.is_empty()).map(move |end| (end, is_folder))
    })
}

/// A name without its last extension, without its last two, and so on.
fn stems(name: &str) -> impl Iterator<Item = &str> {
    let from = name.rfind(['/', '\\']).map_or(0, |at| at + 1);
    name.rmatch_indices('.').map(|(at, _)| at).filter(move |at| *at > from).map(|at| &name[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(names: &NameReplacements, text: &str) -> String {
        let mut report = Report { title: text.to_owned(), ..Report::default() };
        names.apply(&mut report);
        report.title
    }

    #[test]
    fn no_part_of_a_name_travels_where_names_stay() {
        let names =
            NameReplacements::numbered(&["Customers/AcmeSecret/acmeDump.xml", "runs/acme.csv", "H100_wopwop_fp16.csv"]);
        for (text, expected) in [
            ("all_gather over Customers/AcmeSecret/acmeDump in 3 µs", "all_gather over file 1 in 3 µs"),
            ("acmeDump-edited, of AcmeSecret", "file 1-edited, of folder 2"),
            ("ACMEDUMP.XML and acmedump_2n", "file 1 and file 1_2n"),
            ("acme: 3 rows of runs/acme.csv", "file 2: 3 rows of file 2"),
            ("operator wopwop on an H100", "operator file 3 on an H100"),
            ("wopwop2, wopwo…, acmeD…", "file 32, file 3…, file 1…"),
        ] {
            assert_eq!(without(&names, text), expected);
        }
    }

    #[test]
    fn common_words_stay_and_names_of_them_go() {
        let names = NameReplacements::numbered(&["all_reduce.csv", "kernel.csv", "16.log", "a.csv"]);
        let text = "all_reduce of 16 ranks, a kernel; all_reduce.csv, kernel.csv, 16.log and a.csv";
        assert_eq!(without(&names, text), "all_reduce of 16 ranks, a kernel; file 1, file 2, file 3 and file 4");
    }

    #[test]
    fn a_word_of_several_files_is_of_none() {
        let names = NameReplacements::numbered(&["acme_one.csv", "acme_two.csv"]);
        assert_eq!(without(&names, "acme_one, acme_two, acme"), "file 1, file 2, name 1");
    }

    #[test]
    fn paths_never_travel() {
        let names = NameReplacements::without_folders(&["/home/me/secret/dump.xml", "b.csv", "Perlmutter/b.csv"]);
        for (text, expected) in [
            ("over /home/me/secret/dump in 3 µs, home/me/secret/dump.xml", "over dump in 3 µs, dump.xml"),
            ("b.csv, Perlmutter/b.csv, cluster Perlmutter", "b.csv, b.csv, cluster Perlmutter"),
            ("in /home/me/secret", "in secret"),
        ] {
            assert_eq!(without(&names, text), expected);
        }
    }
}
