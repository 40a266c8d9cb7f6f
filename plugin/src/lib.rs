//! `libnccl-tuner-collectune.so`: the tuner plugin of Collectune for NCCL and RCCL.
//!
//! The library loads it into every rank, calls [`ffi`]'s `init` once per communicator and rank, and then asks before
//! each collective which algorithm, protocol and channels to use. All ranks of a communicator must answer the same: a
//! difference is a hang or wrong data, and nothing checks it. So an answer is a function of the agreed record, the
//! collective, the size, the operations in the group and the number of the call; nothing else is looked at once `init`
//! is over.
//!
//! | module | what lives there |
//! |---|---|
//! | [`ffi`] | the five versions of the tuner's interface |
//! | [`profiler`] | the six versions of the profiler's interface |
//! | [`settings`] | the environment, read once |
//! | [`context`] | one communicator: its mode, its counts, its failure |
//! | [`ranges`] | the rules of a tuner file, laid out for finding one in nanoseconds |
//! | [`table`] | a policy, laid out in the same way, and its schedule |
//! | [`agreement`] | how ranks agree through a file system that they share |
//! | [`rewards`] | which decision a collective ran by, and how long it took |
//! | [`writer`] | the thread that writes the log of rewards |
//! | [`thread`] | a thread, as older machines can begin one |
//! | [`older_glibc`] | what the standard library needs and older machines lack |
//! | [`log`] | what is said through the library's logger, and how often |
//!
//! All that is `unsafe` lies in [`ffi`], [`profiler`], [`thread`] and [`older_glibc`].

mod agreement;
mod context;
mod ffi;
mod log;
#[cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod older_glibc;
mod profiler;
mod ranges;
mod rewards;
mod settings;
mod table;
mod thread;
mod writer;
