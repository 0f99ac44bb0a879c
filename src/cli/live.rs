//! Fetches admin pages of a running gateway.

use super::CommandError;
use crate::catalog::model::Candidate;
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::time::{Duration, Instant};

/// The timeout of the whole request.
const MAX_WAIT: Duration = Duration::from_secs(5);
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// The status of the channels of a running gateway.
pub struct LiveChannelStatuses {
    pub address: String,
    page: Value,
}

/// The address of the running gateway's admin pages.
#[derive(Clone, Debug)]
pub enum AdminAddressSource {
    /// The address in the configuration.
    Configured,
    Given(String),
}

impl FromStr for AdminAddressSource {
    type Err = String;

    /// An option without a value gives an empty text.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" => Ok(Self::Configured),
            _ => address(text).map(Self::Given),
        }
    }
}

/// Parses the address of admin pages: `http://127.0.0.1:9091` or `127.0.0.1:9091`.
///
/// # Errors
/// The text is not such an address; the error is a message for the terminal.
pub fn address(text: &str) -> Result<String, String> {
    let bare = text.strip_prefix("http://").unwrap_or(text);
    let bare = bare.strip_suffix('/').unwrap_or(bare);
    let port = bare.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
    match port {
        Some(Ok(_)) if !bare.contains('/') => Ok(bare.to_owned()),
        _ => Err(
            "expected an address such as http://127.0.0.1:9091; to use `server.admin` of the configuration, put --live after the path"
                .to_owned(),
        ),
    }
}

impl LiveChannelStatuses {
    /// Fetches the status from the admin pages at `address`.
    ///
    /// # Errors
    /// There is no response in time, or it is not that of a gateway.
    pub fn fetch(address: &str) -> Result<Self, CommandError> {
        if address.ends_with(":0") {
            return Err(CommandError::new(
                "error: `server.admin` has port 0, so its port is not known; give the address with --live http://HOST:PORT",
            ));
        }
        let answer = fetch(address, "GET", "/channels").map_err(|error| {
            CommandError::new(format!(
                "error: cannot reach the admin pages at http://{address}: {error}\n  start the gateway, or give the address of its admin pages with --live http://HOST:PORT"
            ))
        })?;
        let page = body(&answer).and_then(|body| serde_json::from_slice(body).ok());
        let page: Value = page.ok_or_else(|| {
            let status = answer.split(|byte| *byte == b'\r').next();
            let status = String::from_utf8_lossy(status.unwrap_or_default());
            CommandError::new(format!(
                "error: http://{address}/channels is not an admin page of this version of headgate: {status}"
            ))
        })?;
        Ok(Self {
            address: address.to_owned(),
            page,
        })
    }

    /// The revision of the configuration that the gateway uses.
    pub fn revision(&self) -> &str {
        self.page["revision"].as_str().unwrap_or_default()
    }

    /// Whether `candidate` is usable now, or else why not and for how long.
    pub fn candidate_status(&self, candidate: &Candidate) -> String {
        let channel = &*candidate.channel.name;
        let Some(model) = &candidate.model else {
            return match self.entry("channels", |entry| entry["name"] == *channel) {
                Some(entry) if entry["usable"] == true => "usable".into(),
                Some(_) => "not usable".into(),
                None => "unknown to the running gateway".into(),
            };
        };
        let models = self.page["models"].as_array().into_iter().flatten();
        let mut candidates =
            models.flat_map(|model| model["candidates"].as_array().into_iter().flatten());
        let entry = candidates
            .find(|entry| entry["channel"] == *channel && entry["channel_model"] == *model.name);
        match entry {
            Some(entry) if entry["usable"] == true => "usable".into(),
            Some(entry) => {
                let detail = entry["detail"].as_str().unwrap_or("no reason given");
                format!("not usable: {detail}")
            }
            None => "unknown to the running gateway: it uses another configuration".into(),
        }
    }

    fn entry(&self, list: &str, is_it: impl Fn(&Value) -> bool) -> Option<&Value> {
        self.page[list]
            .as_array()?
            .iter()
            .find(|entry| is_it(entry))
    }
}

/// The JSON of an admin page.
///
/// # Errors
/// There is no response in time, or it is an error.
pub fn page(address: &str, method: &str, path: &str) -> Result<Value, CommandError> {
    let answer = fetch(address, method, path).map_err(|error| {
        CommandError::new(format!(
            "error: cannot reach the admin pages at http://{address}: {error}\n  start the gateway, or give the address of its admin pages with --admin HOST:PORT"
        ))
    })?;
    let page = body(&answer).and_then(|body| serde_json::from_slice(body).ok());
    page.ok_or_else(|| {
        let text = String::from_utf8_lossy(&answer);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.lines().next().unwrap_or_default();
        CommandError::new(format!(
            "error: http://{address}{path}: {status}: {}",
            body.trim()
        ))
    })
}

/// Sends a request and reads the whole response, head and body.
fn fetch(address: &str, method: &str, path: &str) -> io::Result<Vec<u8>> {
    let until = Instant::now() + MAX_WAIT;
    let mut stream = connect(address, until)?;
    stream.set_write_timeout(Some(MAX_WAIT))?;
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    let mut piece = [0; 16 << 10];
    loop {
        stream.set_read_timeout(Some(left(until)?))?;
        let count = match stream.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(too_slow()),
            read => read?,
        };
        answer.extend_from_slice(&piece[..count]);
        if count == 0 || body(&answer).is_some() {
            return Ok(answer);
        }
        if answer.len() > ANSWER_BYTES_MAX {
            return Err(io::Error::other("the response is too large"));
        }
    }
}

fn connect(address: &str, until: Instant) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in address.to_socket_addrs()? {
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
    let text = format!("no response within {} s", MAX_WAIT.as_secs());
    io::Error::new(io::ErrorKind::TimedOut, text)
}

/// The body of a complete response with status 200. Admin pages send Content-Length.
fn body(answer: &[u8]) -> Option<&[u8]> {
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end]).ok()?;
    let (status, fields) = head.split_once("\r\n")?;
    let is_good = status.split(' ').nth(1) == Some("200");
    let length = fields.split("\r\n").find_map(|field| {
        let (name, value) = field.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse::<usize>().ok())?
    })?;
    let body = answer[end + 4..].get(..length)?;
    is_good.then_some(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_with_and_without_its_scheme() {
        for (text, expected) in [
            ("http://127.0.0.1:9091", Some("127.0.0.1:9091")),
            ("http://gate.test:9091/", Some("gate.test:9091")),
            ("[::1]:9091", Some("[::1]:9091")),
            ("/v1/chat/completions", None),
            ("https://gate.test:9091", None),
            ("http://gate.test", None),
            ("9091", None),
        ] {
            assert_eq!(address(text).ok().as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_body_is_read_when_it_is_whole() {
        let good = "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(body(good.as_bytes()), Some(&b"{}"[..]));
        for broken in [
            &good[..good.len() - 1],
            &good.replace("200 OK", "404 Not Found"),
            &good.replace("Content-Length", "X-Length"),
            "HTTP/1.1 200 OK\r\n",
        ] {
            assert_eq!(body(broken.as_bytes()), None, "{broken}");
        }
    }
}
