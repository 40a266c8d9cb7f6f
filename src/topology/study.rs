//! The state of the topology workbench: what was loaded and found, and answers about it.

use std::{borrow::Cow, sync::Arc};

use super::{
    charts,
    conditions::{CollectiveRequest, Custom, RequestError},
    dump::{Graphs, Machine},
    export::{self, ExportError, Form, Material},
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
    report::TextFile,
    schedule::{
        analysis::analyse,
        bound::Bounds,
        demand::Demand,
        plan::Schedule,
        problem::Problem,
        synthesize::{Method, Search, SearchState},
    },
    text::Listing,
    units::count,
};

mod answers;
mod verify;

pub use answers::{Opened, SearchStatus, Shown, Source, Verified};
pub use verify::{check, chunks_each, verify};

/// Why a request can't be answered.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// Returned when no topology was chosen yet.
    #[error("there is no topology yet: give one, or make one")]
    NoTopology,
    /// Returned when no search was started yet.
    #[error("there is no schedule yet: begin a search")]
    NoSearch,
    /// The search has no schedule yet.
    #[error("no schedule was found yet; let the search go on")]
    NothingFound,
    /// Returned when the chosen file is not loaded any more.
    #[error("this file is not loaded any more: give it again")]
    NoFile,
    /// Returned when the topology breaks a rule of its own.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// Returned when the form can't be generated.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// The collective is impossible on the topology.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// Returned when the schedule can't be exported.
    #[error(transparent)]
    Export(#[from] ExportError),
}

/// The content of a loaded file.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// A graph of links, to look for schedules on.
    Topology(Topology),
    /// A result file: a schedule with the links that it uses.
    Result(ResultFile),
    /// A dump of a machine: its GPUs, their links and ports.
    Machine(Machine),
    /// A dump of the rings and trees that NCCL made.
    Patterns(Graphs),
    /// Custom conditions, and the size of a chunk in bytes if the file gives it.
    Conditions(Arc<Custom>, Option<u64>),
    /// An algorithm of MSCCL, with the result of running it: a sentence, or what is wrong.
    Algorithm(Result<String, super::msccl::Refusal>),
    /// A plan of MSCCL++, with what running it shows.
    Plan(super::mscclpp::Verdict),
}

/// The state of the workbench: the loaded files, the chosen topology, and the search.
#[derive(Default)]
pub struct Study {
    parts: Vec<(String, Part)>,
    topology: Option<Topology>,
    at: Option<ActiveSearch>,
}

/// A search with its collective and its ticks.
struct ActiveSearch {
    request: CollectiveRequest,
    clock: Clock,
    search: Search,
    is_working: bool,
    seed: u64,
}

impl Study {
    /// Creates the state for loaded files with their names.
    pub fn new(parts: Vec<(String, Part)>) -> Self {
        Self { parts, ..Self::default() }
    }

    /// Whether no file of this workbench is loaded.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The loaded files with their names.
    pub fn parts(&self) -> &[(String, Part)] {
        &self.parts
    }

    /// Chooses a topology and discards the search on the previous one.
    ///
    /// # Errors
    /// Returns a [`StudyError`] if the topology is not loaded, or invalid.
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
                notes.extend(recipe.contention());
                recipe.make()?
            }
            Source::Edited(topology) => topology,
        };
        // An edited topology may be invalid.
        topology.graph(1 << 20)?;
        notes.extend(topology.notes());
        let patterns = self.parts.iter().filter_map(|(_, part)| match part {
            Part::Patterns(graphs) => {
                Some(graphs.patterns.iter().filter(|pattern| !pattern.channels.is_empty()).cloned())
            }
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

    /// Starts a search.
    ///
    /// # Errors
    /// Returns a [`StudyError`] if no topology is chosen, or the collective is impossible on it.
    pub fn begin(
        &mut self,
        request: CollectiveRequest,
        by: Method,
        seed: u64,
        effort: u64,
        progress: &mut dyn Progress,
    ) -> Result<SearchStatus, StudyError> {
        let (problem, clock) = request.problem(self.topology()?)?;
        progress.report("Looking for bounds", 0, 2);
        let search = Search::new(problem, by, seed);
        progress.report("Looking for a schedule", 1, 2);
        self.at = Some(ActiveSearch { request, clock, search, is_working: true, seed });
        self.improve(effort, progress)
    }

    /// Continues the search for a slice.
    ///
    /// # Errors
    /// Returns [`StudyError::NoSearch`] if none was started.
    pub fn improve(&mut self, effort: u64, progress: &mut dyn Progress) -> Result<SearchStatus, StudyError> {
        let at = self.at.as_mut().ok_or(StudyError::NoSearch)?;
        if at.is_working {
            // A decision inspects all chunks that a link could carry.
            let most = MOST_LOOKED_AT / (at.search.problem.chunks() as u64 / 64 + 1);
            at.is_working = at.search.work(effort.clamp(1, most.max(1))) == SearchState::Working;
            if let Some((done, total)) = at.search.progress() {
                progress.report("Making the first schedule", done, total);
            }
        }
        self.status()
    }

    /// The status of the search.
    ///
    /// # Errors
    /// Returns [`StudyError::NoSearch`] if none was started.
    pub fn status(&self) -> Result<SearchStatus, StudyError> {
        let at = self.at.as_ref().ok_or(StudyError::NoSearch)?;
        let ns = |ticks: u64| at.clock.ns(ticks);
        let status = SearchStatus {
            time_ns: at.search.time().map(ns),
            bound_ns: ns(at.search.bound()),
            proven_ns: ns(at.search.proven()),
            is_optimal: at.search.is_optimal(),
            is_optimal_in_parts: at.search.is_optimal_in_parts(),
            is_working: at.is_working,
            sentence: String::new(),
        };
        Ok(SearchStatus { sentence: sentence(&status), ..status })
    }

    /// The chosen topology.
    ///
    /// # Errors
    /// Returns [`StudyError::NoTopology`] if none is chosen.
    pub fn topology(&self) -> Result<&Topology, StudyError> {
        self.topology.as_ref().ok_or(StudyError::NoTopology)
    }

    /// The requested collective, the clock of its ticks, the search, and its seed.
    ///
    /// # Errors
    /// Returns [`StudyError::NoSearch`] if none was started.
    pub fn search(&self) -> Result<(&CollectiveRequest, &Clock, &Search, u64), StudyError> {
        let at = self.at.as_ref().ok_or(StudyError::NoSearch)?;
        Ok((&at.request, &at.clock, &at.search, at.seed))
    }

    fn found(&self) -> Result<(&ActiveSearch, Cow<'_, Schedule>), StudyError> {
        let at = self.at.as_ref().ok_or(StudyError::NoSearch)?;
        let (schedule, _) = at.search.best().ok_or(StudyError::NothingFound)?;
        Ok((at, schedule))
    }

    /// The best schedule so far as a timeline.
    ///
    /// # Errors
    /// Returns [`StudyError::NothingFound`] before the first schedule.
    pub fn timeline(&self) -> Result<Timeline, StudyError> {
        let (at, schedule) = self.found()?;
        timeline(&at.search.problem, &schedule, &at.clock).ok_or(StudyError::NothingFound)
    }

    /// The best schedule so far with its bounds, tables and charts.
    ///
    /// # Errors
    /// Returns [`StudyError::NothingFound`] before the first schedule.
    pub fn show(&self) -> Result<Shown, StudyError> {
        let (at, schedule) = self.found()?;
        let topology = self.topology()?;
        let status = self.status()?;
        let bounds = at.search.bounds();
        let mut sentences = vec![status.sentence.clone(), format!("{}: {}.", topology.name, at.request.words())];
        let faults = at.search.problem.faults(&schedule);
        sentences.push(match faults.first() {
            None => format!(
                "{}, checked: durations, one chunk per link at a time, causality, completeness.",
                count(schedule.transfers.len() as u64, "transfer")
            ),
            Some(fault) => format!("The schedule is wrong: {fault}."),
        });
        let cut = |(phase, of): (usize, &&Bounds)| listing::cut_of_phase(topology, &at.request, phase, &of.cut);
        let narrow = bounds.iter().enumerate().max_by_key(|(_, of)| of.cut_time).map(cut).unwrap_or_default();
        if let Some(first) = bounds.iter().enumerate().next().map(cut) {
            sentences.push(format!("The bottleneck: {}.", listing::cut_words(topology, &first)));
        }
        let crosses = |link: &super::model::Link| {
            narrow.inside.binary_search(&link.from).is_ok() && narrow.inside.binary_search(&link.to).is_err()
        };
        let crossing = (0..).zip(&topology.links).filter(|(_, link)| crosses(link)).map(|(index, _)| index).collect();
        let timeline = timeline(&at.search.problem, &schedule, &at.clock);
        let of_timeline = |make: &dyn Fn(&Timeline) -> Listing| timeline.as_ref().map(make).unwrap_or_default();
        Ok(Shown {
            status,
            sentences,
            cut: (narrow.inside, crossing),
            bounds: listing::bounds(topology, &at.request, &bounds, at.search.problem.repetitions(), &at.clock),
            links: of_timeline(&|timeline| listing::links(topology, timeline)),
            critical: of_timeline(&|timeline| listing::critical(topology, timeline)),
            utilisation: timeline.as_ref().map(charts::utilisation),
            progress: timeline.as_ref().map(|timeline| charts::progress(&[("Arrived", timeline)])),
            timeline,
        })
    }

    /// Verifies a loaded result file, by its index among them, on the chosen topology and for the requested collective.
    ///
    /// # Errors
    /// Returns a [`StudyError`] if the file is not loaded, or the collective is impossible on the topology.
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
        let request = self.at.as_ref().map(|at| at.request.clone());
        Ok(verify(result, topology, &verify::request(result, topology, request))?)
    }

    /// Updates the status and the bounds of a schedule that is still the best.
    ///
    /// # Errors
    /// Returns [`StudyError::NoSearch`] if none was started.
    pub fn renew(&self, shown: &mut Shown) -> Result<(), StudyError> {
        let at = self.at.as_ref().ok_or(StudyError::NoSearch)?;
        shown.status = self.status()?;
        if let Some(sentence) = shown.sentences.first_mut() {
            sentence.clone_from(&shown.status.sentence);
        }
        let repetitions = at.search.problem.repetitions();
        shown.bounds = listing::bounds(self.topology()?, &at.request, &at.search.bounds(), repetitions, &at.clock);
        Ok(())
    }

    /// Simulates the best schedule under varying bandwidths.
    ///
    /// # Errors
    /// Returns [`StudyError::NothingFound`] before the first schedule.
    pub fn varied(&self, question: &robust::VariationOptions) -> Result<robust::Variation, StudyError> {
        let (at, schedule) = self.found()?;
        Ok(robust::varied(&at.search.problem, &schedule, self.topology()?, &at.clock, question))
    }

    /// Replays the best schedule with each of some links or nodes slow and dead. Searches a new schedule for each with
    /// the given effort, where that is above 0.
    ///
    /// # Errors
    /// Returns [`StudyError::NothingFound`] before the first schedule.
    pub fn damaged(&self, damages: &[Damage], effort: u64) -> Result<Listing, StudyError> {
        let (at, schedule) = self.found()?;
        // Each damage takes three replays; limit their total.
        let most = (MOST_REPLAYED / schedule.transfers.len().max(1)).max(1);
        let damages = &damages[..damages.len().min(most)];
        let damaged = robust::damaged(&self.material(at, &schedule)?, damages, at.seed, effort);
        Ok(listing::damaged(self.topology()?, at.clock.ns(schedule.end(&at.search.problem.graph)), &damaged))
    }

    fn material<'a>(&'a self, at: &'a ActiveSearch, schedule: &'a Schedule) -> Result<Material<'a>, StudyError> {
        Ok(Material {
            topology: self.topology()?,
            request: &at.request,
            problem: &at.search.problem,
            clock: &at.clock,
            schedule,
            bound_ns: at.clock.ns(at.search.bound()),
        })
    }

    /// Refuses a request whose schedules have more transfers than a format takes, which is known before any search.
    ///
    /// # Errors
    /// Returns a [`StudyError`] if the collective is impossible, or its schedule can't be written.
    pub fn check_form(&self, request: &CollectiveRequest, form: Form) -> Result<(), StudyError> {
        let (problem, _) = request.problem(self.topology()?)?;
        let pairs = problem.reduce.iter().chain(&problem.copy).map(Demand::pairs).sum();
        Ok(export::check_length(form, pairs)?)
    }

    /// Exports the best schedule.
    ///
    /// # Errors
    /// Returns a [`StudyError`] before the first schedule, or if the format can't express it.
    pub fn export(&self, form: Form) -> Result<TextFile, StudyError> {
        let (at, schedule) = self.found()?;
        export::check_length(form, schedule.transfers.len())?;
        let has_timeline = form == Form::Perfetto;
        let timeline = has_timeline.then(|| timeline(&at.search.problem, &schedule, &at.clock)).flatten();
        let material = self.material(at, &schedule)?;
        Ok(export::write(&material, timeline.as_ref(), form)?)
    }
}

/// The most words of 64 chunks that a slice of the search inspects: it limits the duration of a slice.
const MOST_LOOKED_AT: u64 = 200_000_000;
/// The most transfers that are replayed for the damages of all links.
const MOST_REPLAYED: usize = 20_000_000;
/// The most pairs of a node and a chunk, and the most transfers, for which slack is computed.
const MOST_ANALYSED: usize = 20_000_000;

/// The name of a dump without folders and extensions.
fn file_stem(path: &str) -> &str {
    let last = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let last = last.strip_suffix(".gz").unwrap_or(last);
    last.strip_suffix(".xml").unwrap_or(last)
}

/// The timeline of a schedule, with slack and critical path up to `MOST_ANALYSED`.
pub fn timeline(problem: &Problem, schedule: &Schedule, clock: &Clock) -> Option<Timeline> {
    let chunks = problem.chunks();
    let is_small = (problem.graph.nodes() * chunks).max(schedule.transfers.len()) <= MOST_ANALYSED;
    let analysis = is_small.then(|| analyse(&problem.graph, schedule, chunks));
    Timeline::new(problem, schedule, analysis.as_ref(), clock.ticks_per_ns)
}

fn sentence(status: &SearchStatus) -> String {
    let Some(time_ns) = status.time_ns else {
        let ended = "No schedule was found, and there is nothing more to try.";
        return if status.is_working { "No schedule was found yet.".to_owned() } else { ended.to_owned() };
    };
    let (time, bound) = (listing::time(time_ns), listing::time(status.bound_ns));
    let ratio = time_ns / status.bound_ns;
    if status.is_optimal {
        return if time_ns <= status.bound_ns {
            format!("{time}: proven optimal, 1.000 times the bound.")
        } else {
            format!("{time}: proven optimal, though {ratio:.3} times the bound of {bound}.")
        };
    }
    if status.is_optimal_in_parts {
        return format!(
            "{time}, {ratio:.3} times the bound of {bound}: no schedule that adds all up before it copies is shorter."
        );
    }
    let proven = if status.proven_ns > status.bound_ns {
        format!("; nothing below {} is possible", listing::time(status.proven_ns))
    } else {
        String::new()
    };
    format!("{time}, {ratio:.3} times the bound of {bound}{proven}.")
}
