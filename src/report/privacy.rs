//! Names of files stay at home where they are not to travel, and paths always.

use crate::{
    order::Order,
    plot::Quantity,
    report::{Contents, LoadedFile, Report, wire::leaf},
    text::Problems,
};

/// Names of files without their paths, or numbers instead of them: `file 2`.
pub(super) struct Names<'a> {
    /// Long names first, for one may begin with another.
    instead: Vec<(&'a str, String)>,
    /// With which bytes they begin.
    begins: [bool; 256],
}

impl<'a> Names<'a> {
    /// What the contents say of names; the loaded files lose theirs where none may travel.
    pub fn of(contents: &Contents, files: &mut [LoadedFile], problems: &[(&'a str, &Problems)]) -> Self {
        let names = problems.iter().map(|(name, _)| *name);
        if contents.file_names {
            return Self::without_paths(names);
        }
        files.iter_mut().for_each(|file| file.name = None);
        Self::hidden(names)
    }

    /// Names may travel, paths may not.
    fn without_paths(names: impl Iterator<Item = &'a str>) -> Self {
        Self::new(names.map(|name| (name, leaf(name))).filter(|(name, leaf)| name != leaf).collect())
    }

    /// No name may travel.
    fn hidden(names: impl Iterator<Item = &'a str>) -> Self {
        Self::new((1..).zip(names).map(|(n, name)| (name, format!("file {n}"))).collect())
    }

    fn new(mut instead: Vec<(&'a str, String)>) -> Self {
        instead.retain(|(name, _)| !name.is_empty());
        instead.order_by_key(|(name, _)| usize::MAX - name.len());
        let mut begins = [false; 256];
        instead.iter().for_each(|(name, _)| begins[usize::from(name.as_bytes()[0])] = true);
        Self { instead, begins }
    }

    /// The text without any name that stands by itself, and not within a longer word.
    pub fn without(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let (mut before, mut rest) = (None, text);
        while let Some(first) = rest.chars().next() {
            let (said, next) = match self.begin(before, rest) {
                Some((name, instead)) => (instead, &rest[name.len()..]),
                None => rest.split_at(first.len_utf8()),
            };
            out.push_str(said);
            before = out.chars().next_back();
            rest = next;
        }
        out
    }

    /// The name with which the text begins, and what is said instead.
    fn begin(&self, before: Option<char>, text: &str) -> Option<(&str, &str)> {
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let first = *text.as_bytes().first()?;
        if !self.begins[usize::from(first)] || is_word(before) && is_word(text.chars().next()) {
            return None;
        }
        let stands = |name: &str| {
            let after = text.strip_prefix(name).map(|after| after.chars().next());
            after.is_some_and(|after| !(is_word(after) && is_word(name.chars().next_back())))
        };
        self.instead.iter().find(|(name, _)| stands(name)).map(|(name, instead)| (*name, instead.as_str()))
    }

    /// The report without any name.
    pub fn leave(&self, report: &mut Report) {
        if self.instead.is_empty() {
            return;
        }
        let clean = |text: &mut String| *text = self.without(text);
        report.summary.iter_mut().for_each(clean);
        report.parameters.iter_mut().for_each(|fact| clean(&mut fact.value));
        for section in &mut report.sections {
            section.text.iter_mut().for_each(clean);
            clean(&mut section.title);
            for chart in &mut section.charts {
                clean(&mut chart.title);
                for axis in [&mut chart.x, &mut chart.y] {
                    if let Quantity::Names(names) = &mut axis.quantity {
                        names.iter_mut().for_each(clean);
                    }
                }
                chart.series.iter_mut().for_each(|series| clean(&mut series.name));
            }
            let cells = section.tables.iter_mut().flat_map(|table| &mut table.listing.rows).flatten();
            cells.for_each(|entry| clean(&mut entry.text));
            section.files.iter_mut().for_each(|file| {
                clean(&mut file.text);
                clean(&mut file.note);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbers_where_they_stay_at_home() {
        let names = Names::hidden(["a.csv", "runs/a.csv", "a"].into_iter());
        assert_eq!(
            names.without("a row of runs/a.csv (line 3) and of a.csv: all"),
            "file 3 row of file 2 (line 3) and of file 1: all"
        );
        assert_eq!(names.without("xa.csv and a.csvs"), "xa.csv and file 3.csvs");
        let names = Names::hidden(["µs.csv", "1"].into_iter());
        assert_eq!(names.without("10 rows of µs.csv, 1 of 1"), "10 rows of file 1, file 2 of file 2");
        let names = Names::without_paths(["/home/me/a.csv", "b.csv"].into_iter());
        assert_eq!(names.without("1 row in /home/me/a.csv and b.csv"), "1 row in a.csv and b.csv");
    }
}
