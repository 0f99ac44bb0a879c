//! Limits of the operating system: open files, and SIGPIPE.

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

/// How many of `wanted` client connections are accepted: each may need a second descriptor for the provider's side.
pub fn connections(wanted: u32) -> usize {
    let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
    let Some(files) = open_files() else {
        return wanted;
    };
    let room = connections_of(files);
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

fn connections_of(files: usize) -> usize {
    (files.saturating_sub(RESERVED_FILES) / 2).max(1)
}

fn open_files() -> Option<usize> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the call only writes the struct that it is given.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 };
    known.then(|| usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX))
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
            (20, 1),
            (64, 1),
            (1_024, 480),
            (20_000, 9_968),
            (usize::MAX, (usize::MAX - RESERVED_FILES) / 2),
        ] {
            assert_eq!(connections_of(files), connections, "{files} files");
        }
    }
}
