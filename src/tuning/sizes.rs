//! Sizes as people write them in a field or on a command line (`1M, 16M 1.5G`), and where the one gives way to the
//! next.

use crate::order::CompactSort;
use crate::units::{Size, SizeError};

/// A list of batch sizes that can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchesError {
    /// There is no number between the commas, or no text at all.
    #[error("no batch size is given; write one or several, like 1, 8, 64")]
    Empty,
    /// One of the texts is no number of samples or tokens.
    #[error("\"{0}\" is not a whole number above 0")]
    NotWhole(String),
    /// There are more than [`MAX_SIZES`] numbers.
    #[error("more than {MAX_SIZES} batch sizes are given")]
    TooMany,
}

/// Reads batch sizes, or numbers of tokens, as [`parse_sizes`] reads sizes: `1, 8, 4K`.
///
/// # Errors
///
/// Names the first text that is not a whole number above 0.
pub fn parse_batches(text: &str) -> Result<Vec<u64>, BatchesError> {
    parse_sizes(text).map_err(|error| match error {
        SizesError::Empty => BatchesError::Empty,
        SizesError::Size(error) => BatchesError::NotWhole(error.text),
        SizesError::Zero => BatchesError::NotWhole("0".to_owned()),
        SizesError::TooMany => BatchesError::TooMany,
    })
}

/// The most sizes answered at once.
pub const MAX_SIZES: usize = 1000;

/// A list of sizes that can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizesError {
    /// There is no size between the commas, or no text at all.
    #[error("no size is given; write one or several, like 16M or 1M, 16M, 1.5G")]
    Empty,
    /// One of the texts is no size.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// A size of 0 bytes, which has no bandwidth.
    #[error("a message of 0 bytes has no bandwidth")]
    Zero,
    /// There are more than [`MAX_SIZES`] sizes.
    #[error("more than {MAX_SIZES} sizes are given")]
    TooMany,
}

/// Where, between two measured sizes in bytes, what holds for the upper one begins: their geometric mean, rounded up to
/// a multiple of 4, and at most the upper size.
///
/// ```
/// use collectune::tuning::sizes::boundary;
/// assert_eq!(boundary(4096, 8192), 5796);
/// ```
pub fn boundary(lower_bytes: u64, upper_bytes: u64) -> u64 {
    let square = u128::from(lower_bytes) * u128::from(upper_bytes);
    let root = square.isqrt();
    let above = root + u128::from(root * root < square);
    above.next_multiple_of(4).min(u128::from(upper_bytes)) as u64
}

/// Reads sizes between commas, semicolons or blanks; ascending in bytes, each once. A unit may stand apart from its
/// number (`16 MiB`).
///
/// ```
/// use collectune::tuning::sizes::parse_sizes;
/// assert_eq!(parse_sizes("16M, 4 KiB 1.5M"), Ok(vec![4096, 3 << 19, 16 << 20]));
/// ```
///
/// # Errors
///
/// Names the first text that is no size.
pub fn parse_sizes(text: &str) -> Result<Vec<u64>, SizesError> {
    let mut words: Vec<String> = Vec::new();
    for part in text.split([',', ';']) {
        let mut previous_is_number = false;
        for word in part.split_whitespace() {
            let is_unit = word.chars().all(|c| c.is_ascii_alphabetic());
            match words.last_mut() {
                Some(number) if is_unit && previous_is_number => number.push_str(word),
                _ => words.push(word.to_owned()),
            }
            previous_is_number = word.ends_with(|c: char| c.is_ascii_digit());
        }
    }
    if words.is_empty() {
        return Err(SizesError::Empty);
    }
    if words.len() > MAX_SIZES {
        return Err(SizesError::TooMany);
    }
    let mut sizes = words.iter().map(|word| Ok(word.parse::<Size>()?.0)).collect::<Result<Vec<u64>, SizesError>>()?;
    sizes.compact_sort();
    sizes.dedup();
    if sizes.first() == Some(&0) { Err(SizesError::Zero) } else { Ok(sizes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_people_write_them() {
        for (text, sizes) in [
            ("16M", vec![16 << 20]),
            (" 64K,64K ; 1 MiB\n2", vec![2, 65536, 1 << 20]),
            ("368640", vec![368_640]),
            ("1.5 G", vec![3 << 29]),
        ] {
            assert_eq!(parse_sizes(text), Ok(sizes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_named() {
        assert_eq!(parse_sizes(" , ;"), Err(SizesError::Empty));
        assert_eq!(parse_sizes("16M, 0"), Err(SizesError::Zero));
        assert!(parse_sizes("1.5").is_err() && parse_sizes("1.5K") == Ok(vec![1536]));
        for (text, wrong) in [("1.5, 2", "1.5"), ("8, 0", "0"), ("-1", "-1")] {
            assert_eq!(parse_batches(text), Err(BatchesError::NotWhole(wrong.to_owned())), "{text}");
        }
        assert_eq!(parse_batches("8, 4K"), Ok(vec![8, 4096]));
        assert!(parse_sizes("16M, all").unwrap_err().to_string().contains("\"all\""));
        assert!(parse_sizes("M").is_err());
        assert_eq!(parse_sizes(&"1 ".repeat(1001)), Err(SizesError::TooMany));
    }
}
