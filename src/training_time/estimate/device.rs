//! A GPU by its peaks and the measured efficiency of its kernels: the time of a product, of attention, and of passes
//! over memory.
//!
//! All forms are a roofline with shares of the peaks that depend on the shape: tiles of a product that don't fill the
//! multiprocessors, inner dimensions that are short, rows of scores that are short.

use super::{
    collectives::{Changes, MeasuredCollectives},
    efficiency::{AttentionKernel, KernelRows, POOLED, ProductRow, ROWS},
    library::LibraryModel,
};
use crate::{
    math::pow,
    text::excerpt,
    training_time::catalogue::{Catalogue, Gpu},
};

/// The type of a product's factors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// bf16 or fp16.
    #[default]
    Bf16,
    /// fp8 with one scale for a tensor, or mxfp8 with one for a block.
    Fp8,
    /// nvfp4, whose peak is twice that of fp8.
    Fp4,
}

impl Precision {
    /// All precisions with the names by which they are chosen.
    pub const ALL: [(Self, &str); 3] = [(Self::Bf16, "bf16"), (Self::Fp8, "fp8"), (Self::Fp4, "fp4")];

    /// The name in the catalogue.
    pub const fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Bytes of an element of a factor.
    const fn bytes(self) -> f64 {
        match self {
            Self::Bf16 => 2.0,
            Self::Fp8 => 1.0,
            Self::Fp4 => 0.5,
        }
    }
}

/// Why no time can be estimated for a GPU.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// Nothing in the catalogue has this name.
    #[error("the catalogue has no GPU \"{name}\"; it has {known}")]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The names that are known.
        known: String,
    },
    /// The catalogue's entry lacks a figure.
    #[error("the catalogue has no {key} of {name}: add it in a catalogue (gpus: [{{name: {name}, {key}: …}}])")]
    Untold {
        /// The GPU's name in the catalogue.
        name: String,
        /// The key that is missing.
        key: &'static str,
    },
    /// The entry names kernels that were not measured.
    #[error("{name} is to have the measured kernels of \"{kernels}\"; measured are {known}")]
    UnknownKernels {
        /// The GPU's name in the catalogue.
        name: String,
        /// The value of `kernels` in its entry.
        kernels: String,
        /// The names of measured kernels, with commas between them.
        known: String,
    },
    /// The GPU does not compute in this precision.
    #[error("{name} has no {precision}: it has {known}")]
    NoPrecision {
        /// The GPU's name in the catalogue.
        name: String,
        /// The precision that was asked for.
        precision: &'static str,
        /// Those that it has.
        known: String,
    },
    /// The GPU does not run this kernel of attention.
    #[error("{name} does not run {kernel}: its newest attention is {newest}")]
    NoAttention {
        /// The GPU's name in the catalogue.
        name: String,
        /// The kernel that was asked for.
        kernel: &'static str,
        /// The newest that it runs.
        newest: &'static str,
    },
}

/// A GPU of which times can be estimated.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// The name in the catalogue.
    pub name: String,
    /// Memory in GiB.
    pub memory_gib: f64,
    /// Bandwidth of the links to the GPUs beside it, in GB/s in one direction.
    pub link_gbps: f64,
    /// How many GPUs such links join.
    pub linked_gpus: u32,
    /// Its share of the network beyond them, in GB/s in one direction.
    pub network_gbps: f64,
    /// Whether its own kernels were measured; else those of the measured GPUs together stand in.
    pub is_measured: bool,
    /// Collectives that were measured between such GPUs.
    pub collectives: MeasuredCollectives,
    /// The cost model of the library, by which exchanges are timed that it knows; `None`: by the bandwidth of links.
    pub library: Option<LibraryModel>,
    /// Times that are asked about instead of the expected ones.
    pub changes: Changes,
    /// Whether it has bf16, and not fp16 alone.
    has_bf16: bool,
    multiprocessors: f64,
    /// In FLOP per µs, by precision.
    peaks: [Option<f64>; 3],
    /// In bytes per µs.
    bandwidth: f64,
    kernels: KernelRows,
}

/// The shape of attention on one rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttentionShape {
    /// Sequences.
    pub batch: f64,
    /// Tokens of a sequence, of all ranks that share it.
    pub sequence: f64,
    /// Heads of queries.
    pub heads: f64,
    /// Heads of keys and values.
    pub kv_heads: f64,
    /// Width of a head: the mean of those of queries and of values.
    pub width: f64,
    /// The number of keys that a query sees at most; `None` for all before it.
    pub window: Option<f64>,
}

/// Tiles of a product, in rows and columns.
const TILES: [(f64, f64); 6] =
    [(128.0, 256.0), (256.0, 128.0), (128.0, 128.0), (64.0, 128.0), (128.0, 64.0), (64.0, 64.0)];

impl Device {
    /// A GPU of the catalogue.
    ///
    /// # Errors
    /// Returns an error if there is none, or the catalogue lacks a figure of it.
    pub fn of(catalogue: &Catalogue, name: &str) -> Result<Self, DeviceError> {
        let gpu = catalogue.gpu(name).ok_or_else(|| DeviceError::Unknown {
            name: name.to_owned(),
            known: catalogue.gpus.iter().map(|gpu| gpu.name.as_str()).collect::<Vec<_>>().join(", "),
        })?;
        let told = |key, value: Option<f64>| value.ok_or_else(|| DeviceError::Untold { name: gpu.name.clone(), key });
        let peak = |precision: Precision| gpu.peak_flops(precision.name()).map(|peak| peak / 1e6);
        let own = match &gpu.kernels {
            None => None,
            Some(kernels) => {
                let own = ROWS.iter().find(|row| row.name.eq_ignore_ascii_case(kernels));
                Some(own.ok_or_else(|| DeviceError::UnknownKernels {
                    name: gpu.name.clone(),
                    kernels: excerpt(kernels),
                    known: ROWS.iter().map(|row| row.name).collect::<Vec<_>>().join(", "),
                })?)
            }
        };
        Ok(Self {
            name: gpu.name.clone(),
            memory_gib: told("memory_gib", gpu.memory_gib)?,
            link_gbps: told("link_gbps", gpu.link_gbps)?,
            linked_gpus: told("linked_gpus", gpu.linked_gpus.map(f64::from))? as u32,
            network_gbps: told("network_gbps", gpu.network_gbps)?,
            is_measured: own.is_some_and(|row| row.name != "AMD"),
            collectives: MeasuredCollectives::default(),
            library: None,
            changes: Changes::default(),
            has_bf16: peak(Precision::Bf16).is_some(),
            multiprocessors: told("multiprocessors", gpu.multiprocessors.map(f64::from))?,
            peaks: [
                Some(told("peak_tflops", peak(Precision::Bf16).or_else(|| half(gpu)))?),
                peak(Precision::Fp8),
                peak(Precision::Fp4),
            ],
            bandwidth: told("memory_gbps", gpu.memory_gbps)? * 1e3,
            kernels: own.copied().unwrap_or(POOLED),
        })
    }

    /// The share of its multiprocessors that exchanges beside kernels take, where their channels are said.
    pub(super) fn share_of_channels(&self) -> Option<f64> {
        self.changes.channels.map(|channels| (f64::from(channels) / self.multiprocessors).min(1.0))
    }

    /// The newest kernel of attention that it runs: FlashAttention needs a GPU of 2020 or later, which has bf16.
    pub const fn newest_attention(&self) -> AttentionKernel {
        if self.has_bf16 { self.kernels.attention.kernel } else { AttentionKernel::Unfused }
    }

    /// Whether it computes in a precision.
    ///
    /// # Errors
    /// Returns an error that says which ones it has.
    pub fn check(&self, precision: Precision) -> Result<(), DeviceError> {
        if self.peaks[precision as usize].is_some() {
            return Ok(());
        }
        let known = Precision::ALL.iter().filter(|(known, _)| self.peaks[*known as usize].is_some());
        Err(DeviceError::NoPrecision {
            name: self.name.clone(),
            precision: precision.name(),
            known: known.map(|(kind, name)| self.said(*kind, name)).collect::<Vec<_>>().join(", "),
        })
    }

    /// How attention is computed where nothing says otherwise: with the software's kernel, or with the newest that the
    /// GPU runs.
    pub fn usual_attention(&self, of_software: AttentionKernel) -> AttentionKernel {
        if self.check_attention(of_software).is_ok() { of_software } else { self.newest_attention() }
    }

    /// Whether it runs a kernel of attention: FlashAttention 3 is Hopper's alone.
    ///
    /// # Errors
    /// Returns an error that says the newest one that it runs.
    pub fn check_attention(&self, kernel: AttentionKernel) -> Result<(), DeviceError> {
        use AttentionKernel::{Cudnn, Flash3};
        let newest = self.newest_attention();
        let runs = match kernel {
            Flash3 => newest == Flash3,
            Cudnn => newest >= Flash3,
            older => older <= newest,
        };
        if runs {
            return Ok(());
        }
        Err(DeviceError::NoAttention { name: self.name.clone(), kernel: kernel.name(), newest: newest.name() })
    }

    /// A precision by the name of what the GPU has.
    const fn said(&self, precision: Precision, name: &'static str) -> &'static str {
        if matches!(precision, Precision::Bf16) && !self.has_bf16 { "fp16" } else { name }
    }

    /// The dense peak rate in FLOP/s; that of bf16 where it lacks the precision.
    pub fn peak_flops(&self, precision: Precision) -> f64 {
        self.peak(precision) * 1e6
    }

    fn peak(&self, precision: Precision) -> f64 {
        self.peaks[precision as usize].or(self.peaks[0]).unwrap_or(f64::NAN)
    }

    const fn row(&self, precision: Precision) -> &ProductRow {
        match precision {
            Precision::Bf16 => &self.kernels.bf16,
            Precision::Fp8 | Precision::Fp4 => &self.kernels.fp8,
        }
    }

    /// The time in µs of a product of m × k and k × n.
    pub fn product_us(&self, [m, k, n]: [f64; 3], precision: Precision) -> f64 {
        self.products_us(1.0, [m, k, n], precision)
    }

    /// The time in µs of as many products of one shape that one kernel computes together.
    pub fn products_us(&self, count: f64, [m, k, n]: [f64; 3], precision: Precision) -> f64 {
        if m <= 0.0 || k <= 0.0 || n <= 0.0 || count <= 0.0 {
            return 0.0;
        }
        let row = self.row(precision);
        let rate = row.compute_share * self.peak(precision);
        let compute_us = TILES.iter().fold(f64::INFINITY, |best, (rows, columns)| {
            let tiles = count * (m / rows).ceil() * (n / columns).ceil();
            let waves = (tiles / self.multiprocessors).ceil();
            let surface = 32_768.0 / (rows * columns) * (rows + columns) / 384.0;
            let dearer = 1.0 + row.small_tiles * (surface - 1.0);
            best.min(waves * self.multiprocessors * 2.0 * rows * columns * (k + row.lost_k) / rate * dearer)
        });
        let bytes = count * (precision.bytes() * (m * k + k * n) + 2.0 * m * n);
        let memory_us = bytes / (row.memory_share * self.bandwidth);
        row.start_us + sum_in_power(compute_us, memory_us, row.power)
    }

    /// How much longer products of experts take than others of their shape.
    pub(super) const fn experts_over_products(&self) -> f64 {
        self.kernels.experts
    }

    /// The time in µs of fused causal attention, forward.
    pub fn attention_us(&self, shape: AttentionShape, kernel: AttentionKernel) -> f64 {
        /// Queries of a tile.
        const TILE: f64 = 128.0;
        let row = &self.kernels.attention;
        let AttentionShape { batch, sequence, heads, kv_heads, width, window } = shape;
        let of_head = if width <= 64.0 { row.at_head_64 } else { 1.0 };
        let share = row.compute_share * of_head * kernel.over(row.kernel);
        let of_tile = 4.0 * TILE * width * self.multiprocessors / (share * self.peak(Precision::Bf16));
        // Pairs of a query with a key, per query.
        let keys = match window {
            Some(window) if window < sequence => window - window * window / (2.0 * sequence),
            _ => sequence / 2.0,
        };
        let tiles = batch * heads * (sequence / TILE).ceil();
        let all_us = tiles / self.multiprocessors * of_tile * (keys + row.lost_keys);
        let longest_us = of_tile * (2.0 * keys + row.lost_keys);
        let bytes = 2.0 * batch * sequence * width * (2.0 * heads + 2.0 * kv_heads);
        let memory_us = bytes / (row.memory_share * self.bandwidth);
        row.start_us + sum_in_power(all_us.max(longest_us), memory_us, 3.0)
    }

    /// The time in µs of moving bytes to or from memory at a share of its bandwidth.
    pub fn pass_us(&self, bytes: f64, share: f64) -> f64 {
        bytes / (share * self.bandwidth)
    }
}

/// The peak of fp16, where the catalogue has none of bf16.
fn half(gpu: &Gpu) -> Option<f64> {
    gpu.peak_flops("fp16").map(|peak| peak / 1e6)
}

fn sum_in_power(one: f64, other: f64, power: f64) -> f64 {
    let (long, short) = (one.max(other), one.min(other));
    // Divided by the longer one, so that no power overflows.
    if long > 0.0 { long * pow(1.0 + pow(short / long, power), 1.0 / power) } else { 0.0 }
}
