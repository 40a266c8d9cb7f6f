//! Schedules of collectives over link graphs: which node sends which chunk over which link at which time.
//!
//! The cost model is that of TACOS (arXiv 2304.05301): a link carries one chunk at a time and is occupied for all of
//! its [`graph::Link::duration`], latency included; a node forwards a chunk once it has arrived whole; nodes have no
//! limits of their own. Times are whole ticks, so that simultaneous events compare as equal.
//!
//! The input is a [`graph::Graph`] and a [`demand::Demand`], combined in a [`problem::Problem`]; a
//! [`synthesize::Search`] finds a [`plan::Schedule`]. [`bound`] has lower bounds of the time of any schedule.
//! [`verify`] checks a schedule, by code that shares nothing with the searches. [`replay`] runs a schedule with other
//! durations, and [`timeline`] prepares it for drawing. A reduction is a schedule that copies, reversed in time over
//! the reversed links.

pub mod analysis;
mod beam;
pub mod bits;
pub mod bound;
mod cuts;
pub mod demand;
pub mod exact;
pub mod flow;
pub mod graph;
pub mod greedy;
mod load;
pub mod plan;
pub mod problem;
pub mod replay;
mod route;
pub mod symmetric;
pub mod synthesize;
mod synthesizer;
pub mod timeline;
pub mod verify;
