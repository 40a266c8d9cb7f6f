//! A calibration as sentences, tables and a chart.

use super::{Applied, Calibration, Scores};
use crate::{
    plot::{Axis, Chart, Colour, Mark, Point, Quantity, Series, Spacing},
    text::{Column, Entry, Listing},
    units::significant,
};

impl Calibration {
    /// In words, with the cluster that the steps ran on, and what of it holds for the run's model.
    pub fn sentence(&self, ran_on: &str, samples: &str, applied: &Applied) -> String {
        let other = if applied.is_used && !ran_on.eq_ignore_ascii_case(samples) {
            format!(
                "; if {samples} is another cluster than {ran_on}, the coefficient of the exchange is of another network"
            )
        } else {
            String::new()
        };
        let steps = format!("{} measured steps, run on {ran_on}", self.steps);
        let held = applied.held_percent.map_or_else(
            || "how many lie inside their intervals, nothing tells".to_owned(),
            |held| format!("{held:.0} % inside their intervals"),
        );
        let without = self.uncalibrated.mape;
        let (whose, with) = if applied.is_seen {
            ("out of fold", Some(self.cross_validated.mape))
        } else {
            ("of models that were not learnt from", self.unseen_model.as_ref().map(|scores| scores.mape))
        };
        match (applied.is_used, with) {
            (true, Some(with)) => {
                let doubt = match applied.helps {
                    true if with < without => String::new(),
                    true => format!(
                        ", the layout ranked first {:.1} % slower than the best instead of {:.1} %",
                        self.cross_validated.regret, self.uncalibrated.regret
                    ),
                    false => ", which is worse than without".to_owned(),
                };
                format!(
                    "calibrated on {steps}: {with:.1} % mean error {whose}{doubt} ({without:.1} % without), {held}{other}"
                )
            }
            (true, None) => format!(
                "calibrated on {steps}: all of one model, so nothing tells what the coefficients do to another; {held}{other}"
            ),
            (false, Some(with)) => format!(
                "not calibrated: the coefficients of {steps} do not help, with {with:.1} % mean error {whose} ({without:.1} % \
                 without); {held}"
            ),
            (false, None) => format!(
                "not calibrated: all of the {steps} are of one model, so nothing tells what their coefficients do to another"
            ),
        }
    }

    /// A table of the coefficients and the terms that they multiply.
    pub fn coefficients_listing(&self) -> Listing {
        let of = &self.coefficients;
        let rows = [
            ("Pipeline", of.pipeline, "× its time"),
            ("Gradient and parameter exchange", of.exchange, "× its time"),
            ("Optimizer", of.optimizer, "× its time"),
            ("Pass of a layer", of.pass_us, "µs"),
            ("Slot of the pipeline", of.slot_us, "µs"),
            ("Step", of.constant_us, "µs"),
        ];
        let columns = vec![
            Column::words("Of", "what is multiplied or added"),
            Column::numbers("Coefficient", "from all measured steps"),
            Column::words("Unit", "a factor, or microseconds each"),
        ];
        let row = |(name, value, unit): (&'static str, f64, &'static str)| {
            vec![Entry::text(name), Entry::number(Some(value), significant), Entry::text(unit)]
        };
        Listing { columns, rows: rows.into_iter().take(self.terms.count()).map(row).collect() }
    }

    /// A table of the errors on steps that the fit did not use.
    pub fn scores_listing(&self) -> Listing {
        let columns = vec![
            Column::words("Steps predicted by", "what was learnt from"),
            Column::numbers("Error", "mean absolute error of step times, in per cent"),
            Column::numbers("Spearman", "rank correlation of predicted and measured times"),
            Column::numbers(
                "Regret",
                "how much slower the layout ranked first is than the best measured one, in per cent",
            ),
        ];
        let row = |name: &str, scores: &Scores| {
            vec![
                Entry::text(name),
                Entry::number(Some(scores.mape), |value| format!("{value:.1}")),
                Entry::number(Some(scores.spearman), |value| format!("{value:.3}")),
                Entry::number(Some(scores.regret), |value| format!("{value:.1}")),
            ]
        };
        let mut rows = vec![
            row("nothing but samples", &self.uncalibrated),
            row("other folds of five, five times", &self.cross_validated),
        ];
        rows.extend(self.unseen_model.as_ref().map(|scores| row("other models", scores)));
        Listing { columns, rows }
    }

    /// A chart of predicted over measured times.
    pub fn chart(&self) -> Chart {
        let ends = self.points.iter().flat_map(|(a, b)| [*a, *b]);
        let [low, high] = ends.fold([f64::MAX, 0.0], |[low, high], time| [low.min(time), high.max(time)]);
        let point = |&(x, y): &(f64, f64)| Point { x, y, ..Point::default() };
        let axis = |label: &str| Axis::new(label, Quantity::TimeUs, Spacing::Logarithmic);
        Chart {
            id: "training-time-calibration".to_owned(),
            title: "Predicted over measured steps".to_owned(),
            summary: format!(
                "{} steps, each predicted by coefficients that have not seen it: {:.1} % mean error.",
                self.steps, self.cross_validated.mape
            ),
            x: axis("Measured step"),
            y: axis("Predicted step"),
            series: vec![
                Series::new("Equal", Colour::Muted, Mark::Line, [(low, low), (high, high)].iter().map(point).collect()),
                Series::new("Steps", Colour::Palette(0), Mark::Dots, self.points.iter().map(point).collect()),
            ],
        }
    }
}
