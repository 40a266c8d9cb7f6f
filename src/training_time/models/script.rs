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
/// The most commands that are followed: loops could repeat theirs without end.
const MOST_STEPS: usize = 8_000;
/// The most bytes of words that are kept.
const MOST_KEPT: usize = 16 << 20;
/// The largest text that is followed as a script: longer ones are logs.
const LARGEST_SCRIPT: usize = 1 << 20;
/// Options of Megatron that take as many words as follow.
pub(super) const LISTS: [&str; 1] = ["recompute-modules"];

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
    /// What was not followed to its end, a sentence each.
    pub notes: Vec<String>,
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
        // What a here-document holds counts only where nothing else trains a model, as with `sbatch <<EOT`.
        let of = |keeps_documents| Self::followed(text, holds, keeps_documents);
        let trains = |script: &Self| script.commands.iter().any(|command| has_layers(&command.words));
        match of(false) {
            Some(script) if trains(&script) || !text.contains("<<") => script,
            Some(script) => of(true).filter(trains).unwrap_or(script),
            None => Self::of_log(text),
        }
    }

    /// `None` if the text is no whole script.
    fn followed(text: &str, holds: &[bool], keeps_documents: bool) -> Option<Self> {
        let tokens = if text.len() <= LARGEST_SCRIPT { lex(text, 1, keeps_documents)? } else { return None };
        let mut follower = Follower { tokens: &tokens, holds, ..Follower::default() };
        let slurm = follower.slurm(text);
        let is_whole = follower.block(true, &[]).is_none();
        follower.uncalled();
        let is_whole = is_whole && !follower.is_broken;
        let Follower { commands, assumptions, notes, .. } = follower;
        is_whole.then_some(Self { commands, assumptions, notes, slurm })
    }

    /// Reads the commands of a text that is no whole script: each line by itself, with those that go on.
    pub fn of_log(text: &str) -> Self {
        Self { commands: line_by_line(text), ..Self::default() }
    }
}

/// Whether words name the number of layers, without which they are no model.
pub(super) fn has_layers(words: &[Word]) -> bool {
    words.iter().any(|word| word.text.contains("num-layers") || word.text.contains("num_layers"))
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
    /// Commands that were followed.
    steps: usize,
    /// How many branches enclose a command of which it is assumed that they are taken.
    guesses: usize,
    /// Whether a program was run whose success nothing tells.
    ran_program: bool,
    /// How many loops are left: all that follows in them is skipped. [`ALL`] after `exit`.
    left: usize,
    /// Whether the last loop that is left goes on with its next round.
    goes_on: bool,
    notes: Vec<String>,
    /// How often a variable got another value.
    changes: usize,
    /// Where the journal of the innermost subshell begins.
    scope: Option<usize>,
    /// Names with the words that they had before a subshell, the innermost last.
    journal: Vec<(String, Option<Vec<Word>>)>,
    /// Bytes of the words that were kept.
    kept: usize,
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

/// Where the journal of the subshell around another one begins, and how many changes there were before.
type Outer = (Option<usize>, usize);

/// Every loop, and the script.
const ALL: usize = usize::MAX;

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Name, whether it is appended to, and raw value of an assignment.
fn assignment(raw: &str) -> Option<(&str, bool, &str)> {
    let (name, value) = raw.split_once('=')?;
    let (name, is_more) = name.strip_suffix('+').map_or((name, false), |name| (name, true));
    let (base, key) = name.split_once('[').unwrap_or((name, "]"));
    (is_name(base) && key.ends_with(']')).then_some((name, is_more, value))
}

/// What stands between `[` and its `]` at the start of a text, and the rest.
fn in_brackets(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0_usize;
    let end = text.char_indices().find(|(_, c)| {
        depth += usize::from(*c == '[');
        depth -= usize::from(*c == ']').min(depth);
        depth == 0
    });
    let (end, _) = end.filter(|(end, _)| *end > 0)?;
    Some((text.get(1..end)?, &text[end + 1..]))
}

/// A text that has no value in one word: what follows its first blank is left out.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 40;
    let short: String = text.chars().take(LONGEST).take_while(|c| !c.is_whitespace()).collect();
    if short.len() < text.len() { short + "…" } else { short }
}

/// The ends of `{1..8}` and `$(seq 1 8)`.
fn range(raw: &str) -> Option<(i64, i64)> {
    let counted = raw.strip_prefix("$(seq ").and_then(|raw| raw.strip_suffix(')')).map(str::trim);
    let (first, last) = match counted {
        Some(counted) => counted.split_once(' ').unwrap_or(("1", counted)),
        None => raw.strip_prefix('{')?.strip_suffix('}')?.split_once("..")?,
    };
    Some((first.parse().ok()?, last.parse().ok()?))
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

    /// Gives a variable other words, or takes them away; the words before.
    fn exchange(&mut self, name: &str, words: Option<Vec<Word>>) -> Option<Vec<Word>> {
        match (self.variables.iter().position(|(known, _)| known == name), words) {
            (Some(at), Some(words)) => Some(std::mem::replace(&mut self.variables[at].1, words)),
            (Some(at), None) => Some(self.variables.swap_remove(at).1),
            (None, Some(words)) if self.variables.len() < MOST_VARIABLES => {
                self.variables.push((name.to_owned(), words));
                None
            }
            (None, _) => None,
        }
    }

    #[inline(never)]
    fn set(&mut self, name: String, words: Option<Vec<Word>>) {
        if self.variable(&name) == words.as_ref() {
            return;
        }
        self.changes += 1;
        let before = self.exchange(&name, words);
        let Some(start) = self.scope else { return };
        if !self.journal[start..].iter().any(|(known, _)| *known == name) {
            self.journal.push((name, before));
            self.is_broken |= self.journal.len() > MOST_VARIABLES;
        }
    }

    /// Begins what has variables of its own; what ends it again.
    fn begin(&mut self) -> Outer {
        (self.scope.replace(self.journal.len()), self.changes)
    }

    /// Gives the variables the values back that they had before [`Self::begin`].
    fn end(&mut self, (outer, changes): Outer) {
        self.changes = changes;
        let start = std::mem::replace(&mut self.scope, outer).unwrap_or(0);
        while self.journal.len() > start {
            if let Some((name, words)) = self.journal.pop() {
                self.exchange(&name, words);
            }
        }
    }

    fn line(&mut self, text: &str, number: u32) {
        // An apostrophe in the text of a log opens nothing.
        let tokens = lex(text, number, true)
            .or_else(|| lex(&text.replace(['\'', '"', '`'], " "), number, true))
            .unwrap_or_default();
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
        let runs = runs && self.left == 0;
        let mut succeeds = self.command(runs);
        let mut is_guess = false;
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
                is_guess = true;
            }
            let goes_on = runs && succeeds == Some(is_and);
            self.guesses += usize::from(is_guess);
            let next = self.command(goes_on);
            self.guesses -= usize::from(is_guess);
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
        let assumption = Assumption { line, what };
        // A loop asks again in each round.
        let known = self.assumptions.iter().position(|known| *known == assumption);
        let holds = self.is_flat || self.holds.get(known.unwrap_or(self.assumptions.len())).is_none_or(|holds| *holds);
        if !self.is_flat && known.is_none() {
            self.assumptions.push(assumption);
        }
        for (name, text) in std::mem::take(&mut self.wanted).into_iter().filter(|_| holds) {
            self.set(name, Some(vec![Word { text, line, is_known: true }]));
        }
        holds
    }

    /// Takes back what was noted of names without a value, before another condition is looked at.
    fn forget(&mut self) {
        self.unassigned.clear();
        self.wanted.clear();
    }

    fn command(&mut self, runs: bool) -> Option<bool> {
        self.steps += 1;
        let runs = runs && self.left == 0;
        let token = self.peek()?;
        let starts = |word: &str| !self.is_flat && token.raw == word;
        match () {
            () if starts("!") && self.depth <= DEEPEST => {
                self.at += 1;
                self.depth += 1;
                let holds = self.command(runs);
                self.depth -= 1;
                return holds.map(|holds| !holds);
            }
            () if starts("if") => self.branches(runs),
            () if starts("case") => self.cases(runs),
            () if starts("for") => self.each(runs),
            () if starts("while") || starts("until") => self.repeat(runs, token.raw == "until"),
            () if starts("{") => {
                self.at += 1;
                self.block(runs, &["}"]);
            }
            () if starts("(") => {
                // What a subshell assigns ends with it, and `exit` leaves it alone.
                self.at += 1;
                let outer = self.begin();
                self.block(runs, &[")"]);
                self.end(outer);
                if runs {
                    self.left = 0;
                }
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
        let is_argument = |name: &String| ALL_ARGUMENTS.contains(&name.as_str()) || name.parse::<u32>().is_ok();
        let known: Vec<String> =
            self.variables.iter().map(|(name, _)| name).filter(|name| is_argument(name)).cloned().collect();
        known.into_iter().for_each(|name| self.set(name, None));
        let Some(arguments) = self.arguments.clone() else { return };
        for (word, number) in arguments.iter().zip(1_u32..) {
            self.set(number.to_string(), Some(vec![word.clone()]));
        }
        let line = arguments.first().map_or(0, |word| word.line);
        let number = Word { text: arguments.len().to_string(), line, is_known: true };
        for (name, words) in ALL_ARGUMENTS.into_iter().zip([arguments.clone(), arguments, vec![number]]) {
            self.set(name.to_owned(), Some(words));
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

    /// Follows a condition up to the word that ends it; `None` where nothing in the file decides whether it holds.
    fn condition(&mut self, runs: bool, end: &str) -> Option<bool> {
        self.forget();
        self.ran_program = false;
        let mut holds = None;
        while self.peek().is_some_and(|token| token.raw != end) && !self.is_broken {
            let before = self.at;
            if !self.takes("\n") && !self.takes(";") {
                holds = self.conditional(runs);
                self.at += usize::from(self.at == before);
            }
        }
        holds.filter(|_| !self.ran_program)
    }

    /// Whether another round of a loop can be followed; the note on it where not.
    fn has_room(&mut self, line: u32) -> bool {
        self.steps += 1;
        let has_room = self.steps < MOST_STEPS;
        if !has_room && self.notes.is_empty() {
            self.notes.push(format!("Line {line}: the loop is not followed to its end: it has too many rounds"));
        }
        has_room
    }

    /// A round of a loop, from behind its `do`; whether another one may follow.
    fn round(&mut self, runs: bool) -> bool {
        self.block(runs, &["done"]);
        if self.left == 0 || self.left == ALL {
            return self.left == 0 && !self.is_broken;
        }
        self.left -= usize::from(runs);
        self.left == 0 && std::mem::take(&mut self.goes_on)
    }

    /// `while` and `until`. Where nothing decides the condition there is one round.
    fn repeat(&mut self, runs: bool, is_until: bool) {
        let line = self.peek().map_or(0, |token| token.line);
        self.at += 1;
        let first = self.at;
        loop {
            let before = self.changes;
            self.at = first;
            let holds = self.condition(runs, "do");
            let condition = first..self.at - usize::from(self.at > first);
            let is_guess = runs && holds.is_none();
            let holds = if is_guess { self.assume(line, condition) } else { holds != Some(is_until) };
            self.at += 1;
            let runs = runs && holds && self.has_room(line);
            self.guesses += usize::from(is_guess);
            let goes_on = self.round(runs);
            self.guesses -= usize::from(is_guess);
            // A round that changes nothing would be repeated as it was.
            if !runs || is_guess || !goes_on || self.changes == before {
                return;
            }
        }
    }

    fn branches(&mut self, runs: bool) {
        let mut is_done = !runs;
        let mut guesses = 0;
        loop {
            self.at += 1;
            let (line, first) = (self.peek().map_or(0, |token| token.line), self.at);
            let mut holds = self.condition(!is_done, "then");
            let condition = first..self.at - usize::from(self.at > first);
            if !is_done && holds.is_none() {
                holds = Some(self.assume(line, condition));
                self.guesses += 1;
                guesses += 1;
            }
            self.at += 1;
            let is_taken = !is_done && holds == Some(true);
            is_done |= is_taken;
            match self.block(is_taken, &["elif", "else", "fi"]) {
                Some("elif") => self.at -= 1,
                Some("else") => {
                    self.block(!is_done, &["fi"]);
                    break;
                }
                _ => break,
            }
        }
        self.guesses -= guesses;
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
            let is_guess = !is_done && holds.is_none();
            if is_guess {
                let names = self.unassigned.join(", ");
                let what = format!("{} of the case is taken: the file does not say {}", token.raw, excerpt(&names));
                holds = Some(self.assumed(token.line, what));
            }
            self.at += 1;
            let is_taken = !is_done && holds == Some(true);
            is_done |= is_taken;
            self.guesses += usize::from(is_guess);
            let end = self.block(is_taken, &[";;", "esac"]);
            self.guesses -= usize::from(is_guess);
            if end != Some(";;") {
                return;
            }
        }
        self.is_broken = true;
    }

    /// A loop over words, or one that counts. Where its words have no value there is one round.
    fn each(&mut self, runs: bool) {
        self.at += 1;
        let Some(name) = self.peek() else { return };
        self.at += 1;
        if let Some(parts) = name.raw.strip_prefix("((").and_then(|raw| raw.strip_suffix("))")) {
            self.counts(runs, parts, name.line);
            return;
        }
        let mut values = Vec::new();
        let mut is_open = true;
        while let Some(token) = self.peek().filter(|token| token.raw != "do") {
            self.at += 1;
            is_open &= matches!(&*token.raw, ";" | "\n");
            if !runs || matches!(&*token.raw, "in" | ";" | "\n") {
                continue;
            }
            let of_text = |text: String| Word { text, line: token.line, is_known: true };
            values.truncate(MOST_WORDS);
            if let Some((first, last)) = range(&token.raw) {
                values.extend((first..=last).take(MOST_WORDS).map(|number| of_text(number.to_string())));
                continue;
            }
            let words = self.expand(token);
            if token.raw.starts_with(['"', '\'']) {
                values.extend(words);
                continue;
            }
            values.truncate(MOST_WORDS);
            for word in words {
                values.extend(word.text.split_whitespace().map(|text| Word { text: text.to_owned(), ..word.clone() }));
            }
        }
        self.at += 1;
        let first = self.at;
        // What the script is given.
        if is_open {
            values = vec![self.word("$@", name.line)];
        }
        let unknown = values.iter().find(|value| !value.is_known);
        let guess = unknown.map(|value| format!("the loop over {} is taken to have one round", excerpt(&value.text)));
        let is_guess = runs && guess.is_some();
        let is_run = guess.filter(|_| runs).is_none_or(|what| self.assumed(name.line, what));
        values.truncate(if is_guess { usize::from(is_run) } else { MOST_WORDS });
        self.guesses += usize::from(is_guess);
        let mut goes_on = runs && is_name(&name.raw) && !values.is_empty();
        if !goes_on {
            self.round(false);
        }
        let mut values = values.into_iter();
        while goes_on && let Some(value) = values.next() {
            self.at = first;
            self.set(name.raw.clone(), Some(vec![value]));
            let has_room = self.has_room(name.line);
            goes_on = self.round(has_room) && has_room;
        }
        self.guesses -= usize::from(is_guess);
    }

    /// `for ((first; condition; step))`, of which these are the parts.
    fn counts(&mut self, runs: bool, parts: &str, line: u32) {
        while self.peek().is_some_and(|token| token.raw != "do") {
            self.at += 1;
        }
        self.at += 1;
        let body = self.at;
        let mut parts = parts.split(';').map(str::trim);
        let [first, condition, step] = [(); 3].map(|()| parts.next().unwrap_or_default());
        if runs && !first.is_empty() {
            self.arithmetic(first);
        }
        let mut is_run = runs;
        loop {
            let before = self.changes;
            self.at = body;
            self.forget();
            let holds = if is_run && !condition.is_empty() { self.arithmetic(condition) } else { Some(1) };
            let is_guess = holds.is_none();
            let what = format!("{} of the loop is taken to hold once", excerpt(condition));
            is_run =
                is_run && holds.map_or_else(|| self.assumed(line, what), |holds| holds != 0) && self.has_room(line);
            self.guesses += usize::from(is_guess);
            let goes_on = self.round(is_run);
            self.guesses -= usize::from(is_guess);
            if !is_run || is_guess || !goes_on {
                return;
            }
            if !step.is_empty() {
                self.arithmetic(step);
            }
            if self.changes == before {
                return;
            }
        }
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
        let mut declares = false;
        let mut is_number = false;
        let mut assignments = Vec::new();
        while let Some((token, rest)) = words.split_first() {
            match assignment(&token.raw) {
                Some((name, is_more, value)) => assignments.push((name, is_more, value, token.line)),
                None if matches!(&*token.raw, "export" | "local" | "readonly" | "declare" | "typeset") => {
                    declares = true;
                }
                // Options of a declaration, and names without a value.
                None if declares => is_number |= token.raw.starts_with('-') && token.raw.contains('i'),
                None => break,
            }
            words = rest;
        }
        if let Some((Token { raw, .. }, rest)) = words.split_first()
            && !self.is_flat
            && let Some(succeeds) = self.builtin(raw, rest)
        {
            return succeeds;
        }
        // The shell puts values into the words of a command before the command gets its own variables.
        let of_command = !words.is_empty() && !assignments.is_empty();
        let words: Vec<Word> = words.iter().flat_map(|token| self.expand(token)).collect();
        let outer = of_command.then(|| self.begin());
        for (name, is_more, value, line) in assignments {
            match is_number.then(|| self.arithmetic(value)).flatten() {
                Some(number) => {
                    self.set(name.to_owned(), Some(vec![Word { text: number.to_string(), line, is_known: true }]));
                }
                None => self.assign(name, is_more, value, line),
            }
        }
        if let Some(outer) = outer {
            self.end(outer);
        }
        if self.shifts(&words) || self.calls(&words) {
            return Some(true);
        }
        self.ran_program |= !words.is_empty();
        self.keep(words, false);
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

    /// A command of the shell itself, with the words after its name: whether it succeeds, if that is known; `None` for
    /// any other command.
    #[inline(never)]
    fn builtin(&mut self, name: &str, words: &[Token]) -> Option<Option<bool>> {
        match name {
            "unset" => {
                for token in words.iter().filter(|token| !token.raw.starts_with('-')) {
                    let of_it = |known: &String| {
                        known.strip_prefix(&*token.raw).is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
                    };
                    let names: Vec<String> =
                        self.variables.iter().map(|(name, _)| name).filter(|name| of_it(name)).cloned().collect();
                    names.into_iter().for_each(|name| self.set(name, None));
                }
            }
            "let" => {
                let values: Vec<_> = words.iter().map(|token| self.arithmetic(&token.raw)).collect();
                return Some(values.last().copied().flatten().map(|value| value != 0));
            }
            "read" => words.iter().filter(|token| is_name(&token.raw)).for_each(|token| {
                let unknown = Word { text: format!("${}", token.raw), line: token.line, is_known: false };
                self.set(token.raw.clone(), Some(vec![unknown]));
                self.ran_program = true;
            }),
            "break" | "continue" => {
                self.left = words.first().and_then(|token| token.raw.parse().ok()).unwrap_or(1);
                self.goes_on = name == "continue";
            }
            // What is taken by assumption leaves nothing: most such branches refuse what the script was given.
            "exit" if self.guesses == 0 => self.left = ALL,
            // What is printed starts nothing.
            "exit" | "echo" | "printf" => words.iter().for_each(|token| _ = self.expand(token)),
            _ => return None,
        }
        Some(Some(true))
    }

    /// Keeps the options of a command with their values.
    fn keep(&mut self, words: Vec<Word>, is_assignment: bool) {
        let (mut was_option, mut is_list) = (false, false);
        let whole = words.iter().filter(|_| !is_assignment).map(|word| word.text.clone()).collect();
        let words: Vec<Word> = words
            .into_iter()
            .filter(|Word { text, .. }| {
                let is_option = text.trim_start().starts_with('-');
                if is_option {
                    is_list = LISTS.contains(&text.trim_matches([' ', '-']));
                }
                std::mem::replace(&mut was_option, is_option || text.contains(" -")) || was_option || is_list
            })
            .collect();
        self.kept += words.iter().map(|word| word.text.len() + 1).sum::<usize>();
        if !words.is_empty() && self.kept <= MOST_KEPT {
            self.commands.push(Command { words, whole, is_assignment });
        }
    }

    fn assign(&mut self, name: &str, is_more: bool, raw: &str, line: u32) {
        let list = raw.strip_prefix('(').and_then(|raw| raw.strip_suffix(')'));
        let mut words = match list {
            Some(inner) => {
                let tokens = lex(inner, line, true).unwrap_or_default();
                let (keyed, plain): (Vec<_>, Vec<_>) = tokens
                    .iter()
                    .filter(|token| !token.is_operator)
                    .partition(|token| token.raw.starts_with('[') && token.raw.contains("]="));
                // `[key]=value`: an element by its name.
                for token in keyed {
                    if let Some((key, value)) = in_brackets(&token.raw)
                        && let Some(value) = value.strip_prefix('=')
                    {
                        self.assign(&format!("{name}[{key}]"), false, value, token.line);
                    }
                }
                plain.into_iter().flat_map(|token| self.expand(token)).collect()
            }
            None => vec![self.word(raw, line)],
        };
        self.keep(words.clone(), true);
        words.truncate(MOST_WORDS);
        words.iter_mut().filter(|word| word.text.len() > LONGEST_WORD).for_each(|word| word.text.clear());
        if let Some((base, key)) = name.split_once('[') {
            let key = self.text(key.strip_suffix(']').unwrap_or(key));
            // An element of a list, which may be one more than it has.
            if let (Some(index), Some(mut all)) = (self.index(&key), self.variable(base).cloned())
                && index <= all.len()
                && index < MOST_WORDS
            {
                all.splice(index..all.len().min(index + 1), words);
                self.set(base.to_owned(), Some(all));
            } else {
                self.set(format!("{base}[{key}]"), Some(words));
            }
            return;
        }
        if is_more && let Some(mut before) = self.variable(name).cloned() {
            match (&mut before[..], list) {
                ([only], None) => only.text.push_str(&words[0].text),
                _ => before.append(&mut words),
            }
            before.truncate(MOST_WORDS);
            before.iter_mut().filter(|word| word.text.len() > LONGEST_WORD).for_each(|word| word.text.clear());
            words = before;
        }
        self.set(name.to_owned(), Some(words));
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
            let (inner, after) = rest.split_once('`').unwrap_or((rest, ""));
            return (self.without_value(&format!("({})", shortened(inner))), after);
        }
        if rest.starts_with("((") {
            let (inner, after) = closed(2, ')');
            let inner = inner.strip_suffix(')').unwrap_or(inner);
            let before = self.unassigned.len();
            if let Some(value) = self.arithmetic(inner) {
                return (value.to_string(), after);
            }
            // Mostly it is one name that has no value.
            let name = self.unassigned.get(before).cloned();
            let whole = || self.without_value(&format!("(({}))", shortened(inner)));
            return (name.unwrap_or_else(whole), after);
        }
        match rest.chars().next() {
            Some('(') => {
                let (inner, after) = closed(1, ')');
                (self.without_value(&format!("({})", shortened(inner))), after)
            }
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

    /// An expansion that has a value in a shell, and is not followed here.
    fn not_followed(&mut self, inner: &str) -> String {
        self.without_value(&format!("{{{}}}", shortened(inner)))
    }

    /// The value of what stands between `${` and `}`.
    #[inline(never)]
    fn parameter(&mut self, inner: &str) -> String {
        if let Some(counted) = inner.strip_prefix('#') {
            let (name, is_list) = counted.strip_suffix("[@]").map_or((counted, false), |name| (name, true));
            let words = self.variable(name).filter(|words| is_list || words.iter().all(|word| word.is_known));
            let length = |words: &Vec<Word>| words.iter().map(|word| word.text.chars().count()).sum::<usize>();
            let number = words.map(|words| if is_list { words.len() } else { length(words) });
            return number.map_or_else(|| self.without_value(name), |number| number.to_string());
        }
        if let Some(pointer) = inner.strip_prefix('!').filter(|name| is_name(name)) {
            return match self.joined(pointer) {
                Some(name) if is_name(&name) && self.depth <= DEEPEST => self.parameter(&name),
                Some(_) => self.not_followed(inner),
                None => self.without_value(pointer),
            };
        }
        let end = inner.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(inner.len());
        let (name, rest) = inner.split_at(end);
        if ALL_ARGUMENTS.contains(&inner) {
            return self.argument(inner);
        }
        let is_list = rest.starts_with("[@]") || rest.starts_with("[*]");
        let mut rest = if is_list { &rest[3..] } else { rest };
        let key = in_brackets(rest);
        rest = key.map_or(rest, |(_, after)| after);
        let element = key.and_then(|(key, _)| self.element(name, key));
        let value = if key.is_some() { element.as_ref().map(|word| word.text.clone()) } else { self.joined(name) };
        let is_lasting = rest.starts_with(":=") || rest.starts_with('=');
        let otherwise = [":-", ":=", "-", "="].iter().find_map(|sign| rest.strip_prefix(sign));
        if let Some(otherwise) = otherwise {
            if let Some(value) = value.filter(|value| !value.is_empty() || !rest.starts_with(':')) {
                return value;
            }
            let text = self.text(otherwise);
            if is_lasting {
                self.set(name.to_owned(), Some(vec![Word { text: text.clone(), line: 0, is_known: true }]));
            }
            return text;
        }
        if let Some(instead) = rest.strip_prefix(":+").or(rest.strip_prefix('+')) {
            return if value.is_some_and(|value| !value.is_empty()) { self.text(instead) } else { String::new() };
        }
        let Some(value) = value else {
            return if key.is_some() { self.not_followed(inner) } else { self.without_value(name) };
        };
        let is_unknown = |words: &[Word]| words.iter().any(|word| !word.is_known);
        if element
            .as_ref()
            .map_or_else(|| self.variable(name).is_some_and(|words| is_unknown(words)), |word| !word.is_known)
        {
            self.unassigned.push(format!("${name}"));
        }
        match () {
            () if rest.is_empty() || rest.starts_with(":?") => value,
            () if rest == "^^" => value.to_uppercase(),
            () if rest == ",," => value.to_lowercase(),
            () if is_list => self.not_followed(inner),
            () => self.changed(&value, rest).unwrap_or_else(|| self.not_followed(inner)),
        }
    }

    /// An element of a list by its number, or by its name.
    fn element(&mut self, name: &str, key: &str) -> Option<Word> {
        let key = self.text(key);
        if let Some(words) = self.variable(&format!("{name}[{key}]")) {
            return words.first().cloned();
        }
        let index = self.index(&key)?;
        self.variable(name)?.get(index).cloned()
    }

    fn index(&mut self, key: &str) -> Option<usize> {
        let before = self.unassigned.len();
        let index = self.arithmetic(key);
        // A key that is a name has no value.
        self.unassigned.truncate(before);
        usize::try_from(index?).ok()
    }

    /// A value of which a part is cut off or replaced, as in `${NAME:1:2}`, `${NAME//a/b}`, `${NAME#a}` and
    /// `${NAME%%a*}`; `None` for what is not followed.
    fn changed(&mut self, value: &str, how: &str) -> Option<String> {
        /// The longest text in which a pattern is looked for.
        const LONGEST: usize = 1 << 8;
        if let Some(part) = how.strip_prefix(':') {
            let (from, length) = part.split_once(':').map_or((part, None), |(from, length)| (from, Some(length)));
            let all: Vec<char> = value.chars().collect();
            let place = |at: i64, base: usize| {
                let at = if at < 0 { i64::try_from(all.len()).ok()? + at } else { at + i64::try_from(base).ok()? };
                usize::try_from(at).ok().map(|at| at.min(all.len()))
            };
            let from = place(self.arithmetic(from)?, 0)?;
            let to = match length {
                Some(length) => place(self.arithmetic(length)?, from)?,
                None => all.len(),
            };
            return Some(all.get(from..to)?.iter().collect());
        }
        if let Some(part) = how.strip_prefix('/') {
            let (is_each, part) = part.strip_prefix('/').map_or((false, part), |part| (true, part));
            let (old, new) = part.split_once('/').unwrap_or((part, ""));
            let (old, new) = (self.known(old)?, self.known(new)?);
            let is_plain = !old.is_empty() && !old.contains(['*', '?', '[']) && !old.starts_with(['#', '%']);
            let replaced = || if is_each { value.replace(&old, &new) } else { value.replacen(&old, &new, 1) };
            return (is_plain && value.len() * (new.len() + 1) <= 64 * LONGEST_WORD).then(replaced);
        }
        let sign = how.chars().next().filter(|sign| matches!(sign, '#' | '%'))?;
        let (is_longest, pattern) = how[1..].strip_prefix(sign).map_or((false, &how[1..]), |pattern| (true, pattern));
        let pattern = self.known(pattern)?;
        let stars = pattern.matches('*').count();
        if pattern.contains(['?', '[']) || stars > 1 || value.len() > LONGEST && stars > 0 {
            return None;
        }
        let mut cuts = value.char_indices().map(|(at, _)| at).chain([value.len()]);
        let (start, end) =
            (|at: &usize| matches(&value[..*at], &pattern), |at: &usize| matches(&value[*at..], &pattern));
        Some(
            match (sign, is_longest) {
                ('#', false) => &value[cuts.find(start).unwrap_or(0)..],
                ('#', true) => &value[cuts.rev().find(start).unwrap_or(0)..],
                (_, false) => &value[..cuts.rev().find(end).unwrap_or(value.len())],
                (_, true) => &value[..cuts.find(end).unwrap_or(value.len())],
            }
            .to_owned(),
        )
    }

    /// The value of an expression of whole numbers; `None` where it is none, or depends on what has no value.
    fn arithmetic(&mut self, raw: &str) -> Option<i64> {
        let text = self.known(raw)?;
        let mut parts = Parts { of: self, rest: &text, depth: 0, runs: true };
        let mut value = parts.choice()?;
        while parts.takes(",") {
            value = parts.choice()?;
        }
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
                self.set(name.to_owned(), Some(vec![Word { text: value.to_string(), line, is_known: true }]));
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
const OPERATORS: [&[&str]; 6] =
    [&["||"], &["&&"], &["==", "!=", "<=", ">=", "<", ">"], &["<<", ">>"], &["+", "-"], &["*", "/", "%"]];

/// What is left of an expression.
struct Parts<'f, 'a, 't> {
    of: &'f mut Follower<'a>,
    rest: &'t str,
    depth: usize,
    /// Whether what is assigned counts.
    runs: bool,
}

impl Parts<'_, '_, '_> {
    fn takes(&mut self, sign: &str) -> bool {
        self.rest = self.rest.trim_start();
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// The value of two operands with a sign of the shell's arithmetic between them; `None` where it overflows, divides
    /// by zero or has an unknown sign.
    fn of_both(sign: &str, value: i64, right: i64) -> Option<i64> {
        let times = || u32::try_from(right).ok();
        Some(match sign {
            "+" => value.checked_add(right)?,
            "-" => value.checked_sub(right)?,
            "*" => value.checked_mul(right)?,
            "/" => value.checked_div(right)?,
            "%" => value.checked_rem(right)?,
            "**" => value.checked_pow(times()?)?,
            "<<" => value.checked_mul(1_i64.checked_shl(times()?).filter(|by| *by > 0)?)?,
            ">>" => value.checked_shr(times()?)?,
            "||" => i64::from(value != 0 || right != 0),
            "&&" => i64::from(value != 0 && right != 0),
            "==" => i64::from(value == right),
            "!=" => i64::from(value != right),
            "<=" => i64::from(value <= right),
            ">=" => i64::from(value >= right),
            "<" => i64::from(value < right),
            _ => i64::from(value > right),
        })
    }

    /// A term, or one of two: `condition ? one : other`.
    fn choice(&mut self) -> Option<i64> {
        self.depth += 1;
        let value = self.at_least(0)?;
        if !self.takes("?") {
            return Some(value);
        }
        let runs = std::mem::replace(&mut self.runs, value != 0);
        let one = self.choice()?;
        self.runs = runs && value == 0;
        let other = if self.takes(":") { self.choice()? } else { return None };
        self.runs = runs;
        Some(if value == 0 { other } else { one })
    }

    /// A term with operators that bind at least as strongly as those of a level.
    fn at_least(&mut self, level: usize) -> Option<i64> {
        let Some(signs) = OPERATORS.get(level) else { return self.power() };
        let mut value = self.at_least(level + 1)?;
        loop {
            self.rest = self.rest.trim_start();
            let Some(sign) = signs.iter().find(|sign| self.rest.starts_with(**sign)) else { return Some(value) };
            self.rest = &self.rest[sign.len()..];
            let right = self.at_least(level + 1)?;
            value = Self::of_both(sign, value, right)?;
        }
    }

    fn power(&mut self) -> Option<i64> {
        let value = self.term()?;
        if self.takes("**") { Self::of_both("**", value, self.power()?) } else { Some(value) }
    }

    fn term(&mut self) -> Option<i64> {
        self.depth += 1;
        self.rest = self.rest.trim_start();
        let first = self.rest.chars().next().filter(|_| self.depth <= DEEPEST * 8)?;
        for (sign, by) in [("++", 1), ("--", -1)] {
            if self.takes(sign) {
                let name = self.name();
                let value = self.value_of(name)?.checked_add(by)?;
                self.set(name, value);
                return Some(value);
            }
        }
        if matches!(first, '-' | '+' | '!' | '(') {
            self.rest = &self.rest[1..];
        }
        match first {
            '-' => return self.term()?.checked_neg(),
            '+' => return self.term(),
            '!' => return self.term().map(|value| i64::from(value == 0)),
            '(' => {
                let value = self.choice()?;
                return self.takes(")").then_some(value);
            }
            _ => {}
        }
        let name = self.name();
        if first.is_ascii_digit() {
            let of_base = |digits: &str, base| i64::from_str_radix(digits, base).ok();
            return match (name.strip_prefix("0x"), name.strip_prefix('0').filter(|digits| !digits.is_empty())) {
                (Some(digits), _) => of_base(digits, 16),
                (None, Some(digits)) => of_base(digits, 8),
                _ => name.parse().ok(),
            };
        }
        for (sign, by) in [("++", 1), ("--", -1)] {
            if self.takes(sign) {
                let value = self.value_of(name)?;
                self.set(name, value.checked_add(by)?);
                return Some(value);
            }
        }
        for sign in ["+", "-", "*", "/", "%", "<<", ">>", ""] {
            let rest = self.rest.trim_start().strip_prefix(sign).and_then(|rest| rest.strip_prefix('='));
            if let Some(rest) = rest.filter(|rest| !rest.starts_with('=')) {
                self.rest = rest;
                let right = self.choice()?;
                let value = if sign.is_empty() { right } else { Self::of_both(sign, self.value_of(name)?, right)? };
                self.set(name, value);
                return Some(value);
            }
        }
        self.value_of(name)
    }

    /// The value of a variable, which may be an expression itself.
    fn value_of(&mut self, name: &str) -> Option<i64> {
        let Some(value) = self.of.joined(name).filter(|_| !name.is_empty()) else {
            self.of.unassigned.extend((!name.is_empty()).then(|| format!("${name}")));
            return None;
        };
        // Values that name others could name them without end.
        self.of.steps += 1;
        let is_open = self.depth <= DEEPEST * 4 && self.of.steps < MOST_STEPS && value.len() < 1 << 6;
        let mut parts = Parts { of: &mut *self.of, rest: &value, depth: self.depth + DEEPEST, runs: self.runs };
        let number = if is_open { parts.choice()? } else { value.trim().parse().ok()? };
        (!is_open || parts.rest.trim().is_empty()).then_some(number)
    }

    fn set(&mut self, name: &str, value: i64) {
        if self.runs && is_name(name) {
            self.of.set(name.to_owned(), Some(vec![Word { text: value.to_string(), line: 0, is_known: true }]));
        }
    }
}

impl<'t> Parts<'_, '_, 't> {
    /// The name or the number with which the rest begins.
    fn name(&mut self) -> &'t str {
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }
}
