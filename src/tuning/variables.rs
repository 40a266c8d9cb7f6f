//! Environment variables of a job that the library ignores, limits, or takes otherwise than they are written.
//!
//! They are read from a list of `NAME=value`, or from a log that says `NAME set by environment to value`. The limits
//! are those of NVIDIA/nccl (v2.30.7-1: src/init.cc, src/graph/connect.cc, src/graph/tuning.cc, src/transport/p2p.cc)
//! and of ROCm/rocm-systems, projects/rccl.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    conf::Severity,
    log::assignments,
    platform::{Library, Platform, Version},
};
use crate::{
    collective::{Algorithm, Protocol},
    conf::built_in::Table,
    order::CompactSort,
};

/// A finding on a variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariableFinding {
    /// The line in which it is set, from 1.
    pub line: u32,
    /// The name of the variable, as the text has it.
    pub name: String,
    /// Whether something else holds than what stands there, nothing, or what it says.
    pub severity: Severity,
    /// A sentence that says what holds and why, and what to set instead.
    pub message: String,
    /// The value that holds instead; `None` where it depends on what isn't known, or there is none.
    pub effective: Option<String>,
}

/// Names that no version of the library reads, and those that people who write them mean.
const MISSPELT: [(&str, &str); 19] = [
    ("NCCL_ALGORITHM", "NCCL_ALGO"),
    ("NCCL_ALGOS", "NCCL_ALGO"),
    ("NCCL_PROTOCOL", "NCCL_PROTO"),
    ("NCCL_PROTOS", "NCCL_PROTO"),
    ("NCCL_MIN_CHANNELS", "NCCL_MIN_NCHANNELS"),
    ("NCCL_MAX_CHANNELS", "NCCL_MAX_NCHANNELS"),
    ("NCCL_NCHANNELS", "NCCL_MIN_NCHANNELS, with NCCL_MAX_NCHANNELS"),
    ("NCCL_NUM_CHANNELS", "NCCL_MIN_NCHANNELS, with NCCL_MAX_NCHANNELS"),
    ("NCCL_THREADS", "NCCL_NTHREADS"),
    ("NCCL_NUM_THREADS", "NCCL_NTHREADS"),
    ("NCCL_BUFFER_SIZE", "NCCL_BUFFSIZE"),
    ("NCCL_BUFFERSIZE", "NCCL_BUFFSIZE"),
    ("NCCL_BUFF_SIZE", "NCCL_BUFFSIZE"),
    ("NCCL_MIN_CTA", "NCCL_MIN_CTAS"),
    ("NCCL_MAX_CTA", "NCCL_MAX_CTAS"),
    ("NCCL_TUNER", "NCCL_TUNER_PLUGIN"),
    ("NCCL_TUNER_CONFIG", "NCCL_TUNER_CONFIG_FILE"),
    ("NCCL_NVLS_DISABLE", "NCCL_NVLS_ENABLE, which 0 turns off"),
    ("NCCL_DEBUG_SUBSYSTEM", "NCCL_DEBUG_SUBSYS"),
];

/// The variables of a job, each as it was set last.
struct Variables {
    set: BTreeMap<String, (u32, String)>,
    platform: Platform,
    found: Vec<VariableFinding>,
}

/// The findings on the variables that a text sets, by ascending line. The last value of a variable counts.
///
/// ```
/// use collectune::tuning::{platform::Library, variables::findings};
/// let found = findings("NCCL_MIN_NCHANNELS=32 NCCL_MAX_NCHANNELS=16", Library::Nccl);
/// assert_eq!(found[0].effective.as_deref(), Some("32"));
/// ```
pub fn findings(text: &str, platform: impl Into<Platform>) -> Vec<VariableFinding> {
    let mut variables = Variables { set: BTreeMap::new(), platform: platform.into(), found: Vec::new() };
    for (line, text) in (1..).zip(text.lines()) {
        for (name, value) in assignments(text) {
            variables.set.insert(name.to_owned(), (line, value.to_owned()));
        }
    }
    variables.channels();
    variables.ctas();
    variables.point_to_point();
    variables.threads();
    variables.names();
    variables.tuner();
    for (name, parse) in [
        ("NCCL_ALGO", (|word| Algorithm::parse(word).is_some()) as fn(&str) -> bool),
        ("NCCL_PROTO", |word| Protocol::parse(word).is_some()),
    ] {
        variables.list(name, parse);
    }
    variables.found.compact_sort_by_key(|finding| finding.line);
    variables.found
}

impl Variables {
    fn text(&self, name: &str) -> Option<&str> {
        self.set.get(name).map(|(_, value)| value.as_str())
    }

    fn number(&self, name: &str) -> Option<i64> {
        self.text(name)?.parse().ok()
    }

    fn push(&mut self, name: &str, severity: Severity, effective: Option<String>, message: String) {
        let line = self.set.get(name).map_or(1, |(line, _)| *line);
        self.found.push(VariableFinding { line, name: name.to_owned(), severity, message, effective });
    }

    /// The version is known, and is this one or newer.
    fn is_from(&self, major: u32, minor: u32) -> Option<bool> {
        self.platform.version.map(|version| version.is_from(Version::new(major, minor)))
    }

    /// Numbers of channels of collectives.
    fn channels(&mut self) {
        for (name, older) in [("NCCL_MIN_NCHANNELS", "NCCL_MIN_NRINGS"), ("NCCL_MAX_NCHANNELS", "NCCL_MAX_NRINGS")] {
            if let (Some(value), true) = (self.text(name).map(str::to_owned), self.set.contains_key(older)) {
                let message = format!("{name} overrides the older {older}: {value} holds; unset {older}");
                self.push(older, Severity::Changes, Some(value), message);
            }
        }
        let [least, most] = [("NCCL_MIN_NCHANNELS", "NCCL_MIN_NRINGS"), ("NCCL_MAX_NCHANNELS", "NCCL_MAX_NRINGS")]
            .map(|(name, older)| if self.set.contains_key(name) { name } else { older });
        let (min, max) = (self.number(least), self.number(most));
        let mut holds = min;
        if let Some(max) = max.filter(|max| *max < 1) {
            let message = format!("{most}={max}: a number below 1 becomes 1; set at least 1");
            self.push(most, Severity::Changes, Some("1".to_owned()), message);
        }
        let Some(min) = min else { return };
        if self.platform.library == Library::Rccl {
            if min > 64 {
                let message = format!(
                    "{least}={min}: RCCL takes at most 64 on several nodes, and ignores more than 64 below 8 ranks, where \
                     2 holds; set at most 64"
                );
                self.push(least, Severity::Changes, None, message);
                holds = None;
            }
        } else if let Some(limit) = self.most_channels(min) {
            let message = format!("{least}={min}: the library has at most {limit} channels; set at most that");
            self.push(least, Severity::Changes, Some(limit.to_string()), message);
            holds = Some(limit);
        } else if min > 32 && self.platform.version.is_none() {
            let message = format!(
                "{least}={min}: the library has at most 32 channels up to 2.25 and 64 from 2.26 on; which holds can't be \
                 known without the library's version"
            );
            self.push(least, Severity::Note, None, message);
        }
        if let Some(max) = max.map(|max| max.max(1)).filter(|max| *max < min) {
            let holds = holds.map(|holds| holds.to_string());
            let what = holds.as_ref().map_or(String::new(), |holds| format!(": {holds} channels hold"));
            let message = format!(
                "{least}={min} is above {most}={max}, and the minimum wins{what}; set {most} to at least {min}"
            );
            self.push(most, Severity::Changes, holds, message);
        }
    }

    /// The most channels of NCCL, where a minimum is certainly above.
    fn most_channels(&self, min: i64) -> Option<i64> {
        let limit = if self.is_from(2, 26) == Some(false) { 32 } else { 64 };
        (min > limit).then_some(limit)
    }

    fn ctas(&mut self) {
        if let (Some(min), Some(max)) = (self.number("NCCL_MIN_CTAS"), self.number("NCCL_MAX_CTAS"))
            && min > max
        {
            let message = format!("NCCL_MIN_CTAS={min} is above NCCL_MAX_CTAS={max}: both become {max}");
            self.push("NCCL_MIN_CTAS", Severity::Changes, Some(max.to_string()), message);
        }
    }

    /// Channels of send and receive: pow2Up(max(min(channels, MAX), MIN)).
    fn point_to_point(&mut self) {
        let (least, most) = ("NCCL_MIN_P2P_NCHANNELS", "NCCL_MAX_P2P_NCHANNELS");
        let (min, max) = (self.number(least), self.number(most));
        let power = |number: i64| u64::try_from(number).ok().and_then(u64::checked_next_power_of_two);
        if let (Some(min), Some(max)) = (min, max)
            && min > max
            && let Some(holds) = power(min)
        {
            let message = format!("{least}={min} is above {most}={max}, and the minimum wins: {holds} hold");
            self.push(most, Severity::Changes, Some(holds.to_string()), message);
        }
        for (name, number) in [(least, min), (most, max)] {
            let Some(number) = number.filter(|number| *number > 0) else { continue };
            if let Some(holds) = power(number).filter(|holds| Ok(*holds) != u64::try_from(number)) {
                let message = format!(
                    "{name}={number}: channels of send and receive are rounded up to a power of two, {holds}; set that or \
                     a smaller one"
                );
                self.push(name, Severity::Changes, Some(holds.to_string()), message);
            }
        }
        if let (Some(limit), Some(max)) = (self.number("NCCL_MAX_NCHANNELS"), max)
            && (1..max).contains(&limit)
        {
            let message = format!(
                "NCCL_MAX_NCHANNELS={limit} limits the channels of send and receive as well, before {most}={max} does \
                 (NVIDIA/nccl issue 1598)"
            );
            self.push(most, Severity::Changes, None, message);
        }
    }

    /// Threads of a block of a kernel (`NCCL_NTHREADS`).
    fn threads(&mut self) {
        const MOST: i64 = 512;
        const LEAST: i64 = 64;
        let Some(number) = self.number("NCCL_NTHREADS") else { return };
        let (holds, why) = if number % 32 != 0 {
            (MOST, "is no multiple of 32")
        } else if number > MOST {
            (MOST, "is above the maximum")
        } else if number < LEAST {
            (LEAST, "is below the minimum")
        } else {
            return;
        };
        let message = format!(
            "NCCL_NTHREADS={number} {why}: {holds} hold, for LL and SIMPLE only (LL128 has NCCL_LL128_NTHREADS); set a \
             multiple of 32 from {LEAST} to {MOST}"
        );
        self.push("NCCL_NTHREADS", Severity::Changes, Some(holds.to_string()), message);
    }

    fn names(&mut self) {
        for (written, meant) in MISSPELT {
            if self.set.contains_key(written) {
                self.push(written, Severity::Dead, None, format!("{written} is not read: the name is {meant}"));
            }
        }
        let name = "NCCL_MAX_P2P_PEERS";
        if self.set.contains_key(name) {
            let message =
                format!("{name} is not read, although the log of 2.30 names it: the name is NCCL_P2P_MAX_PEERS");
            self.push(name, Severity::Dead, None, message);
        }
        let asks_for_pat =
            self.text("NCCL_ALGO").is_some_and(|algorithms| algorithms.to_ascii_lowercase().contains("pat"));
        if asks_for_pat && !self.set.contains_key("NCCL_PAT_ENABLE") {
            let message = "PAT runs with one GPU per node only, unless NCCL_PAT_ENABLE=1 is set";
            self.push("NCCL_ALGO", Severity::Note, None, message.to_owned());
        }
    }

    /// Which tuner is loaded, and what it displaces.
    fn tuner(&mut self) {
        let name = "NCCL_TUNER_PLUGIN";
        let is_none = self.text(name).is_some_and(|value| value.eq_ignore_ascii_case("none"));
        let Platform { library, version, gpu, .. } = self.platform;
        let table = Table::possible(gpu, version).filter(|_| library == Library::Rccl);
        if let (true, Some(table)) = (is_none, table) {
            let is_known = self.platform.gpu.is_some() && self.platform.version.is_some();
            let severity = if is_known { Severity::Changes } else { Severity::Note };
            let untold = if is_known { "" } else { "; whether it has one can't be known without GPU and version" };
            let message =
                format!("{name}=none turns off {table}'s own table as well (src/plugin/tuner.cc); unset it{untold}");
            self.push(name, severity, None, message);
        }
        let is_named = self.set.contains_key(name) && !is_none;
        let has_ofi = self.text("NCCL_NET_PLUGIN").is_some_and(|value| value.contains("ofi"));
        if is_named && has_ofi {
            let message = format!(
                "a tuner is named, so that of aws-ofi-nccl, which is found through NCCL_NET_PLUGIN and on by default from \
                 1.16.0 on, is not loaded; unset {name} to have it"
            );
            self.push(name, Severity::Note, None, message);
        }
        let follows = is_named || (!is_none && self.set.contains_key("NCCL_TUNER_CONFIG_FILE"));
        for forced in ["NCCL_ALGO", "NCCL_PROTO"] {
            if !follows || self.text(forced).is_none_or(str::is_empty) {
                continue;
            }
            let (severity, what) = match self.is_from(2, 22) {
                _ if self.platform.library == Library::Rccl => {
                    (Severity::Changes, "wins over the tuner: RCCL applies it again after the tuner's answer")
                }
                Some(true) => {
                    (Severity::Changes, "wins over the tuner: what it excludes is no entry of the cost table")
                }
                Some(false) => (Severity::Changes, "loses against a tuner of version 1 or 2, which sets the answer"),
                None => (
                    Severity::Note,
                    "loses against the tuner up to 2.21 and wins from 2.22 on; which holds can't be known without the \
                     library's version",
                ),
            };
            self.push(forced, severity, None, format!("{forced} {what}; set one of the two"));
        }
    }

    /// A list of algorithms or protocols.
    fn list(&mut self, name: &str, is_known: fn(&str) -> bool) {
        let Some(value) = self.text(name).map(str::to_owned) else { return };
        let unknown = |list: &str| {
            let words = list.strip_prefix('^').unwrap_or(list).split(',').map(str::trim);
            words.filter(|word| !word.is_empty() && !is_known(word)).map(str::to_owned).collect::<Vec<String>>()
        };
        let has_entries = value.contains([';', ':']);
        let is_new = self.is_from(2, 24);
        let words: Vec<String> =
            value.split(';').flat_map(|entry| unknown(entry.split_once(':').map_or(entry, |(_, list)| list))).collect();
        let without_prefix = value.split(';').skip(1).any(|entry| !entry.contains(':'));
        if has_entries && is_new == Some(false) {
            let message =
                format!("{name}={value}: lists by collective are known from 2.24 on; before, they are no names");
            self.push(name, Severity::Changes, None, message);
        } else if without_prefix && is_new != Some(false) {
            let message = format!(
                "{name}={value}: only the first entry may do without a collective (list;func:list); from 2.24 on the \
                 library fails to start"
            );
            self.push(name, Severity::Changes, None, message);
        } else if let Some(word) = words.first() {
            let (severity, what) = match is_new {
                Some(true) => (Severity::Changes, "the library fails to start"),
                Some(false) => (Severity::Dead, "it is ignored without a word"),
                None => (
                    Severity::Changes,
                    "it is ignored without a word up to 2.23, and the library fails to start from 2.24 on",
                ),
            };
            self.push(name, severity, None, format!("{name}: \"{word}\" is not known: {what}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conf::machine::Gpu;

    fn nccl(version: &str) -> Platform {
        Platform { version: version.parse().ok(), ..Library::Nccl.into() }
    }

    fn one(text: &str, platform: Platform) -> (String, Option<String>) {
        let found = findings(text, platform);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        (found[0].name.clone(), found[0].effective.clone())
    }

    #[test]
    fn values_that_hold_instead() {
        for (text, name, effective) in [
            ("NCCL_MIN_NCHANNELS=32 NCCL_MAX_NCHANNELS=16", "NCCL_MAX_NCHANNELS", Some("32")),
            ("export NCCL_MAX_NCHANNELS=0", "NCCL_MAX_NCHANNELS", Some("1")),
            ("NCCL_MIN_NCHANNELS=100", "NCCL_MIN_NCHANNELS", Some("64")),
            ("NCCL_MIN_NRINGS=4\nNCCL_MIN_NCHANNELS=8", "NCCL_MIN_NRINGS", Some("8")),
            ("NCCL_MIN_CTAS=8 NCCL_MAX_CTAS=4", "NCCL_MIN_CTAS", Some("4")),
            ("NCCL_MAX_P2P_NCHANNELS=12", "NCCL_MAX_P2P_NCHANNELS", Some("16")),
            ("NCCL_MIN_P2P_NCHANNELS=8 NCCL_MAX_P2P_NCHANNELS=4", "NCCL_MAX_P2P_NCHANNELS", Some("8")),
            ("NCCL_MAX_NCHANNELS=4 NCCL_MAX_P2P_NCHANNELS=8", "NCCL_MAX_P2P_NCHANNELS", None),
            ("NCCL_PROTOCOL=LL", "NCCL_PROTOCOL", None),
            ("NCCL_MIN_CHANNELS=8", "NCCL_MIN_CHANNELS", None),
            ("NCCL_NTHREADS=100", "NCCL_NTHREADS", Some("512")),
            ("NCCL_NTHREADS=1024", "NCCL_NTHREADS", Some("512")),
            ("NCCL_NTHREADS=32", "NCCL_NTHREADS", Some("64")),
            ("NCCL_MAX_P2P_PEERS=4", "NCCL_MAX_P2P_PEERS", None),
            ("NCCL_ALGO=pat", "NCCL_ALGO", None),
            ("NCCL_ALGO='ring;tree'", "NCCL_ALGO", None),
            ("NCCL_ALGO set by environment to ring;tree", "NCCL_ALGO", None),
            ("NCCL_PROTO=^LL,typo", "NCCL_PROTO", None),
            ("NCCL_ALGO=Ring NCCL_TUNER_PLUGIN=/x.so", "NCCL_ALGO", None),
            ("h:1:2 [0] NCCL INFO NCCL_NTHREADS set by environment to 100.", "NCCL_NTHREADS", Some("512")),
        ] {
            assert_eq!(one(text, nccl("2.30.7")), (name.to_owned(), effective.map(str::to_owned)), "{text}");
        }
        assert_eq!(one("NCCL_MIN_NCHANNELS=48", nccl("2.25")).1.as_deref(), Some("32"));
        for fine in [
            "",
            "NCCL_MIN_NCHANNELS=16 NCCL_MAX_NCHANNELS=32 NCCL_NTHREADS=256",
            "NCCL_ALGO=\"ring,tree;allreduce:^tree\" NCCL_PROTO=^LL128",
            "NCCL_MIN_P2P_NCHANNELS=8 NCCL_MAX_P2P_NCHANNELS=8",
        ] {
            assert_eq!(findings(fine, nccl("2.30.7")), [], "{fine}");
        }
    }

    #[test]
    fn what_the_version_decides_is_a_note_without_it() {
        let severity = |text, platform: Platform| findings(text, platform).first().map(|finding| finding.severity);
        let forced = "NCCL_ALGO=Ring\nNCCL_TUNER_CONFIG_FILE=/x";
        assert_eq!(severity(forced, Library::Nccl.into()), Some(Severity::Note));
        assert_eq!(severity(forced, nccl("2.21")), Some(Severity::Changes));
        let message = |version| findings(forced, nccl(version)).remove(0).message;
        assert!(message("2.21").contains("loses") && message("2.22").contains("wins"));
        let old = Platform { version: "2.23".parse().ok(), ..Library::Nccl.into() };
        assert_eq!(severity("NCCL_PROTO=typo", old), Some(Severity::Dead));
    }

    #[test]
    fn none_turns_off_the_table_of_rccl() {
        let rccl = |version: &str| Platform {
            version: version.parse().ok(),
            gpu: Some(Gpu::Gfx(0x950)),
            ..Library::Rccl.into()
        };
        let severity =
            |platform: Platform| findings("NCCL_TUNER_PLUGIN=NONE", platform).first().map(|finding| finding.severity);
        assert_eq!(severity(rccl("2.30.4")), Some(Severity::Changes));
        assert_eq!(severity(Library::Rccl.into()), Some(Severity::Note));
        assert_eq!((severity(rccl("2.27")), severity(Library::Nccl.into())), (None, None));
        let text = "NCCL_NET_PLUGIN=aws-ofi NCCL_TUNER_PLUGIN=/x.so";
        assert!(findings(text, Library::Nccl).iter().any(|finding| finding.message.contains("aws-ofi-nccl")));
        assert_eq!(one("NCCL_MIN_NCHANNELS=112", rccl("2.30.4")).1, None);
    }
}
