//! A section of a report: sentences, charts, tables and files.

use std::sync::Arc;

use leptos::prelude::*;

use crate::{
    app::{
        chart::ChartView,
        file_line::ShownLine,
        list::ListLimit,
        listing::ListingView,
        reactive::{For, reactive},
        session::Session,
        signal::{Signal, memo},
        terms::focusable_term,
        text_file::{Notes, TextFile},
        theme::ActiveTheme,
    },
    plot::Pick,
    report::{
        Section, TextFile as ReportFile,
        annotations::NOTE,
        placement::{Figure, Placement, RowMark},
    },
};

/// A section of a report of any workbench. Charts and tables are kept when their content changes, with the pinned
/// point, hidden series and order.
#[component]
pub fn SectionView(
    /// The section; nothing is shown for `None`.
    #[prop(into)]
    section: Signal<Option<Section>>,
    /// The id of the heading.
    id: String,
    /// The form between heading and content, for a section of a workbench.
    #[prop(optional)]
    form: Option<AnyView>,
) -> impl IntoView {
    let (session, shown_line): (Session, ShownLine) = (expect_context(), expect_context());
    let theme = expect_context::<ActiveTheme>().signal();
    let (heading_id, is_own) = (id.clone(), form.is_some());
    let count = move |of: fn(&Section) -> usize| (0..section.with(|s| s.as_ref().map_or(0, of))).collect::<Vec<_>>();
    let title = move || section.with(|section| section.as_ref().map(|section| section.title.clone()));
    let listed = ListLimit::initial();
    let text = move || {
        let first = |section: &Section| section.text.iter().take(listed.get()).cloned().collect::<Vec<_>>();
        let text = section.with(|section| section.as_ref().map(first).unwrap_or_default());
        let is_bad = section.with(|section| section.as_ref().is_some_and(|section| section.placement.is_bad));
        let sentence = |sentence: String| {
            let is_note = sentence.starts_with(NOTE);
            view! { <p class="sentence" class:wrong=is_bad class:is-note=is_note>{sentence}</p> }
        };
        text.into_iter().map(sentence).collect_view()
    };
    let sentences = move || section.with(|section| section.as_ref().map_or(0, |section| section.text.len()));
    let chart = move |index: usize| {
        let chart = memo(move || section.with(|s| s.as_ref()?.charts.get(index).cloned().map(Arc::new)));
        // Only sections with a form belong to a workbench, where a point can be chosen.
        let pick = move |pick: Option<Pick>| {
            if let Some(chart) = chart.get_untracked().filter(|_| is_own) {
                session.choose_series(session.workbench.get_untracked(), &chart, pick);
            }
        };
        view! { <ChartView chart theme on_pick=pick /> }
    };
    let tables = move || {
        let of = |section: &Section| {
            let tables = section.tables.iter().enumerate();
            tables
                .map(|(index, table)| {
                    let is_opened = table.choose.is_some() || !table.lines.is_empty();
                    (index, table.id.clone(), table.title.clone(), is_opened)
                })
                .collect()
        };
        section.with(|section| section.as_ref().map(of).unwrap_or_default())
    };
    let table = move |(index, id, title, is_opened): (usize, String, String, bool)| {
        let listing = memo(move || {
            let listing = section.with(|s| s.as_ref()?.tables.get(index).map(|table| table.listing.clone()));
            Arc::new(listing.unwrap_or_default())
        });
        let open = move |row: usize| {
            let line = section.with_untracked(|s| *s.as_ref()?.tables.get(index)?.lines.get(row)?);
            if let Some(line) = line {
                shown_line.open(session, line);
            }
            let chosen = section.with_untracked(|section| {
                let choose = section.as_ref()?.tables.get(index)?.choose.as_ref()?;
                Some((choose.key.clone(), choose.values.get(row)?.clone()))
            });
            if let Some((key, value)) = chosen {
                session.choose(session.workbench.get_untracked(), &key, &value);
            }
        };
        let row_class = UnsyncCallback::new(move |row: usize| {
            let mark = section.with_untracked(|s| s.as_ref()?.tables.get(index)?.marks.get(row).copied());
            match mark.unwrap_or_default() {
                RowMark::Plain => "",
                RowMark::Good => "keep",
                RowMark::Changed => "changes",
                RowMark::Dead => "dead",
            }
        });
        let on_open = is_opened.then(|| UnsyncCallback::new(open));
        view! { <ListingView heading=title listing=listing name=id row_class on_open /> }
    };
    let files = move || section.with(|section| section.as_ref().map(|s| s.files.clone()).unwrap_or_default());
    let file = |ReportFile { name, text, note }: ReportFile| view! { <TextFile name about=note text /> };
    let place = memo(move || section.with(|s| s.as_ref().map(|s| s.placement.clone())).unwrap_or_default());
    // On the page of a workbench the picture of the answer is drawn beside it.
    let charts = move || {
        let is_picture = is_own && place.with(|place| place.is_picture);
        count(|section| section.charts.len()).into_iter().skip(usize::from(is_picture)).collect::<Vec<_>>()
    };
    let has_charts = move || !charts().is_empty();
    let error = move || {
        place.with(|place| place.error.clone()).map(|error| view! { <p class="wrong" role="alert">{error}</p> })
    };
    let figures = move || figures_view(place.with(|place| place.figures.clone()));
    let content = view! {
            {form}
            {reactive(error)}
            {reactive(figures)}
            {reactive(text)}
            {listed.more_button(sentences)}
            {reactive(move || notes(place.get()))}
            <div class="charts" hidden=move || !has_charts()>
                <For each=charts key=|index| *index children=chart />
            </div>
            <For each=tables key=|table| (table.0, table.1.clone(), table.3) children=table />
            {reactive(move || files().into_iter().map(file).collect_view())}
    };
    let lead = move || {
        let lead = place.with(|place| place.lead.clone());
        (!lead.is_empty()).then(|| view! { <span class="small">{lead}</span> })
    };
    if place.with_untracked(|place| place.is_folded) {
        return view! {
            <details class="panel report-section" prop:open=move || place.with(|place| place.is_open)>
                <summary id=heading_id>{reactive(title)}</summary>
                {reactive(lead)}
                {content}
            </details>
        }
        .into_any();
    }
    view! {
        <section class="panel report-section" aria-labelledby=id>
            <div class:panel-head=move || place.with(|place| !place.lead.is_empty())>
                <h2 id=heading_id tabindex="-1">{reactive(title)}</h2>
                {reactive(lead)}
            </div>
            {content}
        </section>
    }
    .into_any()
}

/// The notes of a section, those that warn last.
fn notes(place: Placement) -> impl IntoView {
    let (warnings, notes): (Vec<_>, Vec<_>) = place.notes.into_iter().partition(|note| note.is_warning);
    let [notes, warnings] = [notes, warnings].map(|all| all.into_iter().map(|note| note.text).collect());
    view! {
        <Notes notes />
        <Notes notes=warnings warn=true />
    }
}

/// Figures with their names and notes; nothing for none.
pub fn figures_view(figures: Vec<Figure>) -> Option<AnyView> {
    let figure = |Figure { name, value, note }: Figure| {
        view! {
            <div class="figure">
                <dt>{focusable_term(&name)}</dt>
                <dd>{value}</dd>
                <dd class="figure-note">{note}</dd>
            </div>
        }
    };
    (!figures.is_empty())
        .then(|| view! { <dl class="figures">{figures.into_iter().map(figure).collect_view()}</dl> }.into_any())
}
