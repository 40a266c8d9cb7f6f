//! What the ranks of a communicator agreed on: the files `epoch-000000`, `epoch-000001` and so on, which the tuner
//! plugin leaves in `COLLECTUNE_TUNER_DIR`, in a folder for each communicator. With them and the number of a call,
//! the lines of a log are attributed to arms.
//!
//! A record is a line with its fields, the text of the file that the ranks follow, and the last line of a policy
//! file, whose checksum and length show whether the record is complete.
//!
//! ```text
//! collectune-record 1 static nodes=2 ranks=16 overlap=0 epoch=1024
//! allreduce,0,65536,tree,ll,8,2,16
//! #crc32 0F1E2D3C 97
//! ```
//!
//! Where the ranks carry the rows of the library's own table, the first line ends in ` built-in=rccl-2.30.4-gfx950`.

use std::{fmt, str::FromStr};

use super::{
    arm::Arm,
    bands::Bands,
    file::{Choice, Entry, FileError, ParsedPolicy, Policy, with_checksum, without_checksum},
};
use crate::{
    collective::{Algorithm, Collective, Protocol, Scale},
    conf::{built_in::Table, words::COLLECTIVES},
    math::mix,
};

const FORMAT: &str = "collectune-record 1 ";

/// Stands before the name of the library's table, where there is one.
const BUILT_IN: &str = "built-in=";

/// The first record: what a communicator does from its creation on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum First {
    /// The ranks follow no file; the library chooses.
    Passive,
    /// The ranks follow a file.
    Active(Active),
}

/// Everything besides the call on which the plugin's answers depend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Active {
    /// How the text is interpreted.
    pub follow: Follow,
    /// Nodes and ranks of the communicator.
    pub scale: Scale,
    /// Whether the job overlaps computation with communication.
    pub overlap: bool,
    /// The number of calls in an epoch.
    pub epoch: u64,
    /// The table of the library whose rows answer where the file leaves the choice to the library; `None`: none.
    pub built_in: Option<Table>,
    /// The whole text of a tuner file or a policy file.
    pub text: String,
}

/// How the text of a record is interpreted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// A tuner file, as it is until the job ends.
    Static,
    /// A policy file, as it is until the job ends.
    Policy,
    /// A policy file, until the ranks agree on the next one.
    Online,
}

const FOLLOWS: [(&str, Follow); 3] =
    [("static", Follow::Static), ("policy", Follow::Policy), ("online", Follow::Online)];

/// A later record: the file that an epoch follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// The same file as before.
    Keep,
    /// The text of this policy file.
    Policy(String),
}

impl fmt::Display for First {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passive => f.write_str("passive"),
            Self::Active(active) => {
                let word = FOLLOWS.iter().find(|(_, follow)| *follow == active.follow).map_or("", |(word, _)| word);
                let Scale { nodes, ranks } = active.scale;
                let overlap = u8::from(active.overlap);
                write!(f, "{word} nodes={nodes} ranks={ranks} overlap={overlap} epoch={}", active.epoch)?;
                active.built_in.map_or(Ok(()), |table| write!(f, " {BUILT_IN}{}", table.key()))
            }
        }
    }
}

impl First {
    /// The record as the ranks exchange it, with the checksum of its text.
    pub fn text(&self) -> String {
        let body = match self {
            Self::Passive => "",
            Self::Active(active) => &active.text,
        };
        record(&self.to_string(), body)
    }

    /// Reads a record; `None` if it is incomplete or no record.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (head, body) = parts(bytes).ok()?;
        Self::of(head, body)
    }

    fn of(head: &str, body: &str) -> Option<Self> {
        let mut words = head.split(' ');
        let word = words.next()?;
        if word == "passive" {
            return Some(Self::Passive);
        }
        let (_, follow) = *FOLLOWS.iter().find(|(known, _)| *known == word)?;
        let nodes = member(&mut words, "nodes=")?;
        let ranks = member(&mut words, "ranks=")?;
        let overlap = member::<u8>(&mut words, "overlap=")? == 1;
        let epoch = member(&mut words, "epoch=")?;
        let built_in = match words.next() {
            Some(word) => Some(word.strip_prefix(BUILT_IN)?.parse().ok()?),
            None => None,
        };
        let (scale, text) = (Scale { nodes, ranks }, body.to_owned());
        Some(Self::Active(Active { follow, scale, overlap, epoch, built_in, text }))
    }
}

impl Next {
    /// The record as the ranks exchange it, with the checksum of its text.
    pub fn text(&self) -> String {
        match self {
            Self::Keep => record("keep", ""),
            Self::Policy(text) => record("next", text),
        }
    }

    /// Reads a record; `None` if it is incomplete or no record.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (head, body) = parts(bytes).ok()?;
        Self::of(head, body)
    }

    fn of(head: &str, body: &str) -> Option<Self> {
        match head {
            "keep" => Some(Self::Keep),
            "next" => Some(Self::Policy(body.to_owned())),
            _ => None,
        }
    }
}

/// The policy that a record carries, the first or a later one; `None` where its ranks keep what they followed before,
/// follow a tuner file, or nothing.
///
/// # Errors
/// Returns an error if the record is incomplete or not valid, or if its policy is not.
pub fn policy(bytes: &[u8]) -> Result<Option<ParsedPolicy>, FileError> {
    let (head, body) = parts(bytes)?;
    let carries = match (First::of(head, body), Next::of(head, body)) {
        (Some(First::Active(Active { follow, .. })), _) => follow != Follow::Static,
        (Some(First::Passive), _) | (_, Some(Next::Keep)) => false,
        (_, Some(Next::Policy(_))) => true,
        (None, None) => return Err(FileError::Record),
    };
    let read = || Policy::read(body.as_bytes()).map_err(|error| FileError::Carried(error.into()));
    carries.then(read).transpose()
}

fn record(head: &str, body: &str) -> String {
    // The checksum begins a line of its own, whether the text ends with one or not.
    with_checksum(format!("{FORMAT}{head}\n{body}\n"))
}

fn parts(bytes: &[u8]) -> Result<(&str, &str), FileError> {
    let text = std::str::from_utf8(without_checksum(bytes)?).ok();
    text.and_then(|text| text.strip_prefix(FORMAT)?.strip_suffix('\n')?.split_once('\n')).ok_or(FileError::Record)
}

fn member<'a, T: FromStr>(words: &mut impl Iterator<Item = &'a str>, name: &str) -> Option<T> {
    words.next()?.strip_prefix(name)?.parse().ok()
}

/// The number of calls that a key explores online before any reward of it arrives.
pub const UNREWARDED_CALLS: u64 = 1024;

/// A policy to begin with online, whose keys return to the library's choice where no rewards come in.
pub fn returning(policy: Policy) -> Policy {
    Policy { unrewarded_calls: policy.unrewarded_calls.or(Some(UNREWARDED_CALLS)), ..policy }
}

/// With what an online communicator begins where no policy is given: it tries the usual arms equally often.
pub fn beginning(scale: Scale, comm_id: u64) -> Policy {
    const TRIED: [(Algorithm, Protocol); 3] =
        [(Algorithm::Tree, Protocol::Simple), (Algorithm::Tree, Protocol::Ll128), (Algorithm::Ring, Protocol::Simple)];
    const EACH: u32 = 16;
    let forced = TRIED.map(|(algorithm, protocol)| Arm::Forced { algorithm, protocol, channels: 0 });
    let arms: Vec<Arm> = std::iter::once(Arm::Auto).chain(forced).collect();
    let bands = Bands::default();
    let all = |collective: Collective| {
        let choice = Choice::Counts(vec![EACH; arms.len()]);
        let entry = move |band| Entry { collective, band, scale, overlap: None, choice: choice.clone() };
        (0..bands.len() as u32).map(entry)
    };
    let keys = COLLECTIVES.into_iter().flat_map(|(_, collective)| all(collective)).collect();
    let policy = Policy { seed: mix(comm_id), bands: bands.clone(), keys, arms, ..Policy::default() };
    returning(policy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes_and_nothing_that_is_torn() {
        let scale = Scale { nodes: 2, ranks: 16 };
        let with = |built_in, follow, text: &str| {
            First::Active(Active { follow, scale, overlap: true, epoch: 64, built_in, text: text.to_owned() })
        };
        let active = |follow, text| with(None, follow, text);
        let policy = beginning(scale, 7).text();
        let table = "rccl-2.30.4-gfx950".parse().ok();
        assert!(table.is_some());
        for first in [
            First::Passive,
            active(Follow::Static, ""),
            active(Follow::Static, "a\n\nb"),
            active(Follow::Online, &policy),
            with(table, Follow::Policy, &policy),
        ] {
            let text = first.text();
            assert_eq!(First::read(text.as_bytes()), Some(first));
            assert!((0..text.len()).all(|length| First::read(&text.as_bytes()[..length]).is_none()));
            assert_eq!(Next::read(text.as_bytes()), None);
        }
        for next in [Next::Keep, Next::Policy(policy)] {
            let text = next.text();
            assert_eq!(Next::read(text.as_bytes()), Some(next));
            assert!((0..text.len()).all(|length| Next::read(&text.as_bytes()[..length]).is_none()));
            assert_eq!(First::read(text.as_bytes()), None);
        }
    }

    #[test]
    fn what_a_record_carries_is_read_or_it_is_said_why_not() {
        let own = beginning(Scale { nodes: 2, ranks: 16 }, 7);
        let active = |follow, text: &str| {
            let scale = Scale { nodes: 2, ranks: 16 };
            First::Active(Active { follow, scale, overlap: false, epoch: 64, built_in: None, text: text.to_owned() })
                .text()
        };
        let carried = |text: &str| policy(text.as_bytes()).map(|reading| reading.map(|reading| reading.policy));
        let text = own.text();
        for record in [active(Follow::Online, &text), active(Follow::Policy, &text), Next::Policy(text.clone()).text()]
        {
            assert_eq!(carried(&record), Ok(Some(own.clone())));
            assert!((0..record.len()).all(|length| policy(&record.as_bytes()[..length]).is_err()));
        }
        for record in [First::Passive.text(), active(Follow::Static, "allreduce,0,9,tree,ll,8,2,16"), Next::Keep.text()]
        {
            assert_eq!(carried(&record), Ok(None));
        }
        let torn = Next::Policy(text[..text.len() - 9].to_owned()).text();
        let told = carried(&torn).unwrap_err().to_string();
        assert!(told.starts_with("carries a policy that can't be followed (does not end with a line"), "{told}");
        for other in ["collectune-record 2 next\n\n", "collectune-record 1 then\n\n", "collectune-record 1 next\n"] {
            assert_eq!(carried(&with_checksum(other.to_owned())), Err(FileError::Record), "{other}");
        }
    }

    #[test]
    fn a_beginning_can_be_followed() {
        let policy = beginning(Scale { nodes: 1, ranks: 8 }, 1);
        let reading = Policy::read(policy.text().as_bytes()).unwrap();
        assert_eq!((reading.policy, reading.notes), (policy, Vec::new()));
    }
}
