//! Ranges of whole numbers: of nodes and ranks, and of the bytes of a rank.

use std::fmt;

/// The whole numbers from `min` to `max`, both included; none where `min` is above `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interval {
    /// The smallest number of the range.
    pub min: i64,
    /// The largest number of the range.
    pub max: i64,
}

impl Interval {
    /// Every number.
    pub const ANY: Self = Self { min: i64::MIN, max: i64::MAX };
    /// No number.
    pub const NONE: Self = Self { min: 1, max: 0 };

    /// The range that holds this number and no other.
    pub const fn only(number: i64) -> Self {
        Self { min: number, max: number }
    }

    /// What the readers in C make of a number of nodes or ranks: −1 matches any.
    pub const fn of_c(number: i32) -> Self {
        if number == -1 { Self::ANY } else { Self::only(number as i64) }
    }

    /// Whether a number lies in the range.
    pub const fn contains(self, number: i64) -> bool {
        self.min <= number && number <= self.max
    }

    /// Whether no number lies in the range.
    pub const fn is_empty(self) -> bool {
        self.min > self.max
    }

    /// Whether some number lies in both ranges, neither of which is empty.
    pub const fn meets(self, other: Self) -> bool {
        self.min <= other.max && other.min <= self.max
    }

    /// Whether every number of the other range lies in this one.
    pub const fn holds(self, inner: Self) -> bool {
        self.min <= inner.min && inner.max <= self.max
    }

    /// The one number of the range, where that is a number of nodes or ranks.
    pub fn count(self) -> Option<u32> {
        u32::try_from(self.min).ok().filter(|_| self.min == self.max)
    }
}

/// As NCCLX writes it: `*`, `8`, `[2,4]`, `[2,)`.
impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ANY => f.write_str("*"),
            Self { min, max } if min == max => write!(f, "{min}"),
            Self { min: i64::MIN, max } => write!(f, "(,{max}]"),
            Self { min, max: i64::MAX } => write!(f, "[{min},)"),
            Self { min, max } => write!(f, "[{min},{max}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_the_numbers_that_they_contain() {
        let ends = -2..=2_i64;
        let all = || ends.clone().flat_map(|min| ends.clone().map(move |max| Interval { min, max }));
        let numbers = |of: Interval| (-3..=3).filter(|number| of.contains(*number)).collect::<Vec<i64>>();
        for one in all() {
            assert_eq!(numbers(one), (one.min..=one.max).collect::<Vec<_>>());
            assert_eq!(one.is_empty(), numbers(one).is_empty(), "{one:?}");
            for other in all().filter(|other| !other.is_empty() && !one.is_empty()) {
                let meets = numbers(one).iter().any(|number| other.contains(*number));
                let holds = numbers(other).iter().all(|number| one.contains(*number));
                assert_eq!((one.meets(other), one.holds(other)), (meets, holds), "{one:?} {other:?}");
            }
        }
        assert!(Interval::ANY.holds(Interval::only(i64::MIN)) && Interval::ANY.meets(Interval::only(i64::MAX)));
        assert!(Interval::NONE.is_empty());
        assert_eq!([-1, 0, 5].map(Interval::of_c), [Interval::ANY, Interval::only(0), Interval::only(5)]);
    }

    #[test]
    fn only_one_number_that_is_not_negative_is_a_count() {
        let count = |min, max| Interval { min, max }.count();
        assert_eq!([count(8, 8), count(0, 0), count(-1, -1), count(2, 4)], [Some(8), Some(0), None, None]);
    }

    #[test]
    fn ncclx_reads_what_is_written() {
        let written = |min, max| Interval { min, max }.to_string();
        assert_eq!(written(i64::MIN, i64::MAX), "*");
        assert_eq!([written(8, 8), written(2, 4)], ["8", "[2,4]"]);
        assert_eq!([written(i64::MIN, 4), written(2, i64::MAX)], ["(,4]", "[2,)"]);
    }
}
