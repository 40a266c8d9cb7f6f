//! The software that trains: what it fuses, how it computes attention, and how it exchanges gradients.

use super::efficiency::AttentionKernel;

/// A training program, as far as times depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Stack {
    /// Megatron Core with Transformer Engine, of 2025.
    #[default]
    MegatronCore,
    /// Megatron-LM of 2021 and Megatron-DeepSpeed: attention is not fused, dropout is a pass of its own.
    MegatronLm,
    /// TorchTitan with `torch.compile`.
    TorchTitan,
    /// TorchTitan without `torch.compile`.
    TorchTitanEager,
    /// PyTorch's FSDP of 2023, without `torch.compile`.
    Fsdp,
    /// DeepSpeed's ZeRO with a model of Hugging Face.
    DeepSpeed,
}

impl Stack {
    /// All stacks with the names by which they are chosen.
    pub const ALL: [(Self, &str); 6] = [
        (Self::MegatronCore, "megatron-core"),
        (Self::MegatronLm, "megatron-lm"),
        (Self::TorchTitan, "torchtitan"),
        (Self::TorchTitanEager, "torchtitan-eager"),
        (Self::Fsdp, "fsdp"),
        (Self::DeepSpeed, "deepspeed"),
    ];

    /// Whether element-wise operators are fused.
    pub const fn is_fused(self) -> bool {
        matches!(self, Self::MegatronCore | Self::TorchTitan)
    }

    /// Whether it is PyTorch's FSDP, which gathers and reduces layer by layer.
    pub const fn is_fsdp(self) -> bool {
        matches!(self, Self::TorchTitan | Self::TorchTitanEager | Self::Fsdp)
    }

    /// Whether dropout is a pass of its own.
    pub const fn drops_out(self) -> bool {
        matches!(self, Self::MegatronLm)
    }

    /// The kernel of attention that it usually has.
    pub const fn attention(self) -> AttentionKernel {
        match self {
            Self::MegatronLm => AttentionKernel::Unfused,
            Self::MegatronCore => AttentionKernel::Flash3,
            Self::TorchTitan | Self::TorchTitanEager | Self::Fsdp | Self::DeepSpeed => AttentionKernel::Flash2,
        }
    }

    /// How parameters are usually spread over replicas.
    pub const fn sharding(self) -> Sharding {
        match self {
            Self::MegatronLm => Sharding::Nothing,
            Self::MegatronCore | Self::DeepSpeed => Sharding::Optimizer,
            Self::TorchTitan | Self::TorchTitanEager | Self::Fsdp => Sharding::Parameters,
        }
    }

    /// Whether the chunks of a stage may have different numbers of layers: `--pipeline-model-parallel-layout` of
    /// Megatron Core, `generate_llm_fqn_per_model_part` of TorchTitan.
    pub const fn has_uneven_chunks(self) -> bool {
        matches!(self, Self::MegatronCore | Self::TorchTitan | Self::TorchTitanEager)
    }

    /// Whether some version lets more ranks share attention than there are heads of keys and values:
    /// `num_query_groups < world_size` in Megatron Core's `transformer/attention.py`.
    pub const fn copies_kv_heads(self) -> bool {
        matches!(self, Self::MegatronCore)
    }

    /// Whether it has this kind of recomputation: Megatron-LM of 2021 has `selective` and `full` alone.
    pub const fn recomputes(self, kind: Recomputation) -> bool {
        !matches!((self, kind), (Self::MegatronLm, Recomputation::Operators))
    }

    /// Bytes of a gradient in memory and where it is exchanged, as the software usually has them: Megatron Core's are
    /// in single precision unless `--grad-reduce-in-bf16` is given (`megatron/training/arguments.py`).
    pub const fn gradient_bytes(self) -> f64 {
        match self {
            Self::MegatronCore | Self::MegatronLm | Self::TorchTitan | Self::TorchTitanEager => 4.0,
            Self::Fsdp | Self::DeepSpeed => 2.0,
        }
    }

    /// What the software lacks, of some stages with chunks each and of parts of a sequence; `None` where it has it.
    pub const fn lacks(self, pipeline: u32, chunks: u32, context: u32) -> Option<&'static str> {
        match self {
            Self::DeepSpeed if pipeline > 1 && chunks > 1 => {
                Some("has no interleaved stages (PipelineModule): virtual stages is 1 there")
            }
            Self::MegatronLm if context > 1 => Some("does not split sequences: cp is 1 there"),
            _ => None,
        }
    }

    /// What the software lacks, of sharing between replicas beside some stages; `None` where it has it.
    pub const fn lacks_sharing(self, sharding: Sharding, pipeline: u32) -> Option<&'static str> {
        match (self, sharding) {
            (Self::DeepSpeed | Self::MegatronLm, Sharding::Gradients | Sharding::Parameters) if pipeline > 1 => {
                Some("shares gradients and parameters (ZeRO 2 and 3) only without a pipeline: pp is 1 there")
            }
            _ => None,
        }
    }

    /// Bytes of a logit that are in memory at once. Megatron computes its loss in place, in half and single precision.
    /// PyTorch's `cross_entropy` has the logarithms of shares, the gradients for them and those of the logits, in
    /// single precision; where the vocabulary is split, `loss_parallel` has one more (`_log_softmax_backward_handler`
    /// in torch/distributed/tensor/parallel/loss.py).
    pub const fn logit_bytes(self, is_split: bool) -> f64 {
        match self {
            Self::MegatronCore | Self::MegatronLm => 6.0,
            _ if is_split => 16.0,
            _ => 12.0,
        }
    }

    /// What PyTorch's allocator holds beyond what is in use, as a share of that, where parameters and gradients are
    /// tensors of their own: 5 to 15 % of jobs. Megatron keeps them in a few buffers.
    pub const fn allocator_share(self) -> f64 {
        match self {
            Self::MegatronCore | Self::MegatronLm => 0.0,
            Self::TorchTitan | Self::TorchTitanEager | Self::Fsdp | Self::DeepSpeed => 0.1,
        }
    }

    /// The name by which it is chosen.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(stack, _)| *stack == self).map_or("", |(_, name)| name)
    }

    /// Whether gradients are exchanged while others are still computed.
    pub const fn overlaps_gradients(self) -> bool {
        matches!(self, Self::MegatronCore | Self::DeepSpeed)
    }
}

/// Bytes of a gradient with the names of the types by which they are chosen.
pub const GRADIENTS: [(u32, &str); 2] = [(2, "bf16"), (4, "fp32")];

/// What each replica holds a share of only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sharding {
    /// Every replica has everything.
    Nothing,
    /// The optimizer's states: ZeRO 1, Megatron's distributed optimizer.
    #[default]
    Optimizer,
    /// Gradients as well: ZeRO 2, and FSDP whose parameters stay gathered until the backward pass (`SHARD_GRAD_OP`,
    /// `reshard_after_forward` false).
    Gradients,
    /// Parameters as well: ZeRO 3, FSDP.
    Parameters,
}

impl Sharding {
    /// All kinds with the names by which they are chosen.
    pub const ALL: [(Self, &str); 4] = [
        (Self::Nothing, "none"),
        (Self::Optimizer, "optimizer"),
        (Self::Gradients, "gradients"),
        (Self::Parameters, "parameters"),
    ];
}

/// What the backward pass computes again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Recomputation {
    /// Nothing.
    #[default]
    Nothing,
    /// The core of attention.
    Attention,
    /// Every second product, and what is element-wise (TorchTitan's `op`).
    Operators,
    /// The whole layer.
    Layers,
}

impl Recomputation {
    /// All kinds with the names by which they are chosen.
    pub const ALL: [(Self, &str); 4] = [
        (Self::Nothing, "none"),
        (Self::Attention, "attention"),
        (Self::Operators, "operators"),
        (Self::Layers, "layers"),
    ];

    /// The names that are read, with those of Megatron.
    pub const NAMES: [(Self, &str); 6] = [
        Self::ALL[0],
        Self::ALL[1],
        Self::ALL[2],
        Self::ALL[3],
        (Self::Attention, "selective"),
        (Self::Layers, "full"),
    ];
}
