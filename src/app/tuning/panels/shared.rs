//! Fields and messages that several panels have.

use leptos::prelude::*;

use crate::{
    app::{fields::ChoiceField, reactive::reactive, session::Session},
    collective::Workload,
    tuning::{address::Address, conf::Reader, launch::Launcher, platform::Library, sets::SetChoice},
};

/// A workload as text: `all_reduce, 16 MiB, 2 nodes, 16 ranks`.
pub fn workload_label(workload: &Workload) -> String {
    Address::of(workload, SetChoice::Largest, false).to_string()
}

/// The reader and the library of tuner files; the choice is the same in all panels.
#[component]
pub fn ReaderFields() -> impl IntoView {
    let session: Session = expect_context();
    let readers = || Reader::ALL.iter().map(|reader| (*reader, reader.name().to_owned())).collect::<Vec<_>>();
    let libraries = || vec![(Library::Rccl, "RCCL".to_owned()), (Library::Nccl, "NCCL".to_owned())];
    view! {
        <ChoiceField
            label="Read by"
            choices=readers
            value=move || Some(session.tuning.reader.get())
            on_value=move |reader| session.tuning.reader.set(reader)
        />
        <ChoiceField
            label="Library"
            choices=libraries
            value=move || Some(session.tuning.library.get())
            on_value=move |library| session.tuning.library.set(library)
        />
    }
}

/// The choice of the program that starts the ranks.
#[component]
pub fn LauncherField(launcher: RwSignal<Launcher>) -> impl IntoView {
    let choices = || vec![(Launcher::Mpirun, "mpirun".to_owned()), (Launcher::Srun, "srun".to_owned())];
    view! {
        <ChoiceField
            label="Launched by"
            choices
            value=move || Some(launcher.get())
            on_value=move |chosen| launcher.set(chosen)
        />
    }
}

/// The error of a panel, if there is one.
#[component]
pub fn Failed(error: RwSignal<Option<String>>) -> impl IntoView {
    reactive(move || error.get().map(|error| view! { <p class="wrong" role="alert">{error}</p> }))
}
