//! The lines of a file of JSON lines, which end with LF or CR LF.

use bytes::Bytes;

/// A line that is not blank.
#[derive(Debug, PartialEq, Eq)]
pub struct FileLine {
    /// From 1, as editors count; blank lines count too.
    pub number: usize,
    /// Where the line begins in the file.
    pub start: usize,
    /// The line without its end.
    pub text: Bytes,
}

/// The lines of a file. Blank lines, such as at its end, are left out.
pub fn file_lines(file: &Bytes) -> impl Iterator<Item = FileLine> + '_ {
    let mut start = 0;
    let mut number = 0;
    std::iter::from_fn(move || {
        while start < file.len() {
            let length = memchr::memchr(b'\n', &file[start..]);
            let end = length.map_or(file.len(), |length| start + length);
            let line = &file[start..end];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let found = FileLine {
                number: number + 1,
                start,
                text: file.slice(start..start + line.len()),
            };
            number += 1;
            start = end + 1;
            if !found.text.iter().all(|byte| matches!(byte, b' ' | b'\t')) {
                return Some(found);
            }
        }
        None
    })
}
