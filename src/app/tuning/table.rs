//! The table of recommendations for all measured workloads.

use std::sync::Arc;

use leptos::prelude::*;

use crate::{
    app::reactive::Show,
    app::table::DataTable,
    app::{
        export::TableMenus,
        fields::filter_field,
        session::Session,
        signal::{RwSignal, memo},
    },
    tuning::{
        address::Address,
        export::ExportFormat,
        listing,
        result::Recommendation,
        wording::{Advice, advice, support},
    },
};

/// The recommendations for the collective and scale shown, or for all.
#[component]
pub fn OptimalConfigurations() -> impl IntoView {
    let session: Session = expect_context();
    let all = RwSignal::new(false);
    let filter = RwSignal::new(String::new());
    let asked = RwSignal::new(Vec::new());
    let several = move || session.tuning.groups.with(|groups| groups.len() > 1);
    let rows = memo(move || {
        let shown = session.tuning.workload().filter(|_| !all.get());
        let is_shown = |r: &&Recommendation| {
            shown.is_none_or(|w| w.collective == r.workload.collective && w.scale == r.workload.scale)
        };
        Arc::new(session.tuning.answer.with(|answer| answer.iter().filter(is_shown).cloned().collect::<Vec<_>>()))
    });
    let write = UnsyncCallback::new(move |format: ExportFormat| {
        let kept = rows.with_untracked(|rows| {
            let kept = listing::recommendations(rows).visible_rows(None, &filter.get_untracked());
            kept.into_iter().filter_map(|index| rows.get(index).cloned()).collect::<Vec<_>>()
        });
        format.write(&kept, session.tuning.set_label().as_deref())
    });
    let listing = memo(move || Arc::new(rows.with(|rows| listing::recommendations(rows))));
    let current = memo(move || {
        let workload = session.tuning.workload()?;
        rows.with(|rows| rows.iter().position(|r| r.workload == workload))
    });
    let workload_of = move |index: usize| rows.with_untracked(|rows| rows.get(index).map(|r| r.workload));
    let on_open = UnsyncCallback::new(move |index: usize| {
        if let Some(workload) = workload_of(index) {
            let Address { set, example, .. } = session.tuning.address.get_untracked();
            session.set_address(Address::of(&workload, set, example));
        }
    });
    let row_class = UnsyncCallback::new(move |index: usize| {
        rows.with_untracked(|rows| {
            let r = rows.get(index)?;
            Some(if advice(r) == Advice::Deploy { support(r.support) } else { "kept" })
        })
        .unwrap_or_default()
    });
    view! {
        <section class="panel" aria-labelledby="table-heading">
            <div class="panel-head">
                <h2 id="table-heading">"Optimal configurations"</h2>
                {filter_field("Filter rows", filter)}
                <Show when=several>
                    <label class="check">
                        <input type="checkbox" prop:checked=move || all.get() on:change:target=move |event| all.set(event.target().checked()) />
                        <span>"All collectives and scales"</span>
                    </label>
                </Show>
                <TableMenus listing asked title="Optimal configurations" name="optimal-configurations" write />
            </div>
            <DataTable
                caption="Optimal configurations by size"
                listing
                asked
                current
                row_class=Some(row_class)
                on_open=Some(on_open)
                filter
            />
        </section>
    }
}
