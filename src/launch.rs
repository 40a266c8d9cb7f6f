//! Launches of nccl-tests (rccl-tests) as lines of a bash script.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    text::shell::quoted,
};

/// The program that starts the ranks of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Launcher {
    /// `mpirun` with the options of Open MPI.
    #[default]
    Mpirun,
    /// `srun` with the options of Slurm.
    Srun,
}

/// The program of nccl-tests that measures a collective, such as `all_reduce_perf`.
pub fn program(collective: Collective) -> String {
    format!("{collective}_perf")
}

/// Which sizes one launch measures: from the first to the last by factors of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Sizes {
    /// The smallest size in bytes.
    pub first: u64,
    /// The largest size in bytes.
    pub last: u64,
}

impl Sizes {
    /// The sizes to ask for on so many ranks, so that those that were printed come out again: nccl-tests rounds down to
    /// a multiple of the ranks (3840 bytes for 4096 on 24), so a multiple just below a power of two stands for it.
    pub fn to_cover(first: u64, last: u64, ranks: u32) -> Self {
        let ranks = u64::from(ranks.max(1));
        let asked = |size: u64| match size.checked_next_power_of_two() {
            Some(power) if power - size <= power / 10 && !ranks.is_power_of_two() && size.is_multiple_of(ranks) => {
                power
            }
            _ => size,
        };
        Self { first: asked(first), last: asked(last) }
    }

    /// The options of nccl-tests that ask for these sizes.
    pub fn arguments(self) -> String {
        format!("-b {} -e {} -f 2", self.first, self.last)
    }
}

/// A size as nccl-tests, rccl-sweep and [`Size`](crate::units::Size) read it: a whole number of the largest binary
/// unit up to G in which it is exact, else bytes.
///
/// ```
/// use collectune::launch::short_size;
/// assert_eq!([512 << 20, 3 << 10, 1 << 40, 3840, 0].map(short_size), ["512M", "3K", "1024G", "3840", "0"]);
/// ```
pub fn short_size(bytes: u64) -> String {
    let units = [(30, "G"), (20, "M"), (10, "K")];
    let unit = units.into_iter().find(|(bits, _)| bytes > 0 && bytes.is_multiple_of(1 << bits));
    unit.map_or_else(|| bytes.to_string(), |(bits, unit)| format!("{}{unit}", bytes >> bits))
}

/// The line of a script that clears what would override the settings of its launches.
pub const UNSET: &str =
    "unset NCCL_ALGO NCCL_PROTO NCCL_MIN_NCHANNELS NCCL_MAX_NCHANNELS NCCL_TUNER_PLUGIN NCCL_TUNER_CONFIG_FILE";

/// The head of a script: a function that its lines call.
///
/// `run LOG SIZES PROGRAM NAME=VALUE…` runs a program once with the environment set so, into `logs/LOG`.
pub fn head(title: &str, launcher: Launcher, notes: &[String]) -> String {
    let exports = match launcher {
        Launcher::Mpirun => "    for assignment in \"$@\"; do exports+=(-x \"${assignment%%=*}\"); done\n",
        Launcher::Srun => "",
    };
    let mut text = String::from("#!/usr/bin/env bash\n");
    for line in std::iter::once(title).chain(notes.iter().map(String::as_str)) {
        let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let _ = writeln!(text, "# {line}");
    }
    let _ = write!(
        text,
        r#"#
# Adapt the launcher; NCCL_TESTS is the folder of nccl-tests' programs. One process per GPU.
set -u
tests=${{NCCL_TESTS:-./build}}
if compgen -G 'logs/*.log' >/dev/null; then
    echo "logs/ holds the logs of an earlier script: move it away first" >&2
    exit 1
fi
mkdir -p logs
# What is set outside would hide what is set here.
{UNSET}

# run LOG SIZES PROGRAM NAME=VALUE…: one launch, into logs/LOG.
run() {{
    local log=$1 sizes=$2 program=$3 exports=()
    shift 3
{exports}    echo "$(date +%T) $log"
    # shellcheck disable=SC2086
    env "$@" "${{launch[@]}}" ${{exports[@]+"${{exports[@]}}"}} "$tests/$program" $sizes -g 1 >"logs/$log" 2>&1 \
        || echo "$log failed, see logs/$log" >&2
}}

"#
    );
    text
}

/// The command that starts the ranks, to be followed by the program.
pub fn start(launcher: Launcher, scale: Scale) -> String {
    let Scale { nodes, ranks } = scale;
    let per_node = ranks.div_ceil(nodes.max(1)).max(1);
    match launcher {
        Launcher::Mpirun => format!("mpirun -np {ranks} --map-by ppr:{per_node}:node"),
        Launcher::Srun => format!("srun -N {nodes} -n {ranks} --ntasks-per-node={per_node} --export=ALL"),
    }
}

/// The line of a script that says how ranks are started from here on.
pub fn ranks(launcher: Launcher, scale: Scale) -> String {
    format!("launch=({})\n", start(launcher, scale))
}

/// One line of a script: a launch with these arguments of nccl-tests into a log. `environment` are pairs of name and
/// value.
pub fn line(log: &str, arguments: &str, collective: Collective, environment: &[(&str, String)]) -> String {
    let mut line = format!("run {} {} {}", quoted(log), quoted(arguments), program(collective));
    for (name, value) in environment {
        let _ = write!(line, " {name}={}", quoted(value));
    }
    line.push('\n');
    line
}

/// Whether an algorithm and a protocol can be asked for: Direct is the library's own choice, and point-to-point
/// collectives have no algorithm, so that only channels are asked there.
pub const fn takes_a_request(algorithm: Algorithm, protocol: Protocol) -> bool {
    !matches!(algorithm, Algorithm::Direct | Algorithm::None) && !matches!(protocol, Protocol::None)
}

/// The environment that asks for a configuration, as pairs of name and value; nothing for the default.
pub fn environment(configuration: Option<Configuration>, collective: Collective) -> Vec<(&'static str, String)> {
    let Some(Configuration { algorithm, protocol, channels }) = configuration else { return Vec::new() };
    let mut environment = Vec::new();
    if takes_a_request(algorithm, protocol) {
        let spelled = match algorithm {
            Algorithm::Tree => "Tree",
            Algorithm::Ring => "Ring",
            Algorithm::CollnetDirect => "CollnetDirect",
            Algorithm::CollnetChain => "CollnetChain",
            Algorithm::NvlsTree => "NVLSTree",
            _ => algorithm.name(),
        };
        environment.push(("NCCL_ALGO", spelled.to_owned()));
        let spelled = if protocol == Protocol::Simple { "Simple" } else { protocol.name() };
        environment.push(("NCCL_PROTO", spelled.to_owned()));
    }
    if channels > 0 {
        let names = match collective {
            Collective::AllToAll | Collective::SendRecv => ["NCCL_MIN_P2P_NCHANNELS", "NCCL_MAX_P2P_NCHANNELS"],
            _ => ["NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"],
        };
        environment.extend(names.map(|name| (name, channels.to_string())));
    }
    environment
}

/// The launch of nccl-tests, one process per GPU, that measures a configuration at one size.
pub fn command(configuration: Configuration, workload: &Workload) -> String {
    let mut words: Vec<String> = environment(Some(configuration), workload.collective)
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let size = workload.size_bytes;
    words.push(format!("{} -b {size} -e {size} -g 1", program(workload.collective)));
    words.join(" ")
}

/// Launches before the first that counts: with cold clocks the first four are up to 28 % low.
pub const WARM_UPS: usize = 4;

/// Lines that warm the clocks; their logs count for nothing.
pub fn warm_up(sizes: Sizes, collective: Collective) -> String {
    let line = line("warm_up.txt", &sizes.arguments(), collective, &[]);
    format!(
        "# Cold clocks: the first launches are low, and count for nothing.\nfor _ in {{1..{WARM_UPS}}}; do\n    {line}done\n\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_nccl_tests_rounded_down_are_asked_for_as_they_were() {
        assert_eq!(Sizes::to_cover(3840, 536_870_400, 24), Sizes { first: 4096, last: 1 << 29 });
        assert_eq!(Sizes::to_cover(368_640, 368_640, 24), Sizes { first: 368_640, last: 368_640 });
        assert_eq!(Sizes::to_cover(4096, u64::MAX, 24).last, u64::MAX);
        for ranks in [8, 24] {
            assert_eq!(Sizes::to_cover(1000, 1_000_000, ranks), Sizes { first: 1000, last: 1_000_000 });
        }
    }
}
