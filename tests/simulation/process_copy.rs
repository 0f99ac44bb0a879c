//! Copies of this process, each of which runs one schedule.
//!
//! Building a gateway takes a hundred times as long as a schedule: it is done once, and each copy begins with the same built
//! gateways, and with the same state of everything else. So nothing but its seed determines what a schedule does.

#![allow(
    unsafe_code,
    reason = "fork(2) and waitpid(2) have no safe interface in the standard library"
)]

use std::fs::File;
use std::io::{Read, Write, pipe};
use std::os::fd::OwnedFd;

/// A copy that runs.
pub struct ProcessCopy {
    pid: libc::pid_t,
    output: File,
}

impl ProcessCopy {
    /// Runs `work` in a copy, which has this thread alone.
    pub fn start(work: impl FnOnce() -> Vec<u8>) -> Self {
        let (output, mut input) = pipe().unwrap();
        // SAFETY: the copy uses no lock that another thread may have held: it neither prints nor starts threads.
        match unsafe { libc::fork() } {
            -1 => panic!("the system allows no further processes"),
            0 => {
                let written = input.write_all(&work());
                drop(input);
                // SAFETY: it ends the copy at once.
                unsafe { libc::_exit(i32::from(written.is_err())) }
            }
            pid => Self {
                pid,
                output: File::from(OwnedFd::from(output)),
            },
        }
    }

    /// What `work` has returned; `None` if the copy died.
    pub fn finish(mut self) -> Option<Vec<u8>> {
        let (mut output, mut status) = (Vec::new(), 0);
        self.output.read_to_end(&mut output).unwrap();
        // SAFETY: `status` is valid for the call.
        let waited = unsafe { libc::waitpid(self.pid, &raw mut status, 0) };
        (waited == self.pid && status == 0).then_some(output)
    }
}
