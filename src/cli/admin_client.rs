//! A client of the admin pages of a running gateway.

use super::CommandError;
use headgate_config::snapshot::pem;
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The timeout of the whole request.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// What to do if the port is that of callers.
const OF_GATEWAY: &str = "\n  this is the port for callers (`server.listen`); give the address of the admin pages (`server.admin`) with --admin URL";
const RESPONSE_BYTES_MAX: usize = 64 << 20;
/// The environment variable of the key, unless an option names another one.
const KEY_VARIABLE: &str = "HEADGATE_ADMIN_KEY";
/// Where Linux distributions keep the certificates of public CAs.
const SYSTEM_AUTHORITIES: [&str; 3] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
];

/// How the admin pages are requested.
#[derive(clap::Args, Clone, Debug)]
pub struct AdminClientAuthArgs {
    /// Environment variable that has the admin key [default: HEADGATE_ADMIN_KEY]
    #[arg(long, value_name = "NAME")]
    key_env: Option<String>,
    /// PEM file with the CA certificates of the admin pages [default: those of the system]
    #[arg(long, value_name = "FILE")]
    admin_ca: Option<PathBuf>,
}

/// The address of admin pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdminUrl {
    /// `host:port`.
    pub authority: String,
    pub is_tls: bool,
}

/// The admin pages of a gateway.
pub struct AdminClient<'a> {
    pub url: &'a AdminUrl,
    pub args: &'a AdminClientAuthArgs,
}

/// A response, as far as commands need it.
pub struct AdminResponse {
    pub status: u16,
    /// The status line.
    pub line: String,
    pub body: Vec<u8>,
}

/// A text as the value of a parameter in a query.
pub fn query_value(text: &str) -> String {
    let mut value = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                value.push(char::from(byte));
            }
            _ => value += &format!("%{byte:02X}"),
        }
    }
    value
}

impl FromStr for AdminUrl {
    type Err = String;

    /// Parses `http://127.0.0.1:9091`, `https://gate.internal:9091` or `127.0.0.1:9091`.
    fn from_str(text: &str) -> Result<Self, String> {
        let of_tls = text.strip_prefix("https://");
        let bare = of_tls.or(text.strip_prefix("http://")).unwrap_or(text);
        let bare = bare.strip_suffix('/').unwrap_or(bare);
        let port = bare.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
        match port {
            Some(Ok(_)) if !bare.contains('/') => Ok(Self {
                authority: bare.to_owned(),
                is_tls: of_tls.is_some(),
            }),
            _ => Err("expected an address such as http://127.0.0.1:9091".to_owned()),
        }
    }
}

impl fmt::Display for AdminUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.authority)
    }
}

impl AdminClient<'_> {
    /// The JSON of an admin page.
    ///
    /// # Errors
    /// There is no response in time, or it is an error.
    pub fn json(&self, method: &str, path: &str) -> Result<Value, CommandError> {
        let response = self.fetch(method, path)?;
        self.json_in(&response, path)
    }

    /// The JSON in a response to a request for `path`.
    ///
    /// # Errors
    /// The response is an error.
    pub fn json_in(&self, response: &AdminResponse, path: &str) -> Result<Value, CommandError> {
        let page = serde_json::from_slice(&response.body).ok();
        page.filter(|_| response.status == 200).ok_or_else(|| {
            let (url, line) = (self.url, &response.line);
            let text = String::from_utf8_lossy(&response.body);
            let hint = match response.status {
                401 if response.is_of_gateway() => OF_GATEWAY,
                404 | 405 if response.is_of_gateway() => OF_GATEWAY,
                401 => "\n  set the environment variable HEADGATE_ADMIN_KEY, or the one that --key-env names, to an admin key",
                _ => "",
            };
            CommandError::new(format!("error: {url}{path}: {line}: {}{hint}", text.trim()))
        })
    }

    /// Sends a request and reads the whole response.
    ///
    /// # Errors
    /// There is no response in time, or the variable of the key is not set.
    pub fn fetch(&self, method: &str, path: &str) -> Result<AdminResponse, CommandError> {
        self.fetch_within(method, path, MAX_WAIT)
    }

    /// As [`Self::fetch`], for a page that may take up to `wait`.
    ///
    /// # Errors
    /// As [`Self::fetch`].
    pub fn fetch_within(
        &self,
        method: &str,
        path: &str,
        wait: Duration,
    ) -> Result<AdminResponse, CommandError> {
        let key = self.args.key()?;
        let roots = match self.url.is_tls {
            true => Some(self.args.authorities()?),
            false => None,
        };
        let bytes = self.exchange((method, path), key.as_deref(), roots, wait);
        bytes.and_then(|bytes| response_in(&bytes)).map_err(|error| {
            let url = self.url;
            CommandError::new(format!(
                "error: cannot reach the admin pages at {url}: {error}\n  start the gateway, or give the address of its admin pages (`server.admin`) as http://HOST:PORT or https://HOST:PORT"
            ))
        })
    }

    fn exchange(
        &self,
        (method, path): (&str, &str),
        key: Option<&str>,
        roots: Option<RootCertStore>,
        wait: Duration,
    ) -> io::Result<Vec<u8>> {
        let until = Instant::now() + wait;
        let authority = &self.url.authority;
        let stream = connect(authority, until)?;
        stream.set_write_timeout(Some(wait))?;
        let authorization = key.map(|key| format!("Authorization: Bearer {key}\r\n"));
        let authorization = authorization.unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {authority}\r\n{authorization}Content-Length: 0\r\nConnection: close\r\n\r\n"
        );
        let timer = stream.try_clone()?;
        match roots {
            None => sent_and_read(stream, &timer, &request, until),
            Some(roots) => {
                stream.set_read_timeout(Some(left(until)?))?;
                let stream = StreamOwned::new(tls_client(authority, roots)?, stream);
                sent_and_read(stream, &timer, &request, until)
            }
        }
    }
}

impl AdminClientAuthArgs {
    /// The key in the environment, if there is one.
    fn key(&self) -> Result<Option<String>, CommandError> {
        let name = self.key_env.as_deref().unwrap_or(KEY_VARIABLE);
        let key = std::env::var(name).ok().map(|key| key.trim().to_owned());
        match key.filter(|key| !key.is_empty()) {
            Some(key) if key.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(Some(key)),
            Some(_) => Err(CommandError::new(format!(
                "error: the value of the environment variable `{name}` is not a key"
            ))),
            None if self.key_env.is_none() => Ok(None),
            None => Err(CommandError::new(format!(
                "error: the environment variable `{name}` is not set; set it to an admin key"
            ))),
        }
    }

    fn authorities(&self) -> Result<RootCertStore, CommandError> {
        let system = SYSTEM_AUTHORITIES
            .iter()
            .map(Path::new)
            .find(|file| file.exists());
        let file = self.admin_ca.as_deref().or(system).ok_or_else(|| {
            CommandError::new(
                "error: the system has no CA certificates; give a file with --admin-ca FILE",
            )
        })?;
        pem::authorities(file).map_err(|reason| CommandError::new(format!("error: {reason}")))
    }
}

fn tls_client(authority: &str, roots: RootCertStore) -> io::Result<ClientConnection> {
    let host = authority
        .rsplit_once(':')
        .map_or(authority, |(host, _)| host);
    let host = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .to_owned();
    let name = ServerName::try_from(host).map_err(io::Error::other)?;
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)
}

impl AdminResponse {
    /// Whether the port of callers responded: its errors are objects, those of the admin pages are texts.
    fn is_of_gateway(&self) -> bool {
        let body: Option<Value> = serde_json::from_slice(&self.body).ok();
        body.is_some_and(|body| body["error"].is_object())
    }
}

/// Sends `request` and reads until the response is complete. `timer` is the socket below `stream`.
fn sent_and_read(
    mut stream: impl Read + Write,
    timer: &TcpStream,
    request: &str,
    until: Instant,
) -> io::Result<Vec<u8>> {
    stream.write_all(request.as_bytes())?;
    stream.flush()?;
    let mut received = Vec::new();
    let mut piece = [0; 16 << 10];
    loop {
        timer.set_read_timeout(Some(left(until)?))?;
        let count = match stream.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(too_slow()),
            // A peer with TLS that closes the connection without a notice.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => 0,
            read => read?,
        };
        received.extend_from_slice(&piece[..count]);
        if count == 0 || response_in(&received).is_ok() {
            return Ok(received);
        }
        if received.len() > RESPONSE_BYTES_MAX {
            return Err(io::Error::other("the response is too large"));
        }
    }
}

fn connect(authority: &str, until: Instant) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in authority.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left(until)?) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The time left until the deadline, never zero.
fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(too_slow()),
        false => Ok(left),
    }
}

fn too_slow() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "no response in time")
}

/// Parses a complete response. Admin pages send Content-Length.
fn response_in(received: &[u8]) -> io::Result<AdminResponse> {
    let parsed = || {
        let end = received.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
        let head = std::str::from_utf8(&received[..end]).ok()?;
        let (line, fields) = head.split_once("\r\n").unwrap_or((head, ""));
        let status = line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
        let length = fields.split("\r\n").find_map(|field| {
            let (name, value) = field.split_once(':')?;
            let is_length = name.eq_ignore_ascii_case("content-length");
            is_length.then(|| value.trim().parse::<usize>().ok())?
        })?;
        Some(AdminResponse {
            status,
            line: line.to_owned(),
            body: received[end + 4..].get(..length)?.to_vec(),
        })
    };
    parsed().ok_or_else(|| io::Error::other("the response is not that of an admin page"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_with_and_without_its_scheme() {
        for (text, expected) in [
            ("http://127.0.0.1:9091", Some("http://127.0.0.1:9091")),
            ("http://gate.test:9091/", Some("http://gate.test:9091")),
            ("[::1]:9091", Some("http://[::1]:9091")),
            ("https://gate.test:9091", Some("https://gate.test:9091")),
            ("/v1/chat/completions", None),
            ("http://gate.test", None),
            ("9091", None),
        ] {
            let url = text.parse::<AdminUrl>().ok().map(|url| url.to_string());
            assert_eq!(url.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_response_is_read_when_it_is_whole() {
        let good = "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 2\r\n\r\n{}";
        let response = response_in(good.as_bytes()).unwrap();
        assert_eq!((response.status, &*response.body), (200, &b"{}"[..]));
        for broken in [
            &good[..good.len() - 1],
            &good.replace("HTTP/1.1 200 OK", "220 smtp"),
            &good.replace("Content-Length", "X-Length"),
            "HTTP/1.1 200 OK\r\n",
        ] {
            assert!(response_in(broken.as_bytes()).is_err(), "{broken}");
        }
    }
}
