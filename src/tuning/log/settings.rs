//! The settings that were asked of the library: environment variables, wherever a log echoes them.

use std::{array, num::NonZero};

use crate::{
    collective::{Algorithm, Collective, Protocol},
    tuning::{origin::TRANSPORT_VARIABLES, read::Asked},
};

/// The variables that choose algorithm, protocol and channels, as far as they were seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    algorithm: Option<SettingWord<Algorithm>>,
    protocol: Option<SettingWord<Protocol>>,
    /// Smallest and largest number of channels of collectives.
    channels: [Option<u32>; 2],
    /// The smallest and largest number of channels of point-to-point operations.
    p2p_channels: [Option<u32>; 2],
    /// A tuner's conf or plugin was named: it asks for something that the log does not show.
    tuner: bool,
    /// The values of [`TRANSPORT_VARIABLES`], in their order; `None` of those that are not set.
    transports: [Option<String>; TRANSPORT_VARIABLES.len()],
    /// Some variable of the library, or the command of the run, was seen: another one would have been seen as well.
    is_shown: bool,
}

/// A variable's value, if it is one word; lists (`ring,tree`) and exclusions (`^LL128`) leave the choice open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SettingWord<T> {
    One(T),
    Open,
}

impl<T: Copy> SettingWord<T> {
    fn parse(value: &str, parse: fn(&str) -> Option<T>) -> Self {
        parse(value).map_or(Self::Open, Self::One)
    }

    fn one(self) -> Option<T> {
        match self {
            Self::One(value) => Some(value),
            Self::Open => None,
        }
    }
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
            "NCCL_ALGO" => {
                self.algorithm = Some(SettingWord::parse(value, Algorithm::parse)).filter(|_| !value.is_empty());
            }
            "NCCL_PROTO" => {
                self.protocol = Some(SettingWord::parse(value, Protocol::parse)).filter(|_| !value.is_empty());
            }
            "NCCL_MIN_NCHANNELS" | "NCCL_MIN_NRINGS" => self.channels[0] = number,
            "NCCL_MAX_NCHANNELS" | "NCCL_MAX_NRINGS" => self.channels[1] = number,
            "NCCL_MIN_P2P_NCHANNELS" => self.p2p_channels[0] = number,
            "NCCL_MAX_P2P_NCHANNELS" => self.p2p_channels[1] = number,
            "NCCL_TUNER_CONFIG_FILE" | "NCCL_TUNER_PLUGIN" => self.tuner = !value.is_empty(),
            _ => {
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
            algorithm: self.algorithm.or(base.algorithm),
            protocol: self.protocol.or(base.protocol),
            channels: pair(self.channels, base.channels),
            p2p_channels: pair(self.p2p_channels, base.p2p_channels),
            tuner: self.tuner || base.tuner,
            transports: array::from_fn(|at| self.transports[at].clone().or_else(|| base.transports[at].clone())),
            is_shown: self.is_shown || base.is_shown,
        }
    }

    /// Something is set that bears on this collective.
    pub(super) fn any(&self, collective: Collective) -> bool {
        if collective.is_point_to_point() {
            return self.p2p_channels.iter().any(Option::is_some);
        }
        self.algorithm.is_some() || self.protocol.is_some() || self.channels.iter().any(Option::is_some) || self.tuner
    }

    /// The algorithm, protocol and channels that the settings ask for with this collective.
    pub(super) fn asked(&self, collective: Collective) -> Asked {
        if collective.is_point_to_point() {
            return Asked { channels: pinned(self.p2p_channels), ..Asked::default() };
        }
        Asked {
            algorithm: self.algorithm.and_then(SettingWord::one),
            protocol: self.protocol.and_then(SettingWord::one),
            channels: pinned(self.channels),
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
            let at = rest.find("NCCL_")?;
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
        assert!(any("NCCL_MAX_P2P_NCHANNELS=8", Collective::AllToAll));
    }
}
