//! A real libnccl that loads the plugin by its own code, without a GPU.
//!
//! No communicator can be made without one, so the functions that a communicator's creation calls are called alone.
//! They are not exported; the libraries of NVIDIA's wheels carry their names in a table of symbols. Source:
//! NVIDIA/nccl, src/plugin/tuner.cc (`ncclTunerPluginLoad`) and src/plugin/tuner/tuner_v2.cc to tuner_v6.cc
//! (`getNcclTuner_v2` …).

#![allow(unsafe_code)]

use std::{
    ffi::{c_int, c_void},
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::Path,
};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::{
    library::{Plugin, Version},
    profiler::Interface,
};

/// Larger than any `ncclComm`.
const COMMUNICATOR: usize = 64 << 20;

/// A loaded libnccl.
pub struct Nccl {
    library: Library,
    symbols: Vec<(String, u64)>,
    base: usize,
}

impl Nccl {
    /// Loads the library and finds its functions.
    ///
    /// # Errors
    /// Returns a message if it is not a libnccl, or its symbols are stripped.
    pub fn open(path: &Path) -> Result<Self, String> {
        let symbols = symbols(path).map_err(|error| format!("{}: {error}", path.display()))?;
        // SAFETY: its constructors need no GPU.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(|error| error.to_string())?;
        let mut nccl = Self { library, symbols, base: 0 };
        // SAFETY: only its address is used.
        let address = unsafe { nccl.library.get::<unsafe extern "C" fn(*mut c_int) -> c_int>(b"ncclGetVersion") };
        let address = address.map_err(|error| error.to_string())?.into_raw() as usize;
        let place = nccl.place("ncclGetVersion").ok_or("its functions have no names")?;
        nccl.base = address.checked_sub(place).ok_or("its functions are elsewhere")?;
        Ok(nccl)
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.symbols.iter().find(|(own, _)| own == name).map(|(_, place)| *place as usize)
    }

    /// The version by `ncclGetVersion`: 22809 stands for 2.28.9.
    pub fn version(&self) -> i32 {
        let mut version = 0;
        // SAFETY: the function is of this type.
        unsafe {
            if let Ok(function) = self.library.get::<unsafe extern "C" fn(*mut c_int) -> c_int>(b"ncclGetVersion") {
                function(&raw mut version);
            }
        }
        version
    }

    /// Lets the library load the plugin that `NCCL_TUNER_PLUGIN` names, as for a new communicator. Returns the address
    /// of the tuner, or `None` if it took none.
    ///
    /// # Errors
    /// Returns a message if the function is missing or fails.
    pub fn load(&self) -> Result<Option<usize>, String> {
        const NAMES: [&str; 2] = ["_Z19ncclTunerPluginLoadP8ncclComm", "_Z19ncclTunerPluginLoadPP14ncclTuner_v2_t"];
        let place = NAMES.iter().find_map(|name| self.place(name)).ok_or("it has no ncclTunerPluginLoad")?;
        // Words, so that the communicator is aligned.
        let mut communicator = vec![0_usize; COMMUNICATOR / size_of::<usize>()];
        // SAFETY: the function is at this place; of a communicator it writes where the tuner is, and a flag or a count.
        let result = unsafe {
            let load: unsafe extern "C" fn(*mut c_void) -> c_int = std::mem::transmute(self.base + place);
            load(communicator.as_mut_ptr().cast())
        };
        if result != 0 {
            return Err(format!("ncclTunerPluginLoad answered {result}"));
        }
        // The flag is 1, alone or in the upper half of a word; an address is neither.
        Ok(communicator.into_iter().find(|word| *word > 1 << 33))
    }

    /// Lets the library start and end the profiler that `NCCL_PROFILER_PLUGIN` names, as for rank 0 of a new
    /// communicator whose other fields are 0.
    ///
    /// # Errors
    /// Returns a message if a function is missing or fails.
    pub fn profile(&self) -> Result<(), String> {
        let mut communicator = vec![0_usize; COMMUNICATOR / size_of::<usize>()];
        for name in ["_Z22ncclProfilerPluginInitP8ncclComm", "_Z26ncclProfilerPluginFinalizeP8ncclComm"] {
            let place = self.place(name).ok_or_else(|| format!("it has no {name}"))?;
            // SAFETY: the function is at this place; of a communicator it reads numbers and a name, and writes a
            // context.
            let result = unsafe {
                let call: unsafe extern "C" fn(*mut c_void) -> c_int = std::mem::transmute(self.base + place);
                call(communicator.as_mut_ptr().cast())
            };
            if result != 0 {
                return Err(format!("{name} answered {result}"));
            }
        }
        Ok(())
    }

    /// The plugin's profiler of a version behind the library's own wrapper, to be called as the newest version that the
    /// library has. `None` without such a wrapper.
    pub fn wrapped_profiler(&self, version: u32, plugin: &Plugin) -> Option<Interface> {
        let wrapper = |version: u32| self.place(&format!("_Z18getNcclProfiler_v{version}Pv"));
        let newest = (1..=16).rev().find(|version| wrapper(*version).is_some())?;
        let place = wrapper(version)?;
        // SAFETY: the function is at this place, and looks the version's symbol up by the handle.
        let profiler = unsafe {
            let wrap: unsafe extern "C" fn(*mut c_void) -> *mut c_void = std::mem::transmute(self.base + place);
            wrap(plugin.handle())
        };
        // SAFETY: its wrapper is a profiler of the newest version that it knows, and part of it.
        (!profiler.is_null()).then(|| unsafe { Interface::at(newest, profiler as usize) })
    }

    /// The plugin behind the library's wrapper around a version of the tuner's interface, to be called as the newest
    /// version. `None` without such a wrapper, or if it refuses the tuner.
    pub fn wrapped(&self, version: Version, plugin: &Plugin) -> Option<Plugin> {
        let place = self.place(&format!("_Z15getNcclTuner_v{}Pv", version.number()))?;
        // SAFETY: the function is at this place, and looks the version's symbol up by the handle.
        let tuner = unsafe {
            let wrap: unsafe extern "C" fn(*mut c_void) -> *mut c_void = std::mem::transmute(self.base + place);
            wrap(plugin.handle())
        };
        // SAFETY: its wrapper is a tuner of the newest version that it knows, and part of it.
        if tuner.is_null() { None } else { unsafe { plugin.through(tuner as usize) }.ok() }
    }
}

/// The symbols of a 64-bit ELF file with their addresses (System V ABI, chapter 4).
fn symbols(path: &Path) -> Result<Vec<(String, u64)>, String> {
    const SYMBOLS: u64 = 2;
    let mut file = File::open(path).map_err(|error| error.to_string())?;
    let mut read = |from: u64, length: u64| {
        let mut bytes = vec![0; length as usize];
        file.seek(SeekFrom::Start(from))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(|error| error.to_string())?;
        Ok::<Vec<u8>, String>(bytes)
    };
    let header = read(0, 64)?;
    if !header.starts_with(b"\x7FELF\x02\x01") {
        return Err("is no library of 64 bits".to_owned());
    }
    let number = |bytes: &[u8], at: usize, length: usize| {
        bytes[at..at + length].iter().rev().fold(0_u64, |all, byte| all << 8 | u64::from(*byte))
    };
    let (sections, size, count) = (number(&header, 40, 8), number(&header, 58, 2), number(&header, 60, 2));
    let table = read(sections, size * count)?;
    let section = |index: u64| {
        let bytes = &table[(index * size) as usize..];
        (number(bytes, 4, 4), number(bytes, 24, 8), number(bytes, 32, 8), number(bytes, 40, 4))
    };
    let found = (0..count).map(section).find(|(kind, ..)| *kind == SYMBOLS).ok_or("has no table of symbols")?;
    let (_, from, length, link) = found;
    let entries = read(from, length)?;
    let (_, from, length, _) = section(link);
    let names = read(from, length)?;
    let symbol = |entry: &[u8]| {
        let name = names.get(number(entry, 0, 4) as usize..)?.split(|byte| *byte == 0).next()?;
        let place = number(entry, 8, 8);
        (place > 0).then(|| (String::from_utf8_lossy(name).into_owned(), place))
    };
    Ok(entries.chunks_exact(24).filter_map(symbol).collect())
}
