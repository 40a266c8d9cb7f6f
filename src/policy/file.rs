//! The policy file: what the plugin loads, and what a record of an epoch carries.
//!
//! UTF-8 JSON, then a last line `#crc32 XXXXXXXX LENGTH` over the bytes before it, so that a file that is torn anywhere
//! is known to be torn:
//!
//! ```json
//! {"format":"collectune-policy","version":1,"generation":17,"library":"2.28.9","bands":[1024,262144],"seed":"0x2a",
//!  "arms":[{"name":"auto"},{"algo":"tree","proto":"simple","channels":0}],
//!  "keys":[{"coll":"allreduce","band":1,"nodes":2,"ranks":8,"overlap":null,"arm":1}],
//!  "evidence":[{"key":0,"n":[64,64],"mean_ms":[10.5,9.25],"p_better":0.97,"gain_pct":4.1}],"unrewarded_calls":1024}
//! ```
//!
//! A policy that gives chunk sizes is of version 2, which has one more member. Programs that know version 1 alone
//! refuse it, since ranks that use other chunk sizes hang:
//!
//! ```json
//! {"chunk_sizes":[{"coll":"allreduce","nodes":2,"ranks":8,"algo":"ring","proto":"simple",
//!  "min_channel_bytes":1048576,"max_channel_bytes":4194303,"chunk_bytes":262144}]}
//! ```

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{
    arm::Arm,
    bands::{Bands, BandsError},
    chunks::{ChunkDocument, ChunkSize, ChunkSizeError, MOST_CHUNK_SIZES},
    key::BandKey,
};
use crate::{
    bandit::schedule::{MAX_ARMS, MAX_BLOCK_CALLS, block_length},
    collective::{Collective, Scale},
    conf::words::{COLLECTIVES, word},
    crc32::CRC32,
    order::CompactCollect,
    text::json,
};

/// The value of `format` in a policy file.
const FORMAT: &str = "collectune-policy";
/// The version of the format in which policies without chunk sizes are written.
const VERSION: u32 = 1;
/// The version of the format in which policies with chunk sizes are written.
const VERSION_WITH_CHUNKS: u32 = 2;
/// The beginning of the last line, which holds the checksum and the length.
const FOOTER: &str = "#crc32 ";
/// The most bytes that a policy file can have.
pub const LONGEST: usize = 16 << 20;
/// The most keys that a policy file can have.
pub const MOST_KEYS: usize = 4096;

/// A policy: which arm to run for which key. A key that is not listed runs `auto`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy {
    /// Counts up with every change: an older one never replaces a newer one.
    pub generation: u64,
    /// The library's version, where it is known: what `auto` means depends on it.
    pub library: Option<String>,
    /// The bands of message sizes.
    pub bands: Bands,
    /// The seed of the schedules of keys that explore.
    pub seed: u64,
    /// The arms; the first is [`Arm::Auto`].
    pub arms: Vec<Arm>,
    /// The keys, each at most once.
    pub keys: Vec<Entry>,
    /// The evidence behind the choices.
    pub evidence: Vec<Evidence>,
    /// The number of calls after which an exploring key runs `auto` unless the policy has evidence for it, as nobody
    /// learns from its calls then. `None` if it explores without end.
    pub unrewarded_calls: Option<u64>,
    /// The chunk sizes that it gives; all others are the library's.
    pub chunk_sizes: Vec<ChunkSize>,
}

/// One key and what to run for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// One of the five collectives for which a tuner is called.
    pub collective: Collective,
    /// The index of the band of message sizes.
    pub band: u32,
    /// The communicator's nodes and ranks, all of which must match.
    pub scale: Scale,
    /// For jobs that overlap, for those that don't, or for both.
    pub overlap: Option<bool>,
    /// The arm to run, or how often to run each.
    pub choice: Choice,
}

/// One arm, or several by a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Always the arm with this index in [`Policy::arms`].
    Fixed(u32),
    /// In every block of calls each arm so often, shuffled by [`crate::bandit::schedule::fill_block`]; a count per arm.
    Counts(Vec<u32>),
}

/// The evidence behind the choice for one key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The index of the key in [`Policy::keys`].
    pub key: u32,
    /// The number of observations of each arm.
    pub n: Vec<u64>,
    /// Mean latency per arm, in milliseconds; 0 where an arm has none.
    #[serde(deserialize_with = "json::exact_list")]
    pub mean_ms: Vec<f64>,
    /// The probability that the chosen arm is faster than `auto`, between 0 and 1.
    #[serde(deserialize_with = "json::exact")]
    pub p_better: f64,
    /// Gain over `auto`, in per cent of its mean latency.
    #[serde(deserialize_with = "json::exact")]
    pub gain_pct: f64,
}

/// A policy that was read, and what of it is not as it was meant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParsedPolicy {
    /// The policy that was read.
    pub policy: Policy,
    /// In words: keys that run `auto` because their arm is not there.
    pub notes: Vec<String>,
}

/// The reason why a text is no valid policy file. Messages are shown to users.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FileError {
    /// The text exceeds [`LONGEST`] bytes.
    #[error("is no policy file: it has more than {} MiB", LONGEST >> 20)]
    TooLong,
    /// The last line holds no checksum.
    #[error("does not end with a line \"#crc32 XXXXXXXX LENGTH\": it is torn, or no policy file")]
    NoChecksum,
    /// The file's length differs from what the last line says.
    #[error("has {found} bytes before its checksum where {declared} were written: it is torn")]
    Torn {
        /// The length that the last line says, in bytes.
        declared: u64,
        /// The length of the text, in bytes.
        found: usize,
    },
    /// The checksum differs from what the last line says.
    #[error("has the checksum {found:08X} where {declared:08X} was written: it was changed or torn")]
    Checksum {
        /// The checksum in the last line.
        declared: u32,
        /// The checksum of the text.
        found: u32,
    },
    /// No JSON, or not the members that a policy has, or one of them twice.
    #[error("is no policy: {0}")]
    Json(String),
    /// The `format` is this one.
    #[error("is of the format {0:?}, not \"collectune-policy\"")]
    Format(String),
    /// The `version` is this one.
    #[error("is of version {0}; this program reads versions 1 and 2")]
    Version(u32),
    /// The bounds of the bands are not valid.
    #[error(transparent)]
    Bands(#[from] BandsError),
    /// The seed is no unsigned 64-bit number.
    #[error("has the seed {0:?}, which is no \"0x…\" of up to 16 digits")]
    Seed(String),
    /// The number of arms is 0 or too large.
    #[error("has {0} arms; 1 to {MAX_ARMS} are possible")]
    Arms(usize),
    /// The first arm is this one instead of `auto`.
    #[error("arm 0 is {0}, but must be auto")]
    FirstArm(Arm),
    /// The arm with this index is not valid, or listed twice.
    #[error("arm {0} is neither auto nor an algorithm and a protocol that a tuner can ask for")]
    Arm(usize),
    /// The file has this many keys, more than [`MOST_KEYS`].
    #[error("has {0} keys; at most {MOST_KEYS} are possible")]
    TooManyKeys(usize),
    /// A collective for which a tuner is not called.
    #[error("key {key}: a tuner is not asked about the collective {word:?}")]
    Collective {
        /// The index of the key, from 0.
        key: usize,
        /// The collective as the file writes it.
        word: String,
    },
    /// A band that does not exist.
    #[error("key {key}: there is no band {band}")]
    Band {
        /// The index of the key, from 0.
        key: usize,
        /// The index of the band as the file writes it, from 0.
        band: u32,
    },
    /// The overlap of the key with this index is neither 0, 1 nor null.
    #[error("key {0}: overlap must be 0, 1 or null")]
    Overlap(usize),
    /// The key with this index has neither an arm nor counts, or both.
    #[error("key {0} must have either an arm or counts")]
    Choice(usize),
    /// Counts that are not one per arm, or too few or many in all.
    #[error("key {0}: counts must be one per arm, and 1 to {MAX_BLOCK_CALLS} in all")]
    Counts(usize),
    /// Not what ranks agree on, or not in the version that is read.
    #[error("is no record of an epoch as this program writes it")]
    Record,
    /// The policy within a record is not valid.
    #[error("carries a policy that can't be followed ({0})")]
    Carried(Box<FileError>),
    /// The same key is listed twice.
    #[error("key {second} is key {first} again")]
    Twice {
        /// The index of the earlier one, from 0.
        first: usize,
        /// The index of the later one, from 0.
        second: usize,
    },
    /// The file has this many chunk sizes, more than [`MOST_CHUNK_SIZES`].
    #[error("has {0} chunk sizes; at most {MOST_CHUNK_SIZES} are possible")]
    TooManyChunkSizes(usize),
    /// The chunk size with this index, from 0, can't be followed.
    #[error("chunk size {0}: {1}")]
    ChunkSize(usize, ChunkSizeError),
}

#[derive(Serialize, Deserialize)]
struct Document {
    format: String,
    version: u32,
    generation: u64,
    #[serde(default)]
    library: Option<String>,
    bands: Vec<u64>,
    seed: String,
    arms: Vec<ArmDocument>,
    keys: Vec<KeyDocument>,
    #[serde(default)]
    evidence: Vec<Evidence>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unrewarded_calls: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    chunk_sizes: Vec<ChunkDocument>,
    #[serde(flatten)]
    unknown: Unknown,
}

/// Members of an object that this program does not know. They are kept for notes.
type Unknown = BTreeMap<String, serde_json::Value>;

#[derive(Default, Serialize, Deserialize)]
struct ArmDocument {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    algo: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    proto: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    channels: Option<u32>,
    #[serde(flatten)]
    unknown: Unknown,
}

#[derive(Serialize, Deserialize)]
struct KeyDocument {
    coll: String,
    band: u32,
    nodes: u32,
    ranks: u32,
    #[serde(default)]
    overlap: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arm: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counts: Option<Vec<u32>>,
    #[serde(flatten)]
    unknown: Unknown,
}

impl Policy {
    /// The entry for a key, or `None` if it runs `auto`. An entry for exactly its overlap takes precedence over one
    /// for both.
    pub fn entry(&self, key: &BandKey) -> Option<&Entry> {
        self.keys.get(self.place(key)?)
    }

    fn place(&self, key: &BandKey) -> Option<usize> {
        let fits = |(_, entry): &(usize, &Entry)| {
            (entry.collective, entry.band, entry.scale) == (key.collective, key.band, key.scale)
                && entry.overlap.is_none_or(|overlap| overlap == key.overlap)
        };
        let mut fitting = self.keys.iter().enumerate().filter(fits);
        let (place, first) = fitting.next()?;
        if first.overlap.is_some() { Some(place) } else { Some(fitting.next().map_or(place, |(place, _)| place)) }
    }

    /// The call of a key before which it explores, counted since the communicator was created; from it on it runs
    /// `auto`, because no reward of it ever came in.
    pub fn explores_until(&self, key: &BandKey) -> u64 {
        let (Some(limit), Some(place)) = (self.unrewarded_calls, self.place(key)) else { return u64::MAX };
        let is_rewarded = |of: &Evidence| of.key as usize == place && of.n.iter().any(|n| *n > 0);
        if self.evidence.iter().any(is_rewarded) { u64::MAX } else { limit }
    }

    /// The whole text of the file, checksum included. The same policy gives the same bytes.
    pub fn text(&self) -> String {
        let arm = |arm: &Arm| match arm.words() {
            None => ArmDocument { name: Some("auto".to_owned()), ..ArmDocument::default() },
            Some((algorithm, protocol)) => ArmDocument {
                name: None,
                algo: Some(algorithm.to_owned()),
                proto: Some(protocol.to_owned()),
                channels: Some(arm.channels()),
                unknown: Unknown::new(),
            },
        };
        let key = |entry: &Entry| {
            let (arm, counts) = match &entry.choice {
                Choice::Fixed(arm) => (Some(*arm), None),
                Choice::Counts(counts) => (None, Some(counts.clone())),
            };
            KeyDocument {
                coll: word(&COLLECTIVES, &entry.collective).unwrap_or(entry.collective.name()).to_owned(),
                band: entry.band,
                nodes: entry.scale.nodes,
                ranks: entry.scale.ranks,
                overlap: entry.overlap.map(u8::from),
                arm,
                counts,
                unknown: Unknown::new(),
            }
        };
        let document = Document {
            format: FORMAT.to_owned(),
            version: if self.chunk_sizes.is_empty() { VERSION } else { VERSION_WITH_CHUNKS },
            generation: self.generation,
            library: self.library.clone(),
            bands: self.bands.bounds().to_vec(),
            seed: format!("{:#x}", self.seed),
            arms: self.arms.iter().map(arm).collect(),
            keys: self.keys.iter().map(key).collect(),
            evidence: self.evidence.clone(),
            unrewarded_calls: self.unrewarded_calls,
            chunk_sizes: self.chunk_sizes.iter().map(ChunkDocument::from).collect(),
            unknown: Unknown::new(),
        };
        with_checksum(json::compact(&document) + "\n")
    }

    /// Reads a policy file.
    ///
    /// ```
    /// use collectune::policy::{arm::Arm, file::Policy};
    /// let policy = Policy { arms: vec![Arm::Auto], ..Policy::default() };
    /// assert_eq!(Policy::read(policy.text().as_bytes()).map(|reading| reading.policy), Ok(policy));
    /// ```
    ///
    /// # Errors
    /// Returns an error if the file is incomplete, was changed, or is not valid.
    pub fn read(bytes: &[u8]) -> Result<ParsedPolicy, FileError> {
        let document: Document =
            serde_json::from_slice(without_checksum(bytes)?).map_err(|error| FileError::Json(error.to_string()))?;
        if document.format != FORMAT {
            return Err(FileError::Format(document.format.chars().take(40).collect()));
        }
        if !matches!(document.version, VERSION | VERSION_WITH_CHUNKS) {
            return Err(FileError::Version(document.version));
        }
        let digits =
            document.seed.strip_prefix("0x").or(document.seed.strip_prefix("0X")).filter(|d| !d.starts_with('+'));
        let seed = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let seed = seed.ok_or_else(|| FileError::Seed(document.seed.chars().take(40).collect()))?;
        let bands = Bands::new(document.bands)?;
        let arms = arms(&document.arms)?;
        if document.keys.len() > MOST_KEYS {
            return Err(FileError::TooManyKeys(document.keys.len()));
        }
        let unknown = document.keys.iter().map(|key| &key.unknown).chain(document.arms.iter().map(|arm| &arm.unknown));
        let unknown: BTreeSet<&String> = unknown.chain([&document.unknown]).flat_map(Unknown::keys).compact_collect();
        let mut notes = Vec::new();
        if !unknown.is_empty() {
            let named: Vec<String> = unknown.iter().take(8).map(|name| name.chars().take(40).collect()).collect();
            notes.push(format!("what is not known in it is not used: {}", named.join(", ")));
        }
        let chunk_sizes = chunk_sizes(document.version, &document.chunk_sizes, &mut notes)?;
        let mut keys = Vec::with_capacity(document.keys.len());
        let mut known = BTreeSet::new();
        for (index, key) in document.keys.into_iter().enumerate() {
            let entry = entry(index, key, &bands, arms.len(), &mut notes)?;
            let place = (entry.collective, entry.band, entry.scale, entry.overlap);
            if !known.insert(place) {
                let same = |other: &Entry| (other.collective, other.band, other.scale, other.overlap) == place;
                return Err(FileError::Twice { first: keys.iter().position(same).unwrap_or(0), second: index });
            }
            keys.push(entry);
        }
        let Document { generation, library, mut evidence, unrewarded_calls, .. } = document;
        let whole = evidence.len();
        evidence.retain(|of| (of.key as usize) < keys.len());
        if evidence.len() < whole {
            notes.push(format!("{} of its evidence is of keys that it does not have", whole - evidence.len()));
        }
        Ok(ParsedPolicy {
            policy: Policy { generation, library, bands, seed, arms, keys, evidence, unrewarded_calls, chunk_sizes },
            notes,
        })
    }
}

fn arms(documents: &[ArmDocument]) -> Result<Vec<Arm>, FileError> {
    if documents.is_empty() || documents.len() > MAX_ARMS {
        return Err(FileError::Arms(documents.len()));
    }
    let mut arms = Vec::with_capacity(documents.len());
    for (index, of) in documents.iter().enumerate() {
        let arm = match (&of.name, &of.algo, &of.proto) {
            (_, Some(algorithm), Some(protocol)) => Arm::forced(algorithm, protocol, of.channels.unwrap_or(0)),
            (Some(name), None, None) => Arm::parse(name),
            _ => None,
        };
        let arm = arm.filter(|arm| !arms.contains(arm)).ok_or(FileError::Arm(index))?;
        arms.push(arm);
    }
    if arms[0] == Arm::Auto { Ok(arms) } else { Err(FileError::FirstArm(arms[0])) }
}

fn entry(
    index: usize,
    key: KeyDocument,
    bands: &Bands,
    arms: usize,
    notes: &mut Vec<String>,
) -> Result<Entry, FileError> {
    let collective = Collective::parse(&key.coll).filter(|of| word(&COLLECTIVES, of).is_some());
    let collective =
        collective.ok_or_else(|| FileError::Collective { key: index, word: key.coll.chars().take(40).collect() })?;
    if key.band as usize >= bands.len() {
        return Err(FileError::Band { key: index, band: key.band });
    }
    let overlap = match key.overlap {
        None => None,
        Some(0) => Some(false),
        Some(1) => Some(true),
        Some(_) => return Err(FileError::Overlap(index)),
    };
    let choice = match (key.arm, key.counts) {
        (Some(arm), None) if arm as usize >= arms => {
            notes.push(format!("key {index}: there is no arm {arm}; it runs auto"));
            Choice::Fixed(0)
        }
        (Some(arm), None) => Choice::Fixed(arm),
        (None, Some(counts)) => {
            let length = block_length(&counts);
            if counts.len() != arms || !(1..=MAX_BLOCK_CALLS).contains(&length) {
                return Err(FileError::Counts(index));
            }
            Choice::Counts(counts)
        }
        _ => return Err(FileError::Choice(index)),
    };
    Ok(Entry { collective, band: key.band, scale: Scale { nodes: key.nodes, ranks: key.ranks }, overlap, choice })
}

fn chunk_sizes(
    version: u32,
    documents: &[ChunkDocument],
    notes: &mut Vec<String>,
) -> Result<Vec<ChunkSize>, FileError> {
    if version == VERSION {
        // As programs do that know no other version.
        if !documents.is_empty() {
            notes.push(format!("chunk_sizes need version {VERSION_WITH_CHUNKS} of the format, and are not used"));
        }
        return Ok(Vec::new());
    }
    if documents.len() > MOST_CHUNK_SIZES {
        return Err(FileError::TooManyChunkSizes(documents.len()));
    }
    let mut sizes = Vec::with_capacity(documents.len());
    for (index, of) in documents.iter().enumerate() {
        let size = ChunkSize::try_from(of).map_err(|error| FileError::ChunkSize(index, error))?;
        notes.extend(size.notes(&sizes).into_iter().map(|note| format!("chunk size {index}: {note}")));
        sizes.push(size);
    }
    Ok(sizes)
}

/// The text with a last line that holds its checksum and length.
pub fn with_checksum(text: String) -> String {
    let footer = format!("{FOOTER}{:08X} {}\n", CRC32.checksum(text.as_bytes()), text.len());
    text + &footer
}

/// The text that precedes the last line with checksum and length.
///
/// # Errors
/// Returns [`FileError::NoChecksum`] if there is no such line, and [`FileError::Torn`] or [`FileError::Checksum`] if
/// it does not match the text.
pub fn without_checksum(bytes: &[u8]) -> Result<&[u8], FileError> {
    if bytes.len() > LONGEST {
        return Err(FileError::TooLong);
    }
    // Editors put one before a text that they save.
    let bytes = bytes.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(bytes);
    let whole = bytes.strip_suffix(b"\n").ok_or(FileError::NoChecksum)?;
    let begin = memchr::memrchr(b'\n', whole).map_or(0, |end| end + 1);
    let (before, footer) = bytes.split_at(begin);
    let footer = std::str::from_utf8(footer).ok().and_then(|footer| footer.trim_end().strip_prefix(FOOTER));
    let parts = footer.and_then(|footer| footer.split_once(' '));
    let hexadecimal = |text: &str| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (checksum, length) = parts.filter(|(checksum, _)| hexadecimal(checksum)).ok_or(FileError::NoChecksum)?;
    let declared: u64 = length.parse().ok().ok_or(FileError::NoChecksum)?;
    if declared != before.len() as u64 {
        return Err(FileError::Torn { declared, found: before.len() });
    }
    let declared = u32::from_str_radix(checksum, 16).ok().ok_or(FileError::NoChecksum)?;
    let found = CRC32.checksum(before);
    if declared == found { Ok(before) } else { Err(FileError::Checksum { declared, found }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::{Algorithm, Protocol};

    fn policy() -> Policy {
        let scale = Scale { nodes: 2, ranks: 8 };
        let entry = |band, overlap, choice| Entry { collective: Collective::AllReduce, band, scale, overlap, choice };
        Policy {
            generation: 17,
            library: Some("2.28.9".to_owned()),
            bands: Bands::default(),
            seed: 0xFEDC_BA98_7654_3210,
            arms: ["auto", "tree/simple", "tree/ll128", "ring/simple/24"]
                .iter()
                .filter_map(|a| Arm::parse(a))
                .collect(),
            keys: vec![
                entry(5, None, Choice::Fixed(2)),
                entry(5, Some(true), Choice::Counts(vec![61, 1, 1, 1])),
                entry(4, Some(false), Choice::Fixed(3)),
            ],
            evidence: vec![Evidence {
                key: 0,
                n: vec![64, 64, 64, 64],
                mean_ms: vec![10.5, 9.25, 11.0, 10.0],
                p_better: 0.96875,
                gain_pct: 4.125,
            }],
            unrewarded_calls: Some(1024),
            chunk_sizes: Vec::new(),
        }
    }

    fn with_chunks() -> Policy {
        let size = |protocol, channel_bytes, chunk_bytes| ChunkSize {
            collective: Collective::AllReduce,
            scale: Scale { nodes: 2, ranks: 8 },
            algorithm: Algorithm::Ring,
            protocol,
            channel_bytes,
            chunk_bytes,
        };
        let chunk_sizes =
            vec![size(Protocol::Simple, 1 << 20..=(1 << 22) - 1, 262_144), size(Protocol::Ll, 0..=u64::MAX, 16_384)];
        Policy { chunk_sizes, ..policy() }
    }

    #[test]
    fn only_a_policy_with_chunk_sizes_is_of_the_second_version() {
        let (without, with) = (policy().text(), with_chunks().text());
        assert!(without.contains("\"version\":1,") && !without.contains("chunk_sizes"), "{without}");
        assert!(with.contains("\"version\":2,"), "{with}");
        assert_eq!(Policy::read(with.as_bytes()), Ok(ParsedPolicy { policy: with_chunks(), notes: Vec::new() }));
        let read = |json: String| Policy::read(with_checksum(json + "\n").as_bytes());
        let json = with.lines().next().unwrap();
        // A program that knows version 1 alone runs such a file without chunk sizes, and so do we.
        let first = read(json.replace("\"version\":2", "\"version\":1")).unwrap();
        assert_eq!((first.policy, first.notes.len()), (policy(), 1));
        assert!(first.notes[0].contains("need version 2"), "{:?}", first.notes);
        let empty = read(without.lines().next().unwrap().replace("\"version\":1", "\"version\":2")).unwrap();
        assert_eq!(empty, ParsedPolicy { policy: policy(), notes: Vec::new() });
        let told = |from: &str, to: &str| read(json.replacen(from, to, 1)).map_err(|error| error.to_string());
        assert!(told("262144}", "511}").unwrap_err().starts_with("chunk size 0: chunk_bytes 511 is below one grain"));
        let notes = told("262144}", "4194304}").unwrap().notes;
        assert!(notes[0].starts_with("chunk size 0: chunk_bytes 4194304 is above the 2097152 bytes"), "{notes:?}");
        let many = Policy { chunk_sizes: vec![with_chunks().chunk_sizes[0].clone(); 65], ..policy() };
        assert_eq!(Policy::read(many.text().as_bytes()), Err(FileError::TooManyChunkSizes(65)));
    }

    #[test]
    fn reads_what_it_writes() {
        assert_eq!(policy().arms.len(), 4);
        let text = policy().text();
        assert_eq!(Policy::read(text.as_bytes()), Ok(ParsedPolicy { policy: policy(), notes: Vec::new() }));
        let key = |band, overlap| BandKey {
            collective: Collective::AllReduce,
            band,
            scale: Scale { nodes: 2, ranks: 8 },
            overlap,
        };
        let choice = |band, overlap| policy().entry(&key(band, overlap)).map(|entry| entry.choice.clone());
        assert_eq!(choice(5, false), Some(Choice::Fixed(2)));
        assert_eq!(choice(5, true), Some(Choice::Counts(vec![61, 1, 1, 1])));
        assert_eq!((choice(4, true), choice(3, false)), (None, None));
    }

    #[test]
    fn a_file_that_is_torn_anywhere_is_known_to_be() {
        let text = policy().text();
        for length in 0..text.len() {
            assert!(Policy::read(&text.as_bytes()[..length]).is_err(), "{length}");
        }
        for place in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[place] ^= 4;
            assert_ne!(Policy::read(&changed).ok().map(|reading| reading.policy), Some(policy()), "{place}");
        }
    }

    #[test]
    fn what_can_not_be_followed_is_refused_in_a_sentence() {
        let json = policy().text();
        let json = json.lines().next().unwrap();
        let refused = |from: &str, to: &str| {
            assert!(json.contains(from), "{from}");
            match Policy::read(with_checksum(json.replacen(from, to, 1) + "\n").as_bytes()) {
                Err(error) => error.to_string(),
                Ok(reading) => reading.notes.join("; "),
            }
        };
        for (from, to, declared) in [
            ("\"version\":1", "\"version\":3", "is of version 3; this program reads versions 1 and 2"),
            ("\"version\":1", "\"version\":1,\"version\":1", "duplicate field `version`"),
            ("-policy", "-report", "is of the format \"collectune-report\""),
            ("1024,262144", "262144,1024", "the bounds between bands must ascend: 1024 follows 262144"),
            ("\"seed\":\"0xfe", "\"seed\":\"fe", "no \"0x…\""),
            ("{\"name\":\"auto\"}", "{\"algo\":\"ring\",\"proto\":\"ll\"}", "arm 0 is ring/ll, but must be auto"),
            ("\"algo\":\"tree\"", "\"algo\":\"bush\"", "arm 1 is neither auto nor"),
            ("\"arm\":2", "\"arm\":4", "key 0: there is no arm 4; it runs auto"),
            ("\"arm\":2", "\"arm\":-4", "invalid value"),
            ("\"arm\":2", "\"arms\":2", "key 0 must have either an arm or counts"),
            ("[61,1,1,1]", "[61,1,1]", "key 1: counts must be one per arm"),
            ("[61,1,1,1]", "[4294967295,4294967295,1,1]", "key 1: counts must be one per arm"),
            ("[61,1,1,1]", "[0,0,0,0]", "key 1: counts must be one per arm"),
            ("allreduce", "alltoall", "key 0: a tuner is not asked about the collective \"alltoall\""),
            ("\"band\":5", "\"band\":7", "key 0: there is no band 7"),
            ("\"overlap\":1", "\"overlap\":2", "key 1: overlap must be 0, 1 or null"),
            ("\"overlap\":1", "\"overlap\":null", "key 1 is key 0 again"),
        ] {
            let answer = refused(from, to);
            assert!(answer.contains(declared), "{to}: {answer}");
        }
        let key = "{\"coll\":\"allreduce\",\"band\":5,\"nodes\":2,\"ranks\":8,\"arm\":2},";
        let many = json.replacen("\"keys\":[", &("\"keys\":[".to_owned() + &key.repeat(5000)), 1) + "\n";
        assert_eq!(Policy::read(with_checksum(many).as_bytes()), Err(FileError::TooManyKeys(5003)));
        let million = json.replacen("\"keys\":[", &("\"keys\":[".to_owned() + &key.repeat(1_000_000)), 1) + "\n";
        assert_eq!(Policy::read(with_checksum(million).as_bytes()), Err(FileError::TooLong));
    }
}
