//! Names of files stay at home where they are not to travel, and paths always.

use crate::{
    order::Order,
    plot::Quantity,
    report::{Contents, LoadedFile, Report, wire::leaf},
    text::Problems,
};

/// Names of files without their paths, or numbers instead of them: `file 2`.
pub(super) struct Names<'a> {
    /// Long names first, for one may hold another.
    instead: Vec<(&'a str, String)>,
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
        Self { instead }
    }

    /// The text without any name.
    pub fn without(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, instead) in &self.instead {
            text = replaced(&text, name, instead);
        }
        text
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

/// Replaces a name where it stands by itself and not within a longer word.
fn replaced(text: &str, name: &str, instead: &str) -> String {
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (before, after) = (&rest[..at], &rest[at + name.len()..]);
        let last = before.chars().next_back().or_else(|| out.chars().next_back());
        let within = is_word(last) && is_word(name.chars().next())
            || is_word(after.chars().next()) && is_word(name.chars().next_back());
        out.push_str(before);
        out.push_str(if within { name } else { instead });
        rest = after;
    }
    out + rest
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
        assert_eq!(names.without("xa.csv"), "xa.csv");
        let names = Names::without_paths(["/home/me/a.csv", "b.csv"].into_iter());
        assert_eq!(names.without("1 row in /home/me/a.csv and b.csv"), "1 row in a.csv and b.csv");
    }
}
