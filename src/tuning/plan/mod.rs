//! What to measure next.

pub mod explore;
pub mod grid;
pub mod racing;
pub mod rehearsal;
