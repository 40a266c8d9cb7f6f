//! The protocol between the page and its workers, and the executor behind it.

pub mod executor;
pub mod protocol;
