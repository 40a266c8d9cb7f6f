//! A question of the library and the plugin's decision about it.

use std::cell::Cell;

use collectune::{
    conf::words::{ALGORITHMS, PROTOCOLS},
    policy::arm::Arm,
};

/// A collective about which the library asks the tuner.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The collective's number (`ncclFunc_t`).
    pub coll: i32,
    /// Size in bytes, as the library counts it.
    pub bytes: u64,
    /// Number of operations in the group.
    pub pipe_ops: i32,
}

/// Which algorithms and protocols can run for a call.
pub trait Availability {
    /// Whether an algorithm with a protocol can run, by their numbers (`NCCL_ALGO_*`, `NCCL_PROTO_*`).
    fn has(&self, algorithm: u8, protocol: u8) -> bool;
}

/// The decision about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Algorithm and protocol by their numbers; `None` leaves them to the library.
    pub pair: Option<(u8, u8)>,
    /// The most channels; `None` leaves them to the library.
    pub channels: Option<u8>,
}

impl Decision {
    /// The decision that leaves everything to the library.
    pub const DEFER: Self = Self { pair: None, channels: None };

    /// The arm that corresponds to the decision; `None` where only the channels are limited, which no arm does.
    pub fn arm(self) -> Option<Arm> {
        match self {
            Self { pair: None, channels: None } => Some(Arm::Auto),
            Self { pair: None, channels: Some(_) } => None,
            Self { pair: Some((algorithm, protocol)), channels } => Some(Arm::Forced {
                algorithm: ALGORITHMS.get(usize::from(algorithm))?.1,
                protocol: PROTOCOLS.get(usize::from(protocol))?.1,
                channels: channels.map_or(0, u32::from),
            }),
        }
    }
}

/// The arm by which a call runs, for the log of the application.
#[derive(Clone, Copy, Debug)]
pub struct LastDecision {
    /// The number of the call among those of its key, from 0.
    pub call: u64,
    /// The index of the arm in the policy.
    pub arm: u32,
    /// The probability with which the arm was chosen.
    pub propensity: f64,
    /// The generation of the policy.
    pub generation: u64,
}

thread_local! {
    static LAST: Cell<Option<LastDecision>> = const { Cell::new(None) };
}

/// Keeps the last decision of the calling thread, for the log of the application.
pub fn remember(last: Option<LastDecision>) {
    LAST.set(last);
}

/// The last decision about a collective of the calling thread, if a policy made one.
pub fn last() -> Option<LastDecision> {
    LAST.get()
}
