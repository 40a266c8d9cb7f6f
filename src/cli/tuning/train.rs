//! `collectune tuning train`: learn from a sweep, and say how far that can be trusted.

use std::path::PathBuf;

use clap::Args;

use super::{
    FromSweeps,
    trained::{Known, json},
};
use crate::{
    cli::{arguments, error::CliError, files, save, table, terminal},
    intake::{FileReport, Outcome},
    text::{Column, Entry, Listing, visible},
    tuning::{
        random_split::{PartScore, RandomSplit, random_split},
        result::{Evaluation, FoldScores, Importance, Score, Source},
        wording,
    },
    units::{count, significant},
};

/// Learn bus bandwidth from a sweep, and say how far the model can be trusted
///
/// Sizes (nine folds) and configurations (five folds) are held out, all repeats together. The model is compared with
/// baselines that don't learn: log-linear interpolation, the winner of the nearest size, the best single
/// configuration. Regret is the share of the best measured bandwidth that a predictor's choices lose.
#[derive(Args)]
#[command(after_help = "Examples:
  collectune tuning train merged_metrics.csv --save model.json
  collectune tuning train all_reduce_*.csv.gz --preset seed --target printed --importances
  zcat sweep.csv.gz | collectune tuning train - --json")]
pub(in crate::cli) struct Train {
    /// Sweeps, as tables or logs, gzipped or not; or a saved model, for its rows; - is the standard input
    #[arg(required = true, value_name = "SWEEP")]
    sweeps: Vec<PathBuf>,

    #[command(flatten)]
    from: FromSweeps,

    /// Share of the rows to hold out at random, as rccl-tune-predict does (repeats of a point may be on both sides); 0:
    /// none
    #[arg(long, value_name = "SHARE", default_value = "0.2", value_parser = arguments::share)]
    test_split: f64,

    /// Say on which features the predictions depend, and how much
    #[arg(long)]
    importances: bool,

    /// Save the model: parameters and aggregated training rows, to be opened by tuning predict --model or on the page
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,

    /// Write the answer as JSON
    #[arg(long)]
    json: bool,
}

impl Train {
    pub(super) fn run(self) -> Result<(), CliError> {
        let opened = self.from.read(&self.sweeps, false)?;
        self.save.iter().try_for_each(|path| save::check("model", path))?;
        let files = opened.files.clone();
        if opened.target.is_some() {
            arguments::say_unused(&["target", "configuration"], "a saved model says it");
        }
        let target = opened.target.unwrap_or(self.from.learning.target);
        let parameters = self.from.parameters(&opened)?;

        let mut bar = terminal::Bar::new();
        let split = (self.test_split > 0.0)
            .then(|| random_split(&opened.rows, target, &parameters, self.test_split, &mut bar))
            .transpose();
        drop(bar);
        let (random_split, failed) = match split {
            Ok(split) => (split, None),
            Err(error) => (None, Some(format!("the random split could not be made: {error}"))),
        };
        let learnt = self.from.learn(opened, &parameters, failed)?;
        let mut bar = terminal::Bar::new();
        let loaded = &learnt.executor.studies.tuning.loaded;
        let importances = if self.importances { loaded.study.importances(&mut bar)? } else { Vec::new() };
        if let Some(path) = &self.save {
            let text = loaded.model_file()?.to_text();
            save::save("model", path, text)?;
        }
        drop(bar);

        let known = Known { files, target, parameters, learnt, random_split, importances };
        if self.json {
            return terminal::write_json(&json(&known));
        }
        terminal::write(&for_people(&known))?;
        if let Some(path) = &self.save {
            terminal::write(&format!("\nSaved as {}, training rows included.\n", visible(&files::name(path))))?;
        }
        Ok(())
    }
}

fn for_people(known: &Known) -> String {
    let files: String = known.files.iter().filter_map(file_line).map(|line| line + "\n").collect();
    let set = &known.learnt.executor.studies.tuning.loaded.set;
    let set = set.as_deref().map_or_else(String::new, |set| format!("Measured with {set}\n"));
    let groups: String = known.learnt.groups.iter().map(|group| wording::group(group) + "\n").collect();
    let evaluation = &known.learnt.evaluation;
    let mut sections = vec![
        files,
        set + &groups,
        format!("Unseen sizes\n{}{}\n", scores(&evaluation.by_size), wording::verdict(&evaluation.by_size)),
        format!("Unseen configurations\n{}", scores(&evaluation.by_configuration)),
    ];
    if evaluation.by_scale.model.regret_mean_pct.is_some() {
        sections.push(format!("Unseen scales\n{}", scores(&evaluation.by_scale)));
    }
    sections.extend(deployed(evaluation));
    sections.extend(known.random_split.as_ref().map(split));
    if !known.importances.is_empty() {
        sections.push(importances(&known.importances));
    }
    sections.join("\n")
}

fn file_line(file: &FileReport) -> Option<String> {
    let Outcome::Loaded { format, rows, default_rows, problems, .. } = &file.outcome else { return None };
    let (rows, left_out) = (count(*rows, "row"), count(problems.count, "line"));
    Some(format!(
        "{}: {format}; {rows}, {default_rows} of them of the default; {left_out} left out",
        visible(&file.name)
    ))
}

/// A table whose first column has names, and the others numbers.
fn table<const N: usize>(
    names: &'static str,
    numbers: [&'static str; N],
    rows: Vec<(&str, [Option<String>; N])>,
) -> String {
    let row = |(name, cells): (&str, [Option<String>; N])| {
        [Entry::text(name)].into_iter().chain(cells.map(|cell| Entry::text(cell.unwrap_or_default()))).collect()
    };
    let columns = [Column::words(names, "")].into_iter().chain(numbers.map(|name| Column::numbers(name, "")));
    table::of_listing(&Listing { columns: columns.collect(), rows: rows.into_iter().map(row).collect() })
}

fn scores(scores: &FoldScores) -> String {
    let row = |(source, score): (Source, &Score)| {
        let Score { r2, mae_gbps, mape_pct, regret_mean_pct, regret_max_pct, top1_pct } = *score;
        let numbers = [r2, mae_gbps, mape_pct, regret_mean_pct, regret_max_pct, top1_pct];
        numbers.iter().any(Option::is_some).then(|| (wording::source(source), numbers.map(|n| n.map(significant))))
    };
    let columns = ["R²", "MAE GB/s", "MAPE %", "mean regret %", "max regret %", "best chosen %"];
    let coverage = scores.coverage_90_pct.map_or_else(String::new, |coverage| {
        format!("The 90 % intervals hold {} % of the held-out measurements.\n", significant(coverage))
    });
    table("", columns, wording::predictors(scores).into_iter().filter_map(row).collect()) + &coverage
}

/// The regret of the deployed choices, in a sentence.
fn deployed(evaluation: &Evaluation) -> Option<String> {
    let lost = significant(evaluation.regret_deployed_mean_pct?);
    let nested = significant(evaluation.regret_deployed_nested_mean_pct?);
    Some(format!(
        "What is deployed at unseen sizes, the default included, loses {lost} % of the best on average; {nested} % \
         where those sizes have no part in the choice between model and baselines.\n"
    ))
}

fn split(split: &RandomSplit) -> String {
    let row = |name, part: &PartScore| {
        (name, [Some(part.rows.to_string()), part.r2.map(|r2| format!("{r2:.4}")), part.mae_gbps.map(significant)])
    };
    let rows = vec![row("training", &split.train), row("test", &split.test)];
    let (share, seed, table) = (split.share * 100.0, split.seed, table("", ["rows", "R²", "MAE GB/s"], rows));
    format!(
        "Random split, {share:.0} % held out, seed {seed}; repeats of one point may be on both sides, so these errors are too low\n{table}"
    )
}

fn importances(importances: &[Importance]) -> String {
    let row = |of: &'_ Importance| [of.impurity.map(significant), Some(significant(of.permutation_pct))];
    let rows = importances.iter().map(|of| (&of.feature[..], row(of))).collect();
    table("Feature", ["share of impurity", "MAPE points when shuffled"], rows)
}
