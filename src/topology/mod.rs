//! The topology workbench: from links to a schedule of a collective, and how far it can be from the best.

pub mod conditions;
pub mod generate;
pub mod layout;
pub mod model;
pub mod read;
pub mod time;
