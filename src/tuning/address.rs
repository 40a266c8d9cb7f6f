//! The view of the page as the fragment of its URL: `#v=1&w=tuning&c=all_reduce&n=2&r=16&s=16777216`.
//!
//! `v` version, `w` workbench, `c` collective, `n` nodes, `r` ranks, `s` size in bytes, `m` the set of measurements
//! (its key, or `all`), `x=1` the example is open, `p` the panel. The other keys are choices of the panels and the
//! parameters of training, named by the fields of `settings`. A fragment holds no data: where the sweep is not loaded,
//! the page names what to drop.

use std::fmt;

use crate::{
    collective::{Collective, Scale, Workload},
    form::{Choices, restored, value},
    tuning::{
        heat_map::Against,
        result::{Group, Recommendation},
        sets::{SetChoice, Sets},
    },
    units::Size,
};

/// A view of the tuning workbench.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// The collective operation.
    pub collective: Option<Collective>,
    /// The number of nodes and ranks.
    pub scale: Option<Scale>,
    /// The size in bytes, measured or not.
    pub size_bytes: Option<u64>,
    /// The set of measurements, if there are several.
    pub set: SetChoice,
    /// The example is what is open.
    pub example: bool,
}

/// A panel of the workbench, which has a tab of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Panel {
    /// The recommendations for the measured workloads.
    #[default]
    Answer,
    /// The loss of each configuration at each size.
    HeatMap,
    /// The model: how it is learnt, how far to trust it, and what it goes by.
    Model,
    /// How noisy the measurements are, and what was set aside.
    Noise,
    /// Tuner files: written, checked, laid over the sweep.
    TunerFiles,
    /// The coverage of the calls that a job makes.
    Coverage,
    /// The plan of the next launches.
    Plan,
    /// Comparisons of a tuner file with the library's default, from runs with it and without it.
    Ab,
    /// Two measured states, before and after.
    Compare,
    /// What NCCL chooses by its own cost model; it needs no file.
    CostModel,
    /// What each launch of a campaign brought.
    Campaign,
    /// Tables of other programs, which are only shown.
    Tables,
}

impl Panel {
    /// All of them, in their order on the page.
    pub const ALL: &[Self] = &[
        Self::Answer,
        Self::HeatMap,
        Self::Model,
        Self::Noise,
        Self::TunerFiles,
        Self::Coverage,
        Self::Plan,
        Self::Ab,
        Self::Compare,
        Self::CostModel,
        Self::Campaign,
        Self::Tables,
    ];

    /// The name on its tab.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Answer => "Answer",
            Self::HeatMap => "Heat map",
            Self::Model => "Model",
            Self::Noise => "Noise",
            Self::TunerFiles => "Tuner files",
            Self::Coverage => "Coverage",
            Self::Plan => "Measure next",
            Self::Ab => "A/B",
            Self::Compare => "Compare",
            Self::CostModel => "Cost model",
            Self::Campaign => "Campaign",
            Self::Tables => "Tables",
        }
    }

    /// The value of `p` in a fragment.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::HeatMap => "heat-map",
            Self::Model => "model",
            Self::Noise => "noise",
            Self::TunerFiles => "tuner-files",
            Self::Coverage => "coverage",
            Self::Plan => "plan",
            Self::Ab => "ab",
            Self::Compare => "compare",
            Self::CostModel => "cost-model",
            Self::Campaign => "campaign",
            Self::Tables => "tables",
        }
    }

    /// The panel that a fragment names; the answer where it names none.
    ///
    /// ```
    /// use collectune::tuning::address::Panel;
    /// assert_eq!(Panel::of("#v=1&w=tuning&p=coverage"), Panel::Coverage);
    /// assert_eq!(Panel::of("#v=1&p=attic"), Panel::Answer);
    /// ```
    pub fn of(fragment: &str) -> Self {
        let fragment = restored(fragment);
        value(&fragment, "p").and_then(Self::of_key).unwrap_or_default()
    }

    /// The panel of which this is the value of `p`.
    fn of_key(key: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|panel| panel.key() == key)
    }

    /// The panel among other choices.
    pub fn of_choices<'a>(get: impl Fn(&str) -> Option<&'a str>) -> Self {
        Self::of(&get("p").map(|panel| format!("p={panel}")).unwrap_or_default())
    }

    /// Whether it shows something before a file is open.
    pub const fn needs_no_file(self) -> bool {
        matches!(self, Self::CostModel)
    }

    /// The part of the fragment that names the panel, such as `&p=plan`; empty for the first panel.
    pub fn suffix(self) -> String {
        if self == Self::Answer { String::new() } else { format!("&p={}", self.key()) }
    }
}

/// A fragment that names no view.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The fragment is of another program or version.
    #[error("The link is of version {0}, which this page doesn't know; open it with a newer Collectune")]
    Version(String),
    /// A workbench that this page doesn't have.
    #[error("The link leads to a workbench that this page doesn't have: {0}")]
    Workbench(String),
    /// A value that can't be.
    #[error("The link can't be read: {key}={value} is not {expected}")]
    Value {
        /// The key in the fragment, such as `s`.
        key: &'static str,
        /// The start of what stands there.
        value: String,
        /// The values that are accepted, in words.
        expected: &'static str,
    },
    /// Longer than any view needs.
    #[error("The link can't be read: it is longer than any that this page makes")]
    TooLong,
}

/// No loaded sweep holds what an address asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotLoaded {
    /// The address that can't be resolved with the loaded measurements.
    pub address: Address,
}

/// The keys that name a workload, a set and whether the example is open.
pub const KEYS: [&str; 6] = ["c", "n", "r", "s", "m", "x"];
const MAX_LENGTH: usize = 1000;
const MAX_CHOICES_LENGTH: usize = 16_000;
/// The workbenches whose addresses hold choices.
const OTHERS: [&str; 4] = ["overlap", "training-time", "topology", "policy"];
const MAX_SIZE: u64 = 1 << 44;
const MAX_RANKS: u32 = 1 << 24;

impl Address {
    /// The address of a workload.
    pub fn of(workload: &Workload, set: SetChoice, example: bool) -> Self {
        Self {
            collective: Some(workload.collective),
            scale: Some(workload.scale),
            size_bytes: Some(workload.size_bytes),
            set,
            example,
        }
    }

    /// Reads a fragment with or without its `#`. An empty one names no view in particular; unknown keys are
    /// passed over, and of a repeated key the last counts.
    ///
    /// ```
    /// use collectune::tuning::address::Address;
    /// let address = Address::parse("#v=1&w=tuning&c=all_reduce&n=2&r=16&s=16777216").unwrap();
    /// assert_eq!(address.fragment(), "#v=1&w=tuning&c=all_reduce&n=2&r=16&s=16777216");
    /// ```
    ///
    /// # Errors
    ///
    /// Where a value can't be one of this version.
    pub fn parse(fragment: &str) -> Result<Self, AddressError> {
        let fragment = restored(fragment);
        let fragment = fragment.strip_prefix('#').unwrap_or(&fragment);
        let (mut address, mut nodes, mut ranks) = (Self::default(), None, None);
        // The other workbenches have choices of their own, under keys of their own.
        let workbench = value(fragment, "w");
        let is_other = workbench.is_some_and(|workbench| OTHERS.contains(&workbench));
        let longest = if workbench.is_some() { MAX_CHOICES_LENGTH } else { MAX_LENGTH };
        if fragment.len() > longest {
            return Err(AddressError::TooLong);
        }
        let of_the_page = |pair: &&str| !is_other || ["v=", "x="].iter().any(|key| pair.starts_with(key));
        for pair in fragment.split('&').filter(|pair| !pair.is_empty()).filter(of_the_page) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            match key {
                "v" if value != "1" => return Err(AddressError::Version(start_of(value))),
                "w" if value != "tuning" => return Err(AddressError::Workbench(start_of(value))),
                "c" => {
                    let wrong = || wrong("c", value, "the name of a collective");
                    address.collective = Some(Collective::parse(value).ok_or_else(wrong)?);
                }
                "n" => nodes = Some(number("n", value, u64::from(MAX_RANKS))? as u32),
                "r" => ranks = Some(number("r", value, u64::from(MAX_RANKS))? as u32),
                "s" => address.size_bytes = Some(number("s", value, MAX_SIZE)?),
                "m" if value == "all" => address.set = SetChoice::Pooled,
                "m" => {
                    let key = u32::from_str_radix(value, 16).ok().filter(|_| value.len() == 8);
                    address.set = SetChoice::One(key.ok_or_else(|| wrong("m", value, "a set of measurements"))?);
                }
                "p" if Panel::of_key(value).is_none() => {
                    return Err(wrong("p", value, "a panel of this page"));
                }
                "x" => address.example = value == "1",
                _ => {}
            }
        }
        address.scale = nodes.zip(ranks).map(|(nodes, ranks)| Scale { nodes, ranks });
        Ok(address)
    }

    /// The address among other choices; a value that can't be is passed over.
    pub fn of_choices<'a>(get: impl Fn(&str) -> Option<&'a str>) -> Self {
        let pairs = KEYS.iter().filter_map(|key| Some(format!("{key}={}", get(key)?)));
        Self::parse(&pairs.collect::<Vec<_>>().join("&")).unwrap_or_default()
    }

    /// A workload as text: `all_reduce, 16 MiB, 2 nodes, 16 ranks`.
    pub fn label(workload: &Workload) -> String {
        Self::of(workload, SetChoice::Largest, false).to_string()
    }

    /// The address as choices: keys and values, which are empty where the address leaves the choice.
    pub fn choices(&self) -> [(&'static str, String); 5] {
        let text = |value: Option<&dyn fmt::Display>| value.map(ToString::to_string).unwrap_or_default();
        let set = match self.set {
            SetChoice::Largest => String::new(),
            SetChoice::One(key) => format!("{key:08x}"),
            SetChoice::Pooled => "all".to_owned(),
        };
        [
            ("c", text(self.collective.as_ref().map(|collective| collective as &dyn fmt::Display))),
            ("n", text(self.scale.as_ref().map(|scale| &scale.nodes as &dyn fmt::Display))),
            ("r", text(self.scale.as_ref().map(|scale| &scale.ranks as &dyn fmt::Display))),
            ("s", text(self.size_bytes.as_ref().map(|size| size as &dyn fmt::Display))),
            ("m", set),
        ]
    }

    /// The fragment, with its `#`.
    pub fn fragment(&self) -> String {
        self.fragment_with(&Choices::default())
    }

    /// The fragment of the address and of all other choices, with its `#`.
    pub fn fragment_with(&self, choices: &Choices) -> String {
        let mut text = String::from("#v=1&w=tuning");
        for (key, value) in self.choices().into_iter().filter(|(_, value)| !value.is_empty()) {
            text.push_str(&format!("&{key}={value}"));
        }
        if self.example {
            text.push_str("&x=1");
        }
        let mut others = choices.clone();
        KEYS.iter().chain(&["p", "h"]).for_each(|key| others.clear(key));
        let (panel, against) = (Panel::of_choices(|key| choices.get(key)), Against::of_choices(|key| choices.get(key)));
        text + &panel.suffix() + against.suffix() + &others.suffix()
    }

    /// Names a particular view, so that other data can't stand in for it.
    pub fn is_particular(&self) -> bool {
        self.collective.is_some() || self.scale.is_some() || self.set != SetChoice::Largest
    }

    /// The workload to show of what is loaded. Where the address leaves the choice: the first collective and
    /// scale, and the size with the largest gain over the default (without a default, the largest size).
    ///
    /// # Errors
    ///
    /// Where nothing that is loaded has its collective and scale, or is its set of measurements.
    pub fn resolve(&self, groups: &[Group], sets: &Sets, answer: &[Recommendation]) -> Result<Workload, NotLoaded> {
        if !sets.has(self.set) {
            return Err(NotLoaded { address: *self });
        }
        let fits = |group: &&Group| {
            self.collective.is_none_or(|c| c == group.collective) && self.scale.is_none_or(|s| s == group.scale)
        };
        let group = groups.iter().find(fits).ok_or(NotLoaded { address: *self })?;
        let of_group =
            |r: &&Recommendation| r.workload.collective == group.collective && r.workload.scale == group.scale;
        let most_gained = answer
            .iter()
            .filter(of_group)
            .filter_map(|r| Some((r.workload.size_bytes, r.gain_pct?)))
            .max_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        let size_bytes = self.size_bytes.or(most_gained.map(|(size, _)| size)).or(group.sizes.last().copied());
        Ok(Workload {
            collective: group.collective,
            scale: group.scale,
            size_bytes: size_bytes.ok_or(NotLoaded { address: *self })?,
        })
    }
}

impl fmt::Display for Address {
    /// For people: `all_reduce, 16 MiB, 2 nodes, 16 ranks`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.collective.map(|c| c.to_string()),
            self.size_bytes.map(|s| Size(s).to_string()),
            self.scale.map(|s| s.to_string()),
            (self.set != SetChoice::Largest).then(|| "one set of several".to_owned()),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        f.pad(if parts.is_empty() { "a sweep".to_owned() } else { parts.join(", ") }.as_str())
    }
}

fn number(key: &'static str, value: &str, largest: u64) -> Result<u64, AddressError> {
    let number = value.parse::<u64>().ok().filter(|n| (1..=largest).contains(n));
    number.ok_or_else(|| wrong(key, value, "a whole number in range"))
}

fn wrong(key: &'static str, value: &str, expected: &'static str) -> AddressError {
    AddressError::Value { key, value: start_of(value), expected }
}

fn start_of(value: &str) -> String {
    value.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn group(collective: Collective, nodes: u32, sizes: &[u64]) -> Group {
        let scale = Scale { nodes, ranks: nodes * 8 };
        Group { collective, scale, sizes: sizes.to_vec(), pairs: Vec::new(), points: sizes.len(), default_sizes: 0 }
    }

    fn answer(group: &Group, gains: &[Option<f64>]) -> Vec<Recommendation> {
        let one = |(size, gain): (&u64, &Option<f64>)| {
            let workload = Workload { collective: group.collective, scale: group.scale, size_bytes: *size };
            Recommendation { gain_pct: *gain, ..Recommendation::unknown(workload) }
        };
        group.sizes.iter().zip(gains).map(one).collect()
    }

    #[test]
    fn an_empty_fragment_names_nothing() {
        assert_eq!(Address::parse(""), Ok(Address::default()));
        assert_eq!(Address::parse("#"), Ok(Address::default()));
        assert!(!Address::default().is_particular());
    }

    #[test]
    fn an_address_may_be_encoded_once_more() {
        let same = |encoded: &str, plain: &str| {
            assert_eq!(Address::parse(encoded), Address::parse(plain), "{encoded}");
            assert_eq!(Panel::of(encoded), Panel::of(plain), "{encoded}");
        };
        same("#v%3D1%26w%3Doverlap", "#v=1&w=overlap");
        same(
            "#v%3d1%26w%3dtuning%26c%3dall_reduce%26n%3d2%26r%3d16%26p%3dplan",
            "#v=1&w=tuning&c=all_reduce&n=2&r=16&p=plan",
        );
        assert_eq!(Panel::of("#v%3D1%26p%3Dplan"), Panel::Plan);
        assert!(Address::parse("#v%3D2").is_err());
    }

    #[test]
    fn hostile_values_are_refused_in_words() {
        for fragment in [
            "#v=2",
            "#w=<b>",
            "#p=attic",
            "#c=everything",
            "#n=0&r=1",
            "#s=-1",
            "#s=99999999999999999999",
            "#r=4294967296",
        ] {
            let error = Address::parse(fragment).unwrap_err().to_string();
            assert!(error.starts_with("The link"), "{fragment}: {error}");
        }
        assert_eq!(Address::parse(&"a".repeat(5000)), Err(AddressError::TooLong));
        assert_eq!(Address::parse("#toString&&&=&x"), Ok(Address::default()));
    }

    #[test]
    fn what_is_not_said_is_chosen() {
        let groups =
            [group(Collective::AllReduce, 1, &[4096, 8192]), group(Collective::Broadcast, 2, &[1024, 2048, 4096])];
        let answers =
            [answer(&groups[0], &[None, None]), answer(&groups[1], &[Some(1.0), Some(30.0), Some(-2.0)])].concat();
        let first = Address::default().resolve(&groups, &Sets::default(), &answers).unwrap();
        assert_eq!((first.collective, first.size_bytes), (Collective::AllReduce, 8192));
        let second = Address::parse("#c=broadcast").unwrap().resolve(&groups, &Sets::default(), &answers).unwrap();
        assert_eq!(second.size_bytes, 2048);
        let unmeasured = Address::parse("#c=broadcast&n=2&r=16&s=3000")
            .unwrap()
            .resolve(&groups, &Sets::default(), &answers)
            .unwrap();
        assert_eq!(unmeasured.size_bytes, 3000);
    }

    #[test]
    fn other_data_never_stands_in() {
        let groups = [group(Collective::AllReduce, 1, &[4096])];
        let absent = Address::parse("#v=1&w=tuning&c=all_reduce&n=2&r=16&s=16777216").unwrap();
        assert_eq!(absent.resolve(&groups, &Sets::default(), &[]), Err(NotLoaded { address: absent }));
        assert_eq!(absent.to_string(), "all_reduce, 16 MiB, 2 nodes, 16 ranks");
        assert!(Address::default().resolve(&[], &Sets::default(), &[]).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,200}") {
            let _ = Address::parse(&text);
        }

        #[test]
        fn what_is_written_reads_back(
            collective in proptest::option::of(proptest::sample::select(Collective::ALL)),
            scale in proptest::option::of((1..=MAX_RANKS, 1..=MAX_RANKS)),
            size_bytes in proptest::option::of(1..=MAX_SIZE),
            set in proptest::option::of(any::<u32>()),
            pooled: bool,
            example: bool,
        ) {
            let set = set.map_or(if pooled { SetChoice::Pooled } else { SetChoice::Largest }, SetChoice::One);
            let scale = scale.map(|(nodes, ranks)| Scale { nodes, ranks });
            let address = Address { collective, scale, size_bytes, set, example };
            prop_assert_eq!(Address::parse(&address.fragment()), Ok(address));
        }
    }
}
