//! Schedules of collectives over link graphs: who sends which chunk over which link at which time.
//!
//! The cost model is that of TACOS (arXiv 2304.05301): a link carries one chunk at a time and is busy for all of its
//! [`graph::Link::duration`], latency included; a node passes a chunk on once it has arrived whole; nodes have no limits
//! of their own. Times are whole ticks, so that events that coincide do so exactly.
//!
//! A [`graph::Graph`] and a [`demand::Demand`] go in; a [`plan::Schedule`] comes out of a [`synthesize::Synthesizer`].
//! [`bound`] says what no schedule can beat, [`verify`] checks a schedule and shares nothing with who made it, [`replay`]
//! runs one under other durations, [`timeline`] is looked at. What reduces is a schedule that copies, read backwards in time over the reversed
//! links.

pub mod analysis;
mod beam;
pub mod bits;
pub mod bound;
mod cuts;
pub mod demand;
pub mod exact;
pub mod flood;
pub mod flow;
pub mod graph;
mod load;
pub mod plan;
pub mod problem;
pub mod replay;
mod route;
pub mod symmetric;
pub mod synthesize;
pub mod timeline;
pub mod verify;
