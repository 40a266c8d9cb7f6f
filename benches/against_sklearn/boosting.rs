//! Times the seed's boosting, natively and in WebAssembly, on the rows that scikit-learn is timed on.
//!
//! Prints `rows seconds r2` for each number of rows, the best of three fits. Natively, `--rows N` prints the rows
//! themselves as CSV instead, the target last: what `compare.py` gives to scikit-learn.

#[path = "../simulated/mod.rs"]
#[allow(dead_code)]
mod simulated;

use collectune::{
    learn::{boosting::Boosting, metrics},
    progress::Silent,
    tuning::parameters::Parameters,
};

const ROWS: [usize; 2] = [4609, 18_432];
const ROUNDS: usize = 3;

fn main() {
    #[cfg(not(target_arch = "wasm32"))]
    if let [option, rows] = &std::env::args().skip(1).collect::<Vec<_>>()[..]
        && option == "--rows"
    {
        return print_rows(rows.parse().expect("a number of rows"));
    }
    for wanted in ROWS {
        let (table, busbw) = simulated::seed_rows(wanted);
        let mut best = f64::INFINITY;
        let mut r2 = None;
        for _ in 0..ROUNDS {
            let begin = now();
            let boosting =
                Boosting::fit(&table, &busbw, Parameters::default().boosting(), &mut Silent).expect("rows to fit");
            best = best.min(now() - begin);
            let predicted = boosting.predict(&table).expect("the same features");
            r2 = metrics::r2(&busbw.iter().copied().zip(predicted).collect::<Vec<_>>());
        }
        say(&format!("{wanted} {:.3} {:.6}", best / 1000.0, r2.unwrap_or(f64::NAN)));
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn print_rows(rows: usize) {
    let (table, busbw) = simulated::seed_rows(rows);
    for (row, busbw) in busbw.iter().enumerate() {
        let cells: Vec<String> = table.row(row).iter().chain([busbw]).map(ToString::to_string).collect();
        println!("{}", cells.join(","));
    }
}

/// Milliseconds since some moment.
#[cfg(not(target_arch = "wasm32"))]
fn now() -> f64 {
    std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0.0, |passed| passed.as_secs_f64() * 1000.0)
}

#[cfg(target_arch = "wasm32")]
fn now() -> f64 {
    js_sys::Date::now()
}

#[cfg(not(target_arch = "wasm32"))]
fn say(line: &str) {
    println!("{line}");
}

#[cfg(target_arch = "wasm32")]
fn say(line: &str) {
    web_sys::console::log_1(&line.into());
}
