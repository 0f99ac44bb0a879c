//! `require_json`: 415 unless the body is `application/json` (or a form, where the route takes one) and not compressed.

use super::kind::{FilterKind, InvalidSettings, Side, read_settings_or_default, settings_schema};
use super::view::RequestView;
use super::{Filter, Step};
use crate::protocol::Protocol;
use crate::protocol::fault::{Fault, FaultKind};
use http::header;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

pub const KIND: FilterKind = FilterKind {
    name: "require_json",
    summary: "Refuses bodies that are not plain `application/json` with 415; with `{or: form}` image edits may also be a form with files.",
    side: Side::Request,
    settings: Some(settings_schema::<RequireJsonConfig>),
    bare: true,
    build: |settings, parts| {
        let RequireJsonConfig { or } = read_settings_or_default(settings)?;
        if or.is_some() && parts.protocol != Some(Protocol::ImageEdit) {
            return Err(
                InvalidSettings::new("only image edits may be sent as a form")
                    .at("/or")
                    .hint("write `protocol: image_edit` in the route, or leave `or` out"),
            );
        }
        Ok(Arc::new(RequireJson { or }))
    },
};

/// Settings of `require_json`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct RequireJsonConfig {
    /// What callers may send instead; nothing else if absent.
    or: Option<Or>,
}

/// What callers may send instead of JSON.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Or {
    /// `multipart/form-data`, as SDKs send files.
    Form,
}

struct RequireJson {
    or: Option<Or>,
}

impl Filter for RequireJson {
    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> Step<'a> {
        request.takes_form = self.or.is_some() && request.form_boundary().is_some();
        Step::from(self.check(request))
    }
}

impl RequireJson {
    fn check(&self, request: &RequestView) -> Result<(), Fault> {
        let content_type = request.header("content-type");
        if !request.takes_form && !content_type.is_some_and(is_json) {
            let wanted = match self.or {
                None => "send `application/json`",
                Some(Or::Form) => {
                    "send `application/json`, or `multipart/form-data` with its boundary"
                }
            };
            return Err(Fault::new(
                FaultKind::UnsupportedMedia,
                match content_type {
                    Some(sent) => format!("content-type is `{sent}`; {wanted}"),
                    None => format!("content-type is missing; {wanted}"),
                },
            )
            .param("content-type"));
        }
        check_coding(request)
    }
}

fn check_coding(request: &RequestView) -> Result<(), Fault> {
    match request.header("content-encoding") {
        None | Some("identity") => Ok(()),
        Some(sent) if request.headers.contains_key(header::CONTENT_ENCODING) => Err(Fault::new(
            FaultKind::UnsupportedMedia,
            format!("content-encoding `{sent}` is not accepted; send the body uncompressed"),
        )
        .param("content-encoding")),
        Some(_) => Ok(()),
    }
}

fn is_json(content_type: &str) -> bool {
    let (essence, parameters) = content_type.split_once(';').unwrap_or((content_type, ""));
    let charset = parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    });
    essence.trim().eq_ignore_ascii_case("application/json")
        && charset.is_none_or(|charset| {
            charset
                .trim()
                .trim_matches('"')
                .eq_ignore_ascii_case("utf-8")
        })
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
            ("application/json; charset=utf-16", false),
            ("application/jsonl", false),
            ("text/json", false),
            ("multipart/form-data; boundary=x", false),
        ] {
            assert_eq!(is_json(content_type), json, "{content_type}");
        }
    }
}
