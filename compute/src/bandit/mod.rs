//! Choosing among arms whose latencies are only known by pulling them. Latencies are minimised.
//!
//! [`draws`] are random numbers that can be had in any order, [`environment`] makes latencies of them or of a log,
//! [`strategies`] choose, [`replay`] lets them and adds up what that costs. [`series`] tells how much a log of dependent
//! values is worth and [`compare`] whether one arm is better; [`estimators`] judge a strategy on the very lines of a log.
//! [`schedule`] deals out the arms of a block of calls, the same on every rank.

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
