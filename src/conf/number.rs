//! Numbers as `strtoull` and `atoi` read them: in base 10, as far as the digits go, and never an error.

/// A number as C's parsing functions read it, with properties of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number<'a, T> {
    /// The value that C would use; 0 where the text has no digit.
    pub value: T,
    /// Whether the text has at least one digit.
    pub has_digits: bool,
    /// Whether the digits denote a number that the type can't hold.
    pub overflows: bool,
    /// Whether a minus sign precedes the digits.
    pub is_negative: bool,
    /// The rest of the text after the digits, which C ignores.
    pub rest: &'a [u8],
}

/// `strtoull(text, NULL, 10)` of a 64-bit C library: too large a number becomes the largest, a negative one counts down
/// from 2⁶⁴.
pub fn strtoull(text: &[u8]) -> Number<'_, u64> {
    let Digits { magnitude, is_negative, has_digits, rest } = digits(text);
    let overflows = magnitude > u128::from(u64::MAX);
    let whole = magnitude.min(u128::from(u64::MAX)) as u64;
    let value = if is_negative && !overflows { whole.wrapping_neg() } else { whole };
    Number { value, has_digits, overflows, is_negative, rest }
}

/// `atoi(text)` of glibc: `(int) strtol(text, NULL, 10)`, which ends at the ends of a 64-bit `long` and then keeps the
/// low 32 bits.
pub fn atoi(text: &[u8]) -> Number<'_, i32> {
    let Digits { magnitude, is_negative, has_digits, rest } = digits(text);
    let limit = i64::MAX as u128 + u128::from(is_negative);
    let long = if is_negative { -(magnitude.min(limit) as i128) } else { magnitude.min(limit) as i128 };
    let value = long as i32;
    Number { value, has_digits, overflows: i128::from(value) != long || magnitude > limit, is_negative, rest }
}

struct Digits<'a> {
    /// The absolute value, capped at 2⁶⁵, which is beyond every type that is read.
    magnitude: u128,
    is_negative: bool,
    has_digits: bool,
    rest: &'a [u8],
}

fn digits(text: &[u8]) -> Digits<'_> {
    // isspace of the C locale.
    let begin = text.iter().position(|b| !matches!(b, b' ' | b'\t'..=b'\r')).unwrap_or(text.len());
    let signed = &text[begin..];
    let is_negative = signed.first() == Some(&b'-');
    let unsigned = if matches!(signed.first(), Some(b'+' | b'-')) { &signed[1..] } else { signed };
    let count = unsigned.iter().take_while(|b| b.is_ascii_digit()).count();
    let (number, rest) = unsigned.split_at(count);
    let magnitude = number.iter().fold(0_u128, |sum, digit| (sum * 10 + u128::from(digit - b'0')).min(1 << 65));
    // Without a digit the text is no number at all, its sign and blanks included.
    let has_digits = count > 0;
    Digits { magnitude, is_negative: is_negative && has_digits, has_digits, rest: if has_digits { rest } else { text } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_strtoull_reads_them() {
        for (text, value) in [
            ("4096", 4096),
            (" \t+7", 7),
            ("128M", 128),
            ("", 0),
            ("M", 0),
            ("- 1", 0),
            ("+-1", 0),
            ("0x10", 0),
            ("1e6", 1),
            ("-1", u64::MAX),
            ("-4096", u64::MAX - 4095),
            ("18446744073709551615", u64::MAX),
            ("18446744073709551616", u64::MAX),
            ("-18446744073709551616", u64::MAX),
            ("99999999999999999999999999999999999999999999999", u64::MAX),
        ] {
            assert_eq!(strtoull(text.as_bytes()).value, value, "{text}");
        }
        assert_eq!(strtoull(b"128M").rest, b"M");
        assert!(!strtoull(b"M").has_digits && strtoull(b"18446744073709551616").overflows);
    }

    #[test]
    fn counts_as_atoi_reads_them() {
        for (text, value) in [
            ("8", 8),
            ("-1", -1),
            ("-1\r", -1),
            ("8 # eight", 8),
            ("\r", 0),
            ("two", 0),
            ("2147483648", i32::MIN),
            ("4294967297", 1),
            ("9223372036854775807", -1),
            ("99999999999999999999", -1),
            ("-99999999999999999999", 0),
        ] {
            assert_eq!(atoi(text.as_bytes()).value, value, "{text}");
        }
        assert!(atoi(b"4294967297").overflows && !atoi(b"-2147483648").overflows);
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        assert!(!strtoull(b"18446744073709551615").overflows && !strtoull(b"-18446744073709551615").overflows);
        assert!(!atoi(b"2147483647").overflows && atoi(b"2147483648").overflows && atoi(b"-2147483649").overflows);
    }
}
