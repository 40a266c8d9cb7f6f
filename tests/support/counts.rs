//! Counts of simulated outcomes beside the rates that are stated of them.

use std::fmt::Display;

use collectune::math::pow;

/// So many of so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub of: u32,
    pub all: u32,
}

impl Count {
    pub fn add(&mut self, is: bool) {
        self.of += u32::from(is);
        self.all += 1;
    }

    pub fn plus(self, other: Self) -> Self {
        Self { of: self.of + other.of, all: self.all + other.all }
    }

    pub fn share(self) -> f64 {
        f64::from(self.of) / f64::from(self.all.max(1))
    }

    /// It is no more than a rate allows, but for one chance in a thousand.
    pub fn is_at_most(self, rate: f64) -> bool {
        if rate >= 1.0 {
            return true;
        }
        // The probability of this count or a higher one.
        let mut probability = pow(1.0 - rate, f64::from(self.all));
        let mut below = 0.0;
        for k in 0..self.of {
            below += probability;
            probability *= f64::from(self.all - k) / f64::from(k + 1) * rate / (1.0 - rate);
        }
        1.0 - below > 0.001
    }

    /// It is no less than a rate promises, but for one chance in a thousand.
    pub fn is_at_least(self, rate: f64) -> bool {
        Self { of: self.all - self.of, all: self.all }.is_at_most(1.0 - rate)
    }
}

impl Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.all {
            0 => f.write_str("–"),
            _ => write!(f, "{:.1} % ({} of {})", self.share() * 100.0, self.of, self.all),
        }
    }
}
