//! `collectune tune` against a cluster that isn't there: `collectune` starts a launcher that is a script, which starts
//! a program that answers from a sweep, as nccl-tests and the library would have.

#![allow(clippy::unwrap_used)]

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{self, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use collectune::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale},
    intake::files::{FileToLoad, read_files},
    launch::Sizes,
    math::Stream,
    progress::Silent,
    tuning::{
        campaign::{
            Job,
            journal::{Journal, JournalEntry, LaunchOutcome, Phase, Requested},
            play::{PlayedLaunch, Player},
        },
        conf::{Reader, read},
        platform::{Library, Platform},
        simulate::Simulation,
    },
};
use tempfile::TempDir;

use crate::support::terminal::{collectune, ended, text, write};

const SCALE: Scale = Scale { nodes: 2, ranks: 16 };

/// A sweep of one collective on two nodes: six algorithms and protocols on five counts of channels.
fn sweep() -> String {
    Simulation {
        collectives: vec![Collective::AllReduce],
        nodes: vec![2],
        sizes: (12..=26).step_by(2).map(|log2| 1 << log2).collect(),
        channels: vec![1, 4, 8, 16, 32],
        repeats: 3,
        seed: 5,
    }
    .to_csv()
}

fn player(csv: &[u8], seed: u64) -> Player {
    let name = FileToLoad { id: 0, name: "sweep.csv".to_owned(), mapping: None };
    let opened = read_files(&[name], vec![csv.to_vec().into()], &mut Silent);
    Player::new(&opened.rows, Platform::from(Library::Rccl), seed)
}

/// The program of nccl-tests, as a test that only the scripts below run: what it does stands in its environment.
#[test]
#[ignore = "it is a program: the scripts of the other tests start it"]
fn fake_all_reduce_perf() {
    let var = |name: &str| env::var(name).ok();
    let Some(arguments) = var("FAKE_ARGUMENTS") else { return };
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    let option = |name: &str| arguments.windows(2).find(|pair| pair[0] == name).map(|pair| pair[1].to_owned());
    let (first, last) = (option("-b").unwrap().parse().unwrap(), option("-e").unwrap().parse().unwrap());
    assert_eq!((option("-f").as_deref(), option("-g").as_deref()), (Some("2"), Some("1")));
    let debug = var("NCCL_DEBUG_FILE").unwrap();
    assert_eq!(var("NCCL_DEBUG").as_deref(), Some("INFO"));
    let number: u32 =
        Path::new(&debug).file_name().unwrap().to_str().unwrap().split('.').next().unwrap().parse().unwrap();
    let conf = var("NCCL_TUNER_CONFIG_FILE").map(|path| fs::read(path).unwrap());
    let rules = conf.as_deref().map(|conf| read(conf, Reader::Rccl));
    let requested = match (var("NCCL_ALGO"), &rules) {
        (_, Some(_)) => Requested::TunerFile,
        (None, None) => Requested::Default,
        (Some(algorithm), None) => Requested::Configuration(Configuration {
            algorithm: Algorithm::parse(&algorithm).unwrap(),
            protocol: Protocol::parse(&var("NCCL_PROTO").unwrap()).unwrap(),
            channels: var("NCCL_MIN_NCHANNELS").unwrap().parse().unwrap(),
        }),
    };
    assert_eq!(var("NCCL_MIN_NCHANNELS"), var("NCCL_MAX_NCHANNELS"));
    let is = |name: &str| var(name).is_some_and(|what| what == requested.to_string());
    if is("FAKE_HANG") {
        // A child that would go on alone if only its parent were ended.
        let pid = Command::new("sleep").arg("300").spawn().unwrap().id();
        fs::write(var("FAKE_NOTE").unwrap(), pid.to_string()).unwrap();
        thread::sleep(Duration::from_secs(300));
    }
    if is("FAKE_NO_TABLE") {
        println!("all_reduce_perf: unknown option");
        process::exit(0);
    }
    let player = player(&fs::read(var("FAKE_SWEEP").unwrap()).unwrap(), 42);
    // What is asked for and silently replaced by something else.
    let runs = if is("FAKE_SUBSTITUTED") {
        Requested::Configuration(Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Simple, channels: 8 })
    } else {
        requested
    };
    let job = Job { collective: Collective::AllReduce, scale: SCALE };
    let sizes = Sizes { first, last };
    let rules = rules.as_deref().map(|rules| (rules, Reader::Rccl));
    let played = player.play(&PlayedLaunch { number, job, sizes, requested: runs, rules }).unwrap();
    let file = debug.replace("%h", "node0").replace("%p", &process::id().to_string());
    let init = "node0:1000:1000 [0] NCCL INFO RCCL version : 2.30.4-HEAD:abc\n";
    let tuner = |path: String| {
        let path = if var("FAKE_OTHER_FILE").is_some() {
            "/opt/rocm/share/rccl/tuner/rccl_tuner.csv".to_owned()
        } else {
            path
        };
        format!("node0:1000:1000 [0] NCCL INFO Using built-in CSV tuner, config: {path}\n")
    };
    let tuner = var("NCCL_TUNER_CONFIG_FILE").map(tuner).unwrap_or_default();
    let decisions = if var("NCCL_DEBUG_SUBSYS").unwrap().contains("TUNING") { &played.debug } else { "" };
    if var("FAKE_NO_DEBUG").is_none() {
        fs::write(file, format!("{init}{tuner}{decisions}")).unwrap();
    }
    let is_with_rules = rules.is_some_and(|(rules, _)| !rules.is_empty());
    if is("FAKE_CRASH") || (is_with_rules && var("FAKE_CRASH_WITH_RULES").is_some()) {
        println!("{}", played.output.lines().take(30).collect::<Vec<_>>().join("\n"));
        println!("node1: Test CUDA failure all_reduce.cu:44 'out of memory'");
        process::exit(3);
    }
    let mut output = played.output;
    if var("FAKE_WIDER").is_some() {
        // Twice the size in the same time: of columns, those of the size, the elements and the bandwidths.
        let twice = |(column, cell): (usize, &str)| match column {
            0 | 1 => (2 * cell.parse::<u64>().unwrap()).to_string(),
            6 | 7 | 10 | 11 => format!("{:.4}", 2.0 * cell.parse::<f64>().unwrap()),
            _ => cell.to_owned(),
        };
        let wider = |line: &str| match line.trim_start().starts_with("67108864 ") {
            true => line.split_whitespace().enumerate().map(twice).collect::<Vec<_>>().join(" "),
            false => line.to_owned(),
        };
        output = output.lines().map(wider).collect::<Vec<_>>().join("\n");
    }
    if var("FAKE_ONE_RANK").is_some() {
        let is_of_others = |line: &&str| line.starts_with("#  Rank") && !line.starts_with("#  Rank  0");
        output = output.lines().filter(|line| !is_of_others(line)).collect::<Vec<_>>().join("\n");
    }
    if var("FAKE_OTHER_COUNT").is_some() {
        // A table of another type than the one that it names: no row of it can be used.
        output = output.replace(" float ", " mystery ");
    }
    if var("FAKE_ENDS_EARLY").is_some() {
        // It dies after the first size, and says nothing of it.
        let mut rows = 0;
        let is_row = |line: &str| line.contains(" float ") && !line.starts_with('#');
        let stays = |line: &&str| {
            rows += usize::from(is_row(line));
            rows <= 1
        };
        output = output.lines().take_while(stays).collect::<Vec<_>>().join("\n");
    }
    if is("FAKE_WRONG") {
        output = output.replace("      0 ", "      3 ").replace("      0\n", "      3\n");
    }
    if is("FAKE_STALL") && !Path::new(&var("FAKE_NOTE").unwrap()).exists() {
        fs::write(var("FAKE_NOTE").unwrap(), "").unwrap();
        output =
            slower(&output, |size_bytes, is_in_place| if size_bytes == 1 << 20 && is_in_place { 12.0 } else { 1.0 });
    }
    if var("FAKE_DRIFT").is_some() {
        // The machine gets warm: the fortieth launch takes 1.4 times as long as the first.
        output = slower(&output, |_, _| 1.0 + 0.01 * f64::from(number));
    }
    println!("{output}");
    process::exit(0);
}

/// A table of nccl-tests whose times are multiplied by what `factor` says of a size and of in place.
fn slower(output: &str, factor: impl Fn(u64, bool) -> f64) -> String {
    let line = |line: &str| {
        let mut cells: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let Some(size_bytes) = cells.first().and_then(|cell| cell.parse().ok()) else { return line.to_owned() };
        // size, count, type, redop and root; time, algbw, busbw and errors out of place, and again in place.
        for (at, is_in_place) in [(5, false), (9, true)] {
            let factor = factor(size_bytes, is_in_place);
            let of = |cell: &String, factor: f64| format!("{:.2}", cell.parse::<f64>().unwrap() * factor);
            cells[at] = of(&cells[at], factor);
            cells[at + 1] = of(&cells[at + 1], 1.0 / factor);
            cells[at + 2] = of(&cells[at + 2], 1.0 / factor);
        }
        cells.join("  ")
    };
    output.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// A folder with the fake programs, and where its campaigns are kept.
struct FakeCluster {
    folder: TempDir,
}

impl FakeCluster {
    /// `faults` are variables that say which requests go wrong.
    fn new(faults: &[(&str, &str)]) -> Self {
        let cluster = Self { folder: TempDir::new().unwrap() };
        cluster.fails(faults);
        // A launcher that says things of its own.
        cluster.script(
            "launcher",
            "#!/bin/sh\nshift\necho '  size  rank  host'\necho '  16  0  secret-host'\nexec \"$@\"\n",
        );
        cluster
    }

    /// From here on these requests go wrong, and no others.
    fn fails(&self, faults: &[(&str, &str)]) {
        let folder = &self.folder;
        let sweep = write(folder, "measured.csv", sweep());
        let faults: String = faults.iter().map(|(name, value)| format!("export {name}='{value}'\n")).collect();
        let program = format!(
            "#!/bin/sh\n{faults}export FAKE_NOTE='{}'\nexport FAKE_SWEEP='{sweep}'\nexport FAKE_ARGUMENTS=\"$*\"\n\
             exec '{}' --exact tune::fake_all_reduce_perf --ignored --nocapture\n",
            folder.path().join("note").display(),
            env::current_exe().unwrap().display()
        );
        self.script("all_reduce_perf", &program);
    }

    fn script(&self, name: &str, content: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = write(&self.folder, name, content);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn arguments(&self, campaign: &str, more: &[&str]) -> Vec<String> {
        let launcher = format!("{} {{ranks}} {{env}} {{program}} {{arguments}}", self.path("launcher").display());
        let mut arguments: Vec<String> =
            ["tune", "--launcher", &launcher, "--tests", &self.folder.path().display().to_string()]
                .map(str::to_owned)
                .to_vec();
        // Campaigns of one test lie beside each other, and don't tell each other what to expect.
        let rest = "--collective all_reduce --nodes 2 --ranks 16 --sizes 4K..64M --channels 1,4,8,16,32 --gpu gfx942 \
                    --without-prior -o";
        arguments.extend(rest.split(' ').map(str::to_owned));
        arguments.push(self.path(campaign).display().to_string());
        arguments.extend(more.iter().map(|word| (*word).to_owned()));
        arguments
    }

    fn tune(&self, campaign: &str, more: &[&str]) -> Output {
        let arguments = self.arguments(campaign, more);
        collectune(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn entries(&self, campaign: &str) -> Vec<JournalEntry> {
        let text = fs::read_to_string(self.path(campaign).join("journal.jsonl")).unwrap();
        Journal::parse(&text).unwrap().entries
    }
}

/// What a journal says, but for the clock.
fn timeless(mut entries: Vec<JournalEntry>) -> Vec<JournalEntry> {
    entries.iter_mut().for_each(|entry| (entry.began_s, entry.seconds) = (0, 0.0));
    entries
}

#[test]
fn a_campaign_ends_with_a_file_that_an_ab_has_confirmed() {
    let cluster = FakeCluster::new(&[]);
    let said = cluster.tune("campaign", &["--ab-repeats", "3"]);
    let out = ended(&said, 0);
    assert!(out.contains("tuned.conf: ") && out.contains("confirmed by the A/B"), "{out}");
    let entries = cluster.entries("campaign");
    let of = |phase: Phase| entries.iter().filter(|entry| entry.phase == phase).count();
    assert_eq!((of(Phase::WarmUp), of(Phase::Ab)), (2, 9));
    assert!(entries.iter().all(|entry| entry.outcome == LaunchOutcome::Measured));
    // The grid has 30 launches.
    assert!((8..30).contains(&of(Phase::Search)), "{}", of(Phase::Search));
    // What is deployed was measured three times, and so was the default.
    let mut measured: BTreeMap<Requested, u32> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| matches!(entry.phase, Phase::Search | Phase::Confirm)) {
        *measured.entry(entry.requested).or_default() += 1;
    }
    assert!(measured[&Requested::Default] >= 3);
    let conf = fs::read(cluster.path("campaign/tuned.conf")).unwrap();
    let rules = read(&conf, Reader::Rccl);
    assert!(!rules.is_empty());
    for rule in rules.iter().filter(|rule| rule.algorithm.is_some()) {
        let configuration = Configuration {
            algorithm: rule.algorithm.unwrap(),
            protocol: rule.protocol.unwrap(),
            channels: rule.channels as u32,
        };
        assert!(measured[&Requested::Configuration(configuration)] >= 3, "{configuration}: {measured:?}");
    }
    // The report is there and names neither hosts nor folders.
    let report = fs::read_to_string(cluster.path("campaign/report.html")).unwrap();
    let folder = cluster.folder.path().display().to_string();
    assert!(report.contains("all_reduce") && !report.contains("secret-host") && !report.contains(&folder));
    assert!(report.contains("Search history") && report.contains("Gain of the fastest so far over launches"));
    // What ran was read from the debug files, and the page reads the same logs.
    let logs = cluster.path("campaign/logs").display().to_string();
    let predicted = ended(
        &collectune(&["tuning", "predict", &logs, "--collective", "all_reduce", "--nodes", "2", "--ranks", "16"]),
        0,
    );
    assert!(predicted.contains("4 KiB"), "{predicted}");
    assert!(
        !cluster.path("campaign/debug").exists()
            || fs::read_dir(cluster.path("campaign/debug")).unwrap().next().is_none()
    );
    // The whole folder is read: its A/B is judged, and journal and settings are known.
    let whole = collectune(&["tuning", "ab", &cluster.path("campaign").display().to_string()]);
    let said = text(&whole.stderr);
    assert!(said.contains("it holds journal of a campaign") && !said.contains("campaign.json is JSON"), "{said}");
    assert!(text(&whole.stdout).contains("keep"), "{}", text(&whole.stdout));
    // No arm of the A/B pays for lines about each call.
    let ab = cluster.path("campaign/ab/all_reduce_2n_16ranks");
    let logs: Vec<_> =
        fs::read_dir(ab).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
    assert!(logs.len() == 9 && logs.iter().all(|log| !log.contains(" Bytes -> ")));
    // It is not begun twice.
    let again = cluster.tune("campaign", &[]);
    assert!(text(&again.stderr).contains("holds a campaign already: go on with it by collectune tune --resume"));
    // A campaign that is done stays done.
    let resumed = collectune(&["tune", "--resume", &cluster.path("campaign").display().to_string()]);
    ended(&resumed, 0);
    assert_eq!(cluster.entries("campaign").len(), entries.len());
}

#[test]
fn a_campaign_that_is_killed_at_any_moment_goes_on_with_the_same_result() {
    let cluster = FakeCluster::new(&[]);
    let more = ["--without-ab", "--launches", "24"];
    ended(&cluster.tune("whole", &more), 0);
    let whole = timeless(cluster.entries("whole"));
    assert!(whole.len() > 15, "{}", whole.len());
    let mut stream = Stream::new(3);
    let program = env!("CARGO_BIN_EXE_collectune");
    let mut kills = 0;
    let mut arguments = cluster.arguments("cut", &more);
    for _ in 0..10 {
        let mut child =
            Command::new(program).args(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let wait = Duration::from_millis(50 + stream.below(900) as u64);
        let began = Instant::now();
        while began.elapsed() < wait && child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_millis(5));
        }
        kills += usize::from(child.try_wait().unwrap().is_none());
        let _ = child.kill();
        child.wait().unwrap();
        if cluster.path("cut/campaign.json").is_file() {
            arguments = vec!["tune".to_owned(), "--resume".to_owned(), cluster.path("cut").display().to_string()];
        } else {
            let _ = fs::remove_dir_all(cluster.path("cut"));
        }
    }
    assert!(kills >= 5, "{kills}");
    // A line that was being written when the machine died.
    let journal = cluster.path("cut/journal.jsonl");
    let torn = fs::read_to_string(&journal).unwrap() + "{\"launch\":9,\"pha";
    fs::write(&journal, torn).unwrap();
    ended(&collectune(&["tune", "--resume", &cluster.path("cut").display().to_string()]), 0);
    let cut = timeless(cluster.entries("cut"));
    let first = cut.iter().zip(&whole).find(|(cut, whole)| cut != whole);
    assert!(first.is_none() && cut.len() == whole.len(), "{first:?}");
    let conf = |name: &str| fs::read_to_string(cluster.path(name).join("tuned.conf")).ok();
    assert_eq!(conf("cut"), conf("whole"));
}

#[test]
fn what_crashes_hangs_or_is_replaced_is_recorded_and_not_tried_again() {
    let ring = |protocol, channels| Configuration { algorithm: Algorithm::Ring, protocol, channels };
    let tree = Configuration { algorithm: Algorithm::Tree, protocol: Protocol::Ll, channels: 32 };
    let wrong = Configuration { algorithm: Algorithm::Tree, protocol: Protocol::Simple, channels: 32 };
    let cluster = FakeCluster::new(&[
        ("FAKE_CRASH", &ring(Protocol::Simple, 32).to_string()),
        ("FAKE_HANG", &ring(Protocol::Ll128, 32).to_string()),
        ("FAKE_NO_TABLE", &ring(Protocol::Ll, 32).to_string()),
        ("FAKE_SUBSTITUTED", &tree.to_string()),
        ("FAKE_WRONG", &wrong.to_string()),
    ]);
    ended(&cluster.tune("campaign", &["--without-ab", "--launches", "45", "--time-limit", "4s"]), 0);
    let entries = cluster.entries("campaign");
    let of = |configuration| {
        let mut found = entries.iter().filter(|entry| entry.requested == Requested::Configuration(configuration));
        let entry = found.next().unwrap();
        assert!(found.next().is_none(), "{configuration} is tried once");
        entry
    };
    let crashed = of(ring(Protocol::Simple, 32)).outcome.failure().unwrap();
    assert!(crashed.contains("exit status: 3") && crashed.contains("out of memory"), "{crashed}");
    assert_eq!(of(ring(Protocol::Ll128, 32)).outcome, LaunchOutcome::TimedOut(4.0));
    let no_table = of(ring(Protocol::Ll, 32)).outcome.failure().unwrap();
    assert!(no_table.contains("no table of nccl-tests") && no_table.contains("unknown option"), "{no_table}");
    assert_eq!(of(tree).outcome, LaunchOutcome::Measured);
    let wrong = of(wrong).outcome.failure().unwrap();
    assert!(wrong.contains("of its table has wrong values (#wrong)"), "{wrong}");
    // The child of what hung was ended with it.
    let pid = fs::read_to_string(cluster.path("note")).unwrap();
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "{state}");
    // What ran instead is what was measured.
    let logs = cluster.path("campaign/logs").display().to_string();
    let table = ended(
        &collectune(&["tuning", "chart", &logs, "--collective", "all_reduce", "--nodes", "2", "--ranks", "16"]),
        0,
    );
    assert!(table.contains("TREE/LL128/32") && !table.contains("TREE/LL/32"), "{table}");
    let failed: Vec<String> =
        entries.iter().map(|entry| entry.log.clone()).filter(|log| log.starts_with(".failed/")).collect();
    assert_eq!(failed.len(), 4);
    // The report says that they failed; why may quote a line of a log, and stays in the journal.
    let report = fs::read_to_string(cluster.path("campaign/report.html")).unwrap();
    assert!(report.contains("of which 4 left no measurements") && report.contains("No measurements"));
    let reasons = entries.iter().filter_map(|entry| match &entry.outcome {
        LaunchOutcome::Failed(why) => Some(why),
        _ => None,
    });
    for why in reasons {
        assert!(!report.contains(why.as_str()), "{why}");
    }
    assert!(failed.iter().all(|log| cluster.path("campaign").join(log).is_file()));
}

#[test]
fn a_file_that_was_not_seen_to_work_is_not_deployed() {
    let cluster = FakeCluster::new(&[("FAKE_CRASH_WITH_RULES", "1")]);
    let campaign = cluster.path("c").display().to_string();
    let resume = || collectune(&["tune", "--resume", &campaign]);
    let why = "nothing is deployed that was not seen to work";
    let said = cluster.tune("c", &["--launches", "40", "--ab-repeats", "3"]);
    for said in [said, resume(), resume()] {
        ended(&said, 1);
        assert!(text(&said.stderr).contains(why), "{}", text(&said.stderr));
    }
    let failed = cluster.entries("c").into_iter().filter(|entry| entry.outcome.failure().is_some()).count();
    assert_eq!((failed, cluster.path("c/tuned.conf").exists()), (2, false));
}

#[test]
fn an_ab_that_the_budget_cuts_short_confirms_nothing() {
    let cluster = FakeCluster::new(&[("FAKE_CRASH_WITH_RULES", "1")]);
    let campaign = cluster.path("c").display().to_string();
    ended(&cluster.tune("c", &["--launches", "40", "--ab-repeats", "3"]), 1);
    // From here on the file works, and the budget ends with what was launched.
    cluster.fails(&[]);
    let settings = cluster.path("c/campaign.json");
    let made = cluster.entries("c").len();
    let spent = fs::read_to_string(&settings).unwrap().replace("\"launches\": 40", &format!("\"launches\": {made}"));
    fs::write(&settings, spent).unwrap();
    let said = collectune(&["tune", "--resume", &campaign]);
    let out = ended(&said, 0);
    let why = "Deploy no tuner file: the budget ended before the A/B could confirm a rule of candidate.conf";
    assert!(out.contains(why) && !out.contains("tuned.conf"), "{out}");
    assert!(!cluster.path("c/tuned.conf").exists() && cluster.path("c/candidate.conf").exists());
}

#[test]
fn a_table_of_other_ranks_or_without_a_row_is_no_measurement() {
    for (fault, why) in [
        ("FAKE_ONE_RANK", "its table is of 1 rank, and 16 were launched: are the programs built with MPI (MPI=1)?"),
        ("FAKE_OTHER_COUNT", "no row of its table can be used: "),
        ("FAKE_ENDS_EARLY", "its table ends at 4 KiB, and sizes up to 64 MiB were asked for"),
    ] {
        let cluster = FakeCluster::new(&[(fault, "1")]);
        let said = cluster.tune("c", &["--launches", "40", "--ab-repeats", "3"]);
        ended(&said, 1);
        let said = text(&said.stderr);
        assert!(said.contains("the first launches must work") && said.contains(why), "{said}");
    }
}

#[test]
fn a_budget_that_is_too_small_is_said_before_anything_is_spent() {
    let cluster = FakeCluster::new(&[]);
    let said = cluster.tune("c", &["--launches", "12", "--ab-repeats", "3"]);
    ended(&said, 1);
    let said = text(&said.stderr);
    assert!(said.contains("--launches 12 is too few") && said.contains("--without-ab"), "{said}");
    assert!(!cluster.path("c").exists());
}

#[test]
fn a_time_in_which_nothing_can_be_measured_is_said_before_anything_is_spent() {
    let cluster = FakeCluster::new(&[]);
    for more in [&["--budget", "1s"][..], &["--budget", "3s", "--without-ab"]] {
        let said = cluster.tune("c", more);
        ended(&said, 1);
        let said = text(&said.stderr);
        assert!(said.contains("s is too short for anything: a launch takes 1 s at least, and 4 are needed"), "{said}");
        assert!(!cluster.path("c").exists());
    }
    ended(&cluster.tune("c", &["--budget", "4s", "--without-ab", "--dry-run"]), 0);
}

#[test]
fn sizes_are_those_of_the_option_and_others_are_told() {
    let cluster = FakeCluster::new(&[]);
    for arguments in ["-e 1G", "-b8", "--maxbytes=1G", "-n 5 --minbytes 8", "-f 4", "--stepbytes 1M"] {
        let said = cluster.tune("c", &["--arguments", arguments]);
        ended(&said, 1);
        let said = text(&said.stderr);
        assert!(said.contains("chooses the sizes, which --sizes does"), "{said}");
        assert!(!cluster.path("c").exists());
    }
    let wider = FakeCluster::new(&[("FAKE_WIDER", "1")]);
    for (cluster, times) in [(&cluster, 0), (&wider, 1)] {
        let said = cluster.tune("d", &["--without-ab", "--launches", "8"]);
        let said = text(&said.stderr);
        let told = "the launches measure 4 KiB to 128 MiB, and 4 KiB to 64 MiB were asked for (--sizes)";
        assert_eq!(said.matches(told).count(), times, "{said}");
    }
}

#[test]
fn a_launch_that_stalls_is_made_again_and_costs_nothing() {
    let stalling = Configuration { algorithm: Algorithm::Tree, protocol: Protocol::Ll128, channels: 32 };
    let calm = FakeCluster::new(&[]);
    let cluster = FakeCluster::new(&[("FAKE_STALL", &stalling.to_string())]);
    let more = ["--without-ab", "--launches", "40"];
    for cluster in [&calm, &cluster] {
        ended(&cluster.tune("campaign", &more), 0);
    }
    let entries = cluster.entries("campaign");
    let of_it: Vec<&JournalEntry> =
        entries.iter().filter(|entry| entry.requested == Requested::Configuration(stalling)).collect();
    assert!(of_it[1].phase == Phase::Search && of_it[1].why.starts_with("Its launch stalled at 1 MiB"), "{of_it:?}");
    // At 1 MiB the same is deployed as without the stall.
    let deployed = |cluster: &FakeCluster| {
        let rules = read(&fs::read(cluster.path("campaign/tuned.conf")).unwrap(), Reader::Rccl);
        let rule = rules.iter().find(|rule| (rule.min_bytes..=rule.max_bytes).contains(&(1 << 20))).copied();
        rule.map(|rule| (rule.algorithm, rule.protocol, rule.channels))
    };
    assert_eq!(deployed(&cluster), deployed(&calm));
}

#[test]
fn a_drift_of_the_machine_is_taken_out() {
    let cluster = FakeCluster::new(&[("FAKE_DRIFT", "1")]);
    let said = cluster.tune("campaign", &["--without-ab"]);
    ended(&said, 0);
    let said = text(&said.stderr);
    assert!(said.contains("all_reduce on 2 nodes, 16 ranks: the default drifted by "), "{said}");
    // The default of the last launches is a third slower than that of the first, which no rule may be due to: what is
    // deployed is faster than the default in the sweep behind the launches.
    let player = player(sweep().as_bytes(), 42);
    let rules = read(&fs::read(cluster.path("campaign/tuned.conf")).unwrap(), Reader::Rccl);
    let time_us = |requested: Requested, size_bytes: u64| {
        let job = Job { collective: Collective::AllReduce, scale: SCALE };
        let sizes = Sizes { first: size_bytes, last: size_bytes };
        let times = (0..9).map(|number| {
            let played = player.play(&PlayedLaunch { number, job, sizes, requested, rules: None }).unwrap();
            let row =
                played.output.lines().find(|line| line.trim_start().starts_with(&format!("{size_bytes} "))).unwrap();
            row.split_whitespace().nth(9).unwrap().parse::<f64>().unwrap()
        });
        let mut times: Vec<f64> = times.collect();
        times.sort_by(f64::total_cmp);
        times[4]
    };
    let mut checked = 0;
    for rule in rules.iter().filter(|rule| rule.is_about(SCALE)) {
        let (Some(algorithm), Some(protocol)) = (rule.algorithm, rule.protocol) else { continue };
        let configuration = Configuration { algorithm, protocol, channels: rule.channels as u32 };
        for size_bytes in (12..=26).step_by(2).map(|log2| 1_u64 << log2) {
            if (rule.min_bytes..=rule.max_bytes).contains(&size_bytes) {
                let (own, default) = (
                    time_us(Requested::Configuration(configuration), size_bytes),
                    time_us(Requested::Default, size_bytes),
                );
                assert!(own <= default * 1.01, "{configuration} at {size_bytes}: {own} us, the default {default} us");
                checked += 1;
            }
        }
    }
    assert!(checked > 0);
}

#[test]
fn busy_gpus_are_said_before_the_first_launch() {
    let cluster = FakeCluster::new(&[]);
    cluster
        .script("rocm-smi", "#!/bin/sh\necho 'device,GPU use (%),VRAM Total Used Memory (B)'\necho 'card0,93,1024'\n");
    let path = format!("{}:{}", cluster.folder.path().display(), env::var("PATH").unwrap());
    let arguments = cluster.arguments("campaign", &["--without-ab", "--launches", "3"]);
    let said = Command::new(env!("CARGO_BIN_EXE_collectune")).args(arguments).env("PATH", path).output().unwrap();
    let said = text(&said.stderr);
    assert!(said.contains("something else runs on the GPUs: up to 93 % busy"), "{said}");
    // Without the vendor's tool it is said that nothing was looked at.
    let said = text(&cluster.tune("other", &["--without-ab", "--launches", "3"]).stderr);
    assert!(said.contains("other jobs on them were not seen: rocm-smi"), "{said}");
}

#[test]
fn two_collectives_share_the_budget_and_the_journal_says_what_each_launch_brought() {
    let folder = TempDir::new().unwrap();
    let both = Simulation {
        collectives: vec![Collective::AllReduce, Collective::AllGather],
        nodes: vec![2],
        sizes: (12..=26).step_by(2).map(|log2| 1 << log2).collect(),
        channels: vec![1, 4, 8, 16, 32],
        repeats: 3,
        seed: 5,
    };
    let sweep = write(&folder, "sweep.csv", both.to_csv());
    let campaign = folder.path().join("campaign").display().to_string();
    let arguments =
        ["tune", "--simulate", &sweep, "--collective", "all_reduce,all_gather", "--nodes", "2", "--ranks", "16"];
    let said = collectune(&[&arguments[..], &["--without-ab", "--launches", "60", "-o", &campaign]].concat());
    let out = ended(&said, 0);
    assert!(out.contains("Fastest, as measured") && out.contains("all_gather on 2"), "{out}");
    let journal = fs::read_to_string(Path::new(&campaign).join("journal.jsonl")).unwrap();
    let entries = Journal::parse(&journal).unwrap().entries;
    assert!(entries.len() <= 60);
    let searched = |collective: Collective| {
        entries.iter().filter(|entry| entry.job.collective == collective && entry.phase == Phase::Search).count()
    };
    assert!(searched(Collective::AllReduce) > 5 && searched(Collective::AllGather) > 5);
    // Once the first launches are made, the next is always that of which more is expected, whatever its collective.
    let by_gain: Vec<&JournalEntry> =
        entries.iter().filter(|entry| entry.phase == Phase::Search && entry.expected_pct.is_some()).collect();
    let changes = by_gain.windows(2).filter(|pair| pair[0].job != pair[1].job).count();
    assert!(changes >= 2, "{changes}");
    for entry in &entries {
        let counts = matches!(entry.phase, Phase::Search | Phase::Confirm) && entry.outcome == LaunchOutcome::Measured;
        assert_eq!(entry.brought.is_some(), counts, "{entry:?}");
    }
    let gain = |collective| {
        let of = entries.iter().filter(|entry| entry.job.collective == collective);
        of.filter_map(|entry| entry.brought?.mean_gain_pct).next_back().unwrap()
    };
    assert!(gain(Collective::AllReduce) > 5.0 && gain(Collective::AllGather) > 5.0);
    let rules = read(&fs::read(Path::new(&campaign).join("tuned.conf")).unwrap(), Reader::Rccl);
    assert!([Collective::AllReduce, Collective::AllGather].iter().all(|of| rules.iter().any(|r| r.collective == *of)));
}

#[test]
fn what_can_not_work_is_said_before_anything_is_spent() {
    let cluster = FakeCluster::new(&[]);
    let error = |arguments: &[&str]| {
        let said = collectune(arguments);
        assert_ne!(said.status.code(), Some(0));
        text(&said.stderr)
    };
    let tests = cluster.folder.path().display().to_string();
    let at = cluster.path("other").display().to_string();
    let scale = ["--nodes", "2", "--ranks", "16", "-o", &at];
    let with = |words: &[&str]| error(&[&["tune"], words, &scale[..]].concat());
    let launcher = "env {env} {program} {arguments}";
    let missing = with(&["--launcher", launcher, "--tests", &tests, "--collective", "all_gather"]);
    assert!(missing.contains("there is no program") && missing.contains("all_gather_perf"), "{missing}");
    let none = with(&[
        "--launcher",
        "no-such-launcher {env} {program} {arguments}",
        "--tests",
        &tests,
        "--collective",
        "all_reduce",
    ]);
    assert!(none.contains("there is no program no-such-launcher"), "{none}");
    let unknown = with(&[
        "--launcher",
        "env {host} {env} {program} {arguments}",
        "--tests",
        &tests,
        "--collective",
        "all_reduce",
    ]);
    assert!(unknown.contains("{host} is no placeholder"), "{unknown}");
    let p2p = with(&["--launcher", launcher, "--tests", &tests, "--collective", "sendrecv"]);
    assert!(p2p.contains("no tuner is asked about it"), "{p2p}");
    let valid = ["--tests", &tests, "--collective", "all_reduce"];
    let local = with(&[&["--launcher", "local"], &valid[..]].concat());
    assert!(local.contains("--launcher local starts one process") && local.contains("--nodes has 2"), "{local}");
    for (words, expected) in [
        (["--library", "nccl", "--gpu", "gfx950"], "--gpu gfx950 runs RCCL, and --library says NCCL"),
        (["--library", "rccl", "--gpu", "h100"], "--gpu sm_90 runs NCCL, and --library says RCCL"),
        (["--library", "nccl", "--reader", "rccl"], "is a part of another library than NCCL"),
    ] {
        let refused = with(&[&["--launcher", launcher], &valid[..], &words[..]].concat());
        assert!(refused.contains(expected), "{refused}");
    }
    assert!(!cluster.path("other").exists());
    let one_node = ["--nodes", "1", "--ranks", "8", "--arguments", "-g 4", "--dry-run"];
    let dry = collectune(&[&["tune", "--launcher", "local"], &valid[..], &one_node].concat());
    ended(&dry, 0);
    assert!(text(&dry.stderr).contains("--arguments: -g is not used"), "{}", text(&dry.stderr));
    // The first launch fails: it is said, with the place of its output, and nothing else is launched.
    let broken = FakeCluster::new(&[("FAKE_CRASH", "default")]);
    let said = text(&broken.tune("campaign", &[]).stderr);
    assert!(said.contains("the first launches must work") && said.contains("exit status: 3"), "{said}");
    assert_eq!(broken.entries("campaign").len(), 1);
    let silent = FakeCluster::new(&[("FAKE_NO_DEBUG", "1")]);
    let said = text(&silent.tune("campaign", &[]).stderr);
    assert!(said.contains("the library wrote no debug file"), "{said}");
    let other = FakeCluster::new(&[("FAKE_OTHER_FILE", "1")]);
    let said = text(&other.tune("campaign", &["--launches", "40"]).stderr);
    assert!(said.contains("no line of the library says that a tuner read the file"), "{said}");
    assert!(!other.path("campaign/tuned.conf").exists());
    // Folders that are none of a campaign, or of another version.
    let resume = |path: &Path| error(&["tune", "--resume", &path.display().to_string()]);
    assert!(resume(&cluster.path("nothing")).contains("holds no campaign"));
    fs::write(broken.path("campaign/journal.jsonl"), "{\"launch\":1}\n").unwrap();
    assert!(resume(&broken.path("campaign")).contains("journal.jsonl, line 1"));
    // A launch twice: no line is missing.
    let first = other.entries("campaign")[0].clone();
    let line = |launch: u32| Journal::line(&JournalEntry { launch, ..first.clone() });
    fs::write(other.path("campaign/journal.jsonl"), line(1) + &line(1) + &line(2)).unwrap();
    let twice = resume(&other.path("campaign"));
    assert!(
        twice.contains("line 2: launch 1 follows launch 1, where 2 was expected; remove one of the two"),
        "{twice}"
    );
    fs::write(other.path("campaign/journal.jsonl"), line(1) + &line(3)).unwrap();
    assert!(resume(&other.path("campaign")).contains("restore the line that is missing"));
    let settings = fs::read_to_string(silent.path("campaign/campaign.json")).unwrap();
    fs::write(
        silent.path("campaign/campaign.json"),
        settings.replace("\"collectune_campaign\": 1", "\"collectune_campaign\": 9"),
    )
    .unwrap();
    assert!(resume(&silent.path("campaign")).contains("has format 9"));
    // A file in the place of the folder: no campaign was begun.
    fs::write(cluster.path("file"), "").unwrap();
    let file = text(&cluster.tune("file", &[]).stderr);
    assert!(file.contains("file is a file: give -o the name of a folder") && !file.contains("goes on"), "{file}");
    let below = text(&cluster.tune("file/below", &[]).stderr);
    assert!(below.contains("no campaign was begun") && !below.contains("goes on"), "{below}");
    fs::create_dir(cluster.path("full")).unwrap();
    fs::write(cluster.path("full/x"), "").unwrap();
    assert!(text(&cluster.tune("full", &[]).stderr).contains("is not empty and holds no campaign"));
}

#[test]
fn a_simulated_campaign_finds_the_winners_of_its_sweep() {
    let folder = TempDir::new().unwrap();
    let sweep = write(&folder, "sweep.csv", sweep());
    let campaign = folder.path().join("campaign").display().to_string();
    let arguments = ["tune", "--simulate", &sweep, "--collective", "all_reduce", "--nodes", "2", "--ranks", "16"];
    let preview = ended(&collectune(&[&arguments[..], &["--dry-run"]].concat()), 0);
    assert!(preview.contains("2 × the default, to warm the clocks") && preview.contains("TREE/LL128/32"), "{preview}");
    let out = ended(&collectune(&[&arguments[..], &["-o", &campaign]].concat()), 0);
    assert!(out.contains("confirmed by the A/B"), "{out}");
    let conf = fs::read(Path::new(&campaign).join("tuned.conf")).unwrap();
    // Rules reach beyond the measured sizes, and hold one of them each.
    let rules = read(&conf, Reader::Rccl);
    assert!(!rules.is_empty() && rules.iter().any(|rule| rule.max_bytes > rule.min_bytes), "{rules:?}");
    let is_measured = |size: &u64| size.is_power_of_two() && size.trailing_zeros().is_multiple_of(2);
    let own = rules.iter().filter(|rule| rule.is_about(SCALE));
    for rule in own {
        assert!(
            (12..=26)
                .map(|log2| 1 << log2)
                .any(|size| is_measured(&size) && (rule.min_bytes..=rule.max_bytes).contains(&size))
        );
    }
    // A scale that the sweep lacks.
    let other =
        ["tune", "--simulate", &sweep, "--collective", "all_reduce", "--nodes", "4", "--ranks", "32", "-o", "x"];
    assert!(text(&collectune(&other).stderr).contains("the sweep has no all_reduce on 4 nodes"));
}

/// A sweep whose configurations all take the same time but for noise, and where `faster` names some of them, a fifth
/// less.
fn level_sweep(seed: u64, faster: &str) -> String {
    let mut stream = Stream::new(seed);
    let mut noise = |pct: f64| 1.0 + pct / 100.0 * (stream.unit() + stream.unit() + stream.unit() - 1.5);
    let mut csv =
        "collective,num_nodes,num_gpus,size_bytes,data_type,redop,time_ip_us,algbw_ip,busbw_ip,errors_ip,algo,proto,\
                   nchannels,repeat\n"
            .to_owned();
    let pairs = ["RING,SIMPLE", "RING,LL", "RING,LL128", "TREE,SIMPLE", "TREE,LL", "TREE,LL128"];
    let asked = pairs.iter().flat_map(|pair| ["8", "32"].map(|channels| format!("{pair},{channels}")));
    let asked: Vec<String> = std::iter::once("DEFAULT,DEFAULT,-1".to_owned()).chain(asked).collect();
    for (repeat, asked) in (0..3).flat_map(|repeat| asked.iter().map(move |asked| (repeat, asked))) {
        let level = noise(0.4) * if asked.starts_with(faster) { 0.8 } else { 1.0 };
        for size in (12..=20).map(|log2| 1_u64 << log2) {
            let time_us = (30.0 + size as f64 / 50_000.0) * level * noise(0.5);
            let algbw = size as f64 / time_us / 1e3;
            let busbw = algbw * 1.875;
            csv += &format!(
                "all_reduce_perf,2,16,{size},float,sum,{time_us:.2},{algbw:.4},{busbw:.4},0,{asked},{repeat}\n"
            );
        }
    }
    csv
}

#[test]
fn a_campaign_in_which_nothing_is_faster_deploys_nothing() {
    let folder = TempDir::new().unwrap();
    let readers: [&[&str]; 3] = [
        &[],
        // The file has the rows of the library's own table as well.
        &["--gpu", "gfx950"],
        // This reader can't keep the default: its file names the best known at every size.
        &["--library", "nccl", "--gpu", "h100", "--without-ab"],
    ];
    for (seed, more) in (1..=2).flat_map(|seed| readers.iter().map(move |more| (seed, more))) {
        let sweep = write(&folder, "level.csv", level_sweep(seed, "none"));
        let campaign = folder.path().join(format!("campaign{}_{seed}", more.len()));
        let at = campaign.display().to_string();
        let arguments = ["tune", "--simulate", &sweep, "--collective", "all_reduce", "--nodes", "2", "--ranks", "16"];
        let out = ended(&collectune(&[&arguments[..], more, &["--without-prior", "-o", &at]].concat()), 0);
        assert!(
            out.contains("Deploy no tuner file: nothing was seen to be faster than the default"),
            "{more:?}: {out}"
        );
        assert!(!out.contains("export ") && !campaign.join("tuned.conf").exists(), "{more:?}: {out}");
        assert!(!campaign.join("candidate.conf").exists(), "{more:?}");
    }
}

#[test]
fn launches_that_no_ab_needs_serve_the_search_and_what_is_left_is_said() {
    let folder = TempDir::new().unwrap();
    let tune = |name: &str, faster: &str| {
        let sweep = write(&folder, &format!("{name}.csv"), level_sweep(4, faster));
        let campaign = folder.path().join(name);
        let at = campaign.display().to_string();
        let arguments = ["tune", "--simulate", &sweep, "--collective", "all_reduce", "--nodes", "2", "--ranks", "16"];
        let out = collectune(&[&arguments[..], &["--without-prior", "--launches", "34", "-o", &at]].concat());
        let entries = Journal::parse(&fs::read_to_string(campaign.join("journal.jsonl")).unwrap()).unwrap().entries;
        (ended(&out, 0), entries)
    };
    // Beside the launches of both A/Bs there is room for nine, after which nothing was launched often enough to be
    // faster beyond noise.
    let (out, entries) = tune("faster", "TREE,SIMPLE");
    assert!(out.contains("tuned.conf: ") && out.contains("confirmed by the A/B"), "{out}");
    assert!(entries.iter().filter(|entry| entry.phase == Phase::Ab).count() >= 9, "{out}");
    // Nothing is found: the search goes on while an A/B could still confirm what it finds, and says what is left.
    let (out, entries) = tune("level", "none");
    assert!(entries.len() > 9 && entries.len() <= 25, "{}", entries.len());
    let left = format!("{} of 34 launches not spent", 34 - entries.len());
    assert!(out.contains("Deploy no tuner file") && out.contains(&left), "{out}");
    // It stays so when it is resumed.
    let at = folder.path().join("level").display().to_string();
    assert!(ended(&collectune(&["tune", "--resume", &at]), 0).contains(&left));
}

#[test]
fn earlier_measurements_say_what_to_expect() {
    let folder = TempDir::new().unwrap();
    let sweep = write(&folder, "sweep.csv", sweep());
    let in_folder = |name: &str| folder.path().join(name).display().to_string();
    let tune = |more: &[&str]| {
        let arguments = ["tune", "--simulate", &sweep, "--collective", "all_reduce", "--nodes", "2", "--ranks", "16"];
        let said = collectune(&[&arguments[..], &["--without-ab"], more].concat());
        (ended(&said, 0), text(&said.stderr))
    };
    let searched = |campaign: &str| {
        let journal = fs::read_to_string(Path::new(campaign).join("journal.jsonl")).unwrap();
        let entries = Journal::parse(&journal).unwrap().entries.into_iter();
        let searched = entries.filter(|entry| entry.phase == Phase::Search && entry.requested != Requested::Default);
        searched.collect::<Vec<_>>()
    };
    let [first, second, third] = ["campaigns/first", "second", "third"].map(in_folder);
    tune(&["-o", &first]);
    // A folder with campaigns, on another day.
    let (_, said) = tune(&["--seed", "7", "--prior", &in_folder("campaigns"), "-o", &second]);
    assert!(said.contains("all_reduce on 2 nodes, 16 ranks: ") && said.contains("say what to expect"), "{said}");
    let (blank, after) = (searched(&first), searched(&second));
    assert!(after[0].why.contains("loses the least over all sizes"), "{}", after[0].why);
    assert!(after.len() * 4 <= blank.len() * 3, "{} after {}", after.len(), blank.len());
    // A campaign beside the first takes it without being told, unless it is told not to, or is of other measurements.
    let beside = in_folder("campaigns/beside");
    let (_, said) = tune(&["--seed", "7", "-o", &beside]);
    assert!(said.contains("note: the campaigns beside this one say what to expect: first (--without-prior"), "{said}");
    assert_eq!(timeless(searched(&beside)), timeless(searched(&second)));
    let (_, said) = tune(&["--seed", "7", "--without-prior", "--launches", "6", "-o", &in_folder("campaigns/alone")]);
    assert!(!said.contains("say what to expect"), "{said}");
    let gpu = ["--gpu", "gfx942", "--launches", "6", "-o", &in_folder("campaigns/gpu")];
    assert!(!tune(&gpu).1.contains("say what to expect"));
    // The expectations are no measurements: the tuner file is that of the second campaign's own.
    assert!(Path::new(&second).join("tuned.conf").exists());
    let (preview, _) = tune(&["--prior", &sweep, "--dry-run"]);
    assert!(preview.contains("what loses the least over all sizes in the earlier measurements"), "{preview}");
    // What is of no use is named, and the campaign goes on without.
    let other = write(&folder, "other.csv", fs::read_to_string(&sweep).unwrap().replace("all_reduce", "broadcast"));
    let (_, said) = tune(&["--prior", &other, "--launches", "6", "-o", &third]);
    assert!(said.contains("warning: --prior: nothing in these files is of a collective that is tuned"), "{said}");
}

#[test]
fn ctrl_c_ends_a_launch_and_leaves_the_best_file_so_far() {
    use nix::{
        sys::signal::{Signal, kill},
        unistd::Pid,
    };
    let ring = Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Ll128, channels: 32 };
    let cluster = FakeCluster::new(&[("FAKE_HANG", &ring.to_string())]);
    let child = Command::new(env!("CARGO_BIN_EXE_collectune"))
        .args(cluster.arguments("campaign", &["--without-ab"]))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while !cluster.path("note").is_file() && began.elapsed() < Duration::from_secs(120) {
        thread::sleep(Duration::from_millis(20));
    }
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    let said = child.wait_with_output().unwrap();
    let err = text(&said.stderr);
    assert!(
        err.contains("stopped; collectune tune --resume") && err.contains("goes on after the last whole launch"),
        "{err}"
    );
    assert!(cluster.path("campaign/report.html").is_file());
    let entries = cluster.entries("campaign");
    assert!(entries.iter().all(|entry| entry.requested != Requested::Configuration(ring)));
    let pid = fs::read_to_string(cluster.path("note")).unwrap();
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "{state}");
}
