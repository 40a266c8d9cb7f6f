//! "I have no file yet": the commands that make the files of a workbench on a cluster, to be copied.

use leptos::{prelude::*, task::spawn_local};

use super::{
    fields::{ChoiceField, number_field},
    reactive::{Show, effect, reactive},
    session::Session,
    signal::RwSignal,
    terms::term,
    text_file::TextFile,
};
use crate::{
    collective::Scale,
    launch::{Launcher, short_size},
    measure::{MeasureCommand, MeasureValues, UsedValues},
    report::Workbench,
    units::Size,
    worker::protocol::{Request, Response},
};

/// The largest numbers of nodes, and of ranks on each, that can be given.
const MOST: [u32; 2] = [100_000, 100];

/// A fold with the commands that make the files of a workbench.
#[component]
pub fn NoFileYet(
    /// The workbench, unless another one is chosen.
    workbench: Workbench,
    /// Whether the workbench can be chosen.
    chooses: bool,
) -> impl IntoView {
    let of = RwSignal::new(workbench);
    let values = RwSignal::new(MeasureValues::default());
    let is_open = RwSignal::new(false);
    let workbenches = || Workbench::ALL.iter().map(|of| (*of, of.name().to_owned())).collect::<Vec<_>>();
    let collectives = || MeasureValues::COLLECTIVES.map(|of| (of, of.to_string())).to_vec();
    let launchers =
        || vec![(Launcher::Mpirun, "mpirun (Open MPI)".to_owned()), (Launcher::Srun, "srun (Slurm)".to_owned())];
    let size = move |label: &'static str, is_last: bool| {
        let wrong = RwSignal::new(false);
        let value = move || {
            let sizes = values.with(|values| values.sizes);
            short_size(if is_last { sizes.last } else { sizes.first })
        };
        let take = move |text: &str| {
            let size = text.parse::<Size>().ok().map(|size| size.0);
            let mut sizes = values.with_untracked(|values| values.sizes);
            *(if is_last { &mut sizes.last } else { &mut sizes.first }) = size.unwrap_or_default();
            let is_right = size.is_some() && 0 < sizes.first && sizes.first <= sizes.last;
            wrong.set(!is_right);
            if is_right {
                values.update(|values| values.sizes = sizes);
            }
        };
        view! {
            <label class="field">
                {term(label.to_owned())}
                <input
                    type="text"
                    autocomplete="off"
                    spellcheck="false"
                    aria-invalid=move || wrong.get().then_some("true")
                    prop:value=value
                    on:change:target=move |event| take(&event.target().value())
                />
                <Show when=move || wrong.get()>
                    <small class="wrong">"bytes, or a number with K, M or G; the smallest first"</small>
                </Show>
            </label>
        }
    };
    // As many ranks on each node.
    let count = move |label: &str, which: usize| {
        let held = move |values: &MeasureValues| [values.scale.nodes, values.scale.ranks / values.scale.nodes.max(1)];
        let value = move || values.with(held)[which].to_string();
        let take = move |text: &str| {
            let Some(number) = text.parse::<u32>().ok().filter(|number| (1..=MOST[which]).contains(number)) else {
                return false;
            };
            values.update(|values| {
                let mut counts = held(values);
                counts[which] = number;
                values.scale = Scale { nodes: counts[0], ranks: counts[0] * counts[1] };
            });
            true
        };
        let range = [1, MOST[which], 1].map(|number| number.to_string());
        let words = [format!("a whole number from 1 to {}", MOST[which]), String::new()];
        number_field(label.to_owned(), range, words, Box::new(value), Box::new(take))
    };
    let command = |command: MeasureCommand<String>| {
        let MeasureCommand { title, gives, needs, file, lines } = command;
        let about = if file.is_empty() { title.clone() } else { String::new() };
        let needs = (!needs.is_empty()).then(|| view! { <p class="small">{format!("It needs {needs}.")}</p> });
        view! {
            <section class="measure" aria-label=title.clone()>
                <h3>{title.clone()}</h3>
                <p>{gives} "."</p>
                {needs}
                <TextFile name=file about text=lines />
            </section>
        }
    };
    let session: Session = expect_context();
    let commands = RwSignal::new(Vec::new());
    let used = RwSignal::new(None::<UsedValues>);
    let uses = move |of: fn(&UsedValues) -> bool| move || used.with(|used| used.as_ref().is_none_or(of));
    effect(move || {
        let asked = (of.get(), values.get());
        if !is_open.get() {
            return;
        }
        spawn_local(async move {
            let request = Request::MeasureCommands(asked.0, asked.1);
            let answer = session.ask_quick(request).await;
            let is_asked = of.try_get_untracked().zip(values.try_get_untracked()) == Some(asked);
            match answer {
                Ok(Response::MeasureCommands(filled, of)) if is_asked => {
                    commands.set(filled);
                    if used.get_untracked() != Some(of) {
                        used.set(Some(of));
                    }
                }
                Err(failure) => session.notify(failure.to_string(), true, None),
                _ => {}
            }
        });
    });
    let commands = move || commands.get().into_iter().map(command).collect_view();
    view! {
        <details class="panel no-file" on:toggle:target=move |event| is_open.set(event.target().open())>
            <summary>"I have no file yet"</summary>
            <Show when=move || is_open.get()>
                <div class="own">
                    {chooses
                        .then(|| {
                            view! {
                                <ChoiceField
                                    label="Files for"
                                    choices=workbenches
                                    value=move || Some(of.get())
                                    on_value=move |chosen| of.set(chosen)
                                />
                            }
                        })}
                    <Show when=uses(|used| used.collective)>
                        <ChoiceField
                            label="Collective"
                            choices=collectives
                            value=move || Some(values.with(|values| values.collective))
                            on_value=move |chosen| values.update(|values| values.collective = chosen)
                        />
                    </Show>
                    <Show when=uses(|used| used.first)>{size("Smallest size", false)}</Show>
                    <Show when=uses(|used| used.last)>{size("Largest size", true)}</Show>
                    <Show when=uses(|used| used.nodes)>{count("Nodes", 0)}</Show>
                    <Show when=uses(|used| used.each)>{count("Ranks of each node", 1)}</Show>
                    <Show when=uses(|used| used.launcher)>
                        <ChoiceField
                            label="Launcher"
                            choices=launchers
                            value=move || Some(values.with(|values| values.launcher))
                            on_value=move |chosen| values.update(|values| values.launcher = chosen)
                        />
                    </Show>
                </div>
                {reactive(commands)}
            </Show>
        </details>
    }
}
