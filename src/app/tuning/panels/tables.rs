//! Tables panel: loaded tables that are not sweeps, such as summaries, reports and lists of gains.

use leptos::prelude::*;

use super::{
    super::worker_query::WorkerQuery,
    documents::{DocumentChoice, DocumentField},
};
use crate::app::{listing::ListingView, session::Session};
use crate::worker::protocol::{Request, Response};

/// The loaded tables, one at a time.
#[component]
pub fn TablesPanel() -> impl IntoView {
    let session: Session = expect_context();
    let table = DocumentChoice::new(move || session.documents.with(|all| all.listings.clone()));
    let question = Signal::derive(move || table.chosen.get().map(|file| Request::Table { file }));
    let found = WorkerQuery::new(session, question);
    let listing = found.listing(|response| if let Response::Table(table) = response { Some(table) } else { None });
    view! {
        <section class="panel" aria-labelledby="tables-heading">
            <div class="panel-head">
                <h2 id="tables-heading">"Tables"</h2>
                <span class="small">"For reading only: no model is trained on these."</span>
            </div>
            <form class="own" on:submit=crate::app::fields::prevent_submit>
                <DocumentField label="File" choice=table />
            </form>
            <ListingView heading="Content" listing name="table" />
        </section>
    }
}
