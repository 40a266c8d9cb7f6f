//! Arguments that several commands have, and how their values are read.

use std::sync::OnceLock;

use clap::{
    ArgMatches, Args, ValueEnum,
    builder::{PossibleValue, RangedU64ValueParser},
    parser::ValueSource,
};

use super::{CliError, terminal};

use crate::{
    collective::{Algorithm, Collective, Protocol, Scale},
    intake::Mapping,
    tuning::{
        aggregate::Target,
        conf::Reader,
        parameters::{Parameters, Preset, SetAside},
        platform::{Gpu, Library, Platform, Version},
        sizes,
    },
};

/// The parsed command line of this process.
static TYPED: OnceLock<ArgMatches> = OnceLock::new();

/// Remembers the parsed command line of this process; only the first call counts.
pub(super) fn are_typed(matches: ArgMatches) {
    // There is one command line.
    let _ = TYPED.set(matches);
}

/// Whether an argument of the command stands on the command line, by its id: its name with underscores.
fn is_typed(id: &str) -> bool {
    let Some(mut matches) = TYPED.get() else { return false };
    while let Some((_, inner)) = matches.subcommand() {
        matches = inner;
    }
    matches.ids().any(|known| known == id) && matches.value_source(id) == Some(ValueSource::CommandLine)
}

/// Names the options that were typed and are of no use here.
pub(super) fn say_unused(ids: &[&str], why: &str) {
    for id in ids.iter().filter(|id| is_typed(id)) {
        terminal::say("warning", &format!("--{} is not used: {why}", id.replace('_', "-")));
    }
}

/// The options of what is learnt and decided, apart from the seed.
pub(super) const LEARNING: [&str; 10] = [
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
];

/// Nodes and ranks that can be: ranks are counted over all nodes.
///
/// # Errors
/// There are fewer ranks than nodes.
pub(super) fn scale(nodes: u32, ranks: u32) -> Result<Scale, CliError> {
    if nodes > ranks {
        return Err(CliError::Told(format!(
            "--nodes {nodes} --ranks {ranks}: ranks are counted over all nodes, so there are at least as many"
        )));
    }
    Ok(Scale { nodes, ranks })
}

/// Which measurements are used.
#[derive(Args, Default)]
#[command(next_help_heading = "Reading")]
pub(super) struct Measured {
    /// Which measurements to use where they differ in library, data type, operation or nodes: the number of a set, a
    /// part of its name like 2.29.2, or all to pool them [default: the set with the most rows]
    #[arg(long = "set", value_name = "SET")]
    pub(super) set: Option<String>,
}

/// What files don't say.
#[derive(Args, Default)]
#[command(next_help_heading = "Reading")]
pub(super) struct Unsaid {
    /// What ran where a log does not say it: ALGORITHM/PROTOCOL/CHANNELS, or default for the library's own choice
    #[arg(long, value_name = "A/P/C", value_parser = Mapping::configuration)]
    pub(super) configuration: Option<Mapping>,
}

/// What to learn, and how.
#[derive(Args, Default)]
#[command(next_help_heading = "Learning")]
pub(super) struct Learning {
    /// Which model [default: default]
    #[arg(long)]
    preset: Option<Preset>,

    /// Which number of a row is the measurement
    #[arg(long, value_enum, default_value_t)]
    pub(super) target: Target,

    /// Seed of everything random [default: 42]
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,

    /// Trees of the forests [default: 200]
    #[arg(long, value_name = "N", value_parser = trees())]
    trees: Option<u32>,

    /// Stages of boosting [default: 200]
    #[arg(long, value_name = "N", value_parser = trees())]
    stages: Option<u32>,

    /// Depth of a boosted tree [default: 6]
    #[arg(long, value_name = "N", value_parser = depth())]
    depth: Option<u16>,

    /// Learning rate of boosting, above 0 and at most 1 [default: 0.1]
    #[arg(long, value_name = "RATE", value_parser = learning_rate)]
    learning_rate: Option<f64>,

    /// Stop boosting after this many stages without a better error on a held-out tenth; 0 runs all stages [default: 0]
    #[arg(long, value_name = "STAGES")]
    early_stopping: Option<u32>,

    #[command(flatten)]
    deciding: Deciding,
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
    #[arg(long, value_name = "C:NxR:A/P/C", value_parser = set_aside)]
    set_aside: Vec<SetAside>,
}

impl Learning {
    /// The parameters, where `known` are those of a model file.
    pub(super) fn parameters(&self, known: Option<Parameters>) -> Parameters {
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
        match parameters.preset {
            Preset::Seed => say_unused(&["trees"], "the preset seed has stages of boosting (--stages), and no forest"),
            Preset::Default | Preset::Forest | Preset::ExtraTrees => say_unused(
                &["stages", "depth", "learning_rate", "early_stopping"],
                "they are of boosting, which is the preset seed (--preset seed)",
            ),
        }
        parameters
    }
}

fn trees() -> RangedU64ValueParser<u32> {
    RangedU64ValueParser::new().range(1..=Parameters::MAX_TREES.into())
}

fn depth() -> RangedU64ValueParser<u16> {
    RangedU64ValueParser::new().range(1..=Parameters::MAX_DEPTH.into())
}

impl ValueEnum for Preset {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Default, Self::Seed, Self::Forest, Self::ExtraTrees]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            Self::Default => ("default", "the mean of trees and of a kriged surface"),
            Self::Seed => ("seed", "gradient boosting as in rccl-tune-predict"),
            Self::Forest => ("forest", "random forest"),
            Self::ExtraTrees => ("extra-trees", "extra trees"),
        };
        Some(PossibleValue::new(name).help(help))
    }
}

impl ValueEnum for Target {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Time, Self::Printed]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            Self::Time => ("time", "in-place busbw recomputed from the time, which has more digits"),
            Self::Printed => ("printed", "in-place busbw as printed"),
        };
        Some(PossibleValue::new(name).help(help))
    }
}

fn learning_rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| *rate > 0.0 && *rate <= 1.0);
    rate.ok_or_else(|| "a learning rate is above 0 and at most 1".to_owned())
}

pub(super) fn level(text: &str) -> Result<f64, String> {
    let level = text.parse::<f64>().ok().filter(|level| (50.0..=99.0).contains(level));
    level.map(|level| level / 100.0).ok_or_else(|| "a level is 50 to 99 per cent".to_owned())
}

pub(super) fn minimum_gain(text: &str) -> Result<f64, String> {
    let gain = text.parse::<f64>().ok().filter(|gain| (0.0..=1000.0).contains(gain));
    gain.ok_or_else(|| "the smallest gain is 0 or more, in per cent".to_owned())
}

fn set_aside(text: &str) -> Result<SetAside, String> {
    SetAside::parse(text).ok_or_else(|| "write it like all_reduce:2x16:RING/LL/8".to_owned())
}

/// Where a tuner file is deployed, and who reads it.
#[derive(Args, Clone, Copy)]
pub(super) struct Deployment {
    /// The library whose rules say what can run
    #[arg(long, value_enum, default_value_t)]
    pub(super) library: Library,
}

/// What is known of the machine.
#[derive(Args, Clone, Copy)]
pub(super) struct Machine {
    /// The library's version, which decides what can run: 2.27 [default: as the sweep says, else any]
    #[arg(long, value_name = "VERSION")]
    pub(super) library_version: Option<Version>,

    /// The GPU, which decides what can run: sm_90, h100, gfx950, mi300x … [default: any]
    #[arg(long, value_name = "GPU")]
    pub(super) gpu: Option<Gpu>,
}

impl Machine {
    /// With a library, on this machine.
    pub(super) fn of(self, library: Library) -> Platform {
        Platform { version: self.library_version, gpu: self.gpu, ..library.into() }
    }

    /// With the library that was given, or is that of the GPU, or else that of `told`, what measurements say of theirs.
    pub(super) fn with(self, library: Option<Library>, told: Option<Platform>) -> Platform {
        let of_gpu = self.gpu.map(|gpu| if matches!(gpu, Gpu::Sm(_)) { Library::Nccl } else { Library::Rccl });
        let library = library.or(of_gpu).or(told.map(|told| told.library)).unwrap_or_default();
        let told = told.filter(|told| told.library == library).and_then(|told| told.version);
        Platform { version: self.library_version.or(told), ..self.of(library) }
    }
}

impl ValueEnum for Library {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Rccl, Self::Nccl]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Rccl => PossibleValue::new("rccl").help("RCCL on MI300 and MI355"),
            Self::Nccl => PossibleValue::new("nccl").help("NCCL"),
        })
    }
}

impl ValueEnum for Reader {
    fn value_variants<'a>() -> &'a [Self] {
        Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self {
            Self::Example => "the example plugin of NVIDIA/nccl",
            Self::DnTuner => "the RCCL plugin of rccl-sweep's authors",
            Self::Rccl => "RCCL's built-in CSV tuner, from ROCm 7.13",
            Self::Collectune => "libnccl-tuner-collectune.so, Collectune's own plugin for NCCL and RCCL",
        };
        Some(PossibleValue::new(self.key()).help(help))
    }
}

/// A share to hold out; 0 holds out nothing.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..1.0).contains(share));
    share.ok_or_else(|| "a share is at least 0 and below 1".to_owned())
}

pub(super) fn size(text: &str) -> Result<u64, String> {
    match sizes::parse_sizes(text).map_err(|error| error.to_string())?[..] {
        [size] => Ok(size),
        _ => Err("this is more than one size; give several with --sizes".to_owned()),
    }
}

/// Several sizes in one argument.
#[derive(Clone)]
pub(super) struct Sizes(pub(super) Vec<u64>);

pub(super) fn sizes(text: &str) -> Result<Sizes, String> {
    sizes::parse_sizes(text).map(Sizes).map_err(|error| error.to_string())
}

pub(super) fn collective(text: &str) -> Result<Collective, String> {
    Collective::parse(text).ok_or_else(|| one_of(Collective::ALL))
}

pub(super) fn algorithm(text: &str) -> Result<Algorithm, String> {
    Algorithm::parse(text).ok_or_else(|| one_of(Algorithm::ALL))
}

pub(super) fn protocol(text: &str) -> Result<Protocol, String> {
    Protocol::parse(text).ok_or_else(|| one_of(Protocol::ALL))
}

fn one_of(names: &[impl ToString]) -> String {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    format!("it must be one of {}", names.join(", "))
}
