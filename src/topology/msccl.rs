//! Schedules as algorithms of MSCCL, which RCCL and Microsoft's fork of NCCL run; and a reader and an interpreter of them.
//!
//! Rules are those of RCCL's `mscclGetAlgoFromXmlFile` and `msccl_struct.h`; what steps do is `msccl_kernel_impl.h`.

mod rules;
mod run;
mod write;
mod xml;

pub(super) use self::xml::{Element, parse};
pub use self::{
    rules::{Algo, Gpu, RuleError, Step, ThreadBlock, Type},
    run::{RunError, run},
    write::{ExportError, write},
};
