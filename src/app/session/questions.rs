//! Questions to the main worker beside the run: the charts of a workload, other sizes, feature importances, the model
//! as a file.

use std::sync::Arc;

use leptos::{prelude::*, task::spawn_local};

use super::{
    Session,
    notice::NoticeAction,
    task::Task,
    workers::{
        WorkerMemory,
        client::{Answer, JobKind},
        failure::Failure,
    },
};
use crate::{
    collective::Workload,
    progress::Step,
    tuning::{heat_map::Against, result::Recommendation},
    units::Size,
    worker::protocol::{Request, Response},
};

impl Session {
    /// The recommendations for the workloads of a `Request::Recommend`, measured or not.
    pub async fn recommend(self, request: Request) -> Result<Vec<Recommendation>, Failure> {
        match self.ask_beside("Searching", request).await? {
            Response::Recommended(answers) => Ok(answers),
            _ => Err(Failure::InvalidMessage),
        }
    }

    /// Has the worker compute the feature importances, and shows them.
    pub fn ask_importances(self) {
        spawn_local(async move {
            match self.ask_beside("Shuffling features", Request::Importances).await {
                Ok(Response::Importances(importances)) => self.tuning.importances.set(Some(Arc::new(importances))),
                Ok(_) => {}
                Err(failure) if failure.is_expected() => {}
                Err(failure) => self.notify_failure(&failure, NoticeAction::Train),
            }
        });
    }

    /// The model as the text of a file.
    pub async fn save_model(self) -> Result<String, Failure> {
        match self.ask_beside("Writing the model", Request::SaveModel).await? {
            Response::ModelFile(text) => Ok(text),
            _ => Err(Failure::InvalidMessage),
        }
    }

    /// Asks for the charts of the workload shown. Requests that come while an answer is awaited are combined into one.
    pub fn refresh_view(self) {
        let Some(workload) = self.tuning.shown.get_untracked().and_then(Result::ok) else { return };
        let free = self.workers.try_update_value(|workers| {
            workers.view_again = workers.view_asked;
            !std::mem::replace(&mut workers.view_asked, true)
        });
        let is_gone = self.worker_memory.get_untracked() == WorkerMemory::Nothing;
        let request =
            Request::View { workload, against: Against::default_if(self.tuning.against_default.get_untracked()) };
        if is_gone || free != Some(true) || self.was_fatal(&request) {
            if free == Some(true) {
                self.workers.update_value(|workers| workers.view_asked = false);
            }
            if is_gone {
                self.reload_lost_files();
            }
            return;
        }
        self.quick_jobs.update(|quick_jobs| *quick_jobs += 1);
        let answer = self.main().ask(JobKind::Quick, request.clone(), &[], Box::new(|_| ()));
        spawn_local(async move {
            let answer = answer.await;
            let again = self.workers.try_update_value(|workers| {
                workers.view_asked = false;
                std::mem::take(&mut workers.view_again)
            });
            match answer {
                Ok(Answer { response: Response::View(view), .. }) if self.is_shown(&view.workload) => {
                    self.tuning.view.set(Some(Arc::new(view)));
                }
                Err(failure @ Failure::Refused(_)) => self.notify(failure.to_string(), true, None),
                Ok(_) => {}
                Err(failure) if failure.is_expected() => {}
                Err(failure) => {
                    let work = format!(
                        "Drawing {} of {} on {}",
                        workload.collective,
                        Size(workload.size_bytes),
                        workload.scale
                    );
                    self.on_fatal_question(request, &failure.during(|| work));
                }
            }
            if again == Some(true) {
                self.refresh_view();
            }
            self.quick_jobs.update(|quick_jobs| *quick_jobs -= 1);
        });
    }

    fn is_shown(self, workload: &Workload) -> bool {
        self.tuning.shown.get_untracked() == Some(Ok(*workload))
    }

    /// Asks a question whose progress is shown. The worker answers it after the jobs that it already has.
    async fn ask_beside(self, name: &'static str, request: Request) -> Result<Response, Failure> {
        let progress = move |step| self.side_task.set(Some(Task { name, step }));
        progress(Step::default());
        let answer = self.main().ask(JobKind::Long, request, &[], Box::new(progress)).await;
        self.side_task.set(None);
        answer.map(|answer| answer.response).map_err(|failure| {
            self.note_worker_end(&failure);
            failure.during(|| name.to_owned())
        })
    }
}
