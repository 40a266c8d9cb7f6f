//! The fields of the search: which layouts are looked at.

use super::{TrainingTime, run::recompute_of, settings::decimal};
use crate::{
    form::{ChoiceError, Control, Field, Form},
    order::CompactSort,
    training_time::{
        memory,
        regressors::Mode,
        run::{Recompute, Run},
        search::{SearchSettings, listing::recompute},
        settings::Group,
    },
};

/// The most GPUs that layouts are searched for: their divisors are tried one by one.
const MOST_GPUS: u32 = 1 << 20;
/// The most entries of such a list.
const MOST_NUMBERS: usize = 32;

impl TrainingTime {
    /// The fields of the search, and the search, where a number of GPUs is given; and the memory that is kept free, in
    /// GiB.
    pub(super) fn search(
        &self,
        form: &mut Form<'_>,
        run: Run,
        cluster: usize,
        mode: Mode,
    ) -> (Option<SearchSettings>, f64) {
        form.group(Group::Search);
        let text = |key: &str, label: &str, hint: &str| Field::new(key, label, Control::text(&[])).hinted(hint);
        let hint = "64, or several: 64,128,256";
        let gpus = numbers(form, text("s.gpus", "GPUs of the job", hint), "GPUs", MOST_GPUS);
        let is_asked = !gpus.is_empty();
        let mut batch = usual_batch(&run, gpus.first().copied().unwrap_or(run.layout.gpus() as u32));
        let field = Field::new("s.batch", "Global batch", Control::Number);
        form.field(field.hinted("sequences in a step of all replicas"), &mut batch);
        let field = text("s.b", "Micro-batch sizes", "sizes to try").usually("1,2,4,8,16");
        let micro_batches = numbers(form, field, "Micro-batch sizes", u32::MAX);
        let ways = [("full", "full recompute"), ("selective", "selective recompute"), ("none", "no recompute")];
        let field = Field::new("s.recompute", "Recompute", Control::Many(Control::options(&ways)));
        let again = form.chosen(field.usually(recompute(run.execution.recompute)).hinted("to try")).unwrap_or_default();
        let again: Vec<Recompute> = again.split(',').filter(|name| !name.is_empty()).map(recompute_of).collect();
        let (mut tensor_between_nodes, mut everything) = (false, false);
        let field = Field::new("s.between", "Tensor groups over several nodes", Control::Switch);
        form.field(field, &mut tensor_between_nodes);
        let mut memory_gib = self.study.bundle().memory_gib(&run, cluster);
        form.field_of(Field::new("s.memory", "Memory of a GPU (GiB)", Control::Number), "GiB", &mut memory_gib);
        let mut reserve_gib = memory::RESERVE_GIB;
        decimal(form, Field::new("s.reserve", "Kept free of it (GiB)", Control::Number), &mut reserve_gib);
        form.field(Field::new("s.all", "Every layout, not only the best", Control::Switch), &mut everything);
        let usual = SearchSettings::new(run, 1, u64::from(batch));
        let search = SearchSettings {
            recompute: if again.is_empty() { usual.recompute.clone() } else { again },
            mode,
            gpus,
            micro_batches,
            tensor_between_nodes,
            memory_gib,
            reserve_gib,
            everything,
            ..usual
        };
        (is_asked.then_some(search), reserve_gib)
    }
}

/// Integers separated by commas, ascending and without repetition.
fn numbers(form: &mut Form<'_>, field: Field, label: &str, most: u32) -> Vec<u32> {
    let usual = field.usual.clone();
    let typed = form.chosen(field).unwrap_or(&usual);
    let wrong = |value: &str, expected: String| ChoiceError::new(label, value, &expected);
    let number = |word: &str| {
        let number = word.parse::<u32>().ok().filter(|number| (1..=most).contains(number));
        number.ok_or_else(|| wrong(word, format!("a whole number from 1 to {most}")))
    };
    let words = typed.split(',').map(str::trim).filter(|word| !word.is_empty() && *word != "0");
    let all = words.map(number).collect::<Result<Vec<u32>, _>>().and_then(|mut all| {
        all.compact_sort();
        all.dedup();
        if all.len() > MOST_NUMBERS { Err(wrong(typed, format!("at most {MOST_NUMBERS} numbers"))) } else { Ok(all) }
    });
    all.unwrap_or_else(|error| {
        form.refuse(error);
        Vec::new()
    })
}

fn usual_batch(run: &Run, gpus: u32) -> u32 {
    // As many sequences per GPU as the run has.
    let of_run = run.global_batch().saturating_mul(u64::from(gpus)) / run.layout.gpus().max(1);
    u32::try_from(of_run.max(1)).unwrap_or(u32::MAX)
}
