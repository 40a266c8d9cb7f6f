//! The next A/B: three arms in a balanced order, as a bash script.

use serde::{Deserialize, Serialize};

use crate::{
    collective::{Collective, Scale},
    launch::{self, Launcher, Sizes},
    math::Stream,
    text::shell::quoted,
};

/// The arm of a campaign that a launch belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AbArm {
    /// No plugin: the library's default.
    Default,
    /// The plugin with the tuner file.
    Conf,
    /// The plugin with an empty tuner file, which measures the cost of loading the plugin.
    Empty,
}

impl AbArm {
    /// All arms, in the order in which the script names them.
    pub const ALL: [Self; 3] = [Self::Default, Self::Conf, Self::Empty];

    /// The word in a log's name.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Conf => "conf",
            Self::Empty => "empty",
        }
    }

    /// The arm in a log's name, such as `conf` in `all_reduce_1n_conf_r3.log`.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::and_repeat_of_name(name).map(|(arm, _)| arm)
    }

    /// The arm and the number of the repeat in a log's name.
    pub fn and_repeat_of_name(name: &str) -> Option<(Self, u32)> {
        let stem = name.rsplit(['/', '\\']).next()?.split('.').next()?;
        let mut words = stem.rsplit('_');
        let repeat = words.next()?.strip_prefix('r')?.parse().ok()?;
        let arm = words.next()?;
        Self::ALL.into_iter().find(|known| known.word() == arm).map(|arm| (arm, repeat))
    }
}

/// A campaign of three arms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CampaignPlan {
    /// The collective whose program of nccl-tests all arms run.
    pub collective: Collective,
    /// The number of nodes and ranks.
    pub scale: Scale,
    /// The range of message sizes.
    pub sizes: Sizes,
    /// The number of launches of each arm, 1 to [`CampaignPlan::MAX_REPEATS`].
    pub repeats: u32,
    /// The seed of the order of the launches.
    pub seed: u64,
    /// The launcher that starts the ranks.
    pub launcher: Launcher,
    /// The path of the tuner plugin.
    pub plugin: String,
    /// Path of the tuner file.
    pub conf: String,
}

impl CampaignPlan {
    /// The most launches of each arm.
    pub const MAX_REPEATS: u32 = 99;

    /// The campaign as a bash script. The name of each log has its arm and repeat.
    pub fn script(&self) -> String {
        let Self { collective, scale, sizes, repeats, seed, .. } = self;
        let notes = [
            format!(
                "Arms: no plugin, the plugin with the tuner file, the plugin with an empty tuner file; {repeats} launches each."
            ),
            format!(
                "Order: balanced, shuffled with seed {seed}. Leave NCCL_DEBUG unset: writing to stdout costs up to 4 %."
            ),
            "Give logs/*.log and the tuner file to: collectune tuning ab logs/*.log --conf FILE".to_owned(),
        ];
        let title = format!("A/B of a tuner file for {collective} on {scale}.");
        let mut text = launch::head(&title, self.launcher, &notes);
        text += &launch::ranks(self.launcher, *scale);
        text += &arms(&self.plugin, &self.conf);
        text += &launch::warm_up(*sizes, *collective);
        for (arm, repeat) in balanced_order(*repeats, *seed) {
            let log = format!("{collective}_{}n_{}_r{repeat}.log", scale.nodes, arm.word());
            let environment = match arm {
                AbArm::Default => "",
                AbArm::Conf => r#" "${with_conf[@]}""#,
                AbArm::Empty => r#" "${with_empty[@]}""#,
            };
            let launch = launch::line(&log, &sizes.arguments(), *collective, &[]);
            text += &format!("{}{environment}\n", launch.trim_end());
        }
        text
    }
}

/// The environment of the two arms with a plugin, as arrays of bash. The script ends where a file is missing: the
/// library would run without it, and the arms would be equal.
fn arms(plugin: &str, conf: &str) -> String {
    let (plugin, conf) = (quoted(plugin), quoted(conf));
    format!(
        r#"# The library goes on without a plugin or a tuner file that it can't find.
conf=$(realpath -e -- {conf}) || exit 1
plugin={plugin}
# A name without a folder that is no file here is looked for in LD_LIBRARY_PATH.
if [[ $plugin == */* || -e $plugin ]]; then plugin=$(realpath -e -- "$plugin") || exit 1; fi
# A gap of NVIDIA's example plugin is one channel: there the empty file is no default.
printf '' >logs/empty.conf
with_conf=(NCCL_TUNER_PLUGIN="$plugin" NCCL_TUNER_CONFIG_FILE="$conf")
with_empty=(NCCL_TUNER_PLUGIN="$plugin" NCCL_TUNER_CONFIG_FILE="$PWD/logs/empty.conf")

"#
    )
}

/// The order of the launches: (arm, repeat from 1). In every three repeats each arm comes once first, once second
/// and once third. Every other three mirrors the three before, so that each arm runs as often before as after each
/// of the others.
pub fn balanced_order(repeats: u32, seed: u64) -> Vec<(AbArm, u32)> {
    let mut stream = Stream::new(seed);
    let mut order = Vec::new();
    let mut rows: Vec<[AbArm; 3]> = Vec::new();
    for repeat in 1..=repeats.clamp(1, CampaignPlan::MAX_REPEATS) {
        let place = (repeat - 1) as usize % 6;
        if place == 0 {
            let mut first = AbArm::ALL;
            stream.shuffle(&mut first);
            let [a, b, c] = first;
            let mut turns = [[a, b, c], [b, c, a], [c, a, b]];
            stream.shuffle(&mut turns);
            let mut mirrored = turns.map(|[a, b, c]| [c, b, a]);
            stream.shuffle(&mut mirrored);
            rows = turns.into_iter().chain(mirrored).collect();
        }
        order.extend(rows[place].map(|arm| (arm, repeat)));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn campaign(repeats: u32, seed: u64) -> CampaignPlan {
        CampaignPlan {
            collective: Collective::AllReduce,
            scale: Scale { nodes: 2, ranks: 16 },
            sizes: Sizes { first: 4096, last: 1 << 29 },
            repeats,
            seed,
            launcher: Launcher::Mpirun,
            plugin: "/opt/it's here/tuner.so".to_owned(),
            conf: "tuned.conf".to_owned(),
        }
    }

    #[test]
    fn each_arm_is_as_often_first_second_and_third_and_before_each_other() {
        for seed in 0..20 {
            let order = balanced_order(6, seed);
            assert_eq!(order.len(), 18);
            for arm in AbArm::ALL {
                for place in 0..3 {
                    let there = order.iter().skip(place).step_by(3).filter(|(a, _)| *a == arm).count();
                    assert_eq!(there, 2, "seed {seed}");
                }
                for other in AbArm::ALL.into_iter().filter(|other| *other != arm) {
                    let before = order
                        .chunks(3)
                        .filter(|of| of.iter().position(|(a, _)| *a == arm) < of.iter().position(|(a, _)| *a == other));
                    assert_eq!(before.count(), 3);
                }
            }
        }
        assert_eq!(balanced_order(6, 1), balanced_order(6, 1));
        assert!((2..9).any(|seed| balanced_order(6, seed) != balanced_order(6, 1)));
    }

    #[test]
    fn names_of_logs_tell_the_arm() {
        let script = campaign(3, 1).script();
        let logs = script.lines().filter_map(|line| line.strip_prefix("run ")?.split(' ').next());
        let mut arms: Vec<AbArm> = logs.filter_map(AbArm::of_name).collect();
        arms.sort();
        assert_eq!(
            arms,
            [
                AbArm::Default,
                AbArm::Default,
                AbArm::Default,
                AbArm::Conf,
                AbArm::Conf,
                AbArm::Conf,
                AbArm::Empty,
                AbArm::Empty,
                AbArm::Empty
            ]
        );
        assert_eq!(AbArm::of_name("logs/all_reduce_1n_conf_r3.log"), Some(AbArm::Conf));
        for other in ["warm_up.txt", "all_reduce_2n_ring_ll128_c24_r1.log", "conf.log", "a_conf_rx.log", ""] {
            assert_eq!(AbArm::of_name(other), None, "{other}");
        }
    }

    #[test]
    fn paths_are_quoted() {
        assert!(campaign(1, 1).script().contains(r"plugin='/opt/it'\''s here/tuner.so'"));
    }
}
