//! `collectune tune`: from nothing to a tuner file that an A/B has confirmed, in one command.
//!
//! This file has the arguments. `run.rs` makes one launch after another; what comes next is decided by
//! [`crate::tuning::campaign`]. `folder.rs` keeps the campaign's folder, `launcher.rs` the command line that starts
//! ranks, `process.rs` the process of a launch, `prior.rs` reads earlier measurements, and `preview.rs` has what
//! `--dry-run` says.

mod folder;
mod launcher;
mod machine;
mod preview;
mod prior;
mod process;
mod run;
mod view;

use std::path::{Path, PathBuf};

use clap::Args;

use self::{
    folder::Folder,
    launcher::Template,
    run::{Campaign, Cluster},
};
use super::{
    arguments::{self, Machine, Measured},
    error::{CliError, refuse, told},
    files::{self, Reads},
    terminal,
};
use crate::{
    collective::Collective,
    launch::{self, Sizes},
    text::visible,
    tuning::{
        ab::script::CampaignPlan,
        campaign::{AbSettings, Budget, CampaignSettings, Job, next, play::Player},
        conf::Reader,
        origin::Launches,
        plan::{PlanQuestion, duration::START_SECONDS, explore::LaunchThresholds},
        platform::{Library, Platform},
    },
};

/// Tune collectives on the cluster, from nothing to a tuner file that an A/B has confirmed
///
/// Launches nccl-tests again and again: the default, then always the configuration from which the most is expected,
/// until nothing is expected to raise busbw any more or the budget is spent; repeats what is to be deployed; writes the
/// tuner file; and runs it against the default and an empty file. What ran is read from the library's debug lines. The
/// folder has a journal, the logs, the best file so far and a report; a campaign that was stopped at any moment goes on
/// with --resume. The folder must lie on a file system that all nodes share.
#[derive(Args)]
#[command(after_help = "Examples:
  collectune tune --launcher srun --tests ~/nccl-tests/build --collective all_reduce --nodes 2 --ranks 16 --sizes 4K..512M --budget 90min -o campaign
  collectune tune --launcher 'mpirun -np {ranks} -hostfile hosts {env} {program} {arguments}' --tests build --collective all_reduce --nodes 2 --ranks 16 -o campaign
  collectune tune --simulate sweep.csv --collective all_reduce --nodes 2 --ranks 16 -o rehearsal
  collectune tune --resume campaign")]
pub(super) struct Tune {
    /// How ranks are started: mpirun (Open MPI), mpich, srun, local (one process drives all GPUs), or a command line
    /// with {ranks}, {nodes}, {ranks_per_node}, {env}, {program} and {arguments}; no shell reads it
    #[arg(long, value_name = "TEMPLATE", required_unless_present_any = ["resume", "simulate"], conflicts_with = "simulate")]
    launcher: Option<String>,

    /// The folder of the programs of nccl-tests or rccl-tests, such as all_reduce_perf
    #[arg(long, value_name = "DIR", required_unless_present_any = ["resume", "simulate"], conflicts_with = "simulate")]
    tests: Option<PathBuf>,

    /// The collectives to tune, like all_reduce,all_gather
    #[arg(long, value_name = "C,…", value_delimiter = ',', required_unless_present = "resume")]
    collective: Vec<Collective>,

    /// Nodes; several numbers are several scales
    #[arg(long, value_name = "N,…", value_delimiter = ',', required_unless_present = "resume", value_parser = arguments::up_to::<u32>(1_000_000))]
    nodes: Vec<u32>,

    /// Ranks over all nodes, one per GPU: as many numbers as --nodes has
    #[arg(long, value_name = "R,…", value_delimiter = ',', required_unless_present = "resume", value_parser = arguments::up_to::<u32>(10_000_000))]
    ranks: Vec<u32>,

    /// The smallest and the largest message size; those between double [default: 4K..512M, or those of the sweep]
    #[arg(long, value_name = "FIRST..LAST", value_parser = sizes)]
    sizes: Option<Sizes>,

    /// The most time that launches may take together: 90min, 6h, 5400s
    #[arg(long, value_name = "TIME", value_parser = duration)]
    budget: Option<f64>,

    /// The most launches, with warm-ups and A/B
    #[arg(long, value_name = "N", value_parser = arguments::up_to::<u32>(PlanQuestion::MAX_RUNS.into()))]
    launches: Option<u32>,

    /// The library that is launched
    #[arg(long, value_enum, default_value_t)]
    library: Library,

    #[command(flatten)]
    machine: Machine,

    /// The switches reduce by themselves (SHARP with its plugin): try CollNet, and NVLS between nodes
    #[arg(long)]
    sharp: bool,

    /// Channel counts to try, like 1,8,16 [default: 1, 2, 4, 8, 16, … 64, or those of the sweep]
    #[arg(long, value_name = "C,…", value_delimiter = ',', value_parser = arguments::up_to::<u32>(255))]
    channels: Vec<u32>,

    /// How often what is to be deployed is measured
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = arguments::up_to::<u32>(PlanQuestion::MAX_REPEATS.into()))]
    repeats: u32,

    /// Launches of the default before the first that counts, since cold clocks are low
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = arguments::up_to::<u32>(20))]
    warm_ups: u32,

    /// The search ends where all other launches together are expected to raise busbw by less, in per cent
    #[arg(long, value_name = "PCT", default_value_t = LaunchThresholds::default().least_pct, value_parser = arguments::minimum_gain)]
    least_gain: f64,

    /// Who will read the tuner file [default: rccl for RCCL, else example]
    #[arg(long, value_enum)]
    reader: Option<Reader>,

    /// The path of the tuner plugin, for readers that are one: without it there is no A/B
    #[arg(long, value_name = "FILE")]
    plugin: Option<PathBuf>,

    /// Launches of each arm of the A/B
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = arguments::up_to::<u32>(CampaignPlan::MAX_REPEATS.into()))]
    ab_repeats: u32,

    /// End with the tuner file, without an A/B
    #[arg(long)]
    without_ab: bool,

    /// The most time that one launch may take [default: half an hour for the first, then a minute and five times the
    /// median of those before]
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "simulate")]
    time_limit: Option<f64>,

    /// Further arguments of nccl-tests, like '-n 50 -d bfloat16'
    #[arg(long, value_name = "ARGUMENTS", allow_hyphen_values = true, conflicts_with = "simulate")]
    arguments: Option<String>,

    /// Seed of the order of the A/B's launches, and of a simulation
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,

    /// Play the campaign against a sweep instead of a cluster: its measurements, with the noise that they have
    #[arg(long, value_name = "SWEEP")]
    simulate: Option<PathBuf>,

    /// Earlier measurements, at the same scale or another: sweeps, logs, campaigns, or a folder of campaigns. They say
    /// what to expect, and count for nothing else
    #[arg(long, value_name = "FILE", num_args = 1..)]
    prior: Vec<PathBuf>,

    /// Expect nothing of earlier campaigns: without --prior, those beside the campaign's folder, with the same library
    /// and GPU, say what to expect
    #[arg(long, conflicts_with = "prior")]
    without_prior: bool,

    /// Say what the first launches would be, and make none
    #[arg(long)]
    dry_run: bool,

    /// The campaign's folder, which is made
    #[arg(short, long, value_name = "DIR", required_unless_present_any = ["resume", "dry_run"])]
    output: Option<PathBuf>,

    /// Go on with a campaign that was stopped; its settings are in its folder
    #[arg(long, value_name = "DIR", exclusive = true)]
    resume: Option<PathBuf>,
}

impl Tune {
    pub(super) fn run(self) -> Result<(), CliError> {
        process::take_signals().map_err(|why| told(format!("the program can't be stopped by Ctrl-C: {why}")))?;
        if let Some(path) = &self.resume {
            let folder = Folder::open(path)?;
            let cluster = cluster(&folder.settings)?;
            let prior = prior::read(&folder.settings)?;
            return Campaign::new(folder, cluster, prior).run();
        }
        let mut settings = self.settings()?;
        check_arguments(&settings.arguments)?;
        let cluster = cluster(&settings)?;
        if let Cluster::Played(player) = &cluster {
            self.fit_to_sweep(&mut settings, player)?;
        }
        check_budget(&settings)?;
        self.look_beside(&mut settings)?;
        let prior = prior::read(&settings)?;
        if self.dry_run {
            return preview::preview(&settings, &cluster, prior.as_ref());
        }
        let Some(path) = &self.output else { return refuse("-o says which folder the campaign is kept in") };
        Campaign::new(Folder::create(path, settings)?, cluster, prior).run()
    }

    fn settings(&self) -> Result<CampaignSettings, CliError> {
        if self.nodes.len() != self.ranks.len() {
            return refuse(format!(
                "--nodes has {} and --ranks {}: each number of nodes has its number of ranks",
                self.nodes.len(),
                self.ranks.len()
            ));
        }
        let mut jobs = Vec::new();
        for (nodes, ranks) in self.nodes.iter().zip(&self.ranks) {
            let scale = arguments::launched_scale(*nodes, *ranks)?;
            jobs.extend(self.collective.iter().map(|collective| Job { collective: *collective, scale }));
        }
        if let Some(job) = jobs.iter().find(|job| job.collective.is_point_to_point()) {
            return refuse(format!(
                "--collective {}: no tuner is asked about it, so there is nothing to tune",
                job.collective
            ));
        }
        jobs.sort_unstable();
        jobs.dedup();
        let reader = self.reader.unwrap_or(match self.library {
            Library::Rccl => Reader::Rccl,
            Library::Nccl => Reader::Example,
        });
        if let Some(gpu) = self.machine.gpu.filter(|gpu| Library::from(*gpu) != self.library) {
            let other = Library::from(gpu);
            return refuse(format!("--gpu {gpu} runs {other}, and --library says {}", self.library));
        }
        if let (Library::Nccl, Reader::Rccl) | (Library::Rccl, Reader::Ncclx) = (self.library, reader) {
            return refuse(format!(
                "--reader: {} is a part of another library than {}, which --library says",
                reader.name(),
                self.library
            ));
        }
        if let Some(words) = self.arguments.as_deref().and_then(shlex::split)
            && let Some(word) = words.iter().find(|word| word.starts_with("-g") || word.starts_with("--ngpus"))
        {
            let why = "each launch sets it: all ranks with a launcher of one process, else 1";
            terminal::say("warning", &format!("--arguments: {word} is not used: {why}"));
        }
        let needs_plugin = !matches!(reader, Reader::Rccl | Reader::Ncclx);
        if !needs_plugin {
            arguments::say_unused(&["plugin"], "the library reads the tuner file by itself");
        }
        if self.without_ab {
            arguments::say_unused(&["ab_repeats", "plugin"], "there is no A/B");
        }
        let plugin = self.plugin.as_deref().filter(|_| needs_plugin).map(absolute).transpose()?;
        let is_judged = reader != Reader::Ncclx;
        let has_ab = !self.without_ab && is_judged && (plugin.is_some() || !needs_plugin || self.simulate.is_some());
        if !self.without_ab && !is_judged {
            terminal::say("note", "there is no A/B: it can't judge the rules of ncclx");
        } else if !self.without_ab && !has_ab {
            terminal::say("note", &format!("without --plugin there is no A/B: {} is a plugin", reader.name()));
        }
        Ok(CampaignSettings {
            collectune_campaign: CampaignSettings::FORMAT,
            launcher: self.launcher.clone().unwrap_or_default(),
            tests: self.tests.as_deref().map(absolute).transpose()?.unwrap_or_default(),
            simulated: self.simulate.as_deref().map(absolute).transpose()?,
            prior: self.prior.iter().map(|path| absolute(path)).collect::<Result<_, _>>()?,
            jobs,
            sizes: self.sizes.unwrap_or(Sizes { first: 4 << 10, last: 512 << 20 }),
            budget: Budget { launches: self.launches, seconds: self.budget },
            platform: Platform { sharp: self.sharp, ..self.machine.of(self.library) },
            channels: if self.channels.is_empty() { CampaignSettings::usual_channels() } else { self.channels.clone() },
            excluded: Vec::new(),
            repeats: self.repeats,
            warm_ups: self.warm_ups,
            worth: LaunchThresholds { least_pct: self.least_gain, ..LaunchThresholds::default() },
            reader,
            ab: has_ab.then_some(AbSettings { plugin, repeats: self.ab_repeats }),
            time_limit_s: self.time_limit,
            arguments: match &self.arguments {
                Some(text) => shlex::split(text).ok_or_else(|| told("--arguments: a quote is not closed"))?,
                None => Vec::new(),
            },
            seed: self.seed,
        })
    }

    /// Takes the campaigns beside this one for what they say to expect.
    fn look_beside(&self, settings: &mut CampaignSettings) -> Result<(), CliError> {
        let Some(output) = self.output.as_deref().filter(|_| self.prior.is_empty() && !self.without_prior) else {
            return Ok(());
        };
        let found = prior::beside(output, settings);
        if !found.is_empty() {
            let names: Vec<String> =
                found.iter().filter_map(|folder| Some(folder.file_name()?.display().to_string())).collect();
            let what = format!(
                "the campaigns beside this one say what to expect: {} (--without-prior begins without them)",
                names.join(", ")
            );
            terminal::say("note", &what);
        }
        settings.prior = found.iter().map(|path| absolute(path)).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Plans only for what the sweep can answer.
    fn fit_to_sweep(&self, settings: &mut CampaignSettings, player: &Player) -> Result<(), CliError> {
        for (job, configuration) in player.stand_ins().iter().filter(|(job, _)| settings.jobs.contains(job)) {
            let why = format!(
                "the sweep has no run of the default of {job}: {configuration}, which serves all its sizes best, stands in \
                 for it"
            );
            terminal::say("note", &why);
        }
        for job in &settings.jobs {
            let known = player.sizes(*job)?;
            if self.sizes.is_none() {
                settings.sizes = known;
            }
        }
        if self.channels.is_empty() {
            settings.channels = player.channels();
        }
        settings.excluded = player.unanswered();
        Ok(())
    }
}

/// The least time that a launch takes to start on a cluster, in seconds.
const LEAST_SECONDS: f64 = 1.0;

/// Whether the budget leaves anything for the search, besides the default and the A/B.
fn check_budget(settings: &CampaignSettings) -> Result<(), CliError> {
    check_time(settings)?;
    let Some(launches) = settings.budget.launches.filter(|_| settings.ab.is_some()) else { return Ok(()) };
    let (warm_ups, repeats, ab) = (settings.warm_ups, settings.repeats, next::ab_launches(settings));
    let of_job = warm_ups.saturating_add(repeats.saturating_mul(2));
    let least = of_job.saturating_mul(settings.jobs.len() as u32).saturating_add(ab);
    if launches >= least {
        return Ok(());
    }
    refuse(format!(
        "--launches {launches} is too few, {least} are needed: for each collective and scale {warm_ups} that warm up (--warm-ups), \
         {repeats} of the default and {repeats} of one configuration (--repeats); and {ab} of the A/B (--ab-repeats, --without-ab)"
    ))
}

/// Whether the time is enough for any configuration to be measured beside the default.
fn check_time(settings: &CampaignSettings) -> Result<(), CliError> {
    let Some(budget_s) = settings.budget.seconds else { return Ok(()) };
    let launches = settings.warm_ups.saturating_add(2).saturating_mul(settings.jobs.len() as u32);
    let (each_s, why) = match settings.simulated {
        Some(_) => (START_SECONDS, "in a simulation a launch takes"),
        None => (LEAST_SECONDS, "a launch takes"),
    };
    let least_s = f64::from(launches) * each_s;
    if budget_s >= least_s {
        return Ok(());
    }
    refuse(format!(
        "--budget {budget_s} s is too short for anything: {why} {each_s} s at least, and {launches} are needed, for each \
         collective and scale {} that warm up (--warm-ups), the default and one configuration; give {least_s} s and the time of \
         the measurements",
        settings.warm_ups
    ))
}

/// Refuses arguments of nccl-tests that would choose other sizes than the campaign's.
fn check_arguments(arguments: &[String]) -> Result<(), CliError> {
    let is_size = |argument: &&String| {
        let name = argument.split('=').next().unwrap_or_default();
        match name.strip_prefix("--") {
            Some(name) => matches!(name, "minbytes" | "maxbytes" | "stepfactor" | "stepbytes"),
            None => ["-b", "-e", "-f", "-i"].iter().any(|option| name.starts_with(option)),
        }
    };
    match arguments.iter().find(is_size) {
        None if Launches::registration(arguments.iter().map(String::as_str)) == 2 => {
            let why = "-R 2 runs the kernels of symmetric memory, whose choice no tuner moves: where they run, all \
                       configurations are alike";
            terminal::say("warning", &format!("--arguments: {why}"));
            Ok(())
        }
        Some(argument) => refuse(format!(
            "--arguments: {} chooses the sizes, which --sizes does; leave it out and give --sizes",
            visible(argument)
        )),
        None => Ok(()),
    }
}

/// What answers launches: the cluster, or a sweep. Fails if the launcher or the programs can't be found.
fn cluster(settings: &CampaignSettings) -> Result<Cluster, CliError> {
    if let Some(sweep) = &settings.simulated {
        let opened =
            files::has_rows(files::read_untold(&[PathBuf::from(sweep)], &Measured::default(), Reads::Sweeps)?)?;
        return Ok(Cluster::Played(Box::new(Player::new(&opened.rows, settings.platform, settings.seed))));
    }
    let template = Template::parse(&settings.launcher)?;
    let is_local = settings.launcher.trim() == launcher::LOCAL;
    if let Some(job) = settings.jobs.iter().find(|job| is_local && job.scale.nodes > 1) {
        return refuse(format!(
            "--launcher local starts one process, which drives the GPUs of this machine, and --nodes has {}: mpirun, mpich \
             and srun start ranks on several nodes",
            job.scale.nodes
        ));
    }
    if let Some(program) = template.program().filter(|program| !is_found(program)) {
        return refuse(format!(
            "--launcher: there is no program {program} here; name it with its path, or load its module"
        ));
    }
    for job in &settings.jobs {
        let program = Path::new(&settings.tests).join(launch::program(job.collective));
        if !program.is_file() {
            return refuse(format!(
                "--tests: there is no program {}; give the folder of nccl-tests' programs, which is build after make",
                program.display()
            ));
        }
    }
    Ok(Cluster::Launched(template))
}

/// Whether a program is there: under its path, or in a folder of PATH.
fn is_found(program: &str) -> bool {
    if program.contains('/') {
        return Path::new(program).is_file();
    }
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|folder| folder.join(program).is_file())
}

fn absolute(path: &Path) -> Result<String, CliError> {
    let whole = std::path::absolute(path).map_err(|error| files::unopened(path, &error))?;
    match whole.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => refuse(format!("{}: the path is no text; rename it", path.display())),
    }
}

/// Two sizes with dots between them, the first above 0 and not above the last: `4K..512M`.
fn sizes(text: &str) -> Result<Sizes, String> {
    let expected = "the smallest and the largest size are written like 4K..512M";
    let (first, last) = text.split_once("..").ok_or(expected)?;
    let (first, last) = (arguments::size(first)?, arguments::size(last)?);
    if first == 0 || first > last { Err(expected.to_owned()) } else { Ok(Sizes { first, last }) }
}

/// A time above 0 with its unit, such as `90min`, `6h` or `5400s`, in seconds.
fn duration(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let factor = match text[end..].trim() {
        "s" => 1.0,
        "min" | "m" => 60.0,
        "h" => 3600.0,
        _ => f64::NAN,
    };
    let seconds = text[..end].trim().parse::<f64>().unwrap_or(f64::NAN) * factor;
    let is_usable = seconds > 0.0 && seconds <= 1e9;
    if is_usable { Ok(seconds) } else { Err("a time is written like 90min, 6h or 5400s".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_read_with_their_units() {
        assert_eq!(sizes("4K..512M"), Ok(Sizes { first: 4096, last: 512 << 20 }));
        for wrong in ["4K", "512M..4K", "0..4K", "4K..x", "4K,8K..1M", ""] {
            assert!(sizes(wrong).is_err(), "{wrong}");
        }
        assert_eq!(duration("90min"), Ok(5400.0));
        assert_eq!(duration("1.5 h"), Ok(5400.0));
        assert_eq!(duration("20s"), Ok(20.0));
        for wrong in ["90", "min", "-1h", "0s", "nan h", "1e300h", "5 days"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
