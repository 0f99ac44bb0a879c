//! Notifications to the supervisor of the process: systemd's protocol, sd_notify(3).

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The process accepts connections, and is the main process from now on.
pub fn serving() {
    notify(&format!("READY=1\nMAINPID={}", std::process::id()));
}

/// The process is draining.
pub fn stopping() {
    notify("STOPPING=1");
}

fn notify(state: &str) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    let sent = address(&name)
        .and_then(|address| UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address));
    if let Err(error) = sent {
        tracing::warn!(%error, "cannot notify systemd");
    }
}

fn address(name: &OsStr) -> io::Result<SocketAddr> {
    match name.as_bytes().strip_prefix(b"@") {
        #[cfg(target_os = "linux")]
        Some(rest) => {
            use std::os::linux::net::SocketAddrExt;
            SocketAddr::from_abstract_name(rest)
        }
        _ => SocketAddr::from_pathname(name),
    }
}
