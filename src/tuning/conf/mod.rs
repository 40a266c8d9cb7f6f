//! Tuner files: what their readers make of them, what is wrong with them, what they would cost, and how to write one.
//!
//! A tuner file is read by C code that never complains. So it is read here byte for byte as that code does: [`scan`]
//! cuts bytes, [`number`] reads digits, [`words`] knows the words, [`reader`] says how the readers differ, [`rule`] puts
//! rules together and [`mod@choose`] follows them. On that stand [`mod@lint`], [`overlay`], [`expect`], [`export`] and [`environment`].

pub mod choose;
pub mod environment;
pub mod expect;
pub mod export;
pub mod lint;
pub mod number;
pub mod overlay;
pub mod question;
pub mod reader;
pub mod rule;
pub mod scan;
pub mod words;

pub use choose::{Choice, Effect, Entry, choose};
pub use lint::{Code, Finding, Severity, lint};
pub use reader::{Channels, Reader};
pub use rule::{Rule, read};
