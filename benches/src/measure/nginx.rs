//! nginx as a proxy that forwards what it has not read, for those who have it installed.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

/// Whether a program of this name is in `PATH`.
pub fn is_installed() -> bool {
    let mut command = Command::new("nginx");
    command
        .arg("-v")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok()
}

/// The command that runs it in the foreground, with its configuration and all its files in `folder`.
pub fn command(folder: &Path, listen: SocketAddr, provider: SocketAddr) -> Command {
    let path = folder.join("nginx.conf");
    let written = fs::write(&path, configuration(folder, listen, provider));
    written.expect("a file can be written");
    let mut command = Command::new("nginx");
    command.args(["-e", "stderr", "-c"]).arg(path);
    command
}

/// Connections are kept on both sides, and bodies pass in both directions as they arrive.
fn configuration(folder: &Path, listen: SocketAddr, provider: SocketAddr) -> String {
    let folder = folder.display();
    format!(
        r#"
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
events {{ worker_connections 8192; }}
http {{
  access_log off;
  client_body_temp_path {folder}/nginx-body;
  proxy_temp_path {folder}/nginx-proxy;
  fastcgi_temp_path {folder}/nginx-fastcgi;
  uwsgi_temp_path {folder}/nginx-uwsgi;
  scgi_temp_path {folder}/nginx-scgi;
  client_max_body_size 0;
  client_body_buffer_size 2m;
  keepalive_requests 100000000;
  upstream provider {{ server {provider}; keepalive 256; keepalive_requests 100000000; }}
  server {{
    listen {listen} backlog=4096;
    location / {{
      proxy_pass http://provider;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_request_buffering off;
      proxy_buffering off;
    }}
  }}
}}
"#
    )
}
