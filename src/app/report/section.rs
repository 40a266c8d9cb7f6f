//! A section of a report: sentences, charts, tables, files to deploy.

use std::sync::Arc;

use leptos::prelude::*;

use crate::{
    app::{chart::ChartView, listing::ListingView, text_file::TextFile, theme::ActiveTheme},
    plot::Chart,
    report::{Exhibit, Section, TextFile as Deployable},
};

/// A section of a report of any workbench. Its parts are those of the page: charts to be read and switched, tables to
/// be sorted and copied, files to be saved.
#[component]
pub fn SectionView(
    /// What it shows.
    section: Section,
    /// Names its heading.
    id: String,
) -> impl IntoView {
    let theme = expect_context::<ActiveTheme>().signal();
    let heading_id = id.clone();
    let Section { title, text, charts, tables, files } = section;
    let text: Vec<_> = text.into_iter().map(|sentence| view! { <p class="sentence">{sentence}</p> }).collect();
    let chart = |chart: Chart| view! { <ChartView chart=Signal::stored(Some(Arc::new(chart))) theme /> };
    let charts = (!charts.is_empty()).then(|| {
        view! { <div class="charts">{charts.into_iter().map(chart).collect_view()}</div> }
    });
    let table = |Exhibit { id, title, listing }: Exhibit| {
        view! { <ListingView heading=title listing=Signal::stored(Arc::new(listing)) name=id /> }
    };
    let file = |Deployable { name, text, note }: Deployable| view! { <TextFile name about=note text /> };
    view! {
        <section class="panel report-section" aria-labelledby=id>
            <h2 id=heading_id tabindex="-1">{title}</h2>
            {text}
            {charts}
            {tables.into_iter().map(table).collect_view()}
            {files.into_iter().map(file).collect_view()}
        </section>
    }
}
