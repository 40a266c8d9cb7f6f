use super::*;

/// The operators of section 3 at mp 2, b 4, h 32, l 4096, dim 4096.
#[test]
fn features_are_the_reference_s() {
    let catalogue = Catalogue::parse(include_str!("built_in.yaml")).unwrap();
    let scope = Scope::from([
        ("mp", 2.0),
        ("b", 4.0),
        ("h", 32.0),
        ("l", 4096.0),
        ("dim", 4096.0),
        ("vocabulary", 50257.0),
        ("encoders", 8.0),
    ]);
    for (name, features) in [
        ("embedding", &[16384.0, 25216.0, 4096.0][..]),
        ("layernorm", &[4.0, 4096.0, 4096.0]),
        ("RMSlayernorm", &[4.0, 4096.0, 4096.0]),
        ("res_add", &[4.0, 4096.0, 4096.0]),
        ("linear1", &[16384.0, 4096.0, 6144.0]),
        ("linear2", &[16384.0, 2048.0, 4096.0]),
        ("linear3", &[16384.0, 4096.0, 8192.0]),
        ("linear4", &[16384.0, 8192.0, 4096.0]),
        ("linear_final", &[16384.0, 4096.0, 25216.0]),
        ("gelu", &[4096.0, 4.0, 8192.0]),
        ("RoPE", &[4096.0, 4.0, 16.0, 128.0]),
        ("flash_atten", &[4.0, 4096.0, 16.0, 128.0]),
        ("fillmask", &[4.0, 16.0, 4096.0, 4096.0]),
        ("baddbmm", &[64.0, 4096.0, 128.0, 4096.0]),
        ("bmm", &[64.0, 4096.0, 4096.0, 128.0]),
        ("softmax", &[4.0, 16.0, 4096.0, 4096.0]),
        ("ScaledUpperTriangMaskedSoftmax", &[64.0, 4096.0, 4096.0]),
        ("parallel_cross_entropy_128", &[4.0, 4096.0, 25216.0]),
        ("firstStage_optimizer", &[2.0, 4096.0, 8.0]),
    ] {
        assert_eq!(catalogue.operator(name).unwrap().features(&scope).as_deref(), Ok(features), "{name}");
    }
    let linear2 = catalogue.operator("linear2").unwrap();
    assert_eq!(linear2.flop(&scope), Ok(Some(2.0 * 16384.0 * 2048.0 * 4096.0)));
    // The floor below which 535 µs lie (section 8).
    let floor = catalogue.gpu("NVIDIAA100-SXM4-80GB").unwrap().floor_us("fp16", 2.0 * 16384.0 * 2048.0 * 4096.0, 0.0);
    assert_eq!(floor.round(), 881.0);
}

#[test]
fn vocabularies_are_padded() {
    let embedding = Catalogue::built_in().operator("embedding").unwrap().features[1].clone();
    let padded = |mp| embedding.evaluate(&Scope::from([("mp", mp), ("vocabulary", 50257.0)])).unwrap();
    assert_eq!([1.0, 2.0, 4.0, 8.0, 16.0].map(padded), [50304.0, 25216.0, 12672.0, 6400.0, 3200.0]);
}

/// The counts of section 9 of the specification, exactly.
#[test]
fn parameters_are_counted() {
    let catalogue = Catalogue::built_in();
    let model = |e, dim, h, vocabulary| Scope::from([("E", e), ("dim", dim), ("h", h), ("vocabulary", vocabulary)]);
    let count = |name: &str, scope: Scope| catalogue.architecture(name).unwrap().parameters(&scope).unwrap().unwrap();
    let seven = model(32.0, 4096.0, 32.0, 32000.0).with("kv_heads", 32.0).with("ffn", 11008.0);
    assert_eq!(count("llama", seven), 6_738_415_616.0);
    assert_eq!(count("llama-gqa", model(80.0, 8192.0, 64.0, 32000.0)), 68_976_648_192.0);
    assert_eq!(count("mixture", model(32.0, 4096.0, 32.0, 32000.0)), 46_702_792_704.0);
}

#[test]
fn communicators() {
    let catalogue = Catalogue::built_in();
    let scope = |pp, mp, dp, g| Scope::from([("pp", pp), ("mp", mp), ("dp", dp), ("g", g)]);
    for (name, layout, expected) in [
        ("allreduce", [4.0, 2.0, 2.0, 4.0], "1×2"),
        ("allreduce", [1.0, 8.0, 2.0, 4.0], "2×4"),
        ("allreduce_large", [4.0, 2.0, 2.0, 4.0], "1×2"),
        ("allreduce_large", [1.0, 2.0, 8.0, 4.0], "4×2"),
        ("allgather_large", [1.0, 1.0, 2.0, 4.0], "1×2"),
        ("p2p", [4.0, 2.0, 2.0, 4.0], "2×1"),
        ("p2p", [2.0, 1.0, 1.0, 4.0], "1×2"),
    ] {
        let [pp, mp, dp, g] = layout;
        let communicator = catalogue.collective(name).unwrap().communicator(&scope(pp, mp, dp, g)).unwrap();
        assert_eq!(communicator.to_string(), expected, "{name} {layout:?}");
    }
    let p2p = catalogue.collective("p2p").unwrap();
    let gbps = p2p.busbw_gbps(33_554_432, Communicator { nodes: 2, per_node: 1 }, 23223.436).unwrap();
    assert_eq!(format!("{gbps:.2}"), "2.89");
}

#[test]
fn what_is_written_is_read() {
    let catalogue = Catalogue::built_in();
    assert_eq!(Catalogue::parse(&catalogue.to_yaml()), Ok(catalogue.clone()));
    let mut twice = catalogue.clone();
    let more = Catalogue::parse("catalogue: 1\noperators:\n  - {name: swiglu, inputs: [mp, b, l, ffn], features: [\"b*l\", \"ffn//mp\"], bytes: \"6*b*l*ffn//mp\"}\narchitectures:\n  - {name: x, variables: {groups: 2}, layer: [linear1, {operator: linear2, repeat: groups, dim: \"dim//groups\"}]}\n").unwrap();
    assert_eq!(twice.extend(more.clone()), ["operator swiglu"]);
    let x = more.architecture("x").unwrap();
    let scope = x.scope(&Scope::from([("dim", 10.0)]));
    assert_eq!(x.layer_names(&scope).unwrap(), ["linear1", "linear2", "linear2"]);
    assert_eq!(x.layer[1].scope(&scope).unwrap().get("dim"), Some(5.0));
    assert_eq!(Catalogue::parse(&more.to_yaml()), Ok(more));
}

#[test]
fn faults_are_located() {
    for (text, message) in [
        ("gpus: []", "line 1, column 1: catalogue is missing; the version 1 was expected"),
        ("catalogue: 2", "line 1, column 12, catalogue: the version 1 was expected, not \"2\""),
        (
            "catalogue: 1\nops: []",
            "line 2, column 1, ops: gpus, clusters, operators, collectives or architectures was expected, not \"ops\"",
        ),
        (
            "catalogue: 1\ngpus: [{name: x, peak_tflops: {fp16: -1}}]",
            "line 2, column 38, fp16: a number above zero was expected, not \"-1\"",
        ),
        ("catalogue: 1\ngpus: [{name: x}, {name: x}]", "line 2, column 26, name: \"x\" stands twice among the gpus"),
        (
            "catalogue: 1\noperators: [{name: x, inputs: [a], features: [\"a*seq\"]}]",
            "line 2, column 47, features: nothing is known of \"seq\" in \"a*seq\"",
        ),
        (
            "catalogue: 1\noperators: [{name: x, inputs: [a], features: [\"a*\"]}]",
            "line 2, column 47, features: column 3: a number, a name or a bracket was expected, not the end",
        ),
        (
            "catalogue: 1\noperators: [{name: x, inputs: [], features: [], stands_in_for: gemm}]",
            "line 2, column 64, stands_in_for: gemm needs the key gemm: [m, k, n]",
        ),
    ] {
        assert_eq!(Catalogue::parse(text).map_err(|error| error.to_string()), Err(message.to_owned()), "{text}");
    }
}

/// Found by mutation: columns of names in an expression with blanks before it.
#[test]
fn blanks_of_expressions_come_back() {
    let text = "catalogue: 1\noperators:\n- {name: x, inputs: [], features: [\"b/mp\", \" ceil(b/3) \"]}";
    let catalogue = Catalogue::parse(text).unwrap();
    assert_eq!(Catalogue::parse(&catalogue.to_yaml()).unwrap(), catalogue);
}
