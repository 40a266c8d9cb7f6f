//! Where measurements come from: what must agree before they are pooled.
//!
//! Conclusions never transfer between library builds, sets of nodes and data types. Collective, nodes and ranks tell
//! workloads apart; what tells measurements of one workload apart is kept here, and where files differ in it that is
//! said.

use crate::sorted::{SortedMap, SortedSet};

use crate::collective::{Collective, Scale};

/// What measurements of one collective and scale were taken with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Versions of the library, as files print them.
    pub libraries: SortedSet<String>,
    /// Data type and operation: `float sum`.
    pub types: SortedSet<String>,
    /// Which nodes took part, as numbers that stand for the sets of their names. Names never leave the reader.
    pub hosts: SortedSet<u64>,
}

/// Of each collective and scale of a file.
pub type Origins = SortedMap<(Collective, Scale), Origin>;

impl Origin {
    /// The most different values of one kind that are kept.
    const MOST: usize = 8;

    /// Adds a version of the library; only what versions are made of is kept.
    pub fn library(&mut self, text: &str) {
        let is_part = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-' | ':');
        let version: String = text.trim().chars().take_while(is_part).take(40).collect();
        if !version.is_empty() && self.libraries.len() < Self::MOST {
            self.libraries.insert(version);
        }
    }

    /// Adds a data type and an operation.
    pub fn measured_type(&mut self, datatype: &str, redop: &str) {
        let is_part = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        let word = |text: &str| text.trim().chars().take_while(is_part).take(16).collect::<String>();
        let redop = Some(word(redop)).filter(|redop| !redop.is_empty() && redop != "none");
        let both = redop.into_iter().fold(word(datatype), |both, redop| format!("{both} {redop}"));
        if !both.trim().is_empty() && self.types.len() < Self::MOST {
            self.types.insert(both);
        }
    }

    /// Adds what another file says.
    pub fn merge(&mut self, other: &Self) {
        self.libraries.extend(other.libraries.iter().cloned());
        self.types.extend(other.types.iter().cloned());
        self.hosts.extend(other.hosts.iter().copied());
    }
}

/// What must be known before files are pooled: for each collective and scale, in what they differ. Files that don't
/// say something agree with all others.
#[must_use]
pub fn differences<'a>(files: impl IntoIterator<Item = (&'a str, &'a Origins)>) -> Vec<String> {
    let mut by_group: SortedMap<(Collective, Scale), Vec<(&str, &Origin)>> = SortedMap::new();
    for (name, origins) in files {
        for (group, origin) in origins {
            by_group.entry(*group).or_default().push((name, origin));
        }
    }
    let mut notes = Vec::new();
    for ((collective, scale), files) in by_group {
        let kinds: [(&str, Values); 3] = [
            ("versions of the library", |origin| origin.libraries.iter().cloned().collect()),
            ("data types or operations", |origin| origin.types.iter().cloned().collect()),
            ("sets of nodes", |origin| origin.hosts.iter().map(u64::to_string).collect()),
        ];
        for (kind, values_of) in kinds {
            let all: SortedSet<String> = files.iter().flat_map(|(_, origin)| values_of(origin)).collect();
            if all.len() < 2 {
                continue;
            }
            notes.push(difference(collective, scale, kind, &files, &all, values_of));
        }
    }
    notes
}

/// What an origin has of one kind.
type Values = fn(&Origin) -> Vec<String>;

/// The most files that a note names.
const NAMED: usize = 4;

fn difference(
    collective: Collective,
    scale: Scale,
    kind: &str,
    files: &[(&str, &Origin)],
    all: &SortedSet<String>,
    values_of: Values,
) -> String {
    let is_hosts = kind.starts_with("sets");
    let named = all.iter().enumerate().map(|(at, value)| {
        let with: Vec<&str> =
            files.iter().filter(|(_, origin)| values_of(origin).contains(value)).map(|(name, _)| *name).collect();
        let value = if is_hosts { format!("set {}", at + 1) } else { value.clone() };
        let more = with.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{value} in {}{more}", with[..with.len().min(NAMED)].join(", "))
    });
    format!(
        "{collective} on {scale}: measured with different {kind} ({}). They are pooled as one sweep; drop the files that \
         don't belong to it, for such conclusions don't carry over",
        named.collect::<Vec<_>>().join("; ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origins(library: &str, datatype: &str, hosts: u64) -> Origins {
        let mut origin = Origin::default();
        origin.library(library);
        origin.measured_type(datatype, "sum");
        origin.hosts.insert(hosts);
        [((Collective::AllReduce, Scale { nodes: 2, ranks: 16 }), origin)].into()
    }

    #[test]
    fn what_differs_is_named() {
        let (a, b, c) = (origins("2.26.6", "float", 7), origins("2.28.3 /home/x", "float", 7), origins("", "float", 9));
        assert_eq!(differences([("a.log", &a), ("a2.log", &a)]), Vec::<String>::new());
        let notes = differences([("a.log", &a), ("b.log", &b), ("c.log", &c)]);
        assert_eq!(notes.len(), 2);
        assert!(notes[0].contains("versions of the library (2.26.6 in a.log; 2.28.3 in b.log)"), "{notes:?}");
        assert!(notes[1].contains("sets of nodes (set 1 in a.log, b.log; set 2 in c.log)"), "{notes:?}");
        let half = origins("2.26.6", "half", 7);
        assert!(differences([("a.log", &a), ("h.log", &half)])[0].contains("(float sum in a.log; half sum in h.log)"));
    }
}
