//! What was loaded for the tuning workbench, what was learnt from it, and the answers to questions about both.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    ab::{
        self,
        verdict::{JudgedRule, RuleVerdict},
    },
    aggregate::{Point, Target},
    campaign::journal::Journal,
    compare,
    conf::{
        Finding, Reader,
        environment::{Environment, best_single, environment},
        expect::Expectations,
        export::{ConfExport, ExportInput, ExportOptions, export},
        lint::lint_for,
        overlay::{OverlayPoint, overlay},
        read, readers_of,
        rule::Rule,
    },
    coverage,
    defaults_apart::keep_defaults_apart,
    heat_map::Against,
    hotspots::{self, HotspotAnswer, HotspotQuestion},
    job::JobLog,
    log::lines::datatype_name,
    model_file::ModelFile,
    origin::{Aspect, MeasuredWith, arguments, aspect_of},
    parameters::Parameters,
    plan,
    platform::{Library, Platform},
    reach::{Reach, ReachQuestion, ReachReader, counts_once},
    read::Row,
    recommend::BetweenSizes,
    record::{RecordAnswer, RecordQuestion},
    report::{self, TuningReportInput},
    result::{Recommendation, Trained, Validated, View},
    runs::Runs,
    sets::Sets,
    states::{StateKey, States},
    study::{MAX_TRAINED_GROUPS, TuningStudy, TuningStudyError},
    support::SupportMatrix,
    sweep::Sweep,
    validate::{self, FoldPredictions, FoldScheme},
};
use crate::{
    collective::{Collective, Configuration, Scale, Workload},
    order::CompactCollect,
    progress::{Progress, Silent},
    report::{
        Contents, Report,
        snapshot::{Extent, Snapshot},
    },
    text::Listing,
    units::{Size, count},
    workbench::ReportContext,
};

/// The files of the tuning workbench; those that are no measurements each under its file's number.
#[derive(Debug, Default)]
pub struct TuningFiles {
    /// The accepted rows of the chosen set.
    pub rows: Vec<Row>,
    /// The versions and variables with which the rows were measured.
    pub measured_with: MeasuredWith,
    /// The hashes of the predictions of saved models.
    pub saved_hashes: Vec<String>,
    /// The names of all loaded files, as [`Row::file`] numbers them.
    pub names: BTreeMap<u16, String>,
    /// What can be compared beside the measurements of the set.
    pub states: States,
    /// The names of the files with measurements of the set.
    pub sweeps: Vec<String>,
    /// The bytes of tuner files.
    pub confs: Vec<(u32, Vec<u8>)>,
    /// The calls of jobs.
    pub jobs: Vec<(u32, JobLog)>,
    /// The comparisons of a configuration with the default.
    pub comparisons: Vec<(u32, String)>,
    /// Tables that are only shown.
    pub listings: Vec<(u32, Listing)>,
    /// The journals of campaigns: each launch and what it brought.
    pub journals: Vec<(u32, Journal)>,
}

/// The study of loaded measurements, with the files beside them.
#[derive(Default)]
pub struct LoadedTuning {
    /// The measurements, and what was learnt from them.
    pub study: TuningStudy,
    /// The set of measurements that is studied, in words; `None` if there is only one.
    pub set: Option<String>,
    pub(super) files: TuningFiles,
    /// Notes about all measurements, apart from those of the study: which runs are used can change.
    pub notes: Vec<String>,
    /// The parameters of the training of an opened model file.
    pub saved_parameters: Option<Parameters>,
}

impl LoadedTuning {
    /// Studies measurements before any training; `sets` are those among which they were chosen, `read` are the notes
    /// from reading.
    pub fn new(mut files: TuningFiles, sets: &Sets, target: Target, read: Vec<String>) -> Self {
        let mut runs = Runs::new(std::mem::take(&mut files.rows), target);
        runs.order_by_names(&files.names);
        keep_defaults_apart(&mut runs, &files.names);
        let mut notes: Vec<String> = Some(sets.note.clone()).filter(|note| !note.is_empty()).into_iter().collect();
        notes.append(&mut runs.notes);
        notes.extend(read);
        let set = sets.label().map(str::to_owned);
        let mut tuning = Self { study: TuningStudy::of_runs(runs, target), set, files, notes, saved_parameters: None };
        tuning.study.set_platform(tuning.platform().unwrap_or_default());
        tuning.notes.extend(tuning.study.sweep().notes());
        let groups = tuning.study.groups().len();
        if groups > MAX_TRAINED_GROUPS {
            let note = format!("Nothing is learnt: {}.", TuningStudyError::TooManyScales(groups));
            tuning.notes.insert(0, note);
        }
        tuning
    }

    /// The charts of a workload, with the heat map against these configurations.
    ///
    /// # Errors
    /// Returns an error if nothing was measured.
    pub fn view(&self, workload: &Workload, against: Against) -> Result<View, TuningStudyError> {
        let mut view = self.study.view(workload)?;
        if against != Against::Best {
            view.heat_map = self.study.heat_map(workload, against);
        }
        Ok(view)
    }

    /// The name of a loaded file; empty if it is closed.
    pub(super) fn name(&self, file: u32) -> &str {
        let number = u16::try_from(file).ok();
        number.and_then(|number| self.files.names.get(&number)).map_or("", String::as_str)
    }

    /// The place of a loaded file among all of them, from 1, by which addresses name it: it is the same wherever the
    /// same files are opened in the same order.
    pub(super) fn place(&self, file: u32) -> usize {
        self.files.names.keys().filter(|number| u32::from(**number) < file).count() + 1
    }

    /// The loaded file at a [place](Self::place).
    pub(super) fn at_place(&self, place: usize) -> Option<u32> {
        self.files.names.keys().nth(place.checked_sub(1)?).copied().map(u32::from)
    }

    /// The states that can be compared with each other, with their names.
    pub(super) fn states(&self) -> Vec<(StateKey, String)> {
        self.files.states.named(|file| self.name(file).to_owned())
    }

    /// The runs behind a workload's points.
    pub fn record(&self, question: &RecordQuestion) -> RecordAnswer {
        self.study.record(question, &self.files.names)
    }

    /// The dips of the curves of busbw over size.
    pub fn hotspots(&self, question: &HotspotQuestion) -> HotspotAnswer {
        hotspots::answer(self.study.sweep(), self.study.recommendations(), question)
    }

    /// Judges a loaded comparison by a loaded conf; its name may tell its collective.
    ///
    /// # Errors
    /// Returns an error if there is no comparison.
    pub fn ab(&self, question: &ab::AbQuestion) -> Result<ab::AbAnswer, TuningStudyError> {
        let asked = |id: Option<u32>, number: u32| id.is_none_or(|id| id == number);
        let comparison = self.files.comparisons.iter().find(|(id, _)| asked(question.file, *id));
        let (id, text) = comparison.ok_or(TuningStudyError::NothingToCompare)?;
        let conf = self.files.confs.iter().find(|(id, _)| asked(question.conf, *id)).map(|(_, bytes)| &bytes[..]);
        let name = self.name(*id);
        let judged = ab::judge(text, name, conf, question);
        // A void campaign judges nothing either way; a conf of another scale or collective hides what can be judged.
        let is_elsewhere = |rule: &JudgedRule| matches!(rule.verdict, RuleVerdict::NotJudged(_));
        if conf.is_none() || judged.void.is_some() || !judged.rules.iter().all(is_elsewhere) {
            return Ok(judged);
        }
        let mut by_size = ab::judge(text, name, None, question);
        by_size
            .notes
            .insert(0, "No rule of the tuner file is about this campaign: each size is judged by itself.".into());
        Ok(by_size)
    }

    /// The report on what was found.
    ///
    /// # Errors
    /// Returns an error if nothing was measured or the model can't be evaluated.
    pub fn report(&self, context: ReportContext<'_>, contents: &Contents) -> Result<Report, TuningStudyError> {
        let input = TuningReportInput {
            study: &self.study,
            files: context.files,
            problems: context.problems,
            names: &self.files.sweeps,
            numbered: &self.files.names,
            notes: self.notes.iter().cloned().chain(self.study.notes()).collect(),
            set: self.set.as_deref(),
            journals: &self.files.journals,
            plan: self.plan(&plan::PlanQuestion::default(), None, &mut Silent)?,
        };
        let mut report = report::report(input, contents)?;
        report.snapshot.iter_mut().for_each(|snapshot| snapshot.measured_with(&self.files.measured_with));
        Ok(report)
    }

    /// The plan of what to measure next, from the configurations to deploy or, before any training, from the measured
    /// winners. Includes sizes that loaded jobs send and nobody measured.
    ///
    /// # Errors
    /// Returns an error if nothing was measured.
    pub fn plan(
        &self,
        question: &plan::PlanQuestion,
        elsewhere: Option<&Sweep>,
        progress: &mut dyn Progress,
    ) -> Result<plan::PlanAnswer, TuningStudyError> {
        let recommendations = self.study.to_deploy()?;
        let recommendations = &recommendations[..];
        let sweep = self.study.sweep();
        let mut question = question.clone();
        question.measured_with.clone_from(&self.set);
        let with = self.files.measured_with.iter();
        question.arguments.extend(with.map(|((collective, scale), words)| (*collective, *scale, arguments(words))));
        question.uncovered.extend(plan::agenda::unmeasured(sweep, self.files.jobs.iter().map(|(_, job)| job)));
        question.stalls.extend(self.study.lone_stalls());
        question.platform = question.platform.or_else(|| self.platform());
        let platform = question.platform.unwrap_or_default();
        let untold = self.take_data_types(&mut question, platform.library);
        let most = platform.most_channels();
        let too_many: Vec<String> = question.channels.iter().filter(|c| **c > most).map(u32::to_string).collect();
        question.channels.retain(|channels| *channels <= most);
        let support = SupportMatrix::new(platform.matrix(), sweep);
        let mut answer = plan::plan(sweep, elsewhere, recommendations, &support, &question, progress);
        answer.notes.extend(untold);
        answer.notes.extend(plan::between_doublings(sweep, &answer.items));
        answer.notes.extend((!too_many.is_empty()).then(|| {
            let library = platform.library;
            format!("{} channels are left out: {library} has at most {most} there", too_many.join(", "))
        }));
        Ok(answer)
    }

    /// Adds the data types of the sizes that jobs send and nobody measured, where nothing says with which type was
    /// measured before: else they would be measured apart from what is there. Answers a note on sizes that are sent in
    /// several types.
    fn take_data_types(&self, question: &mut plan::PlanQuestion, library: Library) -> Option<String> {
        let jobs = self.files.jobs.iter().map(|(_, job)| &job.data_types).chain(&question.job_data_types);
        let mut several = Vec::new();
        let mut found = Vec::new();
        for (workload, _) in &question.uncovered {
            let words = self.files.measured_with.get(&(workload.collective, workload.scale));
            if words.into_iter().flatten().any(|word| aspect_of(word) == Some(Aspect::DataType)) {
                continue;
            }
            let of_size = jobs.clone().filter_map(|of| of.get(&(workload.collective, workload.size_bytes))).flatten();
            let codes: BTreeSet<u32> = of_size.copied().compact_collect();
            match codes.iter().filter_map(|code| datatype_name(*code, library)).collect::<Vec<_>>()[..] {
                [only] => found.push((*workload, only)),
                [] => {}
                _ => several.push(Size(workload.size_bytes).to_string()),
            }
        }
        question.data_types.extend(found);
        several.dedup();
        (!several.is_empty()).then(|| {
            format!(
                "Jobs send {} in several data types: they are measured with that of nccl-tests, float",
                several.join(", ")
            )
        })
    }

    /// The trained model as a file.
    ///
    /// # Errors
    /// Returns an error if nothing was trained, or the model can't be evaluated.
    pub fn model_file(&self) -> Result<ModelFile, TuningStudyError> {
        self.study.model_file(&self.files.measured_with)
    }

    /// The library and its version, as the measurements say them, else the library that runs what was measured; `None`
    /// where nothing tells, or different ones are told.
    pub fn platform(&self) -> Option<Platform> {
        let words = self.files.measured_with.values().flatten().map(String::as_str);
        let ran = self.study.groups().iter().flat_map(|group| &group.pairs).map(|pair| pair.algorithm);
        Platform::from_words(words).or_else(|| Platform::from_algorithms(ran)).or_else(|| self.platform_of_jobs())
    }

    /// The measurements, for NCCL's cost model to be compared with; `None` where they are of RCCL, whose model is
    /// another.
    pub fn sweep_for_nccl(&self) -> Option<&Sweep> {
        let is_rccl = self.platform().is_some_and(|told| told.library == Library::Rccl);
        (!is_rccl).then(|| self.study.sweep())
    }

    /// The library that the logs of jobs name; `None` where none does, or they name different ones.
    fn platform_of_jobs(&self) -> Option<Platform> {
        let mut named = self.files.jobs.iter().filter_map(|(_, job)| job.lines.library());
        let (library, version) = named.next()?;
        named.all(|(other, _)| other == library).then(|| Platform { version, ..library.into() })
    }

    /// The changes between two states, as if the rules of a loaded tuner file were deployed if one is named, with the
    /// reader that reads it and the library whose rules say what can run.
    ///
    /// # Errors
    /// Returns `NoState` if a state was not read or holds no measurements, and `NoConf` if the tuner file is not
    /// loaded.
    pub fn compare(
        &self,
        states: [StateKey; 2],
        conf: Option<(u32, Reader, Library)>,
        question: &compare::CompareQuestion,
    ) -> Result<compare::CompareAnswer, TuningStudyError> {
        let loaded = match states.contains(&StateKey::Loaded) {
            true => Some(self.snapshot(Extent::Whole)?),
            false => None,
        };
        let state = |when: &'static str, state: StateKey| match (&loaded, self.files.states.get(state)) {
            (Some(loaded), _) if state == StateKey::Loaded => Ok(loaded),
            (_, Some(Ok(snapshot))) => Ok(snapshot),
            (_, Some(Err(why))) => Err(TuningStudyError::NoState(when, why.to_owned())),
            (_, None) => Err(TuningStudyError::NoState(when, "the file is not read".to_owned())),
        };
        let (before, after) = (state("before", states[0])?, state("after", states[1])?);
        let Some((file, reader, library)) = conf else {
            return Ok(compare::compare(before, after, None, question));
        };
        let rules = read(self.tuner_file(file)?, reader);
        let conf = compare::DeployedConf { rules: &rules, reader, library: library.of_reader(reader) };
        Ok(compare::compare(before, after, Some(&conf), question))
    }

    /// The snapshot of the loaded measurements, to be compared with another state.
    ///
    /// # Errors
    /// Returns an error before any training.
    pub fn snapshot(&self, extent: Extent) -> Result<Snapshot, TuningStudyError> {
        let mut snapshot = Snapshot::new(&self.study, extent)?;
        snapshot.measured_with(&self.files.measured_with);
        Ok(snapshot)
    }

    fn tuner_file(&self, file: u32) -> Result<&[u8], TuningStudyError> {
        let found = self.files.confs.iter().find(|(number, _)| *number == file);
        found.map(|(_, bytes)| bytes.as_slice()).ok_or(TuningStudyError::NoConf)
    }

    /// The readers that know the grammar of a loaded tuner file; none where it is not loaded.
    pub fn readers_of(&self, file: u32) -> &'static [Reader] {
        self.tuner_file(file).map_or(&[], readers_of)
    }

    /// The reader of tuner files where none is chosen: one that knows the grammar of the newest file.
    pub fn usual_reader(&self) -> Reader {
        let newest = self.files.confs.last().and_then(|(file, _)| self.readers_of(*file).first());
        newest.copied().unwrap_or_default()
    }

    /// The findings about a loaded tuner file, reader by reader.
    ///
    /// # Errors
    /// Returns an error if the file is not loaded.
    pub fn lint(
        &self,
        file: u32,
        readers: &[Reader],
        platform: impl Into<Platform>,
    ) -> Result<Vec<Finding>, TuningStudyError> {
        Ok(lint_for(self.tuner_file(file)?, readers, platform, self.study.sweep()))
    }

    /// What a loaded tuner file would choose at each measured size.
    ///
    /// # Errors
    /// Returns an error if the file is not loaded.
    pub fn overlay(&self, file: u32, reader: Reader, library: Library) -> Result<Vec<OverlayPoint>, TuningStudyError> {
        let sweep = self.study.sweep();
        let predict = |workload: &Workload, configuration: &Configuration| self.study.predict(workload, configuration);
        let rules = read(self.tuner_file(file)?, reader);
        Ok(overlay(
            &rules,
            reader,
            &SupportMatrix::new(library.of_reader(reader).matrix(), sweep),
            sweep,
            Some(&predict),
        ))
    }

    /// Tuner files from the last answers, or from the measured winners before any.
    ///
    /// # Errors
    /// Returns an error if nothing was measured.
    pub fn export(&self, options: &ExportOptions) -> Result<ConfExport, TuningStudyError> {
        let recommendations = self.study.to_deploy()?;
        if recommendations.is_empty() {
            return Err(TuningStudyError::NothingToDeploy);
        }
        let mut between_sizes = self.study.between_sizes()?;
        if options.measured_only {
            keep_what_is_deployed_beside(&mut between_sizes, &recommendations);
        }
        let input = ExportInput {
            sweep: self.study.sweep(),
            recommendations: &recommendations,
            between_sizes: &between_sizes,
            names: &self.files.sweeps,
            set: self.set.as_deref(),
            level: self.study.confidence().level,
        };
        Ok(export(&input, options))
    }

    /// One configuration for a whole job, the one that serves all measured sizes best where none is given.
    ///
    /// # Errors
    /// Returns an error if nothing was measured there.
    pub fn environment(
        &self,
        (collective, scale): (Collective, Scale),
        configuration: Option<Configuration>,
        library: Library,
    ) -> Result<Environment, TuningStudyError> {
        let best = || best_single(self.study.sweep(), collective, scale).map(|(best, text)| (best, Some(text)));
        let (configuration, text) =
            configuration.map(|given| (given, None)).or_else(best).ok_or(TuningStudyError::NothingToDeploy)?;
        let mut environment = environment(configuration, library);
        environment.warnings.splice(0..0, text);
        Ok(environment)
    }

    /// The coverage of the calls of loaded logs, or of calls that were entered, by tuner file rules, and its cost.
    ///
    /// # Errors
    /// Returns an error if there are no calls, if their scale is unknown, or if the tuner file is not loaded.
    pub fn coverage(
        &self,
        question: &coverage::CoverageQuestion,
    ) -> Result<coverage::CoverageAnswer, TuningStudyError> {
        let mut job = JobLog::default();
        let (jobs, repeated) = self.jobs();
        jobs.iter().for_each(|(_, log)| job.merge(log.clone()));
        let rules = match question.conf {
            Some(file) => Some(read(self.tuner_file(file)?, question.reader)),
            None => None,
        };
        let predict = |workload: &Workload, configuration: &Configuration| self.study.predict(workload, configuration);
        let support = SupportMatrix::new(question.library.of_reader(question.reader).matrix(), self.study.sweep());
        let expectations = Expectations::new(self.study.sweep(), &support, Some(&predict));
        let one_us = |workload: &Workload| expectations.default(workload)?.time_us;
        let reach = self.reach(&jobs, question, rules.clone()).with_times(&one_us);
        let basis = coverage::CoverageInput {
            sweep: self.study.sweep(),
            rules: rules.as_deref(),
            predict: Some(&predict),
            reach: Some(&reach),
        };
        let answer = coverage::coverage(&job, &basis, question)?;
        let others = reach.counts.other_ranks_calls;
        let of_ranks = (others > 0 && question.divide_by == 1).then(|| {
            format!(
                "{} of other ranks of the same communicators count as well: say how many ranks log, so that sums are those \
                 of one rank, which are {}",
                count(others, "call"),
                count(reach.total.calls, "call")
            )
        });
        let notes = repeated.into_iter().chain(of_ranks).chain(answer.notes).collect();
        Ok(coverage::CoverageAnswer { reach: Some(reach), notes, ..answer })
    }

    /// The logs of jobs, each content once, and sentences on those left out.
    fn jobs(&self) -> (Vec<&(u32, JobLog)>, Vec<String>) {
        let mut once: Vec<&(u32, JobLog)> = Vec::new();
        let mut repeated = Vec::new();
        for job in &self.files.jobs {
            match once.iter().find(|(_, earlier)| *earlier == job.1) {
                Some((earlier, _)) => repeated.push(counts_once(self.name(*earlier), self.name(job.0))),
                None => once.push(job),
            }
        }
        (once, repeated)
    }

    /// Which of the calls a tuner is asked about: by the lines of the loaded logs, or by the conditions of the library
    /// for calls that were typed.
    fn reach(&self, jobs: &[&(u32, JobLog)], question: &coverage::CoverageQuestion, rules: Option<Vec<Rule>>) -> Reach {
        let mut reader = ReachReader::default();
        let groups = self.study.groups();
        let only = groups.first().filter(|_| groups.len() == 1).map(|group| group.scale);
        match &question.typed {
            Some(typed) => question.scale.or(only).into_iter().for_each(|scale| reader.list(typed.listed(scale))),
            None => jobs.iter().for_each(|(file, log)| reader.log(self.name(*file), &log.lines)),
        }
        let library = reader.library(None, question.on.gpu).unwrap_or(question.library.of_reader(question.reader));
        reader.reach(&ReachQuestion {
            rules: rules.map(|rules| (rules, question.reader)),
            library: Some(library),
            scale: question.scale,
            on: question.on.clone(),
        })
    }

    /// Learns from what was taken in.
    ///
    /// # Errors
    /// Returns an error if there is too little to learn from, or the parameters are outside their range.
    pub fn train(&mut self, parameters: Parameters, progress: &mut dyn Progress) -> Result<Trained, TuningStudyError> {
        let is_as_saved = self.saved_parameters.as_ref().is_none_or(|saved| saved.fits_like(&parameters));
        let answer = self.study.train(parameters, progress)?.to_vec();
        let points = &self.study.sweep().points;
        let folds = validate::all_folds(points).into_iter().map(|_| 1.0).collect();
        let training = postcard::to_allocvec(points)?;
        let mut notes = Vec::new();
        // A file's own model is only the same where nothing else was loaded beside it, and with the same settings.
        for hash in &self.files.saved_hashes {
            if is_as_saved {
                notes.extend(self.study.differs_from(hash)?);
            }
        }
        if !is_as_saved && !self.files.saved_hashes.is_empty() {
            notes.push(
                "The opened model was saved with other settings; it is fitted again with those chosen now.".into(),
            );
        }
        Ok(Trained { answer, groups: self.study.groups().to_vec(), training, folds, notes })
    }

    /// Takes what [`predict_folds`] gave for all folds, in any order.
    ///
    /// # Errors
    /// Returns an error if nothing was trained, or the folds come from another build.
    pub fn validate(&mut self, folds: &[Vec<u8>], progress: &mut dyn Progress) -> Result<Validated, TuningStudyError> {
        let mut predictions: Vec<FoldPredictions> = Vec::new();
        for bytes in folds {
            predictions.extend(postcard::from_bytes::<Vec<FoldPredictions>>(bytes)?);
        }
        let (evaluation, answer) = self.study.validate(&predictions, progress)?;
        let answer = answer.to_vec();
        Ok(Validated { evaluation, answer, notes: self.study.notes() })
    }
}

/// Keeps the default between measured sizes, but where what is deployed at one of the two is expected to serve there
/// too.
fn keep_what_is_deployed_beside(between_sizes: &mut [BetweenSizes], recommendations: &[Recommendation]) {
    for between in between_sizes {
        let (collective, scale) = (between.collective, between.scale);
        let of_group =
            recommendations.iter().filter(|r| (r.workload.collective, r.workload.scale) == (collective, scale));
        let (below, above): (Vec<_>, Vec<_>) = of_group.partition(|r| r.workload.size_bytes < between.min_bytes);
        let lower = below.into_iter().max_by_key(|r| r.workload.size_bytes);
        let upper = above.into_iter().min_by_key(|r| r.workload.size_bytes);
        let is_beside = |asked: &Recommendation| {
            let mut beside = [lower, upper].into_iter().flatten().filter(|r| r.decision.names_configuration());
            beside.any(|r| r.configuration == asked.configuration)
        };
        between.deployed = between.deployed.take().filter(|(low, _)| is_beside(low));
    }
}

/// Learns without some of [`Trained::folds`] and predicts them, from the training rows alone: on any worker or thread.
///
/// # Errors
/// Returns an error if the rows come from another build, or can't be learnt from.
pub fn predict_folds(
    training: &[u8],
    parameters: &Parameters,
    folds: &[u32],
    progress: &mut dyn Progress,
) -> Result<Vec<u8>, TuningStudyError> {
    if !parameters.end() {
        return Err(TuningStudyError::TooManyTrees);
    }
    let points: Vec<Point> = postcard::from_bytes(training)?;
    let all: Vec<(FoldScheme, usize)> = validate::all_folds(&points);
    let mut predictions = Vec::new();
    for fold in folds {
        if let Some((scheme, fold)) = all.get(*fold as usize) {
            let predicted = validate::predict_fold(&points, parameters, *scheme, *fold, progress);
            predictions.push(predicted?);
        }
    }
    Ok(postcard::to_allocvec(&predictions)?)
}
