//! A library as the tuner plugin sees it: loads the built file, and creates, asks and destroys communicators with each
//! version of the interface.
//!
//! [`library`] has the tuner's interface and [`profiler`] the profiler's, from the headers and not from the plugin's
//! own source, and all that is `unsafe`; [`real`] lets a real libnccl load it, [`table`] is the library's table of
//! costs, with guard words around it.

pub mod library;
pub mod profiler;
pub mod real;
pub mod table;

pub use library::{Comm, Communicator, Message, Plugin, Version};
pub use table::Table;
