//! Limits of the operating system: open files, and SIGPIPE.

use super::CommandError;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::{io, thread};

#[cfg(target_env = "gnu")]
type Resource = libc::__rlimit_resource_t;
#[cfg(not(target_env = "gnu"))]
type Resource = libc::c_int;

/// Descriptors of a worker: those of its runtime and of its connections to providers.
const FILES_PER_WORKER: u64 = 8;
/// Descriptors that at least must be left for connections.
const FILES_OF_CONNECTIONS: u64 = 48;
/// Addresses of an allocator, of up to 512 threads for blocking work, and of mapped files, in bytes.
const ADDRESS_BYTES_MIN: u64 = 4 << 30;
/// Threads of the runtimes, of the store, of logs, and the first ones for blocking work.
const THREADS_BESIDES_WORKERS: usize = 24;

/// Descriptors for everything but client and provider connections: admin pages, logs, configuration.
const RESERVED_FILES: usize = 64;

/// Raises the limit of open files to the hard limit, because every connection needs a descriptor.
pub fn raise_open_files() {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: both calls only read and write the struct that they are given.
    let raised = unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 && {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit) == 0
        }
    };
    if !raised {
        eprintln!("warning: cannot raise the limit of open files");
    }
}

/// Fails if the system gives the process too little to serve with `workers` threads: descriptors, addresses, threads. A
/// server that finds out later stops in the middle of its requests.
///
/// # Errors
/// What is too little, and where to raise it.
pub fn require_resources(workers: usize) -> Result<(), CommandError> {
    let files_min = files_required(workers);
    if let Some(files) = limit(libc::RLIMIT_NOFILE).filter(|files| *files < files_min) {
        return Err(CommandError::new(format!(
            "error: the process may open {files} files, and needs at least {files_min} with {workers} workers\n  raise `ulimit -n`, LimitNOFILE of systemd or `--ulimit nofile` of a container; two for each client connection come on top"
        )));
    }
    if let Some(bytes) = limit(libc::RLIMIT_AS).filter(|bytes| *bytes < ADDRESS_BYTES_MIN) {
        return Err(CommandError::new(format!(
            "error: the process may use {} MiB of addresses, and needs at least {} MiB, of which it fills a small part\n  remove `ulimit -v` or LimitAS of systemd, and limit memory by MemoryMax of systemd or `--memory` of a container",
            bytes >> 20,
            ADDRESS_BYTES_MIN >> 20,
        )));
    }
    start_threads(workers + THREADS_BESIDES_WORKERS).map_err(|error| {
        CommandError::new(format!(
            "error: the system allows no further threads: {error}\n  raise `ulimit -u`, TasksMax of systemd or `--pids-limit` of a container"
        ))
    })
}

/// Starts so many threads at the same time, and ends them.
fn start_threads(count: usize) -> io::Result<()> {
    let (keep, kept) = mpsc::channel::<()>();
    let kept = Arc::new(Mutex::new(kept));
    let threads = (0..count).map(|_| {
        let kept = kept.clone();
        thread::Builder::new().spawn(move || {
            // Fails when the sender is gone.
            let _ = kept.lock().unwrap_or_else(PoisonError::into_inner).recv();
        })
    });
    let threads: io::Result<Vec<_>> = threads.collect();
    drop(keep);
    for thread in threads? {
        // A thread that panicked was there, too.
        let _ = thread.join();
    }
    Ok(())
}

fn files_required(workers: usize) -> u64 {
    RESERVED_FILES as u64 + FILES_PER_WORKER * workers as u64 + FILES_OF_CONNECTIONS
}

/// A limit of the process; `None` without one.
fn limit(resource: Resource) -> Option<u64> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the call only writes the struct that it is given.
    let known = unsafe { libc::getrlimit(resource, &mut limit) == 0 };
    (known && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// How many of `wanted` client connections are accepted: each may need a second descriptor for the provider's side.
pub fn connections(wanted: u32) -> usize {
    let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
    let Some(files) = open_files() else {
        return wanted;
    };
    let room = connections_for_files(files);
    if wanted - wanted / 10 > room {
        tracing::warn!(
            files,
            wanted,
            connections = room,
            "the limit of open files is too low for `server.limits.connections`; raise `ulimit -n`"
        );
    }
    wanted.min(room)
}

fn connections_for_files(files: usize) -> usize {
    (files.saturating_sub(RESERVED_FILES) / 2).max(1)
}

fn open_files() -> Option<usize> {
    limit(libc::RLIMIT_NOFILE).map(|files| usize::try_from(files).unwrap_or(usize::MAX))
}

/// Lets SIGPIPE end a command when the reader of its output is gone, as with `| head`, without an error message.
pub fn end_quietly_with_reader() {
    // SAFETY: the call only restores the default action of the signal.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_leave_files_for_providers_and_for_the_process_itself() {
        for (files, connections) in [
            (64, 1),
            (1_024, 480),
            (20_000, 9_968),
            (usize::MAX, (usize::MAX - RESERVED_FILES) / 2),
        ] {
            assert_eq!(connections_for_files(files), connections, "{files} files");
        }
    }
}
