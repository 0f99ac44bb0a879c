//! Reads files that an operator names: regular files only, and up to a limit, so that a path that leads to a device, a
//! pipe or a far too large file costs an error instead of the memory or a thread of the process.

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Why a file, or a stream in its place, was not read. Its text has no path, and completes `cannot read the file: …`.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableFile {
    #[error("{}", io_words(.0))]
    Io(#[from] io::Error),
    /// What there is instead of a regular file, such as `a directory`.
    #[error("it is {0}, and must be a regular file")]
    Irregular(&'static str),
    /// The limit in bytes.
    #[error("it is larger than {}", shown_size(*.0))]
    TooLarge(u64),
    /// The line of the first bytes that are not UTF-8, from 1.
    #[error("line {0} is not UTF-8")]
    NotUtf8(usize),
}

/// The content of a regular file of at most `max` bytes. Symbolic links are followed.
///
/// # Errors
/// The file cannot be opened or read, is not a regular one, or is larger.
pub fn read(path: &Path, max: u64) -> Result<Vec<u8>, UnreadableFile> {
    let file = open(path)?;
    // A size that is wrong, as those of `/proc`, only costs the growth of the buffer.
    let size = file.metadata()?.len();
    if size > max {
        return Err(UnreadableFile::TooLarge(max));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    read_into(file, max, &mut bytes)?;
    Ok(bytes)
}

/// As [`read`], for a text.
///
/// # Errors
/// As [`read`], or the content is not UTF-8.
pub fn read_text(path: &Path, max: u64) -> Result<String, UnreadableFile> {
    text(read(path, max)?)
}

/// All of a stream that is at most `max` bytes long, such as the standard input.
///
/// # Errors
/// The stream breaks, or is longer.
pub fn read_stream(stream: impl Read, max: u64) -> Result<Vec<u8>, UnreadableFile> {
    let mut bytes = Vec::new();
    read_into(stream, max, &mut bytes)?;
    Ok(bytes)
}

/// Opens a regular file.
///
/// # Errors
/// The file cannot be opened, or is not a regular one.
pub fn open(path: &Path) -> Result<File, UnreadableFile> {
    // Without O_NONBLOCK, opening a pipe that nobody writes to would wait forever. Regular files ignore it.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
        .map_err(|error| match error.raw_os_error() {
            // What opening a socket fails with.
            Some(libc::ENXIO) => UnreadableFile::Irregular("a socket or a device"),
            _ => error.into(),
        })?;
    // The type of what was opened: the path may lead to something else by now.
    match irregular_type(file.metadata()?.file_type()) {
        Some(kind) => Err(UnreadableFile::Irregular(kind)),
        None => Ok(file),
    }
}

/// The text of bytes that were read.
///
/// # Errors
/// They are not UTF-8.
pub fn text(bytes: Vec<u8>) -> Result<String, UnreadableFile> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        UnreadableFile::NotUtf8(valid.split(|byte| *byte == b'\n').count())
    })
}

impl UnreadableFile {
    /// Whether there is no file at the path.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::NotFound)
    }
}

fn read_into(stream: impl Read, max: u64, bytes: &mut Vec<u8>) -> Result<(), UnreadableFile> {
    stream.take(max + 1).read_to_end(bytes)?;
    match bytes.len() as u64 > max {
        true => Err(UnreadableFile::TooLarge(max)),
        false => Ok(()),
    }
}

fn irregular_type(found: FileType) -> Option<&'static str> {
    if found.is_file() {
        return None;
    }
    Some(match found {
        _ if found.is_dir() => "a directory",
        _ if found.is_fifo() => "a pipe",
        _ if found.is_socket() => "a socket",
        _ => "a device",
    })
}

/// An I/O error without its number.
fn io_words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        kind => kind.to_string(),
    }
}

/// Such as `64 KiB`.
fn shown_size(bytes: u64) -> String {
    match bytes {
        _ if bytes.is_multiple_of(GIB) => format!("{} GiB", bytes / GIB),
        _ if bytes.is_multiple_of(MIB) => format!("{} MiB", bytes / MIB),
        _ if bytes.is_multiple_of(KIB) => format!("{} KiB", bytes / KIB),
        _ => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::path::PathBuf;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("headgate-regular-file-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn only_regular_files_are_read_and_none_is_waited_for() {
        let folder = Folder::new("kinds");
        let at = |name: &str| folder.0.join(name);
        std::fs::write(at("file"), "text").unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        symlink(at("file"), at("link")).unwrap();
        symlink("/dev/zero", at("zero")).unwrap();
        let _socket = UnixListener::bind(at("socket")).unwrap();
        let pipe = CString::new(at("pipe").to_str().unwrap()).unwrap();
        // SAFETY: the path is a C string that lives until the call returns.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        for (name, expected) in [
            ("file", "text"),
            ("link", "text"),
            ("folder", "it is a directory, and must be a regular file"),
            ("zero", "it is a device, and must be a regular file"),
            ("pipe", "it is a pipe, and must be a regular file"),
            (
                "socket",
                "it is a socket or a device, and must be a regular file",
            ),
            ("nothing", "no such file"),
        ] {
            let read = read_text(&at(name), 64);
            let shown = read.unwrap_or_else(|error| error.to_string());
            assert_eq!(shown, expected, "{name}");
        }
    }

    #[test]
    fn a_file_and_a_stream_are_read_up_to_the_limit_that_the_error_names() {
        let folder = Folder::new("sizes");
        let path = folder.0.join("file");
        for (size, limit, expected) in [
            (8, 8, None),
            (9, 8, Some("it is larger than 8 bytes")),
            (1025, KIB, Some("it is larger than 1 KiB")),
        ] {
            std::fs::write(&path, vec![b'x'; size]).unwrap();
            let streamed = read_stream(io::repeat(b'x').take(size as u64), limit);
            for read in [read(&path, limit), streamed] {
                let error = read.err().map(|error| error.to_string());
                assert_eq!(error.as_deref(), expected, "{size}");
            }
        }
        let endless = read_stream(io::repeat(b'x'), MIB).unwrap_err();
        assert_eq!(endless.to_string(), "it is larger than 1 MiB");
    }

    #[test]
    fn a_text_that_is_not_utf_8_is_reported_with_its_line() {
        let error = text(b"a\nb\n\xff".to_vec()).unwrap_err();
        assert_eq!(error.to_string(), "line 3 is not UTF-8");
    }
}
