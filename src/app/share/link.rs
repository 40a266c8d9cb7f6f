//! The report as a link: its length, and which programs would cut it.

use leptos::prelude::*;
use wasm_bindgen::JsCast;

use super::writer::ReportWriter;
use crate::{
    app::reactive::reactive,
    report::{
        ReportFormat, Written,
        link::{LIMITS, Limit, Link, MOST_MADE},
    },
    units::grouped,
};

/// The link, with a button that copies it.
#[component]
pub(super) fn LinkOption(writer: ReportWriter) -> impl IntoView {
    // One reactive part for everything that depends on the link.
    let ready = move || match writer.written(ReportFormat::Link).as_deref() {
        Some(Ok(Written::Link(link))) => Some(link.clone()),
        _ => None,
    };
    let address = move || ready().filter(|link| link.fits).map(|link| page_address() + &link.fragment);
    let copy = move |_| {
        if let Some(address) = untrack(address) {
            writer.copy(address, "the link can be copied by hand from the field");
        }
    };
    let facts = move || {
        Some(match writer.written(ReportFormat::Link).as_deref()? {
            Ok(Written::Link(link)) => view! { <LinkLength link=link.clone() /> }.into_any(),
            Ok(Written::File { .. }) => return None,
            Err(why) => view! { <p class="wrong">{why.clone()}</p> }.into_any(),
        })
    };
    view! {
        <li class="way">
            <div class="way-what">
                <h3>"Link"</h3>
                <p class="small">"Opens read-only in any browser. It holds the report, not your files."</p>
                {reactive(facts)}
            </div>
            <div class="way-do">
                <button type="button" class="primary" disabled=move || address().is_none() on:click=copy>
                    "Copy link"
                </button>
            </div>
        </li>
    }
}

#[component]
fn LinkLength(link: Link) -> impl IntoView {
    let address = page_address() + &link.fragment;
    let length = address.chars().count();
    let words = format!("{} characters", grouped(length as u64));
    if !link.fits {
        return view! {
            <p class="wrong">
                {format!("Too long for a link: {words}; at most {} fit. ", grouped(MOST_MADE as u64))}
                "Leave measurements, charts or tuner files out of it, or send the HTML file."
            </p>
        }
        .into_any();
    }
    let limit = |Limit { who, chars }: Limit| {
        let fits = length <= chars;
        let verdict = if fits { "fits" } else { "is cut" };
        view! {
            <li class:cut=!fits>{format!("{who}: {verdict} ({})", grouped(chars as u64))}</li>
        }
    };
    let left_out = link.left_out.into_iter().map(|what| view! { <li>"Left out: " {what} "."</li> }).collect_view();
    let select = |event: web_sys::FocusEvent| {
        if let Some(field) = event.target().and_then(|field| field.dyn_into::<web_sys::HtmlInputElement>().ok()) {
            field.select();
        }
    };
    view! {
        <input type="text" class="verbatim" readonly=true aria-label="The link" prop:value=address on:focus=select />
        <div class="link-length">
            <meter
                min="0"
                max=MOST_MADE.to_string()
                value=length.to_string()
                aria-label="Length of the link"
            ></meter>
            <span class="small">{words}</span>
        </div>
        <ul class="small limits-of-links">{LIMITS.map(limit).collect_view()}</ul>
        <ul class="notes">{left_out}</ul>
    }
    .into_any()
}

/// The address of the page without the fragment.
fn page_address() -> String {
    let address = window().location().href().unwrap_or_default();
    address.split('#').next().unwrap_or_default().to_owned()
}
