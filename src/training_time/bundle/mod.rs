//! The contents of all dropped files together: clusters with their samples, runs to predict, and open questions.

mod cluster_of;
mod gather;
mod identify;
mod merge;
mod questions;

use serde::{Deserialize, Serialize};

pub use gather::bring_together;
pub use questions::{Answers, Candidate, FileAnswer, FileQuestion, QuestionKind, Unit};

use super::{
    catalogue::Catalogue,
    estimate::{own_steps::NamedStep, question::EstimateSettings},
    models::ModelFile,
    read::{ConfiguredRun, Sampling, TrainingFile, name::leaf},
    regressors::SavedModel,
    run::Run,
    samples::{Cluster, SourceLine},
    steps::{ReduceTable, StepTable},
    trace::Trace,
};
use crate::text::{Problems, excerpt};

/// The most bytes of one file that is not a trace: of those only sums are kept.
pub const MOST_FILE_BYTES: u64 = 64 << 20;
/// The most bytes of all files together, but for traces.
pub const MOST_BYTES: u64 = 256 << 20;
/// The most files of a bundle.
pub const MOST_FILES: usize = 4096;

/// A file that was read, before it is joined with others.
#[derive(Clone, Debug, PartialEq)]
pub struct DroppedFile {
    /// The path as far as it is known, such as `Perlmutter/operator/A100_linear1_fp16.csv`.
    pub path: String,
    /// The size in bytes, before it is unpacked.
    pub size_bytes: u64,
    /// What was read of the file, before others are known.
    pub part: TrainingFile,
    /// The rows that were left out.
    pub problems: Problems,
    /// Notes from reading the file.
    pub notes: Vec<String>,
}

/// How a file is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileUse {
    /// Its rows or contents are part of the bundle.
    Used,
    /// The file is understood but not needed, for this reason.
    KnownUnused(String),
    /// The file is not used until a question about it is answered.
    Asked,
    /// The file can't be used, for this reason.
    Unrecognised(String),
}

/// A file of a bundle. [`SourceLine::file`] is its index.
#[derive(Clone, Debug, PartialEq)]
pub struct BundleFile {
    /// The path with folders, as in [`DroppedFile::path`].
    pub path: String,
    /// The size in bytes, as in [`DroppedFile::size_bytes`].
    pub size_bytes: u64,
    /// A description of the contents, such as `samples of operator linear1, fp16`.
    pub holds: String,
    /// The index of its cluster in [`Bundle::clusters`]; `None` for files that belong to no cluster.
    pub cluster: Option<usize>,
    /// The number of rows that were read.
    pub rows: usize,
    /// The number of rows that an earlier file contains as well, which count once.
    pub duplicate_rows: usize,
    /// How the file is used.
    pub fate: FileUse,
    /// The rows that were left out.
    pub problems: Problems,
    /// What the report says about the file, a sentence each.
    pub notes: Vec<String>,
}

/// The contents of all dropped files together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bundle {
    /// All files, in the order in which they were dropped.
    pub files: Vec<BundleFile>,
    /// The clusters, in the order of their first files.
    pub clusters: Vec<Cluster>,
    /// The built-in catalogue, extended by dropped ones.
    pub catalogue: Catalogue,
    /// The configurations of runs to predict, one for each file of them.
    pub runs: Vec<ConfiguredRun>,
    /// The grids of points that were meant to be sampled.
    pub samplings: Vec<Sampling>,
    /// The tables of measured steps.
    pub steps: Vec<StepTable>,
    /// The all-reduce tables of nccl-tests, each over the GPUs of a node.
    pub reduces: Vec<ReduceTable>,
    /// The regressors that were saved by XGBoost.
    pub models: Vec<SavedModel>,
    /// Models whose steps can be estimated, and how they are trained, each with its file's name.
    pub model_files: Vec<(String, ModelFile)>,
    /// Measured steps of tables, which name no model.
    pub own_steps: Vec<NamedStep>,
    /// Traces of training steps, each with its file's name.
    pub traces: Vec<(String, Trace)>,
    /// The names of the files of catalogues.
    pub catalogue_files: Vec<String>,
    /// The questions about files that are not answered yet.
    pub questions: Vec<FileQuestion>,
    /// Notes that concern several files.
    pub notes: Vec<String>,
}

impl Bundle {
    /// What the files say of how a model is trained: its own file, and those that have no model.
    pub fn training_of<'a>(&'a self, model: &'a str) -> impl Iterator<Item = (&'a str, &'a ModelFile)> {
        let is_of = move |(name, file): &&(String, ModelFile)| file.model.is_none() || name == model;
        self.model_files.iter().filter(is_of).map(|(name, file)| (name.as_str(), file))
    }

    /// The measured steps of a model: those of tables, which name none, and that of its own log.
    pub fn own_steps_of(&self, model: &str) -> Vec<NamedStep> {
        let logged = self
            .training_of(model)
            .filter_map(|(name, file)| Some((name.to_owned(), EstimateSettings::logged_step(file)??)));
        self.own_steps.iter().cloned().chain(logged).collect()
    }

    /// Memory of a run's device in GiB: what the run says, else the catalogue of the GPU of a cluster, by index.
    pub fn memory_gib(&self, run: &Run, cluster: usize) -> Option<f64> {
        let of_gpu = || self.catalogue.gpu(&self.clusters.get(cluster)?.gpu)?.memory_gib;
        run.execution.memory_gib.or_else(of_gpu)
    }

    /// The cluster whose samples a run names: by its cluster, else by its GPU. Where it names none, the only one; and
    /// where it names a cluster that is not there, but no GPU, the only one stands in.
    pub fn cluster_for(&self, run: &Run) -> Option<usize> {
        let is_of_gpu = |cluster: &Cluster| run.gpu.is_none() || self.is_of_gpu(run, cluster);
        let named = run.cluster.as_deref().and_then(|name| {
            self.clusters.iter().position(|cluster| cluster.name.eq_ignore_ascii_case(name) && is_of_gpu(cluster))
        });
        let by_gpu = || run.gpu.as_ref().and_then(|_| self.clusters.iter().position(is_of_gpu));
        let only = || (self.clusters.len() == 1 && run.gpu.is_none()).then_some(0);
        named.or_else(by_gpu).or_else(only)
    }

    /// Whether samples are of the GPU that a run names, by any name that the catalogue has for it. Samples without a
    /// GPU's name are.
    fn is_of_gpu(&self, run: &Run, cluster: &Cluster) -> bool {
        let Some(wanted) = run.gpu.as_deref() else { return true };
        let name = |gpu: &str| self.catalogue.gpu(gpu).map_or(gpu, |known| known.name.as_str()).to_ascii_lowercase();
        cluster.gpu.is_empty() || name(wanted) == name(&cluster.gpu)
    }

    /// A sentence on samples that are of another GPU than the run names.
    pub fn other_gpu(&self, run: &Run, cluster: &Cluster) -> Option<String> {
        let wanted = run.gpu.as_deref().filter(|_| !self.is_of_gpu(run, cluster))?;
        let held: Vec<String> =
            self.clusters.iter().map(|cluster| format!("{} ({})", cluster.gpu, cluster.name)).collect();
        Some(format!(
            "the run is of the GPU {}, and there are samples of {}: give samples of that GPU, or choose the cluster whose \
             samples stand in",
            excerpt(wanted),
            held.join(", ")
        ))
    }

    /// In words, that samples stand in for those of the GPU or of the cluster that a run names.
    pub fn stands_in(&self, run: &Run, cluster: &Cluster) -> Option<String> {
        let gpu = run.gpu.as_deref().filter(|_| !self.is_of_gpu(run, cluster));
        let other = run.cluster.as_deref().filter(|name| !name.eq_ignore_ascii_case(&cluster.name));
        let wanted = match (gpu, other) {
            (Some(gpu), _) => format!("GPU {}", excerpt(gpu)),
            (None, Some(name)) => format!("cluster {}", excerpt(name)),
            (None, None) => return None,
        };
        Some(format!(
            "Samples of {} ({}) stand in for those of {wanted}, which the run names",
            cluster.gpu, cluster.name
        ))
    }

    /// Files of which nothing can be used: their names without folders, and why.
    pub fn refused(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|file| match &file.fate {
            FileUse::Unrecognised(why) => Some((leaf(&file.path), why.as_str())),
            _ => None,
        })
    }

    /// A location in words, such as `line 214 of Perlmutter/operator/A100_linear1_fp16.csv`.
    pub fn place(&self, place: SourceLine) -> String {
        let path = self.files.get(place.file as usize).map_or("a file that is gone", |file| file.path.as_str());
        format!("line {} of {path}", place.line)
    }
}
