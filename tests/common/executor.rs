//! The page's conversation with its workers, natively.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use crate::support::{real, worker::load_set};
use collectune::{
    collective::{Algorithm, Collective, Protocol, Scale, Workload},
    intake::{
        Outcome,
        files::{FileSource, FileToLoad, read_files},
    },
    plot::{Style, svg},
    progress::{Progress, Silent},
    report::Contents,
    tuning::{
        ab,
        conf::export::ExportOptions,
        heat_map::Against,
        loaded::{LoadedTuning, predict_folds},
        parameters::{Parameters, Preset, SearchLimits},
        result::{Importance, Recommendation, Source as Chooser, Trained, Validated, View},
        sets::SetChoice,
        simulate::Simulation,
    },
    worker::{
        executor::{ExecuteError, Executor},
        protocol::{Loaded, Request, Response},
    },
};
use proptest::prelude::*;

/// A page that talks to one worker.
#[derive(Default)]
struct Page {
    worker: Executor,
}

type Answer<T> = Result<T, ExecuteError>;

impl Page {
    fn ask(&mut self, request: Request) -> Answer<Response> {
        self.worker.execute(request, Vec::new(), &mut Silent)
    }

    fn load(&mut self, files: &[(&str, &[u8])]) -> Loaded {
        self.load_set(files, SetChoice::Largest)
    }

    fn load_set(&mut self, files: &[(&str, &[u8])], set: SetChoice) -> Loaded {
        self.load_watched(files, set, &mut Silent)
    }

    fn load_watched(&mut self, files: &[(&str, &[u8])], set: SetChoice, progress: &mut dyn Progress) -> Loaded {
        load_set(&mut self.worker, files, set, progress)
    }

    fn tuning(&mut self) -> &mut LoadedTuning {
        &mut self.worker.studies.tuning.loaded
    }

    fn train(&mut self, parameters: &Parameters) -> Answer<Trained> {
        Ok(self.tuning().train(parameters.clone(), &mut Silent)?)
    }

    /// Folds are computed elsewhere, the second part comes first.
    fn validate(&mut self, trained: &Trained, parameters: &Parameters) -> Answer<Validated> {
        let all: Vec<u32> = (0..trained.folds.len() as u32).collect();
        let (first, second) = all.split_at(all.len() / 3);
        let predict = |part: &[u32]| predict_folds(&trained.training, parameters, part, &mut Silent);
        let folds = [predict(second)?, predict(first)?];
        Ok(self.tuning().validate(&folds, &mut Silent)?)
    }

    fn view(&mut self, workload: Workload) -> Answer<View> {
        Ok(self.tuning().view(&workload, Against::Best)?)
    }

    fn recommend(&mut self, workload: Workload, sizes: &[u64], search: &SearchLimits) -> Answer<Vec<Recommendation>> {
        let workloads: Vec<Workload> = sizes.iter().map(|&size_bytes| Workload { size_bytes, ..workload }).collect();
        Ok(self.tuning().study.recommend(&workloads, Some(search), true, &mut Silent)?)
    }

    fn importances(&mut self) -> Answer<Vec<Importance>> {
        Ok(self.tuning().study.importances(&mut Silent)?)
    }

    fn save(&mut self) -> Answer<String> {
        Ok(self.tuning().model_file()?.to_text())
    }
}

fn sweep() -> String {
    Simulation {
        collectives: vec![Collective::AllReduce, Collective::Broadcast],
        nodes: vec![1, 2],
        sizes: (12..21).map(|log2| 1 << log2).collect(),
        channels: vec![1, 4, 8, 16],
        repeats: 2,
        seed: 9,
    }
    .to_csv()
}

fn quick(preset: Preset) -> Parameters {
    Parameters { preset, trees: 8, stages: 12, ..Parameters::default() }
}

const PRESETS: [Preset; 4] = [Preset::Default, Preset::Seed, Preset::Forest, Preset::ExtraTrees];

const ON_TWO_NODES: Workload =
    Workload { collective: Collective::AllReduce, scale: Scale { nodes: 2, ranks: 16 }, size_bytes: 65_536 };

/// The (algorithm, protocol) pairs that ran for each collective and scale.
fn ran(loaded: &Loaded) -> BTreeSet<(Collective, Scale, Algorithm, Protocol)> {
    let pairs =
        loaded.groups.iter().flat_map(|g| g.pairs.iter().map(|p| (g.collective, g.scale, p.algorithm, p.protocol)));
    pairs.collect()
}

#[track_caller]
fn names_what_ran(loaded: &Loaded, answers: &[Recommendation]) {
    let ran = ran(loaded);
    for answer in answers {
        for configuration in answer.configuration.into_iter().chain(answer.exhaustive.map(|(c, _)| c)) {
            let Workload { collective, scale, .. } = answer.workload;
            assert!(ran.contains(&(collective, scale, configuration.algorithm, configuration.protocol)), "{answer:?}");
        }
    }
}

#[test]
fn a_rehearsal_leaves_everything_as_it_is() {
    let mut page = Page::default();
    page.load(&[("a.csv", sweep().as_bytes())]);
    page.train(&Parameters::default()).unwrap();
    let before = page.save().unwrap();
    assert!(matches!(page.ask(Request::Rehearse), Ok(Response::Pong)));
    assert_eq!(page.save().unwrap(), before);
}

#[test]
fn several_files_are_read_as_one_piece_of_work() {
    struct Steps(Vec<(u64, u64)>);
    impl Progress for Steps {
        fn report(&mut self, doing: &str, done: u64, total: u64) {
            if doing == "Reading 3 files" {
                self.0.push((done, total));
            } else {
                assert!(!doing.contains(".csv"), "{doing}");
            }
        }
    }
    let text = Simulation::example().to_csv();
    let mut steps = Steps(Vec::new());
    let files = [("a.csv", text.as_bytes()), ("b.csv", text.as_bytes()), ("c.csv", b"what is this?".as_slice())];
    Page::default().load_watched(&files, SetChoice::Largest, &mut steps);
    let total = 2 * text.len() as u64 + 13;
    assert!(steps.0.len() > 6 && steps.0.is_sorted() && steps.0.iter().all(|(_, of)| *of == total));
    assert_eq!((steps.0[0].0, steps.0[steps.0.len() - 1].0), (0, total));
}

#[test]
fn each_file_is_named_before_it_is_read() {
    struct Read(Vec<Option<u32>>);
    impl Progress for Read {
        fn report(&mut self, doing: &str, _: u64, _: u64) {
            let is_of_a_file = doing.starts_with("Reading");
            assert_eq!(self.0.last().is_some_and(Option::is_some), is_of_a_file, "{doing} after {:?}", self.0);
        }

        fn reading(&mut self, file: Option<u32>) {
            self.0.push(file);
        }
    }
    let text = Simulation::example().to_csv();
    let files = [("a.csv", text.as_bytes()), ("b.csv", b"what is this?".as_slice()), ("c.csv", text.as_bytes())];
    let mut read = Read(Vec::new());
    let loaded = Page::default().load_watched(&files, SetChoice::Largest, &mut read);
    let mut named: Vec<Option<u32>> = loaded.files.iter().map(|file| Some(file.id)).collect();
    named.push(None);
    assert_eq!(read.0, named);
}

#[test]
fn a_conversation_from_the_drop_to_the_saved_model_and_back() {
    for preset in PRESETS {
        let mut page = Page::default();
        let loaded = page.load(&[("sweep.csv", sweep().as_bytes())]);
        assert_eq!(loaded.groups.len(), 4);
        assert_eq!(loaded.winners.len(), 4 * 9);
        assert!(loaded.winners.iter().all(|w| w.configuration.is_some_and(|choice| w.tied.contains(&choice))));

        let parameters = quick(preset);
        let trained = page.train(&parameters).unwrap();
        assert_eq!(trained.answer.len(), loaded.winners.len());
        // Of what was measured its runs tell the interval, before any validation.
        assert!(trained.answer.iter().all(|answer| answer.configuration.is_some() && answer.interval_90.is_some()));
        names_what_ran(&loaded, &trained.answer);
        assert_eq!(trained.folds.len(), 9 + 5 + 2);

        let before = page.view(ON_TWO_NODES).unwrap();
        assert!(before.predicted_over_measured.is_none());
        let validated = page.validate(&trained, &parameters).unwrap();
        assert!(validated.evaluation.by_size.model.regret_mean_pct.is_some());
        assert!(validated.evaluation.by_configuration.coverage_90_pct.is_some());
        assert!(validated.answer.iter().all(|answer| answer.interval_90.is_some()));
        names_what_ran(&loaded, &validated.answer);

        let view = page.view(ON_TWO_NODES).unwrap();
        assert!(view.predicted_over_measured.is_some());
        assert_eq!(Some(&view.recommendation), validated.answer.iter().find(|answer| answer.workload == ON_TWO_NODES));

        let answers = page.recommend(ON_TWO_NODES, &[5000, 65_536, 1 << 24], &SearchLimits::default()).unwrap();
        assert_eq!(answers.len(), 3);
        names_what_ran(&loaded, &answers);
        assert_eq!(answers[1], view.recommendation);

        let importances = page.importances().unwrap();
        let impurities: f64 = importances.iter().filter_map(|importance| importance.impurity).sum();
        assert!((impurities - 1.0).abs() < 1e-9, "{preset:?}");

        let file = page.save().unwrap();
        let mut elsewhere = Page::default();
        let reloaded = elsewhere.load(&[("model.json", file.as_bytes())]);
        assert_eq!(elsewhere.tuning().saved_parameters.as_ref(), Some(&parameters));
        assert_eq!(reloaded.groups, loaded.groups);
        let again = elsewhere.train(&parameters).unwrap();
        assert_eq!(again.notes, Vec::<String>::new(), "{preset:?}");
        assert_eq!(again.answer, trained.answer, "{preset:?}");
        assert_eq!(elsewhere.validate(&again, &parameters).unwrap(), validated, "{preset:?}");
    }
}

#[test]
fn the_order_of_the_folds_does_not_matter() {
    let mut page = Page::default();
    page.load(&[("sweep.csv", sweep().as_bytes())]);
    let parameters = quick(Preset::ExtraTrees);
    let trained = page.train(&parameters).unwrap();
    let in_parts = page.validate(&trained, &parameters).unwrap();
    let all: Vec<u32> = (0..trained.folds.len() as u32).collect();
    let folds = predict_folds(&trained.training, &parameters, &all, &mut Silent).unwrap();
    let at_once = page.tuning().validate(&[folds], &mut Silent).unwrap();
    assert_eq!(at_once, in_parts);
}

#[test]
fn other_limits_keep_the_model() {
    let mut page = Page::default();
    page.load(&[("sweep.csv", sweep().as_bytes())]);
    let parameters = quick(Preset::Default);
    let trained = page.train(&parameters).unwrap();
    page.validate(&trained, &parameters).unwrap();
    let search = SearchLimits { max_channels: Some(3), ..SearchLimits::default() };
    let narrow = page.train(&Parameters { search, ..parameters }).unwrap();
    assert!(narrow.answer.iter().all(|answer| answer.configuration.is_some_and(|c| c.channels <= 3)));
    assert!(narrow.answer.iter().any(|answer| answer.interval_90.is_some()), "validation is kept");
}

#[test]
fn requests_out_of_order_are_answered_in_words() {
    let mut page = Page::default();
    let parameters = quick(Preset::Default);
    let nothing_measured = page.train(&parameters).map(|_| ()).unwrap_err().to_string();
    assert!(nothing_measured.contains("a sweep is needed first"), "{nothing_measured}");
    let no_model = [
        page.importances().map(|_| ()),
        page.save().map(|_| ()),
        page.tuning().validate(&[], &mut Silent).map(|_| ()).map_err(ExecuteError::from),
    ];
    for error in no_model {
        assert!(error.unwrap_err().to_string().contains("train one first"));
    }
    let another_build = predict_folds(&[255; 9], &parameters, &[0], &mut Silent);
    assert!(another_build.unwrap_err().to_string().contains("reload"));
    assert!(page.view(ON_TWO_NODES).unwrap().recommendation.configuration.is_none());
    page.load(&[("sweep.csv", sweep().as_bytes())]);
    assert!(page.save().is_err());
    let measured = page.view(ON_TWO_NODES).unwrap();
    assert!(measured.recommendation.configuration.is_some(), "winners show before any model");
}

#[test]
fn a_campaign_s_name_tells_its_collective_and_its_rules_how_many_ranks_ran() {
    let campaign = "nodes,size_bytes,def_runs,cfg_runs\n1,4096,0.32;0.32;0.32,0.36;0.36;0.36\n";
    let conf = "allgather,0,8192,ring,simple,8,1,8,-1,-1\nallreduce,0,8192,ring,ll,8,1,8,-1,-1\n";
    let mut page = Page::default();
    page.load(&[("allreduce_1n.per_size_stats.csv", campaign.as_bytes()), ("nccl_tuner.conf", conf.as_bytes())]);
    let answer = page.worker.studies.tuning.loaded.ab(&ab::AbQuestion::default()).unwrap();
    let words: Vec<&str> = answer.verdicts.iter().map(ab::verdict::RuleVerdict::word).collect();
    assert_eq!(words, ["not judged", "keep"]);
    // 4 KiB × 2 · 7/8 over 0.32 and 0.36 GB/s.
    assert!(answer.by_size.rows[0].iter().any(|cell| cell.text == "22.40 → 19.91 µs"), "{:?}", answer.by_size);
}

#[test]
fn links_that_are_open_beside_a_sweep_hold_its_predictions() {
    let topology = |gib: f64| {
        let pairs = (0..16).flat_map(|a| (0..16).map(move |b| (a, b))).filter(|(a, b)| a != b);
        let links: String = pairs.map(|(a, b)| format!("{a},{b},500,{gib}\n")).collect();
        format!("16\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n{links}")
    };
    let beyond = |links: &str| {
        let mut page = Page::default();
        let loaded = page.load(&[("sweep.csv", sweep().as_bytes()), ("mesh.csv", links.as_bytes())]);
        let parameters = quick(Preset::Default);
        let trained = page.train(&parameters).unwrap();
        page.validate(&trained, &parameters).unwrap();
        let answer = page.recommend(ON_TWO_NODES, &[1 << 38], &SearchLimits::default()).unwrap().remove(0);
        (answer, loaded.notes)
    };
    let (free, _) = beyond("");
    let expected = free.predicted_busbw_gbps.unwrap();
    let most = expected * 0.995;
    let (held, notes) = beyond(&topology(most / 15.0 / 1.073_741_824));
    assert!((held.predicted_busbw_gbps.unwrap() - most).abs() < most * 1e-6, "{held:?}");
    assert!(held.interval_90.is_none_or(|interval| interval.high_gbps <= most * 1.000_001));
    assert!(held.held_to.is_some_and(|why| why.starts_with("The prediction is held to ") && why.contains("mesh.csv")));
    assert!(notes.iter().any(|note| note.contains("no schedule over the links of mesh.csv exceeds that")), "{notes:?}");
    let (refuted, notes) = beyond(&topology(1e-6));
    assert_eq!((refuted.predicted_busbw_gbps, refuted.held_to), (Some(expected), None));
    assert!(notes.iter().any(|note| note.starts_with("mesh.csv is not about the links of ")), "{notes:?}");
}

#[test]
fn loading_forgets_what_was_there() {
    let mut page = Page::default();
    page.load(&[("sweep.csv", sweep().as_bytes())]);
    page.train(&quick(Preset::ExtraTrees)).unwrap();
    let loaded = page.load(&[("empty.csv", b"")]);
    assert!(matches!(loaded.files[0].outcome, Outcome::Refused(_)));
    assert!(loaded.groups.is_empty() && loaded.winners.is_empty());
    assert!(page.save().is_err());
}

#[test]
fn a_changed_model_file_is_said_to_differ() {
    let mut page = Page::default();
    page.load(&[("sweep.csv", sweep().as_bytes())]);
    let parameters = quick(Preset::ExtraTrees);
    page.train(&parameters).unwrap();
    let mut file: serde_json::Value = serde_json::from_str(&page.save().unwrap()).unwrap();
    file["points"][7]["busbw_gbps"] = 1.25.into();
    page.load(&[("model.json", file.to_string().as_bytes())]);
    let notes = page.train(&parameters).unwrap().notes;
    assert!(notes[0].contains("predicts differently here"), "{notes:?}");
}

#[test]
fn model_files_that_cannot_be_used_are_refused() {
    let mut page = Page::default();
    page.load(&[("sweep.csv", sweep().as_bytes())]);
    page.train(&quick(Preset::ExtraTrees)).unwrap();
    let text = page.save().unwrap();
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let changed = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut file = file.clone();
        change(&mut file);
        file.to_string()
    };
    for (text, word) in [
        (changed(&|file| file["version"] = 2.into()), "version 2"),
        (changed(&|file| file["points"][3]["busbw_gbps"] = (-1.0).into()), "training row 3"),
        (changed(&|file| file["points"][3]["workload"]["scale"]["nodes"] = 0.into()), "0 nodes"),
        (changed(&|file| file["parameters"]["trees"] = u32::MAX.into()), "trees"),
        (changed(&|file| file["points"] = "none".into()), "line 1"),
        (text[..text.len() / 2].to_owned(), "JSON"),
    ] {
        let loaded = Page::default().load(&[("model.json", text.as_bytes())]);
        match &loaded.files[0].outcome {
            Outcome::Refused(why) => assert!(why.contains(word), "{why}"),
            other => panic!("{word}: {other:?}"),
        }
        assert!(loaded.groups.is_empty());
    }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn real_sweeps_are_answered_with_what_ran_in_them() {
    let files = real::SWEEPS.map(|name| (format!("{name}.csv"), real::file(&format!("tuning/{name}.csv"))));
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (&name[..], &bytes[..])).collect();
    for preset in PRESETS {
        let mut page = Page::default();
        let loaded = page.load(&files);
        assert_eq!(loaded.groups.len(), 6);
        let trained = page.train(&quick(preset)).unwrap();
        assert_eq!(trained.answer.len(), 6 * 18);
        assert!(trained.answer.iter().all(|answer| answer.configuration.is_some()));
        names_what_ran(&loaded, &trained.answer);
    }
}

/// One line of a sweep: collective, nodes, log2 of the size, algorithm, protocol, channels, time in µs, asked for.
type Line = (usize, u32, u32, usize, usize, usize, usize, bool);

fn csv(lines: &[Line]) -> String {
    let mut text =
        "collective,num_nodes,num_gpus,size_bytes,time_ip_us,algbw_ip,busbw_ip,errors_ip,algo,proto,nchannels,\
                    requested_algo,requested_proto,requested_nchannels,substituted,measured_algo_raw,nchannels_source\n"
            .to_owned();
    for &(collective, nodes, size, algorithm, protocol, channels, time, asked) in lines {
        let collective = [Collective::AllReduce, Collective::AllGather, Collective::AllToAll][collective];
        let (ranks, size) = (nodes * 8, 1_u64 << size);
        let algorithm = ["RING", "TREE", "Direct", "N/A", "RING*"][algorithm];
        let protocol = ["LL", "LL128", "SIMPLE", "N/A"][protocol];
        let channels = [1, 2, 8, 48, 0, -88, 1024][channels];
        let time = [10.0, 10.0, 25.5, 3000.25][time];
        let algbw = size as f64 / time / 1000.0;
        let busbw = algbw * collective.busbw_factor(ranks);
        let requested = if asked { format!("{algorithm},{protocol},{channels}") } else { ",,".to_owned() };
        text += &format!(
            "{collective}_perf,{nodes},{ranks},{size},{time},{algbw:.2},{busbw:.2},0,{algorithm},{protocol},{channels},\
             {requested},0,{algorithm},plan\n"
        );
    }
    text
}

/// Every request of a conversation; errors in words are answers, too.
fn converse(text: &str, preset: Preset, search: &SearchLimits) {
    let mut page = Page::default();
    let loaded = page.load(&[("sweep.csv", text.as_bytes())]);
    let parameters = Parameters { preset, trees: 2, stages: 3, search: search.clone(), ..Parameters::default() };
    let workloads: Vec<Workload> = loaded.winners.iter().map(|winner| winner.workload).chain([ON_TWO_NODES]).collect();
    let first = workloads[0];
    let trained = page.train(&parameters);
    for workload in &workloads {
        let _ = page.view(*workload);
    }
    let _ = page.recommend(first, &[0, 1, 3000, u64::MAX], search);
    let _ = page.importances();
    let _ = page.save();
    let Ok(trained) = trained else { return };
    if search.algorithms.is_empty() && search.protocols.is_empty() {
        names_what_ran(&loaded, &trained.answer);
    }
    let validated = page.validate(&trained, &parameters).unwrap();
    for answer in validated.answer.iter().chain(&trained.answer) {
        let numbers = [answer.predicted_busbw_gbps, answer.gain_pct, answer.interval_90.map(|i| i.high_gbps)];
        assert!(numbers.into_iter().flatten().all(f64::is_finite), "{answer:?}");
    }
    for workload in &workloads {
        let _ = page.view(*workload);
    }
    let file = page.save().unwrap();
    let reloaded = page.load(&[("model.json", file.as_bytes())]);
    assert!(matches!(reloaded.files[0].outcome, Outcome::Loaded { .. }), "{:?}", reloaded.files);
    let again = page.train(&parameters).unwrap();
    assert_eq!(again.notes, Vec::<String>::new());
    assert_eq!(again.answer, trained.answer);
}

fn limits() -> impl Strategy<Value = SearchLimits> {
    let channels = prop::option::of(prop::sample::select(vec![0, 1, 9, 200, u32::MAX]));
    let algorithms = prop::sample::subsequence(Algorithm::ALL, 0..=2);
    let protocols = prop::sample::subsequence(Protocol::ALL, 0..=2);
    (channels, algorithms, protocols, any::<bool>()).prop_map(|(max_channels, algorithms, protocols, exhaustive)| {
        SearchLimits { max_channels, algorithms, protocols, exhaustive }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_tiny_sweep_makes_a_conversation_panic(
        lines in prop::collection::vec((0..3_usize, 1..3_u32, 8..12_u32, 0..5_usize, 0..4_usize, 0..7_usize, 0..4_usize, any::<bool>()), 1..30),
        preset in prop::sample::select(&PRESETS[..]),
        limits in prop_oneof![Just(SearchLimits::default()), limits()],
    ) {
        converse(&csv(&lines), preset, &limits);
    }
}

/// Puts a number into the `place`-th number of a JSON value, counting on from the first after the last.
fn put(value: &mut serde_json::Value, place: &mut usize, number: &serde_json::Value) {
    match value {
        serde_json::Value::Number(_) if *place == 0 => {
            *value = number.clone();
            *place = usize::MAX;
        }
        serde_json::Value::Number(_) => *place -= 1,
        serde_json::Value::Array(items) => items.iter_mut().for_each(|item| put(item, place, number)),
        serde_json::Value::Object(fields) => fields.values_mut().for_each(|field| put(field, place, number)),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_model_file_makes_a_conversation_panic(
        changes in prop::collection::vec((0..300_usize, 0..8_usize), 1..4),
        preset in prop::sample::select(&PRESETS[..]),
    ) {
        let lines: Vec<Line> = (0..24).map(|i| (0, 1 + i % 2, 10 + i / 8, i as usize % 2, 2, i as usize % 4, 1, i % 5 > 0)).collect();
        let mut page = Page::default();
        page.load(&[("sweep.csv", csv(&lines).as_bytes())]);
        let parameters = Parameters { preset, trees: 2, stages: 3, ..Parameters::default() };
        page.train(&parameters).unwrap();
        let mut file: serde_json::Value = serde_json::from_str(&page.save().unwrap()).unwrap();
        for (mut place, number) in changes {
            let numbers: [serde_json::Value; 8] = [
                0.into(), 1.into(), u32::MAX.into(), u64::MAX.into(), 1e300.into(), 1e-300.into(), (-1).into(), 255.into(),
            ];
            put(&mut file, &mut place, &numbers[number]);
        }
        let loaded = page.load(&[("model.json", file.to_string().as_bytes())]);
        let parameters = Parameters { trees: 2, stages: 3, depth: 6, ..page.tuning().saved_parameters.clone().unwrap_or(parameters) };
        for winner in &loaded.winners {
            let _ = page.view(winner.workload);
        }
        if let Ok(trained) = page.train(&parameters) {
            let _ = page.validate(&trained, &parameters);
            let _ = page.importances();
            for winner in &loaded.winners {
                let _ = page.view(winner.workload);
            }
        }
    }
}

#[test]
fn degenerate_sweeps_make_no_conversation_panic() {
    let line = |size, algorithm, channels, time, asked| (0, 2, size, algorithm, 0, channels, time, asked);
    let one_size: Vec<Line> = (0..4).map(|channels| line(16, 0, channels, 0, true)).collect();
    let one_configuration: Vec<Line> = (10..20).map(|size| line(size, 0, 2, 2, true)).collect();
    let one_channel: Vec<Line> =
        (10..16).flat_map(|size| [0, 1].map(|algo| line(size, algo, 0, algo + 1, true))).collect();
    let defaults: Vec<Line> = (10..16).map(|size| line(size, 0, 2, 1, false)).collect();
    let zero_channels: Vec<Line> = (10..16).map(|size| (2, 1, size, 3, 3, 4, 1, true)).collect();
    let wrapped: Vec<Line> = (10..16).map(|size| line(size, 0, 5, 1, true)).collect();
    let unnamed: Vec<Line> = (10..16).flat_map(|size| [0, 1, 2].map(|c| (2, 2, size, 3, 3, c, c + 1, true))).collect();
    let repeats: Vec<Line> = vec![line(16, 0, 2, 1, true); 5];
    let kinds = [
        one_size,
        one_configuration,
        one_channel,
        defaults,
        zero_channels,
        wrapped,
        unnamed,
        repeats,
        vec![line(16, 0, 2, 1, true)],
    ];
    for lines in kinds {
        let loaded = Page::default().load(&[("sweep.csv", csv(&lines).as_bytes())]);
        assert!(matches!(loaded.files[0].outcome, Outcome::Loaded { rows, .. } if rows == lines.len() as u64));
        for preset in PRESETS {
            converse(&csv(&lines), preset, &SearchLimits::default());
        }
    }
}

/// The three charts of a small simulated sweep, from its rows to the drawing.
#[test]
fn the_charts_of_a_sweep_look_as_they_did() {
    let simulation = Simulation {
        collectives: vec![Collective::Broadcast],
        nodes: vec![2],
        sizes: (12..=28).step_by(4).map(|log2| 1 << log2).collect(),
        channels: vec![1, 4, 16, 32],
        repeats: 3,
        seed: 1,
    };
    let mut page = Page::default();
    page.load(&[("simulated.csv", simulation.to_csv().as_bytes())]);
    let parameters = Parameters { trees: 20, ..Parameters::default() };
    let trained = page.train(&parameters).unwrap();
    page.validate(&trained, &parameters).unwrap();
    let scale = Scale { nodes: 2, ranks: 16 };
    let view = page.view(Workload { collective: Collective::Broadcast, scale, size_bytes: 1 << 20 }).unwrap();
    let style = Style::default();
    let (map, predicted) = (view.heat_map.as_ref().unwrap(), view.predicted_over_measured.as_ref().unwrap());
    for chart in [&view.busbw_over_size, &view.busbw_over_channels, map, predicted] {
        insta::assert_snapshot!(chart.id.as_str(), svg(chart, &style));
    }
}

#[test]
fn at_a_measured_size_the_answer_is_what_was_measured_as_good_as_best() {
    let mut page = Page::default();
    page.load(&[("simulated.csv", Simulation::example().to_csv().as_bytes())]);
    let parameters = Parameters { trees: 20, ..Parameters::default() };
    let trained = page.train(&parameters).unwrap();
    let validated = page.validate(&trained, &parameters).unwrap();
    for answer in trained.answer.iter().chain(&validated.answer) {
        let (choice, best) = (answer.configuration.unwrap(), answer.measured_best.unwrap());
        let expected = answer.predicted_busbw_gbps.unwrap();
        if answer.source == Chooser::Measured {
            assert_eq!(answer.measured.map(|m| (m.configuration, m.busbw_gbps)), Some((choice, expected)));
            assert!(answer.tied.contains(&choice) && expected > 0.95 * best.busbw_gbps, "{answer:?}");
        } else {
            assert!(expected > best.busbw_gbps && answer.measured.is_none(), "{answer:?}");
        }
    }
}

const HEADER: &str = "collective,num_nodes,num_gpus,size_bytes,count,data_type,redop,time_oop_us,algbw_oop,busbw_oop,\
                      errors_oop,time_ip_us,algbw_ip,busbw_ip,errors_ip,algo,proto,nchannels";

#[test]
fn data_types_of_one_file_are_kept_apart() {
    let row = "all_reduce_perf,1,8,8192,2048,float,sum,40.91,0.2,0.35,0,40.14,0.2,0.36,0,RING,SIMPLE,1";
    let other = row.replace("float", "half").replace("40.14", "40.24");
    let (a, b) = (format!("{HEADER}\n{row}\n"), format!("{HEADER}\n{other}\n{row}\n"));
    let opened = read_files(&named(&["a.csv", "b.csv"]), vec![source(&a), source(&b)], &mut Silent);
    assert_eq!(opened.notes, ["1 row stands in a.csv (line 2) and again in b.csv (line 3): counted once"]);
    assert_eq!(opened.sets.label(), Some("float"));
    assert_eq!(opened.rows.iter().map(|row| (row.file, row.line)).collect::<Vec<_>>(), [(0, 2), (1, 3)]);
    assert!(opened.sets.note.contains("float (1 row of a.csv, 1 row of b.csv); half (1 row of b.csv)"));
}

/// A log and the JSON of the same launch: the latter has more digits.
#[test]
fn runs_that_another_file_has_with_more_digits_count_once() {
    let times = [[40.912_345, 40.143_211], [51.223_344, 50.991_122], [77.004_411, 76.123_123], [99.5, 98.761_234]];
    let text = |decimals: usize, apart_us: f64| {
        let row = |(exponent, times): (u32, &[f64; 2])| {
            let [out_of_place, in_place] = times.map(|time_us| time_us + apart_us);
            let [algbw_out, algbw] =
                [out_of_place, in_place].map(|time_us| f64::from(1_u32 << exponent) / time_us / 1000.0);
            let [busbw_out, busbw] = [algbw_out, algbw].map(|algbw| 1.75 * algbw);
            format!(
                "all_reduce_perf,1,8,{},{},float,sum,{out_of_place:.decimals$},{algbw_out:.3},{busbw_out:.3},0,\
                 {in_place:.decimals$},{algbw:.3},{busbw:.3},0,RING,SIMPLE,1\n",
                1_u32 << exponent,
                1_u32 << (exponent - 2)
            )
        };
        format!("{HEADER}\n{}", (13..).zip(&times).map(row).collect::<String>())
    };
    let of = |other: &str| {
        let files = named(&["printed.csv", "exact.csv"]);
        let opened = read_files(&files, vec![source(&text(2, 0.0)), source(other)], &mut Silent);
        (opened.rows.iter().filter(|row| row.file == 0).count(), opened.rows.len(), opened.notes)
    };
    let (printed, all, notes) = of(&text(6, 0.0));
    assert_eq!((printed, all), (0, 4));
    assert_eq!(
        notes,
        ["4 rows of printed.csv stand in exact.csv as well, with more digits or with what ran: counted once"]
    );
    // Runs that differ by more than the printed digits are repeats.
    assert_eq!(of(&text(6, 0.03)), (4, 8, vec![]));
}

#[test]
fn medians_of_runs_that_are_there_as_well_do_not_count() {
    let row = |time_us: f64| {
        let busbw_gbps = 8192.0 * 1.75 / time_us / 1000.0;
        format!(
            "all_reduce_perf,1,8,8192,2048,float,sum,40.91,0.2,0.35,0,{time_us:.2},0.2,{busbw_gbps:.2},0,RING,SIMPLE,1"
        )
    };
    let runs = [40.14, 39.14, 44.14, 41.0].map(|time_us| row(time_us) + "\n");
    let median = |time_us| row(time_us) + ",3,12.5\n";
    let raw = format!("{HEADER}\n{}", runs[..3].concat());
    let of = |raw: &str, medians: &str| {
        let opened = read_files(&named(&["a.csv", "a_median.csv"]), vec![source(raw), source(medians)], &mut Silent);
        let mut lines: Vec<(u16, u32)> = opened.rows.iter().map(|row| (row.file, row.line)).collect();
        lines.sort_unstable();
        (lines, opened.notes)
    };
    // One of these runs, one of a configuration without runs, and one of other runs.
    let elsewhere = median(40.14).replace("SIMPLE,1", "SIMPLE,2");
    let table = format!("{HEADER},n_repeats,spread_pct\n{}{elsewhere}{}", median(40.14), median(40.3));
    let note = "1 row of a_median.csv is the median of runs in a.csv: the runs count, not the median";
    assert_eq!(of(&raw, &table), (vec![(0, 2), (0, 3), (0, 4), (1, 3), (1, 4)], vec![note.to_owned()]));
    // As many runs as it says it is the median of.
    let more = format!("{HEADER}\n{}", runs.concat());
    assert_eq!(of(&more, &table).1, Vec::<String>::new());
}

#[test]
fn columns_of_builds_and_nodes_tell_rows_apart() {
    let sets = |header: &str, cells: [&str; 3]| {
        let row = "all_reduce_perf,1,8,8192,2048,float,sum,40.91,0.2,0.35,0,40.14,0.2,0.36,0,RING,SIMPLE,1";
        let text = cells.iter().fold(format!("{HEADER},{header}\n"), |text, cell| format!("{text}{row},{cell}\n"));
        let opened = read_files(&named(&["a.csv"]), vec![source(&text)], &mut Silent);
        let shown = format!("{opened:?}", opened = opened.sets);
        assert!(!shown.contains("secret"), "{shown}");
        opened.sets.all.into_iter().map(|set| set.label).collect::<Vec<_>>()
    };
    assert_eq!(sets("nccl_version", ["2.29.2", "2.26.6", "2.29.2"]), ["NCCL 2.29.2", "NCCL 2.26.6"]);
    assert_eq!(sets("RCCL version", ["2.22.3", "", "2.20.5"]).len(), 3);
    let mut nodes = sets("SLURM_JOB_NODELIST", ["secret[1-2]", "secret3 secret4", "secret4 secret3"]);
    nodes.sort_unstable();
    assert_eq!(nodes, ["node set 1", "node set 2"]);
}

fn named(names: &[&str]) -> Vec<FileToLoad> {
    (0..).zip(names).map(|(id, name)| FileToLoad { id, name: (*name).to_owned(), mapping: None }).collect()
}

fn source(text: &str) -> FileSource {
    text.as_bytes().to_vec().into()
}

/// Two logs of the same runs with two builds. With the newer one RING/LL/8 is the slower configuration.
fn logs_of_two_builds() -> [(String, String); 4] {
    let log = |code: u32, name: &str, times: [f64; 3]| {
        let rows = (20..23).zip(times).map(|(log2, time_us)| {
            let size = 1_u64 << log2;
            let busbw = size as f64 / time_us / 1000.0 * 1.75;
            let algbw = size as f64 / time_us / 1000.0;
            format!(
                "{size:>12} {:>12} float sum -1 {time_us:.2} {algbw:.2} {busbw:.2} 0 {time_us:.2} {algbw:.2} {busbw:.2} 0\n",
                size / 4
            )
        });
        let text = format!(
            "# nccl-tests version 2.17.6 nccl-headers={code} nccl-library={code}\n# Collective test starting: \
             all_reduce_perf\n# nThread 1 nGpus 8 minBytes 1048576 maxBytes 4194304 step: 2(factor) warmup iters: 1 \
             iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n{}#\n#                                              \
             out-of-place                       in-place\n#       size         count      type   redop    root     time   \
             algbw   busbw #wrong     time   algbw   busbw #wrong\n#        (B)    (elements)                               \
             (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n{}# Out of bounds values : 0 OK\n# Avg bus bandwidth    \
             : 1\n#\n",
            (0..8)
                .map(|rank| format!(
                    "#  Rank {rank:>2} Group  0 Pid  1{rank} on secret-a device {rank} [0000:00:00] GPU\n"
                ))
                .collect::<String>(),
            rows.collect::<String>(),
        );
        (name.to_owned(), text)
    };
    [
        log(22902, "new_all_reduce_1n_ring_ll_c8.log", [100.0, 200.0, 400.0]),
        log(22902, "new_all_reduce_1n_ring_ll128_c8.log", [50.0, 100.0, 200.0]),
        log(22606, "old_all_reduce_1n_ring_ll_c8.log", [40.0, 80.0, 160.0]),
        log(22606, "old_all_reduce_1n_ring_ll128_c8.log", [80.0, 160.0, 320.0]),
    ]
}

#[test]
fn sets_are_studied_one_at_a_time() {
    let logs = logs_of_two_builds();
    let files: Vec<(&str, &[u8])> = logs.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
    let mut page = Page::default();
    let loaded = page.load(&files);
    let labels: Vec<&str> = loaded.sets.all.iter().map(|set| set.label.as_str()).collect();
    assert_eq!(labels, ["NCCL 2.29.2", "NCCL 2.26.6"], "{:?}", loaded.files);
    assert!(loaded.notes[0].contains("NCCL 2.26.6 (3 rows of old_all_reduce_1n_ring_ll_c8.log"), "{:?}", loaded.notes);
    let winners = |loaded: &Loaded| {
        let one =
            |winner: &Recommendation| winner.measured_best.map(|best| (best.configuration.protocol, best.repeats));
        loaded.winners.iter().filter_map(one).collect::<Vec<_>>()
    };
    assert_eq!(winners(&loaded), [(Protocol::Ll128, 1); 3]);
    let other = page.load_set(&files, SetChoice::One(loaded.sets.all[1].key));
    assert_eq!((other.sets.label(), winners(&other)), (Some("NCCL 2.26.6"), vec![(Protocol::Ll, 1); 3]));
    let time_us =
        |loaded: &Loaded| loaded.winners[0].measured_best.map(|best| (1 << 20) as f64 * 1.75 / best.busbw_gbps / 1e3);
    let near = |a: Option<f64>, b: f64| a.is_some_and(|a| (a / b - 1.0).abs() < 0.01);
    assert!(near(time_us(&loaded), 50.0) && near(time_us(&other), 40.0), "no medians mix");
    // Each alone is as it always was.
    let alone = page.load(&files[2..]);
    assert_eq!((&alone.sets, &alone.winners), (&Default::default(), &other.winners));
    let pooled = page.load_set(&files, SetChoice::Pooled);
    assert_eq!(winners(&pooled).iter().map(|(_, repeats)| *repeats).collect::<Vec<_>>(), [2; 3]);
    assert_eq!(page.load_set(&files, SetChoice::One(7)).winners, loaded.winners, "an unknown set is the largest");
}

#[test]
fn a_tuner_file_says_what_it_was_measured_with() {
    let logs = logs_of_two_builds();
    let files: Vec<(&str, &[u8])> = logs.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
    let mut page = Page::default();
    page.load(&files);
    let export = |page: &mut Page| {
        let export = page.worker.studies.tuning.loaded.export(&ExportOptions::default()).unwrap();
        export.files[0].text.clone()
    };
    let text = export(&mut page);
    assert!(text.contains("# measured with: NCCL 2.29.2\n") && text.contains("new_all_reduce"), "{text}");
    assert!(!text.contains("old_all_reduce"), "{text}");
    page.load(&files[..2]);
    assert!(!export(&mut page).contains("measured with"));
}

#[test]
fn a_report_says_what_was_found_and_leaves_out_what_is_not_wanted() {
    let mut page = Page::default();
    assert!(page.ask(Request::Report(Contents::whole())).is_err(), "nothing was loaded");
    let csv = Simulation::example().to_csv();
    page.load(&[("sweep.csv", csv.as_bytes())]);
    let parameters = Parameters { trees: 20, ..Parameters::default() };
    let trained = page.train(&parameters).unwrap();
    page.validate(&trained, &parameters).unwrap();
    let mut report = |contents: Contents| match page.ask(Request::Report(contents)).unwrap() {
        Response::Report(report) => *report,
        other => panic!("{other:?}"),
    };
    let whole = report(Contents::whole());
    assert_eq!(whole.files[0].name.as_deref(), Some("sweep.csv"));
    assert_eq!(whole.parameters[1].value, parameters.seed.to_string());
    let rows: usize = whole.sections.iter().flat_map(|section| &section.tables).map(|t| t.listing.rows.len()).sum();
    assert!(rows >= trained.answer.len(), "a row for each workload");
    assert!(whole.sections.iter().any(|section| !section.charts.is_empty()));
    assert!(whole.sections.iter().any(|section| !section.files.is_empty()));
    let bare = report(Contents { file_names: false, charts: false, deployables: false, ..Contents::whole() });
    assert_eq!(bare.files[0].name, None);
    assert!(!format!("{bare:?}").contains("sweep.csv"), "a name that stays behind stands nowhere");
    assert!(bare.sections.iter().all(|section| section.charts.is_empty() && section.files.is_empty()));
}
