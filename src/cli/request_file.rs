//! Files of requests for dry runs: sample requests and access-log lines, one JSON object per line, or a HAR file.

mod har;
mod sample;

use super::{CommandError, input_file};
use bytes::Bytes;
use headgate_protocol::json::JsonLimits;
use http::{HeaderMap, Method};
use serde::Deserialize;
use serde_json::Value;
use std::net::IpAddr;
use std::path::Path;

/// A request of a file, and its outcome when it was recorded.
pub struct RecordedRequest {
    /// Where it stands in the file, as `line 7` or `entry 2`.
    pub place: String,
    pub content: SampleOrLogLine,
}

/// What is known of a request.
pub enum SampleOrLogLine {
    /// The whole request; of a HAR file also the status of its response.
    Whole(RequestSample, Option<u16>),
    /// What an access log has of it, which is not its headers and its body.
    LogLine(AccessLogLine),
}

/// A request as a caller sends it.
pub struct RequestSample {
    pub method: Method,
    /// With the query.
    pub path: String,
    pub headers: HeaderMap,
    /// Whether the request had no further headers, such as its content type.
    pub has_all_headers: bool,
    /// Name of the caller, in place of a key among the headers.
    pub caller: Option<String>,
    pub client_address: Option<IpAddr>,
    pub body: Option<Bytes>,
}

/// The fields of an access-log line that a configuration decides.
#[derive(Deserialize)]
pub struct AccessLogLine {
    pub method: String,
    pub path: String,
    pub route: String,
    pub caller: Option<String>,
    pub model: Option<String>,
    pub channel: Option<String>,
    pub channel_model: Option<String>,
    pub status: u16,
    #[serde(default)]
    pub attempts: u32,
    pub error_code: Option<String>,
}

/// Why a file of requests cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InvalidRequestFile {
    #[error("error: {file}, {place}: {reason}")]
    Content {
        file: String,
        place: String,
        reason: String,
    },
    #[error("error: {file} has no requests; expected a JSON object per line, or a HAR file")]
    Empty { file: String },
}

impl RecordedRequest {
    /// Method, path, and the caller and model if they are known.
    pub fn title(&self) -> String {
        let (method, path, caller, model) = match &self.content {
            SampleOrLogLine::Whole(sample, _) => {
                let path = sample.path.split('?').next().unwrap_or_default();
                (sample.method.as_str(), path, &sample.caller, &None)
            }
            SampleOrLogLine::LogLine(line) => {
                (&*line.method, &*line.path, &line.caller, &line.model)
            }
        };
        let caller = caller.iter().map(|name| format!(", caller {name}"));
        let model = model.iter().map(|name| format!(", model {name}"));
        let rest: String = caller.chain(model).collect();
        format!("{method} {path}{rest}")
    }
}

/// Reads all requests of a file.
///
/// # Errors
/// The file cannot be read, or a request in it cannot be used.
pub fn read(path: &Path) -> Result<Vec<RecordedRequest>, CommandError> {
    let text = input_file::read_text(path)?;
    Ok(requests(&path.display().to_string(), &text)?)
}

fn requests(file: &str, text: &str) -> Result<Vec<RecordedRequest>, InvalidRequestFile> {
    let invalid = |place: String, reason: String| InvalidRequestFile::Content {
        file: file.to_owned(),
        place,
        reason,
    };
    let requests = match har::entries(text) {
        Some(entries) => numbered("entry", entries, har::recorded),
        None => {
            let lines = text.lines().enumerate();
            let lines = lines.filter(|(_, line)| !line.trim().is_empty());
            lines
                .map(|(index, line)| recorded(format!("line {}", index + 1), content(line)))
                .collect()
        }
    };
    let requests = requests.map_err(|(place, reason)| invalid(place, reason))?;
    match requests.is_empty() {
        true => Err(InvalidRequestFile::Empty {
            file: file.to_owned(),
        }),
        false => Ok(requests),
    }
}

/// The requests, or the place of the first one that cannot be used, and why.
type ReadRequests = Result<Vec<RecordedRequest>, (String, String)>;

fn numbered<T>(
    noun: &str,
    items: Vec<T>,
    read: impl Fn(T) -> Result<SampleOrLogLine, String>,
) -> ReadRequests {
    let items = items.into_iter().enumerate();
    items
        .map(|(index, item)| recorded(format!("{noun} {}", index + 1), read(item)))
        .collect()
}

fn recorded(
    place: String,
    content: Result<SampleOrLogLine, String>,
) -> Result<RecordedRequest, (String, String)> {
    match content {
        Ok(content) => Ok(RecordedRequest { place, content }),
        Err(reason) => Err((place, reason)),
    }
}

/// A line of the access log has `settlement`, which no sample has.
fn content(line: &str) -> Result<SampleOrLogLine, String> {
    let value: Value = serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
    if !value.is_object() {
        return Err("expected a JSON object".into());
    }
    if let Some(reason) = other_kind(&value) {
        return Err(reason.into());
    }
    match value.get("settlement") {
        Some(_) => serde_json::from_value(value)
            .map(SampleOrLogLine::LogLine)
            .map_err(|error| format!("not a line of the access log: {error}")),
        None => Ok(SampleOrLogLine::Whole(
            sample::parse(line, value, &JsonLimits::default())?,
            None,
        )),
    }
}

/// Why an object is neither a sample nor a line of the access log, if it is known by other fields.
fn other_kind(value: &Value) -> Option<&'static str> {
    let has = |field: &str| value.get(field).is_some();
    match () {
        () if has("path") => None,
        () if has("log") => Some("a HAR file has its requests in `log.entries`"),
        () if has("level") => {
            Some("a line of the process log; the access log is on standard output")
        }
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(line: &str) -> RequestSample {
        match content(line) {
            Ok(SampleOrLogLine::Whole(sample, None)) => sample,
            Ok(_) => panic!("no sample"),
            Err(reason) => panic!("{reason}"),
        }
    }

    #[test]
    fn a_sample_has_its_body_byte_by_byte() {
        let sample = whole(
            r#"{"path": "/v1/x?a=b", "headers": {"X-Team": "blue", "x-many": ["a", "b"]},
                "caller": "ann", "client_address": "192.0.2.7", "body": {"b": 1,  "a": 2.0}}"#,
        );
        assert_eq!(sample.method, Method::POST);
        assert_eq!(sample.path, "/v1/x?a=b");
        assert_eq!(sample.headers["x-team"], "blue");
        assert_eq!(sample.headers.get_all("x-many").iter().count(), 2);
        assert_eq!(sample.caller.as_deref(), Some("ann"));
        assert_eq!(&sample.body.unwrap()[..], br#"{"b": 1,  "a": 2.0}"#);
        let text = whole(r#"{"method": "PUT", "path": "/", "body": "{\"a\":1,\"a\":2}"}"#);
        assert_eq!(&text.body.unwrap()[..], br#"{"a":1,"a":2}"#);
        assert_eq!(whole(r#"{"path": "/v1/models"}"#).method, Method::GET);
    }

    #[test]
    fn a_line_that_cannot_be_used_is_refused_with_a_reason() {
        for (line, reason) in [
            ("{", "not JSON"),
            ("[]", "expected a JSON object"),
            ("{}", "missing field `path`"),
            (r#"{"path": "v1"}"#, "must begin with `/`"),
            (r#"{"path": "/", "boddy": 1}"#, "unknown field `boddy`"),
            (r#"{"path": "/", "method": "G T"}"#, "method"),
            (r#"{"path": "/", "headers": {"a b": "c"}}"#, "header"),
            (r#"{"path": "/", "settlement": "complete"}"#, "access log"),
            (r#"{"log": {}}"#, "`log.entries`"),
            (r#"{"level": "INFO", "message": "x"}"#, "process log"),
        ] {
            let error = content(line).err().unwrap_or_default();
            assert!(error.contains(reason), "{line}: {error}");
        }
    }
}
