//! A message of a test case: headers, and the pieces in which its body arrives.

use super::case_json::{CaseJsonText, present};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;

/// A message as it arrives at the plugin.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(try_from = "CaseMessageYaml")]
pub struct CaseInputMessage {
    pub headers: CaseHeaders,
    pub body: CaseBodyDelivery,
}

/// How a body arrives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CaseBodyDelivery {
    /// There is none: the callback for headers has `end_of_stream` set.
    #[default]
    None,
    /// A callback for each piece, the last with `end_of_stream`. There is at least one.
    Pieces(Vec<Bytes>),
    /// A callback for each event, and one at the end of the stream.
    Events(Vec<Bytes>),
}

/// Headers of a message, in their order; pseudo-headers apart.
#[derive(Clone, Debug, Default)]
pub struct CaseHeaders {
    pseudo: BTreeMap<String, String>,
    pub plain: HeaderMap,
}

/// A message as it is written.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseMessageYaml {
    #[serde(default)]
    headers: CaseHeaders,
    /// One piece.
    body: Option<String>,
    /// One piece, as compact JSON.
    #[serde(default, deserialize_with = "present")]
    json: Option<CaseJsonText>,
    chunks: Option<Vec<String>>,
    /// The lines of events, without the empty line after each.
    events: Option<Vec<String>>,
}

impl TryFrom<CaseMessageYaml> for CaseInputMessage {
    type Error = &'static str;

    fn try_from(config: CaseMessageYaml) -> Result<Self, Self::Error> {
        let mut headers = config.headers;
        let mut bodies = Vec::new();
        bodies.extend(
            config
                .body
                .map(|body| vec![body.into()])
                .map(CaseBodyDelivery::Pieces),
        );
        let json = config.json.map(|json| json.as_str().to_owned().into());
        bodies.extend(json.map(|json| CaseBodyDelivery::Pieces(vec![json])));
        bodies.extend(config.chunks.map(|chunks| match chunks.is_empty() {
            true => CaseBodyDelivery::None,
            false => CaseBodyDelivery::Pieces(chunks.into_iter().map(Bytes::from).collect()),
        }));
        bodies.extend(config.events.map(|events| {
            let events = events.into_iter();
            CaseBodyDelivery::Events(events.map(|event| (event + "\n\n").into()).collect())
        }));
        if bodies.len() > 1 {
            return Err("a message has at most one of `body`, `json`, `chunks` and `events`");
        }
        let body = bodies.pop().unwrap_or_default();
        if matches!(body, CaseBodyDelivery::Events(_)) {
            let events = HeaderValue::from_static("text/event-stream");
            headers.plain.entry(header::CONTENT_TYPE).or_insert(events);
        }
        Ok(Self { headers, body })
    }
}

impl CaseInputMessage {
    pub fn method(&self) -> Method {
        let default = match self.body {
            CaseBodyDelivery::None => Method::GET,
            _ => Method::POST,
        };
        let given = self.headers.pseudo.get(":method");
        // Checked when the file was read.
        given
            .and_then(|method| method.parse().ok())
            .unwrap_or(default)
    }

    pub fn status(&self) -> StatusCode {
        let given = self.headers.pseudo.get(":status");
        // Checked when the file was read.
        given
            .and_then(|status| status.parse().ok())
            .unwrap_or(StatusCode::OK)
    }

    /// A pseudo-header, or its default.
    pub fn pseudo(&self, name: &str, default: &str) -> String {
        let given = self.headers.pseudo.get(name);
        given.map_or_else(|| default.to_owned(), Clone::clone)
    }

    /// The body as one piece.
    pub fn whole_body(&self) -> Bytes {
        match &self.body {
            CaseBodyDelivery::None => Bytes::new(),
            CaseBodyDelivery::Pieces(pieces) | CaseBodyDelivery::Events(pieces) => {
                pieces.concat().into()
            }
        }
    }
}

impl<'de> Deserialize<'de> for CaseHeaders {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(CaseHeadersVisitor)
    }
}

struct CaseHeadersVisitor;

impl<'de> Visitor<'de> for CaseHeadersVisitor {
    type Value = CaseHeaders;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of header names to values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<CaseHeaders, A::Error> {
        let mut headers = CaseHeaders::default();
        while let Some(name) = map.next_key::<String>()? {
            let HeaderValues(values) = map.next_value()?;
            if name.starts_with(':') {
                let [value] = values.as_slice() else {
                    return Err(Error::custom(format!("`{name}` has one value")));
                };
                check_pseudo(&name, value).map_err(Error::custom)?;
                headers.pseudo.insert(name, value.clone());
                continue;
            }
            let header: HeaderName = name
                .parse()
                .map_err(|_| Error::custom(format!("`{name}` is not a header name")))?;
            for value in values {
                let value = HeaderValue::try_from(value).map_err(|_| {
                    Error::custom(format!("a header cannot have the value of `{name}`"))
                })?;
                headers.plain.append(header.clone(), value);
            }
        }
        Ok(headers)
    }
}

fn check_pseudo(name: &str, value: &str) -> Result<(), String> {
    let is_valid = match name {
        ":method" => value.parse::<Method>().is_ok(),
        ":status" => value.parse::<StatusCode>().is_ok(),
        ":scheme" | ":authority" | ":path" => true,
        _ => return Err(format!("`{name}` is not a pseudo-header of HTTP")),
    };
    match is_valid {
        true => Ok(()),
        false => Err(format!("`{name}` cannot be `{value}`")),
    }
}

/// One value, or a list of them.
struct HeaderValues(Vec<String>);

impl<'de> Deserialize<'de> for HeaderValues {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(HeaderValuesVisitor)
    }
}

struct HeaderValuesVisitor;

impl<'de> Visitor<'de> for HeaderValuesVisitor {
    type Value = HeaderValues;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string (quote numbers), or a list of strings")
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<HeaderValues, E> {
        Ok(HeaderValues(vec![value.to_owned()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<HeaderValues, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(HeaderValues(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(yaml: &str) -> CaseInputMessage {
        serde_saphyr::from_str(yaml).unwrap_or_else(|error| panic!("{yaml}: {error}"))
    }

    #[test]
    fn a_body_arrives_in_the_pieces_of_the_file() {
        let pieces = |pieces: &[&'static str]| {
            CaseBodyDelivery::Pieces(pieces.iter().map(|piece| Bytes::from(*piece)).collect())
        };
        let events = |events: &[&'static str]| {
            CaseBodyDelivery::Events(events.iter().map(|event| Bytes::from(*event)).collect())
        };
        let table = [
            ("{}", CaseBodyDelivery::None, Method::GET),
            ("{body: a}", pieces(&["a"]), Method::POST),
            ("{body: ''}", pieces(&[""]), Method::POST),
            (
                "{json: {b: 1, a: 2}}",
                pieces(&[r#"{"b":1,"a":2}"#]),
                Method::POST,
            ),
            ("{json: null}", pieces(&["null"]), Method::POST),
            ("{chunks: [a, b]}", pieces(&["a", "b"]), Method::POST),
            ("{chunks: []}", CaseBodyDelivery::None, Method::GET),
            (
                "{events: ['data: 1']}",
                events(&["data: 1\n\n"]),
                Method::POST,
            ),
            (
                "{headers: {':method': PUT}}",
                CaseBodyDelivery::None,
                Method::PUT,
            ),
        ];
        for (yaml, body, method) in table {
            let read = message(yaml);
            assert_eq!(read.body, body, "{yaml}");
            assert_eq!(read.method(), method, "{yaml}");
        }
    }

    #[test]
    fn headers_keep_their_order_and_their_values() {
        let read = message("{headers: {b: '1', A: [x, y], ':path': /v1}, events: []}");
        let names: Vec<_> = read.headers.plain.iter().collect();
        let value = HeaderValue::from_static;
        assert_eq!(
            names,
            [
                (&HeaderName::from_static("b"), &value("1")),
                (&HeaderName::from_static("a"), &value("x")),
                (&HeaderName::from_static("a"), &value("y")),
                (&header::CONTENT_TYPE, &value("text/event-stream")),
            ]
        );
        assert_eq!(read.pseudo(":path", "/"), "/v1");
        assert_eq!(read.pseudo(":scheme", "http"), "http");
    }

    #[test]
    fn a_message_of_another_form_is_an_error() {
        let table = [
            ("{body: a, json: {}}", "at most one of"),
            ("{headers: {a: 5}}", "quote numbers"),
            ("{headers: {'a b': c}}", "not a header name"),
            ("{headers: {':status': '42'}}", "`:status` cannot be `42`"),
            ("{headers: {':status': ['200', '201']}}", "one value"),
            ("{headers: {':stat': '200'}}", "not a pseudo-header"),
            ("{bodies: a}", "bodies"),
        ];
        for (yaml, expected) in table {
            let error = serde_saphyr::from_str::<CaseInputMessage>(yaml).unwrap_err();
            assert!(error.to_string().contains(expected), "{yaml}: {error}");
        }
    }
}
