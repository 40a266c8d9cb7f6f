//! How much of its peaks a GPU reaches: coefficients of the forms of [`super::device`], fitted to tables of kernels
//! that were measured on four GPUs.
//!
//! The tables are of ai-dynamo/aiconfigurator at 095f58a (cuBLAS products in bf16; TensorRT-LLM's in fp8, per tensor;
//! FlashAttention 2 and 3 and TensorRT-LLM's attention, causal, in bf16). Fitted by least squares of ln t with a soft
//! L1 loss; `tests/training_time/kernel_forms.rs` states how far each row is from its own table, and how far the rows
//! of the others are.

/// Coefficients of a product's time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProductRow {
    /// Time of an empty kernel in µs.
    pub start_us: f64,
    /// Share of the peak rate that full tiles reach.
    pub compute_share: f64,
    /// Share of the memory's bandwidth.
    pub memory_share: f64,
    /// Length of the inner dimension that is lost at the beginning and end of a tile.
    pub lost_k: f64,
    /// The power in which times of computing and of moving add up: 1 for one after the other, ∞ for the longer.
    pub power: f64,
    /// How much dearer small tiles are.
    pub small_tiles: f64,
}

/// Coefficients of the time of fused causal attention, forward.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttentionRow {
    /// Time of an empty kernel in µs.
    pub start_us: f64,
    /// Share of the peak rate at heads of 128.
    pub compute_share: f64,
    /// Length of a row of scores that is lost at its ends.
    pub lost_keys: f64,
    /// Share of the memory's bandwidth.
    pub memory_share: f64,
    /// The share of the peak at heads of 64, over that at 128.
    pub at_head_64: f64,
    /// The generation of the kernel that was measured.
    pub kernel: AttentionKernel,
}

/// How attention is computed, which decides more than the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AttentionKernel {
    /// Scores are written to memory, masked, put through softmax and read again.
    Unfused,
    /// FlashAttention 1, or a kernel in Triton.
    Flash1,
    /// FlashAttention 2.
    Flash2,
    /// FlashAttention 3, or a kernel as fast on a GPU that runs it: Hopper's.
    Flash3,
    /// cuDNN's, or TensorRT-LLM's: of GPUs newer than those that FlashAttention 3 is made for.
    Cudnn,
}

impl AttentionKernel {
    /// All kernels with the names by which they are chosen.
    pub const ALL: [(Self, &str); 5] = [
        (Self::Unfused, "unfused"),
        (Self::Flash1, "flash-1"),
        (Self::Flash2, "flash-2"),
        (Self::Flash3, "flash-3"),
        (Self::Cudnn, "cudnn"),
    ];

    /// The name by which it is chosen.
    pub const fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// The share of the peak on Hopper, where three generations were measured.
    const fn on_hopper(self) -> f64 {
        match self {
            Self::Unfused | Self::Flash1 => 0.2,
            Self::Flash2 => 0.37,
            Self::Flash3 | Self::Cudnn => 0.62,
        }
    }

    /// How fast this kernel is where another one was measured. A kernel newer than the measured one, which the GPU
    /// lacks, is as fast as that.
    pub(super) fn over(self, measured: Self) -> f64 {
        if self >= measured { 1.0 } else { self.on_hopper() / measured.on_hopper() }
    }
}

/// What was measured of a GPU's kernels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelRows {
    /// The name by which the catalogue has them.
    pub name: &'static str,
    /// Products in bf16.
    pub bf16: ProductRow,
    /// Products in fp8.
    pub fp8: ProductRow,
    /// Attention.
    pub attention: AttentionRow,
    /// How much longer products of experts take, which one kernel computes together, than by the form of products: the
    /// median over the table `moe` of at least 256 rows per expert on one rank, tokens spread evenly. Tables of several
    /// ranks are of no use here: their times are those of the tokens of all ranks.
    pub experts: f64,
}

const fn product([start_us, compute_share, memory_share, lost_k, power, small_tiles]: [f64; 6]) -> ProductRow {
    ProductRow { start_us, compute_share, memory_share, lost_k, power, small_tiles }
}

const fn attention(
    kernel: AttentionKernel,
    [start_us, compute_share, lost_keys, memory_share, at_head_64]: [f64; 5],
) -> AttentionRow {
    AttentionRow { start_us, compute_share, lost_keys, memory_share, at_head_64, kernel }
}

const POOLED_FP8: ProductRow = product([15.59926, 0.5346053, 1.0, 0.1353353, 1.966247, 0.09462902]);

/// All four GPUs together: for a GPU that was not measured.
pub const POOLED: KernelRows = KernelRows {
    name: "pooled",
    bf16: product([2.510633, 0.7868952, 0.9789706, 132.0283, 3.073452, 0.0422551]),
    fp8: POOLED_FP8,
    attention: attention(AttentionKernel::Cudnn, [22.53814, 0.5565635, 239.1029, 0.4212307, 0.72]),
    experts: 1.25,
};

/// The measured GPUs. AMD's are not among them: their shares of the peaks are those of large products and of attention
/// at heads of 64 that Azure measured on MI300X (samuel-bohman/AI-benchmarking-guide at 3de0c29); everything else is
/// pooled.
pub const ROWS: [KernelRows; 5] = [
    KernelRows {
        name: "A100",
        bf16: product([5.566758, 0.8574407, 0.4974935, 137.8839, 10.12852, 0.09513654]),
        fp8: POOLED_FP8,
        attention: attention(AttentionKernel::Flash2, [26.14887, 0.5451093, 117.7651, 0.2468583, 0.9]),
        // Its table has tokens spread unevenly alone.
        experts: POOLED.experts,
    },
    KernelRows {
        name: "H100",
        bf16: product([2.966817, 0.8561944, 0.8308705, 157.2034, 5.56595, 0.01199888]),
        fp8: product([12.69834, 0.6326192, 0.882255, 0.1353353, 1.367879, 0.3728615]),
        attention: attention(AttentionKernel::Flash3, [13.09203, 0.6185099, 266.765, 0.2821573, 0.75]),
        experts: 1.25,
    },
    KernelRows {
        name: "B200",
        bf16: product([2.627385, 0.7342093, 0.8030114, 71.81765, 3.869353, 0.005446446]),
        fp8: product([16.52068, 0.5725765, 0.8230659, 0.1353353, 1.648002, 0.5813119]),
        attention: attention(AttentionKernel::Cudnn, [20.59499, 0.5122501, 235.6631, 0.2355651, 0.59]),
        experts: 1.49,
    },
    KernelRows {
        name: "L40S",
        bf16: product([0.3678828, 0.6614502, 0.796793, 184.1222, 13.18209, 0.004161151]),
        fp8: product([8.652882, 0.4633104, 1.0, 0.1353353, 2.095445, 0.006887495]),
        attention: attention(AttentionKernel::Flash2, [1.0, 0.4969766, 97.00126, 0.519556, 0.82]),
        experts: 0.97,
    },
    KernelRows {
        name: "AMD",
        bf16: ProductRow { compute_share: 0.525, ..POOLED.bf16 },
        fp8: ProductRow { compute_share: 0.45, ..POOLED_FP8 },
        attention: AttentionRow {
            compute_share: 0.33,
            at_head_64: 0.76,
            kernel: AttentionKernel::Flash2,
            ..POOLED.attention
        },
        experts: POOLED.experts,
    },
];
