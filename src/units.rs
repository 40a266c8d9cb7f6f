//! Sizes, bandwidths, times: how they are read and how they print.
//!
//! A message size is a count of bytes and prints in binary units (`16 MiB`), because nccl-tests sweeps
//! powers of two. Bandwidth is in GB/s with 1 GB = 1e9 bytes, as nccl-tests prints it. Time is in
//! microseconds.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A message size in bytes.
///
/// ```
/// use collectune::units::Size;
/// assert_eq!("16M".parse(), Ok(Size(16 << 20)));
/// assert_eq!(Size(16 << 20).to_string(), "16 MiB");
/// assert_eq!(Size(3840).to_string(), "3.75 KiB");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Size(pub u64);

/// The error of a size that can't be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not {}", Size::EXPECTED)]
pub struct SizeError {
    /// The text that was given.
    pub text: String,
}

impl Size {
    /// What a size is, in words.
    pub const EXPECTED: &str = "a size; write bytes or a number with K, M or G, like 65536 or 16M";
}

const UNITS: [(&str, u64); 5] = [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];

impl fmt::Display for Size {
    /// In the largest binary unit in which it is exact to three decimals, else in bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, bytes) in UNITS.iter().rev() {
            let (whole, thousandths) = (self.0 / bytes, self.0 % bytes * 1000);
            if whole > 0 && thousandths.is_multiple_of(*bytes) {
                let rest = thousandths / bytes;
                let text = if rest == 0 { format!("{whole} {name}") } else { format!("{whole}.{rest:03}") };
                return if rest == 0 { f.pad(&text) } else { f.pad(&format!("{} {name}", text.trim_end_matches('0'))) };
            }
        }
        f.pad("0 B")
    }
}

impl FromStr for Size {
    type Err = SizeError;

    /// Reads `4096`, `64K`, `1.5 MiB`, `16MB`: K, M, G and T are powers of 1024 with or without `B` or
    /// `iB`, as in nccl-tests and rccl-sweep.
    fn from_str(text: &str) -> Result<Self, SizeError> {
        let error = || SizeError { text: text.to_owned() };
        let lower = text.trim().to_ascii_lowercase();
        let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic()).trim_end();
        let unit = match lower[digits.len()..].trim_start() {
            "" | "b" => 1,
            "k" | "kb" | "kib" => 1 << 10,
            "m" | "mb" | "mib" => 1 << 20,
            "g" | "gb" | "gib" => 1 << 30,
            "t" | "tb" | "tib" => 1_u64 << 40,
            _ => return Err(error()),
        };
        if let Ok(whole) = digits.parse::<u64>() {
            return whole.checked_mul(unit).map(Self).ok_or_else(error);
        }
        let plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let number: f64 = digits.parse().ok().filter(|_| plain).ok_or_else(error)?;
        let bytes = number * unit as f64;
        // No part of a byte is sent: `1.5` lacks its unit.
        if unit == 1 && bytes.fract() != 0.0 {
            return Err(error());
        }
        if bytes < 9e15 { Ok(Self(bytes as u64)) } else { Err(error()) }
    }
}

/// A number for people: four significant digits, no exponent between 1e-4 and 1e9.
///
/// ```
/// use collectune::units::significant;
/// assert_eq!(significant(378.4512), "378.5");
/// assert_eq!(significant(0.0203), "0.0203");
/// ```
pub fn significant(value: f64) -> String {
    let magnitude = value.abs();
    if !value.is_finite() {
        return "–".to_owned();
    }
    if magnitude == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e9).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    let decimals = match magnitude {
        m if m >= 999.95 => 0,
        m if m >= 99.995 => 1,
        m if m >= 9.9995 => 2,
        m if m >= 0.999_95 => 3,
        _ => 4,
    };
    format!("{value:.decimals$}")
}

/// A written number with the sign that people read, `−0.4`. Files keep the hyphen, which programs read.
pub fn with_minus(number: String) -> String {
    match number.strip_prefix('-') {
        Some(digits) => format!("−{digits}"),
        None => number,
    }
}

/// A time with its unit: `8.31 µs`, `412.7 µs`, `28633 µs`.
pub fn microseconds(time_us: f64) -> String {
    if (0.1..1e9).contains(&time_us) {
        let decimals = if time_us < 99.995 { 2 } else { usize::from(time_us < 999.95) };
        return format!("{time_us:.decimals$} µs");
    }
    format!("{} µs", significant(time_us))
}

/// Two times with their unit, `107.2 → 98.40 µs`; a dash for the one that is not known, `None` where neither is.
///
/// ```
/// use collectune::units::from_to_microseconds;
/// assert_eq!(from_to_microseconds(Some(107.2), Some(8.31)).as_deref(), Some("107.2 → 8.31 µs"));
/// assert_eq!(from_to_microseconds(Some(107.2), None).as_deref(), Some("107.2 → – µs"));
/// assert_eq!(from_to_microseconds(None, None), None);
/// ```
pub fn from_to_microseconds(from_us: Option<f64>, to_us: Option<f64>) -> Option<String> {
    let written = |time_us: Option<f64>| {
        time_us.map_or_else(|| "–".to_owned(), |time_us| microseconds(time_us).trim_end_matches(" µs").to_owned())
    };
    from_us.or(to_us).map(|_| format!("{} → {} µs", written(from_us), written(to_us)))
}

/// A signed share in per cent with one decimal: `+12.3 %`, `−0.4 %`.
pub fn percent(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let rounded = (value * 10.0).round() / 10.0;
    let sign = if rounded > 0.0 {
        "+"
    } else if rounded < 0.0 {
        "−"
    } else {
        ""
    };
    format!("{sign}{:.1} %", rounded.abs())
}

/// `1 row`, `2 rows`, `12,345 rows`.
///
/// ```
/// assert_eq!(collectune::units::count(12_345, "row"), "12,345 rows");
/// assert_eq!(collectune::units::count(2, "launch"), "2 launches");
/// ```
pub fn count(number: u64, noun: &str) -> String {
    format!("{} {}", grouped(number), counted_noun(number, noun))
}

/// The first names of a list, `a, b and 3 more`.
///
/// ```
/// assert_eq!(collectune::units::first_of(2, &[1, 2, 3], i32::to_string), "1, 2 and 1 more");
/// ```
pub fn first_of<T>(most: usize, all: &[T], name: impl Fn(&T) -> String) -> String {
    let named = all.iter().take(most).map(name).collect::<Vec<_>>().join(", ");
    match all.len().saturating_sub(most) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// The form of a noun after a number: `launch` after 1, `launches` after 2.
pub fn counted_noun(number: u64, noun: &str) -> String {
    let plural = if noun.ends_with("ch") { "es" } else { "s" };
    format!("{noun}{}", if number == 1 { "" } else { plural })
}

/// A number with commas between thousands, such as `12,345`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A file's size: `194 KiB`, one decimal from MiB on.
pub fn file_size(bytes: u64) -> String {
    match bytes as f64 / 1024.0 {
        _ if bytes < 1024 => format!("{bytes} B"),
        kib if kib < 1000.0 => format!("{kib:.0} KiB"),
        kib if kib < 1000.0 * 1024.0 => format!("{:.1} MiB", kib / 1024.0),
        kib => format!("{:.1} GiB", kib / 1024.0 / 1024.0),
    }
}

/// With a capital at the beginning, where that is a letter of ASCII: the casing of all others is a table of its own.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_and_print() {
        for (text, bytes, printed) in [
            ("4096", 4096, "4 KiB"),
            ("1.5M", 3 << 19, "1.5 MiB"),
            ("64KB", 65536, "64 KiB"),
            ("2 GiB", 2 << 30, "2 GiB"),
            ("3840", 3840, "3.75 KiB"),
            ("368640", 368_640, "360 KiB"),
            ("16776960", 16_776_960, "16383.75 KiB"),
            ("7", 7, "7 B"),
            ("0", 0, "0 B"),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
            assert_eq!(Size(bytes).to_string(), printed);
        }
        for text in ["", "M", "-1", "1e3", "12 parsecs", "99999999999T", "1.2.3", "1.5", "0.5 B"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_keep_four_digits() {
        assert_eq!([0.0, -0.0].map(significant), ["0", "0"]);
        assert_eq!(significant(1234.5), "1234");
        assert_eq!(significant(f64::NAN), "–");
        assert_eq!(["-0.4", "0.4", "−0.4"].map(|number| with_minus(number.to_owned())), ["−0.4", "0.4", "−0.4"]);
        assert_eq!(percent(-0.44), "−0.4 %");
        assert_eq!(percent(12.34), "+12.3 %");
        assert_eq!(percent(-0.01), "0.0 %");
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!(count(0, "row"), "0 rows");
        assert_eq!(count(1, "row"), "1 row");
        assert_eq!(count(1_000_000, "row"), "1,000,000 rows");
        assert_eq!([12, 198_995, 73_400_320, 3 << 30].map(file_size), ["12 B", "194 KiB", "70.0 MiB", "3.0 GiB"]);
    }
}
