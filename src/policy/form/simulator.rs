//! The simulator's form: worlds to begin with, all of whose figures can be changed, and the parameters of strategies.

use super::wrong;
use crate::{
    bandit::{
        environment::{Shape, SimulatedArm, Simulation},
        schedule::MAX_BLOCK_CALLS,
        strategies::StrategyKind,
    },
    form::{Choices, Control, Field},
    policy::{request::LatencySource, settings::Group},
    workbench::WorkbenchError,
};

/// A world to begin with: what stands in its form as long as nothing is chosen.
struct World {
    /// The keyword in the address.
    key: &'static str,
    label: &'static str,
    arms: &'static str,
    /// The mean of each arm in milliseconds; with two modes, that of the fast one.
    means: &'static str,
    /// The means from the middle of the run on; empty if they don't change.
    later: &'static str,
    /// Standard deviation, in milliseconds; of two modes in per cent.
    spread: &'static str,
    /// Share of slow calls of each arm, in per cent; empty: there is one mode.
    slow_share: &'static str,
    /// The increase until the end of the run, in per cent.
    rise: &'static str,
    /// The amplitude of the wave that all arms share, in milliseconds.
    wave: &'static str,
}

const CLEAR: World = World {
    key: "clear",
    label: "one arm is clearly better",
    arms: "tree/simple, tree/ll128, ring/simple, auto",
    means: "10, 9, 11, 10.5",
    later: "",
    spread: "1",
    slow_share: "",
    rise: "0",
    wave: "0",
};

/// The simulated environments: those of [`Simulation`], and one with arms that the user enters.
const WORLDS: [World; 5] = [
    CLEAR,
    World {
        key: "two-modes",
        label: "two modes",
        means: "100, 135, 110, 130",
        spread: "10",
        slow_share: "55, 35, 45, 40",
        ..CLEAR
    },
    World { key: "drift", label: "drift", later: "10, 12, 11, 10.5", spread: "0.8", rise: "10", wave: "0.3", ..CLEAR },
    World { key: "nothing-to-gain", label: "nothing to gain", means: "10, 10, 10, 9.95", ..CLEAR },
    World { key: "own", label: "own arms", arms: "auto, one, other", means: "10.5, 10, 9", ..CLEAR },
];

/// The default latency of a slow call in milliseconds.
const SLOW: &str = "280";
/// The name of the library's own choice.
const AUTO: &str = "auto";
/// The share of the wave that remains after a step.
const CARRY: f64 = 0.9;

/// Whether a simulation is chosen.
pub(super) fn is_chosen(choices: &Choices) -> bool {
    world(choices, true).is_some()
}

/// The world that is simulated; `None` where strategies play in the log.
fn world(choices: &Choices, has_log: bool) -> Option<&'static World> {
    let usual = if has_log { "log" } else { CLEAR.key };
    let chosen = choices.get("world").unwrap_or(usual);
    WORLDS.iter().find(|world| world.key == chosen)
}

/// The simulation; `None` if strategies are replayed on the log.
///
/// # Errors
/// Returns an error if a choice is not valid.
pub(super) fn source(choices: &Choices, has_log: bool) -> Result<Option<LatencySource>, WorkbenchError> {
    let Some(world) = world(choices, has_log) else { return Ok(None) };
    let text = |what: &str, usual: &'static str| {
        let key = format!("{what}.{}", world.key);
        choices.get(&key).map_or(usual, str::trim).to_owned()
    };
    let number = |what: &str, usual: &'static str, least: f64, most: f64| {
        let text = text(what, usual);
        of_range(&text, least, most).ok_or_else(|| wrong(what, &text, &format!("a number from {least} to {most}")))
    };
    let name = |name: &str| if name.eq_ignore_ascii_case(AUTO) { AUTO } else { name }.to_owned();
    let names: Vec<String> = items(&text("arms", world.arms)).map(name).collect();
    let list = |what: &str, usual: &'static str, least: f64, most: f64| {
        let text = text(what, usual);
        let all: Option<Vec<f64>> = items(&text).map(|item| of_range(item, least, most)).collect();
        let expected = || format!("a number from {least} to {most} for each of the {} arms", names.len());
        all.filter(|all| all.is_empty() || all.len() == names.len()).ok_or_else(|| wrong(what, &text, &expected()))
    };
    let Some(auto) = names.iter().position(|name| name == AUTO) else {
        return Err(wrong("arms", &names.join(", "), "a list of arms with auto among them"));
    };
    const LONGEST_MS: f64 = 1e6;
    let means = list("means", world.means, 0.001, LONGEST_MS)?;
    if means.is_empty() {
        return Err(wrong("means", "", "a number for each arm"));
    }
    let later = list("later", world.later, 0.001, LONGEST_MS)?;
    let slow_shares = list("slow-share", world.slow_share, 0.0, 100.0)?;
    let slow = number("slow", SLOW, 0.001, LONGEST_MS)?;
    let spread = number("spread", world.spread, 0.0, LONGEST_MS)?;
    let arm = |place: usize| SimulatedArm {
        shape: match slow_shares.get(place) {
            None => Shape::Normal { mean: means[place], spread },
            // A slow call waits for something, which takes the same time again: it is spread half as much.
            Some(share) => Shape::TwoModes {
                fast: means[place],
                fast_spread: spread / 100.0,
                slow,
                slow_spread: spread / 200.0,
                slow_share: share / 100.0,
            },
        },
        later: later.get(place).filter(|later| **later != means[place]).map(|later| (0.5, *later)),
    };
    let simulation = Simulation {
        arms: (0..means.len()).map(arm).collect(),
        trend: number("rise", world.rise, 0.0, 1000.0)? / 100.0,
        carry: CARRY,
        push: number("wave", world.wave, 0.0, LONGEST_MS)?,
    };
    Ok(Some(LatencySource::Simulation(simulation, names, auto as u32)))
}

fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty())
}

fn of_range(text: &str, least: f64, most: f64) -> Option<f64> {
    crate::text::number(text).filter(|value| (least..=most).contains(value))
}

/// The fields of the replay.
pub(super) fn fields(choices: &Choices, has_log: bool) -> Vec<Field> {
    let field = |key: &str, label: &str, control, usual: &str| {
        Field::of_choices(choices, key, label, control, usual).of(Group::Strategies)
    };
    let mut worlds: Vec<(String, String)> = Vec::new();
    if has_log {
        worlds.push(("log".to_owned(), "the log".to_owned()));
    }
    worlds.extend(WORLDS.iter().map(|world| (world.key.to_owned(), format!("simulated: {}", world.label))));
    let usual = worlds[0].0.clone();
    let mut fields = vec![
        field("world", "Latencies", Control::One(worlds), &usual),
        field("steps", "Steps", Control::Number, "2000"),
        field("seeds", "Seeds", Control::Number, "200"),
    ];
    if let Some(world) = world(choices, has_log) {
        let of = |what: &str, label: &str, control, usual: &str| {
            field(&format!("{what}.{}", world.key), label, control, usual)
        };
        let text = || Control::Text(Vec::new());
        let slider = |most, step| Control::Slider { least: 0.0, most, step };
        let has_modes = !world.slow_share.is_empty();
        let (means, spread, most) = if has_modes {
            ("Fast calls, ms", "Spread of a mode, %", 50.0)
        } else {
            ("Means, ms", "Standard deviation, ms", 5.0)
        };
        fields.push(of("arms", "Arms", text(), world.arms));
        fields.push(of("means", means, text(), world.means));
        if has_modes {
            fields.push(of("slow-share", "Slow calls, %", text(), world.slow_share));
            fields.push(of("slow", "A slow call, ms", Control::Number, SLOW));
        } else {
            fields.push(of("later", "Means from half-time on, ms", text(), world.later).hinted("the same"));
        }
        fields.push(of("spread", spread, slider(most, most / 50.0), world.spread));
        fields.push(of("rise", "Rise until the end, %", slider(100.0, 1.0), world.rise));
        fields.push(of("wave", "Common wave, ms", slider(3.0, 0.05), world.wave));
    }
    let parameter =
        |of: &Parameter| Field::of_choices(choices, of.key, of.label, Control::Number, of.usual).of(Group::Parameters);
    fields.extend(PARAMETERS_OF.iter().map(parameter));
    fields
}

/// A parameter of a strategy.
struct Parameter {
    key: &'static str,
    label: &'static str,
    usual: &'static str,
    least: f64,
    most: f64,
}

const PARAMETERS_OF: [Parameter; 12] = [
    Parameter { key: "eps", label: "eps-greedy: ε", usual: "0.1", least: 0.0, most: 1.0 },
    Parameter { key: "decay", label: "eps-decay: c", usual: "5", least: 0.0, most: 1e6 },
    Parameter { key: "window", label: "sw-ucb: W, pulls", usual: "400", least: 1.0, most: 1e5 },
    Parameter { key: "gamma", label: "discounted thompson: γ", usual: "0.99", least: 0.0, most: 1.0 },
    Parameter { key: "delta", label: "elimination: δ", usual: "0.05", least: 1e-9, most: 1.0 },
    Parameter { key: "rounds", label: "round robin: M, rounds", usual: "5", least: 1.0, most: 1e5 },
    Parameter { key: "gate-rounds", label: "rr-gate: M, rounds", usual: "10", least: 1.0, most: 1e5 },
    Parameter { key: "gate", label: "rr-gate: gate, %", usual: "5", least: 0.0, most: 100.0 },
    Parameter {
        key: "calls",
        label: "epoch-thompson: E, calls",
        usual: "64",
        least: 1.0,
        most: MAX_BLOCK_CALLS as f64,
    },
    Parameter { key: "floor", label: "epoch-thompson: least share of an arm", usual: "0.01", least: 0.0, most: 1.0 },
    Parameter { key: "keep", label: "epoch-thompson: γ of an epoch", usual: "0.9", least: 0.0, most: 1.0 },
    Parameter { key: "raw-c", label: "ucb1-raw: c, ms", usual: "1.4142135623730951", least: 0.0, most: 1e6 },
];

/// The strategies that play, by their parameters.
///
/// # Errors
/// Returns an error if a parameter is not valid.
pub(super) fn strategies(choices: &Choices) -> Result<Vec<StrategyKind>, WorkbenchError> {
    let mut values = [0.0; PARAMETERS_OF.len()];
    for (value, of) in values.iter_mut().zip(&PARAMETERS_OF) {
        let text = choices.get(of.key).map(str::trim).filter(|text| !text.is_empty()).unwrap_or(of.usual);
        let read = of_range(text, of.least, of.most);
        *value = read.ok_or_else(|| wrong(of.label, text, &format!("a number from {} to {}", of.least, of.most)))?;
    }
    let [epsilon, decay, window, gamma, delta, rounds, gate_rounds, gate, calls, floor, keep, c] = values;
    let set = |kind: &StrategyKind| match *kind {
        StrategyKind::EpsGreedy { .. } => StrategyKind::EpsGreedy { epsilon },
        StrategyKind::EpsDecay { .. } => StrategyKind::EpsDecay { c: decay },
        StrategyKind::SlidingUcb { .. } => StrategyKind::SlidingUcb { window: window as u32 },
        StrategyKind::DiscountedThompson { .. } => StrategyKind::DiscountedThompson { gamma },
        StrategyKind::Elimination { .. } => StrategyKind::Elimination { delta },
        StrategyKind::RoundRobin { gate: None, .. } => StrategyKind::RoundRobin { rounds: rounds as u32, gate: None },
        StrategyKind::RoundRobin { .. } => {
            StrategyKind::RoundRobin { rounds: gate_rounds as u32, gate: Some(gate / 100.0) }
        }
        StrategyKind::EpochThompson { keep: usual, .. } => {
            StrategyKind::EpochThompson { calls: calls as u32, floor, keep: if usual < 1.0 { keep } else { 1.0 } }
        }
        StrategyKind::Ucb1Raw { .. } => StrategyKind::Ucb1Raw { c },
        other => other,
    };
    Ok(StrategyKind::ALL.iter().map(set).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::simulate;

    #[test]
    fn the_worlds_are_those_of_the_library() {
        for (world, (_, expected)) in WORLDS.iter().zip(simulate::worlds()) {
            let mut choices = Choices::default();
            choices.set("world", world.key);
            let Ok(Some(LatencySource::Simulation(simulation, names, auto))) = source(&choices, true) else {
                panic!("{} is not simulated", world.key)
            };
            assert_eq!((names, auto), (simulate::ARMS.map(str::to_owned).to_vec(), 3));
            assert_eq!(simulation.table(3, 100), expected.table(3, 100), "{}", world.key);
        }
    }

    #[test]
    fn figures_are_played_with_and_nonsense_is_refused() {
        let of = |pairs: &[(&str, &str)]| {
            let mut choices = Choices::default();
            choices.set("world", "own");
            pairs.iter().for_each(|(key, value)| choices.set(key, value));
            source(&choices, false).map_err(|error| error.to_string())
        };
        let Ok(Some(LatencySource::Simulation(simulation, names, auto))) =
            of(&[("arms.own", "one, AUTO"), ("means.own", "5,4"), ("later.own", "5, 6"), ("rise.own", "20")])
        else {
            panic!("it can be")
        };
        assert_eq!((&names[..], auto, simulation.trend), (&["one".to_owned(), "auto".to_owned()][..], 1, 0.2));
        assert_eq!(simulation.arms[1].later, Some((0.5, 6.0)));
        for (pairs, said) in [
            (
                &[("means.own", "1,2")][..],
                "means: \"1,2\" is not a number from 0.001 to 1000000 for each of the 3 arms",
            ),
            (&[("means.own", "1,-2,3")], "means: \"1,-2,3\" is not a number"),
            (&[("means.own", "1,nan,3")], "means: \"1,nan,3\" is not a number"),
            (&[("means.own", " ")], "means: \"\" is not a number for each arm"),
            (&[("arms.own", "one, other")], "arms: \"one, other\" is not a list of arms with auto among them"),
            (&[("spread.own", "-1")], "spread: \"-1\" is not a number from 0"),
        ] {
            let told = of(pairs).expect_err(said);
            assert!(told.contains(said), "{told}");
        }
        let mut choices = Choices::default();
        assert_eq!(strategies(&choices).ok(), Some(StrategyKind::ALL.to_vec()));
        choices.set("window", "50");
        choices.set("gate", "10");
        let set = strategies(&choices).unwrap_or_default();
        assert!(set.contains(&StrategyKind::SlidingUcb { window: 50 }), "{set:?}");
        assert!(set.contains(&StrategyKind::RoundRobin { rounds: 10, gate: Some(0.1) }), "{set:?}");
        choices.set("eps", "2");
        let told = strategies(&choices).expect_err("more than one").to_string();
        assert_eq!(told, "eps-greedy: ε: \"2\" is not a number from 0 to 1");
    }
}
