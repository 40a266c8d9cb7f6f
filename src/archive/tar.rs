//! Tar archives: the heads of ustar and pax (POSIX.1-2001) and the long names of GNU tar. A head has 512 bytes and is
//! followed by the bytes of its entry, which are filled up to a multiple of 512.

use super::{ArchiveError, LONGEST, MOST, printable_name};

const BLOCK: usize = 512;

/// An entry: its name with folders, in which bytes that are no UTF-8 read as U+FFFD, and the content of a file, `None`
/// for a link or a device.
pub type TarEntry<'a> = (String, Option<&'a [u8]>);

/// The entries of an archive but its folders.
///
/// # Errors
/// Returns an error if the archive breaks off, is damaged or no tar archive, or has too many or too long entries.
pub fn entries(archive: &[u8]) -> Result<Vec<TarEntry<'_>>, ArchiveError> {
    let mut entries = Vec::new();
    let mut rest = archive;
    // The name that the next entry has instead of that in its head.
    let mut long_name = None;
    while !rest.is_empty() {
        let (head, content) = rest.split_at_checked(BLOCK).ok_or(ArchiveError::TarTruncated)?;
        // Empty blocks end an archive, and fill it up.
        if head.iter().all(|byte| *byte == 0) {
            break;
        }
        if number(&head[148..156]) != Some(checksum(head)) {
            return Err(ArchiveError::NoTar(archive.len() - rest.len()));
        }
        let length = number(&head[124..136]).unwrap_or(usize::MAX);
        let name = long_name.take().unwrap_or_else(|| name(head));
        if length > LONGEST {
            return Err(ArchiveError::TooLong { part: printable_name(&name) });
        }
        let bytes = content.get(..length).ok_or(ArchiveError::TarTruncated)?;
        rest = content.get(length.next_multiple_of(BLOCK)..).unwrap_or_default();
        match head[156] {
            b'L' => long_name = Some(text(bytes)),
            b'x' => long_name = path_of(bytes),
            // Folders, and what the names of links and all entries after it have in common.
            b'5' | b'K' | b'g' => {}
            _ if entries.len() == MOST => return Err(ArchiveError::TooMany),
            kind => entries.push((name, matches!(kind, b'0' | b'7' | 0).then_some(bytes))),
        }
    }
    Ok(entries)
}

/// An octal number, as heads have them; `None` for anything else, as the binary numbers of entries of 8 GiB and more.
fn number(field: &[u8]) -> Option<usize> {
    let digits = text(field);
    // Old programs leave the length of a folder empty.
    if digits.is_empty() { Some(0) } else { usize::from_str_radix(digits.trim(), 8).ok() }
}

/// The sum of the bytes of a head, its own field taken as spaces.
fn checksum(head: &[u8]) -> usize {
    let sum = |bytes: &[u8]| bytes.iter().map(|byte| usize::from(*byte)).sum::<usize>();
    sum(&head[..148]) + 8 * usize::from(b' ') + sum(&head[156..])
}

fn name(head: &[u8]) -> String {
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
        let length: usize = text(&rest[..space]).parse().ok()?;
        let attribute = rest.get(space + 1..length)?;
        if let Some(value) = attribute.strip_prefix(b"path=") {
            path = Some(text(value.strip_suffix(b"\n").unwrap_or(value)));
        }
        rest = &rest[length..];
    }
    path
}
