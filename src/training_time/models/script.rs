//! The words that a shell script gives to its commands: variables, arrays, arithmetic, conditions and loops of a POSIX
//! shell or Bash, as far as the file decides them. No command is run.
//!
//! A condition that needs what the file does not say is taken to hold, and is told, so that who reads the words can see
//! what would follow otherwise.

use super::shell_words::{Token, lex};
use crate::text::excerpt;

/// The most characters of a word: variables that repeat others would grow without end.
const LONGEST_WORD: usize = 16 << 10;
/// The most words of a variable.
const MOST_WORDS: usize = 4 << 10;
/// The most variables that are kept.
const MOST_VARIABLES: usize = 4 << 10;
/// The most calls of functions that are followed: functions that call each other several times would grow without end.
const MOST_CALLS: usize = 500;
/// The deepest nesting of commands, and of expressions.
const DEEPEST: usize = 32;
/// The largest text that is followed as a script: longer ones are logs.
const LARGEST_SCRIPT: usize = 1 << 20;

/// A word, with the line on which it stands, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub text: String,
    pub line: u32,
    /// Whether nothing in it is without a value.
    is_known: bool,
}

/// A command with options, or what is assigned to a variable.
#[derive(Debug)]
pub(super) struct Command {
    /// The options with their values.
    pub words: Vec<Word>,
    /// All words of a command, with the programs that it starts.
    pub whole: Vec<String>,
    pub is_assignment: bool,
}

/// What the file does not decide, and what was assumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Assumption {
    /// The line of the condition, from 1.
    pub line: u32,
    /// A sentence without its full stop.
    pub what: String,
}

/// What a script was read as.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// Commands with options and assignments, in order.
    pub commands: Vec<Command>,
    /// In the order in which they were met.
    pub assumptions: Vec<Assumption>,
    /// What the head of a job of Slurm says of its size.
    pub slurm: SlurmHead,
}

/// The size of a job of Slurm as the options in its head say it, each number with its line from 1.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SlurmHead {
    pub nodes: Option<(u32, u32)>,
    /// `--ntasks-per-node`: processes that start on each node.
    tasks_per_node: Option<(u32, u32)>,
    gpus_per_node: Option<(u32, u32)>,
    /// `--gpus`: of all nodes together.
    gpus: Option<(u32, u32)>,
    /// `--ntasks`: processes that start on all nodes together.
    tasks: Option<(u32, u32)>,
}

impl SlurmHead {
    fn of(text: &str) -> Self {
        let mut said = Self::default();
        for (line, number) in text.lines().zip(1_u32..) {
            let Some(options) = line.trim_start().strip_prefix("#SBATCH") else { continue };
            let options = options.split(" #").next().unwrap_or_default();
            let mut words = options.split_whitespace().peekable();
            while let Some(word) = words.next() {
                let (name, value) = match (word.strip_prefix("--"), word.strip_prefix('-')) {
                    (Some(long), _) => long.split_once('=').unwrap_or((long, "")),
                    // The value may follow the letter at once.
                    (None, Some(short)) => short.split_at_checked(1).unwrap_or((short, "")),
                    (None, None) => continue,
                };
                let place = match name {
                    "nodes" | "N" => &mut said.nodes,
                    "ntasks-per-node" => &mut said.tasks_per_node,
                    "gpus-per-node" | "gres" => &mut said.gpus_per_node,
                    "gpus" | "G" => &mut said.gpus,
                    "ntasks" | "n" => &mut said.tasks,
                    _ => continue,
                };
                let value = if value.is_empty() { words.peek().copied().unwrap_or_default() } else { value };
                // `gpu:8` and `h100:8`; of `gpu:8,nvme:1` the first.
                let value = value.trim_start_matches('=').split(',').next().unwrap_or_default();
                let value = value.rsplit(':').next().unwrap_or_default();
                // Of nodes that may be fewer, `4-8`, all are hoped for.
                let value = value.rsplit('-').next().unwrap_or_default();
                *place = value.parse().ok().map(|value| (value, number)).or(*place);
            }
        }
        said
    }

    fn times(self, each: Option<(u32, u32)>) -> Option<(u32, u32)> {
        let ((nodes, line), (each, _)) = self.nodes.zip(each)?;
        Some((nodes.checked_mul(each)?, line))
    }

    /// The number of processes that the job starts, and the line that says it.
    pub fn tasks(self) -> Option<(u32, u32)> {
        self.tasks.or(self.times(self.tasks_per_node))
    }

    /// The number of GPUs that the job has, and the line that says it.
    pub fn gpus(self) -> Option<(u32, u32)> {
        self.gpus.or(self.times(self.gpus_per_node))
    }
}

impl Script {
    /// Follows a text. The condition at an index of `holds` is assumed to hold or not; others hold.
    pub fn of(text: &str, holds: &[bool]) -> Self {
        if text.len() <= LARGEST_SCRIPT
            && let Some(tokens) = lex(text, 1)
        {
            let mut follower = Follower { tokens: &tokens, holds, ..Follower::default() };
            let slurm = follower.slurm(text);
            let is_whole = follower.block(true, &[]).is_none();
            follower.uncalled();
            if is_whole && !follower.is_broken {
                return Self { commands: follower.commands, assumptions: follower.assumptions, slurm };
            }
        }
        Self::of_log(text)
    }

    /// Reads the commands of a text that is no whole script: each line by itself, with those that go on.
    pub fn of_log(text: &str) -> Self {
        Self { commands: line_by_line(text), ..Self::default() }
    }
}

fn line_by_line(text: &str) -> Vec<Command> {
    let mut follower = Follower { is_flat: true, ..Follower::default() };
    let mut whole = String::new();
    let mut first = 1;
    for (line, number) in text.lines().zip(1_u32..) {
        if whole.is_empty() {
            first = number;
        }
        whole.push_str(line);
        whole.push('\n');
        let goes_on = line.ends_with('\\')
            || !line.trim_start().starts_with('#') && !whole.matches('"').count().is_multiple_of(2);
        if goes_on && whole.len() < LONGEST_WORD {
            continue;
        }
        follower.line(&std::mem::take(&mut whole), first);
    }
    follower.line(&whole, first);
    follower.commands
}

/// Follows tokens, command by command.
#[derive(Default)]
struct Follower<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
    variables: Vec<(String, Vec<Word>)>,
    holds: &'a [bool],
    assumptions: Vec<Assumption>,
    /// Names without a value that were met since the start of a condition.
    unassigned: Vec<String>,
    /// The values of names with which the condition would hold.
    wanted: Vec<(String, String)>,
    commands: Vec<Command>,
    functions: Vec<Function>,
    /// The arguments of the function whose call is followed; `None` where nothing says them.
    arguments: Option<Vec<Word>>,
    /// How many calls of functions were followed.
    calls: usize,
    /// Whether words such as `if` mean nothing.
    is_flat: bool,
    /// Whether something was left open.
    is_broken: bool,
}

/// A function of the script.
struct Function {
    name: String,
    /// The token with which its body begins, a bracket.
    body: usize,
    is_called: bool,
}

/// The names under which a function's arguments stand, but for those of each by its number.
const ALL_ARGUMENTS: [&str; 3] = ["@", "*", "#"];

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Name, whether it is appended to, and raw value of an assignment.
fn assignment(raw: &str) -> Option<(&str, bool, &str)> {
    let (name, value) = raw.split_once('=')?;
    let (name, is_more) = name.strip_suffix('+').map_or((name, false), |name| (name, true));
    is_name(name).then_some((name, is_more, value))
}

/// Whether a text is as a pattern says, in which `*` stands for anything.
fn matches(text: &str, pattern: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else { return text == pattern };
    let Some(rest) = text.strip_prefix(before) else { return false };
    let mut ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    // Nothing but stars, and short ones: a pattern with many would take long.
    match after.matches('*').count() {
        0 => rest.ends_with(after),
        1 | 2 => ends.any(|at| matches(&rest[at..], after)),
        _ => false,
    }
}

impl<'a> Follower<'a> {
    fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at)
    }

    /// Whether the next token is this one, which is taken.
    fn takes(&mut self, raw: &str) -> bool {
        let is_next = self.peek().is_some_and(|token| token.raw == raw);
        self.at += usize::from(is_next);
        is_next
    }

    fn variable(&self, name: &str) -> Option<&Vec<Word>> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, words)| words)
    }

    #[inline(never)]
    fn set(&mut self, name: String, words: Vec<Word>) {
        match self.variables.iter().position(|(known, _)| *known == name) {
            Some(at) => self.variables[at].1 = words,
            None if self.variables.len() < MOST_VARIABLES => self.variables.push((name, words)),
            None => {}
        }
    }

    fn line(&mut self, text: &str, number: u32) {
        // An apostrophe in the text of a log opens nothing.
        let tokens =
            lex(text, number).or_else(|| lex(&text.replace(['\'', '"', '`'], " "), number)).unwrap_or_default();
        let mut of_line = Follower { tokens: &tokens, is_flat: true, ..Follower::default() };
        std::mem::swap(&mut of_line.variables, &mut self.variables);
        of_line.block(true, &[]);
        self.variables = of_line.variables;
        self.commands.extend(of_line.commands);
    }

    /// Follows commands until one of these words, which it returns. Nothing is taken in unless it `runs`.
    fn block(&mut self, runs: bool, until: &[&str]) -> Option<&'a str> {
        self.depth += 1;
        let mut end = None;
        while let Some(token) = self.peek().filter(|_| self.depth <= DEEPEST) {
            if until.contains(&&*token.raw) {
                self.at += 1;
                end = Some(&*token.raw);
                break;
            }
            let before = self.at;
            if !matches!(&*token.raw, "\n" | ";" | "&" | "|") {
                self.conditional(runs);
            }
            // A word that stands where none is expected.
            self.at += usize::from(self.at == before);
        }
        self.depth -= 1;
        self.is_broken |= end.is_none() && (!until.is_empty() || self.peek().is_some());
        end
    }

    /// Commands with `&&` and `||` between them; whether the last one succeeds, if that is known.
    fn conditional(&mut self, runs: bool) -> Option<bool> {
        let (line, first) = (self.peek()?.line, self.at);
        let mut succeeds = self.command(runs);
        loop {
            let is_and = match self.peek().map(|token| &*token.raw) {
                Some("&&") => true,
                Some("||") => false,
                _ => return succeeds,
            };
            let condition = first..self.at;
            self.at += 1;
            while self.takes("\n") {}
            if runs && succeeds.is_none() {
                succeeds = Some(self.assume(line, condition));
                self.forget();
            }
            let goes_on = runs && succeeds == Some(is_and);
            let next = self.command(goes_on);
            if goes_on {
                succeeds = next;
            }
        }
    }

    /// Whether an undecided condition, of these tokens, is assumed to hold.
    #[inline(never)]
    fn assume(&mut self, line: u32, condition: std::ops::Range<usize>) -> bool {
        let words: Vec<&str> = self.tokens[condition].iter().map(|token| &*token.raw).collect();
        let mut unassigned = std::mem::take(&mut self.unassigned);
        unassigned.dedup();
        let why = match &unassigned[..] {
            [] => "nothing in the file decides it".to_owned(),
            names => format!("the file does not say {}", excerpt(&names.join(", "))),
        };
        self.assumed(line, format!("{} is taken to hold: {why}", excerpt(&words.join(" "))))
    }

    /// Whether what is undecided is assumed. Its names have the values then with which it holds, so that later
    /// conditions go the same way.
    #[inline(never)]
    fn assumed(&mut self, line: u32, what: String) -> bool {
        let holds = self.is_flat || self.holds.get(self.assumptions.len()).is_none_or(|holds| *holds);
        if !self.is_flat {
            self.assumptions.push(Assumption { line, what });
        }
        for (name, text) in std::mem::take(&mut self.wanted).into_iter().filter(|_| holds) {
            self.set(name, vec![Word { text, line, is_known: true }]);
        }
        holds
    }

    /// Takes back what was noted of names without a value, before another condition is looked at.
    fn forget(&mut self) {
        self.unassigned.clear();
        self.wanted.clear();
    }

    fn command(&mut self, runs: bool) -> Option<bool> {
        let token = self.peek()?;
        let starts = |word: &str| !self.is_flat && token.raw == word;
        match () {
            () if starts("if") => self.branches(runs),
            () if starts("case") => self.cases(runs),
            () if starts("for") => self.each(runs),
            () if starts("while") || starts("until") => {
                self.at += 1;
                self.block(false, &["do"]);
                self.block(runs, &["done"]);
            }
            () if starts("{") || starts("(") => {
                self.at += 1;
                self.block(runs, if token.raw == "{" { &["}"] } else { &[")"] });
            }
            () if self.defines(runs) => {}
            () => return self.simple(runs),
        }
        Some(true)
    }

    /// Takes the definition of a function, whose body is followed where it is called; whether there is one.
    fn defines(&mut self, runs: bool) -> bool {
        let raw = |at: usize| self.tokens.get(at).map(|token| &*token.raw);
        let has_keyword = raw(self.at) == Some("function");
        let name = self.at + usize::from(has_keyword);
        let mut body = name + 1;
        if raw(body) == Some("(") && raw(body + 1) == Some(")") {
            body += 2;
        } else if !has_keyword {
            return false;
        }
        while raw(body) == Some("\n") {
            body += 1;
        }
        let Some(name) = raw(name).filter(|_| !self.is_flat && matches!(raw(body), Some("{" | "("))) else {
            return false;
        };
        if runs {
            self.functions.retain(|known| known.name != name);
            self.functions.push(Function { name: name.to_owned(), body, is_called: false });
        }
        self.at = body;
        self.command(false);
        true
    }

    /// Follows a call of a function with its arguments; whether there is such a function.
    fn calls(&mut self, words: &[Word]) -> bool {
        let Some((name, arguments)) = words.split_first() else { return false };
        let Some(function) = self.functions.iter_mut().find(|known| known.name == name.text) else { return false };
        function.is_called = true;
        let body = function.body;
        self.calls += 1;
        self.is_broken |= self.calls > MOST_CALLS;
        if self.is_broken {
            return true;
        }
        // Of what the script itself is given, nothing says how many words it is.
        let is_said = arguments.iter().all(|word| !word.text.contains("$@") && !word.text.contains("$*"));
        let outer = std::mem::replace(&mut self.arguments, is_said.then(|| arguments.to_vec()));
        let after = std::mem::replace(&mut self.at, body);
        self.bind();
        self.command(true);
        self.at = after;
        self.arguments = outer;
        self.bind();
        true
    }

    /// Gives the arguments of a call the names under which its function reads them.
    fn bind(&mut self) {
        let is_argument = |name: &str| ALL_ARGUMENTS.contains(&name) || name.parse::<u32>().is_ok();
        self.variables.retain(|(name, _)| !is_argument(name));
        let Some(arguments) = self.arguments.clone() else { return };
        for (word, number) in arguments.iter().zip(1_u32..) {
            self.set(number.to_string(), vec![word.clone()]);
        }
        let line = arguments.first().map_or(0, |word| word.line);
        let number = Word { text: arguments.len().to_string(), line, is_known: true };
        for (name, words) in ALL_ARGUMENTS.into_iter().zip([arguments.clone(), arguments, vec![number]]) {
            self.set(name.to_owned(), words);
        }
    }

    /// Follows the functions that the script does not call, as if they stood before it: who calls them is not said.
    fn uncalled(&mut self) {
        let after = std::mem::take(&mut self.commands);
        while let Some(at) = self.functions.iter().position(|function| !function.is_called) {
            self.functions[at].is_called = true;
            self.at = self.functions[at].body;
            self.command(true);
        }
        self.commands.extend(after);
    }

    fn branches(&mut self, runs: bool) {
        let mut is_done = !runs;
        loop {
            self.at += 1;
            let (line, first) = (self.peek().map_or(0, |token| token.line), self.at);
            self.forget();
            let mut holds = None;
            while self.peek().is_some_and(|token| token.raw != "then") && !self.is_broken {
                let before = self.at;
                if !self.takes("\n") && !self.takes(";") {
                    holds = self.conditional(!is_done);
                    self.at += usize::from(self.at == before);
                }
            }
            let condition = first..self.at - usize::from(self.at > first);
            if !is_done && holds.is_none() {
                holds = Some(self.assume(line, condition));
            }
            self.at += 1;
            let is_taken = !is_done && holds == Some(true);
            is_done |= is_taken;
            match self.block(is_taken, &["elif", "else", "fi"]) {
                Some("elif") => self.at -= 1,
                Some("else") => {
                    self.block(!is_done, &["fi"]);
                    return;
                }
                _ => return,
            }
        }
    }

    fn cases(&mut self, runs: bool) {
        self.at += 1;
        let Some(of) = self.peek() else { return };
        self.at += 1;
        while self.takes("\n") {}
        self.is_broken |= !self.takes("in");
        let mut is_done = !runs;
        while let Some(token) = self.peek().filter(|_| !self.is_broken) {
            if matches!(&*token.raw, "\n" | ";;" | "(") {
                self.at += 1;
                continue;
            }
            if self.takes("esac") {
                return;
            }
            self.forget();
            let word = self.known(&of.raw);
            let mut holds = Some(false);
            while let Some(pattern) = self.peek().filter(|token| token.raw != ")") {
                self.at += 1;
                if pattern.raw != "|" && !is_done && holds != Some(true) {
                    holds = match (&word, self.known(&pattern.raw)) {
                        _ if pattern.raw == "*" => Some(true),
                        (Some(word), Some(pattern)) => Some(matches(word, &pattern)),
                        (None, Some(pattern)) => {
                            self.wants(&of.raw, pattern);
                            None
                        }
                        _ => None,
                    };
                }
            }
            if !is_done && holds.is_none() {
                let names = self.unassigned.join(", ");
                let what = format!("{} of the case is taken: the file does not say {}", token.raw, excerpt(&names));
                holds = Some(self.assumed(token.line, what));
            }
            self.at += 1;
            let is_taken = !is_done && holds == Some(true);
            is_done |= is_taken;
            if self.block(is_taken, &[";;", "esac"]) != Some(";;") {
                return;
            }
        }
        self.is_broken = true;
    }

    /// A loop over words, of which the first is taken.
    fn each(&mut self, runs: bool) {
        self.at += 1;
        let Some(name) = self.peek() else { return };
        self.at += 1;
        let mut values = Vec::new();
        while let Some(token) = self.peek().filter(|token| token.raw != "do") {
            self.at += 1;
            if runs && !matches!(&*token.raw, "in" | ";" | "\n") {
                values.extend(self.expand(token));
            }
        }
        if let Some(value) = values.first().cloned().filter(|_| is_name(&name.raw)) {
            let what = format!("{} is taken to be {}, the first of its values", name.raw, excerpt(&value.text));
            let is_first = values.len() == 1 || self.assumed(name.line, what);
            let value = if is_first { Some(value) } else { values.pop() };
            self.set(name.raw.clone(), Vec::from_iter(value));
        }
        self.at += 1;
        self.block(runs, &["done"]);
    }

    /// A command with its words, or assignments; whether it succeeds, if that is known.
    #[inline(never)]
    fn simple(&mut self, runs: bool) -> Option<bool> {
        let first = self.at;
        let close = match &*self.peek()?.raw {
            "[[" => Some("]]"),
            "[" => Some("]"),
            _ => None,
        };
        let is_end = |token: &Token| match close {
            Some(close) => token.raw == close || close == "]" && token.raw == "\n",
            None => token.is_operator || token.raw == ";;",
        };
        while self.peek().is_some_and(|token| !is_end(token)) {
            self.at += 1;
        }
        let mut words = &self.tokens[first..self.at];
        let is_closed = close.is_none_or(|close| self.takes(close));
        self.is_broken |= !is_closed;
        if !runs {
            return None;
        }
        if let Some((Token { raw, .. }, rest)) = words.split_first() {
            match &**raw {
                "[[" | "[" | "test" => return Test { of: self, words: rest, at: 0, depth: 0 }.either(),
                "true" | ":" if rest.is_empty() => return Some(true),
                "false" if rest.is_empty() => return Some(false),
                _ => {}
            }
            if let Some(inner) = raw.strip_prefix("((").and_then(|raw| raw.strip_suffix("))")) {
                return self.arithmetic(inner).map(|value| value != 0);
            }
        }
        while let Some((token, rest)) = words.split_first() {
            match assignment(&token.raw) {
                Some((name, is_more, value)) => self.assign(name, is_more, value, token.line),
                None if matches!(&*token.raw, "export" | "local" | "readonly" | "declare" | "typeset") => {}
                None => break,
            }
            words = rest;
        }
        let words: Vec<Word> = words.iter().flat_map(|token| self.expand(token)).collect();
        if !self.shifts(&words) && !self.calls(&words) {
            self.keep(words, false);
        }
        Some(true)
    }

    /// Takes the first arguments of a function away; whether the command says so.
    fn shifts(&mut self, words: &[Word]) -> bool {
        let number = match words {
            [command] if command.text == "shift" => 1,
            [command, number] if command.text == "shift" => number.text.parse().unwrap_or(0),
            _ => return false,
        };
        if let Some(arguments) = &mut self.arguments {
            arguments.drain(..number.min(arguments.len()));
            self.bind();
        }
        true
    }

    /// Keeps the options of a command with their values.
    fn keep(&mut self, words: Vec<Word>, is_assignment: bool) {
        let mut was_option = false;
        let whole = words.iter().filter(|_| !is_assignment).map(|word| word.text.clone()).collect();
        let words: Vec<Word> = words
            .into_iter()
            .filter(|Word { text, .. }| {
                let is_option = text.trim_start().starts_with('-');
                std::mem::replace(&mut was_option, is_option || text.contains(" -")) || was_option
            })
            .collect();
        if !words.is_empty() {
            self.commands.push(Command { words, whole, is_assignment });
        }
    }

    fn assign(&mut self, name: &str, is_more: bool, raw: &str, line: u32) {
        let list = raw.strip_prefix('(').and_then(|raw| raw.strip_suffix(')'));
        let mut words = match list {
            Some(inner) => {
                let tokens = lex(inner, line).unwrap_or_default();
                tokens.iter().filter(|token| !token.is_operator).flat_map(|token| self.expand(token)).collect()
            }
            None => vec![self.word(raw, line)],
        };
        self.keep(words.clone(), true);
        if is_more && let Some(mut before) = self.variable(name).cloned() {
            match (&mut before[..], list) {
                ([only], None) => only.text.push_str(&words[0].text),
                _ => before.append(&mut words),
            }
            words = before;
        }
        words.truncate(MOST_WORDS);
        words.iter_mut().filter(|word| word.text.len() > LONGEST_WORD).for_each(|word| word.text.clear());
        self.set(name.to_owned(), words);
    }

    /// The words of a token: those of a variable with the lines on which they were assigned.
    #[inline(never)]
    fn expand(&mut self, token: &Token) -> Vec<Word> {
        let bare = token.raw.trim_matches('"').strip_prefix('$').map(|name| name.trim_matches(['{', '}']));
        let bare = bare.map(|name| name.strip_suffix("[@]").or(name.strip_suffix("[*]")).unwrap_or(name));
        if let Some(words) = bare.and_then(|name| self.variable(name)) {
            return words.clone();
        }
        vec![self.word(&token.raw, token.line)]
    }

    #[inline(never)]
    fn word(&mut self, raw: &str, line: u32) -> Word {
        let before = self.unassigned.len();
        let text = self.text(raw);
        Word { text, line, is_known: self.unassigned.len() == before }
    }

    /// A condition would hold if a word, which is one variable without a value, had this one.
    fn wants(&mut self, raw: &str, text: String) {
        let name = raw.trim_matches('"').strip_prefix('$').map(|name| name.trim_matches(['{', '}']));
        if let Some(name) = name.filter(|name| is_name(name) && !text.contains('*')) {
            self.wanted.retain(|(known, _)| known != name);
            self.wanted.push((name.to_owned(), text));
        }
    }

    /// The text of a raw word; `None` if it depends on what has no value.
    fn known(&mut self, raw: &str) -> Option<String> {
        let Word { text, is_known, .. } = self.word(raw, 0);
        is_known.then_some(text)
    }

    /// The text of a raw word, without quotes and with the values of variables. What has no value stays as it stands.
    fn text(&mut self, raw: &str) -> String {
        let mut text = String::new();
        let mut quote = None;
        let mut rest = raw;
        self.depth += 1;
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            match (c, quote) {
                ('\'' | '"', None) => quote = Some(c),
                (c, Some(open)) if c == open => quote = None,
                ('\\', None | Some('"')) => {
                    let next = rest.chars().next();
                    let is_plain = quote.is_some() && !matches!(next, Some('$' | '`' | '"' | '\\' | '\n'));
                    match next {
                        Some(next) if !is_plain => {
                            rest = &rest[next.len_utf8()..];
                            if next != '\n' {
                                text.push(next);
                            }
                        }
                        _ => text.push(c),
                    }
                }
                ('$' | '`', None | Some('"')) if self.depth <= DEEPEST => {
                    let (value, after) = self.value(c, rest);
                    text.push_str(&value);
                    rest = after;
                }
                _ => text.push(c),
            }
            if text.len() > LONGEST_WORD {
                text.truncate(text.floor_char_boundary(LONGEST_WORD));
                break;
            }
        }
        self.depth -= 1;
        text
    }

    /// The value of what follows a `$` or a backtick, and the rest.
    fn value<'b>(&mut self, sign: char, rest: &'b str) -> (String, &'b str) {
        let closed = |open: usize, close: char| {
            let mut depth = 0_usize;
            let opening = rest.chars().next().unwrap_or_default();
            let end = rest.char_indices().find(|(_, c)| {
                depth += usize::from(*c == opening);
                depth -= usize::from(*c == close).min(depth);
                depth == 0
            });
            end.map_or((rest, ""), |(at, _)| (rest.get(open..at).unwrap_or_default(), &rest[at + 1..]))
        };
        if sign == '`' {
            let (_, after) = rest.split_once('`').unwrap_or((rest, ""));
            return (self.without_value("(…)"), after);
        }
        if rest.starts_with("((") {
            let (inner, after) = closed(2, ')');
            let value = self.arithmetic(inner.strip_suffix(')').unwrap_or(inner));
            return (value.map_or_else(|| self.without_value("((…))"), |value| value.to_string()), after);
        }
        match rest.chars().next() {
            Some('(') => (self.without_value("(…)"), closed(1, ')').1),
            Some('{') => {
                let (inner, after) = closed(1, '}');
                (self.parameter(inner), after)
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
                (self.parameter(&rest[..end]), &rest[end..])
            }
            Some(c) if c.is_ascii_digit() || "@*#?!-".contains(c) => {
                let (name, rest) = rest.split_at(1);
                (if c.is_ascii_digit() { self.parameter(name) } else { self.argument(name) }, rest)
            }
            _ => ("$".to_owned(), rest),
        }
    }

    fn without_value(&mut self, name: &str) -> String {
        let name = format!("${name}");
        self.unassigned.push(name.clone());
        name
    }

    /// The value of all arguments, or of their number.
    fn argument(&mut self, name: &str) -> String {
        self.joined(name).unwrap_or_else(|| self.without_value(name))
    }

    fn joined(&self, name: &str) -> Option<String> {
        let words = self.variable(name)?;
        Some(words.iter().map(|word| &*word.text).collect::<Vec<_>>().join(" "))
    }

    /// The value of what stands between `${` and `}`.
    #[inline(never)]
    fn parameter(&mut self, inner: &str) -> String {
        if let Some(counted) = inner.strip_prefix('#').and_then(|name| name.strip_suffix("[@]")) {
            let number = self.variable(counted).map(|words| words.len().to_string());
            return number.unwrap_or_else(|| self.without_value(counted));
        }
        let end = inner.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(inner.len());
        let (name, rest) = inner.split_at(end);
        if ALL_ARGUMENTS.contains(&inner) {
            return self.argument(inner);
        }
        let rest = rest.strip_prefix("[@]").or(rest.strip_prefix("[*]")).unwrap_or(rest);
        let value = self.joined(name);
        let is_lasting = rest.starts_with(":=") || rest.starts_with('=');
        let otherwise = [":-", ":=", "-", "="].iter().find_map(|sign| rest.strip_prefix(sign));
        if let Some(otherwise) = otherwise {
            if let Some(value) = value.filter(|value| !value.is_empty() || !rest.starts_with(':')) {
                return value;
            }
            let text = self.text(otherwise);
            if is_lasting {
                self.set(name.to_owned(), vec![Word { text: text.clone(), line: 0, is_known: true }]);
            }
            return text;
        }
        if let Some(instead) = rest.strip_prefix(":+").or(rest.strip_prefix('+')) {
            return if value.is_some_and(|value| !value.is_empty()) { self.text(instead) } else { String::new() };
        }
        let Some(value) = value else { return self.without_value(name) };
        if self.variable(name).is_some_and(|words| words.iter().any(|word| !word.is_known)) {
            self.unassigned.push(format!("${name}"));
        }
        let without = |sign: char| rest.strip_prefix(sign).map(|of| of.strip_prefix(sign).unwrap_or(of));
        match () {
            () if rest.is_empty() || rest.starts_with(":?") => value,
            () if rest == "^^" => value.to_uppercase(),
            () if rest == ",," => value.to_lowercase(),
            () if rest.contains(['*', '?', '[']) => self.without_value(name),
            () => match (without('%'), without('#')) {
                (Some(end), _) => value.strip_suffix(end).unwrap_or(&value).to_owned(),
                (_, Some(start)) => value.strip_prefix(start).unwrap_or(&value).to_owned(),
                _ => self.without_value(name),
            },
        }
    }

    /// The value of an expression of whole numbers; `None` where it is none, or depends on what has no value.
    fn arithmetic(&mut self, raw: &str) -> Option<i64> {
        let text = self.known(raw)?;
        let mut parts = Parts { of: self, rest: &text, depth: 0 };
        let value = parts.at_least(0)?;
        parts.rest.trim().is_empty().then_some(value)
    }

    /// What the head of a job of Slurm says of its size, which are variables that Slurm sets as well.
    fn slurm(&mut self, text: &str) -> SlurmHead {
        let head = SlurmHead::of(text);
        let SlurmHead { nodes, tasks_per_node: each, gpus_per_node: gpus, .. } = head;
        let tasks = head.tasks();
        for (name, value) in [
            ("SLURM_NNODES", nodes),
            ("SLURM_JOB_NUM_NODES", nodes),
            ("SLURM_NTASKS_PER_NODE", each),
            ("SLURM_GPUS_PER_NODE", gpus),
            ("SLURM_GPUS_ON_NODE", gpus),
            ("SLURM_NTASKS", tasks),
            ("SLURM_NPROCS", tasks),
        ] {
            if let Some((value, line)) = value {
                self.set(name.to_owned(), vec![Word { text: value.to_string(), line, is_known: true }]);
            }
        }
        head
    }
}

/// The words of a test, from the one after its bracket.
struct Test<'f, 'a> {
    of: &'f mut Follower<'a>,
    words: &'a [Token],
    at: usize,
    depth: usize,
}

impl<'a> Test<'_, 'a> {
    fn next(&mut self) -> Option<&'a Token> {
        let token = self.words.get(self.at)?;
        self.at += 1;
        Some(token)
    }

    fn takes(&mut self, either: [&str; 2]) -> bool {
        let is_next = self.words.get(self.at).is_some_and(|token| either.contains(&&*token.raw));
        self.at += usize::from(is_next);
        is_next
    }

    fn either(&mut self) -> Option<bool> {
        let mut holds = self.both();
        while self.takes(["||", "-o"]) {
            holds = match (holds, self.both()) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            };
        }
        holds
    }

    fn both(&mut self) -> Option<bool> {
        let mut holds = self.one();
        while self.takes(["&&", "-a"]) {
            holds = match (holds, self.one()) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
        }
        holds
    }

    fn one(&mut self) -> Option<bool> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        if self.takes(["!", "!"]) {
            return self.one().map(|holds| !holds);
        }
        if self.takes(["(", "("]) {
            let holds = self.either();
            self.takes([")", ")"]);
            return holds;
        }
        let first = self.next()?;
        match &*first.raw {
            "-z" => return self.value().map(|value| value.is_empty()),
            "-n" => return self.value().map(|value| !value.is_empty()),
            // Files, and whether a name is set, which the environment decides.
            sign if sign.starts_with('-') && sign.len() == 2 => {
                self.at += 1;
                return None;
            }
            _ => {}
        }
        let left = self.of.known(&first.raw);
        let Some(sign) = self.words.get(self.at).map(|token| &*token.raw) else {
            return left.map(|text| !text.is_empty());
        };
        let of_numbers: Option<fn(&i64, &i64) -> bool> = match sign {
            "-eq" => Some(i64::eq),
            "-ne" => Some(i64::ne),
            "-lt" => Some(i64::lt),
            "-le" => Some(i64::le),
            "-gt" => Some(i64::gt),
            "-ge" => Some(i64::ge),
            _ => None,
        };
        let is_text = matches!(sign, "=" | "==" | "!=");
        if !is_text && of_numbers.is_none() {
            // Ordered texts and regular expressions are not followed.
            self.at += if matches!(sign, "&&" | "||" | "-a" | "-o" | ")") { 0 } else { 2 };
            return left.filter(|_| matches!(sign, "&&" | "||" | "-a" | "-o" | ")")).map(|text| !text.is_empty());
        }
        self.at += 1;
        let right = self.value()?;
        if left.is_none() && matches!(sign, "=" | "==" | "-eq") {
            self.of.wants(&first.raw, right.clone());
        }
        let left = left?;
        match of_numbers {
            Some(compare) => Some(compare(&left.trim().parse().ok()?, &right.trim().parse().ok()?)),
            None => Some(matches(&left, &right) == (sign != "!=")),
        }
    }

    fn value(&mut self) -> Option<String> {
        let token = self.next()?;
        self.of.known(&token.raw)
    }
}

/// Operators of whole numbers, those that bind least first.
const OPERATORS: [&[&str]; 5] = [&["||"], &["&&"], &["==", "!=", "<=", ">=", "<", ">"], &["+", "-"], &["*", "/", "%"]];

/// What is left of an expression.
struct Parts<'f, 'a, 't> {
    of: &'f Follower<'a>,
    rest: &'t str,
    depth: usize,
}

impl Parts<'_, '_, '_> {
    /// A term with operators that bind at least as strongly as those of a level.
    fn at_least(&mut self, level: usize) -> Option<i64> {
        let Some(signs) = OPERATORS.get(level) else { return self.term() };
        let mut value = self.at_least(level + 1)?;
        loop {
            self.rest = self.rest.trim_start();
            let Some(sign) = signs.iter().find(|sign| self.rest.starts_with(**sign)) else { return Some(value) };
            self.rest = &self.rest[sign.len()..];
            let right = self.at_least(level + 1)?;
            value = match *sign {
                "+" => value.checked_add(right)?,
                "-" => value.checked_sub(right)?,
                "*" => value.checked_mul(right)?,
                "/" => value.checked_div(right)?,
                "%" => value.checked_rem(right)?,
                "||" => i64::from(value != 0 || right != 0),
                "&&" => i64::from(value != 0 && right != 0),
                "==" => i64::from(value == right),
                "!=" => i64::from(value != right),
                "<=" => i64::from(value <= right),
                ">=" => i64::from(value >= right),
                "<" => i64::from(value < right),
                _ => i64::from(value > right),
            };
        }
    }

    fn term(&mut self) -> Option<i64> {
        self.depth += 1;
        self.rest = self.rest.trim_start();
        let first = self.rest.chars().next().filter(|_| self.depth <= DEEPEST * 8)?;
        if matches!(first, '-' | '+' | '!' | '(') {
            self.rest = &self.rest[1..];
        }
        match first {
            '-' => return self.term()?.checked_neg(),
            '+' => return self.term(),
            '!' => return self.term().map(|value| i64::from(value == 0)),
            '(' => {
                let value = self.at_least(0)?;
                self.rest = self.rest.trim_start().strip_prefix(')')?;
                return Some(value);
            }
            _ => {}
        }
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        if first.is_ascii_digit() { word.parse().ok() } else { self.of.joined(word)?.trim().parse().ok() }
    }
}
