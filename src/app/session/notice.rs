//! Notices: messages that stay on the page until they are dismissed.

use leptos::prelude::*;

use super::{Session, workers::failure::Failure};
use crate::app::diagnostics;

/// Something that the user must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Distinguishes it in the list.
    pub id: u32,
    /// What happened.
    pub text: String,
    /// Whether it is worse than news.
    pub is_error: bool,
    /// What can be done about it.
    pub remedy: Option<Remedy>,
}

/// What can be done about a [`Notice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Read the open files again.
    ReadAgain,
    /// Train again.
    Train,
    /// Reload the page.
    Reload,
}

impl Session {
    /// Tells the user of something.
    pub fn notify(self, text: String, is_error: bool, remedy: Option<Remedy>) {
        let id = self.next_id();
        self.notices.update(|notices| {
            notices.retain(|notice| notice.text != text);
            notices.push(Notice { id, text, is_error, remedy });
        });
    }

    /// Tells the user of a failure, with what can be done.
    pub fn notify_failure(self, failure: &Failure, remedy: Remedy) {
        diagnostics::note_error(&failure.cause().to_string());
        let remedy = if failure.is_curable() { remedy } else { Remedy::Reload };
        self.notify(failure.to_string(), true, Some(remedy));
    }

    /// What a new run may mend need not be said any longer.
    pub(super) fn drop_remedied_notices(self) {
        self.notices.update(|notices| notices.retain(|notice| notice.remedy.is_none()));
    }
}
