//! Where measurements come from: what a row was measured with besides its collective, nodes and ranks.
//!
//! Conclusions never transfer between library builds, data types and sets of nodes. Every row carries the number of its
//! origin; [`super::sets`] keeps apart what differs in it.

use std::{collections::BTreeMap, fmt};

use crate::{
    collective::{Collective, Scale},
    conf::machine::Gpu,
    math::hash,
    order::CompactSort,
};

/// In what measurements of one collective and scale can differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aspect {
    /// The library's version: `NCCL 2.29.2`.
    Library,
    /// The data type, such as `float`.
    DataType,
    /// The reduction operation, such as `sum`.
    Operation,
    /// The root of a collective that has one, such as `root 5`.
    Root,
    /// How operations were launched: one by one, several at once, or as a CUDA graph; in blocking mode, on unaligned
    /// buffers, beside other groups of ranks.
    Launches,
    /// The nodes that took part.
    Nodes,
    /// The GPU, such as `H100`.
    Gpu,
    /// Environment variables that change what links and buffers carry, such as `NCCL_P2P_DISABLE=1`.
    Environment,
}

impl Aspect {
    /// All of them, in the order of [`Origin::values`].
    pub const ALL: [Self; 8] = [
        Self::Library,
        Self::DataType,
        Self::Operation,
        Self::Root,
        Self::Launches,
        Self::Nodes,
        Self::Gpu,
        Self::Environment,
    ];

    /// What differs, in words, such as `the library's version`.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Library => "the library's version",
            Self::DataType => "the data type",
            Self::Operation => "the operation",
            Self::Root => "the root",
            Self::Launches => "CUDA graphs, aggregation, blocking mode, registered buffers or groups",
            Self::Nodes => "the nodes",
            Self::Gpu => "the GPU",
            Self::Environment => "environment variables of transports and buffers",
        }
    }
}

/// The origin of a row: library version, data type, operation, root, launches, nodes, GPU and environment; `None` for
/// what the file does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    values: [Option<String>; Aspect::ALL.len()],
    /// With which options nccl-tests timed the operations. Rows that differ in them are compared, and that is said.
    timing: Option<Timing>,
}

/// The options of nccl-tests that say how operations are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timing {
    /// Operations before those that are timed (`-w`).
    pub warm_ups: u32,
    /// Operations that are timed together (`-n`).
    pub iterations: u32,
    /// GPUs of a thread (`-g`).
    pub gpus: u32,
}

/// With what the words of a [`Timing`] begin.
const TIMING: &str = "nccl-tests -w ";

impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{TIMING}{} -n {} -g {}", self.warm_ups, self.iterations, self.gpus)
    }
}

/// Whether a value of what was measured with is a [`Timing`].
pub fn is_timing(value: &str) -> bool {
    value.starts_with(TIMING)
}

/// The meaning of the options of a [`Timing`].
pub const TIMING_OPTIONS: &str = "-w: operations before those that are timed, -n: timed ones, -g: GPUs of a thread";

/// What each collective and scale was measured with, such as library version and data type, as texts.
pub type MeasuredWith = BTreeMap<(Collective, Scale), Vec<String>>;

/// The longest version, data type or operation that is kept.
const MAX_LENGTH: usize = 40;

/// The longest value of an aspect that is kept.
const MAX_VALUE_LENGTH: usize = 160;

/// The value of [`Aspect::Environment`] where none of [`TRANSPORT_VARIABLES`] is set.
const DEFAULT_ENVIRONMENT: &str = "default environment";

/// Environment variables with which the same algorithm, protocol and channels take another time. Those that only allow
/// an algorithm, such as `NCCL_NVLS_ENABLE`, are set for the runs of it, and are none of them: with them a run is not
/// one of the default.
pub const TRANSPORT_VARIABLES: [&str; 24] = [
    "NCCL_BUFFSIZE",
    "NCCL_CROSS_NIC",
    "NCCL_IB_ADAPTIVE_ROUTING",
    "NCCL_IB_DISABLE",
    "NCCL_IB_HCA",
    "NCCL_IB_QPS_PER_CONNECTION",
    "NCCL_IB_SL",
    "NCCL_IB_SPLIT_DATA_ON_QPS",
    "NCCL_IB_TC",
    "NCCL_LL128_BUFFSIZE",
    "NCCL_LL_BUFFSIZE",
    "NCCL_MNNVL_ENABLE",
    "NCCL_NET",
    "NCCL_NET_GDR_LEVEL",
    "NCCL_NET_GDR_READ",
    "NCCL_NET_PLUGIN",
    "NCCL_NSOCKS_PERTHREAD",
    "NCCL_NTHREADS",
    "NCCL_P2P_DISABLE",
    "NCCL_P2P_LEVEL",
    "NCCL_PXN_DISABLE",
    "NCCL_SHM_DISABLE",
    "NCCL_SOCKET_NTHREADS",
    "NCCL_WORK_FIFO_BYTES",
];

/// How nccl-tests launched the operations; `None` for what a log does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launches {
    /// Launches of a CUDA graph, option `-G`.
    pub graph: Option<u64>,
    /// Operations that are launched at once, option `-m`.
    pub aggregated: Option<u64>,
    /// The blocking mode, option `-z`; 0 for none.
    pub blocking: u64,
    /// The index of the first element in its buffer, option `-u`.
    pub unaligned: u64,
    /// How buffers are registered, option `-R`: 1 locally, 2 symmetrically; 0 not.
    pub registered: u64,
    /// Groups of ranks that measured at the same time beside this one (`NCCL_TESTS_SPLIT_MASK`).
    pub other_groups: u64,
}

impl Launches {
    /// How buffers are registered, by the words of a command: `-R 2`, `-R2`, `--local_register=2`.
    pub fn registration<'a>(words: impl IntoIterator<Item = &'a str>) -> u64 {
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let value = match word.strip_prefix("-R").or_else(|| word.strip_prefix("--local_register")) {
                Some("") => words.next().unwrap_or_default(),
                Some(value) => value.trim_start_matches('='),
                None => continue,
            };
            return value.parse().unwrap_or(0);
        }
        0
    }
}

impl Origin {
    /// The values in the order of [`Aspect::ALL`]; `None` for what the file does not say. Nodes are a number that
    /// stands for the set of their names: names never leave the reader.
    pub fn values(&self) -> &[Option<String>; Aspect::ALL.len()] {
        &self.values
    }

    /// How the operations were timed; `None` where the file does not say all of it.
    pub fn timing(&self) -> Option<Timing> {
        self.timing
    }

    /// Says how the operations were timed.
    pub fn timed(&mut self, timing: Option<Timing>) {
        self.timing = timing;
    }

    /// The version of a library, of which only what versions are made of is kept; `family` is `NCCL`, `RCCL` or
    /// nothing.
    pub fn library(&mut self, family: &str, text: &str) {
        let is_part = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-' | ':');
        let version: String = text.trim().chars().take_while(is_part).take(MAX_LENGTH).collect();
        let words: Vec<&str> = [family, &version].into_iter().filter(|word| !word.is_empty()).collect();
        self.values[Aspect::Library as usize] = (!version.is_empty()).then(|| words.join(" "));
    }

    /// Data type and operation; `none` is no operation.
    pub fn measured_type(&mut self, datatype: &str, redop: &str) {
        let is_part = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        let word = |text: &str| {
            let word: String = text.trim().chars().take_while(is_part).take(MAX_LENGTH).collect();
            let word = word.to_ascii_lowercase();
            (!matches!(word.as_str(), "" | "none" | "nan" | "null")).then_some(word)
        };
        self.values[Aspect::DataType as usize] = word(datatype);
        self.values[Aspect::Operation as usize] = word(redop);
    }

    /// The rank from which a collective starts, or to which it goes; `None` where it has none.
    pub fn root(&mut self, rank: Option<u32>) {
        self.values[Aspect::Root as usize] = rank.map(|rank| format!("root {rank}"));
    }

    /// How nccl-tests launched the operations.
    pub fn launches(&mut self, of: &Launches) {
        let others = [
            (of.blocking > 0).then(|| format!(", blocking mode {}", of.blocking)),
            (of.unaligned > 0).then(|| format!(", unaligned by {}", of.unaligned)),
            (of.registered > 0).then(|| format!(", registered buffers {}", of.registered)),
            (of.other_groups > 0).then(|| format!(", beside other groups: {}", of.other_groups)),
        ];
        let others: String = others.into_iter().flatten().collect();
        let how = match (of.graph, of.aggregated) {
            (None, None) if others.is_empty() => None,
            (Some(1..), Some(of @ 2..)) => Some(format!("CUDA graph of {of} operations")),
            (Some(1..), _) => Some("CUDA graph".to_owned()),
            (_, Some(of @ 2..)) => Some(format!("{of} operations at once")),
            _ => Some("launched one by one".to_owned()),
        };
        self.values[Aspect::Launches as usize] = how.map(|how| how + &others);
    }

    /// The nodes, by [`number_of`] each name, ascending and each once; none: they are not known.
    pub fn nodes(&mut self, numbers: impl IntoIterator<Item = u64>) {
        let bytes: Vec<u8> = numbers.into_iter().flat_map(u64::to_le_bytes).collect();
        self.values[Aspect::Nodes as usize] = (!bytes.is_empty()).then(|| format!("{:016x}", hash(&bytes)));
    }

    /// The short names of the GPUs, as [`Gpu::of_device`] gives them; none: they are not known.
    pub fn gpus(&mut self, names: &[&str]) {
        let mut names: Vec<&str> = names.to_vec();
        names.compact_sort();
        self.values[Aspect::Gpu as usize] = (!names.is_empty()).then(|| names.join("+").to_ascii_uppercase());
    }

    /// Those of [`TRANSPORT_VARIABLES`] that are set, ascending by name; `None` where that is not known.
    pub fn environment(&mut self, set: Option<&[(&str, &str)]>) {
        // Paths and names of hosts never leave the reader.
        let is_word = |value: &str| value.len() <= 12 && value.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        let assigned = |(name, value): &(&str, &str)| match is_word(value) {
            true => format!("{name}={value}"),
            false => format!("{name}=#{:08x}", number_of(value) as u32),
        };
        let value = set.map(|set| match set {
            [] => DEFAULT_ENVIRONMENT.to_owned(),
            // A blank would begin another spelling of a value.
            _ => set.iter().map(assigned).collect::<Vec<_>>().join(",").chars().take(MAX_VALUE_LENGTH).collect(),
        });
        self.values[Aspect::Environment as usize] = value;
    }
}

const TYPES: [&str; 17] = [
    "int8", "char", "uint8", "int32", "int", "uint32", "int64", "uint64", "half", "float16", "float", "float32",
    "double", "float64", "bfloat16", "f8e4m3", "f8e5m2",
];
const OPERATIONS: [&str; 6] = ["sum", "prod", "max", "min", "avg", "mulsum"];

/// Which aspect a value of an origin is of, by its form; `None` for one that can't be told.
pub fn aspect_of(value: &str) -> Option<Aspect> {
    if TYPES.contains(&value) {
        Some(Aspect::DataType)
    } else if OPERATIONS.contains(&value) {
        Some(Aspect::Operation)
    } else if value.starts_with("root ") {
        Some(Aspect::Root)
    } else if ["CUDA graph", "operations at once", "launched one by one"].iter().any(|word| value.contains(word)) {
        Some(Aspect::Launches)
    } else if value == DEFAULT_ENVIRONMENT || value.starts_with("NCCL_") {
        Some(Aspect::Environment)
    } else if value.split('+').all(|name| name.parse::<Gpu>().is_ok()) {
        Some(Aspect::Gpu)
    } else {
        ["NCCL", "RCCL"].iter().any(|family| value.starts_with(family)).then_some(Aspect::Library)
    }
}

impl Origin {
    /// The origin of which these are the values; of an aspect of which several values are given, none counts.
    pub fn of_values(values: &[String]) -> Self {
        let mut origin = Self::default();
        for aspect in Aspect::ALL {
            let mut own = values.iter().filter(|value| aspect_of(value) == Some(aspect));
            let only = own.next().filter(|_| own.next().is_none());
            origin.values[aspect as usize] = only.map(|value| value.chars().take(MAX_VALUE_LENGTH).collect());
        }
        origin
    }
}

/// The arguments of nccl-tests that measure as these values of origins say, each after a blank; empty for what it does
/// without arguments, and where the values say different things.
pub fn arguments(values: &[String]) -> String {
    let origin = Origin::of_values(values);
    let value = |aspect: Aspect| origin.values[aspect as usize].as_deref();
    let mut arguments = String::new();
    if let Some(datatype) = value(Aspect::DataType).filter(|datatype| !matches!(*datatype, "float" | "float32")) {
        arguments += &format!(" -d {datatype}");
    }
    if let Some(operation) = value(Aspect::Operation).filter(|operation| *operation != "sum") {
        arguments += &format!(" -o {operation}");
    }
    let root = value(Aspect::Root).and_then(|root| root.strip_prefix("root "));
    if let Some(rank) = root.filter(|rank| *rank != "0") {
        arguments += &format!(" -r {rank}");
    }
    if let Some(value) = value(Aspect::Launches) {
        let (how, others) = value.split_once(", ").unwrap_or((value, ""));
        arguments += if how.contains("CUDA graph") { " -G 1" } else { "" };
        let together = how.split(' ').find(|word| word.parse::<u64>().is_ok());
        arguments.extend(together.map(|count| format!(" -m {count}")));
        for (words, option) in [("blocking mode ", "-z"), ("unaligned by ", "-u"), ("registered buffers ", "-R")] {
            let number = others.split(", ").find_map(|other| other.strip_prefix(words));
            arguments.extend(number.map(|number| format!(" {option} {number}")));
        }
    }
    arguments
}

/// A number that stands for a name.
pub fn number_of(name: &str) -> u64 {
    hash(name.as_bytes())
}

/// The origins of rows, each once. The first says nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origins {
    all: Vec<Origin>,
    /// The number of each origin.
    numbers: BTreeMap<Origin, u16>,
}

impl Default for Origins {
    fn default() -> Self {
        Self { all: vec![Origin::default()], numbers: BTreeMap::from([(Origin::default(), 0)]) }
    }
}

impl Origins {
    /// The most different origins of one file.
    pub const MAX_OF_A_FILE: usize = 1000;

    /// The number of an origin; `None` where there are already as many others as can be told apart.
    pub fn number(&mut self, origin: &Origin, most: usize) -> Option<u16> {
        if let Some(number) = self.numbers.get(origin) {
            return Some(*number).filter(|number| usize::from(*number) < most);
        }
        let number = u16::try_from(self.all.len()).ok().filter(|_| self.all.len() < most)?;
        self.all.push(origin.clone());
        self.numbers.insert(origin.clone(), number);
        Some(number)
    }

    /// The origin of a number.
    pub fn get(&self, number: u16) -> &Origin {
        // The first is always there, and a number that nobody gave says nothing.
        self.all.get(usize::from(number)).unwrap_or(&self.all[0])
    }

    /// Takes the origins of another file over, and says which number each has here; `None` where there are too many.
    pub fn take(&mut self, other: &Self) -> Vec<Option<u16>> {
        other.all.iter().map(|origin| self.number(origin, usize::from(u16::MAX))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_fields_own_words_are_kept() {
        let mut origin = Origin::default();
        origin.library("NCCL", "2.28.3+cuda12.9 /home/x");
        origin.measured_type("Float", "none");
        origin.nodes([number_of("a"), number_of("b")]);
        origin.gpus(&["h200", "h100"]);
        let [library, datatype, redop, root, launches, nodes, gpu, _] = origin.values();
        assert_eq!(gpu.as_deref(), Some("H100+H200"));
        assert_eq!(library.as_deref(), Some("NCCL 2.28.3+cuda12.9"));
        assert_eq!((datatype.as_deref(), redop), (Some("float"), &None));
        assert!(nodes.as_ref().is_some_and(|nodes| nodes.len() == 16) && launches.is_none() && root.is_none());
        origin.library("RCCL", " ");
        origin.nodes([]);
        assert_eq!((&origin.values()[0], &origin.values()[5]), (&None, &None));
    }

    #[test]
    fn variables_of_transports_are_one_value() {
        let of = |set: Option<&[(&str, &str)]>| {
            let mut origin = Origin::default();
            origin.environment(set);
            origin.values()[Aspect::Environment as usize].clone()
        };
        assert_eq!(of(None), None);
        assert_eq!(of(Some(&[])).as_deref(), Some("default environment"));
        let two = of(Some(&[("NCCL_IB_DISABLE", "1"), ("NCCL_NET_GDR_LEVEL", "PHB")]));
        assert_eq!(two.as_deref(), Some("NCCL_IB_DISABLE=1,NCCL_NET_GDR_LEVEL=PHB"));
        let path = of(Some(&[("NCCL_NET_PLUGIN", "/home/secret/libnet.so")])).unwrap();
        assert!(path.starts_with("NCCL_NET_PLUGIN=#") && !path.contains("secret"), "{path}");
        assert!(
            [two.as_deref(), Some("default environment")]
                .iter()
                .flatten()
                .all(|value| { aspect_of(value) == Some(Aspect::Environment) })
        );
        assert!(TRANSPORT_VARIABLES.is_sorted());
    }

    #[test]
    fn graphs_and_aggregation_are_other_ways_to_launch() {
        let of = |graph: Option<u64>, aggregated: Option<u64>| {
            let mut origin = Origin::default();
            origin.launches(&Launches { graph, aggregated, ..Launches::default() });
            origin.values()[Aspect::Launches as usize].clone()
        };
        assert_eq!(of(None, None), None);
        assert_eq!(of(Some(0), Some(1)).as_deref(), Some("launched one by one"));
        assert_eq!(of(None, Some(1)), of(Some(0), None));
        assert_eq!(of(Some(1), Some(1)).as_deref(), Some("CUDA graph"));
        assert_eq!(of(Some(4), Some(16)).as_deref(), Some("CUDA graph of 16 operations"));
        assert_eq!(of(Some(0), Some(16)).as_deref(), Some("16 operations at once"));
    }

    #[test]
    fn nccl_tests_measures_by_them_again() {
        let of = |values: &[&str]| arguments(&values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["NCCL 2.27.5", "float", "launched one by one", "sum", "root 0"]), "");
        assert_eq!(of(&["CUDA graph of 16 operations", "bfloat16", "max"]), " -d bfloat16 -o max -G 1 -m 16");
        assert_eq!(of(&["16 operations at once", "half", "root 5"]), " -d half -r 5 -m 16");
        assert_eq!(of(&["float", "half", "CUDA graph"]), " -G 1");
        let registered = Launches::registration("./all_reduce_perf -b 8 -R 2 -g 1".split(' '));
        assert_eq!([registered, Launches::registration(["-R1"]), Launches::registration(["-r", "2"])], [2, 1, 0]);
        let all =
            Launches { graph: Some(0), aggregated: Some(8), blocking: 2, unaligned: 4, registered, other_groups: 7 };
        let mut origin = Origin::default();
        origin.launches(&all);
        let value = origin.values()[Aspect::Launches as usize].as_deref().unwrap();
        assert_eq!(
            value,
            "8 operations at once, blocking mode 2, unaligned by 4, registered buffers 2, beside other groups: 7"
        );
        assert_eq!((aspect_of(value), of(&[value]).as_str()), (Some(Aspect::Launches), " -m 8 -z 2 -u 4 -R 2"));
    }

    #[test]
    fn origins_stand_once() {
        let of = |version: &str| {
            let mut origin = Origin::default();
            origin.library("", version);
            origin
        };
        let mut origins = Origins::default();
        assert_eq!(origins.number(&Origin::default(), 2), Some(0));
        assert_eq!(origins.number(&of("2.1"), 2), Some(1));
        assert_eq!((origins.number(&of("2.2"), 2), origins.number(&of("2.1"), 2)), (None, Some(1)));
        let mut all = Origins::default();
        all.number(&of("2.0"), 9);
        assert_eq!(all.take(&origins), [Some(0), Some(2)]);
        assert_eq!(all.get(2), &of("2.1"));
        assert_eq!(all.get(900), &Origin::default());
    }
}
