//! Versions of the library and architectures of GPUs, as they are written.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A library's version, of two or three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Version {
    /// The major version: 2 of 2.27.5.
    pub major: u32,
    /// The minor version: 27 of 2.27.5.
    pub minor: u32,
    /// The third number: 5 of 2.27.5; `None` where only two are known.
    pub patch: Option<u32>,
}

/// The architecture of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Gpu {
    /// NVIDIA's compute capability times ten, from 70 (V100) on: 90 for H100.
    Sm(u32),
    /// AMD's, the hexadecimal number in its name: 0x950 of gfx950 for MI355X.
    Gfx(u32),
}

/// A text that names no version, or no GPU.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlatformError {
    /// The text, where a version was expected.
    #[error("{0:?} is no version of a library: 2.27 or 2.27.5 was expected")]
    Version(String),
    /// The text, where a GPU was expected.
    #[error("{0:?} is no GPU that is known: sm_90, h100, b200, gfx942, mi300x or the like was expected")]
    Gpu(String),
}

/// GPUs by the names that people use.
const NAMES: [(&str, Gpu); 24] = [
    ("v100", Gpu::Sm(70)),
    ("t4", Gpu::Sm(75)),
    ("a100", Gpu::Sm(80)),
    ("a800", Gpu::Sm(80)),
    ("a40", Gpu::Sm(86)),
    ("l40s", Gpu::Sm(89)),
    ("l40", Gpu::Sm(89)),
    ("h100", Gpu::Sm(90)),
    ("h200", Gpu::Sm(90)),
    ("h800", Gpu::Sm(90)),
    ("h20", Gpu::Sm(90)),
    ("gh200", Gpu::Sm(90)),
    ("b200", Gpu::Sm(100)),
    ("gb200", Gpu::Sm(100)),
    ("b300", Gpu::Sm(103)),
    ("gb300", Gpu::Sm(103)),
    ("mi100", Gpu::Gfx(0x908)),
    ("mi210", Gpu::Gfx(0x90a)),
    ("mi250x", Gpu::Gfx(0x90a)),
    ("mi300x", Gpu::Gfx(0x942)),
    ("mi308x", Gpu::Gfx(0x942)),
    ("mi325x", Gpu::Gfx(0x942)),
    ("mi350x", Gpu::Gfx(0x950)),
    ("mi355x", Gpu::Gfx(0x950)),
];

impl Version {
    /// A version of two numbers.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor, patch: None }
    }

    /// A version of three numbers.
    pub const fn release(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch: Some(patch) }
    }

    /// Whether it is `other` or newer. Where one of the two has no third number, two numbers decide.
    pub fn is_from(self, other: Self) -> bool {
        match (self.patch, other.patch) {
            (Some(_), Some(_)) => self >= other,
            _ => (self.major, self.minor) >= (other.major, other.minor),
        }
    }
}

impl FromStr for Version {
    type Err = PlatformError;

    fn from_str(text: &str) -> Result<Self, PlatformError> {
        let mut parts = text.trim().trim_start_matches(['v', 'V']).split(['.', '+', '-']);
        let mut number = || parts.next().and_then(|part| part.parse().ok());
        match (number(), number(), number()) {
            (Some(major), Some(minor), patch) => Ok(Self { major, minor, patch }),
            _ => Err(PlatformError::Version(text.to_owned())),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        self.patch.map_or(Ok(()), |patch| write!(f, ".{patch}"))
    }
}

impl Gpu {
    /// The GPU that a device's name tells, with its short name: `h100` of `NVIDIA H100 80GB HBM3`. `None` for one that
    /// is not known.
    pub fn of_device(name: &str) -> Option<(&'static str, Self)> {
        let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
        words.find_map(|word| NAMES.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(word)))
    }
}

impl FromStr for Gpu {
    type Err = PlatformError;

    fn from_str(text: &str) -> Result<Self, PlatformError> {
        let plain = text.trim().to_ascii_lowercase().replace(['_', '-', ' '], "");
        let by_name = NAMES.iter().find(|(name, _)| *name == plain || name.strip_suffix('x') == Some(&plain));
        let by_number = || {
            // What follows the number (sm_90a, gfx942:sramecc+) says nothing here.
            let sm = plain.strip_prefix("sm").map(|rest| rest.trim_end_matches(|c: char| c.is_ascii_alphabetic()));
            let gfx = plain.strip_prefix("gfx").map(|rest| rest.split(':').next().unwrap_or_default());
            let sm = sm.and_then(|digits| digits.parse().ok()).filter(|sm| (10..1000).contains(sm)).map(Self::Sm);
            sm.or_else(|| gfx.and_then(|digits| u32::from_str_radix(digits, 16).ok()).map(Self::Gfx))
        };
        by_name.map(|(_, gpu)| *gpu).or_else(by_number).ok_or_else(|| PlatformError::Gpu(text.to_owned()))
    }
}

impl fmt::Display for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sm(capability) => write!(f, "sm_{capability}"),
            Self::Gfx(number) => write!(f, "gfx{number:x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn versions_and_gpus_are_read_as_people_write_them() {
        assert_eq!(version("2.27.5"), Version { patch: Some(5), ..Version::new(2, 27) });
        assert_eq!(version("v2.9+cuda12.4").to_string(), "2.9");
        assert_eq!(version("2.30.4").to_string(), "2.30.4");
        assert!(version("2.9") < version("2.27"));
        for (text, gpu) in [
            ("h100", Gpu::Sm(90)),
            ("sm_90a", Gpu::Sm(90)),
            ("SM100", Gpu::Sm(100)),
            ("gfx90a", Gpu::Gfx(0x90a)),
            ("gfx942:sramecc+", Gpu::Gfx(0x942)),
            ("MI355X", Gpu::Gfx(0x950)),
            ("mi300", Gpu::Gfx(0x942)),
        ] {
            assert_eq!(text.parse(), Ok(gpu), "{text}");
            assert_eq!(gpu.to_string().parse(), Ok(gpu), "{text}");
        }
        for wrong in ["", "sm", "gfx", "gfxzz", "toaster", "sm_1", "x100"] {
            assert!(wrong.parse::<Gpu>().is_err(), "{wrong}");
        }
        assert!("two".parse::<Version>().unwrap_err().to_string().contains("2.27 or 2.27.5 was expected"));
    }

    #[test]
    fn a_version_of_two_numbers_is_any_of_its_releases() {
        let since = version("2.28.3");
        for (text, is_from) in [("2.28.2", false), ("2.28.3", true), ("2.28", true), ("2.27.9", false), ("2.30", true)]
        {
            assert_eq!(version(text).is_from(since), is_from, "{text}");
        }
    }

    #[test]
    fn a_device_tells_its_gpu_by_one_of_its_words() {
        let of = |name: &str| Gpu::of_device(name);
        assert_eq!(of("NVIDIA H100 80GB HBM3"), Some(("h100", Gpu::Sm(90))));
        assert_eq!(of("NVIDIA A100-SXM4-80GB"), Some(("a100", Gpu::Sm(80))));
        assert_eq!([of("NVIDIA"), of("H1000"), of("")], [None; 3]);
    }

    #[test]
    fn a_compute_capability_has_two_digits_or_three() {
        let is_read = |text: &str| text.parse::<Gpu>().is_ok();
        assert_eq!(["sm_9", "sm_10", "sm_999", "sm_1000"].map(is_read), [false, true, true, false]);
    }
}
