//! Holds the logs that were dropped and what they say, and answers questions about them.

use std::collections::BTreeMap;

use super::{
    attribution::{self, Attributed},
    charts, copies, export,
    file::Policy,
    iteration,
    judge::{self, JudgedKey},
    listing,
    pool::{self, Pool},
    read::{FileName, LogForm, NamedLog, PartialKey},
    replay,
    request::{Export, Highlight, LogSettings, ReplaySettings, Schedule, Settings},
    result::{
        Attribution, KeyCharts, KeyResult, LogFile, PolicyOverview, PreparedReplay, ReplayResult, StudyError,
        UnanalysedTable,
    },
};
use crate::{progress::Progress, report::TextFile};

/// The state of the policy workbench.
#[derive(Default)]
pub struct PolicyStudy {
    logs: Vec<NamedLog>,
    settings: Settings,
    pools: Vec<Pool>,
    judged: Vec<JudgedKey>,
    notes: Vec<String>,
    files: Vec<LogFile>,
    /// The last replay, for the report.
    replayed: Option<ReplayResult>,
}

impl PolicyStudy {
    /// A study of these logs.
    pub fn new(logs: Vec<NamedLog>) -> Self {
        Self { logs, ..Self::default() }
    }

    /// Whether there is no log.
    pub fn is_empty(&self) -> bool {
        self.logs.is_empty()
    }

    /// The settings of the study.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The result of each key.
    pub fn results(&self) -> Vec<KeyResult> {
        self.judged.iter().map(|one| one.result.clone()).collect()
    }

    /// The last replay, or `None` before the first.
    pub fn replayed(&self) -> Option<&ReplayResult> {
        self.replayed.as_ref()
    }

    /// Prepares a replay, and forgets the last one.
    ///
    /// # Errors
    /// Returns an error if the key can't be replayed.
    pub fn prepare(&mut self, start: &ReplaySettings) -> Result<PreparedReplay, StudyError> {
        self.replayed = None;
        replay::prepare(start, &self.pools, &self.results())
    }

    /// Brings together what was played so far, in any order.
    ///
    /// # Errors
    /// Returns an error if the data comes from another build.
    pub fn bring_together(
        &mut self,
        game: &[u8],
        played: &[Vec<u8>],
        highlight: &Highlight,
    ) -> Result<&ReplayResult, StudyError> {
        Ok(self.replayed.insert(replay::replayed(game, played, highlight)?))
    }

    /// The generation of the next policy: one above all that were dropped or given.
    pub fn next_generation(&self) -> u64 {
        self.newest_policy().map_or(1, |last| last.generation.saturating_add(1))
    }

    /// The policy of the highest generation among those that were dropped or given.
    fn newest_policy(&self) -> Option<&Policy> {
        let dropped = self.logs.iter().filter_map(|named| named.log.policy.as_ref());
        dropped.chain(&self.settings.schedule.policies).max_by_key(|policy| policy.generation)
    }

    /// The logs, with the names of their files.
    pub fn logs(&self) -> &[NamedLog] {
        &self.logs
    }

    /// Attributes every line to an arm, and judges every key.
    ///
    /// # Errors
    /// Returns an error if there is no log, or none states enough.
    pub fn study(&mut self, mut settings: Settings, progress: &mut dyn Progress) -> Result<PolicyOverview, StudyError> {
        if self.logs.is_empty() {
            return Err(StudyError::NothingLoaded);
        }
        settings.logs.resize_with(self.logs.len(), LogSettings::default);
        (self.notes, self.files, self.replayed) = (Vec::new(), Vec::new(), None);
        let schedule = self.schedule(&settings);
        self.notes.extend(settings.schedule.notes.iter().cloned());
        let mut attributed = self.attribute(&settings, &schedule);
        self.notes.extend(copies::take_out(&mut attributed, &self.logs));
        self.note_unused_schedules(&schedule, &attributed);
        let sources: Vec<pool::PooledLog<'_>> = attributed
            .iter()
            .zip(&self.logs)
            .filter_map(|(attributed, named)| {
                Some(pool::PooledLog {
                    attributed: attributed.as_ref()?,
                    objective: named.log.objective,
                    strategies: &named.log.strategies,
                    of_means: named.log.form == LogForm::Episodes,
                    round: FileName::parse(&named.name).round,
                    run_starts: &named.log.run_starts,
                })
            })
            .collect();
        self.pools = pool::pools(&sources);
        self.judged = Vec::new();
        let evidence = judge::evidence(&self.pools);
        for (done, (pool, evidence)) in self.pools.iter().zip(&evidence).enumerate() {
            progress.report("Judging", done as u64, self.pools.len() as u64);
            self.judged.push(judge::judge(pool, evidence, settings.seed));
        }
        let mut results = self.results();
        let told = judge::agree(&mut results, &settings.bands);
        self.judged.iter_mut().zip(results).for_each(|(one, result)| one.result = result);
        self.notes.extend(told);
        let first_line = settings.logs.iter().map(|log| log.from_line).max().unwrap_or_default();
        self.settings = settings;
        if self.pools.is_empty() && self.logs.iter().all(|named| named.log.table.is_none()) {
            let why = self
                .files
                .iter()
                .find(|file| file.is_refused)
                .map(|file| format!("{} {}", file.name, file.attribution));
            return Err(StudyError::NoKeys(why.unwrap_or_else(|| match first_line {
                0 => "they have no line that says enough".to_owned(),
                line => format!("none has a line from line {line} on"),
            })));
        }
        Ok(self.studied())
    }

    /// The result of the last study, which is empty before the first.
    pub fn studied(&self) -> PolicyOverview {
        let results = self.results();
        let pairs = iteration::pairs(&self.judged);
        let table = |named: &NamedLog| {
            let is_policy = named.log.form == LogForm::Policy;
            Some(UnanalysedTable { name: named.name.clone(), is_policy, listing: named.log.table.clone()? })
        };
        PolicyOverview {
            logs: self.files.clone(),
            settings: self.settings.clone(),
            keys: self.pools.iter().map(|pool| pool.key.to_string()).collect(),
            verdicts: results.iter().map(|of| of.verdict.clone()).collect(),
            sentences: results.iter().map(|of| of.sentences.clone()).collect(),
            listing: listing::keys(&results),
            overlap: if pairs.is_empty() { Default::default() } else { iteration::listing(&pairs) },
            tables: self.logs.iter().filter_map(table).collect(),
            notes: self.notes.clone(),
            can_replay: results.iter().map(replay::can_replay).collect(),
            results,
            pairs,
        }
    }

    /// The given schedule with the policies that were dropped, one of each generation.
    fn schedule(&mut self, settings: &Settings) -> Schedule {
        let given = settings.schedule.policies.iter().map(|policy| ("the schedule", policy));
        let dropped = self.logs.iter().filter_map(|named| Some((named.name.as_str(), named.log.policy.as_ref()?)));
        let mut policies: BTreeMap<u64, (&str, &Policy)> = BTreeMap::new();
        for (name, policy) in given.chain(dropped) {
            let (first, known) = *policies.entry(policy.generation).or_insert((name, policy));
            if known != policy {
                self.notes.push(format!(
                    "{name} and {first} have different policies of generation {}; lines are attributed by {first}",
                    policy.generation
                ));
            }
        }
        let policies = policies.into_values().map(|(_, policy)| policy.clone()).collect();
        Schedule { policies, ..settings.schedule.clone() }
    }

    /// Notes on stated schedules that no log used, and on how to attribute a log that is not attributed.
    fn note_unused_schedules(&mut self, schedule: &Schedule, attributed: &[Option<Attributed>]) {
        let how: Vec<Attribution> = attributed.iter().flatten().map(|of| of.how).collect();
        let is = |of: &[Attribution]| how.iter().any(|how| of.contains(how));
        let (by_call, by_line) = (Attribution::CallTurns, Attribution::LineTurns);
        if how.is_empty() || is(&[Attribution::None]) {
            return;
        }
        let numbered = attributed
            .iter()
            .zip(&self.logs)
            .any(|(of, named)| of.as_ref().is_some_and(|of| of.how == Attribution::Columns) && named.log.numbered_arms);
        let has_turns = is(&[by_call, by_line]);
        if !schedule.arms.is_empty() && !numbered && !has_turns {
            self.notes.push(
                "The arms that are given in their order are not used: no log names arms by numbers, and in none they took turns"
                    .to_owned(),
            );
        }
        if schedule.warm_up.is_some() && !is(&[by_line]) {
            self.notes.push(
                "The calls before the first line are given and not used: in no log arms took turns by line".to_owned(),
            );
        }
        if schedule.turns.is_some() && !has_turns {
            self.notes.push("The calls that took turns are given and not used: in no log arms took turns".to_owned());
        }
    }

    fn attribute(&mut self, settings: &Settings, schedule: &Schedule) -> Vec<Option<Attributed>> {
        let mut all = Vec::new();
        for (index, named) in self.logs.iter().enumerate() {
            let others = self.logs.iter().enumerate().filter(|(other, _)| *other != index);
            let elsewhere: Vec<PartialKey> = others.flat_map(|(_, named)| named.log.keys.iter().copied()).collect();
            let NamedLog { name, log } = named;
            if log.table.is_some() {
                self.files.push(LogFile {
                    name: name.clone(),
                    attribution: match log.form {
                        LogForm::Policy => "by its schedule arms ran, where a log tells calls and no arms".to_owned(),
                        _ => "a table of means, which is shown".to_owned(),
                    },
                    is_refused: false,
                });
                all.push(None);
                continue;
            }
            let one = attribution::attribute(log, &settings.logs[index], schedule, &elsewhere);
            let (words, is_refused) = match &one {
                Ok(attributed) => (attributed.how.words().to_owned(), false),
                Err(why) => (why.clone(), true),
            };
            if let Ok(attributed) = &one {
                self.notes.extend(attributed.notes.iter().map(|note| format!("{name}: {note}")));
                if attributed.how == Attribution::None {
                    self.notes.push(format!(
                        "{name}: nothing says which arm ran: name it (the arm of the whole file, or arms that took turns and how \
                         many calls came before the first line)"
                    ));
                }
            } else {
                self.notes.push(format!("{name} {words}"));
            }
            self.files.push(LogFile { name: name.clone(), attribution: words, is_refused });
            all.push(one.ok());
        }
        all
    }

    /// The charts and tables of one key.
    ///
    /// # Errors
    /// Returns [`StudyError::NoKey`] if there is no such key.
    pub fn key(&self, place: u32, highlight: &Highlight) -> Result<KeyCharts, StudyError> {
        let (pool, judged) =
            self.pools.get(place as usize).zip(self.judged.get(place as usize)).ok_or(StudyError::NoKey(place))?;
        let of = &judged.result;
        Ok(KeyCharts {
            arms: listing::arms(of),
            latencies: charts::latencies(pool, of, highlight),
            posteriors: charts::posteriors(of, highlight),
            estimates: listing::estimates(of),
        })
    }

    /// Files to deploy, or to run.
    ///
    /// # Errors
    /// Returns an error if nothing was studied, or a reader can't be given what was found.
    pub fn export(&self, export: &Export) -> Result<Vec<TextFile>, StudyError> {
        if self.judged.is_empty() {
            return Err(StudyError::NothingLoaded);
        }
        let results = self.results();
        Ok(match export {
            Export::Conf(reader) => export::conf(&results, &self.settings, *reader)?,
            Export::Policy(generation) => {
                let mut policy = export::policy(&results, &self.settings, *generation);
                // No log says anything about them.
                policy.chunk_sizes = self.newest_policy().map_or_else(Vec::new, |newest| newest.chunk_sizes.clone());
                let told = export::changed_keys(&results, &policy).into_iter().chain(export::caveat(&results));
                let told: String = told.map(|sentence| sentence + " ").collect();
                vec![TextFile {
                    name: "collectune.policy.json".to_owned(),
                    text: policy.text(),
                    note: told + "export COLLECTUNE_TUNER_POLICY=/absolute/path/collectune.policy.json",
                }]
            }
            Export::Script(command) => vec![export::script(&results, &self.settings, command)],
        })
    }
}
