//! Tests of `headgate top` whose terminal is gone: the other end of a pseudo terminal is closed.

use crate::harness::process::BINARY;
use crate::harness::{PATIENCE, admin, eventually_within};
use serde_json::json;
use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::ptr::null_mut;

#[tokio::test]
async fn top_ends_with_its_terminal_whether_or_not_it_gets_a_signal() {
    let gateway = admin::gateway(json!({})).await;
    for is_controlling in [true, false] {
        let (mut terminal, end) = pseudo_terminal();
        let mut top = start(&gateway.admin.to_string(), end, is_controlling);
        tokio::task::spawn_blocking(move || {
            let mut shown = Vec::new();
            let mut piece = [0; 4096];
            while !String::from_utf8_lossy(&shown).contains("help") {
                let count = terminal.read(&mut piece).unwrap();
                shown.extend_from_slice(&piece[..count]);
            }
            drop(terminal);
        })
        .await
        .unwrap();
        let ended = async || top.try_wait().unwrap();
        eventually_within(PATIENCE, "an end", ended).await;
    }
}

/// A pseudo terminal of 24 rows and 80 columns: the side of a terminal program, and that of a command.
fn pseudo_terminal() -> (File, OwnedFd) {
    let (mut master, mut slave) = (-1, -1);
    let size = libc::winsize {
        ws_row: 24,
        ws_col: 80,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: the call writes two descriptors, and reads a size that outlives it.
    unsafe {
        let opened = libc::openpty(&mut master, &mut slave, null_mut(), null_mut(), &size);
        assert_eq!(opened, 0);
        libc::fcntl(master, libc::F_SETFD, libc::FD_CLOEXEC);
        (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave))
    }
}

/// Starts the command in a session of its own, which gets SIGHUP if the terminal is the controlling one.
fn start(admin: &str, terminal: OwnedFd, is_controlling: bool) -> Child {
    let mut command = Command::new(BINARY);
    command
        .args(["top", "--admin", admin])
        .env("TERM", "xterm")
        .env_remove("HEADGATE_ADMIN_KEY")
        .stdin(terminal.try_clone().unwrap())
        .stdout(terminal)
        .stderr(Stdio::null());
    // SAFETY: both calls may be made between fork and exec.
    unsafe {
        command.pre_exec(move || {
            libc::setsid();
            if is_controlling {
                libc::ioctl(0, libc::TIOCSCTTY, 0);
            }
            Ok(())
        });
    }
    command.spawn().unwrap()
}
