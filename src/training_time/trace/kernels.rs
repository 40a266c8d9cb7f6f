//! What a kernel does, by its name.

use crate::collective::is_communication;

/// The part of a step that the time of a kernel counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KernelClass {
    /// It sends to other GPUs or receives from them.
    Communication,
    /// It computes attention, or a part of it where it is not fused.
    Attention,
    /// Anything else: products, norms, element-wise operators, the optimizer.
    Compute,
}

/// Parts of names of attention's kernels: FlashAttention and cuDNN's (`fmha`, `sdpa`), AMD's composable kernels
/// (`FmhaFwd`, `attn_fwd`), softmax of scores.
const ATTENTION: [&str; 6] = ["flash", "fmha", "sdpa", "attention", "attn", "softmax"];

/// Softmax of the loss, over the vocabulary.
const LOSS: [&str; 3] = ["logsoftmax", "log_softmax", "cross_entropy"];

impl KernelClass {
    /// The class of a kernel with this name.
    pub(super) fn of(kernel: &str) -> Self {
        let name = kernel.to_ascii_lowercase();
        let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        match () {
            () if is_communication(kernel) => Self::Communication,
            () if has(&ATTENTION) && !has(&LOSS) => Self::Attention,
            () => Self::Compute,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_told_by_their_names() {
        use KernelClass::{Attention, Communication, Compute};
        for (name, class) in [
            ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", Communication),
            ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)", Communication),
            ("void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false>>", Attention),
            ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_6_64x128x128", Attention),
            ("fmha_bwd_kernel<FmhaBwdDQDKDVKernel>", Attention),
            ("void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, float, 11, false>", Attention),
            ("void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, LogSoftMaxForwardEpilogue>", Compute),
            ("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT", Compute),
            ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", Compute),
            ("void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor>", Compute),
        ] {
            assert_eq!(KernelClass::of(name), class, "{name}");
        }
    }
}
