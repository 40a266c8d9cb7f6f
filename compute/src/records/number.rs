//! Parses cells as numbers.

use super::trimmed;

/// Reads a finite number as tables print it: `8.2`, `+8.2`, `-1`, `1.2e+04`, `110322.0`, `.5`. Blanks around it do
/// not matter; `nan`, `inf` and everything else is no number.
///
/// ```
/// use collectune_compute::records::number;
/// assert_eq!(number(" +8.2 "), Some(8.2));
/// assert_eq!(number("nan"), None);
/// assert_eq!(number("1,5"), None);
/// ```
pub fn number(cell: &str) -> Option<f64> {
    let cell = trimmed(cell);
    if let Some(number) = plain(cell) {
        return Some(number);
    }
    // Rust also parses `inf`, `infinity` and `nan`, which begin with a letter after the sign.
    let begins = cell.bytes().find(|b| !matches!(b, b'+' | b'-'))?;
    if !begins.is_ascii_digit() && begins != b'.' {
        return None;
    }
    cell.parse().ok().filter(|n: &f64| n.is_finite())
}

/// The fast path for a decimal number of at most 15 digits: digits and power of ten are exact in binary, so their
/// quotient is correctly rounded (W. D. Clinger, How to read floating point numbers accurately, 1990).
fn plain(cell: &str) -> Option<f64> {
    const POWERS: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    let (mut digits, mut count, mut point) = (0_u64, 0, None);
    if cell.len() > POWERS.len() {
        return None;
    }
    for byte in cell.bytes() {
        match byte {
            b'0'..=b'9' => {
                digits = digits * 10 + u64::from(byte - b'0');
                count += 1;
            }
            b'.' if point.is_none() => point = Some(count),
            _ => return None,
        }
    }
    let decimals = count - point.unwrap_or(count);
    (1..POWERS.len()).contains(&count).then(|| digits as f64 / POWERS[decimals])
}

/// Reads a whole number, also as `2.0` or `1e3`; exact up to 2⁵³.
///
/// ```
/// use collectune_compute::records::whole;
/// assert_eq!(whole("2.0"), Some(2));
/// assert_eq!(whole("-88"), Some(-88));
/// assert_eq!(whole("2.5"), None);
/// ```
pub fn whole(cell: &str) -> Option<i64> {
    let cell = trimmed(cell);
    if let Ok(n) = cell.parse() {
        return Some(n);
    }
    let n = number(cell)?;
    (n.fract() == 0.0 && n.abs() <= 9_007_199_254_740_992.0).then_some(n as i64)
}

/// Whether the cell stands for a missing value: blank, `N/A`, `NA`, `nan`, `null`, `none`, `-`.
pub fn is_missing(cell: &str) -> bool {
    let cell = cell.trim();
    cell.is_empty() || ["n/a", "na", "nan", "null", "none", "-"].iter().any(|word| cell.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (cell, value) in [
            ("0.02", 0.02),
            ("+8.2", 8.2),
            ("110322.0", 110_322.0),
            ("1.2e+04", 12_000.0),
            ("1E-3", 0.001),
            (".5", 0.5),
            ("5.", 5.0),
            ("-0", 0.0),
            ("\t7\r", 7.0),
        ] {
            assert_eq!(number(cell), Some(value), "{cell:?}");
        }
        for cell in [
            "",
            " ",
            "+",
            "-",
            ".",
            "inf",
            "-inf",
            "+Infinity",
            "nan",
            "-nan",
            "NaN",
            "1e999",
            "0x10",
            "1_000",
            "1,000",
            "12 us",
            "--1",
            "+-1",
            "1.2.3",
            "١",
            "e5",
            "'1",
        ] {
            assert_eq!(number(cell), None, "{cell:?}");
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn plain_numbers_are_the_nearest_ones(cell in "[0-9]{0,17}[.]?[0-9]{0,17}") {
            let bits = |number: f64| number.to_bits();
            proptest::prop_assert_eq!(number(&cell).map(bits), cell.parse().ok().map(bits));
        }
    }

    #[test]
    fn whole_numbers() {
        for (cell, value) in [
            ("16", 16),
            ("+16", 16),
            ("2.0", 2),
            ("-88.0", -88),
            ("1e3", 1000),
            ("9007199254740992.0", 1 << 53),
            ("9223372036854775807", i64::MAX),
        ] {
            assert_eq!(whole(cell), Some(value), "{cell:?}");
        }
        for cell in ["2.5", "1e300", "18446744073709551615", "", "auto", "nan"] {
            assert_eq!(whole(cell), None, "{cell:?}");
        }
    }

    #[test]
    fn missing_values() {
        assert!(["", "  ", "N/A", "n/a", "NaN", "None", "-"].iter().all(|c| is_missing(c)));
        assert!(!["0", "-1", "nano", "RING"].iter().any(|c| is_missing(c)));
    }
}
