//! What `--dry-run` says: the first launches of a campaign, as commands.

use std::fmt::Write;

use super::run::{Cluster, request};
use crate::{
    cli::{error::CliError, terminal},
    collective::{Algorithm, Configuration, Protocol, Workload},
    text::shell::quoted,
    tuning::{
        campaign::{
            CampaignSettings, Job,
            journal::{Phase, Requested},
            next::{NextLaunch, ab_launches},
        },
        plan::{
            carries_over,
            duration::{self, START_SECONDS},
        },
        result::Group,
        support::{SupportMatrix, SupportOutcome},
        sweep::Sweep,
    },
};

/// Writes what would be launched first.
pub(super) fn preview(settings: &CampaignSettings, cluster: &Cluster, prior: Option<&Sweep>) -> Result<(), CliError> {
    let mut text = String::new();
    // Writing to memory can't fail.
    for job in &settings.jobs {
        let _ = writeln!(text, "{job}");
        let _ = writeln!(text, "  {} × the default, to warm the clocks, and then once more:", settings.warm_ups);
        let _ = writeln!(text, "    {}", command(settings, cluster, *job, Requested::Default));
        if prior.is_some_and(|prior| has_prior(prior, *job)) {
            let _ = writeln!(text, "  what loses the least over all sizes in the earlier measurements");
            continue;
        }
        let first = first(settings, *job);
        let names: Vec<String> = first.iter().map(Configuration::to_string).collect();
        let _ = writeln!(text, "  each that can run, with its most channels: {}", names.join(", "));
        if let Some(configuration) = first.first() {
            let _ =
                writeln!(text, "    {}", command(settings, cluster, *job, Requested::Configuration(*configuration)));
        }
    }
    let _ = writeln!(text, "then always the launch from which the most is expected, with the default after every six");
    let _ = writeln!(text, "{} launches of each that is to be deployed, and of the default", settings.repeats);
    let ab = ab_launches(settings);
    if ab > 0 {
        let _ = writeln!(text, "up to {ab} launches for the A/B and that of the trimmed file");
    }
    let budget = [
        settings.budget.launches.map(|launches| format!("{launches} launches")),
        settings.budget.seconds.map(duration::words),
    ];
    let budget: Vec<String> = budget.into_iter().flatten().collect();
    let limit = if budget.is_empty() { "no budget".to_owned() } else { format!("at most {}", budget.join(" and ")) };
    let _ = writeln!(
        text,
        "{limit}; a launch takes about {START_SECONDS:.0} s and its measurements, which nobody knows before the first"
    );
    terminal::write(&text)
}

/// Whether earlier measurements say what to expect of a job.
fn has_prior(prior: &Sweep, job: Job) -> bool {
    let of_job = |group: &Group| group.collective == job.collective && carries_over(group.scale, job.scale);
    prior.groups().iter().any(|group| group.points > 0 && of_job(group))
}

/// The configurations that the search begins with.
fn first(settings: &CampaignSettings, job: Job) -> Vec<Configuration> {
    let support = SupportMatrix::new(settings.platform.matrix(), &Sweep::default());
    let largest = Workload { collective: job.collective, scale: job.scale, size_bytes: u64::MAX };
    let channels = settings.channels.iter().copied().max().unwrap_or(1);
    let mut all = Vec::new();
    for algorithm in
        [Algorithm::Tree, Algorithm::Ring].into_iter().chain(settings.platform.tried_algorithms(job.scale.nodes))
    {
        for protocol in [Protocol::Ll, Protocol::Ll128, Protocol::Simple] {
            if support.outcome(&largest, algorithm, protocol) == SupportOutcome::Runs {
                all.push(Configuration { algorithm, protocol, channels });
            }
        }
    }
    all.retain(|configuration| !settings.excluded.contains(configuration));
    all
}

fn command(settings: &CampaignSettings, cluster: &Cluster, job: Job, requested: Requested) -> String {
    match cluster {
        Cluster::Played(_) => format!("{requested}, from the sweep"),
        Cluster::Launched(template) => {
            let launch =
                NextLaunch { phase: Phase::Search, job, requested, repeat: 1, why: String::new(), expected_pct: None };
            let words = request(settings, template, &launch, "debug/NNN.%h.%p", None);
            let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            words.join(" ")
        }
    }
}
