use collectune::training_time::{anatomy::Anatomy, catalogue::Catalogue, memory, run::Run, step::Mode};

use super::{
    physics::Physics,
    reference::{gpt, run},
};

fn of(catalogue: &Catalogue, layer: &[&str]) -> Run {
    let mut run = run(gpt(8, 4096, 32, 2048), [2, 2, 2, 4], 1, 4);
    run.model.architecture = Some(catalogue.architectures.last().unwrap().name.clone());
    run.model.layer = layer.iter().map(|name| (*name).to_owned()).collect();
    run
}

#[test]
fn repeats_and_overrides_count() {
    let mut catalogue = Catalogue::built_in();
    let own = "catalogue: 1\narchitectures:\n- name: twice\n  layer: [RMSlayernorm, {operator: linear1, repeat: 2, l: l//2}, \
               linear2]\n";
    catalogue.extend(Catalogue::parse(own).unwrap());
    // As a configuration that names the architecture has them, and spelled out.
    for layer in [&["RMSlayernorm", "linear1", "linear2"][..], &["RMSlayernorm", "linear1", "linear1", "linear2"]] {
        let anatomy = Anatomy::of(&of(&catalogue, layer), &catalogue);
        let counts: Vec<f64> = anatomy.layer.iter().map(|op| op.count).collect();
        assert_eq!(counts, [1.0, 2.0, 1.0], "{layer:?}");
        assert_eq!(anatomy.layer[1].scope.get("l"), Some(1024.0));
    }
    // Other operators than the architecture's are those of the run alone.
    let anatomy = Anatomy::of(&of(&catalogue, &["linear1", "linear2"]), &catalogue);
    assert_eq!(anatomy.layer.iter().map(|op| op.count).sum::<f64>(), 2.0);
    assert_eq!(anatomy.layer[0].scope.get("l"), Some(2048.0));
}

/// What a file says below zero takes nothing from time or memory.
#[test]
fn nothing_is_done_less_than_never() {
    let mut catalogue = Catalogue::built_in();
    let own = "catalogue: 1\narchitectures:\n- name: less\n  layer: [RMSlayernorm, {operator: linear1, repeat: 0-5}]\n  \
               parameters: {layer: 0-5, first: 0-5, last: 0-1}\n  activation_bytes: 0-b\n";
    catalogue.extend(Catalogue::parse(own).unwrap());
    let run = of(&catalogue, &["RMSlayernorm", "linear1"]);
    let plan = collectune::training_time::step::plan(&run, Mode::Default, &catalogue, &Physics::new()).unwrap();
    assert!(plan.step().components.iter().all(|(_, time)| time >= 0.0));
    let memory = memory::of(&run, &Anatomy::of(&run, &catalogue));
    assert!(memory.iter().all(|stage| stage.parts().iter().all(|(_, bytes)| *bytes >= 0.0)));
}
