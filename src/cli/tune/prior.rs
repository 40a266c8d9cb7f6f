//! Earlier measurements, which say a campaign what to expect.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::folder;
use crate::{
    cli::{
        arguments::Measured,
        error::CliError,
        files::{self, Reads},
        terminal,
    },
    tuning::{
        aggregate::Target,
        campaign::{CampaignSettings, Job},
        runs::aggregate,
        sweep::Sweep,
    },
    units::count,
};

/// The campaigns beside the one that begins in `output`, sorted, which say what to expect where `--prior` names
/// nothing: those of a collective that it tunes, with the same library on the same GPU, and played against the same
/// sweep if it is played.
pub(super) fn beside(output: &Path, settings: &CampaignSettings) -> Vec<PathBuf> {
    let is_tuned = |job: &Job| settings.jobs.iter().any(|own| own.collective == job.collective);
    let is_alike = |other: CampaignSettings| {
        other.platform == settings.platform && other.simulated == settings.simulated && other.jobs.iter().any(is_tuned)
    };
    let Ok(output) = std::path::absolute(output) else { return Vec::new() };
    let mut found = output.parent().map(campaigns).unwrap_or_default();
    found.retain(|folder| {
        *folder != output && folder.join("logs").is_dir() && folder::settings(folder).is_ok_and(is_alike)
    });
    found
}

/// The campaigns in a folder, sorted by their paths.
fn campaigns(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut campaigns: Vec<PathBuf> = entries.filter(|path| folder::is_campaign(path)).collect();
    campaigns.sort_unstable();
    campaigns
}

/// Reads what `--prior` names, all library versions together, and says what of it is of use; `None` where nothing is.
pub(super) fn read(settings: &CampaignSettings) -> Result<Option<Sweep>, CliError> {
    if settings.prior.is_empty() {
        return Ok(None);
    }
    let paths: Vec<PathBuf> = settings.prior.iter().map(PathBuf::from).flat_map(measurements).collect();
    let all = Measured { set: Some("all".to_owned()), ..Measured::default() };
    let mut sweep = aggregate(&files::read(&paths, &all, Reads::Sweeps)?.rows, Target::Time);
    let is_tuned = |collective| settings.jobs.iter().any(|job| job.collective == collective);
    sweep.points.retain(|point| is_tuned(point.workload.collective));
    sweep.defaults.retain(|point| is_tuned(point.workload.collective));
    let groups = sweep.groups();
    if groups.is_empty() {
        terminal::say(
            "warning",
            "--prior: nothing in these files is of a collective that is tuned, so nothing is expected",
        );
        return Ok(None);
    }
    for group in &groups {
        let what = format!(
            "{} on {}: {} of earlier measurements say what to expect",
            group.collective,
            group.scale,
            count(group.points as u64, "value")
        );
        terminal::say("note", &what);
    }
    Ok(Some(sweep))
}

/// The logs of a campaign, or of all campaigns in a folder; anything else as it is. What a campaign's A/B measured ran
/// with a tuner file and is no configuration's.
fn measurements(path: PathBuf) -> Vec<PathBuf> {
    if folder::is_campaign(&path) {
        return vec![path.join("logs")];
    }
    match campaigns(&path) {
        none if none.is_empty() => vec![path],
        found => found.iter().map(|folder| folder.join("logs")).collect(),
    }
}
