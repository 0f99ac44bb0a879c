//! `require_json`: 415 unless the body is `application/json` and not compressed.

use super::kind::{FilterKind, Side};
use super::view::RequestView;
use super::{Filter, Step};
use crate::protocol::fault::{Fault, FaultKind};
use http::header;
use std::sync::Arc;

pub const KIND: FilterKind = FilterKind {
    name: "require_json",
    summary: "Refuses bodies that are not plain `application/json` with 415.",
    side: Side::Request,
    settings: None,
    bare: true,
    build: |_, _| Ok(Arc::new(RequireJson)),
};

struct RequireJson;

impl Filter for RequireJson {
    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> Step<'a> {
        Step::from(check(request))
    }
}

fn check(request: &RequestView) -> Result<(), Fault> {
    let content_type = request.header("content-type");
    if !content_type.is_some_and(is_json) {
        return Err(Fault::new(
            FaultKind::UnsupportedMedia,
            match content_type {
                Some(sent) => format!("content-type is `{sent}`; send `application/json`"),
                None => "content-type is missing; send `application/json`".into(),
            },
        )
        .param("content-type"));
    }
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
