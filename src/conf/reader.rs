//! The programs that read tuner files, and the differences in how they read them.

use serde::{Deserialize, Serialize};

/// A program that reads tuner files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reader {
    /// NVIDIA/nccl, plugins/tuner/example/plugin.c (at 35512d6; ext-tuner/example before).
    #[default]
    Example,
    /// The RCCL plugin of rccl-sweep's authors, tuner API v4 and v5, derived from the former.
    DnTuner,
    /// RCCL's own (from ROCm 7.13), src/plugin/tuner/csv_tuner.cc, used when no plugin loads.
    Rccl,
    /// Collectune's own tuner plugin for NCCL and RCCL, which reads with [`super::strict`].
    Collectune,
    /// The built-in tuner of NCCLX, Meta's NCCL, meta-pytorch/torchcomms comms/ncclx/meta/tuner, which reads a grammar
    /// of its own, [`super::ncclx`].
    Ncclx,
}

/// The limit on channels that a tuner gives the library: `*nChannels` of `getCollInfo`, of which src/enqueue.cc makes
/// `nMaxChannels == 0 ? its own : nMaxChannels`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Channels {
    /// The library chooses the number of channels.
    Library,
    /// This many channels, from 1.
    Count(u32),
    /// A number below zero, which the library takes for a maximum as well.
    Negative(i32),
}

impl Channels {
    /// The meaning that the library gives to a value of `*nChannels`.
    pub fn of(number: i32) -> Self {
        match u32::try_from(number) {
            Ok(0) => Self::Library,
            Ok(count) => Self::Count(count),
            Err(_) => Self::Negative(number),
        }
    }
}

/// The details in which readers differ. A new reader is added as a new value of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderBehaviour {
    /// The name on the command line and in files.
    pub key: &'static str,
    /// The name that is shown to people.
    pub name: &'static str,
    /// The number of channels that is used where no rule applies, and where a rule has -1.
    pub preset: Channels,
    /// A line with an unknown word or an empty field is left out, or the whole file refused; the others take an unknown
    /// word for ring, simple or allreduce.
    pub skips_unknown: bool,
    /// `-1` is an algorithm and a protocol; together they leave both to the library.
    pub has_wildcards: bool,
    /// Whether blanks may precede `#`, and lines of blanks and carriage returns count as empty.
    pub trims_lines: bool,
    /// Channels below 1 are the library's choice; the others hand over every number except -1.
    pub checks_channels: bool,
    /// The default can be kept: a size that no rule matches runs as if there were no file.
    pub keeps_default: bool,
}

impl Reader {
    /// All readers, in the order in which they are offered.
    pub const ALL: &[Self] = &[Self::Example, Self::DnTuner, Self::Rccl, Self::Collectune, Self::Ncclx];
    /// The readers of the grammar of NVIDIA's example; NCCLX has another.
    pub const OF_CONF: &[Self] = &[Self::Example, Self::DnTuner, Self::Rccl, Self::Collectune];

    /// The details in which this reader differs from others.
    pub const fn behaviour(self) -> ReaderBehaviour {
        match self {
            Self::Example => ReaderBehaviour {
                key: "example",
                name: "NVIDIA's example",
                preset: Channels::Count(1),
                skips_unknown: false,
                has_wildcards: false,
                trims_lines: false,
                checks_channels: false,
                keeps_default: false,
            },
            Self::DnTuner => ReaderBehaviour {
                key: "dn-tuner",
                name: "DN-TUNER",
                preset: Channels::Library,
                skips_unknown: false,
                has_wildcards: true,
                trims_lines: false,
                checks_channels: false,
                keeps_default: true,
            },
            Self::Rccl => ReaderBehaviour {
                key: "rccl",
                name: "RCCL's built-in",
                preset: Channels::Library,
                skips_unknown: true,
                has_wildcards: false,
                trims_lines: true,
                checks_channels: true,
                keeps_default: true,
            },
            Self::Collectune => ReaderBehaviour {
                key: "collectune",
                name: "Collectune's plugin",
                preset: Channels::Library,
                skips_unknown: true,
                has_wildcards: true,
                trims_lines: true,
                checks_channels: true,
                keeps_default: true,
            },
            Self::Ncclx => ReaderBehaviour {
                key: "ncclx",
                name: "NCCLX",
                preset: Channels::Library,
                skips_unknown: true,
                has_wildcards: false,
                trims_lines: true,
                checks_channels: false,
                keeps_default: true,
            },
        }
    }

    /// The name on the command line and in files.
    pub const fn key(self) -> &'static str {
        self.behaviour().key
    }

    /// The name that is shown to people.
    pub const fn name(self) -> &'static str {
        self.behaviour().name
    }

    /// The reader with this name on the command line, or `None`.
    pub fn parse(key: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|reader| reader.key() == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conf::{read, write::channels_of_library};

    #[test]
    fn readers_are_found_by_their_keys() {
        for reader in Reader::ALL {
            assert_eq!(Reader::parse(reader.key()), Some(*reader));
            assert!(!reader.name().is_empty());
        }
        assert_eq!([Reader::parse(""), Reader::parse("nccl")], [None; 2]);
    }

    #[test]
    fn every_reader_has_a_number_that_leaves_the_channels_to_the_library() {
        for reader in Reader::OF_CONF {
            let line = format!("allreduce,0,1,ring,ll,{},1,1\n", channels_of_library(*reader));
            let [rule] = read(line.as_bytes(), *reader)[..] else { panic!("{reader:?}") };
            assert_eq!(rule.requested_channels(*reader), Channels::Library, "{reader:?}");
        }
    }

    #[test]
    fn what_readers_do_with_unknown_words_differs() {
        let conf = b"allreduce,0,1,-1,-1,4,1,1\nalltoall,0,1,ring,ll,4,1,1\n\n";
        let read = |reader| read(conf, reader).iter().map(|rule| (rule.algorithm, rule.channels)).collect::<Vec<_>>();
        let ring = Some(crate::collective::Algorithm::Ring);
        assert_eq!([read(Reader::Example), read(Reader::DnTuner)], [[(ring, 4), (ring, 4)], [(None, 4), (ring, 4)]]);
        assert_eq!(read(Reader::Rccl), []);
        assert_eq!(read(Reader::Collectune), [(None, 4)]);
    }
}
