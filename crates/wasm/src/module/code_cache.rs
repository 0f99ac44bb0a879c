//! Compiled code on disk, signed with a key of this machine, since the engine runs it as it is.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hmac::{Hmac, Mac};
use sha2::Sha256;
use wasmtime::Module;

use crate::host::PluginHost;

const KEY_LENGTH: usize = 32;
const TAG_LENGTH: usize = 32;
/// Largest entry, in bytes. A module that compiles to more is compiled at each start.
const ENTRY_BYTES_MAX: u64 = 1 << 30;
/// The oldest entries beyond this are removed.
const ENTRIES_MAX: usize = 128;

/// A folder of compiled modules.
pub(super) struct CodeCache {
    folder: PathBuf,
    key: [u8; KEY_LENGTH],
}

impl CodeCache {
    /// Opens a folder, or creates it and its key.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(folder)?;
        let path = folder.join("key");
        let key = match create_key(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read_key(&path),
            created => created,
        }?;
        let folder = folder.to_owned();
        Ok(Self { folder, key })
    }

    /// The compiled code of a module, if there is one that this machine signed for this engine.
    #[allow(unsafe_code)]
    pub fn load(&self, host: &PluginHost, sha256: &str) -> Option<Module> {
        let path = self.path(host, sha256);
        // The folder is this process's own, and yet a link in it must not cost the memory of the machine.
        if !fs::metadata(&path).ok()?.is_file() {
            return None;
        }
        let mut entry = Vec::new();
        let file = fs::File::open(&path).ok()?;
        file.take(ENTRY_BYTES_MAX).read_to_end(&mut entry).ok()?;
        let (tag, code) = entry.split_at_checked(TAG_LENGTH)?;
        self.mac(host, sha256, code)?.verify_slice(tag).ok()?;
        // SAFETY: `deserialize` requires bytes that `Module::serialize` made. The bytes in memory are those whose tag
        // was verified, and only a process that reads the key (a file of mode 0600) makes tags, in `store` below, from
        // the result of `serialize`. The tag covers the engine's version and settings, too.
        unsafe { Module::deserialize(host.engine(), code) }.ok()
    }

    /// Stores compiled code. Another process finds all of it or none.
    pub fn store(&self, host: &PluginHost, sha256: &str, module: &Module) -> io::Result<()> {
        let code = module.serialize().map_err(io::Error::other)?;
        let mac = self.mac(host, sha256, &code).ok_or_else(no_mac)?;
        let path = self.path(host, sha256);
        let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&temporary)?;
        let written = file
            .write_all(&mac.finalize().into_bytes())
            .and_then(|()| file.write_all(&code))
            .and_then(|()| fs::rename(&temporary, &path));
        if written.is_err() {
            drop(fs::remove_file(&temporary));
        }
        written?;
        self.remove_oldest()
    }

    fn path(&self, host: &PluginHost, sha256: &str) -> PathBuf {
        let engine = host.compatibility();
        self.folder.join(format!("{sha256}-{engine:016x}.code"))
    }

    fn mac(&self, host: &PluginHost, sha256: &str, code: &[u8]) -> Option<Hmac<Sha256>> {
        let mut mac = <Hmac<Sha256> as Mac>::new_from_slice(&self.key).ok()?;
        // Both have a fixed length, so that no other entry has the same input.
        mac.update(sha256.as_bytes());
        mac.update(&host.compatibility().to_be_bytes());
        mac.update(code);
        Some(mac)
    }

    fn remove_oldest(&self) -> io::Result<()> {
        let mut entries: Vec<(SystemTime, PathBuf)> = fs::read_dir(&self.folder)?
            .flatten()
            .map(|entry| (entry.metadata(), entry.path()))
            .filter(|(_, path)| {
                path.extension()
                    .is_some_and(|extension| extension == "code")
            })
            .filter_map(|(metadata, path)| Some((metadata.ok()?.modified().ok()?, path)))
            .collect();
        entries.sort_unstable();
        let excess = entries.len().saturating_sub(ENTRIES_MAX);
        for (_, path) in entries.drain(..excess) {
            fs::remove_file(path)?;
        }
        Ok(())
    }
}

/// Creates the key under another name first, so that no process reads half of it.
fn create_key(path: &Path) -> io::Result<[u8; KEY_LENGTH]> {
    let mut key = [0; KEY_LENGTH];
    getrandom::fill(&mut key).map_err(|e| io::Error::other(e.to_string()))?;
    if path.try_exists()? {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    drop(fs::remove_file(&temporary));
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&temporary)?;
    let linked = file
        .write_all(&key)
        // Fails if another process created the key meanwhile.
        .and_then(|()| fs::hard_link(&temporary, path));
    drop(fs::remove_file(&temporary));
    linked.map(|()| key)
}

fn read_key(path: &Path) -> io::Result<[u8; KEY_LENGTH]> {
    let mut file = fs::File::open(path)?;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        let reason = format!("{} must have mode 0600", path.display());
        return Err(io::Error::other(reason));
    }
    let mut key = [0; KEY_LENGTH];
    file.read_exact(&mut key)?;
    Ok(key)
}

fn no_mac() -> io::Error {
    io::Error::other("the key has the wrong length")
}
