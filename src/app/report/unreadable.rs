//! The message in place of a report that can't be read: why, and what to do.

use leptos::prelude::*;

use super::view::CloseReport;
use crate::app::drop::{OnFiles, OpenButton};

/// Says why there is no report.
#[component]
pub(super) fn Unreadable(
    /// Whether the report came from a link; otherwise from a file.
    is_link: bool,
    /// Why it can't be read, as a sentence.
    why: String,
) -> impl IntoView {
    let on_files: OnFiles = expect_context();
    let (heading, advice) = if is_link {
        (
            "This link shows no report",
            "Compare its end with that of the link that was sent: mail programs break long links over lines. Else ask \
             for the link again, or for the report as an HTML file, and drop it here.",
        )
    } else {
        ("This report is not open", "Drop the file anywhere on this page, or open it here.")
    };
    view! {
        <main class="welcome">
            <section class="welcome-zone report-trouble" aria-labelledby="trouble-heading">
                <h1 id="trouble-heading">{heading}</h1>
                <p class="wrong" role="alert">{why}</p>
                <p>{advice}</p>
                <div class="welcome-actions">
                    <OpenButton on_files primary=true />
                    <CloseReport />
                </div>
            </section>
        </main>
    }
}
