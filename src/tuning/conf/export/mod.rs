//! Recommendations become a tuner file that one of the readers takes as it is meant.
//!
//! `choice` decides what a rule asks for at a size, `plan` from which size to which it holds, `write` puts them into
//! files, `warnings` says what to consider before deploying them.

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
    conf::built_in::Table,
    text::{Column, Entry as Cell, Listing, keep_few},
    tuning::{
        platform::{Gpu, Library, Platform, Version},
        recommend::BetweenSizes,
        result::Recommendation,
        support::SupportMatrix,
        sweep::Sweep,
    },
    units::{Size, percent},
};

/// The settings with which tuner files are written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportOptions {
    /// The tuner reader for which the files are written.
    pub reader: Reader,
    /// For which library, which decides what can run.
    pub library: Library,
    /// A file for each scale; else one for all.
    pub by_scale: bool,
    /// The lowest rule begins at 0 and the highest has no end, also for readers that would keep the default there.
    pub open_ends: bool,
    /// The GPU, by its architecture or its name, in the name that RCCL looks for; without it that of `gpu`, or
    /// `gfx950`.
    pub architecture: Option<String>,
    /// The version of the library, where it is known: it decides what can run.
    pub version: Option<Version>,
    /// The GPU, which decides what can run as well. That of `architecture` counts before it.
    pub gpu: Option<Gpu>,
    /// The rows of RCCL's own table, which this file takes away, are not written after the rules.
    pub leaves_out_built_in: bool,
    /// Between measured sizes rules are written only for what is deployed at one of the two, and none for what the
    /// model expects of others.
    pub measured_only: bool,
}

impl ExportOptions {
    /// Where the file is deployed, as far as that is known.
    pub fn platform(&self) -> Platform {
        let gpu = self.named_gpu().or(self.gpu);
        Platform { version: self.version, gpu, ..self.library.of_reader(self.reader).into() }
    }

    /// The GPU in the name that RCCL looks for, where one is chosen and known.
    pub(super) fn named_gpu(&self) -> Option<Gpu> {
        self.architecture.as_ref().filter(|_| self.reader == Reader::Rccl)?.parse().ok()
    }

    /// The table of the library that this file takes away; `None` where there is none, or the GPU isn't known.
    pub fn displaced(&self) -> Option<Table> {
        let Platform { library: Library::Rccl, version, gpu, .. } = self.platform() else { return None };
        // Without an architecture the file has the name that RCCL looks for on this one.
        let named = (self.reader == Reader::Rccl && self.architecture.is_none()).then_some(Gpu::Gfx(0x950));
        Table::find(gpu.or(named)?, version)
    }

    /// The table whose rows are written after the rules, so that they answer where no rule does.
    pub fn carried(&self) -> Option<Table> {
        self.displaced().filter(|_| !self.leaves_out_built_in)
    }
}

/// The measurements and recommendations from which tuner files are written.
#[derive(Clone, Copy, Debug)]
pub struct ExportInput<'a> {
    /// The measurements, which say what can run.
    pub sweep: &'a Sweep,
    /// The recommendations, one for each measured size.
    pub recommendations: &'a [Recommendation],
    /// The recommendations between measured sizes, in their order. A reader that can keep the default does so between
    /// sizes that none of them covers.
    pub between_sizes: &'a [BetweenSizes],
    /// Names of the sweep's files.
    pub names: &'a [String],
    /// Which of several sets of measurements it is.
    pub set: Option<&'a str>,
    /// The probability with which the intervals of gains hold, in 0..1.
    pub level: f64,
}

/// Tuner files with their warnings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConfExport {
    /// The files; none where every scale is refused, or one of those of a file.
    pub files: Vec<ConfFile>,
    /// Every size of every written collective and scale, and what this reader will run there.
    pub rows: Vec<SizeRangeEffect>,
    /// Scales that this reader would make slower.
    pub refusals: Vec<Refusal>,
    /// Warnings to read before deploying.
    pub warnings: Vec<String>,
    /// How the reader is made to read a file.
    pub loading: String,
}

/// A tuner file as text, with its warnings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfFile {
    /// The file name that is proposed.
    pub name: String,
    /// The contents of the file.
    pub text: String,
    /// How many rules stand in it, the rows of the library's own table included.
    pub rules: usize,
}

/// A range of sizes in which the same runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeRangeEffect {
    /// The collective of the rule.
    pub collective: Collective,
    /// The number of nodes and ranks.
    pub scale: Scale,
    /// The smallest message size of the range, in bytes.
    pub min_bytes: u64,
    /// The largest message size of the range, in bytes; it belongs to the range.
    pub max_bytes: u64,
    /// The rule as it is written, or the row of the library's own table; `None` in a gap.
    pub rule: Option<String>,
    /// The effect with this reader.
    pub effect: Effect,
    /// The measured sizes in it.
    pub sizes: Vec<u64>,
}

/// Why nothing is written for a scale, by a reader that can't keep the default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Refusal {
    /// The scale that is left out.
    pub scale: Scale,
    /// Where every forced configuration is slower than the default, and by how much in per cent of the default.
    pub losses: Vec<(Workload, f64)>,
    /// Collectives of which no configuration is known that a rule could ask for: they would run on one channel.
    pub unforced: Vec<Collective>,
}

impl Refusal {
    /// The name as it is shown on the page and in the terminal.
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

/// Writes tuner files, with what each of their size ranges makes run.
pub fn export(basis: &ExportInput<'_>, options: &ExportOptions) -> ConfExport {
    let support = SupportMatrix::new(options.platform().matrix(), basis.sweep);
    let mut warnings = Vec::new();
    let (mut plans, refusals) = plan::plans(basis, &support, options, &mut warnings);
    // One file for all scales would be loaded on those that are refused as well.
    if !refusals.is_empty() && !options.by_scale {
        plans.clear();
    }
    warnings::warnings(&plans, basis, options, &mut warnings);
    let carried = options.carried().map_or_else(Vec::new, |table| table.rules(options.reader));
    let is_refused = plans.is_empty() && !refusals.is_empty();
    let files = if is_refused { Vec::new() } else { write::files(&plans, basis, options) };
    files.iter().for_each(|file| warnings.extend(warnings::without_effect(file, options)));
    keep_few(&mut warnings);
    let rows = plans.iter().flat_map(|plan| plan.rows(&support, &carried, options)).collect();
    let name = files.first().map_or_else(|| write::file_name(options, None), |file| file.name.clone());
    ConfExport { files, rows, refusals, warnings, loading: loading(options.reader, &name) }
}

/// The effects of the written rules with this reader, as a table.
pub fn listing(rows: &[SizeRangeEffect]) -> Listing {
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
    let cells = |row: &SizeRangeEffect| {
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
pub fn keeps_default(effect: &Effect) -> bool {
    effect.entry == Entry::Library && effect.channels == super::reader::Channels::Library
}
