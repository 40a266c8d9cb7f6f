//! Recommendations become a tuner file that one of the readers takes as it is meant.
//!
//! `choice` decides what a rule asks for at a size, `plan` from which size to which it holds, `write` puts them into files,
//! `warnings` says what must be known before deploying them.

mod choice;
mod plan;
mod warnings;
mod write;

use serde::{Deserialize, Serialize};

pub use self::write::loading;
use super::{
    choose::{Effect, Entry},
    reader::Reader,
};
use crate::{
    collective::{Collective, Scale, Workload},
    text::{Column, Entry as Cell, Listing, keep_few},
    tuning::{
        platform::{Gpu, Platform, Version},
        recommend::Stretch,
        result::Recommendation,
        support::{Library, Support},
        sweep::Sweep,
    },
    units::{Size, percent},
};

/// What to write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// For whom.
    pub reader: Reader,
    /// For which library, which decides what can run.
    pub library: Library,
    /// A file for each scale; else one for all.
    pub by_scale: bool,
    /// The lowest rule begins at 0 and the highest has no end, also for readers that would keep the default there.
    pub open_ends: bool,
    /// The GPU's architecture as RCCL names it, for the file's name; without it `gfx950`.
    pub architecture: Option<String>,
    /// The library's version, where it is known: it decides what can run…
    pub version: Option<Version>,
    /// …and so does the GPU; where it is not told, that of `architecture`.
    pub gpu: Option<Gpu>,
}

impl Options {
    /// Where the file is deployed, as far as that is known.
    #[must_use]
    pub fn platform(&self) -> Platform {
        let gpu = self.gpu.or_else(|| self.architecture.as_ref()?.parse().ok());
        Platform { version: self.version, gpu, ..self.library.into() }
    }
}

/// What to write it from.
#[derive(Clone, Copy, Debug)]
pub struct Basis<'a> {
    /// What was measured.
    pub sweep: &'a Sweep,
    /// What to deploy, one for each measured size.
    pub recommendations: &'a [Recommendation],
    /// What to deploy between measured sizes, in their order; a reader that keeps the default does so between sizes of
    /// which no stretch tells.
    pub stretches: &'a [Stretch],
    /// Names of the sweep's files.
    pub names: &'a [String],
    /// Which of several sets of measurements it is.
    pub set: Option<&'a str>,
    /// The probability with which the intervals of gains hold, in 0..1.
    pub level: f64,
}

/// Tuner files and what must be known about them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Export {
    /// The files; none where every scale is refused, or one of those of a file.
    pub files: Vec<File>,
    /// Every size of every written collective and scale, and what this reader will run there.
    pub rows: Vec<Row>,
    /// Scales that this reader would make slower.
    pub refusals: Vec<Refusal>,
    /// What must be known before deploying.
    pub warnings: Vec<String>,
    /// How the reader is made to read a file.
    pub loading: String,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// The name to offer.
    pub name: String,
    /// Its text.
    pub text: String,
    /// How many rules stand in it.
    pub rules: usize,
}

/// A range of sizes in which the same runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The collective.
    pub collective: Collective,
    /// Nodes and ranks.
    pub scale: Scale,
    /// From this size on…
    pub min_bytes: u64,
    /// …up to and including this one.
    pub max_bytes: u64,
    /// The rule as it is written; `None` in a gap.
    pub rule: Option<String>,
    /// What this reader will run.
    pub effect: Effect,
    /// The measured sizes in it.
    pub sizes: Vec<u64>,
}

/// Why nothing is written for a scale, by a reader that can't keep the default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Refusal {
    /// The scale.
    pub scale: Scale,
    /// Where every forced configuration is slower than the default, and by how much in per cent of the default.
    pub losses: Vec<(Workload, f64)>,
    /// Collectives of which no configuration is known that a rule could ask for: they would run on one channel.
    pub unforced: Vec<Collective>,
}

impl Refusal {
    /// For people.
    #[must_use]
    pub fn message(&self) -> String {
        let places: Vec<String> = self
            .losses
            .iter()
            .map(|(workload, pct)| {
                format!("{} of {} ({})", workload.collective, Size(workload.size_bytes), percent(*pct))
            })
            .collect();
        let unforced: Vec<&str> = self.unforced.iter().map(|collective| collective.name()).collect();
        let slower = (!places.is_empty())
            .then(|| format!("every configuration that was forced is slower than it at {}", places.join(", ")));
        let one_channel = (!unforced.is_empty())
            .then(|| format!("without a rule that can be written, {} would run on one channel", unforced.join(", ")));
        let why: Vec<String> = slower.into_iter().chain(one_channel).collect();
        format!("Nothing is written for {}: this reader can't keep the default, and {}.", self.scale, why.join("; "))
    }
}

/// Writes tuner files.
#[must_use]
pub fn export(basis: &Basis<'_>, options: &Options) -> Export {
    let support = Support::new(options.platform().matrix(), basis.sweep);
    let mut warnings = Vec::new();
    let (mut plans, refusals) = plan::plans(basis, &support, options, &mut warnings);
    // One file for all scales would be loaded on those that are refused as well.
    if !refusals.is_empty() && !options.by_scale {
        plans.clear();
    }
    warnings::warnings(&plans, basis, options, &mut warnings);
    keep_few(&mut warnings);
    let files = write::files(&plans, basis, options);
    let rows = plans.iter().flat_map(|plan| plan.rows(&support, options)).collect();
    let name = files.first().map_or_else(|| write::file_name(options, None), |file| file.name.clone());
    Export { files, rows, refusals, warnings, loading: loading(options.reader, &name) }
}

/// What this reader will run, as a table.
#[must_use]
pub fn listing(rows: &[Row]) -> Listing {
    let columns = vec![
        Column::words("Collective", "collective"),
        Column::words("Scale", "nodes × ranks"),
        Column::numbers("From", "the smallest size"),
        Column::numbers("To", "the largest size, included"),
        Column::numbers("Measured", "how many measured sizes lie in it"),
        Column::words("What this reader will run", "what runs where the file is loaded"),
        Column::words("Rule", "as it is written; none in a gap"),
    ];
    let size = |bytes: u64| {
        let text = if bytes == u64::MAX { "∞".to_owned() } else { Size(bytes).to_string() };
        Cell { text, number: Some(bytes as f64) }
    };
    let cells = |row: &Row| {
        vec![
            Cell::text(row.collective.name()),
            Cell::text(format!("{} × {}", row.scale.nodes, row.scale.ranks)),
            size(row.min_bytes),
            size(row.max_bytes),
            Cell::number(Some(row.sizes.len() as f64), |count| format!("{count:.0}")),
            Cell::text(row.effect.to_string()),
            Cell::text(row.rule.clone().unwrap_or_default()),
        ]
    };
    Listing { columns, rows: rows.iter().map(cells).collect() }
}

/// Whether an effect leaves everything to the library.
#[must_use]
pub fn keeps_default(effect: &Effect) -> bool {
    effect.entry == Entry::Library && effect.channels == super::reader::Channels::Library
}
