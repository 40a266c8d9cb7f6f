//! Numbers in JSON with the digits that are shown.

use serde_json::Value;

use crate::{text::number, units::Size};

/// The integer up to which all integers are exact in a double: 2⁵³.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The number with five significant digits; integers with all digits. Numbers that are not finite become words, as
/// JSON can't represent them.
pub(super) fn write(value: f64) -> Value {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.into();
    }
    let is_whole = |value: f64| value.fract() == 0.0 && value.abs() < EXACT;
    let rounded = if is_whole(value) { value } else { format!("{value:.4e}").parse().unwrap_or(value) };
    if is_whole(rounded) { (rounded as i64).into() } else { rounded.into() }
}

/// The number that [`write()`] wrote.
pub(super) fn read(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(word) => match word.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

/// The number that a cell shows: what its text begins with, sizes in bytes.
pub(super) fn shown(text: &str) -> Option<f64> {
    Shown::of(text).map(|shown| shown.value)
}

/// Whether the text of a cell determines its number, so that the number need not be written.
pub(super) fn determines(text: &str, number: Option<f64>) -> bool {
    match (Shown::of(text), number) {
        (None, None) => true,
        (Some(shown), Some(number)) => (shown.value - number).abs() <= shown.tolerance,
        _ => false,
    }
}

struct Shown {
    value: f64,
    /// Half a unit of the last digit, with a small margin.
    tolerance: f64,
}

impl Shown {
    fn of(text: &str) -> Option<Self> {
        // Parsers don't accept U+2212, the typographic minus.
        let plain = text.replace('−', "-");
        let is_digit = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-');
        let end = plain.find(|c| !is_digit(c)).unwrap_or(plain.len());
        let end = match plain[end..].strip_prefix('e') {
            Some(exponent) => {
                let signed = exponent.strip_prefix('-').unwrap_or(exponent);
                let digits = signed.find(|c: char| !c.is_ascii_digit()).unwrap_or(signed.len());
                if digits == 0 { end } else { end + 1 + (exponent.len() - signed.len()) + digits }
            }
            None => end,
        };
        let (digits, rest) = plain.split_at(end);
        let value = number(digits)?;
        let mut words = rest.split(' ');
        if let (Some(""), Some(unit)) = (words.next(), words.next())
            && let Ok(Size(bytes)) = format!("{digits} {unit}").parse()
        {
            return Some(Self { value: bytes as f64, tolerance: 0.0 });
        }
        let decimals = digits.split(['.', 'e']).nth(1).filter(|_| digits.contains('.')).map_or(0, str::len);
        let last_digit = (0..decimals.min(20)).fold(1.0, |digit, _| digit / 10.0);
        Some(Self { value, tolerance: 0.55 * last_digit + value.abs() * if digits.contains('e') { 1e-3 } else { 0.0 } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{percent, significant};

    #[test]
    fn cells_tell_their_numbers() {
        for (text, value) in [
            ("16 MiB", Some(16_777_216.0)),
            ("3.75 KiB", Some(3840.0)),
            ("17.650", Some(17.65)),
            ("−0.4 %", Some(-0.4)),
            ("+12.3 %", Some(12.3)),
            ("301.2 – 398.0", Some(301.2)),
            ("−2.5 to +10.4 %", Some(-2.5)),
            ("378.451 RING/LL128/24", Some(378.451)),
            ("1.234e9", Some(1.234e9)),
            ("5 more", Some(5.0)),
            ("5e", Some(5.0)),
            ("", None),
            ("deploy", None),
            ("–", None),
            ("+-3", None),
            ("1.2.3", None),
        ] {
            assert_eq!(shown(text), value, "{text}");
        }
        for value in [0.0, 12.3456, -0.44, 999.96, 1234.4, 98_765.4, 2.3e10, 1e-7, -3e-9] {
            assert!(determines(&significant(value), Some(value)), "{value}");
            assert!(determines(&percent(value), Some(value)) || value.abs() > 1e9, "{value}");
            assert!(
                !determines(&significant(value), Some(value * 1.1 + 3.0)) && !determines(&significant(value), None)
            );
        }
        assert!(determines("", None) && !determines("", Some(1.0)) && !determines("3 × 24", Some(3e9 + 24.0)));
    }

    #[test]
    fn what_is_not_finite_stands_as_a_word() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, 378.45, 16_777_216.0, 1e300, 5e-324, -2.5] {
            let read = read(&write(value)).unwrap();
            assert!(read == value || (read.is_nan() && value.is_nan()), "{value} {read}");
        }
        assert_eq!(write(378.451_23), serde_json::json!(378.45));
        assert_eq!(write(123_456.7), serde_json::json!(123_460));
        assert_eq!(read(&"one".into()), None);
    }
}
