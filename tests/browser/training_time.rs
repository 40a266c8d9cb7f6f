//! Steps of training: samples are dropped, and what a step is made of is there without another click.

pub use crate::support::real::files as samples;
use crate::{look::assert_fits_a_phone, page::Page, support::real};

/// The page with a folder of the shared samples and other files beside it, everything answered.
fn dropped(fragment: &str, folders: &[&str]) -> Page {
    let files = samples(folders);
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    let page = Page::open_at(fragment);
    page.drop_folder("bundle", &files);
    page.wait_until(|| page.look_for("button", "Share").is_some(), "the files are read");
    page.wait_until_idle();
    page
}

/// The page with the example open, all regressors trained and validated.
fn example() -> Page {
    let page = Page::open_at("#v=1&w=training-time");
    page.click("button", "Open the example");
    page.wait_until_idle();
    page.wait_for_text("The errors are those at samples, or published steps, that were held out.");
    page
}

fn answer(page: &Page) -> String {
    page.text_of("return document.querySelector('.answer').textContent")
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_example_opens_with_one_click_and_is_answered() {
    let page = Page::open_at("#v=1&w=training-time");
    let before = page.requests().len();
    page.click("button", "Open the example");
    page.wait_until_idle();
    page.wait_for_text("This is the example: simulated samples, not measurements.");
    assert_eq!(page.requests().len(), before, "the example came with the page");
    assert_eq!(page.fragment(), "#v=1&w=training-time&x=1");
    let answer = answer(&page);
    assert!(
        answer.contains("a step of") && answer.contains("how far the errors of its samples alone spread it"),
        "{answer}"
    );
    assert_eq!(page.rows("What the time goes into"), 10, "nine components and their sum");
    page.show("Memory");
    assert_eq!(page.rows("Memory of each stage"), 4);
    assert!(page.fragment().ends_with("&tab=memory"), "{}", page.fragment());
    page.show("Regressors");
    assert!(page.rows("Regressors") > 20);
    page.show("Samples");
    assert!(page.rows("What is odd") > 3);
    page.run("history.back()", &[]);
    page.wait_until(|| page.look_for("region", "Regressors").is_some(), "Back goes to the tab before");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_choice_is_answered_stands_in_the_address_and_is_undone() {
    let page = example();
    let before = answer(&page);
    page.unfold();
    page.fill("Micro-batches per step", "16");
    page.wait_until_idle();
    page.wait_until(|| answer(&page) != before, "the answer is another one");
    assert!(page.fragment().contains("&r.m=16"), "{}", page.fragment());
    page.run("history.back()", &[]);
    page.wait_until(|| answer(&page) == before, "the answer is the one from before");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn layouts_are_searched_by_their_address() {
    let page = Page::open_at("#v=1&w=training-time&x=1&s.gpus=16&tab=layouts");
    page.wait_until(|| page.look_for("region", "Layouts by step time").is_some(), "there is a ranking");
    page.wait_until_idle();
    assert!(page.fragment().contains("&s.gpus=16"), "{}", page.fragment());
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn bad_files_are_located_and_a_pickle_is_refused() {
    let page = Page::with_files(&[
        (
            "NVIDIAA100-SXM4-80GB_gelu_fp16.csv",
            b"mp,b,l,dim,F_dur(us),B_dur(us)\n1,2,1024,4096,10,soon\n1,2,2048,4096,20,30\n" as &[u8],
        ),
        ("model.pkl", b"\x80\x04\x95\x10\x00\x00\x00"),
    ]);
    page.wait_for_text("1 line left out");
    page.unfold();
    page.wait_for_text("soon");
    page.wait_for_text("pickle");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_broken_run_alone_is_told() {
    let page = Page::with_files(&[("run.yml", b"training_config: [4, 2, \"x\", 4]\nencoders: many\n")]);
    page.wait_for_text("there are no samples to study");
    page.unfold();
    page.wait_for_text("run.yml can't be used: line 1");
    assert!(!page.text().contains("Nothing was left out."), "{}", page.text());
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_workbench_fits_a_narrow_window_and_is_readable() {
    assert_fits_a_phone(&example());
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_tuned_curve_is_handed_over_with_shared_data() {
    let sweep = real::file("tuning/all_reduce_1n.csv");
    let page = dropped("", &["ett/Perlmutter", "ett/examples"]);
    page.drop_files(&[("all_reduce_1n.csv", &sweep)]);
    page.wait_until_idle();
    let marked = "return [...document.querySelectorAll('nav .is-loaded')].map((tab) => tab.innerText)";
    assert_eq!(page.run(marked, &[]), serde_json::json!(["Tuning", "Training time"]), "both have files");
    page.click("link", "Training time");
    page.wait_until_idle();
    let before = answer(&page);
    page.click("link", "Tuning");
    page.wait_until_idle();
    page.click("button", "Use this curve in training time");
    page.wait_until_idle();
    page.wait_until(|| answer(&page) != before, "the step is another one");
    assert!(page.fragment().contains("&x.tensor-curve=1x"), "{}", page.fragment());
    let answer_now = answer(&page);
    assert!(answer_now.contains("The changes make it −"), "{answer_now}");
    let what_if = page.text_in("region", "What if");
    assert!(what_if.contains("allreduce over 1×2 GPUs has the bus bandwidth of the curve over 1×8."), "{what_if}");
    // It is a choice as any other: the address holds it, and Back takes it back.
    let link = page.fragment();
    page.run("history.back(); history.back()", &[]);
    page.wait_until(|| page.fragment() != link, "it is taken back");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_slowdown_is_handed_over_with_shared_data() {
    let kernels = real::file("overlap/merged_features_82sm.csv");
    let page = dropped("", &["ett/Perlmutter", "ett/examples"]);
    page.drop_files(&[("merged_features_82sm.csv", &kernels)]);
    page.wait_until_idle();
    page.click("link", "Overlap");
    page.wait_until_idle();
    page.click("button", "in training time");
    page.wait_until_idle();
    assert!(page.fragment().contains("w=training-time") && page.fragment().contains("&x.operators=1."));
    page.wait_until(|| answer(&page).contains("The changes make it +"), "the step is slower");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn sliders_answer_and_are_undone() {
    let page = example();
    let before = answer(&page);
    let slide = SLIDE;
    page.run(slide, &["Messages between stages".into(), "0.1".into()]);
    page.wait_until(|| answer(&page).contains("The changes make it −"), "the step is faster");
    assert!(page.text_in("region", "What if").contains("The changes make it −"));
    assert!(page.fragment().contains("&x.p2p=0.1"), "{}", page.fragment());
    page.run(slide, &["Messages between stages".into(), "1".into()]);
    page.wait_until(|| answer(&page) == before, "nothing is changed");
    // However many values are on the way, a drag is one step.
    let release = "document.querySelectorAll('label.slider input').forEach((slider) => slider.dispatchEvent(new PointerEvent('pointerup', { bubbles: true })))";
    page.run(release, &[]);
    for value in ["0.8", "0.4", "0.1"] {
        page.run(slide, &["Messages between stages".into(), value.into()]);
        page.wait_until(|| page.fragment().contains(&format!("&x.p2p={value}")), "the address follows");
    }
    page.run(release, &[]);
    page.wait_until_idle();
    page.run("history.back()", &[]);
    page.wait_until(|| answer(&page) == before, "the whole drag is taken back");

    // A slide that nothing ended is over where anything else is chosen.
    page.run(slide, &["Messages between stages".into(), "0.5".into()]);
    page.wait_until(|| page.fragment().contains("&x.p2p=0.5"), "the address follows");
    page.wait_until_idle();
    let slid = page.fragment();
    page.choose("Mode", "as estimate-train-time");
    page.wait_until(|| page.fragment().contains("&mode=parity"), "the mode is chosen");
    page.wait_until_idle();
    page.run("history.back()", &[]);
    page.wait_until(|| page.fragment() == slid, "only the mode is taken back");
    page.wait_until_idle();
    page.run("history.back()", &[]);
    page.wait_until(|| !page.fragment().contains("&x.p2p"), "and then the slide");
    page.wait_until_idle();

    // A key that is held makes an input and a change with each value, and is one step as well.
    let length = || page.run("return history.length", &[]).as_u64().unwrap();
    let entries = length();
    page.run(
        "const field = [...document.querySelectorAll('label.slider')].find((field) => field.innerText.includes('Messages between stages'));
         field.querySelector('input').focus()",
        &[],
    );
    let hold = "const slider = document.activeElement;
        slider.value = arguments[0];
        for (const kind of ['input', 'change']) slider.dispatchEvent(new Event(kind, { bubbles: true }));";
    for value in ["0.9", "0.8", "0.7"] {
        page.run(hold, &[value.into()]);
        page.wait_until(|| page.fragment().contains(&format!("&x.p2p={value}")), "the address follows");
    }
    // One step takes the place of the two that were taken back.
    assert_eq!(length(), entries - 1);
    page.wait_until_idle();
    page.run("history.back()", &[]);
    page.wait_until(|| answer(&page) == before, "the key is taken back");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn what_is_missing_is_named_and_can_be_sampled_with_shared_data() {
    let mut files = samples(&["ett/Perlmutter", "ett/examples"]);
    files.retain(|(name, _)| !name.contains("_p2p_") && !name.contains("flash_atten"));
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    let page = Page::open();
    page.drop_folder("bundle", &files);
    page.wait_for_text("What was not sampled");
    page.wait_until_idle();
    assert!(page.fragment().ends_with("#v=1&w=training-time"), "{}", page.fragment());
    let section = page.text_in("region", "What was not sampled");
    assert!(section.contains("flash_atten") && section.contains("p2p"), "{section}");
    assert!(section.contains("python sample.py") && section.contains("torchrun --nnodes "), "{section}");
    let script = page.download(|| page.click("button", "Save sample.py"));
    let script = String::from_utf8(script).unwrap();
    assert!(script.contains("import torch") && script.contains("    \"flash_atten\": [["), "{script}");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn coverage_curves_and_files_are_shown_with_shared_data() {
    let folders = ["ett/Perlmutter", "ett/examples", "ett/sampling"];
    let page = dropped("", &folders);
    page.show("Samples");
    page.wait_for_text("Coverage of the samplings");
    assert!(page.rows("Which points of the samplings are there") > 15);
    assert!(page.rows("What was sampled") > 40);
    page.show("Files");
    assert!(page.rows("What became of each file") > 60);
    page.show("Regressors");
    // A regressor is opened beside its samples.
    page.run(
        "const table = document.querySelector('[role=region][aria-label=\"Regressors\"] table') ?? document;
         [...table.querySelectorAll('tbody tr')].find((row) => row.innerText.startsWith('linear3 forward')).querySelector('button, a, th, td').click()",
        &[],
    );
    page.wait_for_text("linear3 forward over dim");
    assert!(page.fragment().contains("&shown="), "{}", page.fragment());
    page.choose("Shown over", "mp");
    page.wait_for_text("linear3 forward over mp");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_catalogue_is_typed_and_saved() {
    let page = example();
    page.show("Catalogue");
    let type_it = |text: &str| {
        page.run(
            "const field = [...document.querySelectorAll('label')].find((label) => label.innerText.includes('Added to the catalogue'));
             const area = field.querySelector('textarea');
             area.value = arguments[0];
             area.dispatchEvent(new Event('change', { bubbles: true }));",
            &[text.into()],
        );
    };
    type_it("catalogue: 1\noperators: [{name: swiglu");
    page.wait_for_text("What is typed can't be read");
    type_it(
        "catalogue: 1\noperators:\n  - {name: swiglu, inputs: [mp, b, l, ffn], features: [\"b*l\", \"ffn//mp\"], bytes: \"6*b*l*ffn//mp\"}",
    );
    page.wait_until(|| !page.text().contains("What is typed can't be read"), "it is read");
    page.wait_until_idle();
    let saved = page.download(|| page.click("button", "Save the catalogue"));
    assert!(String::from_utf8(saved).unwrap().contains("swiglu"));
    page.assert_clean();
}

/// Moves the slider with a label to a value.
const SLIDE: &str = "const [label, value] = arguments;
    const field = [...document.querySelectorAll('label.slider')].find((field) => field.innerText.includes(label));
    const slider = field.querySelector('input');
    slider.value = value;
    slider.dispatchEvent(new Event('input', { bubbles: true }));";

/// A model of 1.7 billion parameters, as its config.json has it.
const MODEL: &[u8] =
    br#"{"model_type": "qwen3", "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 28,
    "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936}"#;

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_model_alone_is_answered_without_samples() {
    let page = Page::with_files(&[("config.json", MODEL)]);
    page.wait_until(|| page.look_for("tab", "Layouts").is_some(), "the model opens the workbench");
    page.wait_until_idle();
    let before = answer(&page);
    assert!(before.contains("a step on 64 × H100-SXM5-80GB") && before.contains("without samples"), "{before}");
    assert!(page.rows("What the time goes into") >= 4);
    page.choose("GPU", "B200-SXM-180GB");
    page.wait_until_idle();
    page.wait_until(|| answer(&page).contains("64 × B200-SXM-180GB"), "the answer is of the other GPU");
    assert!(page.fragment().contains("&e.gpu=B200-SXM-180GB"), "{}", page.fragment());
    page.show("Layouts");
    assert!(page.rows("Layouts by step time") > 5);
    // A layout that is given is answered instead of the best one; one that is not possible says what would be.
    page.click("checkbox", "Give the layout instead of finding the best one");
    page.wait_until_idle();
    page.fill("Tensor degree", "3");
    page.wait_until_idle();
    page.wait_for_text("tp × pp × cp = 3 does not divide 64 GPUs");
    page.fill("Tensor degree", "4");
    page.wait_until_idle();
    page.wait_until(|| !answer(&page).contains("There is no step"), "the layout is possible");
    page.run("history.back()", &[]);
    page.wait_for_text("tp × pp × cp = 3 does not divide 64 GPUs");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_known_model_is_estimated_without_any_file() {
    let page = Page::open_at("#v=1&w=training-time");
    page.click("button", "Estimate a known model");
    page.wait_until(|| page.look_for("tab", "Layouts").is_some(), "the model is estimated");
    page.wait_until_idle();
    assert!(answer(&page).contains("a step on 64 × H100-SXM5-80GB"), "{}", answer(&page));
    page.wait_for_text("An estimate without samples, of a model that is known by name.");
    page.choose("Model", "llama-3.1-70b (known)");
    page.wait_until_idle();
    page.choose("GPU", "A100-SXM4-80GB");
    page.wait_until_idle();
    page.fill("GPUs", "128");
    page.wait_until_idle();
    let shown = answer(&page);
    assert!(shown.contains("128 × A100-SXM4-80GB"), "{shown}");
    // Its address is all that a colleague needs.
    let address = page.fragment();
    page.visit("");
    page.wait_until_idle();
    page.visit(&address);
    page.wait_until(|| page.look_for("tab", "Layouts").is_some(), "the address says it all");
    page.wait_until_idle();
    assert_eq!(answer(&page), shown);
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn steps_of_one_s_own_and_files_that_are_no_model_are_told_apart() {
    let steps = b"gpus,step_s,tp,micro_batch\n64,1.9,1,2\n64,2.1,2,2\n64,x,2,4\n64,2.4,4,4\n64,0.01,1,2\n";
    let bert = br#"{"model_type": "bert", "hidden_size": 768}"#;
    let page = Page::with_files(&[("config.json", MODEL), ("steps.csv", steps), ("bert.json", bert)]);
    page.wait_until(|| page.look_for("tab", "Layouts").is_some(), "the model opens the workbench");
    page.wait_until_idle();
    assert!(answer(&page).contains("by 3 steps of your own"), "{}", answer(&page));
    // What makes the answer doubtful is in view beside it.
    let in_view = page
        .text_of("return [...document.querySelectorAll('.answer > .sentence')].map((p) => p.textContent).join(' ')");
    for said in ["4 measured steps do not say the global_batch", "steps.csv, line 6: 10.00 ms is less than"] {
        assert!(in_view.contains(said), "{in_view}");
    }
    page.wait_for_text("the model_type \"bert\" is not known");
    page.resize(360, 800);
    assert_fits_a_phone(&page);
    page.assert_clean();
}

/// A curve that Tuning recommends, and a trace, in a step that is estimated.
#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn what_was_measured_goes_into_an_estimated_step() {
    let sweep = b"collective,num_nodes,num_gpus,size_bytes,time_ip,busbw_ip,algo,proto,nchannels\n\
        all_reduce_perf,1,8,16777216,200,146.8,DEFAULT,DEFAULT,0\nall_reduce_perf,1,8,33554432,400,146.8,DEFAULT,DEFAULT,0\n\
        all_reduce_perf,1,8,67108864,800,146.8,DEFAULT,DEFAULT,0\nall_reduce_perf,1,8,33554432,300,195.7,RING,SIMPLE,16\n";
    let trace = br#"{"distributedInfo": {"world_size": 8}, "traceEvents": [
        {"cat": "user_annotation", "name": "ProfilerStep#1", "ts": 3e7, "dur": 3e7},
        {"cat": "kernel", "name": "nvjet", "ts": 3e7, "dur": 21e6},
        {"cat": "kernel", "name": "flash_fwd", "ts": 51e6, "dur": 3e6}]}"#;
    let page = Page::with_files(&[("config.json", MODEL), ("rank0.json", trace), ("sweep.csv", sweep)]);
    page.wait_until_idle();
    page.click("link", "Tuning");
    page.wait_until_idle();
    page.click("button", "Use this curve in training time");
    page.wait_until_idle();
    assert!(page.fragment().contains("x.tensor-curve=1x8"), "{}", page.fragment());
    page.wait_until(|| answer(&page).contains("by 1 step of your own"), "the trace is a step");
    page.show("Traces");
    page.wait_for_text("rank0.json has a step of 30.00 s on 8 GPUs");
    page.show("Exchanges");
    assert!(page.rows("What ranks exchange") >= 1);
    page.run(SLIDE, &["Operators of a layer".into(), "1.5".into()]);
    page.wait_until_idle();
    page.wait_for_text("The changes make it +");
    page.resize(360, 800);
    assert_fits_a_phone(&page);
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn what_a_training_program_reads_and_logs_is_answered_as_it_says() {
    let log = b"  num_layers ...... 24\n  hidden_size ...... 2048\n  num_attention_heads ...... 16\n\
        \x20 padded_vocab_size ...... 50304\n  seq_length ...... 2048\n  micro_batch_size ...... 2\n\
        \x20 global_batch_size ...... 128\n  tensor_model_parallel_size ...... 2\n  world_size ...... 16\n\
        \x20iteration  9/  99 | elapsed time per iteration (ms): 1500.0 | global batch size:  128 |\n";
    let page = Page::with_files(&[("train.log", log)]);
    page.wait_until(|| page.look_for("tab", "Layouts").is_some(), "the log opens the workbench");
    page.wait_until_idle();
    let said = answer(&page);
    assert!(said.contains("a step on 16 \u{d7} H100-SXM5-80GB") && said.contains("by 1 step of your own"), "{said}");
    page.show("Layouts");
    let degree = page.find("textbox", "Tensor degree");
    assert_eq!(page.run("return arguments[0].value", &[degree.into()]), "2");
    page.assert_clean();

    let toml = b"[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\nseq_len = 8192\n[metrics]\nlog_freq = 10\n";
    let zero = br#"{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2}}"#;
    let page = Page::with_files(&[
        ("llama.toml", toml),
        ("broken.toml", b"[model]\nname = \"llama3\"\n[training]\nseq_len = long\n"),
        ("ds.json", zero),
    ]);
    page.wait_until(|| page.look_for("tab", "Layouts").is_some(), "the configuration opens the workbench");
    page.wait_until_idle();
    assert!(answer(&page).contains("a step on 64 \u{d7} H100-SXM5-80GB"), "{}", answer(&page));
    page.wait_for_text("can't be used as a model: line 4, column 11");
    page.show("Files");
    page.wait_for_text("Not used: metrics");
    page.assert_clean();
}
