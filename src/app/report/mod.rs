//! Shows reports of any workbench. Nothing here computes or depends on a workbench; [`section`] also draws the sections
//! of the workbenches.

mod reader;
mod section;
mod unreadable;
mod view;

pub use reader::ReportReader;
pub use section::{SectionView, figures_view};

use leptos::prelude::*;

use crate::app::reactive::reactive;
use reader::Source;
use unreadable::Unreadable;
use view::ReportView;

/// The opened report, or why it can't be shown.
#[component]
pub fn ReportPage() -> impl IntoView {
    let reader: ReportReader = expect_context();
    reactive(move || {
        let opened = reader.opened()?;
        Some(match &opened.report {
            None => view! { <Opening /> }.into_any(),
            Some(Ok(_)) => view! { <ReportView opened /> }.into_any(),
            Some(Err(why)) => {
                let (is_link, why) =
                    (matches!(opened.source, Source::Link(_)), format!("{}.", why.trim_end_matches('.')));
                view! { <Unreadable is_link why /> }.into_any()
            }
        })
    })
}

#[component]
fn Opening() -> impl IntoView {
    view! {
        <main class="welcome">
            <p class="report-opening" role="status">"Opening the report …"</p>
        </main>
    }
}
