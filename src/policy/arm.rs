//! The arms of a policy: what can be chosen for a call of a collective.

use std::{fmt, str::FromStr};

use crate::{
    collective::{Algorithm, Protocol},
    conf::words::{ALGORITHMS, PROTOCOLS, word},
};

/// A choice for a call: the library's own, or a forced configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arm {
    /// The library's own choice, which can change with the library's version.
    #[default]
    Auto,
    /// A configuration that the tuner asks the library to use.
    Forced {
        /// One of the algorithms that a tuner can ask for.
        algorithm: Algorithm,
        /// One of the protocols that a tuner can ask for.
        protocol: Protocol,
        /// The number of channels; 0 leaves it to the library.
        channels: u32,
    },
}

impl Arm {
    /// What a label is, in words.
    pub const EXPECTED: &str = "auto, or algorithm/protocol[/channels], like tree/ll128";

    /// Reads a label in any spelling: `auto`, `tree_simple`, `Tree+Simple`, `TREE/LL128`, `ring/simple/24`.
    ///
    /// ```
    /// use collectune::policy::arm::Arm;
    /// assert_eq!(Arm::parse("tree_simple"), Arm::parse("Tree+Simple"));
    /// let arm = Arm::parse("collnet-direct simple 24").map(|arm| arm.to_string());
    /// assert_eq!(arm.as_deref(), Some("collnet_direct/simple/24"));
    /// assert_eq!(Arm::parse("AUTO"), Some(Arm::Auto));
    /// assert_eq!(Arm::parse("tree"), None);
    /// ```
    pub fn parse(label: &str) -> Option<Self> {
        let lower = label.trim().to_ascii_lowercase();
        if matches!(lower.as_str(), "auto" | "default" | "-1") {
            return Some(Self::Auto);
        }
        let mut words: Vec<&str> =
            lower.split(['/', '+', '_', '-', ' ', ':', '.']).filter(|word| !word.is_empty()).collect();
        let channels = match words.last()?.strip_suffix("ch").unwrap_or(words.last()?).parse() {
            Ok(channels) if words.len() > 2 => {
                words.pop();
                channels
            }
            _ => 0,
        };
        Self::forced(&words[..words.len() - 1].join("_"), words.last()?, channels)
    }

    /// From the columns `algo` and `proto` of a log, or the members of a policy file.
    pub fn forced(algorithm: &str, protocol: &str, channels: u32) -> Option<Self> {
        let algorithm = Algorithm::parse(algorithm).filter(|of| word(&ALGORITHMS, of).is_some())?;
        let protocol = Protocol::parse(protocol).filter(|of| word(&PROTOCOLS, of).is_some())?;
        Some(Self::Forced { algorithm, protocol, channels })
    }

    /// The words of tuner files for algorithm and protocol; `None` for [`Arm::Auto`].
    pub fn words(&self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Auto => None,
            Self::Forced { algorithm, protocol, .. } => {
                Some((word(&ALGORITHMS, algorithm)?, word(&PROTOCOLS, protocol)?))
            }
        }
    }

    /// The number of channels that this arm asks for; 0 if it asks for none.
    pub const fn channels(&self) -> u32 {
        match self {
            Self::Auto => 0,
            Self::Forced { channels, .. } => *channels,
        }
    }
}

/// The error of a label that names no arm.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{label}\" is not {}", Arm::EXPECTED)]
pub struct ArmError {
    /// The beginning of the label.
    pub label: String,
}

impl FromStr for Arm {
    type Err = ArmError;

    fn from_str(label: &str) -> Result<Self, ArmError> {
        Self::parse(label).ok_or_else(|| ArmError { label: label.chars().take(40).collect() })
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((algorithm, protocol)) = self.words() else { return f.pad("auto") };
        match self.channels() {
            0 => f.pad(&format!("{algorithm}/{protocol}")),
            channels => f.pad(&format!("{algorithm}/{protocol}/{channels}")),
        }
    }
}
