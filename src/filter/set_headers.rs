//! `set_headers`: sets request headers for the provider, or response headers for the caller.

use super::captures;
use super::descriptor::{
    BuildContext, ChainSide, FilterDescriptor, FilterPlacement, InvalidSettings, read_settings,
    settings_schema,
};
use super::view::{RequestView, ResponseView};
use super::{Filter, HookResult};
use http::{HeaderMap, HeaderName, HeaderValue};
use regex::Regex;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "set_headers",
    summary: "Sets headers: `name: value`, or `name: {source: path, match: regex, value: $1}` with captures of the path or of another header.",
    side: ChainSide::Either,
    placement: FilterPlacement::ANYWHERE,
    settings: Some(settings_schema::<SetHeadersConfig>),
    bare: false,
    build,
};

/// Settings of `set_headers`: header name to value.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
struct SetHeadersConfig(BTreeMap<String, HeaderValueConfig>);

/// A header's value: text, or built from capture groups.
#[derive(Deserialize)]
#[serde(untagged)]
enum HeaderValueConfig {
    Plain(String),
    Captured(CaptureValueConfig),
}

/// A value built from capture groups of a regular expression; not set if it does not match.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CaptureValueConfig {
    /// Input of the match: `path`, or the name of a request header.
    source: String,
    /// Regular expression, unanchored.
    r#match: String,
    /// The value, with `$1` or `$name` for capture groups.
    value: String,
}

/// One object that may be text, so that a mistake in a mapping is named: `anyOf` could only say that neither fits.
impl JsonSchema for HeaderValueConfig {
    fn schema_name() -> Cow<'static, str> {
        "HeaderValueConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = CaptureValueConfig::json_schema(generator);
        let description = "The value, or `{source: …, match: …, value: …}` to build it from capture groups of a regular expression.";
        schema.insert("description".into(), json!(description));
        schema.insert("type".into(), json!(["string", "object"]));
        schema
    }
}

struct SetHeadersFilter {
    side: ChainSide,
    headers: Vec<(HeaderName, HeaderValueSource)>,
}

enum HeaderValueSource {
    Plain(HeaderValue),
    Captured {
        subject: CaptureSubject,
        pattern: Regex,
        template: String,
    },
}

enum CaptureSubject {
    Path,
    Header(HeaderName),
}

impl Filter for SetHeadersFilter {
    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        for (name, source) in &self.headers {
            if let Some(value) = source.value(&request.path, &request.headers) {
                request.header_edits.set(name, value);
            }
        }
        HookResult::next()
    }

    fn on_response_head(&self, response: &mut ResponseView<'_>) {
        if self.side != ChainSide::Response {
            return;
        }
        for (name, source) in &self.headers {
            if let Some(value) = source.value(&response.request.path, &response.request.headers) {
                response.headers.insert(name, value);
            }
        }
    }
}

impl HeaderValueSource {
    fn value(&self, path: &str, headers: &HeaderMap) -> Option<HeaderValue> {
        let (subject, pattern, template) = match self {
            Self::Plain(value) => return Some(value.clone()),
            Self::Captured {
                subject,
                pattern,
                template,
            } => (subject, pattern, template),
        };
        let text = match subject {
            CaptureSubject::Path => path,
            CaptureSubject::Header(name) => headers.get(name)?.to_str().ok()?,
        };
        let captures = pattern.captures(text)?;
        let mut value = String::new();
        captures.expand(template, &mut value);
        HeaderValue::from_str(&value).ok()
    }
}

fn build(
    settings: &serde_json::Value,
    context: &BuildContext<'_>,
) -> Result<Arc<dyn Filter>, InvalidSettings> {
    let SetHeadersConfig(headers) = read_settings(settings)?;
    let headers = headers
        .into_iter()
        .map(|(name, value)| {
            let at = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
            let name = header_name(&name).map_err(|invalid| invalid.at(&at))?;
            let placed = |invalid: InvalidSettings| {
                let within = format!("{at}{}", invalid.pointer);
                invalid.at(within)
            };
            Ok((name, source(value).map_err(placed)?))
        })
        .collect::<Result<_, InvalidSettings>>()?;
    Ok(Arc::new(SetHeadersFilter {
        side: context.side,
        headers,
    }))
}

/// Parses a header name that operators may set or remove. The gateway itself sets framing and connection headers.
///
/// # Errors
/// The name is not a header name, or it is a framing or connection header.
pub fn header_name(name: &str) -> Result<HeaderName, InvalidSettings> {
    let parsed = HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| InvalidSettings::new(format!("`{name}` is not a header name")))?;
    match parsed.as_str() {
        "connection" | "content-length" | "host" | "keep-alive" | "proxy-connection" | "te"
        | "trailer" | "transfer-encoding" | "upgrade" => Err(InvalidSettings::new(format!(
            "`{name}` is a connection header that the gateway sets; it cannot be changed here"
        ))),
        _ => Ok(parsed),
    }
}

fn source(config: HeaderValueConfig) -> Result<HeaderValueSource, InvalidSettings> {
    match config {
        HeaderValueConfig::Plain(value) => HeaderValue::from_str(&value)
            .map(HeaderValueSource::Plain)
            .map_err(|_| {
                InvalidSettings::new(
                    "not a valid header value: use visible ASCII characters, spaces and tabs",
                )
            }),
        HeaderValueConfig::Captured(CaptureValueConfig {
            source,
            r#match,
            value,
        }) => {
            let pattern = captures::pattern(&r#match).map_err(|invalid| invalid.at("/match"))?;
            captures::check(&pattern, &value, "value").map_err(|invalid| invalid.at("/value"))?;
            Ok(HeaderValueSource::Captured {
                subject: match source.as_str() {
                    "path" => CaptureSubject::Path,
                    header => CaptureSubject::Header(
                        HeaderName::from_bytes(header.as_bytes()).map_err(|_| {
                            InvalidSettings::new(format!(
                                "expected `path` or a header name, found `{header}`"
                            ))
                            .at("/source")
                        })?,
                    ),
                },
                pattern,
                template: value,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(config: serde_json::Value, path: &str) -> Option<String> {
        let source = source(serde_json::from_value(config).unwrap())
            .ok()
            .unwrap();
        let headers = HeaderMap::from_iter([(
            HeaderName::from_static("x-team"),
            HeaderValue::from_static("eu-research"),
        )]);
        Some(source.value(path, &headers)?.to_str().unwrap().to_string())
    }

    #[test]
    fn captures_fill_the_value() {
        use serde_json::json;
        for (config, expected) in [
            (json!("plain"), Some("plain")),
            (
                json!({"source": "path", "match": "^/v(\\d+)/", "value": "version $1"}),
                Some("version 1"),
            ),
            (
                json!({"source": "x-team", "match": "^(?<region>..)-", "value": "$region"}),
                Some("eu"),
            ),
            (
                json!({"source": "x-other", "match": ".", "value": "set"}),
                None,
            ),
            (
                json!({"source": "path", "match": "never", "value": "set"}),
                None,
            ),
        ] {
            assert_eq!(
                value(config.clone(), "/v1/messages").as_deref(),
                expected,
                "{config}"
            );
        }
    }

    #[test]
    fn a_header_of_the_connection_is_refused() {
        for name in [
            "Connection",
            "content-length",
            "Transfer-Encoding",
            "host",
            "no spaces",
        ] {
            assert!(header_name(name).is_err(), "{name}");
        }
    }
}
