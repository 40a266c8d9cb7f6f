//! The choice of set, collective, scale and size. Every choice is part of the address.

use leptos::prelude::*;

use crate::{
    app::session::Session,
    app::{
        fields::ChoiceField,
        question::Question,
        reactive::{Show, handler},
        signal::memo,
    },
    collective::{Collective, Scale},
    order::CompactSort,
    tuning::{
        address::Address,
        result::Group,
        sets::{SetChoice, Sets},
    },
    units::{Size, count},
};

/// The choices above the answer.
#[component]
pub fn Controls() -> impl IntoView {
    let session: Session = expect_context();
    let workload = memo(move || session.tuning.workload());
    let groups = move || session.tuning.groups.get();
    let collectives = move || {
        let mut all: Vec<Collective> = groups().iter().map(|group| group.collective).collect();
        all.compact_sort();
        all.dedup();
        all.into_iter().map(|collective| (collective, collective.to_string())).collect::<Vec<_>>()
    };
    let scales = move || {
        let of_collective = |group: &&Group| workload.get().is_none_or(|w| w.collective == group.collective);
        let groups = groups();
        groups.iter().filter(of_collective).map(|group| (group.scale, group.scale.to_string())).collect::<Vec<_>>()
    };
    let sizes = memo(move || {
        let Some(workload) = workload.get() else { return Vec::new() };
        let is_shown = |group: &&Group| group.collective == workload.collective && group.scale == workload.scale;
        groups().iter().find(is_shown).map(|group| group.sizes.clone()).unwrap_or_default()
    });
    let size_choices = move || {
        let mut choices: Vec<(u64, String)> =
            sizes.get().into_iter().map(|size| (size, Size(size).to_string())).collect();
        if let Some(own) = workload.get().map(|w| w.size_bytes).filter(|own| !sizes.get().contains(own)) {
            let index = choices.partition_point(|(size, _)| *size < own);
            choices.insert(index, (own, format!("{} (not measured)", Size(own))));
        }
        choices
    };
    let choose = move |change: &dyn Fn(&mut Address)| {
        let mut address = session.tuning.address.get_untracked();
        address.example = session.files.with_untracked(|files| files.iter().all(|file| file.is_example));
        change(&mut address);
        // If the other collective has no such scale or size, one that it has is chosen.
        let groups = session.tuning.groups.get_untracked();
        let answer = session.tuning.answer.get_untracked();
        for relax in [|_: &mut Address| (), |a: &mut Address| a.scale = None] {
            relax(&mut address);
            if let Ok(workload) = address.resolve(&groups, &session.tuning.sets.get_untracked(), &answer) {
                session.set_address(Address::of(&workload, address.set, address.example));
                return;
            }
        }
    };
    let has_sets = memo(move || session.tuning.sets.with(|sets| !sets.all.is_empty()));
    let sets = move || {
        session.tuning.sets.with(|sets| {
            let named = |set: SetChoice, label: &str, rows| (set, format!("{label} · {}", count(rows, "row")));
            let of_sets = sets.all.iter().map(|set| named(SetChoice::One(set.key), &set.label, set.rows));
            of_sets.chain([named(SetChoice::Pooled, Sets::POOLED, sets.pooled_rows)]).collect::<Vec<_>>()
        })
    };
    let on_set = move |set: SetChoice| session.set_address(Address { set, ..session.tuning.address.get_untracked() });
    let on_collective = move |collective: Collective| choose(&|a| a.collective = Some(collective));
    let on_scale = move |scale: Scale| choose(&|a| a.scale = Some(scale));
    let on_size = move |size: u64| choose(&|a| a.size_bytes = Some(size));
    let neighbour = move |up: bool| {
        let here = workload.get()?.size_bytes;
        let sizes = sizes.get();
        if up { sizes.into_iter().find(|size| *size > here) } else { sizes.into_iter().rfind(|size| *size < here) }
    };
    let step = move |up: bool| {
        if let Some(size) = untrack(|| neighbour(up)) {
            on_size(size);
        }
    };
    // The button of the last size keeps the focus, which a disabled one would lose.
    let is_last = move |up: bool| move || neighbour(up).is_none().then_some("true");
    view! {
        <Question label="Workload">
            <Show when=move || has_sets.get()>
                <div class="sets">
                    <ChoiceField
                        label="Measured with"
                        choices=sets
                        value=move || Some(session.tuning.chosen_set())
                        on_value=on_set
                    />
                </div>
            </Show>
            <ChoiceField
                label="Collective"
                choices=collectives
                value=move || workload.get().map(|w| w.collective)
                on_value=on_collective
            />
            <ChoiceField
                label="Scale"
                choices=scales
                value=move || workload.get().map(|w| w.scale)
                on_value=on_scale
            />
            <ChoiceField
                label="Size"
                choices=size_choices
                value=move || workload.get().map(|w| w.size_bytes)
                on_value=on_size
            />
            <div class="steps">
                <button
                    type="button"
                    title="Smaller size (key [)"
                    aria-label="Smaller size"
                    aria-keyshortcuts="["
                    aria-disabled=is_last(false)
                    on:click=handler(move |_| step(false))
                >
                    "‹"
                </button>
                <button
                    type="button"
                    title="Larger size (key ])"
                    aria-label="Larger size"
                    aria-keyshortcuts="]"
                    aria-disabled=is_last(true)
                    on:click=handler(move |_| step(true))
                >
                    "›"
                </button>
            </div>
        </Question>
    }
}
