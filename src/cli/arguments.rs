//! Arguments that several commands have, and how their values are read.

use std::{ops::RangeBounds, str::FromStr, sync::OnceLock};

use clap::{
    ArgMatches, Args, ValueEnum,
    builder::{PossibleValue, PossibleValuesParser, RangedU64ValueParser, TypedValueParser},
    parser::ValueSource,
};

use super::{
    error::{CliError, refuse},
    terminal,
};
use crate::{
    collective::{Algorithm, Collective, Protocol, Scale},
    cost_model::Processor,
    intake::{FileReport, Mapping},
    launch::Launcher,
    report::link::LinkSize,
    training_time::{regressors::Mode, run::Recompute},
    tuning::{
        aggregate::Target,
        conf::Reader,
        heat_map::Against,
        parameters::{Parameters, Preset, SetAside},
        platform::{Gpu, Library, Platform, Version},
        reach::{JobPlace, JobVariable},
        sizes,
    },
};

/// Which values an option takes, each with its name and its meaning.
macro_rules! values {
    ($type:ty { $($value:ident = $name:literal: $help:literal,)+ }) => {
        impl ValueEnum for $type {
            fn value_variants<'a>() -> &'a [Self] {
                &[$(Self::$value),+]
            }

            fn to_possible_value(&self) -> Option<PossibleValue> {
                let (name, help) = match self {
                    $(Self::$value => ($name, $help),)+
                };
                Some(PossibleValue::new(name).help(help))
            }
        }
    };
}

values! { Preset {
    Default = "default": "the mean of trees and of a kriged surface",
    Seed = "seed": "gradient boosting as in rccl-tune-predict",
    Forest = "forest": "random forest",
    ExtraTrees = "extra-trees": "extra trees",
} }
values! { Target {
    Time = "time": "in-place busbw recomputed from the time, which has more digits",
    Printed = "printed": "in-place busbw as printed",
} }
values! { Library {
    Rccl = "rccl": "RCCL on MI300 and MI355",
    Nccl = "nccl": "NCCL",
} }
values! { Reader {
    Example = "example": "the example plugin of NVIDIA/nccl",
    DnTuner = "dn-tuner": "the RCCL plugin of rccl-sweep's authors",
    Rccl = "rccl": "RCCL's built-in CSV tuner, from ROCm 7.13",
    Collectune = "collectune": "libnccl-tuner-collectune.so, Collectune's own plugin for NCCL and RCCL",
    Ncclx = "ncclx": "the built-in tuner of NCCLX, which reads a CSV of its own, or JSON",
} }
values! { LinkSize {
    Small = "small": "up to 2,000 characters, which Microsoft Teams leaves whole: what to deploy and why, nothing else",
    Medium = "medium": "up to 4,000 characters, which Slack leaves whole",
    Full = "full": "up to 8,000 characters",
} }
values! { Processor {
    Intel = "intel": "Intel's",
    Amd = "amd": "AMD's",
} }
values! { Launcher {
    Mpirun = "mpirun": "Open MPI",
    Srun = "srun": "Slurm",
} }
values! { Against {
    Best = "best": "the highest bus bandwidth measured at the size, the default's included: no loss is below zero",
    Default = "default": "the default's bus bandwidth at the size: what is faster has a loss below zero",
} }
values! { Mode {
    Parity = "parity": "as estimate-train-time composes it, with its regressors",
    Default = "default": "power laws, trees and curves; real layers and a simulated pipeline",
} }
values! { Recompute {
    Full = "full": "whole layers",
    Selective = "selective": "the core of attention",
    None = "none": "nothing",
} }

/// The parsed command line of this process.
static TYPED: OnceLock<ArgMatches> = OnceLock::new();

/// Remembers the parsed command line of this process; only the first call counts.
pub(super) fn are_typed(matches: ArgMatches) {
    // There is one command line.
    let _ = TYPED.set(matches);
}

/// Those of some options that stand on the command line, as they are written there; they are named by their ids, which
/// have underscores.
pub(super) fn typed(ids: &[&str]) -> Vec<String> {
    let Some(mut matches) = TYPED.get() else { return Vec::new() };
    while let Some((_, inner)) = matches.subcommand() {
        matches = inner;
    }
    let is_typed = |id: &&&str| {
        matches.ids().any(|known| known == **id) && matches.value_source(id) == Some(ValueSource::CommandLine)
    };
    ids.iter().filter(is_typed).map(|id| format!("--{}", id.replace('_', "-"))).collect()
}

/// Names the options that were typed and are of no use here.
pub(super) fn say_unused(ids: &[&str], why: &str) {
    for option in typed(ids) {
        terminal::say("warning", &format!("{option} is not used: {why}"));
    }
}

/// Names `--library` where it was typed and no reader asks for it: NCCLX is a kind of NCCL.
pub(super) fn say_unused_library(readers: &[Reader]) {
    if readers.iter().all(|reader| *reader == Reader::Ncclx) {
        say_unused(&["library"], "NCCLX is a kind of NCCL");
    }
}

/// Refuses options that were typed and would have no effect. Fails if one of them was typed.
pub(super) fn refuse_unused(ids: &[&str], why: &str) -> Result<(), CliError> {
    match typed(ids).first() {
        None => Ok(()),
        Some(option) => refuse(format!("{option} has no effect{why}")),
    }
}

/// The options of what is learnt and decided, apart from the seed.
pub(super) const LEARNING: [&str; 16] = [
    "preset",
    "target",
    "trees",
    "stages",
    "depth",
    "learning_rate",
    "early_stopping",
    "level",
    "minimum_gain",
    "keep_stalls",
    "set_aside",
    "bring_back",
    "max_channels",
    "algorithms",
    "protocols",
    "exhaustive",
];

/// Parses a number in a range. The error is what is expected.
pub(super) fn number(
    range: impl RangeBounds<f64> + Clone,
    expected: &'static str,
) -> impl Fn(&str) -> Result<f64, &'static str> + Clone {
    move |text| text.trim().parse().ok().filter(|number| range.contains(number)).ok_or(expected)
}

/// Parses a share in per cent from 50 to 99.9, as a share of 1.
pub(super) fn level(text: &str) -> Result<f64, &'static str> {
    number(50.0..=99.9, "a level is 50 to 99.9 per cent")(text).map(|percent| percent / 100.0)
}

/// The smallest gain that counts, in per cent.
pub(super) fn minimum_gain(text: &str) -> Result<f64, &'static str> {
    number(0.0..=1000.0, "the smallest gain is 0 or more, in per cent")(text)
}

/// A share of a whole.
pub(super) fn share(text: &str) -> Result<f64, &'static str> {
    number(0.0..1.0, "a share is at least 0 and below 1")(text)
}

/// A count from 1 to `most`.
pub(super) fn up_to<T: TryFrom<u64> + Clone + Send + Sync + 'static>(most: u64) -> RangedU64ValueParser<T>
where
    <T as TryFrom<u64>>::Error: Send + Sync + 'static + std::error::Error,
{
    RangedU64ValueParser::new().range(1..=most)
}

/// One of some values, by its name.
pub(super) fn one_of<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let named = move |text: String| all.iter().copied().find(|value| name(*value) == text).ok_or("it is none of these");
    PossibleValuesParser::new(all.iter().copied().map(name)).try_map(named)
}

/// Nodes and ranks that can be: ranks are counted over all nodes. Fails if there are fewer ranks than nodes.
pub(super) fn scale(nodes: u32, ranks: u32) -> Result<Scale, CliError> {
    Scale::new(nodes, ranks).map_or_else(
        || {
            refuse(format!(
                "--nodes {nodes} --ranks {ranks}: ranks are counted over all nodes, so there are at least as many"
            ))
        },
        Ok,
    )
}

/// The scale of a launch, which has as many ranks on each node.
pub(super) fn launched_scale(nodes: u32, ranks: u32) -> Result<Scale, CliError> {
    let scale = scale(nodes, ranks)?;
    if !ranks.is_multiple_of(nodes) {
        return refuse(format!("--nodes {nodes} --ranks {ranks}: give a multiple of the nodes, as many on each"));
    }
    Ok(scale)
}

/// The collective and scale that are asked about.
#[derive(Args, Clone, Copy)]
pub(super) struct Asked {
    /// The collective that is asked about, like all_reduce
    #[arg(long, value_name = "C")]
    pub(super) collective: Collective,

    /// Nodes that take part
    #[arg(long, value_name = "N", value_parser = up_to::<u32>(1_000_000))]
    nodes: u32,

    /// Ranks over all nodes, one per GPU
    #[arg(long, value_name = "R", value_parser = up_to::<u32>(10_000_000))]
    ranks: u32,
}

impl Asked {
    pub(super) fn scale(self) -> Result<Scale, CliError> {
        scale(self.nodes, self.ranks)
    }

    /// The scale, if as many ranks can be launched on each node.
    pub(super) fn launched_scale(self) -> Result<Scale, CliError> {
        launched_scale(self.nodes, self.ranks)
    }
}

/// Nodes and ranks, where files do not say them.
#[derive(Args)]
pub(super) struct UntoldScale {
    /// Nodes, where a log does not say them
    #[arg(long, value_name = "N", requires = "ranks", value_parser = up_to::<u32>(1_000_000))]
    nodes: Option<u32>,

    /// Ranks over all nodes, where a log does not say them
    #[arg(long, value_name = "R", requires = "nodes", value_parser = up_to::<u32>(10_000_000))]
    ranks: Option<u32>,
}

impl UntoldScale {
    pub(super) fn scale(&self) -> Result<Option<Scale>, CliError> {
        self.nodes.zip(self.ranks).map(|(nodes, ranks)| scale(nodes, ranks)).transpose()
    }
}

/// Where a job runs, as far as its logs do not say it.
#[derive(Args)]
pub(super) struct JobRunsOn {
    /// The library's version, which decides the paths of calls: 2.30.4 [default: as the logs say]
    #[arg(long, value_name = "VERSION")]
    library_version: Option<Version>,

    /// The GPU's architecture, which decides the paths of calls that no log shows: gfx950, mi300x, sm_90, h100 …
    #[arg(long, alias = "architecture")]
    gpu: Option<Gpu>,

    /// A variable of the job's environment, which holds before those that the logs show; can be repeated
    #[arg(long = "env", value_name = "NAME=VALUE")]
    environment: Vec<JobVariable>,
}

impl JobRunsOn {
    pub(super) fn place(self) -> JobPlace {
        JobPlace { gpu: self.gpu, version: self.library_version, environment: self.environment }
    }
}

/// Which measurements are used, and what files don't say of them.
#[derive(Args, Default)]
#[command(next_help_heading = "Reading")]
pub(super) struct Measured {
    /// Which measurements to use where they differ in library, data type, operation or nodes: the number of a set, a
    /// part of its name like 2.29.2, or all to pool them [default: the set with the most rows]
    #[arg(long = "set", value_name = "SET")]
    pub(super) set: Option<String>,

    /// What ran where a log does not say it: ALGORITHM/PROTOCOL/CHANNELS, or default for the library's own choice
    #[arg(long, value_name = "A/P/C", value_parser = Mapping::configuration)]
    pub(super) configuration: Option<Mapping>,
}

/// What to learn, and how.
#[derive(Args, Default)]
#[command(next_help_heading = "Learning")]
pub(super) struct Learning {
    /// Which model is trained [default: default]
    #[arg(long)]
    preset: Option<Preset>,

    /// Which number of a row is the measurement
    #[arg(long, value_enum, default_value_t)]
    pub(super) target: Target,

    /// Seed of everything random [default: 42]
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,

    /// Trees of the forests [default: 200]
    #[arg(long, value_name = "N", value_parser = up_to::<u32>(Parameters::MAX_TREES.into()))]
    trees: Option<u32>,

    /// Stages of boosting [default: 200]
    #[arg(long, value_name = "N", value_parser = up_to::<u32>(Parameters::MAX_TREES.into()))]
    stages: Option<u32>,

    /// Depth of a boosted tree [default: 6]
    #[arg(long, value_name = "N", value_parser = up_to::<u16>(Parameters::MAX_DEPTH.into()))]
    depth: Option<u16>,

    /// Learning rate of boosting, above 0 and at most 1 [default: 0.1]
    #[arg(long, value_name = "RATE", value_parser = number(f64::MIN_POSITIVE..=1.0, "a learning rate is above 0 and at most 1"))]
    learning_rate: Option<f64>,

    /// Stop boosting after this many stages without a better error on a held-out tenth; 0 runs all stages [default: 0]
    #[arg(long, value_name = "STAGES")]
    early_stopping: Option<u32>,

    #[command(flatten)]
    search: Search,

    #[command(flatten)]
    deciding: Deciding,
}

/// Which configurations are searched beside those that were measured.
#[derive(Args, Default)]
#[command(next_help_heading = "Searching")]
struct Search {
    /// The most channels [default: the largest count measured at that scale]
    #[arg(long, value_name = "N", value_parser = up_to::<u32>(1024))]
    max_channels: Option<u32>,

    /// Search these algorithms only, measured or not, like ring,tree
    #[arg(long, value_name = "A,…", value_delimiter = ',')]
    algorithms: Vec<Algorithm>,

    /// Search these protocols only, measured or not, like ll,simple
    #[arg(long, value_name = "P,…", value_delimiter = ',')]
    protocols: Vec<Protocol>,

    /// Try every channel count, not only the promising ones
    #[arg(long)]
    exhaustive: bool,
}

/// What to believe of measurements, and when to recommend something else than the default.
#[derive(Args, Default)]
#[command(next_help_heading = "Deciding")]
struct Deciding {
    /// How sure a gain over the default must be, in per cent: its interval holds it with this probability
    /// [default: 90]
    #[arg(long, value_name = "PCT", value_parser = level)]
    level: Option<f64>,

    /// The smallest gain over the default that is worth a rule, in per cent [default: 1]
    #[arg(long, value_name = "PCT", value_parser = minimum_gain)]
    minimum_gain: Option<f64>,

    /// Use runs that stalled like any other
    #[arg(long)]
    keep_stalls: bool,

    /// Leave a configuration out, like all_reduce:2x16:RING/LL/8 (collective, nodes x ranks, what ran)
    #[arg(long, value_name = "C:NxR:A/P/C")]
    set_aside: Vec<SetAside>,

    /// Use a run that stalled like any other, like sweep.csv:120:in (file, line, in or out of place)
    #[arg(long, value_name = "FILE:LINE:in|out")]
    bring_back: Vec<String>,
}

impl Learning {
    /// The parameters of a model file (`known`) or the usual ones, with those that were given on the command line; a
    /// run is brought back by its place in one of `files`. Fails if it is in none of them.
    pub(super) fn parameters(&self, known: Option<Parameters>, files: &[FileReport]) -> Result<Parameters, CliError> {
        let mut parameters = known.unwrap_or_default();
        fn set<T: Copy>(parameter: &mut T, given: Option<T>) {
            if let Some(given) = given {
                *parameter = given;
            }
        }
        set(&mut parameters.preset, self.preset);
        set(&mut parameters.seed, self.seed);
        set(&mut parameters.trees, self.trees);
        set(&mut parameters.stages, self.stages);
        set(&mut parameters.depth, self.depth);
        set(&mut parameters.learning_rate, self.learning_rate);
        set(&mut parameters.early_stopping, self.early_stopping);
        set(&mut parameters.confidence.level, self.deciding.level);
        set(&mut parameters.confidence.minimum_gain_pct, self.deciding.minimum_gain);
        parameters.screening.keep_stalls |= self.deciding.keep_stalls;
        parameters.screening.set_aside.extend(&self.deciding.set_aside);
        for run in &self.deciding.bring_back {
            let place = |file: &FileReport| {
                let rest = run.strip_prefix(&file.name).filter(|rest| rest.starts_with(':'))?;
                format!("{}{rest}", file.number()).parse().ok()
            };
            let Some(place) = files.iter().find_map(place) else {
                return refuse(format!(
                    "--bring-back {run}: write the name of a file that is read, a line and in or out, like \
                     sweep.csv:120:in"
                ));
            };
            parameters.screening.brought_back.push(place);
        }
        let (limits, Search { max_channels, algorithms, protocols, exhaustive }) =
            (&mut parameters.search, &self.search);
        limits.max_channels = max_channels.or(limits.max_channels);
        limits.exhaustive |= exhaustive;
        if !algorithms.is_empty() {
            limits.algorithms.clone_from(algorithms);
        }
        if !protocols.is_empty() {
            limits.protocols.clone_from(protocols);
        }
        match parameters.preset {
            Preset::Seed => say_unused(&["trees"], "the preset seed has stages of boosting (--stages), and no forest"),
            Preset::Default | Preset::Forest | Preset::ExtraTrees => say_unused(
                &["stages", "depth", "learning_rate", "early_stopping"],
                "they are of boosting, which is the preset seed (--preset seed)",
            ),
        }
        Ok(parameters)
    }
}

/// What is known of the machine.
#[derive(Args, Clone, Copy)]
pub(super) struct Machine {
    /// The library's version, which decides what can run: 2.27 [default: as the sweep or the library says, else any]
    #[arg(long, value_name = "VERSION")]
    pub(super) library_version: Option<Version>,

    /// The GPU, which decides what can run: sm_90, h100, gfx950, mi300x … [default: as the sweep or the machine says,
    /// else any]
    #[arg(long, value_name = "GPU")]
    pub(super) gpu: Option<Gpu>,
}

impl Machine {
    /// With a library, on this machine.
    pub(super) fn of(self, library: Library) -> Platform {
        Platform { version: self.library_version, gpu: self.gpu, ..library.into() }
    }

    /// With the library that was given, or is that of the GPU, or else that of `told`, what measurements say of theirs.
    /// Says where these contradict each other.
    pub(super) fn with(self, library: Option<Library>, told: Option<Platform>) -> Platform {
        let library =
            library.or_else(|| self.gpu.map(Library::from)).or(told.map(|told| told.library)).unwrap_or_default();
        let own = told.filter(|told| told.library == library).unwrap_or_default();
        let (version, gpu) = (self.library_version.or(own.version), self.gpu.or(own.gpu));
        let platform = Platform { version, gpu, ..self.of(library) };
        platform.contradictions(told).iter().for_each(|why| terminal::say("warning", why));
        platform
    }
}

/// One size in bytes, of at least one.
pub(super) fn size(text: &str) -> Result<u64, String> {
    match sizes::parse_sizes(text).map_err(|error| error.to_string())?[..] {
        [size] => Ok(size),
        _ => Err("this is more than one size; give several with --sizes".to_owned()),
    }
}

/// Several sizes in one argument.
#[derive(Clone)]
pub(super) struct Sizes(pub(super) Vec<u64>);

impl FromStr for Sizes {
    type Err = sizes::SizesError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        sizes::parse_sizes(text).map(Self)
    }
}

/// Several batch sizes, or numbers of tokens, in one argument.
#[derive(Clone)]
pub(super) struct Batches(pub(super) Vec<u64>);

impl FromStr for Batches {
    type Err = sizes::BatchesError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        sizes::parse_batches(text).map(Self)
    }
}
