//! The settings that were asked of the library: environment variables, wherever a log echoes them.

use std::{array, num::NonZero};

use crate::{
    collective::{Algorithm, Collective, Protocol},
    tuning::{origin::TRANSPORT_VARIABLES, read::Asked},
};

/// The variables that choose algorithm, protocol and channels, as far as they were seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    /// Lists of algorithms and protocols, as [`words_for`] reads them.
    algorithms: Option<String>,
    protocols: Option<String>,
    /// Smallest and largest number of channels of collectives, and the same by the older names, which count where the
    /// newer ones are not set.
    channels: [Option<u32>; 2],
    rings: [Option<u32>; 2],
    /// Smallest and largest number of thread blocks, which are channels.
    blocks: [Option<u32>; 2],
    /// The smallest and largest number of channels of point-to-point operations.
    p2p_channels: [Option<u32>; 2],
    /// A tuner's conf or plugin was named: it asks for something that the log does not show.
    tuner: bool,
    /// Which of [`ENABLING`] are set: the library's choice is another one with them.
    enabling: [bool; ENABLING.len()],
    /// The values of [`TRANSPORT_VARIABLES`], in their order; `None` of those that are not set.
    transports: [Option<String>; TRANSPORT_VARIABLES.len()],
    /// Some variable of the library, or the command of the run, was seen: another one would have been seen as well.
    is_shown: bool,
}

/// Variables that switch algorithms and paths on or off, ascending by name: what runs by default is another with them.
const ENABLING: [&str; 8] = [
    "NCCL_COLLNET_ENABLE",
    "NCCL_NVLS_ENABLE",
    "NCCL_PAT_ENABLE",
    "NCCL_WIN_ENABLE",
    "RCCL_DDA_ENABLE",
    "RCCL_DIRECT_ALLGATHER_DISABLE",
    "RCCL_MSCCLPP_ENABLE",
    "RCCL_MSCCL_ENABLE",
];

/// The words of `NCCL_ALGO` or `NCCL_PROTO` for a collective: of `ring;allreduce:tree` those behind its name, else
/// those without a name, which stand first (NCCL from 2.24 on, `src/graph/tuning.cc`); `None` where the list says
/// nothing of it.
pub(in crate::tuning) fn words_for(list: &str, collective: Collective) -> Option<&str> {
    let named =
        |entry: &&str| entry.split_once(':').is_some_and(|(name, _)| Collective::parse(name) == Some(collective));
    let own = list.split(';').find(named).and_then(|entry| Some(entry.split_once(':')?.1));
    own.or_else(|| list.split(';').next().filter(|first| !first.contains(':')))
}

impl Settings {
    /// Takes every variable that a text sets: `NCCL_ALGO=Ring`, `-x NCCL_PROTO=LL128`, `--export=ALL,NCCL_ALGO=Tree`,
    /// `NCCL_ALGO set by environment to Ring`. Returns whether there was one.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let mut any = false;
        for (key, value) in assignments(text) {
            any |= self.set(key, value);
            self.is_shown = true;
        }
        any
    }

    /// The command of the run is there, with the variables that it sets.
    pub(super) fn show(&mut self) {
        self.is_shown = true;
    }

    /// Those of [`TRANSPORT_VARIABLES`] that are set, ascending; `None` where the log does not show any variable.
    pub(super) fn transports(&self) -> Option<Vec<(&str, &str)>> {
        let all = TRANSPORT_VARIABLES.into_iter().zip(&self.transports);
        self.is_shown.then(|| all.filter_map(|(name, value)| Some((name, value.as_deref()?))).collect())
    }

    /// Takes back what was set of a variable, as the shell's `unset` does.
    pub(super) fn unset(&mut self, key: &str) {
        self.set(key, "");
    }

    /// Sets one variable. Returns whether it is one that matters.
    fn set(&mut self, key: &str, value: &str) -> bool {
        let number = value.parse().ok();
        match key {
            "NCCL_ALGO" => self.algorithms = Some(value.to_owned()).filter(|value| !value.is_empty()),
            "NCCL_PROTO" => self.protocols = Some(value.to_owned()).filter(|value| !value.is_empty()),
            "NCCL_MIN_NCHANNELS" => self.channels[0] = number,
            "NCCL_MAX_NCHANNELS" => self.channels[1] = number,
            "NCCL_MIN_NRINGS" => self.rings[0] = number,
            "NCCL_MAX_NRINGS" => self.rings[1] = number,
            "NCCL_MIN_CTAS" => self.blocks[0] = number,
            "NCCL_MAX_CTAS" => self.blocks[1] = number,
            "NCCL_MIN_P2P_NCHANNELS" => self.p2p_channels[0] = number,
            "NCCL_MAX_P2P_NCHANNELS" => self.p2p_channels[1] = number,
            "NCCL_TUNER_CONFIG_FILE" | "NCCL_TUNER_PLUGIN" => self.tuner = !value.is_empty(),
            _ => {
                if let Ok(place) = ENABLING.binary_search(&key) {
                    self.enabling[place] = !value.is_empty();
                    return true;
                }
                if let Ok(place) = TRANSPORT_VARIABLES.binary_search(&key) {
                    self.transports[place] = Some(value.to_owned()).filter(|value| !value.is_empty());
                }
                return false;
            }
        }
        true
    }

    /// These settings, and where they say nothing, those of `base`.
    pub(super) fn over(&self, base: &Self) -> Self {
        let pair = |a: [Option<u32>; 2], b: [Option<u32>; 2]| [a[0].or(b[0]), a[1].or(b[1])];
        Self {
            algorithms: self.algorithms.clone().or_else(|| base.algorithms.clone()),
            protocols: self.protocols.clone().or_else(|| base.protocols.clone()),
            channels: pair(self.channels, base.channels),
            rings: pair(self.rings, base.rings),
            blocks: pair(self.blocks, base.blocks),
            p2p_channels: pair(self.p2p_channels, base.p2p_channels),
            tuner: self.tuner || base.tuner,
            enabling: array::from_fn(|at| self.enabling[at] || base.enabling[at]),
            transports: array::from_fn(|at| self.transports[at].clone().or_else(|| base.transports[at].clone())),
            is_shown: self.is_shown || base.is_shown,
        }
    }

    /// Something is set that bears on this collective.
    pub(super) fn any(&self, collective: Collective) -> bool {
        if collective.is_point_to_point() {
            return self.p2p_channels.iter().any(Option::is_some);
        }
        let says = |list: &Option<String>| list.as_ref().is_some_and(|list| words_for(list, collective).is_some());
        let counts = [self.channels, self.rings, self.blocks].concat();
        says(&self.algorithms)
            || says(&self.protocols)
            || counts.iter().any(Option::is_some)
            || self.tuner
            || self.enabling.contains(&true)
    }

    /// The algorithm, protocol and channels that the settings ask for with this collective.
    pub(super) fn asked(&self, collective: Collective) -> Asked {
        if collective.is_point_to_point() {
            return Asked { channels: pinned(self.p2p_channels), ..Asked::default() };
        }
        // Lists (`ring,tree`) and exclusions (`^LL128`) leave the choice open.
        let [channels, rings] = [self.channels, self.rings];
        Asked {
            algorithm: self.algorithms.as_deref().and_then(|list| Algorithm::parse(words_for(list, collective)?)),
            protocol: self.protocols.as_deref().and_then(|list| Protocol::parse(words_for(list, collective)?)),
            channels: pinned([channels[0].or(rings[0]), channels[1].or(rings[1])]).or_else(|| pinned(self.blocks)),
        }
    }
}

/// The channels are as asked where the smallest and the largest number are the same.
fn pinned([least, most]: [Option<u32>; 2]) -> Option<NonZero<u16>> {
    let channels = least.filter(|least| Some(*least) == most)?;
    u16::try_from(channels).ok().filter(|n| *n <= 1024).and_then(NonZero::new)
}

/// The variables of the library that a text sets, with their values: `NCCL_ALGO=Ring`, `-x NCCL_PROTO=LL128`,
/// `--export=ALL,NCCL_ALGO=Tree`, `NCCL_ALGO set by environment to Ring`.
pub(in crate::tuning) fn assignments(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let at = rest.match_indices("CCL_").find_map(|(at, _)| {
                let is_of_library = rest[..at].ends_with(['N', 'R']);
                is_of_library.then(|| at - 1)
            })?;
            let key_end =
                rest[at..].find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).map_or(rest.len(), |n| at + n);
            let (key, after) = (&rest[at..key_end], &rest[key_end..]);
            rest = after;
            if let Some(value) = after.strip_prefix('=') {
                return Some((key, value_of(value)));
            }
            if let Some(value) = after.strip_prefix(" set by environment to ") {
                // No shell reads it, so a semicolon belongs to it; after a number the library writes a full stop.
                return Some((key, value.split_whitespace().next().unwrap_or_default().trim_end_matches('.')));
            }
        }
    })
}

/// The value that begins a text. A comma ends it where the next variable follows (`--export=ALL,A=1,B=2`).
fn value_of(text: &str) -> &str {
    let (text, quote) = match text.chars().next() {
        Some(quote @ ('"' | '\'')) => (&text[1..], Some(quote)),
        _ => (text, None),
    };
    let ends = |c: char| match quote {
        Some(quote) => c == quote,
        None => c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '`' | ')' | '\\'),
    };
    let value = &text[..text.find(ends).unwrap_or(text.len())];
    match value.find(',') {
        Some(comma) if value[comma..].contains('=') => &value[..comma],
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> (Option<Algorithm>, Option<Protocol>, u16) {
        let mut settings = Settings::default();
        settings.take(text);
        let Asked { algorithm, protocol, channels } = settings.asked(Collective::AllReduce);
        (algorithm, protocol, channels.map_or(0, NonZero::get))
    }

    #[test]
    fn wherever_they_stand() {
        let all = (Some(Algorithm::Ring), Some(Protocol::Ll128), 24);
        for text in [
            "NCCL_ALGO=Ring NCCL_PROTO=LL128 NCCL_MIN_NCHANNELS=24 NCCL_MAX_NCHANNELS=24 mpirun -np 8 ./all_reduce_perf",
            "mpirun -x NCCL_ALGO=RING -x NCCL_PROTO=\"LL128\" -x NCCL_MIN_NCHANNELS=24 -x NCCL_MAX_NCHANNELS='24' x",
            "srun --export=ALL,NCCL_ALGO=ring,NCCL_PROTO=ll128,NCCL_MIN_NCHANNELS=24,NCCL_MAX_NCHANNELS=24 x",
            "NCCL_ALGO set by environment to ring NCCL_PROTO set by environment to LL128 NCCL_MIN_NCHANNELS=24; \
             NCCL_MAX_NCHANNELS=24;",
        ] {
            assert_eq!(asked(text), all, "{text}");
        }
        assert_eq!(asked("NCCL_ALGO=ring,tree NCCL_PROTO=^LL128 NCCL_MAX_NCHANNELS=8"), (None, None, 0));
        assert_eq!(asked("NCCL_ALGORITHM=Ring NCCL_ALGO=").0, None);
        // Of one collective, by the newer of two names, and as thread blocks.
        assert_eq!(asked("NCCL_ALGO=\"ring;allreduce:tree\"").0, Some(Algorithm::Tree));
        assert_eq!(asked("NCCL_ALGO=\"ring;broadcast:tree\"").0, Some(Algorithm::Ring));
        assert_eq!(asked("NCCL_ALGO set by environment to allgather:tree").0, None);
        let rings = "NCCL_MIN_NRINGS=4 NCCL_MAX_NRINGS=4";
        assert_eq!(asked(rings).2, 4);
        assert_eq!(asked(&format!("NCCL_MIN_NCHANNELS=8 NCCL_MAX_NCHANNELS=8 {rings}")).2, 8);
        assert_eq!(asked("NCCL_MIN_CTAS=16 NCCL_MAX_CTAS=16").2, 16);
    }

    #[test]
    fn nothing_asked_and_something_that_stays_open() {
        let any = |text: &str, collective| {
            let mut settings = Settings::default();
            settings.take(text);
            settings.any(collective)
        };
        assert!(!any("NCCL_DEBUG=INFO NCCL_ALGO=", Collective::AllReduce));
        assert!(any("NCCL_ALGO=ring,tree", Collective::AllReduce) && !any("NCCL_ALGO=ring", Collective::AllToAll));
        assert!(any("NCCL_TUNER_CONFIG_FILE=/home/a/b.conf", Collective::Reduce));
        for set in ["NCCL_MAX_CTAS=4", "NCCL_NVLS_ENABLE=0", "RCCL_DDA_ENABLE=0", "NCCL_WIN_ENABLE=0"] {
            assert!(any(set, Collective::AllReduce), "{set}");
        }
        assert!(!any("NCCL_ALGO=allgather:ring", Collective::AllReduce));
        assert!(any("NCCL_ALGO=allgather:ring", Collective::AllGather));
        assert!(any("NCCL_MAX_P2P_NCHANNELS=8", Collective::AllToAll));
    }
}
