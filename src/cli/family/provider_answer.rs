//! A provider's response, as a file of cases has it.

use bytes::Bytes;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A provider's response.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderAnswer {
    pub status: StatusCode,
    pub body: Bytes,
}

impl ProviderAnswer {
    /// The body as JSON; nothing at all, as some providers send it for a task that is not ready, is an empty object.
    pub fn document(&self) -> Option<JsonDocument> {
        let body = match self.body.is_empty() {
            true => Bytes::from_static(b"{}"),
            false => self.body.clone(),
        };
        JsonDocument::parse(body, &JsonLimits::default()).ok()
    }
}

/// A body under 200, or an object with nothing but `status`, a number, and `body`. A body that is a text is sent as it is.
impl TryFrom<Value> for ProviderAnswer {
    type Error = String;

    fn try_from(written: Value) -> Result<Self, String> {
        let (status, body) = match with_status(&written) {
            Some((status, body)) => (status, body),
            None => (200, &written),
        };
        let status = u16::try_from(status).ok();
        let status = status.and_then(|status| StatusCode::from_u16(status).ok());
        Ok(Self {
            status: status.ok_or("`status` is not an HTTP status")?,
            body: match body {
                Value::String(text) => text.clone().into(),
                json => json.to_string().into(),
            },
        })
    }
}

impl<'de> Deserialize<'de> for ProviderAnswer {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Value::deserialize(deserializer)?;
        Self::try_from(written).map_err(serde::de::Error::custom)
    }
}

fn with_status(written: &Value) -> Option<(u64, &Value)> {
    let members: &Map<String, Value> = written.as_object()?;
    let (status, body) = (members.get("status")?.as_u64()?, members.get("body")?);
    (members.len() == 2).then_some((status, body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_its_status_or_200() {
        for (yaml, status, body) in [
            ("{id: a}", 200, r#"{"id":"a"}"#),
            ("{status: 429, body: {a: 1}}", 429, r#"{"a":1}"#),
            (
                "{status: done, body: {}}",
                200,
                r#"{"body":{},"status":"done"}"#,
            ),
            ("{status: 2}", 200, r#"{"status":2}"#),
            ("{status: 502, body: <html>}", 502, "<html>"),
            ("{status: 202, body: ''}", 202, ""),
        ] {
            let answer: ProviderAnswer = serde_saphyr::from_str(yaml).unwrap();
            assert_eq!(
                (answer.status.as_u16(), &*answer.body),
                (status, body.as_bytes()),
                "{yaml}"
            );
        }
        let unknown = serde_saphyr::from_str::<ProviderAnswer>("{status: 99, body: {}}");
        assert!(unknown.unwrap_err().to_string().contains("HTTP status"));
    }
}
