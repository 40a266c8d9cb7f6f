//! Shortens paths to the parts that distinguish them.

use std::collections::BTreeMap;

/// Each path shortened to the file's name and as many of its folders as distinguish it from the others.
///
/// ```
/// use collectune::text::apart;
/// let paths = ["/data/monday/sweep.csv", "/data/tuesday/sweep.csv", "/data/other.csv"].map(str::to_owned);
/// assert_eq!(apart(&paths), ["monday/sweep.csv", "tuesday/sweep.csv", "other.csv"]);
/// ```
pub fn apart(paths: &[String]) -> Vec<&str> {
    let mut ends: Vec<&str> = paths.iter().map(|path| end(path, 1)).collect();
    let longest = paths.iter().map(|path| path.matches(SEPARATORS).count() + 1).max().unwrap_or(1);
    for parts in 2..=longest {
        let mut of_end: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (place, end) in ends.iter().enumerate() {
            of_end.entry(*end).or_default().push(place);
        }
        let same = |places: &&Vec<usize>| places.iter().any(|place| paths[*place] != paths[places[0]]);
        let places: Vec<usize> = of_end.values().filter(same).flatten().copied().collect();
        if places.is_empty() {
            break;
        }
        places.into_iter().for_each(|place| ends[place] = end(&paths[place], parts));
    }
    ends
}

const SEPARATORS: [char; 2] = ['/', '\\'];

/// The last `parts` components of a path.
fn end(path: &str, parts: usize) -> &str {
    path.rmatch_indices(SEPARATORS).nth(parts - 1).map_or(path, |(at, _)| &path[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_kept() {
        let paths = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
        let of = |names: &[&str]| apart(&paths(names)).iter().map(|end| (*end).to_owned()).collect::<Vec<_>>();
        assert_eq!(of(&["a/x/m.csv", "b/x/m.csv", "b/y/m.csv"]), ["a/x/m.csv", "b/x/m.csv", "y/m.csv"]);
        assert_eq!(of(&["m.csv", "x/m.csv"]), ["m.csv", "x/m.csv"]);
        assert_eq!(of(&["x/m.csv", "x/m.csv"]), ["m.csv", "m.csv"]);
        assert_eq!(of(&["C:\\a\\m.csv", "C:\\b\\m.csv"]), ["a\\m.csv", "b\\m.csv"]);
        assert!(apart(&[]).is_empty());
    }
}
