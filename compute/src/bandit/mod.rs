//! Choosing among arms whose latencies are only known by pulling them.
//!
//! [`schedule`] deals out the arms of a block of calls, the same on every rank.

pub mod schedule;
