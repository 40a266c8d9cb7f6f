//! `libnccl-tuner-collectune.so`: the tuner plugin of Collectune for NCCL and RCCL.
//!
//! The library loads it into every rank, calls [`ffi`]'s `init` once per communicator and rank, and then asks before
//! each collective which algorithm, protocol and channels to use. All ranks of a communicator must answer the same: a
//! difference is a hang or wrong data, and nothing checks it. So an answer is a function of the agreed record, the
//! collective, the size, the operations in the group and the number of the call; nothing else is looked at once `init`
//! is over.
//!
//! | module | content |
//! |---|---|
//! | [`ffi`] | the five versions of the tuner's interface |
//! | [`profiler`] | the six versions of the profiler's interface |
//! | [`library`] | what both interfaces share: result codes, the library's logger |
//! | [`settings`] | the environment, read once |
//! | [`context`] | one communicator: its mode, its counts, its failure |
//! | [`decision`] | a question of the library, and the plugin's decision |
//! | [`ranges`] | the rules of a tuner file, laid out for a lookup in nanoseconds |
//! | [`table`] | a policy, laid out for the same, and its schedule |
//! | [`chunks`] | the chunk sizes that a policy gives |
//! | [`agreement`] | how ranks agree through a shared file system |
//! | [`rewards`] | which decision a collective ran by, and how long it took |
//! | [`writer`] | the thread that writes the log of rewards |
//! | [`thread`] | threads that also older machines can start |
//! | [`pthread`] | the types of the C library's thread functions |
//! | [`older_glibc`] | functions that the standard library needs and older machines lack |
//! | [`files`] | reading a whole file, with a limit |
//! | [`log`] | the plugin's messages, limited in number |
//!
//! All that is `unsafe` lies in [`ffi`], [`profiler`], [`library`], [`thread`], [`pthread`] and [`older_glibc`].

mod agreement;
mod chunks;
mod context;
mod decision;
mod ffi;
mod files;
mod library;
mod log;
#[cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod older_glibc;
mod profiler;
mod pthread;
mod ranges;
mod rewards;
mod settings;
mod table;
mod thread;
mod writer;
