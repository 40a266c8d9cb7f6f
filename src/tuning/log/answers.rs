//! Facts that a log lacks, and the user's answers to them.

use std::num::NonZero;

use crate::{
    collective::{Algorithm, Collective, Protocol},
    text::{excerpt, whole},
    tuning::{
        columns::{Column, ColumnSource},
        read::Asked,
    },
};

/// The user's answers, which hold where a log does not say it itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogAnswers {
    /// The collective that was measured, where the log's name and lines don't say it.
    pub collective: Option<Collective>,
    /// The number of nodes, where it can't be counted from the log.
    pub nodes: Option<u32>,
    /// The number of ranks over all nodes.
    pub ranks: Option<u32>,
    /// The configuration that was asked for.
    pub asked: Asked,
    /// Nothing was asked for: runs of the library's default.
    pub is_default: bool,
}

/// The facts that a log lacks and that must be answered before it can be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MissingAnswers {
    /// Neither a line nor the file's name says the collective.
    pub collective: bool,
    /// The number of nodes is missing.
    pub nodes: bool,
    /// The number of ranks is missing.
    pub ranks: bool,
    /// The algorithm is missing, or that the default ran.
    pub algorithm: bool,
    /// Nothing says which protocol ran.
    pub protocol: bool,
    /// The number of channels is missing.
    pub channels: bool,
}

impl LogAnswers {
    /// Takes the answers among the constants of a mapping: the columns of a sweep that are the same for all rows. Fails
    /// if a constant can't stand for its column; the error is a sentence without its subject.
    pub fn of(mapping: &[(String, ColumnSource)]) -> Result<Self, String> {
        let mut answers = Self::default();
        for (name, source) in mapping {
            let (Some(column), ColumnSource::Constant(text)) = (Column::parse(name), source) else { continue };
            answers.take(column, text.trim()).ok_or_else(|| {
                format!("\"{}\" can't stand for {} ({})", excerpt(text), column.name(), column.meaning())
            })?;
        }
        Ok(answers)
    }

    fn take(&mut self, column: Column, text: &str) -> Option<()> {
        let count = |most: i64| whole(text).filter(|n| (1..=most).contains(n)).map(|n| n as u32);
        let is_default = text.eq_ignore_ascii_case("default");
        match column {
            Column::Collective => self.collective = Some(Collective::parse(text)?),
            Column::NumNodes => self.nodes = Some(count(1_000_000)?),
            Column::NumGpus => self.ranks = Some(count(10_000_000)?),
            Column::Algo if is_default => self.is_default = true,
            Column::Algo => self.asked.algorithm = Some(Algorithm::parse(text.trim_end_matches('*'))?),
            Column::Proto if is_default => {}
            Column::Proto => self.asked.protocol = Some(Protocol::parse(text)?),
            // A number of channels goes with an algorithm; beside DEFAULT it may be 0.
            Column::Nchannels if is_default || whole(text) == Some(0) => {}
            Column::Nchannels => self.asked.channels = NonZero::new(count(1024)? as u16),
            _ => {}
        }
        Some(())
    }
}

impl MissingAnswers {
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the facts that the other lacks.
    pub(super) fn and(&mut self, other: Self) {
        self.collective |= other.collective;
        self.nodes |= other.nodes;
        self.ranks |= other.ranks;
        self.algorithm |= other.algorithm;
        self.protocol |= other.protocol;
        self.channels |= other.channels;
    }

    /// The sweep's columns that must be given.
    pub fn columns(&self) -> Vec<Column> {
        let columns = [
            (self.collective, Column::Collective),
            (self.nodes, Column::NumNodes),
            (self.ranks, Column::NumGpus),
            (self.algorithm, Column::Algo),
            (self.protocol, Column::Proto),
            (self.channels, Column::Nchannels),
        ];
        columns.into_iter().filter(|(lacks, _)| *lacks).map(|(_, column)| column).collect()
    }
}
