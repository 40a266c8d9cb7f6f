//! What can be asked of a study, and what it answers.

use serde::{Deserialize, Serialize};

use super::{
    export::File, features::Settings, imported::Judged, merge::Merged, models::Kind, noise::Ceiling, predict,
    result::ModelScores, verdict::Verdict,
};
use crate::{plot::Chart, text::Listing};

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Question {
    /// Chooses a run and columns, and forgets all folds. Answers [`Answer::Studied`].
    Study(Settings),
    /// Does some jobs from the run alone, on any worker. Answers [`Answer::Folds`].
    Folds {
        /// From [`Studied::run`].
        run: Vec<u8>,
        /// Which of [`Studied::jobs`], by index.
        jobs: Vec<u32>,
    },
    /// Takes further folds in, in any order, and judges by all that are there. Answers [`Answer::Judged`].
    Judge {
        /// What [`Answer::Folds`] carried, one per call.
        folds: Vec<Vec<u8>>,
        /// Whose predictions are shown; `None` for those of the verdict.
        shown: Option<Shown>,
    },
    /// Predicts one kernel. Answers [`Answer::Predicted`].
    Predict(predict::Question),
    /// A measured kernel, by index, to be predicted; `None` for the first that overlaps. Answers [`Answer::Kernel`].
    Kernel(Option<u32>),
    /// Which features matter. Answers [`Answer::Importances`].
    Importances,
    /// Predictions out of fold as CSV. Answers [`Answer::File`].
    Predictions(Kind),
    /// Trees as a model of XGBoost. Answers [`Answer::File`].
    Trees(Kind),
}

/// Whose predictions are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Shown {
    /// Out of fold, those of a model.
    Model(Kind),
    /// Those of a model that was dropped.
    Imported {
        /// Which of [`Studied::models`].
        model: u32,
        /// It is fed features with mean 0 and deviation 1, else features as they are.
        standardised: bool,
    },
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// Of [`Question::Study`].
    Studied(Box<Studied>),
    /// Of [`Question::Folds`]: opaque, for [`Question::Judge`].
    Folds(Vec<u8>),
    /// Of [`Question::Judge`].
    Judged(Box<Results>),
    /// Of [`Question::Kernel`].
    Kernel(Box<predict::Question>),
    /// Of [`Question::Predict`].
    Predicted {
        /// What is to be expected, in words.
        sentences: Vec<String>,
        /// The nearest measured kernels, by index.
        nearest: Vec<u32>,
        /// The same as a table.
        listing: Listing,
    },
    /// Of [`Question::Importances`].
    Importances(Listing),
    /// Of [`Question::Predictions`] and [`Question::Trees`].
    File(File),
}

/// A run among others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Names of its files.
    pub name: String,
    /// Its kernels.
    pub kernels: u64,
    /// Those that overlap communication.
    pub overlapped: u64,
    /// Different names of those.
    pub names: u64,
}

/// What is known of a run before anything is learnt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Studied {
    /// All runs.
    pub runs: Vec<Run>,
    /// The one that is studied, and how.
    pub settings: Settings,
    /// Its columns, and whether models are given them.
    pub columns: Vec<(String, bool)>,
    /// Names of its kernels that overlap communication.
    pub names: Vec<String>,
    /// How statistics and metrics came together, by the name of the run.
    #[serde(skip)]
    pub merged: Vec<(String, Merged)>,
    /// What is odd about it, in words.
    #[serde(skip)]
    pub checks: Vec<String>,
    /// What must be known of all files.
    #[serde(skip)]
    pub notes: Vec<String>,
    /// Runs that were measured twice.
    #[serde(skip)]
    pub ceilings: Vec<Ceiling>,
    /// Names of the models that were dropped.
    pub models: Vec<String>,
    /// Those that fit the run.
    #[serde(skip)]
    pub imported: Vec<Judged>,
    /// The same as a table.
    #[serde(skip)]
    pub imported_listing: Listing,
    /// The run, for [`Question::Folds`].
    pub run: Vec<u8>,
    /// How long each job is expected to take, relative to the others; its index names the job.
    pub jobs: Vec<f64>,
    /// The jobs in rounds, after each of which there is more to be told.
    pub rounds: Vec<Vec<u32>>,
    /// By the models that learn nothing.
    #[serde(skip)]
    pub results: Results,
}

/// The comparison of the models so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Scores of each model; without a mean where folds are missing.
    #[serde(skip)]
    pub models: Vec<ModelScores>,
    /// The same as a table.
    #[serde(skip)]
    pub listing: Listing,
    /// Which to use; `None` where nothing overlaps.
    #[serde(skip)]
    pub verdict: Option<Verdict>,
    /// Whose predictions follow.
    pub shown: Option<Shown>,
    /// Each kernel name.
    #[serde(skip)]
    pub names: Listing,
    /// Predicted over measured slowdowns.
    #[serde(skip)]
    pub predicted_over_measured: Option<Chart>,
    /// How many kernels are missed by how much, beside no slowdown at all.
    #[serde(skip)]
    pub errors: Option<Chart>,
}
