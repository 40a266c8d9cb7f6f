//! Notices: messages that stay on the page until they are dismissed.

use leptos::task::spawn_local;

use super::{Session, workers::failure::Failure};
use crate::app::{clipboard, diagnostics};

/// A message for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The number of the notice, unique in the session.
    pub id: u32,
    /// The text of the message.
    pub text: String,
    /// Whether it reports an error.
    pub is_error: bool,
    /// The action that the notice offers.
    pub action: Option<NoticeAction>,
}

/// The action of the button of a [`Notice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeAction {
    /// Reads the open files again.
    ReadAgain,
    /// Reloads the page in the browser.
    Reload,
}

impl Session {
    /// Shows a notice, in place of an older one with the same text.
    pub fn notify(self, text: String, is_error: bool, action: Option<NoticeAction>) {
        let id = self.next_id();
        self.notices.update(|notices| {
            notices.retain(|notice| notice.text != text);
            notices.push(Notice { id, text, is_error, action });
        });
    }

    /// Removes the notice with a text, whose cause is gone.
    pub fn withdraw(self, text: &str) {
        self.notices.update(|notices| notices.retain(|notice| notice.text != text));
    }

    /// Copies a text to the clipboard and announces it; where the browser forbids that, a notice says what to do
    /// `instead`.
    pub fn copy(self, text: String, instead: &'static str) {
        spawn_local(async move {
            if clipboard::copy(&text).await {
                self.announcement.set("Copied.".into());
            } else {
                self.notify(format!("The browser does not let the page copy; {instead} instead."), true, None);
            }
        });
    }

    /// Shows a failure as a notice that offers `action`, or to reload the page if trying again can't help.
    pub fn notify_failure(self, failure: &Failure, action: NoticeAction) {
        diagnostics::note_error(&failure.cause().to_string());
        let action = if failure.can_retry() { action } else { NoticeAction::Reload };
        self.notify(failure.to_string(), true, Some(action));
    }

    /// Removes the notices that offer an action: the new run replaces it.
    pub(super) fn dismiss_actionable_notices(self) {
        self.notices.update(|notices| notices.retain(|notice| notice.action.is_none()));
    }
}
