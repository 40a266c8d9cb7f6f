//! The report as a link of one of several lengths, and the QR code of the smallest.

use leptos::prelude::*;
use wasm_bindgen::JsCast;

use super::writer::{ReportWriter, page_address};
use crate::{
    app::{
        reactive::{Show, handler, reactive},
        signal::{Signal, memo},
    },
    report::{
        ReportFormat, Written,
        link::{Link, LinkSize},
    },
    units::grouped,
};

/// The link, with the choice of its length and a button that copies it.
#[component]
pub(super) fn LinkOption(writer: ReportWriter) -> impl IntoView {
    let links = move || match writer.written(ReportFormat::Link).as_deref() {
        Some(Ok(Written::Links(links))) => Some(links.clone()),
        _ => None,
    };
    let chosen = writer.link_size;
    let address = move || {
        let link = links()?.sizes.into_iter().nth(chosen.get() as usize).filter(|link| link.fits)?;
        Some(page_address() + &link.fragment)
    };
    let copy = move |_| {
        if let Some(address) = untrack(address) {
            writer.copy(address, "the link can be copied by hand from the field");
        }
    };
    let error = move || match writer.written(ReportFormat::Link).as_deref() {
        Some(Err(why)) => Some(view! { <p class="wrong">{why.clone()}</p> }),
        _ => None,
    };
    let size = move |size: LinkSize| {
        let link = move || links().and_then(|links| links.sizes.into_iter().nth(size as usize));
        view! {
            <label class="check">
                <input
                    type="radio"
                    name="link-size"
                    prop:checked=move || chosen.get() == size
                    on:change=handler(move |_| chosen.set(size))
                />
                <span>{size.name()}{reactive(move || link().map(|link| length(size, &link)))}</span>
            </label>
        }
    };
    let left_out = move || {
        let links = links()?;
        let left_out = &links.sizes.get(chosen.get() as usize)?.left_out;
        Some(match left_out.is_empty() {
            true => "Nothing is left out.".to_owned(),
            false => format!("Left out: {}.", left_out.join("; ")),
        })
    };
    let select = |event: web_sys::FocusEvent| {
        if let Some(field) = event.target().and_then(|field| field.dyn_into::<web_sys::HtmlInputElement>().ok()) {
            field.select();
        }
    };
    let field = move || {
        let address = address()?;
        Some(view! {
            <input type="text" class="verbatim" readonly=true aria-label="The link" prop:value=address on:focus=handler(select) />
        })
    };
    let qr_svg = move || links().and_then(|links| links.qr_svg);
    view! {
        <li class="way">
            <div class="way-what">
                <h3>"Link"</h3>
                <p class="small">"Opens read-only in any browser. It holds the report, not your files."</p>
                {reactive(error)}
                <div class="link-sizes" role="radiogroup" aria-label="Length of the link">
                    {LinkSize::ALL.map(size).into_iter().collect_view()}
                </div>
                <p class="small">{reactive(left_out)}</p>
                {reactive(field)}
                <Show when=move || qr_svg().is_some()>
                    <QrCode writer svg=memo(move || qr_svg().unwrap_or_default()) />
                </Show>
            </div>
            <div class="way-do">
                <button type="button" class="primary" disabled=move || address().is_none() on:click=handler(copy)>
                    "Copy link"
                </button>
            </div>
        </li>
    }
}

/// The length of a link, and who cuts longer ones.
fn length(size: LinkSize, link: &Link) -> String {
    let (chars, most) = (grouped(link.chars as u64), grouped(size.most_chars() as u64));
    match size.cut_by() {
        _ if !link.fits => format!(": too long, {chars} characters of {most}: send the HTML file"),
        Some(who) => format!(": {chars} characters, {who} cuts after {most}"),
        None => format!(": {chars} characters of {most}"),
    }
}

/// The code, folded, with a button that saves it.
#[component]
fn QrCode(writer: ReportWriter, #[prop(into)] svg: Signal<String>) -> impl IntoView {
    let save = move |_| writer.save("collectune-link.svg", "image/svg+xml", &svg.get_untracked());
    let address = move || format!("data:image/svg+xml,{}", String::from(js_sys::encode_uri_component(&svg.get())));
    view! {
        <details>
            <summary>"QR code of the small link"</summary>
            <img class="qr-code" alt="QR code that opens the small link" src=address />
            <button type="button" on:click=handler(save)>"Save QR code as SVG"</button>
        </details>
    }
}
