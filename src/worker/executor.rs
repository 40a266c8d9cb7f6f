//! Does what the page asks, as a plain function: the same in a worker, in the terminal and in tests.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
    iter,
};

use super::protocol::{ComparedState, DocumentFiles, FileToLoad, Loaded, Request, Response, Trained, Validated};
use crate::{
    collective::{Configuration, Scale, Workload},
    intake::{self, ColumnSource, FileContent, FileReport, Mapping, Outcome},
    order::CompactCollect,
    overlap::files::NamedKernelFile,
    policy::{self, study::NamedLog},
    progress::{Progress, Silent},
    registry::{Studies, WorkbenchFiles},
    report,
    text::{Listing, Problems, excerpt, keep_few},
    topology,
    tuning::{
        ab::{
            self,
            script::AbArm,
            verdict::{JudgedRule, RuleVerdict},
        },
        aggregate::{Point, Target},
        compare,
        conf::{export, question},
        coverage,
        heat_map::Against,
        hotspots,
        job::JobLog,
        model_file::ModelFile,
        origin::Origins,
        parameters::Parameters,
        plan,
        platform::Platform,
        read::Row,
        runs::Runs,
        sets::{self, Set, SetChoice, Sets},
        snapshot::{self, Extent, Snapshot},
        study::{TuningStudy, TuningStudyError},
        support::SupportMatrix,
        validate::{self, FoldPredictions, FoldScheme},
    },
    units::{count, grouped},
    workbench::{ReportContext, ViewChange, WorkbenchAnswer, WorkbenchError, WorkbenchView},
};

/// The bytes of one file.
pub struct FileSource {
    /// A reader that starts at the beginning of the file.
    pub content: Box<dyn Read>,
    /// The number of bytes.
    pub size_bytes: u64,
}

/// The reason why a request fails. Messages are shown to users.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// The tuning workbench can't answer.
    #[error(transparent)]
    Tuning(#[from] TuningStudyError),
    /// A question about tuner files is not valid.
    #[error(transparent)]
    Conf(#[from] question::ConfQuestionError),
    /// The coverage of a job can't be computed.
    #[error(transparent)]
    Coverage(#[from] coverage::CoverageError),
    /// Another workbench can't answer.
    #[error(transparent)]
    Workbench(#[from] WorkbenchError),
    /// The policy workbench can't answer.
    #[error(transparent)]
    Policy(#[from] policy::study::StudyError),
    /// The topology workbench can't answer.
    #[error(transparent)]
    Topology(#[from] topology::study::StudyError),
    /// There is no comparison among the loaded files.
    #[error(
        "there is nothing to compare: give per_size_stats.csv, or the logs of a campaign (all_reduce_2n_default_r1.log, \
         all_reduce_2n_conf_r1.log, …)"
    )]
    NothingToCompare,
    /// One of two states has nothing that can be compared.
    #[error("there is no state {0}: {1}")]
    NoSide(&'static str, String),
    /// There is no report with this number among the loaded files.
    #[error("this report is not loaded any more: give it again")]
    NoReport,
    /// The report exceeds the limits within which reports can be read.
    #[error("The report {0}: leave charts or measurements out of it")]
    Unwritten(#[from] report::wire::WireError),
    /// A message comes from another build.
    #[error("the parts of this page are of different builds; reload it")]
    Message(#[from] postcard::Error),
}

/// Holds what was loaded and learnt, and answers requests about it.
#[derive(Default)]
pub struct Executor {
    study: TuningStudy,
    studies: Studies,
    /// What was shown last of each workbench.
    shown: [Option<WorkbenchView>; report::Workbench::ALL.len()],
    documents: Documents,
    /// Names of the loaded files, as their rows number them.
    names: BTreeMap<u16, String>,
    /// The names of the files with measurements.
    sweeps: Vec<String>,
    /// The hashes of the model files among the loaded files.
    saved_hashes: Vec<String>,
    /// The set of measurements that is studied, if there are several.
    set: Option<String>,
    /// The versions and variables with which each collective and scale was measured.
    measured_with: snapshot::MeasuredWith,
    /// The report on each loaded file.
    files: Vec<FileReport>,
    /// Notes about all files.
    notes: Vec<String>,
    /// The report that was written last, as long as nothing else was asked.
    made: Option<(report::Contents, report::Report)>,
}

/// The entry of a file in a report.
fn loaded_file(file: &FileReport) -> report::LoadedFile {
    let (format, holds, left_out) = match &file.outcome {
        Outcome::Loaded { format, rows, default_rows, problems, .. } => {
            let holds = format!("{}, {} of the default", count(*rows, "row"), grouped(*default_rows));
            (format.clone(), holds, problems.count)
        }
        Outcome::Known { format, holds, problems, .. } => (format.clone(), holds.clone(), problems.count),
        Outcome::NeedsMapping(_) => ("a table with unknown columns".into(), String::new(), 0),
        Outcome::Refused(_) => ("not read".into(), String::new(), 0),
    };
    report::LoadedFile { name: Some(report::wire::leaf(&file.name)), format, holds, left_out }
}

/// The loaded files for use in a report.
fn material(files: &[FileReport]) -> ReportContext<'_> {
    ReportContext {
        files: files.iter().map(loaded_file).collect(),
        problems: files.iter().map(|file| (file.name.as_str(), problems(file))).collect(),
    }
}

/// The lines of a file that were left out.
fn problems(file: &FileReport) -> &Problems {
    const NONE: &Problems = &Problems { kept: Vec::new(), count: 0 };
    match &file.outcome {
        Outcome::Loaded { problems, .. } | Outcome::Known { problems, .. } => problems,
        Outcome::NeedsMapping(_) | Outcome::Refused(_) => NONE,
    }
}

impl Executor {
    /// Does one request. `files` are those of [`Request::Load`], in its order.
    ///
    /// # Errors
    /// Returns the reason, in words for users.
    pub fn execute(
        &mut self,
        request: Request,
        files: Vec<FileSource>,
        progress: &mut dyn Progress,
    ) -> Result<Response, ExecuteError> {
        if !matches!(request, Request::WriteReport { .. }) {
            self.made = None;
        }
        Ok(match request {
            Request::Ping => Response::Pong,
            Request::Rehearse => {
                rehearse();
                Response::Pong
            }
            Request::Load { files: names, target, set } => {
                *self = Self::default();
                let opened = read_set(&names, files, &mut |_| set, progress);
                Response::Loaded(self.take_in(opened, target, progress)?)
            }
            Request::Train { parameters } => Response::Trained(self.train(parameters, progress)?),
            Request::Folds { training, parameters, folds } => {
                Response::FoldsDone(predict_folds(&training, &parameters, &folds, progress)?)
            }
            Request::Validate { folds } => Response::Validated(self.validate(&folds, progress)?),
            Request::View { workload, against } => {
                let mut view = self.study.view(&workload)?;
                if against != Against::Best {
                    view.heat_map = self.study.heat_map(&workload, against);
                }
                Response::View(view)
            }
            Request::Recommend { collective, scale, sizes, search } => {
                let workloads: Vec<Workload> =
                    sizes.into_iter().map(|size_bytes| Workload { collective, scale, size_bytes }).collect();
                Response::Recommended(self.study.recommend(&workloads, Some(&search), true, progress)?)
            }
            Request::Importances => Response::Importances(self.study.importances(progress)?),
            Request::SaveModel => Response::ModelFile(self.study.model_file()?.to_text()),
            Request::Record(question) => Response::Record(self.study.record(&question, &self.names)),
            Request::Hotspots(question) => {
                Response::Hotspots(hotspots::answer(self.study.sweep(), self.study.recommendations(), &question))
            }
            Request::Conf(question) => Response::Conf(self.conf(&question)?),
            Request::Coverage(question) => Response::Coverage(Box::new(self.coverage(&question)?)),
            Request::Ab(question) => Response::Ab(self.documents.compare(&question, &self.files)?),
            Request::AbScript(campaign) => Response::AbScript(campaign.script()),
            Request::Plan(question) => Response::Plan(self.plan(&question, progress)?),
            Request::Study { workbench, question, is_held } => {
                let material = material(&self.files);
                let answer = self.studies.answer(workbench, *question, material, progress)?;
                Response::Study(Box::new(self.changed(workbench, answer, is_held)))
            }
            Request::Report(contents) => Response::Report(Box::new(self.report(&contents)?)),
            Request::Compare { before, after, question } => {
                let mut files = files.into_iter();
                let before = self.side("before", before, question.sets[0], &mut files, progress)?;
                let after = self.side("after", after, question.sets[1], &mut files, progress)?;
                Response::Compared(Box::new(self.change(&before, &after, &question)?))
            }
            Request::WriteReport { contents, form } => Response::Written(self.write_report(contents, form)?),
            Request::WriteOpened { report, form } => Response::Written(report::write(&report, form)?),
            Request::OpenReport { file } => {
                let found = self.documents.reports.iter().find(|(number, _)| *number == file);
                Response::Report(found.map(|(_, report)| report.clone()).ok_or(ExecuteError::NoReport)?)
            }
            Request::Table { file } => Response::Table(self.documents.table(file)),
        })
    }

    /// What the answer changes in what was shown last, where the page holds that.
    fn changed(&mut self, workbench: report::Workbench, answer: WorkbenchAnswer, is_held: bool) -> WorkbenchAnswer {
        let WorkbenchAnswer::Shown(shown) = answer else { return answer };
        let last = &mut self.shown[workbench as usize];
        match last.take().filter(|_| is_held) {
            Some(before) => {
                let change = ViewChange::new(&before, &shown);
                *last = Some(*shown);
                WorkbenchAnswer::Changed(Box::new(change))
            }
            None => {
                *last = Some((*shown).clone());
                WorkbenchAnswer::Shown(shown)
            }
        }
    }

    /// The plan of what to measure next, from the configurations to deploy or, before any training, from the measured
    /// winners. Includes sizes that loaded jobs send and nobody measured.
    ///
    /// # Errors
    /// Returns an error if nothing was measured.
    pub fn plan(
        &self,
        question: &plan::PlanQuestion,
        progress: &mut dyn Progress,
    ) -> Result<plan::PlanAnswer, ExecuteError> {
        let recommendations = self.study.to_deploy()?;
        let recommendations = &recommendations[..];
        let sweep = self.study.sweep();
        let mut question = question.clone();
        question.measured_with.clone_from(&self.set);
        question.uncovered.extend(plan::agenda::unmeasured(sweep, self.documents.jobs.iter().map(|(_, job)| job)));
        question.platform = question.platform.or_else(|| self.platform());
        let matrix = question.platform.unwrap_or_default().matrix();
        Ok(plan::plan(sweep, recommendations, &SupportMatrix::new(matrix, sweep), &question, progress))
    }

    /// The library and its version, as the measurements say them, else the library that runs what was measured; `None`
    /// where nothing tells, or different ones are told.
    #[must_use]
    pub fn platform(&self) -> Option<Platform> {
        let words = self.measured_with.values().flatten().map(String::as_str);
        let ran = self.study.groups().iter().flat_map(|group| &group.pairs).map(|pair| pair.algorithm);
        Platform::from_words(words).or_else(|| Platform::from_algorithms(ran))
    }

    /// Answers for another platform than the one that the measurements tell.
    pub fn set_platform(&mut self, platform: Platform) {
        self.study.set_platform(platform);
    }

    /// The report on what was found.
    ///
    /// # Errors
    /// Returns an error if nothing was measured or the model can't be evaluated.
    pub fn report(&self, contents: &report::Contents) -> Result<report::Report, ExecuteError> {
        let material = material(&self.files);
        if let Some(study) = self.studies.of(contents.workbench) {
            return Ok(study.report(material, contents)?);
        }
        let material = crate::tuning::report::TuningReportInput {
            study: &self.study,
            files: material.files,
            problems: material.problems,
            names: &self.sweeps,
            numbered: &self.names,
            notes: self.notes.iter().cloned().chain(self.study.notes()).collect(),
            set: self.set(),
            plan: self.plan(&plan::PlanQuestion::default(), &mut Silent)?,
        };
        let mut report = crate::tuning::report::report(material, contents)?;
        report.snapshot.iter_mut().for_each(|snapshot| snapshot.measured_with(&self.measured_with));
        Ok(report)
    }

    /// Writes the report in one of its forms; the next form is written from the same report.
    fn write_report(
        &mut self,
        contents: report::Contents,
        form: report::ReportFormat,
    ) -> Result<report::Written, ExecuteError> {
        let report = match self.made.take() {
            Some((of, report)) if of == contents => report,
            _ => self.report(&contents)?,
        };
        let (_, report) = self.made.insert((contents, report));
        Ok(report::write(report, form)?)
    }

    /// The changes between two states, as if the rules of a loaded tuner file were deployed if one is named.
    ///
    /// # Errors
    /// Returns an error if the tuner file is not loaded.
    fn change(
        &self,
        before: &Snapshot,
        after: &Snapshot,
        question: &compare::CompareQuestion,
    ) -> Result<compare::CompareAnswer, ExecuteError> {
        let Some(compare::LoadedDeployment { file, reader, library }) = question.conf else {
            return Ok(compare::compare(before, after, None, question));
        };
        let rules = question::rules(&self.documents.confs, file, reader)?;
        let conf = compare::DeployedConf { rules: &rules, reader, library };
        Ok(compare::compare(before, after, Some(&conf), question))
    }

    /// One of two measured states; `files` are what its files are read from, and maybe more.
    fn side(
        &self,
        when: &'static str,
        side: ComparedState,
        set: SetChoice,
        files: &mut impl Iterator<Item = FileSource>,
        progress: &mut dyn Progress,
    ) -> Result<Snapshot, ExecuteError> {
        match side {
            ComparedState::Loaded => self.snapshot(Extent::Whole),
            ComparedState::Snapshot(snapshot) => Ok(*snapshot),
            ComparedState::Files(names) => {
                let sources = files.take(names.len()).collect();
                snapshot_of(when, read_set(&names, sources, &mut |_| set, progress), progress)
            }
        }
    }

    /// The snapshot of the loaded measurements, to be compared with another state.
    ///
    /// # Errors
    /// Returns an error before any training.
    pub fn snapshot(&self, extent: Extent) -> Result<Snapshot, ExecuteError> {
        let mut snapshot = Snapshot::new(&self.study, extent)?;
        snapshot.measured_with(&self.measured_with);
        Ok(snapshot)
    }

    /// The loaded files that are not sweeps.
    #[must_use]
    pub fn documents(&self) -> &Documents {
        &self.documents
    }

    /// The studies of the other workbenches.
    pub const fn studies(&mut self) -> &mut Studies {
        &mut self.studies
    }

    /// The set of measurements that is studied, in words; `None` if there is only one.
    #[must_use]
    pub fn set(&self) -> Option<&str> {
        self.set.as_deref()
    }

    /// The study of the loaded sweeps.
    #[must_use]
    pub fn study(&self) -> &TuningStudy {
        &self.study
    }

    /// Studies what files hold, instead of everything earlier.
    ///
    /// # Errors
    /// Returns an error if none as long as nothing was learnt from it.
    pub fn take_in(
        &mut self,
        opened: OpenedFiles,
        target: Target,
        progress: &mut dyn Progress,
    ) -> Result<Loaded, ExecuteError> {
        let OpenedFiles {
            rows,
            measured_with,
            files,
            parameters,
            documents,
            parts,
            sets,
            notes: mut read,
            saved_hashes,
            target: saved_target,
        } = opened;
        // The rows of a saved model are what it was learnt from, whatever is asked for now.
        let target = saved_target.unwrap_or(target);
        progress.report("Bringing repeats together", 0, 1);
        let used: BTreeSet<u16> = rows.chunk_by(|a, b| a.file == b.file).map(|same| same[0].file).compact_collect();
        let mut runs = Runs::new(rows, target);
        let mut notes: Vec<String> = Some(sets.note.clone()).filter(|note| !note.is_empty()).into_iter().collect();
        notes.append(&mut runs.notes);
        notes.append(&mut read);
        let names = files.iter().map(|file| (number(file.id), file.name.clone())).compact_collect();
        let is_sweep = |file: &&FileReport| {
            matches!(file.outcome, Outcome::Loaded { .. }) && (sets.all.is_empty() || used.contains(&number(file.id)))
        };
        let sweeps = files.iter().filter(is_sweep).map(|file| file.name.clone()).collect();
        let mut document_files = documents.files();
        document_files.studied = parts.files();
        let set = sets.label().map(str::to_owned);
        let mut study = TuningStudy::of_runs(runs, target);
        let scales: Vec<Scale> = study.groups().iter().map(|group| group.scale).collect();
        let links = parts.topologies.iter().map(|(_, name, part)| (name.as_str(), part));
        let (ceilings, untold) = topology::ceiling::ceilings(links, &scales);
        let held = study.limit_predictions(ceilings);
        *self = Self {
            study,
            studies: Studies::new(parts),
            shown: Default::default(),
            documents,
            names,
            sweeps,
            saved_hashes,
            set,
            measured_with,
            files: files.clone(),
            notes: Vec::new(),
            made: None,
        };
        self.study.set_platform(self.platform().unwrap_or_default());
        notes.extend(self.study.sweep().notes());
        notes.extend(self.study.screened().notes());
        notes.extend(untold);
        notes.extend(held);
        keep_few(&mut notes);
        self.notes.clone_from(&notes);
        let loaded = self.studies.overlap.loaded();
        notes.extend(loaded.notes.iter().cloned());
        notes.extend(loaded.merged.iter().map(|(name, merged)| format!("{name}: {}", merged.sentence())));
        progress.report("Bringing repeats together", 1, 1);
        let groups = self.study.groups().to_vec();
        Ok(Loaded { files, groups, sets, winners: self.study.winners()?, parameters, notes, documents: document_files })
    }

    /// Answers a question about tuner files, from the last answers, or from the measured winners before any.
    ///
    /// # Errors
    /// Returns an error if the file is not loaded, or nothing was measured.
    pub fn conf(&self, question: &question::ConfQuestion) -> Result<question::ConfAnswer, ExecuteError> {
        let recommendations = self.study.to_deploy()?;
        let recommendations = &recommendations[..];
        let basis = export::ExportInput {
            sweep: self.study.sweep(),
            recommendations,
            between_sizes: &self.study.between_sizes()?,
            names: &self.sweeps,
            set: self.set(),
            level: self.study.confidence().level,
        };
        let predict = |workload: &Workload, configuration: &Configuration| self.study.predict(workload, configuration);
        Ok(question::answer(question, &self.documents.confs, &basis, Some(&predict))?)
    }

    /// The coverage of the calls of loaded logs, or of calls that were entered, by tuner file rules, and its cost.
    ///
    /// # Errors
    /// Returns an error if there are no calls, if their scale is unknown, or if the tuner file is not loaded.
    pub fn coverage(&self, question: &coverage::CoverageQuestion) -> Result<coverage::CoverageAnswer, ExecuteError> {
        let mut job = JobLog::default();
        self.documents.jobs.iter().for_each(|(_, log)| job.merge(log.clone()));
        let rules = match question.conf {
            Some(file) => Some(question::rules(&self.documents.confs, file, question.reader)?),
            None => None,
        };
        let predict = |workload: &Workload, configuration: &Configuration| self.study.predict(workload, configuration);
        let basis =
            coverage::CoverageInput { sweep: self.study.sweep(), rules: rules.as_deref(), predict: Some(&predict) };
        Ok(coverage::coverage(&job, &basis, question)?)
    }

    /// Learns from what was taken in.
    ///
    /// # Errors
    /// Returns an error if there is too little to learn from, or the parameters are outside their range.
    pub fn train(&mut self, parameters: Parameters, progress: &mut dyn Progress) -> Result<Trained, ExecuteError> {
        let screened = self.study.screened().clone();
        let answer = self.study.train(parameters, progress)?.to_vec();
        let points = &self.study.sweep().points;
        let folds = validate::all_folds(points).into_iter().map(|_| 1.0).collect();
        let training = postcard::to_allocvec(points)?;
        let mut notes = Vec::new();
        if *self.study.screened() != screened {
            notes.extend(self.study.screened().notes());
        }
        // A file's own model is only the same where nothing else was loaded beside it.
        for hash in &self.saved_hashes {
            notes.extend(self.study.differs_from(hash)?);
        }
        Ok(Trained { answer, groups: self.study.groups().to_vec(), training, folds, notes })
    }

    /// Takes what [`predict_folds`] gave for all folds, in any order.
    ///
    /// # Errors
    /// Returns an error if nothing was trained, or the folds come from another build.
    pub fn validate(&mut self, folds: &[Vec<u8>], progress: &mut dyn Progress) -> Result<Validated, ExecuteError> {
        let mut predictions: Vec<FoldPredictions> = Vec::new();
        for bytes in folds {
            predictions.extend(postcard::from_bytes::<Vec<FoldPredictions>>(bytes)?);
        }
        let (evaluation, answer) = self.study.validate(&predictions, progress)?;
        let answer = answer.to_vec();
        Ok(Validated { evaluation, answer, notes: self.study.notes() })
    }
}

/// The snapshot of opened files, to be compared with another state; `when` names the state.
///
/// # Errors
/// Returns an error if the files hold no measurements.
pub fn snapshot_of(
    when: &'static str,
    opened: OpenedFiles,
    progress: &mut dyn Progress,
) -> Result<Snapshot, ExecuteError> {
    let missing = |why: &str| Err(ExecuteError::NoSide(when, why.to_owned()));
    if let [(_, report)] = &opened.documents.reports[..] {
        return match (&report.snapshot, opened.rows.is_empty()) {
            (Some(snapshot), true) => Ok(snapshot.clone()),
            (_, false) => missing("a report and a sweep are two states; give one of them"),
            (None, true) => {
                missing("this report carries no measurements; they were left out, or it is of something else")
            }
        };
    }
    if opened.rows.is_empty() {
        let refused = opened.files.iter().find_map(|file| match &file.outcome {
            Outcome::Refused(why) => Some(why.as_str()),
            _ => None,
        });
        return missing(refused.unwrap_or("a sweep, or one report, is needed"));
    }
    let mut executor = Executor::default();
    executor.take_in(opened, Target::default(), progress)?;
    executor.snapshot(Extent::Whole)
}

/// Loaded files of the trade that are no sweep, each under its file's number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Documents {
    /// The bytes of tuner files.
    pub confs: Vec<(u32, Vec<u8>)>,
    /// The calls of jobs.
    pub jobs: Vec<(u32, JobLog)>,
    /// The comparisons of a configuration with the default.
    pub comparisons: Vec<(u32, String)>,
    /// Tables that are only shown.
    pub listings: Vec<(u32, Listing)>,
    /// Reports that were opened.
    pub reports: Vec<(u32, Box<report::Report>)>,
}

impl Documents {
    /// The numbers of the files, by kind.
    #[must_use]
    pub fn files(&self) -> DocumentFiles {
        DocumentFiles {
            confs: self.confs.iter().map(|(file, _)| *file).collect(),
            jobs: self.jobs.iter().map(|(file, _)| *file).collect(),
            studied: Vec::new(),
            comparisons: self.comparisons.iter().map(|(file, _)| *file).collect(),
            listings: self.listings.iter().map(|(file, _)| *file).collect(),
            reports: self.reports.iter().map(|(file, _)| *file).collect(),
        }
    }

    fn table(&self, file: u32) -> Listing {
        let found = self.listings.iter().find(|(number, _)| *number == file);
        found.map(|(_, listing)| listing.clone()).unwrap_or_default()
    }

    /// Judges a loaded comparison by a loaded conf; the name that it has among `files` may tell its collective.
    ///
    /// # Errors
    /// Returns an error if there is no comparison.
    pub fn compare(&self, question: &ab::AbQuestion, files: &[FileReport]) -> Result<ab::AbAnswer, ExecuteError> {
        let asked = |id: Option<u32>, number: u32| id.is_none_or(|id| id == number);
        let (id, text) =
            self.comparisons.iter().find(|(id, _)| asked(question.file, *id)).ok_or(ExecuteError::NothingToCompare)?;
        let conf = self.confs.iter().find(|(id, _)| asked(question.conf, *id)).map(|(_, bytes)| &bytes[..]);
        let name = files.iter().find(|file| file.id == *id).map_or("", |file| file.name.as_str());
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
}

/// Reads a sweep and samples of an operator, and forgets them.
fn rehearse() {
    const ROWS: u32 = 2000;
    let rows = |header: &str, row: &dyn Fn(u32) -> String| {
        iter::once(header.to_owned()).chain((1..=ROWS).map(row)).collect::<Vec<_>>().join("\n")
    };
    let sweep = rows("collective,num_nodes,num_gpus,size_bytes,busbw_ip,algo,proto,nchannels", &|row| {
        format!("all_reduce_perf,2,16,{},{}.25,RING,LL128,{}", 4096 * row, row, row % 32 + 1)
    });
    let samples = rows("mp,b,h,l,dim,F_dur(us),B_dur(us)", &|row| {
        format!("1,{},32,2048,4096,{}.25,{}.125", row % 16 + 1, row, 2 * row)
    });
    for text in [sweep, samples] {
        let (report, content) = intake::open(text.as_bytes(), "rehearsal.csv", text.len() as u64, 0, None, &mut Silent);
        debug_assert!(matches!(content, FileContent::Rows(_) | FileContent::Training(_)), "{:?}", report.outcome);
    }
}

/// The contents of files, before repeats are combined.
#[derive(Default)]
pub struct OpenedFiles {
    /// Accepted rows of all files: those of the chosen set.
    pub rows: Vec<Row>,
    /// The versions and variables with which the rows were measured.
    pub measured_with: snapshot::MeasuredWith,
    /// The report on each file.
    pub files: Vec<FileReport>,
    /// The training parameters of a model file.
    pub parameters: Option<Parameters>,
    /// The target of a model file, if nothing else was read.
    pub target: Option<Target>,
    /// The files that are not sweeps.
    pub documents: Documents,
    /// The files of the other workbenches.
    pub parts: WorkbenchFiles,
    /// The sets among which one was chosen.
    pub sets: Sets,
    /// Notes about all files.
    pub notes: Vec<String>,
    /// The hashes of the saved models' predictions.
    saved_hashes: Vec<String>,
}

/// Reads files, each as what it is; `names` and `files` go together. Of measurements that must not be pooled the
/// largest set is kept.
#[must_use]
pub fn read_files(names: &[FileToLoad], files: Vec<FileSource>, progress: &mut dyn Progress) -> OpenedFiles {
    read_set(names, files, &mut |_| SetChoice::Largest, progress)
}

/// Reads files as [`read_files`] does. `choose` is asked which set to keep, where there are several.
#[must_use]
pub fn read_set(
    names: &[FileToLoad],
    files: Vec<FileSource>,
    choose: &mut dyn FnMut(&[Set]) -> SetChoice,
    progress: &mut dyn Progress,
) -> OpenedFiles {
    let mut opened = OpenedFiles::default();
    let mut origins = Origins::default();
    // Of an arm nothing was asked but what its name says.
    let arm = || Mapping { columns: vec![("algo".to_owned(), ColumnSource::Constant("DEFAULT".to_owned()))] };
    let mappings: Vec<Option<Mapping>> =
        names.iter().map(|name| name.mapping.clone().or_else(|| AbArm::of_name(&name.name).map(|_| arm()))).collect();
    let doing = (files.len() > 1).then(|| format!("Reading {}", count(files.len() as u64, "file")));
    let total = files.iter().map(|file| file.size_bytes).sum();
    let mut together = Together { doing, read: 0, total, progress };
    let mut files: Vec<_> = names
        .iter()
        .zip(files)
        .zip(&mappings)
        .map(|((name, FileSource { content, size_bytes }), mapping)| {
            together.reading(Some(name.id));
            let file = intake::open_file(content, &name.name, size_bytes, name.id, mapping.as_ref(), &mut together);
            together.read += size_bytes;
            file
        })
        .collect();
    together.reading(None);
    intake::join(&mut files, &mappings);
    for (name, file) in names.iter().zip(files) {
        let mut report = file.report;
        let numbers = origins.take(&file.origins);
        match file.content {
            FileContent::Rows(mut rows) => {
                renumber(&mut rows, &numbers, &mut report);
                if opened.rows.is_empty() {
                    opened.rows = rows;
                } else {
                    opened.rows.extend(rows);
                }
            }
            FileContent::Model(text) => {
                if let Some(model) = open_model(&text, &mut report) {
                    opened.rows.extend(model.rows(u16::try_from(name.id).unwrap_or(u16::MAX)));
                    opened.saved_hashes.push(model.hash);
                    opened.parameters = Some(model.parameters);
                    opened.target = Some(model.target);
                }
            }
            FileContent::Log { mut rows, job } => {
                renumber(&mut rows, &numbers, &mut report);
                opened.rows.extend(rows);
                if !job.is_empty() {
                    opened.documents.jobs.push((name.id, job));
                }
            }
            FileContent::Conf(bytes) => opened.documents.confs.push((name.id, bytes)),
            FileContent::Comparison(text) => opened.documents.comparisons.push((name.id, text)),
            FileContent::Kernels(part) => {
                opened.parts.kernels.push((name.id, NamedKernelFile { name: name.name.clone(), part: *part }));
            }
            FileContent::Training(files) => opened.parts.samples.push((name.id, files)),
            FileContent::Rewards(log) => {
                opened.parts.rewards.push((name.id, NamedLog { name: name.name.clone(), log: *log }));
            }
            FileContent::Topology(part) => opened.parts.topologies.push((name.id, name.name.clone(), *part)),
            FileContent::Report(report) => opened.documents.reports.push((name.id, report)),
            FileContent::Listing(listing) => opened.documents.listings.push((name.id, listing)),
            FileContent::Nothing => {}
        }
        opened.files.push(report);
    }
    let by_number: Vec<(u32, &str)> = names.iter().map(|name| (name.id, name.name.as_str())).collect();
    opened.documents.comparisons.extend(ab::arms::take(&mut opened.rows, &by_number));
    let name = |file: u16| {
        let named = opened.files.iter().find(|report| number(report.id) == file);
        named.map(|report| report.name.clone()).unwrap_or_default()
    };
    opened.sets = sets::divide(&mut opened.rows, &origins, &name, choose);
    opened.measured_with = snapshot::measured_with(&opened.rows, &origins);
    opened.notes = intake::duplicate_runs(&opened.files, &opened.rows);
    // Beside other files a model's rows are rows like theirs.
    opened.target = opened.target.filter(|_| opened.files.len() == 1);
    opened
}

/// Several files that are read are one piece of work: what is said of each, in bytes, becomes part of the whole.
struct Together<'a> {
    /// Instead of the name of a file, where there are several.
    doing: Option<String>,
    /// The bytes of the files that were read completely.
    read: u64,
    /// The bytes of all files.
    total: u64,
    progress: &'a mut dyn Progress,
}

impl Progress for Together<'_> {
    fn report(&mut self, doing: &str, done: u64, _total: u64) {
        self.progress.report(self.doing.as_deref().unwrap_or(doing), self.read + done, self.total);
    }

    fn reading(&mut self, file: Option<u32>) {
        self.progress.reading(file);
    }
}

/// The number of a file in [`Row::file`].
fn number(id: u32) -> u16 {
    u16::try_from(id).unwrap_or(u16::MAX)
}

/// Gives the rows of a file the numbers that their origins have among those of all files.
fn renumber(rows: &mut Vec<Row>, numbers: &[Option<u16>], report: &mut FileReport) {
    let before = rows.len();
    rows.retain_mut(|row| match numbers.get(usize::from(row.origin)).copied().flatten() {
        Some(number) => {
            row.origin = number;
            true
        }
        None => false,
    });
    let lost = before - rows.len();
    if let Outcome::Loaded { notes, .. } = &mut report.outcome
        && lost > 0
    {
        notes.push(format!("{} left out: more ways of measuring than can be told apart", count(lost as u64, "row")));
    }
}

fn open_model(text: &str, report: &mut FileReport) -> Option<ModelFile> {
    match ModelFile::read(text) {
        Ok(model) => {
            if let Outcome::Loaded { rows, default_rows, notes, .. } = &mut report.outcome {
                *default_rows = model.defaults.len() as u64;
                *rows = model.points.len() as u64 + *default_rows;
                notes.push(format!(
                    "Saved by {}: its training rows are loaded and the model is fitted again",
                    model.program
                ));
                let contradictions = model.contradictions();
                if contradictions > 0 {
                    notes.push(format!(
                        "{} contradicted by the median of its runs: without these it is used",
                        count(contradictions, "point")
                    ));
                }
            }
            Some(model)
        }
        Err(error) => {
            report.outcome = Outcome::Refused(format!("{} can't be used: {error}.", excerpt(&report.name)));
            None
        }
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
) -> Result<Vec<u8>, ExecuteError> {
    if !parameters.end() {
        return Err(TuningStudyError::TooManyTrees.into());
    }
    let points: Vec<Point> = postcard::from_bytes(training)?;
    let all: Vec<(FoldScheme, usize)> = validate::all_folds(&points);
    let mut predictions = Vec::new();
    for fold in folds {
        if let Some((scheme, fold)) = all.get(*fold as usize) {
            let predicted = validate::predict_fold(&points, parameters, *scheme, *fold, progress);
            predictions.push(predicted.map_err(TuningStudyError::from)?);
        }
    }
    Ok(postcard::to_allocvec(&predictions)?)
}
