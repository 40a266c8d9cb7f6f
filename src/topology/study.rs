//! Holds what was dropped and found, and answers questions about it.

use std::{borrow::Cow, sync::Arc};

use super::{
    charts,
    conditions::{Custom, Wanted, WantedError},
    dump::{Machine, Pattern},
    export::{self, ExportError, File, Form, Material},
    generate::RecipeError,
    layout, listing,
    model::{Topology, TopologyError},
    result::ResultFile,
    robust::{self, Damage},
    time::Clock,
    timeline::Timeline,
};
use crate::{
    progress::Progress,
    schedule::{
        analysis::analyse,
        plan::Schedule,
        problem::Problem,
        synthesize::{Method, Search, SearchState},
    },
    text::Listing,
    units::count,
};

mod answers;
mod verify;

pub use answers::{Opened, Shown, Source, Standing, Verified};
pub use verify::{check, chunks_each, verify};

/// Why a question can't be answered, for people.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// No topology was chosen.
    #[error("there is no topology yet: give one, or make one")]
    NoTopology,
    /// No search was begun.
    #[error("there is no schedule yet: begin a search")]
    NoSearch,
    /// None was found yet.
    #[error("no schedule was found yet; let the search go on")]
    NothingFound,
    /// A file that is not loaded.
    #[error("this file is not loaded any more: give it again")]
    NoFile,
    /// A topology that can't be used.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// A form that can't be made.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// What is asked for can't be done.
    #[error(transparent)]
    Wanted(#[from] WantedError),
    /// What can't leave.
    #[error(transparent)]
    Export(#[from] ExportError),
}

/// What one dropped file holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Links.
    Topology(Topology),
    /// A schedule.
    Result(ResultFile),
    /// A machine.
    Machine(Machine),
    /// Rings and trees.
    Patterns(Vec<Pattern>),
    /// Conditions, and bytes of a chunk where they say so.
    Conditions(Arc<Custom>, Option<u64>),
    /// An algorithm of MSCCL, and what came of running it: a sentence, or why it can't be run.
    Algorithm(Result<String, String>),
}

/// The workbench's state.
#[derive(Default)]
pub struct Study {
    parts: Vec<(String, Part)>,
    topology: Option<Topology>,
    at: Option<Current>,
}

/// A search and what it is about.
struct Current {
    wanted: Wanted,
    clock: Clock,
    search: Search,
    is_working: bool,
    seed: u64,
}

impl Study {
    /// Studies what files hold.
    #[must_use]
    pub fn new(parts: Vec<(String, Part)>) -> Self {
        Self { parts, ..Self::default() }
    }

    /// Nothing of this trade was dropped.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// What was dropped, by its name.
    #[must_use]
    pub fn parts(&self) -> &[(String, Part)] {
        &self.parts
    }

    /// Chooses a topology, and forgets what was found for another.
    ///
    /// # Errors
    /// It is not there, or can't be made.
    pub fn open(&mut self, source: Source) -> Result<Opened, StudyError> {
        let mut notes = Vec::new();
        let mut machine = None;
        let topology = match source {
            Source::Machine(number, rates) => {
                let mut machines = self.parts.iter().filter_map(|(name, part)| match part {
                    Part::Machine(machine) => Some((name, machine)),
                    _ => None,
                });
                let (name, of) = machines.nth(number as usize).ok_or(StudyError::NoFile)?;
                machine = Some(of.listing());
                let (topology, said) = of.topology(file_stem(name), &rates)?;
                notes = said;
                topology
            }
            Source::Made(recipe) => {
                notes.extend(recipe.kind.contention());
                recipe.make()?
            }
            Source::Edited(topology) => topology,
        };
        // An edited one may hold anything.
        topology.graph(1 << 20)?;
        notes.extend(topology.notes());
        let patterns = self.parts.iter().filter_map(|(_, part)| match part {
            Part::Patterns(patterns) => Some(patterns.iter().filter(|pattern| !pattern.channels.is_empty()).cloned()),
            _ => None,
        });
        let opened = Opened {
            places: layout::places(&topology),
            notes,
            machine,
            patterns: patterns.flatten().collect(),
            topology: topology.clone(),
        };
        self.topology = Some(topology);
        self.at = None;
        Ok(opened)
    }

    /// Begins a search.
    ///
    /// # Errors
    /// No topology was chosen, or the collective can't be done on it.
    pub fn begin(
        &mut self,
        wanted: Wanted,
        by: Method,
        seed: u64,
        effort: u64,
        progress: &mut dyn Progress,
    ) -> Result<Standing, StudyError> {
        let (problem, clock) = wanted.problem(self.topology()?)?;
        progress.report("Looking for bounds", 0, 2);
        let search = Search::new(problem, by, seed);
        progress.report("Looking for a schedule", 1, 2);
        self.at = Some(Current { wanted, clock, search, is_working: true, seed });
        self.improve(effort, progress)
    }

    /// Does another piece of a search.
    ///
    /// # Errors
    /// None was begun.
    pub fn improve(&mut self, effort: u64, progress: &mut dyn Progress) -> Result<Standing, StudyError> {
        let at = self.at.as_mut().ok_or(StudyError::NoSearch)?;
        if at.is_working {
            // A decision looks through the chunks that a link could carry.
            let most = MOST_LOOKED_AT / (at.search.problem.chunks() as u64 / 64 + 1);
            at.is_working = at.search.work(effort.clamp(1, most.max(1))) == SearchState::Working;
            if let Some((done, total)) = at.search.progress() {
                progress.report("Making the first schedule", done, total);
            }
        }
        self.standing()
    }

    /// How far the search is.
    ///
    /// # Errors
    /// None was begun.
    pub fn standing(&self) -> Result<Standing, StudyError> {
        let at = self.at.as_ref().ok_or(StudyError::NoSearch)?;
        let ns = |ticks: u64| at.clock.ns(ticks);
        let standing = Standing {
            time_ns: at.search.time().map(ns),
            bound_ns: ns(at.search.bound()),
            proven_ns: ns(at.search.proven()),
            is_optimal: at.search.is_optimal(),
            is_optimal_in_parts: at.search.is_optimal_in_parts(),
            is_working: at.is_working,
            sentence: String::new(),
        };
        Ok(Standing { sentence: sentence(&standing), ..standing })
    }

    /// What was chosen.
    ///
    /// # Errors
    /// Nothing was.
    pub fn topology(&self) -> Result<&Topology, StudyError> {
        self.topology.as_ref().ok_or(StudyError::NoTopology)
    }

    /// What is asked for, and how its ticks are counted; and the search for it.
    ///
    /// # Errors
    /// No search was begun.
    pub fn search(&self) -> Result<(&Wanted, &Clock, &Search, u64), StudyError> {
        let at = self.at.as_ref().ok_or(StudyError::NoSearch)?;
        Ok((&at.wanted, &at.clock, &at.search, at.seed))
    }

    fn found(&self) -> Result<(&Current, Cow<'_, Schedule>), StudyError> {
        let at = self.at.as_ref().ok_or(StudyError::NoSearch)?;
        let (schedule, _) = at.search.best().ok_or(StudyError::NothingFound)?;
        Ok((at, schedule))
    }

    /// The best so far as a timeline.
    ///
    /// # Errors
    /// Nothing was found.
    pub fn timeline(&self) -> Result<Timeline, StudyError> {
        let (at, schedule) = self.found()?;
        timeline(&at.search.problem, &schedule, &at.clock).ok_or(StudyError::NothingFound)
    }

    /// The best so far, looked at from all sides.
    ///
    /// # Errors
    /// Nothing was found.
    pub fn show(&self) -> Result<Shown, StudyError> {
        let (at, schedule) = self.found()?;
        let topology = self.topology()?;
        let standing = self.standing()?;
        let bounds = at.search.bounds();
        let mut sentences = vec![format!("{}: {}.", topology.name, at.wanted.words()), standing.sentence.clone()];
        let faults = at.search.problem.faults(&schedule);
        sentences.push(match faults.first() {
            None => format!(
                "{}, checked: durations, one chunk per link at a time, causality, completeness.",
                count(schedule.transfers.len() as u64, "transfer")
            ),
            Some(fault) => format!("The schedule is wrong: {fault}."),
        });
        let narrow = bounds.iter().max_by_key(|of| of.cut_time).map(|of| of.cut.clone()).unwrap_or_default();
        if let Some(of) = bounds.first() {
            sentences.push(format!("The bottleneck: {}.", listing::cut_words(topology, &of.cut)));
        }
        let crosses = |link: &super::model::Link| {
            narrow.inside.binary_search(&link.from).is_ok() && narrow.inside.binary_search(&link.to).is_err()
        };
        let crossing = (0..).zip(&topology.links).filter(|(_, link)| crosses(link)).map(|(index, _)| index).collect();
        let timeline = timeline(&at.search.problem, &schedule, &at.clock);
        let of_timeline = |make: &dyn Fn(&Timeline) -> Listing| timeline.as_ref().map(make).unwrap_or_default();
        Ok(Shown {
            standing,
            sentences,
            cut: (narrow.inside, crossing),
            bounds: listing::bounds(topology, &at.wanted, &bounds, &at.clock),
            links: of_timeline(&|timeline| listing::links(topology, timeline)),
            critical: of_timeline(&|timeline| listing::critical(topology, timeline)),
            utilisation: timeline.as_ref().map(charts::utilisation),
            progress: timeline.as_ref().map(|timeline| charts::progress(&[("Arrived", timeline)])),
            timeline,
        })
    }

    /// A loaded result file, by its place among them, on this topology: verified against what is asked for.
    ///
    /// # Errors
    /// It is not there, or the collective can't be done on the topology.
    pub fn verify(&self, file: u32) -> Result<Verified, StudyError> {
        let results = self.parts.iter().filter_map(|(_, part)| match part {
            Part::Result(result) => Some(result),
            _ => None,
        });
        let result = results.into_iter().nth(file as usize).ok_or(StudyError::NoFile)?;
        let of_file;
        let topology = match &self.topology {
            Some(topology) => topology,
            None => {
                of_file = result.topology.clone();
                &of_file
            }
        };
        let wanted = self.at.as_ref().map(|at| at.wanted.clone());
        Ok(verify(result, topology, &verify::wanted(result, topology, wanted))?)
    }

    /// What the search has found out since about a schedule that is still the best: how far it is, and the bounds.
    ///
    /// # Errors
    /// No search was begun.
    pub fn renew(&self, shown: &mut Shown) -> Result<(), StudyError> {
        let at = self.at.as_ref().ok_or(StudyError::NoSearch)?;
        shown.standing = self.standing()?;
        if let Some(sentence) = shown.sentences.get_mut(1) {
            sentence.clone_from(&shown.standing.sentence);
        }
        shown.bounds = listing::bounds(self.topology()?, &at.wanted, &at.search.bounds(), &at.clock);
        Ok(())
    }

    /// The best so far under bandwidths that vary.
    ///
    /// # Errors
    /// Nothing was found.
    pub fn varied(&self, question: &robust::Question) -> Result<robust::Varied, StudyError> {
        let (at, schedule) = self.found()?;
        Ok(robust::varied(&at.search.problem, &schedule, self.topology()?, &at.clock, question))
    }

    /// The best so far with each of some links or nodes slow or dead; with a new schedule for each, for which about `effort`
    /// decisions are made, where that is above zero.
    ///
    /// # Errors
    /// Nothing was found.
    pub fn damaged(&self, damages: &[Damage], effort: u64) -> Result<Listing, StudyError> {
        let (at, schedule) = self.found()?;
        // Three runs for each: as many as that is quick for.
        let most = (MOST_REPLAYED / schedule.transfers.len().max(1)).max(1);
        let damages = &damages[..damages.len().min(most)];
        let damaged = robust::damaged(&self.material(at, &schedule)?, damages, at.seed, effort);
        Ok(listing::damaged(self.topology()?, at.clock.ns(schedule.end(&at.search.problem.graph)), &damaged))
    }

    fn material<'a>(&'a self, at: &'a Current, schedule: &'a Schedule) -> Result<Material<'a>, StudyError> {
        Ok(Material {
            topology: self.topology()?,
            wanted: &at.wanted,
            problem: &at.search.problem,
            clock: &at.clock,
            schedule,
            bound_ns: at.clock.ns(at.search.bound()),
        })
    }

    /// The best so far as a file.
    ///
    /// # Errors
    /// Nothing was found, or it can't leave in this form.
    pub fn export(&self, form: Form) -> Result<File, StudyError> {
        let (at, schedule) = self.found()?;
        let transfers = schedule.transfers.len();
        if transfers > export::MOST_WRITTEN && form != Form::Topology {
            return Err(ExportError::TooLong(transfers).into());
        }
        let has_timeline = form == Form::Perfetto;
        let timeline = has_timeline.then(|| timeline(&at.search.problem, &schedule, &at.clock)).flatten();
        let material = self.material(at, &schedule)?;
        Ok(export::write(&material, timeline.as_ref(), form)?)
    }
}

/// Words of 64 chunks that a piece of a search looks through: a moment, whatever it was asked for.
const MOST_LOOKED_AT: u64 = 200_000_000;
/// Transfers that are replayed for damages of all links.
const MOST_REPLAYED: usize = 20_000_000;
/// The most pairs of a node and a chunk, and transfers, for which slack is looked at.
const MOST_ANALYSED: usize = 20_000_000;

/// What a dump is called after its file: without folders and extensions.
fn file_stem(path: &str) -> &str {
    let last = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let last = last.strip_suffix(".gz").unwrap_or(last);
    last.strip_suffix(".xml").unwrap_or(last)
}

/// A schedule as a timeline, with its slack and critical path where that is not too much to be looked at.
#[must_use]
pub fn timeline(problem: &Problem, schedule: &Schedule, clock: &Clock) -> Option<Timeline> {
    let chunks = problem.chunks();
    let is_small = (problem.graph.nodes() * chunks).max(schedule.transfers.len()) <= MOST_ANALYSED;
    let analysis = is_small.then(|| analyse(&problem.graph, schedule, chunks));
    Timeline::new(problem, schedule, analysis.as_ref(), clock.ticks_per_ns)
}

fn sentence(standing: &Standing) -> String {
    let Some(time_ns) = standing.time_ns else {
        let ended = "No schedule was found, and there is nothing more to try.";
        return if standing.is_working { "No schedule was found yet.".to_owned() } else { ended.to_owned() };
    };
    let (time, bound) = (listing::time(time_ns), listing::time(standing.bound_ns));
    let ratio = time_ns / standing.bound_ns;
    if standing.is_optimal {
        return if time_ns <= standing.bound_ns {
            format!("{time}: proven optimal, 1.000 times the bound.")
        } else {
            format!("{time}: proven optimal, though {ratio:.3} times the bound of {bound}.")
        };
    }
    if standing.is_optimal_in_parts {
        return format!(
            "{time}, {ratio:.3} times the bound of {bound}: no schedule that adds all up before it copies is shorter."
        );
    }
    let proven = if standing.proven_ns > standing.bound_ns {
        format!("; nothing below {} is possible", listing::time(standing.proven_ns))
    } else {
        String::new()
    };
    format!("{time}, {ratio:.3} times the bound of {bound}{proven}.")
}
