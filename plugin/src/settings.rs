//! The environment, read once when a communicator is created.

use std::{env, ffi::OsString, fmt, path::PathBuf, str::FromStr, time::Duration};

use collectune::conf::{
    built_in::Table,
    machine::{Gpu, PlatformError, Version},
};

/// The default of calls per epoch.
const EPOCH: u64 = 1024;
/// The default time for which a communicator waits for its ranks, in milliseconds.
const RENDEZVOUS_MS: u64 = 10_000;
/// The default time for which a rank waits for a record, in milliseconds.
const TIMEOUT_MS: u64 = 60_000;

/// What the plugin does for a communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing: the library chooses.
    Passive,
    /// Follow a tuner file.
    Static(PathBuf),
    /// Follow a policy file.
    Policy(PathBuf),
    /// Follow the policy that the ranks agree on in each epoch; a policy file may be the first.
    Online(Option<PathBuf>),
}

/// The settings that the environment gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `COLLECTUNE_TUNER_MODE`, or the first of the three modes whose file is given.
    pub mode: Mode,
    /// `COLLECTUNE_TUNER_DIR`: the folder in which the ranks agree.
    pub folder: Option<PathBuf>,
    /// Whether the job computes during collectives (`NCCL_WORKLOAD_OVERLAP` or `NCCL_OVERLAP_MODE`).
    pub overlap: bool,
    /// How long to wait for the other ranks (`COLLECTUNE_TUNER_RENDEZVOUS_MS`).
    pub rendezvous: Duration,
    /// How long to wait for a record (`COLLECTUNE_TUNER_TIMEOUT_MS`).
    pub timeout: Duration,
    /// `COLLECTUNE_TUNER_EPOCH`, in calls of the communicator.
    pub epoch: u64,
    /// `COLLECTUNE_TUNER_LOG=2`: each new choice is logged.
    pub logs_choices: bool,
    /// `COLLECTUNE_TUNER_V2_LL128=1`: the machine has LL128, which a library of version 2 doesn't say.
    pub has_ll128: bool,
    /// `NCCL_ALGO` or `NCCL_PROTO` is set, which a library of version 2 leaves to the plugin to respect.
    pub is_forced: bool,
    /// `COLLECTUNE_TUNER_REWARDS`: the folder into which the profiler writes.
    pub rewards: Option<PathBuf>,
    /// `COLLECTUNE_TUNER_DRILL`: the number of the call that fails on purpose.
    pub failing_call: Option<u64>,
    /// The library's own table, which the plugin takes away and whose rows it carries, or why there is none
    /// (`COLLECTUNE_TUNER_GPU` and `COLLECTUNE_TUNER_LIBRARY_VERSION`; off by `COLLECTUNE_TUNER_BUILT_IN=0`, or where
    /// `RCCL_TUNER_EMBEDDED_CONFIG=0` turns off the table itself).
    pub built_in: Result<Table, NoTable>,
    /// Messages about settings that can't be used.
    pub complaints: Vec<String>,
}

/// Why the plugin carries no rows of the library's own table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoTable {
    /// A variable turns it off.
    Off(&'static str),
    /// The GPU or the version isn't known: this variable isn't set, or its value can't be used.
    Unknown(&'static str),
    /// The library has none for this GPU in this version.
    None(Version, Gpu),
}

impl NoTable {
    /// Whether no GPU is named.
    pub fn is_unasked(&self) -> bool {
        *self == Self::Unknown(GPU)
    }
}

impl fmt::Display for NoTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off(variable) => write!(f, "{variable}=0"),
            Self::Unknown(variable) => write!(f, "{variable} doesn't say where this runs"),
            Self::None(version, gpu) => write!(f, "{version} has none for {gpu}"),
        }
    }
}

const BUILT_IN: &str = "COLLECTUNE_TUNER_BUILT_IN";
const EMBEDDED: &str = "RCCL_TUNER_EMBEDDED_CONFIG";
const GPU: &str = "COLLECTUNE_TUNER_GPU";
const VERSION: &str = "COLLECTUNE_TUNER_LIBRARY_VERSION";

/// The table of the library that the variables name. Nothing is guessed: rows of another version could slow a job down.
fn built_in(text: impl Fn(&str) -> Option<String>, complaints: &mut Vec<String>) -> Result<Table, NoTable> {
    let is_off = |name: &&'static str| text(name).is_some_and(|value| value == "0");
    if let Some(off) = [BUILT_IN, EMBEDDED].into_iter().find(is_off) {
        return Err(NoTable::Off(off));
    }
    let gpu = known::<Gpu>(&text, GPU, complaints)?;
    let version = known::<Version>(&text, VERSION, complaints)?;
    Table::find(gpu, Some(version)).ok_or(NoTable::None(version, gpu))
}

/// The value of a variable that has to be known.
fn known<T: FromStr<Err = PlatformError>>(
    text: impl Fn(&str) -> Option<String>,
    name: &'static str,
    complaints: &mut Vec<String>,
) -> Result<T, NoTable> {
    let value = text(name).ok_or(NoTable::Unknown(name))?;
    value.parse().map_err(|error| {
        complaints.push(format!("{name}: {error}; it is ignored"));
        NoTable::Unknown(name)
    })
}

impl Settings {
    /// Reads the environment of the process.
    pub fn read() -> Self {
        Self::from(|name| env::var_os(name))
    }

    fn from(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let text = |name: &str| variable(name).map(|value| value.to_string_lossy().trim().to_owned());
        let path = |name: &str| variable(name).map(PathBuf::from);
        let mut complaints = Vec::new();
        let mut number = |name: &str, least: u64| {
            let value = text(name)?;
            let number = value.parse().ok().filter(|number| *number >= least);
            if number.is_none() {
                complaints.push(format!("{name}={value} is not a whole number from {least} on; it is ignored"));
            }
            number
        };
        let rendezvous = number("COLLECTUNE_TUNER_RENDEZVOUS_MS", 0).unwrap_or(RENDEZVOUS_MS);
        let timeout = number("COLLECTUNE_TUNER_TIMEOUT_MS", 1).unwrap_or(TIMEOUT_MS);
        let epoch = number("COLLECTUNE_TUNER_EPOCH", 1).unwrap_or(EPOCH);
        let drill = number("COLLECTUNE_TUNER_DRILL", 0);
        let mut switch = |name: &str| {
            let value = text(name)?;
            let is_on = match value.as_str() {
                "0" => Some(false),
                "1" => Some(true),
                _ => None,
            };
            if is_on.is_none() {
                complaints.push(format!("{name}={value} is neither 0 nor 1; it is ignored"));
            }
            is_on
        };
        let overlap = switch("NCCL_WORKLOAD_OVERLAP").or_else(|| switch("NCCL_OVERLAP_MODE")).unwrap_or(false);
        let has_ll128 = switch("COLLECTUNE_TUNER_V2_LL128").unwrap_or(false);

        switch(BUILT_IN);
        let built_in = built_in(text, &mut complaints);

        let of_overlap = path("COLLECTUNE_TUNER_CONFIG_OVERLAP").filter(|_| overlap);
        let conf = of_overlap.or_else(|| path("NCCL_TUNER_CONFIG_FILE"));
        let policy = path("COLLECTUNE_TUNER_POLICY");
        let folder = path("COLLECTUNE_TUNER_DIR");
        let asked = text("COLLECTUNE_TUNER_MODE").map(|mode| mode.to_ascii_lowercase());
        let mut without = |what: &str| {
            complaints.push(format!("COLLECTUNE_TUNER_MODE={what}, and no file for it is given"));
            Mode::Passive
        };
        let mode = match asked.as_deref() {
            Some("passive") => Mode::Passive,
            Some("static") => conf.map_or_else(|| without("static"), Mode::Static),
            Some("policy") => policy.map_or_else(|| without("policy"), Mode::Policy),
            Some("online") if folder.is_none() => without("online"),
            Some("online") => Mode::Online(policy),
            Some(other) => {
                complaints.push(format!("COLLECTUNE_TUNER_MODE={other} is none of static, policy, online, passive"));
                Mode::Passive
            }
            None => match (conf, policy, &folder) {
                (Some(conf), ..) => Mode::Static(conf),
                (None, Some(policy), _) => Mode::Policy(policy),
                (None, None, Some(_)) => Mode::Online(None),
                (None, None, None) => Mode::Passive,
            },
        };
        Self {
            mode,
            folder,
            overlap,
            rendezvous: Duration::from_millis(rendezvous),
            timeout: Duration::from_millis(timeout),
            epoch,
            logs_choices: text("COLLECTUNE_TUNER_LOG").is_some_and(|level| level == "2"),
            has_ll128,
            is_forced: variable("NCCL_ALGO").is_some() || variable("NCCL_PROTO").is_some(),
            rewards: path("COLLECTUNE_TUNER_REWARDS"),
            failing_call: drill,
            built_in,
            complaints,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Settings {
        Settings::from(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn the_mode_is_that_of_the_first_given_file() {
        let (conf, policy, folder) =
            (("NCCL_TUNER_CONFIG_FILE", "/c"), ("COLLECTUNE_TUNER_POLICY", "/p"), ("COLLECTUNE_TUNER_DIR", "/d"));
        let overlap = ("NCCL_OVERLAP_MODE", "1");
        let of_overlap = ("COLLECTUNE_TUNER_CONFIG_OVERLAP", "/o");
        let mode = |asked: &'static str| ("COLLECTUNE_TUNER_MODE", asked);
        for (variables, expected) in [
            (&[][..], Mode::Passive),
            (&[conf, policy, folder], Mode::Static("/c".into())),
            (&[policy, folder], Mode::Policy("/p".into())),
            (&[folder], Mode::Online(None)),
            (&[conf, policy, folder, mode("online")], Mode::Online(Some("/p".into()))),
            (&[conf, policy, folder, mode("Policy ")], Mode::Policy("/p".into())),
            (&[conf, mode("passive")], Mode::Passive),
            (&[conf, of_overlap], Mode::Static("/c".into())),
            (&[conf, of_overlap, overlap], Mode::Static("/o".into())),
            (&[of_overlap, overlap], Mode::Static("/o".into())),
        ] {
            let settings = of(variables);
            assert_eq!((settings.mode, settings.complaints), (expected, Vec::new()), "{variables:?}");
        }
    }

    #[test]
    fn unusable_settings_give_complaints() {
        let complaints = |variables: &[(&str, &str)]| of(variables).complaints.join("; ");
        assert!(complaints(&[("COLLECTUNE_TUNER_MODE", "ucb")]).contains("is none of"));
        assert!(complaints(&[("COLLECTUNE_TUNER_MODE", "policy")]).contains("no file for it"));
        assert!(complaints(&[("COLLECTUNE_TUNER_MODE", "online")]).contains("no file for it"));
        assert!(complaints(&[("COLLECTUNE_TUNER_EPOCH", "0")]).contains("from 1 on"));
        assert!(complaints(&[("NCCL_WORKLOAD_OVERLAP", "yes")]).contains("neither 0 nor 1"));
        let settings = of(&[("NCCL_WORKLOAD_OVERLAP", "0"), ("NCCL_OVERLAP_MODE", "1"), ("NCCL_ALGO", "Ring")]);
        assert!(!settings.overlap && settings.is_forced);
    }

    #[test]
    fn the_library_s_table_is_carried_where_gpu_and_version_are_known() {
        let (gpu, version) = ((GPU, "gfx950:sramecc+"), (VERSION, "2.30.4"));
        let built_in = |variables: &[(&str, &str)]| of(variables).built_in.map(|table| table.key());
        assert_eq!(built_in(&[gpu, version]), Ok("rccl-2.30.4-gfx950".to_owned()));
        assert_eq!(built_in(&[gpu, version, (BUILT_IN, "1")]), Ok("rccl-2.30.4-gfx950".to_owned()));
        assert_eq!(built_in(&[gpu, version, (BUILT_IN, "0")]), Err(NoTable::Off(BUILT_IN)));
        assert_eq!(built_in(&[gpu, version, (EMBEDDED, "0")]), Err(NoTable::Off(EMBEDDED)));
        assert_eq!(built_in(&[]), Err(NoTable::Unknown(GPU)));
        assert_eq!(built_in(&[gpu]), Err(NoTable::Unknown(VERSION)));
        let old = "2.27.7".parse().unwrap();
        assert_eq!(built_in(&[gpu, (VERSION, "2.27.7")]), Err(NoTable::None(old, Gpu::Gfx(0x950))));
        let wrong = of(&[(GPU, "toaster"), version]);
        assert_eq!(wrong.built_in, Err(NoTable::Unknown(GPU)));
        assert!(wrong.complaints[0].contains("COLLECTUNE_TUNER_GPU: \"toaster\" is no GPU that is known"));
    }
}
