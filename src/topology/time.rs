//! Exact conversion between the links' times and whole ticks.
//!
//! A link takes `latency + chunk / bandwidth`. Latency and bandwidth are decimal numbers, so durations are fractions; a
//! tick is the largest time of which all are multiples. Where their common denominator is too large, a tick is a small
//! binary fraction of a nanosecond and durations are rounded to it.

use serde::{Deserialize, Serialize};

use super::model::{LONGEST_NS, Link, Topology, TopologyError, Unit, link_problem};
use crate::schedule::{
    bound::Bounds,
    graph::{self, Graph},
};

/// The conversion between ticks and nanoseconds, and between rates and bandwidths.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// Ticks per nanosecond, at least 1.
    pub ticks_per_ns: u64,
    /// Whether all durations are whole ticks, without rounding.
    pub is_exact: bool,
    /// The bandwidth of a rate of 1.
    rate_unit: f64,
    unit: Unit,
    chunk_bytes: u64,
}

/// The longest duration of a link in ticks: the sum of a million of them does not overflow.
const LONGEST: u128 = LONGEST_NS as u128;
/// The largest rate; a link with infinite bandwidth has a far larger one.
const LARGEST: f64 = 4_294_967_296.0;
const INFINITE: u64 = 1 << 44;

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A number's decimal representation as a fraction.
fn decimal(value: f64) -> Option<(u128, u128)> {
    let text = value.to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    if whole.len() > 15 || fraction.len() > 12 {
        return None;
    }
    let denominator = 10_u128.pow(fraction.len() as u32);
    let numerator = format!("{whole}{fraction}").parse().ok()?;
    Some((numerator, denominator))
}

/// The duration of a link in ns, as a fraction in lowest terms.
fn fraction(link: &Link, unit: Unit, chunk_bytes: u64) -> Option<(u128, u128)> {
    let (latency, tenths) = decimal(link.latency_ns)?;
    let (bytes_ns, rate) = if link.bandwidth.is_infinite() {
        (0, 1)
    } else {
        let (bandwidth, tenths) = decimal(link.bandwidth)?;
        let bytes_ns = u128::from(chunk_bytes).checked_mul(1_000_000_000)?.checked_mul(tenths)?;
        (bytes_ns, bandwidth.checked_mul(u128::from(unit.bytes_per_second()))?)
    };
    if rate == 0 {
        return None;
    }
    let common = gcd(bytes_ns, rate);
    let (bytes_ns, rate) = (bytes_ns / common, rate / common);
    let numerator = latency.checked_mul(rate)?.checked_add(bytes_ns.checked_mul(tenths)?)?;
    let denominator = rate.checked_mul(tenths)?;
    let common = gcd(numerator, denominator).max(1);
    Some((numerator / common, denominator / common))
}

impl Clock {
    /// Chooses ticks in which all durations are whole numbers. Where the longest would exceed `LONGEST` ticks,
    /// durations are rounded.
    pub fn new(links: &[Link], unit: Unit, chunk_bytes: u64) -> Self {
        let finite = links.iter().map(|link| link.bandwidth).filter(|bandwidth| bandwidth.is_finite());
        let fastest = finite.clone().fold(0.0, f64::max);
        // Rates are exact if bandwidths have few decimals.
        let tenths = finite.map(|bandwidth| decimal(bandwidth).map_or(u128::MAX, |(_, tenths)| tenths)).max();
        let tenths = tenths.unwrap_or(1);
        let rate_unit = if tenths <= 1_000_000_000_000 && fastest * tenths as f64 <= LARGEST {
            1.0 / tenths as f64
        } else {
            fastest / LARGEST
        };
        let mut clock = Self { ticks_per_ns: 1, is_exact: false, rate_unit, unit, chunk_bytes };
        let mut scale = 1_u128;
        let mut longest = 0_f64;
        let mut is_exact = true;
        for link in links {
            longest = longest.max(clock.duration_ns(link));
            if !is_exact {
                continue;
            }
            let common = fraction(link, unit, chunk_bytes).map(|(_, denominator)| {
                let step = denominator / gcd(scale, denominator);
                scale.saturating_mul(step)
            });
            match common {
                Some(common) if common < LONGEST => scale = common,
                _ => is_exact = false,
            }
        }
        let fits = |scale: u128| longest * scale as f64 <= LONGEST as f64;
        if is_exact && fits(scale) {
            clock.is_exact = true;
        } else {
            scale = 1024;
            while scale > 1 && !fits(scale) {
                scale /= 2;
            }
        }
        clock.ticks_per_ns = scale as u64;
        clock
    }

    /// How long a chunk occupies a link, in ns.
    pub fn duration_ns(&self, link: &Link) -> f64 {
        link.latency_ns + self.chunk_bytes as f64 * 1e9 / (link.bandwidth * self.unit.bytes_per_second() as f64)
    }

    /// How long a chunk occupies a link, in ticks; at least 1.
    pub fn duration(&self, link: &Link) -> u64 {
        let exact = fraction(link, self.unit, self.chunk_bytes)
            .filter(|_| self.is_exact)
            .and_then(|(ns, of)| Some((ns.checked_mul(u128::from(self.ticks_per_ns))? / of) as u64));
        let rounded = || (self.duration_ns(link) * self.ticks_per_ns as f64).round().min(LONGEST as f64) as u64;
        exact.unwrap_or_else(rounded).max(1)
    }

    /// The bandwidth of a link as a whole number. Rounded up, so that no bound is too high.
    pub fn rate(&self, link: &Link) -> u64 {
        if link.bandwidth.is_infinite() {
            return INFINITE;
        }
        let rate = link.bandwidth / self.rate_unit;
        let nearest = rate.round();
        let rate = if (rate - nearest).abs() < 1e-6 { nearest } else { rate.ceil() };
        (rate as u64).clamp(1, INFINITE)
    }

    /// How long `chunks` chunks take over links of a total rate, in ns, if chunks can be divided at will.
    pub fn fluid_ns(&self, chunks: u64, rate: u64) -> f64 {
        if rate == 0 {
            return f64::INFINITY;
        }
        let per_second = rate as f64 * self.rate_unit * self.unit.bytes_per_second() as f64;
        chunks as f64 * self.chunk_bytes as f64 * 1e9 / per_second
    }

    /// The fluid bound L1 in ns: the larger one of that over cuts and that over all links.
    pub fn fluid_bound_ns(&self, bounds: &Bounds) -> f64 {
        let (work, rate) = bounds.load;
        let all = if rate == 0 { 0.0 } else { self.fluid_ns(1, 1) * (work as f64 / rate as f64) };
        self.fluid_ns(bounds.fluid.chunks, bounds.fluid.rate).max(all)
    }

    /// A time of so many ticks, in ns.
    pub fn ns(&self, ticks: u64) -> f64 {
        // Convert whole nanoseconds and the rest separately: both are exact where the quotient is not.
        let whole = (ticks / self.ticks_per_ns) as f64;
        whole + (ticks % self.ticks_per_ns) as f64 / self.ticks_per_ns as f64
    }

    /// The tick nearest to a time in ns.
    pub fn ticks(&self, ns: f64) -> u64 {
        (ns * self.ticks_per_ns as f64).round().clamp(0.0, 9e18) as u64
    }
}

impl Topology {
    /// The topology as a graph in ticks, for chunks of a size in bytes, with the length of a tick.
    ///
    /// # Errors
    /// Returns a [`TopologyError`] if there are no nodes or too many, or a link is invalid.
    pub fn graph(&self, chunk_bytes: u64) -> Result<(Graph, Clock), TopologyError> {
        match self.nodes {
            0 => return Err(TopologyError::Empty),
            many if many as usize > graph::MAX_NODES => return Err(TopologyError::TooLarge(many)),
            _ => {}
        }
        for link in &self.links {
            if let Some(why) = link_problem(link, self.nodes) {
                return Err(TopologyError::Link { from: link.from, to: link.to, why });
            }
        }
        let clock = Clock::new(&self.links, self.unit, chunk_bytes);
        if let Some(link) = self.links.iter().find(|link| clock.duration_ns(link) > LONGEST_NS) {
            let why = "a chunk keeps it busy for more than 8,796 s, the longest that is counted";
            return Err(TopologyError::Link { from: link.from, to: link.to, why });
        }
        let links = self.links.iter().map(|link| graph::Link {
            from: link.from,
            to: link.to,
            duration: clock.duration(link),
            rate: clock.rate(link),
        });
        let error = |bad: graph::BadLink| {
            let link = self.links[bad.0];
            TopologyError::Link { from: link.from, to: link.to, why: "it can't be used" }
        };
        Ok((Graph::new(self.nodes as usize, links.collect()).map_err(error)?, clock))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(latency_ns: f64, bandwidth: f64) -> Link {
        Link { from: 0, to: 1, latency_ns, bandwidth }
    }

    #[test]
    fn a_mebibyte_over_fifty() {
        let slow = link(500.0, 50.0);
        let clock = Clock::new(&[slow], Unit::Gib, 1 << 20);
        assert!(clock.is_exact);
        assert_eq!(clock.ns(clock.duration(&slow)).to_string(), "20031.25");
        assert_eq!(clock.ns(clock.duration(&link(0.0, 1000.0))), 976.5, "976.5625 lies between two ticks of a quarter");
        let clock = Clock::new(&[slow], Unit::Gb, 1 << 20);
        assert_eq!(clock.ns(clock.duration(&slow)), 21_471.52);
    }

    #[test]
    fn odd_numbers_are_rounded_to_small_ticks() {
        let links = [link(0.123_456_789, 7.3), link(1.0 / 3.0, 11.9), link(1e9, 1e-3)];
        let clock = Clock::new(&links, Unit::Gib, 1 << 20);
        for link in links {
            let error = clock.ns(clock.duration(&link)) - clock.duration_ns(&link);
            assert!(error.abs() <= 0.5 / clock.ticks_per_ns as f64 + 1e-6, "{error}");
        }
        let fast = link(0.0, 1e12);
        assert!(Clock::new(&[fast], Unit::Gib, 1).duration(&fast) >= 1);
        let instant = link(3.0, f64::INFINITY);
        let clock = Clock::new(&[instant, links[0]], Unit::Gib, 1 << 20);
        assert_eq!(clock.ns(clock.duration(&instant)), 3.0);
    }
}
