//! What the system lets a process do: open files, and writing to nobody.

/// Files for anything but connections of callers: the admin pages, logs, the configuration.
const RESERVED_FILES: usize = 64;

/// Lets the process open as many files as the system allows: every connection takes one.
pub fn raise_open_files() {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: both calls only read and write the struct they are given.
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

/// How many of `wanted` client connections the process lets in: each may need a second file, for the
/// provider's side.
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
    // SAFETY: the call only writes the struct it is given.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 };
    known.then(|| usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX))
}

/// Ends a command whose output nobody reads any more, as `| head` does, without a word.
pub fn end_quietly_with_reader() {
    // SAFETY: it only restores what the signal does by default.
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
