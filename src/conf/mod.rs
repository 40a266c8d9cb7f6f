//! Tuner files, byte for byte as the C code that reads them, and as our own plugin does.
//!
//! [`scan`] cuts bytes, [`number`] reads digits, [`words`] knows the words, [`reader`] says how the readers differ, and
//! [`rule`] puts rules together, [`mod@write`] writes them; [`strict`] is the tuner file as Collectune's own plugin
//! reads it, [`ncclx`] the one of NCCLX, with an [`interval`] where others have a number. [`built_in`] has the tables
//! that RCCL brings along, [`machine`] the versions and GPUs by which they differ. What a workbench makes of them is
//! its own.

pub mod built_in;
pub mod interval;
pub mod machine;
pub mod ncclx;
pub mod number;
pub mod reader;
pub mod rule;
pub mod scan;
pub mod strict;
pub mod words;
pub mod write;

pub use reader::{Channels, Reader};
pub use rule::{Rule, read, reader_of, readers_of};
