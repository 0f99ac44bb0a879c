//! What the system lets a process do: open files, and writing to nobody.

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
        eprintln!("warning: the limit of open files could not be raised");
    }
}

/// Ends a command whose output nobody reads any more, as `| head` does, without a word.
pub fn end_quietly_with_reader() {
    // SAFETY: it only restores what the signal does by default.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}
