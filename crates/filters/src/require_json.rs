//! `require_json`: 415 unless the body is uncompressed `application/json`, or a form if the route accepts forms.

use headgate_core::filter::contract::RouteApiDescription;
use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, InvalidSettings, read_settings_or_default,
    settings_schema,
};
use headgate_core::filter::view::RequestView;
use headgate_core::filter::{Filter, FilterDeclaration, HookResult};
use headgate_protocol::Protocol;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::request_coding;
use http::{HeaderMap, HeaderValue, header};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "require_json",
    summary: "Replies 415 to bodies other than `application/json`; with `{also_accept: multipart}` also accepts `multipart/form-data` for protocols whose requests may be forms, such as `image_edit` and `videos`.",
    side: ChainSide::Request,
    placement: FilterChainRules::ALWAYS,
    settings: Some(settings_schema::<RequireJsonConfig>),
    bare: true,
    build: |settings, context| {
        let RequireJsonConfig { also_accept } = read_settings_or_default(settings)?;
        let has_forms = |protocol: Protocol| protocol.descriptor().forms.is_some();
        if also_accept.is_some() && !context.protocol.is_some_and(has_forms) {
            return Err(InvalidSettings::new(
                "`also_accept: multipart` requires a route with `protocol: image_edit`, `videos`, or another one whose requests may be forms",
            )
            .at("/also_accept")
            .hint("write the protocol in the route, or leave `also_accept` out"));
        }
        Ok(Arc::new(RequireJsonContentTypeFilter { also_accept }))
    },
};

/// Settings of `require_json`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct RequireJsonConfig {
    /// Content type that is accepted in addition to JSON. Default: none.
    also_accept: Option<AlternativeContentType>,
}

/// Content type that is accepted in addition to JSON.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum AlternativeContentType {
    /// `multipart/form-data`, as SDKs send files.
    Multipart,
}

struct RequireJsonContentTypeFilter {
    also_accept: Option<AlternativeContentType>,
}

impl Filter for RequireJsonContentTypeFilter {
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration {
            reads_body: true,
            ..FilterDeclaration::default()
        }
    }

    fn add_to_contract(&self, contract: &mut RouteApiDescription) {
        contract.accepts_form = self.also_accept.is_some();
        contract.checks_content_type = true;
    }

    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        request.takes_form = self.also_accept.is_some() && request.form_boundary().is_some();
        HookResult::from(self.check(request))
    }
}

impl RequireJsonContentTypeFilter {
    fn check(&self, request: &RequestView) -> Result<(), Fault> {
        if !request.takes_form {
            self.check_type(&request.headers)?;
        }
        request_coding::from_headers(&request.headers).map(drop)
    }

    fn check_type(&self, headers: &HeaderMap) -> Result<(), Fault> {
        let wanted = match self.also_accept {
            None => "send `application/json`",
            Some(AlternativeContentType::Multipart) => {
                "send `application/json`, or `multipart/form-data` with its boundary"
            }
        };
        let mut sent = headers.get_all(header::CONTENT_TYPE).iter();
        let problem = match (sent.next(), sent.next()) {
            (Some(only), None) if only.to_str().is_ok_and(is_json) => return Ok(()),
            (Some(only), None) => format!("is `{}`", value_excerpt(only)),
            (None, _) => "is missing".into(),
            (Some(_), Some(_)) => "was received more than once".into(),
        };
        Err(Fault::new(
            FaultKind::UnsupportedMedia,
            format!("content-type {problem}; {wanted}"),
        )
        .param("content-type"))
    }
}

/// The start of a header value, at most 100 characters: values in error messages are bounded.
fn value_excerpt(value: &HeaderValue) -> String {
    const MOST: usize = 100;
    let text = String::from_utf8_lossy(value.as_bytes());
    text.chars().take(MOST).collect()
}

/// Whether every parser reads this content type as JSON in UTF-8. Rejects what parsers read differently: a repeated or
/// segmented charset (RFC 2231), and quoted strings with separators or escapes.
fn is_json(content_type: &str) -> bool {
    if content_type == "application/json" {
        return true;
    }
    let mut pieces = content_type.split(';').map(trimmed);
    let is_type = |essence: &str| essence.eq_ignore_ascii_case("application/json");
    let mut has_charset = false;
    pieces.next().is_some_and(is_type)
        && pieces.all(|parameter| match parameter.split_once('=') {
            // Some clients send the charset without a name.
            None => parameter.is_empty() || is_utf8(parameter),
            Some((name, value)) => {
                let (name, value) = (trimmed(name), trimmed(value));
                let plain = unquoted(value);
                match name
                    .get(..7)
                    .filter(|start| start.eq_ignore_ascii_case("charset"))
                {
                    Some(_) if name.len() == 7 => {
                        !std::mem::replace(&mut has_charset, true) && plain.is_some_and(is_utf8)
                    }
                    Some(_) if name[7..].starts_with('*') => false,
                    _ => is_token(name) && plain.is_some(),
                }
            }
        })
}

fn is_utf8(charset: &str) -> bool {
    ["utf-8", "utf8"]
        .iter()
        .any(|known| charset.eq_ignore_ascii_case(known))
}

/// The value of a parameter: a token or a quoted string.
fn unquoted(value: &str) -> Option<&str> {
    match value.strip_prefix('"') {
        None => Some(value).filter(|value| is_token(value)),
        Some(rest) => rest
            .strip_suffix('"')
            .filter(|text| !text.contains(['"', '\\', ','])),
    }
}

fn is_token(text: &str) -> bool {
    let is_token_char =
        |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_token_char)
}

fn trimmed(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use super::is_json;

    #[test]
    fn only_utf8_json_is_json() {
        for (content_type, json) in [
            ("application/json", true),
            ("Application/JSON; charset=UTF-8", true),
            ("application/json; charset=\"utf-8\"", true),
            ("application/json;charset=utf8", true),
            ("application/json; UTF8", true),
            ("application/json; profile=\"a b\"", true),
            ("application/json; charset=utf-8; charset=utf-8", false),
            ("application/json; charset*=utf-8''utf-8", false),
            ("application/json; charset=\"utf-8", false),
            ("application/json; a=\"b; charset=utf-8\"", false),
            ("application/json; charset='utf-8'", false),
            ("application/json; charset=utf-16", false),
            ("application/jsonl", false),
            ("text/json", false),
            ("multipart/form-data; boundary=x", false),
        ] {
            assert_eq!(is_json(content_type), json, "{content_type}");
        }
    }
}
