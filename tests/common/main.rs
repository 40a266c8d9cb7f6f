//! What all workbenches share: reading, reports, charts, the executor, and what page and terminal say alike.

#[path = "../support/mod.rs"]
mod support;

mod archives;
mod charts;
mod executor;
mod glossary;
mod hostile;
mod measure;
mod messages;
mod pictures;
mod privacy;
mod reading;
mod reports;
mod same_answers;
mod shared_data;
mod timelines;
