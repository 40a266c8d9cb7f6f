//! Data types of messages and operations of reductions, by any of the names that libraries and frameworks have for
//! them.

/// A data type of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataType {
    /// The name by which it is known here, such as `bf16`.
    pub name: &'static str,
    /// Bytes of an element, from 1 to 8.
    pub bytes: u32,
}

/// The names of each data type, the one that is kept first.
const TYPES: [(&[&str], u32); 8] = [
    (&["bf16", "bfloat16", "bfloat"], 2),
    (&["fp16", "float16", "half", "f16"], 2),
    (&["fp32", "float32", "float", "f32"], 4),
    (&["fp64", "float64", "double", "f64"], 8),
    (
        &[
            "fp8",
            "float8",
            "float8_e4m3",
            "float8_e5m2",
            "float8_e4m3fn",
            "float8e4m3",
            "float8e5m2",
            "f8e4m3",
            "f8e5m2",
        ],
        1,
    ),
    (&["int8", "uint8", "char", "byte", "bool"], 1),
    (&["int32", "uint32", "int"], 4),
    (&["int64", "uint64", "long"], 8),
];

/// The names of a sum, and of the other operations.
const OPERATIONS: [(&[&str], bool); 2] =
    [(&["sum", "add"], true), (&["prod", "product", "max", "min", "avg", "mulsum", "premulsum"], false)];

/// A name in small letters without what NCCL, PyTorch and CUDA put before it: `ncclBfloat16`, `torch.bfloat16`,
/// `__nv_bfloat16`, `ReduceOp.SUM`.
fn bare(text: &str) -> String {
    let small = text.trim().to_ascii_lowercase();
    let last = small.rsplit(['.', ':']).next().unwrap_or_default();
    let bare = ["__nv_", "nccl", "hip_"].iter().find_map(|before| last.strip_prefix(before)).unwrap_or(last);
    bare.to_owned()
}

impl DataType {
    /// The type of a name; `None` for an unknown one.
    ///
    /// ```
    /// use collectune::tuning::data_type::DataType;
    /// for name in ["bf16", "ncclBfloat16", "torch.bfloat16", "__nv_bfloat16"] {
    ///     assert_eq!(DataType::parse(name), Some(DataType { name: "bf16", bytes: 2 }));
    /// }
    /// assert_eq!(DataType::parse("f32x"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let bare = bare(text);
        let (names, bytes) = TYPES.iter().find(|(names, _)| names.contains(&bare.as_str()))?;
        Some(Self { name: names[0], bytes: *bytes })
    }
}

/// Whether an operation of a reduction is the sum; `None` for an unknown name.
///
/// ```
/// use collectune::tuning::data_type::is_sum;
/// assert_eq!((is_sum("ncclSum"), is_sum("max"), is_sum("median")), (Some(true), Some(false), None));
/// ```
pub fn is_sum(text: &str) -> Option<bool> {
    let bare = bare(text);
    OPERATIONS.iter().find(|(names, _)| names.contains(&bare.as_str())).map(|(_, is_sum)| *is_sum)
}
