//! Image edits: the configuration of a gateway for them, and requests like those of SDKs.

use super::config::{self, caller};
use super::request::{ANN, BOB};
use super::{Request, Simulator, forms};
use serde_json::{Value, json};

pub const PATH: &str = "/v1/images/edits";
pub const MODEL: &str = "demo-image";
pub const CHANNEL_MODEL: &str = "upstream-image-1";
/// The start of a PNG, with bytes that a careless parser would misread.
pub const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\r\n--gate\r--\n\r\n";
pub const PNG_BASE64: &str = "iVBORw0KGgoADQotLWdhdGUNLS0KDQo=";

/// A configuration with one account for image edits; its requests apply `directives`, and `image_edit` is a section of
/// the channel.
pub fn image_config(simulator: &Simulator, directives: &str, image_edit: Value) -> Value {
    let base_url = match directives {
        "" => simulator.url(),
        some => simulator.url_obeying(some),
    };
    let mut config = config::standard(&base_url);
    config["callers"] = json!([caller("ann", ANN, &["*"]), caller("bob", BOB, &["other"])]);
    config["channels"] = json!({"images": {
        "base_url": base_url, "credential": {"bearer": "sk-images"}, "protocols": ["image_edit"],
        "models": {MODEL: CHANNEL_MODEL}, "image_edit": image_edit,
    }});
    config["models"] = json!({});
    config["routes"] = json!([{
        "name": "image_edit", "match": format!("POST {PATH}"), "protocol": "image_edit",
        "request": [{"require_json": {"also_accept": "multipart"}}, "authenticate",
            {"limit_body": {"body": "256MiB", "file": "50MB"}}, "route_model", "validate",
            "follow_ids", "map_images"],
        "response": ["pass_sse", "meter_usage"],
    }]);
    config::without_cool_downs(&mut config);
    config
}

/// A form like those of SDKs; a name with `!` is a file.
pub fn form(fields: &[(&str, &[u8])]) -> Request {
    forms::form(PATH, fields)
}

/// The body of [`form`], with `model` in place of `MODEL`.
pub fn written(fields: &[(&str, &[u8])], model: &str) -> Vec<u8> {
    let fields = fields.iter().map(|(name, value)| match (*name, *value) {
        ("model", value) if value == MODEL.as_bytes() => ("model", model.as_bytes()),
        field => field,
    });
    forms::written(&fields.collect::<Vec<_>>())
}

pub const FIELDS: &[(&str, &[u8])] = &[
    ("image[]!", PNG),
    ("prompt", "Add a \"boat\" \u{2014} ä".as_bytes()),
    ("response_format", b"b64_json"),
    ("model", MODEL.as_bytes()),
    ("image[]!", b"\xFF\xD8\xFF second"),
    ("n", b"2"),
    ("mask!", PNG),
];

pub fn json_body() -> Value {
    let image = json!({"image_url": format!("data:image/png;base64,{PNG_BASE64}")});
    json!({"model": MODEL, "prompt": "Add a \"boat\" \u{2014} ä", "images": [image],
        "mask": image, "n": 2, "response_format": "b64_json"})
}
