//! The page in a real Chromium: the release build, served as a static host serves it.
//!
//! `cargo xtask test --only browser` builds the page and runs these; a plain `cargo test` leaves them out.
//! [`page::Page`] is the person at the browser: it finds things by role and name, as one does who reads or hears the
//! page, and at the end of each test it makes sure that nothing went wrong behind the scenes.

#![allow(clippy::unwrap_used, reason = "tests")]

mod accessibility;
mod answer;
mod beyond_standard;
mod cancel;
mod change;
mod charts;
mod copied_command;
mod driver;
mod dropping;
mod home;
mod hostile;
mod keyboard;
mod loading;
mod look;
mod many;
mod offline;
mod other_browsers;
mod overlap;
mod page;
mod panels;
mod policy;
mod privacy;
mod share;
mod speed;
#[path = "../support/mod.rs"]
mod support;
mod sweep;
mod tasks;
mod topology;
mod training_time;
mod trouble;
mod undo;
mod way_in;
