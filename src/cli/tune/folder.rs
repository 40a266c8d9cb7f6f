//! The folder of a campaign: settings, journal, logs.
//!
//! The journal is appended and synced before the next launch begins. A log is written under its name while its launch
//! runs; a log that the journal doesn't name belongs to a launch that was cut off, and is replaced.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::{
    cli::{
        arguments::Measured,
        error::{CliError, refuse, told},
        files::{self, Reads},
    },
    intake::files::OpenedFiles,
    tuning::{
        ab::script::AbArm,
        campaign::{
            CampaignSettings,
            best::BestSoFar,
            drift,
            journal::{Journal, JournalEntry, LaunchOutcome, Phase, Requested},
            next::NextLaunch,
        },
        plan::script,
    },
};

const SETTINGS: &str = "campaign.json";
const JOURNAL: &str = "journal.jsonl";

/// Whether a folder is that of a campaign.
pub(super) fn is_campaign(folder: &Path) -> bool {
    folder.join(SETTINGS).exists()
}

/// The settings of the campaign in a folder.
pub(super) fn settings(folder: &Path) -> Result<CampaignSettings, CliError> {
    let name = folder.display();
    let text = fs::read_to_string(folder.join(SETTINGS))
        .map_err(|error| told(format!("{name} holds no campaign: {SETTINGS} can't be read ({error})")))?;
    let settings: CampaignSettings = serde_json::from_str(&text).map_err(|error| {
        told(format!("{name}/{SETTINGS}, line {}: these are no settings of a campaign ({error})", error.line()))
    })?;
    if settings.collectune_campaign != CampaignSettings::FORMAT {
        return refuse(format!(
            "{name}/{SETTINGS} has format {}, and this program reads {}: go on with the version that began it",
            settings.collectune_campaign,
            CampaignSettings::FORMAT
        ));
    }
    Ok(settings)
}

/// An open campaign. No other process has it open.
pub(super) struct Folder {
    path: PathBuf,
    whole_path: PathBuf,
    pub(super) settings: CampaignSettings,
    pub(super) journal: Journal,
    file: File,
}

impl Folder {
    /// Begins a campaign. Fails if the folder holds anything already.
    pub(super) fn create(path: &Path, settings: CampaignSettings) -> Result<Self, CliError> {
        if is_campaign(path) {
            let name = path.display();
            return refuse(format!(
                "{name} holds a campaign already: go on with it by collectune tune --resume {name}, or give another folder"
            ));
        }
        if path.exists() && !path.is_dir() {
            return refuse(format!("{} is a file: give -o the name of a folder", path.display()));
        }
        if fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
            return refuse(format!("{} is not empty and holds no campaign: give another folder", path.display()));
        }
        let written = || -> io::Result<File> {
            fs::create_dir_all(path)?;
            let text = serde_json::to_string_pretty(&settings)?;
            write_synced(&path.join(SETTINGS), text.as_bytes())?;
            OpenOptions::new().create(true).append(true).open(path.join(JOURNAL))
        };
        let file = written().map_err(|error| {
            told(format!("{}: {error}; no campaign was begun: give -o another folder", path.display()))
        })?;
        Self { path: path.to_owned(), whole_path: whole(path)?, settings, journal: Journal::default(), file }.locked()
    }

    /// Opens a campaign to go on with it. A torn last line is cut off: its launch is made again.
    pub(super) fn open(path: &Path) -> Result<Self, CliError> {
        let name = path.display();
        let settings = settings(path)?;
        let bytes = fs::read(path.join(JOURNAL)).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(Vec::new()),
            _ => Err(error),
        });
        let bytes = bytes.map_err(|error| unwritten(path, &error))?;
        let journal = Journal::parse(&String::from_utf8_lossy(&bytes))
            .map_err(|error| told(format!("{name}/{JOURNAL}, {error}")))?;
        let file = OpenOptions::new().create(true).append(true).open(path.join(JOURNAL));
        let file = file.map_err(|error| unwritten(path, &error))?;
        let folder = Self { path: path.to_owned(), whole_path: whole(path)?, settings, journal, file }.locked()?;
        if folder.journal.is_torn {
            let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            folder.file.set_len(whole as u64).map_err(|error| unwritten(path, &error))?;
        }
        Ok(folder)
    }

    /// Fails if another process has the campaign open.
    fn locked(self) -> Result<Self, CliError> {
        match self.file.try_lock() {
            Ok(()) => Ok(self),
            Err(fs::TryLockError::WouldBlock) => {
                refuse(format!("{}: another process goes on with this campaign", self.path.display()))
            }
            // A file system without locks has none to offer.
            Err(fs::TryLockError::Error(_)) => Ok(self),
        }
    }

    /// The folder as it was named.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder, whatever the working directory and links.
    pub(super) fn whole_path(&self) -> &Path {
        &self.whole_path
    }

    /// A file of the campaign.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Appends an entry, and waits until it is on the disk.
    pub(super) fn append(&mut self, entry: JournalEntry) -> Result<(), CliError> {
        let written = self.file.write_all(Journal::line(&entry).as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|error| unwritten(&self.path, &error))?;
        self.journal.entries.push(entry);
        Ok(())
    }

    /// The log of a launch, from the campaign's folder. Its name tells the readers what was asked for.
    pub(super) fn log_name(&self, launch: &NextLaunch) -> String {
        let number = self.next_number();
        let job = launch.job;
        let of = format!("{}_{}n", job.collective, job.scale.nodes);
        let arm = |arm: AbArm| format!("{of}_{}_r{}.log", arm.word(), launch.repeat);
        let ab = match launch.requested {
            Requested::Default => arm(AbArm::Default),
            Requested::TunerFile => arm(AbArm::Conf),
            Requested::EmptyTunerFile => arm(AbArm::Empty),
            Requested::Configuration(_) => String::new(),
        };
        let what = match launch.requested {
            Requested::Configuration(configuration) => script::name(configuration),
            _ => "default".to_owned(),
        };
        match launch.phase {
            // The readers of folders pass over what begins with a dot.
            Phase::WarmUp => format!(".warm_up/{number:03}_{of}.txt"),
            Phase::Search | Phase::Confirm => format!("logs/{}/{of}_{what}_launch{number}.log", job.folder()),
            Phase::Ab => format!("ab/{}/{ab}", job.folder()),
            Phase::AbOfRest => format!("ab_of_rest/{}/{ab}", job.folder()),
        }
    }

    /// The number of the next launch.
    pub(super) fn next_number(&self) -> u32 {
        self.journal.entries.len() as u32 + 1
    }

    /// Makes room for the log of a launch. Returns its path.
    pub(super) fn prepare(&self, log: &str) -> Result<PathBuf, CliError> {
        let path = self.file(log);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        made.map_err(|error| unwritten(&path, &error))?;
        Ok(path)
    }

    /// Where the library writes its debug lines: `%h` and `%p` are host and process.
    pub(super) fn debug_file(&self) -> Result<String, CliError> {
        let folder = self.whole_path.join("debug");
        fs::create_dir_all(&folder).map_err(|error| unwritten(&folder, &error))?;
        Ok(format!("{}/{:03}.%h.%p", folder.display(), self.next_number()))
    }

    /// Takes the debug lines that the processes of a launch left, and appends what they decided to its log: process
    /// numbers repeat themselves from launch to launch, so that files could not be told apart later. Returns them all.
    pub(super) fn take_debug(&self, log: &Path) -> Result<Vec<String>, CliError> {
        let begin = format!("{:03}.", self.next_number());
        let named = |error: io::Error| unwritten(&self.path, &error);
        let mut files: Vec<PathBuf> = fs::read_dir(self.file("debug"))
            .map_err(named)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&begin)))
            .collect();
        files.sort_unstable();
        let mut texts = Vec::new();
        for path in files {
            let text = String::from_utf8_lossy(&fs::read(&path).map_err(named)?).into_owned();
            if text.contains(DECISION) {
                append(log, &text)?;
            }
            fs::remove_file(&path).map_err(named)?;
            texts.push(text);
        }
        Ok(texts)
    }

    /// Removes the debug files of launches that were cut off.
    pub(super) fn clear_debug(&self) {
        // Where it is not there, there is nothing to remove.
        let _ = fs::remove_dir_all(self.file("debug"));
    }

    /// Reads the journal, and the logs of search and confirmation with the level of the day taken out. Returns
    /// sentences on that, too.
    pub(super) fn read(&self) -> Result<(OpenedFiles, Vec<String>), CliError> {
        let mut opened = self.read_folder("logs")?;
        let mut order = BTreeMap::new();
        for entry in self.journal.entries.iter().filter(|entry| entry.outcome == LaunchOutcome::Measured) {
            let name = files::name(&self.file(&entry.log));
            if let Some(file) = opened.files.iter().find(|file| file.name == name)
                && let Ok(number) = u16::try_from(file.id)
            {
                order.insert(number, entry.launch);
            }
        }
        // A log that the journal doesn't name is that of a launch that was cut off.
        opened.rows.retain(|row| order.contains_key(&row.file));
        let notes = drift::correct(&mut opened.rows, &order);
        opened.documents.journals.push((opened.files.len() as u32, self.journal.clone()));
        Ok((opened, notes))
    }

    /// What was fastest in search and confirmation so far, launch by launch as the journal names them.
    pub(super) fn best(&self) -> Result<BestSoFar, CliError> {
        let mut best = BestSoFar::default();
        for entry in self.journal.measurements() {
            best.take(entry.job, entry.requested, &self.read_log(&entry.log)?.rows);
        }
        Ok(best)
    }

    /// Reads one log of the campaign, which is named from its folder.
    pub(super) fn read_log(&self, log: &str) -> Result<OpenedFiles, CliError> {
        files::read_untold(&[self.file(log)], &Measured::default(), Reads::Sweeps)
    }

    /// Reads the logs of one of the campaign's folders; of one that is not there, nothing.
    pub(super) fn read_folder(&self, name: &str) -> Result<OpenedFiles, CliError> {
        let path = self.file(name);
        if !path.is_dir() {
            return Ok(OpenedFiles::default());
        }
        files::read_untold(&[path], &Measured::default(), Reads::Sweeps)
    }
}

/// What the lines have by which the library says what it decided.
const DECISION: &str = " Bytes -> ";

/// Appends lines to a log.
pub(super) fn append(log: &Path, lines: &str) -> Result<(), CliError> {
    let written = || {
        let mut file = OpenOptions::new().append(true).open(log)?;
        // A torn last line must not swallow the first of these.
        file.write_all(b"\n")?;
        file.write_all(lines.as_bytes())
    };
    written().map_err(|error| unwritten(log, &error))
}

/// Writes a file so that after a crash either nothing of it or all of it is there.
fn write_synced(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = File::create(&new)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&new, path)
}

fn whole(path: &Path) -> Result<PathBuf, CliError> {
    fs::canonicalize(path).map_err(|error| unwritten(path, &error))
}

fn unwritten(path: &Path, error: &io::Error) -> CliError {
    told(format!("{}: {error}; the campaign goes on from its last whole launch once this is mended", path.display()))
}
