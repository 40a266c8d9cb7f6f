//! Tuner files: what their readers make of them, what is wrong with them, what they would cost, and how to write one.
//!
//! A tuner file is read by C code that never complains. So it is read byte for byte as that code does, in
//! [`crate::conf`]; [`mod@choose`] follows the rules. On that stand [`mod@lint`], [`mod@against`], [`overlay`],
//! [`expect`], [`export`] and [`environment`].

pub mod against;
pub mod choose;
pub(crate) mod environment;
pub mod expect;
pub mod export;
pub mod lint;
pub mod overlay;

pub use crate::conf::{Channels, Reader, Rule, number, read, reader, reader_of, readers_of, rule, scan, words};
pub use choose::{Effect, Entry, RuleChoice, choose};
pub use lint::{Code, Finding, Severity, lint};
