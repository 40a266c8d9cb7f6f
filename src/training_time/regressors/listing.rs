//! Tables and charts of regressors.

use super::{
    library::{Library, RegressorTarget},
    sampled::Sampled,
};
use crate::{
    learn::curve::{Outlier, outliers},
    order::CompactSort,
    plot::{Axis, Chart, Colour, Mark as Drawn, Point, Quantity, Series, Spacing},
    text::{Column, Entry, Listing},
    training_time::{
        prediction::{Direction, Mode, Regressors},
        samples::RegressorFamily,
        scope::Scope,
    },
    units::{Size, grouped, significant},
};

const COLUMNS: [Column; 8] = [
    Column::words("Regressor", "what is predicted"),
    Column::words("Family", "what is fitted to the rows"),
    Column::numbers("Rows", "measurements that it learns from"),
    Column::numbers("Distinct", "distinct features among them"),
    Column::numbers("Error %", "mean error of rows whose features it had not seen, in per cent"),
    Column::numbers("Trivial %", "the same of a power law alone, or of a straight line for collectives"),
    Column::numbers("Outside %", "median error where the highest values of an input were held out, in per cent"),
    Column::words("State", "trained or not: only what a run needs is"),
];

/// Points of a chart at most: more can't be told apart.
const MOST_POINTS: usize = 400;

impl RegressorFamily {
    /// The mode's name in reports.
    pub fn title(&self) -> String {
        match self {
            Self::Forest { trees, max_depth: None, .. } => format!("forest of {trees}"),
            Self::Forest { trees, max_depth: Some(depth), .. } => format!("forest of {trees}, depth {depth}"),
            Self::Boosted { rounds, max_depth, learning_rate, .. } => {
                format!("{rounds} boosted trees, depth {max_depth}, η {learning_rate}")
            }
        }
    }
}

impl Library {
    fn family_title(&self, regressor: u32, target: &RegressorTarget) -> String {
        if self.is_saved(regressor) {
            return "boosted trees that were saved".to_owned();
        }
        match (self.mode(), target) {
            (_, RegressorTarget::Wire) => "latency and bandwidth of the catalogue".to_owned(),
            (Mode::Default, RegressorTarget::Collective { .. }) => "curve".to_owned(),
            (Mode::Parity, RegressorTarget::Operator { .. } | RegressorTarget::Collective { .. }) => {
                match self.setting(target) {
                    Some(setting) => setting.family.title(),
                    None => "found by a search over a small grid".to_owned(),
                }
            }
            _ => "power law and trees".to_owned(),
        }
    }

    fn state(&self, regressor: u32) -> String {
        let trained = if self.is_trained(regressor) { "trained" } else { "" };
        match self.best(regressor) {
            Some((family, error)) => {
                let title = family.title();
                let found = format!("the full grid finds {title}, {:.1} %", error * 100.0);
                if trained.is_empty() { found } else { format!("{trained}; {found}") }
            }
            None => trained.to_owned(),
        }
    }

    /// A row for each regressor with rows to learn from, in the order of their numbers; where errors were computed,
    /// with them.
    pub fn listing(&self) -> Listing {
        let decimals = |value: Option<f64>| Entry::number(value, |value| format!("{value:.1}"));
        let row = |regressor: u32| {
            let (target, (rows, distinct)) = (self.target(regressor)?, self.counts(regressor));
            let score = self.score(regressor).unwrap_or_default();
            let whole =
                |count: Option<usize>| Entry::number(count.map(|count| count as f64), |count| grouped(count as u64));
            Some(vec![
                Entry::text(target.to_string()),
                Entry::text(self.family_title(regressor, target)),
                whole(Some(rows)),
                whole(distinct),
                decimals(score.grouped_percent),
                decimals(score.trivial_percent),
                decimals(score.beyond_percent),
                Entry::text(self.state(regressor)),
            ])
        };
        Listing { columns: COLUMNS.to_vec(), rows: self.listed().filter_map(row).collect() }
    }

    /// The numbers of the regressors of [`Library::listing`].
    pub fn listed(&self) -> impl Iterator<Item = u32> {
        let has_rows = |regressor: &u32| self.counts(*regressor).0 > 0;
        (0..self.targets().count() as u32).filter(has_rows)
    }

    /// A chart of what a regressor says beside its samples: of a collective over the size of its messages, of an
    /// operator over one of its inputs, the others as the scope has them.
    pub fn chart(&self, regressor: u32, input: Option<&str>, scope: &Scope) -> Option<Chart> {
        let first = || self.inputs(regressor).last().cloned();
        self.curve_chart(regressor)
            .or_else(|| self.input_chart(regressor, &input.map(str::to_owned).or_else(first)?, scope))
    }

    /// The inputs of an operator's regressor that were sampled with several values; none of a collective's.
    pub fn inputs(&self, regressor: u32) -> Vec<String> {
        let is_operator = matches!(self.target(regressor), Some(RegressorTarget::Operator { .. }));
        let sampled = self.sampled(regressor).filter(|_| is_operator);
        let several = sampled.into_iter().flat_map(Sampled::inputs).filter(|(_, values)| values.len() > 1);
        several.map(|(name, _)| name.to_owned()).collect()
    }

    /// A regressor of a collective over the size of messages, with its samples: those that the curve goes through and
    /// those that stray. Bus bandwidth where the catalogue knows how, else time. `None` for other regressors.
    pub fn curve_chart(&self, regressor: u32) -> Option<Chart> {
        let target = self.target(regressor)?;
        let RegressorTarget::Collective { name, communicator: Some(communicator) } = target else { return None };
        let sampled = self.sampled(regressor).filter(|sampled| sampled.len() > 0)?;
        let catalogued = self.catalogue.collective(name);
        let is_bandwidth = catalogued.is_some() && communicator.ranks() > 1;
        let shown = |elements: f64, time_us: f64| {
            catalogued
                .and_then(|known| known.busbw_gbps(elements as u64, *communicator, time_us))
                .filter(|_| is_bandwidth)
                .unwrap_or(time_us)
        };
        let unit =
            |value: f64| if is_bandwidth { format!("{value:.2} GB/s") } else { format!("{} µs", significant(value)) };
        let mut rows: Vec<(f64, f64)> = (0..sampled.len())
            .filter_map(|row| Some((*sampled.row(row).features.first()?, sampled.times(Direction::Forward)[row])))
            .collect();
        rows.compact_sort_by(|a, b| a.0.total_cmp(&b.0));
        let stray = outliers(&rows.iter().map(|(_, time)| *time).collect::<Vec<f64>>());
        let points = |wanted: bool| -> Vec<Point> {
            let kept: Vec<&(f64, f64)> = rows
                .iter()
                .zip(&stray)
                .filter(|(_, stray)| (**stray != Outlier::No) == wanted)
                .map(|(row, _)| row)
                .collect();
            let step = kept.len().div_ceil(MOST_POINTS).max(1);
            let point = |(elements, time): &&(f64, f64)| {
                let note = format!("{}: {} µs", Size(2 * *elements as u64), significant(*time));
                Point { x: 2.0 * elements, y: shown(*elements, *time), note, ..Point::default() }
            };
            kept.iter().step_by(step).map(point).collect()
        };
        let step = rows.len().div_ceil(MOST_POINTS).max(1);
        let said = |(elements, _): &(f64, f64)| {
            let said = self.message(regressor, *elements as u64, *communicator)?;
            Some(Point { x: 2.0 * elements, y: shown(*elements, said.time_us), ..Point::default() })
        };
        let line: Vec<Point> = rows.iter().step_by(step).filter_map(said).collect();
        let far = stray.iter().filter(|stray| **stray != Outlier::No).count();
        let mut all: Vec<f64> = rows.iter().map(|(elements, time)| shown(*elements, *time)).collect();
        let middle = crate::math::median(&mut all)?;
        let quantity = if is_bandwidth { Quantity::BusbwGbps } else { Quantity::TimeUs };
        let mut drawn = vec![Series::new("Measured", Colour::Palette(0), Drawn::Dots, points(false))];
        if far > 0 {
            drawn.push(Series::new("Far from its neighbours", Colour::Palette(5), Drawn::Dots, points(true)));
        }
        drawn.push(Series::new("Predicted", Colour::Answer, Drawn::Line, line));
        Some(Chart {
            id: format!("training-time-{name}-{}-{}", communicator.nodes, communicator.per_node),
            title: format!("{name} over {communicator} GPUs"),
            summary: format!(
                "{} measurements, half of them above {}; {far} lie far from their neighbours.",
                grouped(rows.len() as u64),
                unit(middle)
            ),
            x: Axis::new("Message", Quantity::Bytes, Spacing::Logarithmic),
            y: Axis::new(
                if is_bandwidth { "Bus bandwidth" } else { "Time" },
                quantity,
                if is_bandwidth { Spacing::Linear } else { Spacing::Logarithmic },
            ),
            series: drawn,
        })
    }

    /// A regressor of an operator over one of its inputs, the others as the scope has them, with the samples that have
    /// them too. `None` where it can't be asked.
    pub fn input_chart(&self, regressor: u32, input: &str, scope: &Scope) -> Option<Chart> {
        let RegressorTarget::Operator { name, direction } = self.target(regressor)? else { return None };
        let sampled = self.sampled(regressor)?;
        let (column, values) = sampled
            .inputs()
            .enumerate()
            .find(|(_, (known, _))| *known == input)
            .map(|(at, (_, values))| (at, values))?;
        let mut asked: Vec<f64> = values.to_vec();
        asked.extend(scope.get(input));
        crate::math::ascending(&mut asked);
        asked.dedup();
        let point = |value: &f64| {
            let said = self.operator(name, *direction, &scope.clone().with(input, *value)).ok()?;
            let note = format!("{input} {value}: {} µs", significant(said.time_us));
            Some(Point { x: *value, y: said.time_us, note, ..Point::default() })
        };
        let line: Vec<Point> = asked.iter().filter_map(point).collect();
        let names: Vec<&str> = sampled.inputs().map(|(name, _)| name).collect();
        let is_here = |row: usize| {
            let inputs = &sampled.row(row).inputs;
            names
                .iter()
                .zip(inputs)
                .enumerate()
                .all(|(at, (name, value))| at == column || scope.get(name) == Some(*value))
        };
        let measured = (0..sampled.len()).filter(|row| is_here(*row)).map(|row| Point {
            x: sampled.row(row).inputs[column],
            y: sampled.times(*direction)[row],
            ..Point::default()
        });
        let measured: Vec<Point> = measured.collect();
        let summary =
            format!("{} of {} values of {input} were measured with these inputs.", measured.len(), asked.len());
        let target = self.target(regressor)?;
        Some(Chart {
            id: format!("training-time-{name}-{input}"),
            title: format!("{target} over {input}"),
            summary,
            x: Axis::new(input, Quantity::Count, Spacing::Logarithmic),
            y: Axis::new("Time", Quantity::TimeUs, Spacing::Logarithmic),
            series: vec![
                Series::new("Measured", Colour::Palette(0), Drawn::Dots, measured),
                Series::new("Predicted", Colour::Answer, Drawn::LineAndDots, line),
            ],
        })
    }
}
