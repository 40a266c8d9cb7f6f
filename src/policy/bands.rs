//! Sizes brought together, for the plugin's table alone: what is measured is analysed at its exact size.

use std::str::FromStr;

use crate::units::Size;

/// The most bounds that a set of bands can have.
pub const MOST_BOUNDS: usize = 31;

/// Bounds between bands of sizes in bytes, ascending. A band begins at its lower bound and ends before its upper one.
///
/// ```
/// use collectune::policy::bands::Bands;
/// let bands = Bands::default();
/// assert_eq!((bands.len(), bands.of(67_108_864)), (7, 5));
/// assert_eq!(bands.range(5), (33_554_432, Some(134_217_728)));
/// assert_eq!((bands.of(1023), bands.of(1024)), (0, 1));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bands(Vec<u64>);

/// The reason why numbers are no bounds of bands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BandsError {
    /// No bound at all, or more than [`MOST_BOUNDS`].
    #[error("there are {0} bounds between bands; 1 to {MOST_BOUNDS} are possible")]
    Count(usize),
    /// The second of these bounds does not exceed the first, which precedes it.
    #[error("the bounds between bands must ascend: {1} follows {0}")]
    NotAscending(u64, u64),
    /// A word that is no size.
    #[error("{0:?} is neither six, seven or eight nor a list of sizes in bytes")]
    NoSize(String),
}

impl FromStr for Bands {
    type Err = BandsError;

    /// Reads a name, or sizes between commas: `1K,256K,1M`.
    fn from_str(text: &str) -> Result<Self, BandsError> {
        let named = |(name, _): &&(&str, &[u64])| name.eq_ignore_ascii_case(text.trim());
        if let Some((_, bounds)) = Self::NAMED.iter().find(named) {
            return Ok(Self(bounds.to_vec()));
        }
        let size = |word: &str| {
            let word = word.trim();
            word.parse().map(|Size(bytes)| bytes).map_err(|_error| BandsError::NoSize(word.to_owned()))
        };
        Self::new(text.split(',').map(size).collect::<Result<_, _>>()?)
    }
}

impl Bands {
    /// The predefined sets of bounds, by name.
    pub const NAMED: [(&str, &[u64]); 3] = [
        ("six", &[1024, 16_384, 262_144, 1_048_576, 8_388_608]),
        ("seven", &[1024, 262_144, 1_048_576, 4_194_304, 33_554_432, 134_217_728]),
        ("eight", &[1024, 32_768, 262_144, 1_048_576, 4_194_304, 16_777_216, 134_217_728]),
    ];

    /// Custom bounds.
    ///
    /// # Errors
    /// Returns an error if there are none or too many, or they don't ascend.
    pub fn new(bounds: Vec<u64>) -> Result<Self, BandsError> {
        if bounds.is_empty() || bounds.len() > MOST_BOUNDS {
            return Err(BandsError::Count(bounds.len()));
        }
        match bounds.windows(2).find(|pair| pair[0] >= pair[1]) {
            Some(pair) => Err(BandsError::NotAscending(pair[0], pair[1])),
            None => Ok(Self(bounds)),
        }
    }

    /// The bounds in bytes, ascending.
    pub fn bounds(&self) -> &[u64] {
        &self.0
    }

    /// The number of bands, which is one more than the number of bounds.
    #[allow(clippy::len_without_is_empty, reason = "there are always two")]
    pub fn len(&self) -> usize {
        self.0.len() + 1
    }

    /// The index of the band that contains a size.
    pub fn of(&self, size_bytes: u64) -> u32 {
        self.0.iter().filter(|bound| **bound <= size_bytes).count() as u32
    }

    /// The first size of a band, and the first size after it, in bytes; `None` for the last band.
    pub fn range(&self, band: u32) -> (u64, Option<u64>) {
        let band = band as usize;
        let from = band.checked_sub(1).and_then(|below| self.0.get(below)).copied();
        (from.unwrap_or(0), self.0.get(band).copied())
    }
}

impl Default for Bands {
    fn default() -> Self {
        Self(Self::NAMED[1].1.to_vec())
    }
}
