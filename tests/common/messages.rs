//! What page and terminal say of themselves: every option and command that a message names is there, an error ends with
//! a code that is not 0, and the terminal does not speak of what only a page has.

#![allow(clippy::unwrap_used)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use crate::support::terminal::{collectune, text, write};
use tempfile::TempDir;

/// A command of the terminal that does something: `policy replay`.
struct Command {
    path: Vec<String>,
    /// `--json`.
    options: BTreeSet<String>,
    /// Those of them that take a value.
    valued: BTreeSet<String>,
    help: String,
}

impl Command {
    fn name(&self) -> String {
        self.path.join(" ")
    }
}

/// Words that begin with `--` and a letter.
fn options_in(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("--") {
        let before = text[..at].chars().next_back();
        let word: String =
            text[at + 2..].chars().take_while(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-').collect();
        let is_word = word.starts_with(|c: char| c.is_ascii_lowercase());
        if is_word && !before.is_some_and(|c| c.is_alphanumeric() || c == '-') {
            found.push(format!("--{}", word.trim_end_matches('-')));
        }
    }
    found
}

fn help(path: &[String]) -> String {
    let mut arguments: Vec<&str> = path.iter().map(String::as_str).collect();
    arguments.push("--help");
    let output = collectune(&arguments);
    assert_eq!(output.status.code(), Some(0), "{path:?}");
    text(&output.stdout)
}

/// Every command that does something, from the helps.
fn commands() -> Vec<Command> {
    let mut all = Vec::new();
    let mut open = vec![Vec::new()];
    while let Some(path) = open.pop() {
        let help = help(&path);
        let mut inner: Vec<String> = Vec::new();
        let mut is_list = false;
        let (mut options, mut valued) = (BTreeSet::new(), BTreeSet::new());
        for line in help.lines() {
            if !line.starts_with(' ') {
                is_list = line == "Commands:";
            } else if is_list && line.starts_with("  ") && !line.starts_with("   ") {
                inner.extend(line.split_whitespace().next().map(str::to_owned));
            } else if line.trim_start().starts_with('-') {
                for option in options_in(line).into_iter().take(1) {
                    if line.contains('<') {
                        valued.insert(option.clone());
                    }
                    options.insert(option);
                }
            }
        }
        inner.retain(|name| name != "help");
        open.extend(inner.iter().map(|name| [&path[..], std::slice::from_ref(name)].concat()));
        if inner.is_empty() {
            all.push(Command { path, options, valued, help });
        }
    }
    assert!(all.len() > 15, "{}", all.len());
    all
}

/// `collectune tuning lint` names a command; what follows may be an argument.
fn named_commands(text: &str) -> Vec<Vec<String>> {
    let of = |at: usize| {
        let words = text[at..].split([' ', '\n', '`']).skip(1);
        let is_word = |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        words.take(2).take_while(is_word).map(str::to_owned).collect::<Vec<_>>()
    };
    let is_start =
        |at: usize| !text[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '/' | '-' | '_' | '.'));
    let all = text.match_indices("collectune ").filter(|(at, _)| is_start(*at));
    all.map(|(at, _)| of(at)).filter(|words| !words.is_empty()).collect()
}

/// Whether words begin as a command does; of one with others, the second word is one of them, or an option.
fn is_command(words: &[String], commands: &[Command]) -> bool {
    let is_meant = |command: &Command| {
        let of_others = command.path.len() > 1 && words.get(1).is_some_and(|word| !word.starts_with('-'));
        words.starts_with(&command.path[..if of_others { 2 } else { 1 }])
    };
    commands.iter().any(is_meant)
}

/// The string literals of a Rust source, without its comments and its unit tests.
fn literals(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let (mut found, mut chars) = (Vec::new(), source.chars().peekable());
    while let Some(c) = chars.next() {
        match c {
            '/' if chars.peek() == Some(&'/') => while chars.next().is_some_and(|c| c != '\n') {},
            // A quote as a character: '"' and '\"'.
            '\'' => {
                let rest: String = chars.clone().take(3).collect();
                if rest.starts_with("\"'") {
                    chars.nth(1);
                } else if rest.starts_with("\\\"'") {
                    chars.nth(2);
                }
            }
            '"' => {
                let mut literal = String::new();
                while let Some(c) = chars.next() {
                    match c {
                        '"' => break,
                        '\\' => match chars.next() {
                            Some('\n') => {
                                while chars.peek().is_some_and(|c| c.is_whitespace()) {
                                    chars.next();
                                }
                            }
                            Some('n') => literal.push('\n'),
                            Some(c) => literal.push(c),
                            None => {}
                        },
                        c => literal.push(c),
                    }
                }
                found.push(literal);
            }
            _ => {}
        }
    }
    found
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push(path);
        }
    }
    all.sort();
    all
}

/// Scripts and the programs that they run, and style sheets with their variables.
const OF_OTHERS: [&str; 7] = [
    "src/app/theme.rs",
    "src/app/chart/drawing.rs",
    "src/app/question.rs",
    "src/launch.rs",
    "tuning/plan/script.rs",
    "training_time/sampling_files.rs",
    // The commands that make files; what they run is checked by `measure.rs` beside this.
    "measure.rs",
];

/// Options of other programs that messages name, with what must stand in the same text.
const FOREIGN: [(&str, &str); 19] = [
    ("--type", "nsys"),
    ("--output-format", "rocprofv3"),
    ("--kernel-trace", "rocprofv3"),
    ("--marker-trace", "rocprofv3"),
    ("--cuda-graph-trace", "nsys"),
    ("--local", "--local_register"),
    // An option of nccl-tests.
    ("--ngpus", "--ngpus"),
    ("--map-by", "mpirun"),
    ("--ntasks-per-node", "srun"),
    ("--section", "profile with"),
    ("--format", "csv"),
    ("--report", "nsys"),
    ("--csv", "ncu"),
    ("--csv", "--showuse"),
    ("--showuse", "vram"),
    ("--showmeminfo", "vram"),
    ("--query-gpu", "utilization.gpu"),
    ("--page", "ncu"),
    ("--print-units", "ncu"),
];

#[test]
fn every_option_that_a_text_names_is_there() {
    let commands = commands();
    let known: BTreeSet<&String> = commands.iter().flat_map(|command| &command.options).collect();
    let mut wrong = Vec::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for path in sources(&source) {
        for literal in literals(&fs::read_to_string(&path).unwrap()) {
            // Style sheets name their variables in the same way.
            if literal.contains("var(--") || OF_OTHERS.iter().any(|of| path.ends_with(of)) {
                continue;
            }
            for option in options_in(&literal) {
                let foreign = FOREIGN.iter().any(|(name, beside)| *name == option && literal.contains(beside));
                if !known.contains(&option) && !foreign && option != "--help" {
                    wrong.push(format!("{}: {option} in {literal:?}", path.display()));
                }
            }
            for words in named_commands(&literal) {
                if !is_command(&words, &commands) {
                    wrong.push(format!("{}: collectune {} in {literal:?}", path.display(), words.join(" ")));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn helps_name_only_what_is_there() {
    let commands = commands();
    let mut wrong = Vec::new();
    for command in &commands {
        for line in command.help.lines() {
            // Other programs' commands stand between backticks.
            let line: &str = &line.split('`').step_by(2).collect::<Vec<_>>().join("…");
            let of_line: Vec<&Command> = named_commands(line)
                .iter()
                .flat_map(|words| {
                    commands.iter().filter(move |of| words.starts_with(&of.path) || of.path.starts_with(words))
                })
                .collect();
            for option in options_in(line) {
                let is_own = command.options.contains(&option);
                let is_of_line = of_line.iter().any(|of| of.options.contains(&option));
                // `predict --model`, and `--set of other commands`.
                let words: Vec<&str> = line.split_whitespace().collect();
                let before = words
                    .iter()
                    .position(|word| word.starts_with(&*option))
                    .and_then(|at| words.get(at.checked_sub(1)?));
                let is_of_word = commands.iter().any(|of| {
                    of.options.contains(&option)
                        && (before.is_some_and(|word| of.path.iter().any(|part| part == word))
                            || line.contains("of other"))
                });
                // An example goes on in its next line.
                let is_example = line.starts_with("    --");
                if !is_own && !is_of_line && !is_of_word && !is_example {
                    wrong.push(format!("{}: {option} in {line:?}", command.name()));
                }
            }
            for words in named_commands(line) {
                if !is_command(&words, &commands) {
                    wrong.push(format!("{}: {words:?} in {line:?}", command.name()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Phrases that only a page can say.
const OF_THE_PAGE: [&str; 14] = [
    "drop a ",
    "drop the ",
    "drop it",
    "drop them",
    "drop samples",
    "drop one",
    "drop per",
    "click",
    "this tab",
    "the page",
    "reload",
    "button",
    "dropped again",
    "onto the",
];

/// What an answer of a command does wrong, whatever it was asked; `typed` are the arguments.
fn faults(command: &Command, commands: &[Command], typed: &[&str], output: &Output) -> Vec<String> {
    let (out, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let mut faults = Vec::new();
    let mut fault = |what: String| faults.push(format!("collectune {}: {what}\n{said}", typed.join(" ")));
    let Some(code) = output.status.code() else {
        fault("it was ended".to_owned());
        return faults;
    };
    if said.contains("panicked") || code > 3 {
        fault(format!("code {code}"));
    }
    let has_error = said.lines().any(|line| line.starts_with("error:"));
    if has_error && code == 0 {
        fault("an error, and code 0".to_owned());
    }
    if code == 1 && !has_error {
        fault("code 1 without an error".to_owned());
    }
    for text in [&out, &said] {
        for option in options_in(text) {
            let is_typed = typed.iter().any(|typed| typed.split('=').next() == Some(&option));
            if !command.options.contains(&option) && !is_typed {
                fault(format!("{option} is no option of it"));
            }
        }
        for words in named_commands(text) {
            if !is_command(&words, commands) {
                fault(format!("collectune {} is no command", words.join(" ")));
            }
        }
    }
    let lower = said.to_lowercase();
    for phrase in OF_THE_PAGE.iter().filter(|phrase| lower.contains(**phrase)) {
        fault(format!("{phrase:?} is of a page"));
    }
    faults
}

const SWEEP: &str = "collective,num_nodes,num_gpus,size_bytes,busbw_ip,algo,proto,nchannels\n\
                     all_reduce_perf,2,16,4096,0.2,TREE,LL,2\nall_reduce_perf,2,16,8192,0.4,TREE,LL,2\n\
                     all_reduce_perf,2,16,65536,3.4,RING,LL,2\n";
const CONF: &str = "allreduce,0,4095,tree,ll,4,2,16\n";
const COMPARISON: &str = "nodes,size_bytes,def_runs,cfg_runs\n2,4096,1;1.01;1.02,2;2.01;2.02\n";
const REWARDS: &str = "allreduce,4194304,1,8,12.34\nallreduce,4194304,1,8,12.35\n";

/// Files that some command can't use, by what they are.
fn bad_files(folder: &TempDir) -> BTreeMap<&'static str, String> {
    let kernels = "id,kShortName,kDemangledName,ground_truth,duration,overlap_ratio,slowdown,ID,Kernel Name,Compute \
                   throughput,Memory throughput\n1,a,a,1000,1200,0.5,0.4,1,a,10,20\n";
    let files: [(&str, &[u8]); 20] = [
        ("empty.csv", b""),
        ("blank.csv", b"\n\n  \n"),
        ("garbage.bin", b"\x00\x01\xfe\xff garbage \x80\x81"),
        ("image.png", b"\x89PNG\r\n\x1a\n0000"),
        ("prose.txt", b"nothing of the kind\nto be seen here\n"),
        ("page.html", b"<!DOCTYPE html><html><body>404</body></html>"),
        ("script.pl", b"#!/usr/bin/perl\nuse strict;\nprint join(\",\", 1, 2);\n"),
        ("list.json", b"[1, 2, 3]\n"),
        ("object.json", b"{\"a\": 1}\n"),
        ("half.json", b"{\"format\": \"collectune-model\", "),
        ("header.csv", b"collective,num_nodes,num_gpus,size_bytes,busbw_ip,algo,proto,nchannels\n"),
        ("unknown.csv", b"a,b,c\n1,2,3\n4,5,6\n"),
        ("lacks.csv", b"collective,size_bytes,busbw_ip\nall_reduce,4096,0.2\n"),
        ("bad_rows.csv", b"collective,num_nodes,num_gpus,size_bytes,busbw_ip,algo,proto,nchannels\nx,y,z,1,2,3,4,5\n"),
        ("sweep.csv", SWEEP.as_bytes()),
        ("tuner.conf", CONF.as_bytes()),
        ("per_size.csv", COMPARISON.as_bytes()),
        ("rewards.log", REWARDS.as_bytes()),
        ("kernels.csv", kernels.as_bytes()),
        ("run.yml", b"training_config: [4, 2, 2, 4, 32, 4096, 4096, 8, 4]\nencoders: 32\n"),
    ];
    let mut all: BTreeMap<&'static str, String> =
        files.into_iter().map(|(name, content)| (name, write(folder, name, content))).collect();
    let sets = |version: &str| {
        let row = |log2: u32| format!("all_reduce_perf,2,16,{},{log2},RING,LL,2,{version}\n", 1_u64 << log2);
        (12..16).map(row).collect::<String>()
    };
    let header = SWEEP.lines().next().unwrap();
    let two = format!("{header},library_version\n{}{}", sets("2.26.6"), sets("2.29.2"));
    all.insert("sets.csv", write(folder, "sets.csv", two));
    all.insert("links.csv", write(folder, "links.csv", "src,dst,bandwidth_gbps,latency_us\n0,1,50,1\n1,0,50,1\n"));
    all.insert("nowhere.csv", folder.path().join("nowhere.csv").display().to_string());
    all.insert("folder", folder.path().join("folder").display().to_string());
    fs::create_dir(&all["folder"]).unwrap();
    all
}

/// How a command is given a file: `{}` stands for it, `{conf}`, `{sweep}` and `{runs}` for good ones.
const TEMPLATES: [(&str, &str); 39] = [
    ("tuning train", "tuning train {}"),
    ("tuning predict", "tuning predict {} --collective all_reduce --nodes 2 --ranks 16 --size 1M"),
    ("tuning predict", "tuning predict --model {} --collective all_reduce --nodes 2 --ranks 16"),
    ("tuning export", "tuning export {} --reader dn-tuner"),
    ("tuning export", "tuning export {} --reader example"),
    ("tuning lint", "tuning lint {}"),
    ("tuning lint", "tuning lint {conf} --sweep {}"),
    ("tuning cost-model", "tuning cost-model --gpu h100 {}"),
    ("tuning cost-model", "tuning cost-model --gpu h100 --nodes 1 --ranks 8 --sweep {}"),
    ("tuning coverage", "tuning coverage {}"),
    ("tuning coverage", "tuning coverage --batches 1,8 --hidden 4096 --nodes 2 --ranks 16 --sweep {}"),
    ("tuning coverage", "tuning coverage --batches 1 --hidden 4096 --nodes 2 --ranks 16 --reader rccl --conf {}"),
    ("tuning plan", "tuning plan {}"),
    ("tuning ab", "tuning ab {}"),
    ("tuning ab", "tuning ab {runs} --collective all_reduce --conf {}"),
    ("overlap models", "overlap models {}"),
    ("training-time step", "training-time step {}"),
    ("training-time layouts", "training-time layouts {}"),
    ("training-time estimate", "training-time estimate {}"),
    ("training-time estimate", "training-time estimate gpt2-xl --steps {}"),
    ("training-time estimate", "training-time estimate gpt2-xl --trace {}"),
    ("training-time estimate", "training-time estimate gpt2-xl --collectives {}"),
    ("policy replay", "policy replay {} --seeds 0"),
    ("policy export", "policy export {} --reader example"),
    ("policy export", "policy export {rewards} --schedule {}"),
    ("policy watch", "policy watch {} {folder} --once"),
    ("policy doctor", "policy doctor {}"),
    ("topology rings", "topology rings {}"),
    ("topology synthesize", "topology synthesize {} --collective all_gather"),
    ("topology verify", "topology verify {}"),
    ("topology verify", "topology verify {} --graph {}"),
    ("tuning compare", "tuning compare {} {sweep}"),
    ("tuning compare", "tuning compare {sweep} {sweep} --conf {}"),
    ("reach", "reach {}"),
    ("reach", "reach {sweep} --conf {}"),
    ("report", "report {}"),
    ("tuning chart", "tuning chart {}"),
    ("tune", "tune --simulate {} --collective all_reduce --nodes 2 --ranks 16 --dry-run"),
    ("tune", "tune --resume {}"),
];

#[test]
fn whatever_is_given_the_terminal_advises_only_what_it_has() {
    let (folder, commands) = (TempDir::new().unwrap(), commands());
    let files = bad_files(&folder);
    let good = [
        ("{conf}", "tuner.conf"),
        ("{sweep}", "sweep.csv"),
        ("{runs}", "per_size.csv"),
        ("{rewards}", "rewards.log"),
        ("{folder}", "folder"),
    ];
    for command in &commands {
        let name = command.name();
        let is_known = TEMPLATES.iter().any(|(of, _)| *of == name)
            || ["tuning ab-plan", "measure", "completions"].contains(&&*name);
        assert!(is_known, "{name} has no template");
    }
    let mut wrong = Vec::new();
    let mut asked = 0;
    for (of, template) in TEMPLATES {
        let command = commands.iter().find(|command| command.name() == of).unwrap();
        for path in files.values() {
            let fill = |word: &str| match good.iter().find(|(mark, _)| *mark == word) {
                Some((_, name)) => files[name].clone(),
                None => word.replace("{}", path),
            };
            let words: Vec<String> = template.split(' ').map(fill).collect();
            let typed: Vec<&str> = words.iter().map(String::as_str).collect();
            wrong.extend(faults(command, &commands, &typed, &collectune(&typed)));
            asked += 1;
        }
    }
    assert!(asked > 500 && wrong.is_empty(), "{} of {asked}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Options whose value may be any text: names, files, commands.
const ANY_TEXT: [&str; 14] = [
    "--set",
    "--set-before",
    "--set-after",
    "--model",
    "--output",
    "--save",
    "--conf",
    "--plugin",
    "--library",
    "--choices",
    "--script",
    "--sweep",
    "--schedule",
    "--bands",
];

#[test]
fn bad_options_are_refused_before_anything_is_read() {
    let commands = commands();
    let mut wrong = Vec::new();
    for command in &commands {
        let path: Vec<&str> = command.path.iter().map(String::as_str).collect();
        let mut ask = |last: &str, codes: &[i32]| {
            let typed = [&path[..], &[last]].concat();
            let output = collectune(&typed);
            wrong.extend(faults(command, &commands, &typed, &output));
            if output.status.code().is_none_or(|code| !codes.contains(&code)) {
                let said = text(&output.stderr);
                wrong.push(format!("collectune {}: {:?}\n{said}", typed.join(" "), output.status.code()));
            }
        };
        ask("--no-such-option", &[2]);
        for option in &command.valued {
            ask(option, &[2]);
            // What is lacking besides ends with 2 as well.
            for bad in ["@@", "-1", "nan", "99999999999999999999999", ""] {
                let is_free = ANY_TEXT.contains(&option.as_str()) || bad != "@@";
                ask(&format!("{option}={bad}"), if is_free { &[0, 1, 2, 3] } else { &[1, 2] });
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
