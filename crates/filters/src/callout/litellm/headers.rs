//! The headers of a request as LiteLLM shows them to a service: all names, and the values that carry nothing private.

use crate::callout::json_object::JsonObjectWriter;
use crate::callout::payload_selection::PayloadSelection;
use headgate_core::filter::view::RequestView;
use headgate_protocol::caller_key::CallerKeyToStrip;
use headgate_protocol::credential_names::names_credential;
use http::HeaderName;

/// Headers whose values are sent.
const SHOWN: [&str; 7] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "host",
    "user-agent",
];
/// Starts of the names of further ones.
const SHOWN_PREFIXES: [&str; 2] = ["x-litellm-", "x-stainless-"];
/// In place of any other value.
const PRESENT: &str = "[present]";

/// A JSON object with all headers. One with several values is a list.
pub fn request_headers(sent: &PayloadSelection, request: &RequestView) -> Vec<u8> {
    let key = CallerKeyToStrip::from_headers(&request.headers);
    let mut json = JsonObjectWriter::default();
    for name in request.headers.keys() {
        let values = request.headers.get_all(name);
        let is_shown = sent.headers.contains(name) || is_shown(name);
        if !is_shown || values.iter().any(|value| key.is_in(value.as_bytes())) {
            json.text(name.as_str(), Some(PRESENT));
            continue;
        }
        let values = values
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()));
        json.text(name.as_str(), Some(&values.collect::<Vec<_>>().join(", ")));
    }
    json.finish()
}

fn is_shown(name: &HeaderName) -> bool {
    let name = name.as_str();
    let is_known =
        SHOWN.contains(&name) || SHOWN_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    is_known && !names_credential(name.as_bytes())
}
