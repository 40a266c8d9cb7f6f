//! What to measure next, rehearsed on real sweeps: `cargo test --test planning -- --nocapture` prints the table.

#![allow(clippy::unwrap_used)]

mod support;

use collectune::tuning::plan::{
    explore::Worth,
    rehearsal::{Rehearsal, Spent, Strategy},
};
use support::real::{SWEEPS, sweep};

/// The first launch after which 17 of 18 winners are found.
fn reached(spent: &[Spent], sizes: usize) -> Option<usize> {
    spent.iter().find(|spent| spent.within * 18 >= sizes * 17).map(|spent| spent.runs)
}

#[test]
fn ours_finds_what_racing_search_finds_with_at_most_four_fifths_of_its_runs() {
    let (mut stopped, mut first) = (0.0, 0.0);
    println!(
        "launches of the grid, racing search, ours (17 of 18 winners reached after), random order (mean of 20 seeds)"
    );
    for name in SWEEPS {
        let Some(sweep) = sweep(name) else { return };
        let rehearsal = Rehearsal::new(&sweep).unwrap();
        let sizes = rehearsal.sizes();
        let follow = |strategy| rehearsal.follow(&rehearsal.order(strategy, Worth::default()));
        let (racing, ours) = (follow(Strategy::Racing), follow(Strategy::Ours));
        let (racing_end, ours_end) = (racing.last().unwrap(), ours.last().unwrap());
        let random: usize = (0..20).filter_map(|seed| reached(&follow(Strategy::Random(seed)), sizes)).sum();
        println!(
            "{name:<22} grid {}; racing {} ({}/{sizes}, max {:.2} %); ours {} ({}/{sizes}, mean {:.2} %, max {:.2} %), reached after {:?}; random {:.1}",
            rehearsal.launches(),
            racing_end.runs,
            racing_end.within,
            racing_end.regret_max_pct,
            ours_end.runs,
            ours_end.within,
            ours_end.regret_mean_pct,
            ours_end.regret_max_pct,
            reached(&ours, sizes),
            random as f64 / 20.0,
        );
        assert!(racing_end.within * 18 >= sizes * 17, "{name}: racing search as described finds the winners");
        assert!(ours_end.within * 18 >= sizes * 17, "{name}: ours finds {} of {sizes}", ours_end.within);
        stopped += ours_end.runs as f64 / racing_end.runs as f64 / SWEEPS.len() as f64;
        first += reached(&ours, sizes).unwrap() as f64 / racing_end.runs as f64 / SWEEPS.len() as f64;
    }
    println!(
        "ours stops after {:.0} % of racing search's runs, and has the winners after {:.0} %",
        stopped * 100.0,
        first * 100.0
    );
    assert!(stopped <= 0.8, "ours makes {:.1} % of racing search's runs", stopped * 100.0);
}
