//! The simulator's form: worlds to begin with, all of whose figures can be changed, and the parameters of strategies.

use crate::{
    bandit::{
        environment::{Shape, SimulatedArm, Simulation},
        schedule::MAX_BLOCK_CALLS,
        strategies::StrategyKind,
    },
    form::{ChoiceError, Control, Field, Form},
    policy::{
        request::{LatencySource, ReplaySettings},
        settings::Group,
    },
};

/// A world to begin with: what stands in its form as long as nothing is chosen.
pub(super) struct World {
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

/// The world that is simulated; `None` where strategies play in the log.
pub(super) fn world(chosen: Option<&str>, has_log: bool) -> Option<&'static World> {
    let usual = if has_log { "log" } else { CLEAR.key };
    let chosen = chosen.unwrap_or(usual);
    WORLDS.iter().find(|world| world.key == chosen)
}

/// The fields of the replay: in what strategies play, which is a key of the log where nothing is simulated, and how
/// they decide.
pub(super) fn fields(form: &mut Form<'_>, has_log: bool, key: Option<LatencySource>) -> Option<ReplaySettings> {
    let mut worlds: Vec<(String, String)> = Vec::new();
    if has_log {
        worlds.push(("log".to_owned(), "the log".to_owned()));
    }
    worlds.extend(WORLDS.iter().map(|world| (world.key.to_owned(), format!("simulated: {}", world.label))));
    let usual = worlds[0].0.clone();
    form.group(Group::Strategies);
    let chosen = form.chosen(Field::new("world", "Latencies", Control::One(worlds)).usually(usual));
    let (mut steps, mut seeds) = (2000, 200);
    form.field(Field::new("steps", "Steps", Control::Number), &mut steps);
    form.field(Field::new("seeds", "Seeds", Control::Number), &mut seeds);
    let simulated = world(chosen, has_log).map(|world| simulation(form, world));
    form.group(Group::Parameters);
    let strategies = strategies(form);
    // A simulation that can't be is refused by its fields.
    let world = simulated.unwrap_or(key)?;
    Some(ReplaySettings { world, steps, seeds, strategies })
}

/// The fields of a simulation; `None` if one of them is not valid.
fn simulation(form: &mut Form<'_>, world: &World) -> Option<LatencySource> {
    const LONGEST_MS: f64 = 1e6;
    let name = |name: &str| if name.eq_ignore_ascii_case(AUTO) { AUTO } else { name }.to_owned();
    let slider = |most, step| Control::Slider { least: 0.0, most, step };
    let has_modes = !world.slow_share.is_empty();
    let mut text = |what: &str, label: &str, control, usual: &'static str, is_listed: bool| {
        let hint = if what == "later" { "the same" } else { "" };
        form.is_listed = is_listed;
        let field = Field::new(&format!("{what}.{}", world.key), label, control);
        form.chosen(field.usually(usual).hinted(hint)).map_or(usual, str::trim).to_owned()
    };
    let line = || Control::text(&[]);
    let (label_of_means, label_of_spread, most) = if has_modes {
        ("Fast calls, ms", "Spread of a mode, %", 50.0)
    } else {
        ("Means, ms", "Standard deviation, ms", 5.0)
    };
    let arms = text("arms", "Arms", line(), world.arms, true);
    let means = text("means", label_of_means, line(), world.means, true);
    let slow_shares = text("slow-share", "Slow calls, %", line(), world.slow_share, has_modes);
    let slow = text("slow", "A slow call, ms", Control::Number, SLOW, has_modes);
    let later = text("later", "Means from half-time on, ms", line(), world.later, !has_modes);
    let spread = text("spread", label_of_spread, slider(most, most / 50.0), world.spread, true);
    let rise = text("rise", "Rise until the end, %", slider(100.0, 1.0), world.rise, true);
    let wave = text("wave", "Common wave, ms", slider(3.0, 0.05), world.wave, true);

    let names: Vec<String> = items(&arms).map(name).collect();
    let number = |label: &str, text: &str, least: f64, most: f64| {
        let wrong = || ChoiceError::new(label, text, &format!("a number from {least} to {most}"));
        of_range(text, least, most).ok_or_else(wrong)
    };
    let list = |label: &str, text: &str, least: f64, most: f64| {
        let all: Option<Vec<f64>> = items(text).map(|item| of_range(item, least, most)).collect();
        let expected = || format!("a number from {least} to {most} for each of the {} arms", names.len());
        let all = all.filter(|all| all.is_empty() || all.len() == names.len());
        all.ok_or_else(|| ChoiceError::new(label, text, &expected()))
    };
    let simulate = || {
        let auto = names.iter().position(|name| name == AUTO);
        let no_auto = || ChoiceError::new("Arms", &names.join(", "), "a list of arms with auto among them");
        let auto = auto.ok_or_else(no_auto)?;
        let means = list(label_of_means, &means, 0.001, LONGEST_MS)?;
        if means.is_empty() {
            return Err(ChoiceError::new(label_of_means, "", "a number for each arm"));
        }
        let later = list("Means from half-time on, ms", &later, 0.001, LONGEST_MS)?;
        let slow_shares = list("Slow calls, %", &slow_shares, 0.0, 100.0)?;
        let slow = number("A slow call, ms", &slow, 0.001, LONGEST_MS)?;
        let spread = number(label_of_spread, &spread, 0.0, LONGEST_MS)?;
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
            trend: number("Rise until the end, %", &rise, 0.0, 1000.0)? / 100.0,
            carry: CARRY,
            push: number("Common wave, ms", &wave, 0.0, LONGEST_MS)?,
        };
        Ok(LatencySource::Simulation(simulation, names.clone(), auto as u32))
    };
    simulate().map_err(|error| form.refuse(error)).ok()
}

fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty())
}

fn of_range(text: &str, least: f64, most: f64) -> Option<f64> {
    crate::text::number(text).filter(|value| (least..=most).contains(value))
}

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
fn strategies(form: &mut Form<'_>) -> Vec<StrategyKind> {
    let mut values = [0.0; PARAMETERS_OF.len()];
    for (value, of) in values.iter_mut().zip(&PARAMETERS_OF) {
        let chosen = form.chosen(Field::new(of.key, of.label, Control::Number).usually(of.usual)).map(str::trim);
        let text = chosen.filter(|text| !text.is_empty()).unwrap_or(of.usual);
        match of_range(text, of.least, of.most) {
            Some(read) => *value = read,
            None => {
                let expected = format!("a number from {} to {}", of.least, of.most);
                form.refuse(ChoiceError::new(of.label, text, &expected));
            }
        }
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
    StrategyKind::ALL.iter().map(set).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{form::Choices, policy::simulate};

    fn played(pairs: &[(&str, &str)]) -> Result<ReplaySettings, ChoiceError> {
        let mut choices = Choices::default();
        pairs.iter().for_each(|(key, value)| choices.set(key, value));
        let mut form = Form::new(&choices);
        let replay = fields(&mut form, false, None);
        form.checked(replay).map(|replay| replay.expect("a simulation"))
    }

    #[test]
    fn the_worlds_are_those_of_the_library() {
        for (world, (_, expected)) in WORLDS.iter().zip(simulate::worlds()) {
            let replay = played(&[("world", world.key)]).expect(world.key);
            let LatencySource::Simulation(simulation, names, auto) = replay.world else { panic!("{}", world.key) };
            assert_eq!((names, auto), (simulate::ARMS.map(str::to_owned).to_vec(), 3));
            assert_eq!(simulation.table(3, 100), expected.table(3, 100), "{}", world.key);
        }
    }

    #[test]
    fn figures_are_played_with_and_nonsense_is_refused() {
        let of = |pairs: &[(&str, &str)]| played(&[&[("world", "own")], pairs].concat());
        let own = [("arms.own", "one, AUTO"), ("means.own", "5,4"), ("later.own", "5, 6"), ("rise.own", "20")];
        let LatencySource::Simulation(simulation, names, auto) = of(&own).expect("own arms").world else { panic!() };
        assert_eq!((&names[..], auto, simulation.trend), (&["one".to_owned(), "auto".to_owned()][..], 1, 0.2));
        assert_eq!(simulation.arms[1].later, Some((0.5, 6.0)));
        for (pairs, said) in [
            (
                &[("means.own", "1,2")][..],
                "Means, ms: \"1,2\" is not a number from 0.001 to 1000000 for each of the 3 arms",
            ),
            (&[("means.own", "1,-2,3")], "Means, ms: \"1,-2,3\" is not a number"),
            (&[("means.own", "1,nan,3")], "Means, ms: \"1,nan,3\" is not a number"),
            (&[("means.own", " ")], "Means, ms: \"\" is not a number for each arm"),
            (&[("arms.own", "one, other")], "Arms: \"one, other\" is not a list of arms with auto among them"),
            (&[("spread.own", "-1")], "Standard deviation, ms: \"-1\" is not a number from 0"),
        ] {
            let told = of(pairs).expect_err(said).to_string();
            assert!(told.contains(said), "{told}");
        }
        assert_eq!(played(&[]).map(|replay| replay.strategies), Ok(StrategyKind::ALL.to_vec()));
        let set = played(&[("window", "50"), ("gate", "10")]).expect("parameters").strategies;
        assert!(set.contains(&StrategyKind::SlidingUcb { window: 50 }), "{set:?}");
        assert!(set.contains(&StrategyKind::RoundRobin { rounds: 10, gate: Some(0.1) }), "{set:?}");
        let told = played(&[("eps", "2")]).expect_err("more than one").to_string();
        assert_eq!(told, "eps-greedy: ε: \"2\" is not a number from 0 to 1");
    }
}
