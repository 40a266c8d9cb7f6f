//! The page.

pub mod chart;
