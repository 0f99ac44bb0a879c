//! What the process tells its supervisor, if that wants to know: systemd's protocol, sd_notify(3).

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Connections are taken, and this is the process to watch from now on.
pub fn serving() {
    notify(&format!("READY=1\nMAINPID={}", std::process::id()));
}

/// The process was told to stop, and lets open requests end.
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
