//! The information that the name of a file adds to its contents.

use super::super::samples::Communicator;

/// The parts of a name of the form `<gpu>_<function>_<precision>[_<nodes>_<gpusPerNode>].csv`, as far as it has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Name {
    /// The GPU, which contains no underscore.
    pub gpu: Option<String>,
    /// The operator or collective, which may contain underscores.
    pub function: Option<String>,
    /// The precision, such as `fp16`.
    pub precision: Option<String>,
    /// The communicator of a collective.
    pub communicator: Option<Communicator>,
}

const PRECISIONS: [&str; 8] = ["fp16", "bf16", "fp32", "fp64", "tf32", "fp8", "int8", "fp4"];

/// The last part of a path, without what ends it: `.csv`, `.csv.gz`, `.tgz`.
pub fn stem(path: &str) -> &str {
    const ENDINGS: [&str; 11] =
        [".gz", ".csv", ".txt", ".json", ".yml", ".yaml", ".pkl", ".tsv", ".zip", ".tar", ".tgz"];
    let mut name = leaf(path);
    while let Some(ending) = ENDINGS.iter().find(|ending| {
        name.len() > ending.len()
            && name.get(name.len() - ending.len()..).is_some_and(|end| end.eq_ignore_ascii_case(ending))
    }) {
        name = &name[..name.len() - ending.len()];
    }
    name
}

/// The last component of a path.
pub fn leaf(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or_default()
}

/// The folders of a path, from the root.
pub fn folders(path: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").collect();
    parts.pop();
    parts
}

/// Whether a folder holds one kind of samples of a cluster, so that the folder above names the cluster.
pub fn is_kind(folder: &str) -> bool {
    const KINDS: [&str; 10] = [
        "operator",
        "operators",
        "nccl",
        "rccl",
        "collective",
        "collectives",
        "comm",
        "communication",
        "compute",
        "kernels",
    ];
    KINDS.iter().any(|kind| folder.eq_ignore_ascii_case(kind))
}

impl Name {
    /// Cuts a name: the GPU from the beginning, precision and numbers from the end.
    pub fn cut(path: &str) -> Self {
        let mut parts: Vec<&str> = stem(path).split('_').collect();
        let number = |part: Option<&&str>| part.and_then(|part| part.parse::<u32>().ok());
        let is_precision = |part: &str| PRECISIONS.iter().any(|known| part.eq_ignore_ascii_case(known));
        let mut name = Self::default();
        if let [.., precision, _, _] = parts.as_slice()
            && is_precision(precision)
            && let (Some(nodes), Some(per_node)) = (number(parts.get(parts.len() - 2)), number(parts.last()))
        {
            name.communicator = Some(Communicator { nodes, per_node });
            parts.truncate(parts.len() - 2);
        }
        if parts.len() > 1 && parts.last().is_some_and(|last| is_precision(last)) {
            name.precision = parts.pop().map(str::to_ascii_lowercase);
            // Without a precision nothing says that the first part is a GPU.
            if parts.len() > 1 {
                name.gpu = Some(parts.remove(0).to_owned());
            }
        }
        name.function = Some(parts.join("_")).filter(|function| !function.is_empty());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_from_both_ends() {
        for (path, gpu, function, precision, communicator) in [
            (
                "Perlmutter/operator/NVIDIAA100-SXM4-80GB_linear1_fp16.csv",
                "NVIDIAA100-SXM4-80GB",
                "linear1",
                "fp16",
                "",
            ),
            ("X_parallel_cross_entropy_128_fp16.csv", "X", "parallel_cross_entropy_128", "fp16", ""),
            ("X_allgather_large_fp16_2_4.CSV.gz", "X", "allgather_large", "fp16", "2×4"),
            ("linear1_BF16.csv", "", "linear1", "bf16", ""),
            ("linear1.csv", "", "linear1", "", ""),
            ("parallel_cross_entropy_128.csv", "", "parallel_cross_entropy_128", "", ""),
            ("NVIDIAA100-SXM4-80GB.csv", "", "NVIDIAA100-SXM4-80GB", "", ""),
            ("AR_GPU8_1M_1024M_LUT", "", "AR_GPU8_1M_1024M_LUT", "", ""),
            ("", "", "", "", ""),
        ] {
            let name = Name::cut(path);
            let text = |part: Option<String>| part.unwrap_or_default();
            let shape = name.communicator.map(|c| c.to_string()).unwrap_or_default();
            assert_eq!(
                [text(name.gpu), text(name.function), text(name.precision), shape],
                [gpu, function, precision, communicator].map(str::to_owned),
                "{path}"
            );
        }
        assert_eq!(folders("/a/./b/c.csv"), ["a", "b"]);
    }
}
