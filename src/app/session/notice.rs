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
    pub action: Option<NoticeAction>,
}

/// What can be done about a [`Notice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeAction {
    /// Read the open files again.
    ReadAgain,
    /// Train again.
    Train,
    /// Reload the page.
    Reload,
}

impl Session {
    /// Tells the user of something.
    pub fn notify(self, text: String, is_error: bool, action: Option<NoticeAction>) {
        let id = self.next_id();
        self.notices.update(|notices| {
            notices.retain(|notice| notice.text != text);
            notices.push(Notice { id, text, is_error, action });
        });
    }

    /// Tells the user of a failure, with what can be done.
    pub fn notify_failure(self, failure: &Failure, action: NoticeAction) {
        diagnostics::note_error(&failure.cause().to_string());
        let action = if failure.can_retry() { action } else { NoticeAction::Reload };
        self.notify(failure.to_string(), true, Some(action));
    }

    /// What a new run may mend need not be said any longer.
    pub(super) fn dismiss_actionable_notices(self) {
        self.notices.update(|notices| notices.retain(|notice| notice.action.is_none()));
    }
}
