//! The topology workbench: from links to a schedule of a collective, and how far it can be from the best.
//!
//! [`read`] parses CSV, [`dump`] the dumps of NCCL and RCCL, and [`generate`] the names of known forms; each gives a
//! [`model::Topology`]. [`time`] converts its links to exact ticks, and [`conditions`] turns a collective into a
//! [`crate::schedule::problem::Problem`], which [`crate::schedule`] solves. [`study`] holds the state and answers
//! requests: a [`timeline`] of the best schedule so far, its bounds, [`robust`]ness, the variance over [`seeds`],
//! [`listing`]s and [`charts`]. Exports are [`result`] files, a [`trace`] and algorithms of [`msccl`]. [`layout`]
//! computes the positions of nodes, and [`network`] is the data of the network view.
//! [`ceiling`] is what the tuning workbench takes of it: the highest bandwidths over links.

pub(crate) mod ceiling;
mod charts;
mod command;
pub mod conditions;
pub mod dump;
pub mod export;
pub mod form;
pub mod generate;
pub mod layout;
pub mod listing;
pub mod measure;
pub mod model;
pub mod msccl;
pub mod mscclpp;
pub mod nccl_graph;
pub mod network;
pub mod read;
mod report;
pub mod result;
pub mod robust;
mod seeds;
mod settings;
pub mod shape;
pub mod study;
pub mod time;
mod trace;

pub use crate::schedule::timeline;
