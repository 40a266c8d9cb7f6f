//! Collectives that were measured. They correct the times by the bandwidth of links: an exchange takes what links say,
//! times the ratio of measured to computed time at the nearest size and group that were measured.

use super::exchange::{Exchange, ExchangeUse, Group, Operation, TimedExchange};
use crate::order::CompactSort;
use crate::{collective::Collective, learn::curve::Curve, training_time::samples::Communicator};

/// The times of a collective that was measured, for one use.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredCurve {
    /// What the step exchanges it for.
    pub of: ExchangeUse,
    /// The GPUs over which it was measured.
    pub over: Communicator,
    /// The collective that was measured.
    pub collective: Collective,
    curve: Curve,
}

impl MeasuredCurve {
    /// The times in µs over sizes in bytes as nccl-tests counts them; `None` where no point is usable, or no step has
    /// such a collective.
    pub fn new(of: ExchangeUse, collective: Collective, over: Communicator, points: &[(f64, f64)]) -> Option<Self> {
        let is_usable = |(bytes, us): &&(f64, f64)| *bytes > 0.0 && *us > 0.0 && bytes.is_finite() && us.is_finite();
        let curve = Curve::through(points.iter().filter(is_usable).copied().collect(), false)?;
        let is_known = ExchangeUse::of(collective).contains(&of) && over.ranks() > 1;
        is_known.then_some(Self { of, over, collective, curve })
    }

    /// The same for every use that the collective says something about.
    pub fn for_every_use(
        collective: Collective,
        over: Communicator,
        points: &[(f64, f64)],
    ) -> impl Iterator<Item = Self> {
        ExchangeUse::of(collective).iter().filter_map(move |of| Self::new(*of, collective, over, points))
    }

    pub(super) const fn operation(&self) -> Operation {
        match self.collective {
            Collective::AllGather | Collective::ReduceScatter => Operation::Gather,
            Collective::SendRecv => Operation::Message,
            // All data goes to another rank each: one copy of it.
            Collective::AllToAll => Operation::ToExperts { copies: 1.0 },
            _ => Operation::AllReduce,
        }
    }

    fn is_of(&self, exchange: &Exchange) -> bool {
        std::mem::discriminant(&self.operation()) == std::mem::discriminant(&exchange.operation)
    }

    pub(super) fn group(&self) -> Group {
        match self.operation() {
            Operation::Message => Group::pair(self.over.nodes < 2),
            _ => Group { ranks: self.over.ranks(), linked: self.over.per_node },
        }
    }

    /// A size that was measured with its time in µs: this one, or the nearest.
    pub(super) fn nearest(&self, bytes: f64) -> (f64, f64) {
        let points = self.curve.points();
        let ends = points.first().zip(points.last());
        let bytes = ends.map_or(bytes, |(first, last)| bytes.clamp(first.0, last.0));
        (bytes, self.curve.at(bytes))
    }

    /// Whether the size is among those that were measured.
    fn is_inside(&self, bytes: f64) -> bool {
        self.nearest(bytes).0 == bytes
    }
}

/// How many times as long as larger sizes a measured size takes at most: more is no property of the collective, but
/// something that held it up.
const MOST_OVER_LARGER: f64 = 2.0;

/// The points of a collective, sizes in bytes with times in µs, without those that take far longer than the next two
/// larger sizes; these, with how many times as long.
pub fn without_stalls(mut points: Vec<(f64, f64)>) -> [Vec<(f64, f64)>; 2] {
    points.compact_sort_by(|a, b| a.0.total_cmp(&b.0));
    let [mut kept, mut stalled] = [(); 2].map(|()| Vec::<(f64, f64)>::new());
    for (at, (bytes, time_us)) in points.iter().enumerate() {
        let larger = points[at + 1..].iter().take(2).map(|(_, larger_us)| *larger_us);
        match larger.reduce(f64::max).map(|larger_us| time_us / larger_us).filter(|times| *times > MOST_OVER_LARGER) {
            Some(times) => stalled.push((*bytes, times)),
            None => kept.push((*bytes, *time_us)),
        }
    }
    [kept, stalled]
}

/// Where the time of an exchange is from that nothing measured is near to.
pub const LINKS: &str = "links";

/// All collectives that were measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredCollectives(pub Vec<MeasuredCurve>);

impl MeasuredCollectives {
    /// What was measured nearest to an exchange: of its use, and between nodes if it is. The same group comes before
    /// others, then the same operation, then the group of the nearest number of ranks.
    pub(super) fn of(&self, exchange: &Exchange) -> Option<&MeasuredCurve> {
        let usable = |curve: &&MeasuredCurve| {
            curve.of == exchange.of && curve.group().spans_nodes() == exchange.group.spans_nodes()
        };
        let distance = |curve: &MeasuredCurve| {
            let times = f64::from(curve.group().ranks) / f64::from(exchange.group.ranks);
            (curve.group() != exchange.group, !curve.is_of(exchange), crate::math::log2(times).abs())
        };
        let nearer = |a: &&MeasuredCurve, b: &&MeasuredCurve| {
            let (a, b) = (distance(a), distance(b));
            (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2))
        };
        self.0.iter().filter(usable).min_by(nearer)
    }

    /// Where the time of an exchange is from: `measured`, `as all_reduce over 2×8`, or `links`.
    pub fn basis(&self, exchange: &Exchange) -> String {
        let Some(curve) = self.of(exchange) else { return LINKS.to_owned() };
        match (curve.group() == exchange.group && curve.is_of(exchange), curve.is_inside(exchange.message_bytes())) {
            (true, true) => "measured".to_owned(),
            (true, false) => "measured at other sizes".to_owned(),
            (false, _) => format!("as {} over {}", curve.collective, curve.over),
        }
    }

    /// What was measured and is nearest to none of these exchanges, in words.
    pub fn unused(&self, exchanges: &[TimedExchange]) -> Vec<String> {
        let used: Vec<_> = exchanges.iter().filter_map(|timed| self.of(&timed.exchange)).collect();
        let name = |curve: &MeasuredCurve| format!("{} over {}", curve.collective, curve.over);
        let mut unused: Vec<String> = Vec::new();
        for curve in &self.0 {
            let is_same = |used: &&MeasuredCurve| (used.collective, used.over) == (curve.collective, curve.over);
            if !used.iter().any(is_same) && !unused.contains(&name(curve)) {
                unused.push(name(curve));
            }
        }
        unused
    }
}

/// Times that are asked about instead of the expected ones: 1 where nothing changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Changes {
    /// Factors on exchanges, in the order of [`ExchangeUse`].
    pub exchanges: [f64; 6],
    /// The factor on the kernels of layers, such as their slowdown beside collectives.
    pub operators: f64,
    /// The channels of exchanges that kernels run beside: each takes a multiprocessor from them. `None`: as usual, a
    /// twentieth of the exchange's time is lost where gradients and parameters are exchanged at once, and nothing where
    /// they are layer by layer.
    pub channels: Option<u32>,
}

impl Default for Changes {
    fn default() -> Self {
        Self { exchanges: [1.0; 6], operators: 1.0, channels: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stalled_size_is_left_out_and_named() {
        let curve = |stalls: &[f64]| {
            let time = |bytes: f64| (10.0 + bytes / 1e4) * if stalls.contains(&bytes) { 50.0 } else { 1.0 };
            (10..28).map(|log2| f64::from(1 << log2)).map(|bytes| (bytes, time(bytes))).collect::<Vec<_>>()
        };
        assert_eq!(without_stalls(curve(&[])), [curve(&[]), Vec::new()]);
        let at = f64::from(1 << 20);
        let [kept, stalled] = without_stalls(curve(&[at]));
        assert_eq!((kept.len(), stalled.len(), stalled[0].0), (17, 1, at));
        assert!((12.0..14.0).contains(&stalled[0].1), "{stalled:?}");
        // One size that is far too fast takes at most its neighbour with it.
        let mut fast = curve(&[]);
        fast[17].1 = 1.0;
        assert_eq!(without_stalls(fast)[1].len(), 1);
    }
}
