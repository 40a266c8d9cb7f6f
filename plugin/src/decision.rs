//! A question of the library and the plugin's decision about it.

use std::cell::Cell;

use collectune::{
    conf::words::{ALGORITHMS, PROTOCOLS},
    policy::arm::Arm,
};

/// What the library asks about.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The collective's number (`ncclFunc_t`).
    pub coll: i32,
    /// The size.
    pub bytes: u64,
    /// Operations in the group.
    pub pipe_ops: i32,
}

/// What may be chosen for a call.
pub trait Availability {
    /// Whether an algorithm with a protocol can run, by their numbers (`NCCL_ALGO_*`, `NCCL_PROTO_*`).
    fn has(&self, algorithm: u8, protocol: u8) -> bool;
}

/// What the library is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Algorithm and protocol by their numbers; `None` leaves them to the library.
    pub pair: Option<(u8, u8)>,
    /// The most channels; `None` leaves them to the library.
    pub channels: Option<u8>,
}

impl Decision {
    /// All is left to the library.
    pub const DEFER: Self = Self { pair: None, channels: None };

    /// The arm that asks for the same; `None` where only the channels are limited, which no arm does.
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

/// Which arm of a policy a call runs, for the application's log.
#[derive(Clone, Copy, Debug)]
pub struct LastDecision {
    /// The number of the call of its key, from 0.
    pub call: u64,
    /// The arm's place in the policy.
    pub arm: u32,
    /// The probability with which it was chosen.
    pub propensity: f64,
    /// The policy's generation.
    pub generation: u64,
}

thread_local! {
    static LAST: Cell<Option<LastDecision>> = const { Cell::new(None) };
}

/// Keeps what the calling thread's last collective was told, for the application's log.
pub fn remember(last: Option<LastDecision>) {
    LAST.set(last);
}

/// The last decision about a collective of the calling thread, if a policy made one.
pub fn last() -> Option<LastDecision> {
    LAST.get()
}
