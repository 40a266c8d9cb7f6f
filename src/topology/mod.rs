//! The topology workbench: from links to a schedule of a collective, and how far it can be from the best.
//!
//! The way of the data: [`read`] turns CSV, [`dump`] what NCCL and RCCL dump, and [`generate`] a few words into a
//! [`model::Topology`]; [`time`] puts its links into exact ticks; [`conditions`] says what a collective asks for. What is
//! looked for and proven is [`crate::schedule`]. [`study`] holds it all and answers [`request`]s: a [`timeline`] of the best
//! schedule so far, its bounds, [`robust`]ness, luck with [`seeds`], [`listing`]s and [`charts`]. It leaves as a [`result`]
//! file, as a [`trace`], and as an algorithm of [`msccl`]; [`layout`] says where nodes stand, and [`network`] is all that is
//! drawn.

pub mod charts;
pub mod conditions;
pub mod dump;
pub mod export;
pub mod generate;
pub mod layout;
pub mod listing;
pub mod model;
pub mod msccl;
pub mod network;
pub mod read;
pub mod result;
pub mod robust;
pub mod seeds;
pub mod study;
pub mod time;
pub mod trace;

pub use crate::schedule::timeline;
