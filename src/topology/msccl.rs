//! Schedules as algorithms of MSCCL, which RCCL and Microsoft's fork of NCCL run; and a reader and an interpreter of them.
//!
//! Rules are those of RCCL's `mscclGetAlgoFromXmlFile` and `msccl_struct.h`; what steps do is `msccl_kernel_impl.h`.

mod rules;
mod run;
mod write;
mod xml;

/// Whether a text begins as an algorithm does.
#[must_use]
pub fn is_algorithm(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    text.starts_with("<algo") || (text.starts_with("<?xml") && text.contains("<algo"))
}

/// What is to be said of an algorithm that is run: that it computes its collective, or why it does not.
///
/// # Errors
/// In words: it stands still, or computes something else.
pub fn verdict(algo: &Algo) -> Result<String, String> {
    let ranks = algo.gpus.len();
    let fine = || format!("It computes its {} on {ranks} ranks and never stands still.", algo.collective);
    run(algo).map(|()| fine()).map_err(|error| error.to_string())
}

pub(super) use self::xml::{Element, parse};
pub use self::{
    rules::{Algo, Gpu, RuleError, Step, ThreadBlock, Type},
    run::{RunError, run},
    write::{ExportError, write},
};
