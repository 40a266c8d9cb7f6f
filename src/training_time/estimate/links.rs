//! How long exchanges take: a latency and the bandwidth of links that messages of some size reach, corrected by what
//! was measured.

use super::{
    collectives::MeasuredCurve,
    device::Device,
    exchange::{Exchange, ExchangeSource, Group, Operation},
    layer::Times,
    library::LibraryModel,
};

/// Time in µs of a short message over two, four and eight GPUs of a node: 10, 14, 22 on A100, 6, 10, 16 on H100 and 10,
/// 15, 25 on B200 (all_reduce; ai-dynamo/aiconfigurator at 095f58a). Each doubling of the nodes adds another hop.
fn latency_us(group: Group) -> f64 {
    let nodes = f64::from(group.ranks) / f64::from(group.linked);
    6.0 + 2.0 * f64::from(group.linked.min(8)) + 5.0 * crate::math::log2(nodes.max(1.0))
}

/// Two GPUs that send each other messages.
const PAIR: Group = Group { ranks: 2, linked: 2 };

/// The share of the bandwidth that a message reaches is √(bytes/(bytes + this)): near the bus bandwidth of all_reduce
/// over eight A100 from 4 MiB (76 for 95 GB/s) over 16 MiB (140, 136) to 64 MiB (191, 197) in the same tables.
const SLOW_BYTES: f64 = 16_777_216.0;

/// The share of the links' bandwidth that the bus bandwidth of long messages reaches: on eight A100, H100, B200 and
/// MI300X 0.74, 0.74, 0.69 and 0.71 (all_gather; the tables of ai-dynamo/aiconfigurator at 095f58a, and
/// samuel-bohman/AI-benchmarking-guide at 3de0c29).
const LINK_SHARE: f64 = 0.74;

/// The same of the network between nodes.
const NETWORK_SHARE: f64 = 0.85;

impl Device {
    /// Time in µs of an exchange.
    pub fn exchange_us(&self, exchange: &Exchange) -> f64 {
        let computed_us = self.computed_us(exchange.operation, exchange.group, exchange.bytes);
        let measured = self.collectives.of(exchange).map_or(1.0, |curve| self.ratio(curve, exchange.message_bytes()));
        computed_us * measured * self.changes.exchanges[exchange.of as usize]
    }

    /// The same as a part of a step that nothing hides.
    pub(super) fn exchange_times(&self, exchange: &Exchange) -> Times {
        let us = self.exchange_us(exchange);
        match self.collectives.of(exchange) {
            Some(_) => Times { measured: us, ..Times::default() },
            None => Times { exchange: us, ..Times::default() },
        }
    }

    /// The measured over the computed time at this size, or at the nearest that was measured.
    fn ratio(&self, curve: &MeasuredCurve, bytes: f64) -> f64 {
        let (bytes, measured_us) = curve.nearest(bytes);
        let computed_us = self.computed_us(curve.operation(), curve.group(), bytes);
        if computed_us > 0.0 { measured_us / computed_us } else { 1.0 }
    }

    /// Time in µs of an exchange by the library's cost model where it has one, else by links.
    fn computed_us(&self, operation: Operation, group: Group, bytes: f64) -> f64 {
        let by_library = self.library.and_then(|library| library.time_us(operation, group, bytes));
        by_library.unwrap_or_else(|| self.links_us(operation, group, bytes))
    }

    /// Where the time of an exchange is from, with the words for it.
    pub fn basis(&self, exchange: &Exchange) -> (ExchangeSource, String) {
        let Exchange { operation, group, bytes, .. } = *exchange;
        let is_by_library = |library: &LibraryModel| library.time_us(operation, group, bytes).is_some();
        match (self.collectives.of(exchange), self.library.filter(is_by_library)) {
            (Some(_), _) => (ExchangeSource::Measured, self.collectives.basis(exchange)),
            (None, Some(library)) => (ExchangeSource::Library, library.name()),
            (None, None) => (ExchangeSource::Links, self.collectives.basis(exchange)),
        }
    }

    /// Time in µs of an exchange by the bandwidth of links and network.
    fn links_us(&self, operation: Operation, group: Group, bytes: f64) -> f64 {
        if group.ranks < 2 {
            return 0.0;
        }
        match operation {
            Operation::AllReduce => self.ring_us(group, 2.0 * bytes * group.others(), bytes),
            Operation::Gather => self.ring_us(group, bytes * group.others(), bytes),
            Operation::Around => self.ring_us(group, bytes * f64::from(group.ranks - 1), bytes),
            Operation::Message => {
                let gbps =
                    if group.spans_nodes() { self.network_gbps * NETWORK_SHARE } else { self.link_gbps * LINK_SHARE };
                at_bandwidth(PAIR, gbps, bytes, bytes)
            }
            Operation::ToExperts { copies } => self.to_experts_us(group, bytes, copies),
        }
    }

    /// Time in µs in which each rank sends `sent_bytes` of a message along a ring. Between nodes the rings of all GPUs
    /// of a node use all of their network.
    fn ring_us(&self, group: Group, sent_bytes: f64, message_bytes: f64) -> f64 {
        let links = self.link_gbps * LINK_SHARE;
        let network = self.network_gbps * NETWORK_SHARE * f64::from(group.linked);
        let gbps = if group.spans_nodes() { links.min(network) } else { links };
        at_bandwidth(group, gbps, sent_bytes, message_bytes)
    }

    fn to_experts_us(&self, group: Group, token_bytes: f64, copies: f64) -> f64 {
        let sent = copies.min(group.ranks.into()) * token_bytes * group.others();
        let within = at_bandwidth(group, self.link_gbps * LINK_SHARE, sent, sent);
        let nodes = f64::from(group.ranks) / f64::from(group.linked);
        if nodes <= 1.0 {
            return within;
        }
        let reached = (nodes - 1.0) * (1.0 - crate::math::pow(1.0 - 1.0 / nodes, copies));
        within.max(at_bandwidth(group, self.network_gbps * NETWORK_SHARE, token_bytes * reached, sent))
    }
}

fn at_bandwidth(group: Group, gbps: f64, sent_bytes: f64, message_bytes: f64) -> f64 {
    if sent_bytes <= 0.0 {
        return 0.0;
    }
    let reached = (message_bytes / (message_bytes + SLOW_BYTES)).sqrt();
    latency_us(group) + sent_bytes / (gbps * 1e3 * reached.max(1e-3))
}
