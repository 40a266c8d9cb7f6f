//! Multi-armed bandits: choosing among arms whose latencies are only known by pulling them. Latencies are minimised.
//!
//! [`draws`] are random numbers by index, [`environment`] makes latencies from them or from a log, [`strategies`]
//! choose arms, and [`replay`] adds up what their choices cost. [`series`] measures the autocorrelation and drift of a
//! log, [`compare`] and [`paired`] whether one arm is better. [`estimators`] evaluate a strategy on the lines of a log.
//! [`schedule`] determines the arms of a block of calls, equally on every rank.

pub mod best;
pub mod compare;
pub mod draws;
pub mod environment;
pub mod estimators;
pub mod paired;
pub mod replay;
pub mod schedule;
pub mod series;
pub mod statistics;
pub mod strategies;
pub mod student;
