//! Reads the names of files, such as `times_auto_2x4_64MB.txt` or `iteration_times_tree_simple.txt`.

use crate::{
    collective::Scale,
    policy::{arm::Arm, result::Objective},
    units::Size,
};

/// What a file's name states about all of its lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileName {
    /// The arm, if the name contains one.
    pub arm: Option<Arm>,
    /// The message size in bytes.
    pub size_bytes: Option<u64>,
    /// The scale: `2x4` stands for two nodes of four ranks.
    pub scale: Option<Scale>,
    /// Iteration times, if the name mentions iterations.
    pub objective: Objective,
    /// `r03`: the third round of a campaign, as the exported script numbers them.
    pub round: Option<u32>,
}

impl FileName {
    /// Reads the last part of a path.
    ///
    /// ```
    /// use collectune::policy::{arm::Arm, read::FileName};
    /// let name = FileName::parse("logs/times_auto_2x4_64MB_a.txt");
    /// assert_eq!((name.arm, name.size_bytes), (Some(Arm::Auto), Some(64 << 20)));
    /// assert_eq!(name.scale.map(|scale| (scale.nodes, scale.ranks)), Some((2, 8)));
    /// assert_eq!(FileName::parse("rewards_tree_simple_r03.log").round, Some(3));
    /// assert_eq!(FileName::parse("iteration_times_simple.txt").arm, None);
    /// assert_eq!(FileName::parse("times_tree-ll128.txt").arm, Arm::parse("tree/ll128"));
    /// ```
    pub fn parse(path: &str) -> Self {
        let name = path.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
        let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
        let arm = |length: usize| words.windows(length).find_map(|words| Arm::parse(&words.join("_")));
        // The longest first: `nvls_tree_simple` is not tree/simple.
        let arm = arm(4).or_else(|| arm(3)).or_else(|| arm(2)).or_else(|| arm(1));
        Self {
            arm,
            size_bytes: words.iter().find_map(|word| size(word)),
            scale: words.iter().find_map(|word| scale(word)),
            round: words.iter().find_map(|word| word.strip_prefix('r')?.parse().ok()),
            objective: if name.contains("iteration") { Objective::Iteration } else { Objective::Communication },
        }
    }
}

fn size(word: &str) -> Option<u64> {
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_size =
        unit.len() < word.len() && matches!(unit, "b" | "k" | "kb" | "kib" | "m" | "mb" | "mib" | "g" | "gb" | "gib");
    is_size.then(|| word.parse::<Size>().ok().map(|size| size.0)).flatten()
}

fn scale(word: &str) -> Option<Scale> {
    let (nodes, each) = word.split_once('x')?;
    let (nodes, each): (u32, u32) = (nodes.parse().ok()?, each.parse().ok()?);
    (nodes > 0 && each > 0).then_some(Scale { nodes, ranks: nodes.checked_mul(each)? })
}
