//! Facts that help to find a fault of the page: versions, sizes, counts and times. They contain no file name and no
//! measured value.

use std::{cell::RefCell, fmt::Write};

use leptos::prelude::*;

use crate::{
    intake::{FileReport, Outcome},
    worker::protocol::BUILD,
};

/// The number of steps that are remembered.
const MAX_STEPS: usize = 20;

#[derive(Default)]
struct Facts {
    loaded: String,
    steps: Vec<(&'static str, f64)>,
    error: String,
}

thread_local! {
    static FACTS: RefCell<Facts> = RefCell::default();
}

/// Remembers format, size and row counts of the open files, without their names.
pub fn note_loaded(files: &[FileReport]) {
    let mut loaded = String::new();
    for file in files {
        let size_bytes = file.size_bytes;
        let _ = match &file.outcome {
            Outcome::Loaded { format, rows, problems, .. } => {
                writeln!(loaded, "file: {format}, {size_bytes} bytes, {rows} rows, {} left out", problems.count)
            }
            Outcome::Known { format, problems, .. } => {
                writeln!(loaded, "file: {format}, {size_bytes} bytes, {} left out", problems.count)
            }
            Outcome::NeedsMapping(_) => writeln!(loaded, "file: unknown headers, {size_bytes} bytes"),
            Outcome::Refused(_) => writeln!(loaded, "file: refused, {size_bytes} bytes"),
        };
    }
    FACTS.with_borrow_mut(|facts| facts.loaded = loaded);
}

/// Remembers how long a step took.
pub fn note_step(name: &'static str, took_ms: f64) {
    FACTS.with_borrow_mut(|facts| {
        if facts.steps.len() == MAX_STEPS {
            facts.steps.remove(0);
        }
        facts.steps.push((name, took_ms));
    });
}

/// Remembers the last error. Quoted text may come from a file and is left out.
pub fn note_error(message: &str) {
    let mut redacted = String::new();
    for (index, part) in message.split('"').enumerate() {
        redacted.push_str(if index % 2 == 0 { part } else { "\"…\"" });
    }
    // The code that panicked may hold the borrow.
    FACTS.with(|facts| {
        if let Ok(mut facts) = facts.try_borrow_mut() {
            facts.error = redacted.chars().take(500).collect();
        }
    });
}

/// All facts as text, a line each.
pub fn text() -> String {
    let window = window();
    let pixels = |length: Result<wasm_bindgen::JsValue, _>| length.ok().and_then(|value| value.as_f64()).unwrap_or(0.0);
    let build = document().document_element().and_then(|root| root.get_attribute("data-build")).unwrap_or_default();
    let mut text = format!(
        "Collectune {BUILD}, build {build}\nbrowser: {}\nwindow: {} × {}, pixel ratio {}; {} cores\nsince opened: {} s\n",
        window.navigator().user_agent().unwrap_or_default(),
        pixels(window.inner_width()) as u32,
        pixels(window.inner_height()) as u32,
        window.device_pixel_ratio(),
        window.navigator().hardware_concurrency() as u32,
        now_ms() as u64 / 1000,
    );
    FACTS.with(|facts| {
        let Ok(facts) = facts.try_borrow() else { return };
        text.push_str(&facts.loaded);
        for (name, took_ms) in &facts.steps {
            let _ = writeln!(text, "{name}: {} ms", *took_ms as u64);
        }
        let _ = writeln!(text, "last error: {}", if facts.error.is_empty() { "none" } else { &facts.error });
    });
    text
}

/// Milliseconds since the page was opened.
pub fn now_ms() -> f64 {
    window().performance().map_or(0.0, |performance| performance.now())
}
