//! A report that can't be read: why, and what to do.

use leptos::prelude::*;

use super::{reader::Source, view::Leave};
use crate::{
    app::drop::{OnFiles, OpenButton},
    tuning::wording::count,
};

/// Why there is no report. Nothing else stands in for it.
#[component]
pub(super) fn Unreadable(
    /// Where it came from.
    source: Source,
    /// Why it can't be read, in a sentence.
    why: String,
) -> impl IntoView {
    let on_files: OnFiles = expect_context();
    let (heading, advice) = match source {
        Source::Link(fragment) => (
            "This link shows no report",
            vec![
                format!(
                    "The link that arrived has {}. Some chat and mail programs cut long links, or break them over \
                     lines: compare its end with that of the link that was sent.",
                    count(fragment.chars().count() as u64, "character")
                ),
                "Ask for the link again, or for the report as an HTML file, and drop it here.".to_owned(),
            ],
        ),
        Source::File(..) => {
            ("This report is not open", vec!["Drop the file anywhere on this page, or open it here.".to_owned()])
        }
    };
    view! {
        <main class="welcome">
            <section class="welcome-zone report-trouble" aria-labelledby="trouble-heading">
                <h1 id="trouble-heading">{heading}</h1>
                <p class="wrong" role="alert">{why}</p>
                {advice.into_iter().map(|sentence| view! { <p>{sentence}</p> }).collect_view()}
                <div class="welcome-actions">
                    <OpenButton on_files primary=true />
                    <Leave />
                </div>
            </section>
        </main>
    }
}
