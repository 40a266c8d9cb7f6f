//! What the page asks about topologies, and what it is told.
//!
//! A page opens a topology ([`Question::Open`]), begins a search ([`Question::Begin`]) and asks for more of it
//! ([`Question::Improve`]) as long as the answer says `is_working` and the user's time is not over: every answer comes after a
//! bounded piece of work, so that a search is left by asking no more, and nothing found is lost. [`Question::Show`] then
//! gives the best so far as a [`super::film::Film`], which answers all that is drawn.

use serde::{Deserialize, Serialize};

use super::{
    conditions::Wanted,
    dump::{Pattern, Rates},
    export::{File, Form},
    film::Film,
    generate::Recipe,
    layout::Place,
    model::Topology,
    robust::{self, Damage},
};
use crate::{plot::Chart, schedule::synthesize::Method, text::Listing};

/// Which topology.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Source {
    /// A loaded one, by index of [`Opened::loaded`].
    Loaded(u32),
    /// A loaded dump of a machine, with rates.
    Machine(u32, Rates),
    /// A form.
    Made(Recipe),
    /// One that was edited.
    Edited(Topology),
}

/// Who looks for a schedule: [`Method::name`]'s place in [`Method::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct By(pub u8);

impl By {
    /// The method.
    #[must_use]
    pub fn method(self) -> Method {
        Method::ALL.get(usize::from(self.0)).copied().unwrap_or_default()
    }
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Question {
    /// Chooses a topology. Answers [`Answer::Opened`].
    Open(Source),
    /// Begins a search and does a first piece of it. Answers [`Answer::Standing`].
    Begin {
        /// What is asked for.
        wanted: Wanted,
        /// Who looks.
        by: By,
        /// Its seed.
        seed: u64,
        /// About how many decisions on a transfer to make: 100,000 take some 20 ms.
        effort: u64,
    },
    /// Does another piece. Answers [`Answer::Standing`].
    Improve {
        /// About how many decisions to make.
        effort: u64,
    },
    /// The best schedule so far. Answers [`Answer::Shown`].
    Show,
    /// Keeps the best so far under a name, to be compared. Answers [`Answer::Compared`].
    Keep(String),
    /// Forgets what was kept. Answers [`Answer::Compared`].
    Forget,
    /// A loaded result file on this topology, verified, and shown where nothing is wrong with it. Answers [`Answer::Verified`].
    Verify(u32),
    /// The best so far under bandwidths that vary. Answers [`Answer::Varied`].
    Vary(robust::Question),
    /// The best so far with each of these links or nodes slow or dead, and about how many decisions to make for a new schedule
    /// of each, 0 for none. Answers [`Answer::Damaged`].
    Damage(Vec<Damage>, u64),
    /// New schedules for damaged links. Answers [`Answer::Again`].
    Again(Vec<Damage>),
    /// The best so far as a file. Answers [`Answer::File`].
    Export(Form),
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(clippy::large_enum_variant, reason = "one at a time, and Response boxes it")]
pub enum Answer {
    /// Of [`Question::Open`].
    Opened(Box<Opened>),
    /// Of [`Question::Begin`] and [`Question::Improve`].
    Standing(Standing),
    /// Of [`Question::Show`].
    Shown(Box<Shown>),
    /// Of [`Question::Keep`] and [`Question::Forget`].
    Compared {
        /// What was kept, with the best so far.
        listing: Listing,
        /// What has arrived over time.
        chart: Option<Chart>,
        /// What was kept, as films.
        kept: Vec<(String, Film)>,
    },
    /// Of [`Question::Verify`].
    Verified(Box<Verified>),
    /// Of [`Question::Vary`].
    Varied {
        /// In ns: planned, and within which 50, 95 and 99 of 100 runs end.
        ns: [f64; 4],
        /// In words.
        sentence: String,
    },
    /// Of [`Question::Damage`].
    Damaged(Listing),
    /// Of [`Question::Again`].
    Again(Listing),
    /// Of [`Question::Export`].
    File(File),
}

/// A topology that was chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// Names of the loaded topologies.
    pub loaded: Vec<String>,
    /// Names of the loaded dumps of machines.
    pub machines: Vec<String>,
    /// Names of the loaded result files.
    pub results: Vec<String>,
    /// Names of the loaded conditions.
    pub conditions: Vec<(String, Wanted)>,
    /// The chosen one.
    pub topology: Topology,
    /// Where its nodes stand.
    pub places: Vec<Place>,
    /// What must be known of it.
    pub notes: Vec<String>,
    /// GPUs of a machine, with their paths and ports.
    pub machine: Option<Listing>,
    /// Rings and trees that were dumped, to be drawn over it.
    pub patterns: Vec<Pattern>,
}

/// How far a search is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// The best so far, in ns.
    pub time_ns: Option<f64>,
    /// The bound that is shown (L2 or L3), in ns.
    pub bound_ns: f64,
    /// What is proven besides, in ns.
    pub proven_ns: f64,
    /// Nothing shorter is possible.
    pub is_optimal: bool,
    /// Nothing shorter is possible that adds all up before it copies.
    pub is_optimal_in_parts: bool,
    /// More work may find something better.
    pub is_working: bool,
    /// Decisions so far.
    pub effort: u64,
    /// In a sentence.
    pub sentence: String,
}

/// The best schedule so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    /// How far the search is.
    pub standing: Standing,
    /// What the schedule is and how good it is, in sentences.
    pub sentences: Vec<String>,
    /// The schedule; `None` where it is too long to travel.
    pub film: Option<Film>,
    /// Nodes on one side of the bottleneck, and the links that leave it.
    pub cut: (Vec<u32>, Vec<u32>),
    /// The bounds, with what makes them.
    pub bounds: Listing,
    /// Every link.
    pub links: Listing,
    /// The critical path.
    pub critical: Listing,
    /// Busy links over time.
    pub utilisation: Option<Chart>,
    /// What has arrived over time.
    pub progress: Option<Chart>,
}

/// A result file that was checked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verified {
    /// Its dialect.
    pub dialect: String,
    /// What was found, in sentences.
    pub sentences: Vec<String>,
    /// What is wrong with it; empty where nothing is.
    pub faults: Vec<String>,
    /// Its time in ns.
    pub time_ns: f64,
    /// The bound, in ns.
    pub bound_ns: f64,
    /// The schedule.
    pub film: Option<Film>,
}
