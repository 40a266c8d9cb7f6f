//! Tar archives: the heads of ustar and pax (POSIX.1-2001) and the long names of GNU tar. A head has 512 bytes and is
//! followed by the bytes of its entry, which are filled up to a multiple of 512.

use std::io::{self, Read};

use super::{LONGEST, LONGEST_IN_ALL, MOST, printable_name};

const BLOCK: usize = 512;
/// The most bytes of a long name, or of the attributes before an entry.
const LONGEST_NAME: usize = 1 << 20;

/// The reason why an archive can't be read, phrased to follow its name.
#[derive(Debug, thiserror::Error)]
pub enum TarError {
    /// The archive ends within an entry.
    #[error("is a tar archive that breaks off: copy it again")]
    Truncated,
    /// A head has a wrong checksum, as what is no tar archive has.
    #[error("is no tar archive, or a damaged one: the checksum of the head at byte {0} is wrong; pack it again")]
    Damaged(usize),
    /// An entry exceeds [`LONGEST`].
    #[error("is refused: {part} has more than {} MiB", LONGEST >> 20)]
    TooLong {
        /// The entry's name in the archive.
        part: String,
    },
    /// All entries together exceed [`LONGEST_IN_ALL`].
    #[error("is refused: it holds more than {} MiB in all; unpack it", LONGEST_IN_ALL >> 20)]
    TooLongInAll,
    /// The archive has more than [`MOST`] entries.
    #[error("is refused: it has more than {MOST} entries; unpack it")]
    TooMany,
    /// The archive can't be read.
    #[error("can't be read: {0}")]
    Unread(#[from] io::Error),
}

/// An entry of an archive, unless it is a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TarEntry {
    /// The name with folders; bytes that are no UTF-8 read as U+FFFD.
    pub name: String,
    /// The content; `None` for what is no file but a link or a device.
    pub bytes: Option<Vec<u8>>,
}

/// Reads all entries of an archive.
///
/// # Errors
/// Returns an error if the archive breaks off, is damaged or no tar archive, or exceeds the limits.
pub fn entries(mut source: impl Read) -> Result<Vec<TarEntry>, TarError> {
    let mut entries = Vec::new();
    let mut at = 0;
    // The name that the next entry has instead of that in its head.
    let mut long_name = None;
    while let Some(head) = block(&mut source)? {
        // Empty blocks end an archive, and fill it up.
        if head.iter().all(|byte| *byte == 0) {
            break;
        }
        if number(&head[148..156]) != Some(checksum(&head)) {
            return Err(TarError::Damaged(at));
        }
        let name = long_name.take().unwrap_or_else(|| name(&head));
        let kind = head[156];
        let is_name = matches!(kind, b'L' | b'x');
        let is_file = matches!(kind, b'0' | b'7' | 0);
        let length = number(&head[124..136]).unwrap_or(usize::MAX);
        let longest = if is_name { LONGEST_NAME } else { LONGEST };
        if length > longest {
            return Err(TarError::TooLong { part: printable_name(&name) });
        }
        if at + length > LONGEST_IN_ALL {
            return Err(TarError::TooLongInAll);
        }
        let bytes = content(&mut source, length)?;
        at += BLOCK + length.next_multiple_of(BLOCK);
        match kind {
            b'L' => long_name = Some(text(&bytes)),
            b'x' => long_name = path_of(&bytes),
            // Folders, and what the names of links and all entries after it have in common.
            b'5' | b'K' | b'g' => {}
            _ if entries.len() == MOST => return Err(TarError::TooMany),
            _ => entries.push(TarEntry { name, bytes: is_file.then_some(bytes) }),
        }
    }
    Ok(entries)
}

/// The next block; `None` at the end.
fn block(source: &mut impl Read) -> Result<Option<[u8; BLOCK]>, TarError> {
    let bytes = up_to(source, BLOCK)?;
    match bytes.try_into() {
        Ok(block) => Ok(Some(block)),
        Err(rest) if rest.is_empty() => Ok(None),
        Err(_) => Err(TarError::Truncated),
    }
}

/// The content of an entry; what fills it up is skipped.
fn content(source: &mut impl Read, length: usize) -> Result<Vec<u8>, TarError> {
    let mut bytes = up_to(source, length.next_multiple_of(BLOCK))?;
    if bytes.len() < length {
        return Err(TarError::Truncated);
    }
    bytes.truncate(length);
    Ok(bytes)
}

fn up_to(source: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(length as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// An octal number, as heads have them; `None` for anything else, as the binary numbers of entries of 8 GiB and more.
fn number(field: &[u8]) -> Option<usize> {
    let digits = field.split(|byte| *byte == 0).next()?.trim_ascii();
    if digits.is_empty() {
        return Some(0);
    }
    usize::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

/// The sum of the bytes of a head, its own field taken as spaces.
fn checksum(head: &[u8; BLOCK]) -> usize {
    let sum = |bytes: &[u8]| bytes.iter().map(|byte| usize::from(*byte)).sum::<usize>();
    sum(&head[..148]) + 8 * usize::from(b' ') + sum(&head[156..])
}

fn name(head: &[u8; BLOCK]) -> String {
    let name = text(&head[..100]);
    // GNU tar's own heads end the word by a space, and have other fields in the place of the prefix.
    match text(&head[345..500]) {
        prefix if &head[257..263] == b"ustar\0" && !prefix.is_empty() => format!("{prefix}/{name}"),
        _ => name,
    }
}

/// The text before the first zero byte.
fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(field.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}

/// The path among the attributes that pax writes before an entry: lines of `<length> <key>=<value>`, where the length
/// is that of the whole line and a value may hold line ends.
fn path_of(attributes: &[u8]) -> Option<String> {
    let mut rest = attributes;
    let mut path = None;
    while let Some(space) = rest.iter().position(|byte| *byte == b' ') {
        let length: usize = std::str::from_utf8(&rest[..space]).ok()?.parse().ok()?;
        let attribute = rest.get(space + 1..length)?;
        if let Some(value) = attribute.strip_prefix(b"path=") {
            path = Some(text(value.strip_suffix(b"\n").unwrap_or(value)));
        }
        rest = &rest[length..];
    }
    path
}
