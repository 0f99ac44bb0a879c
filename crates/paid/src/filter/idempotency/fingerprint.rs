//! What identifies a key, and what makes two requests equal.

use crate::journal::{CreateFingerprint, CreateRequest};
use headgate_core::filter::view::RequestView;
use headgate_protocol::form::MultipartForm;
use headgate_protocol::hex::HexDisplay;
use http::HeaderValue;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// The name under which a key is stored: unique for caller, route and text, and without the text.
pub(super) fn record_key(create: &CreateRequest, key: &str) -> Arc<str> {
    let mut hasher = Sha256::new();
    for text in [&*create.caller, &*create.route, key] {
        add(&mut hasher, text.as_bytes());
    }
    hex(hasher).into()
}

/// The key for a provider: it belongs to one caller and one request, and is not the caller's own.
pub(super) fn upstream_key(record_key: &str, fingerprint: &CreateFingerprint) -> HeaderValue {
    let mut hasher = Sha256::new();
    for text in ["upstream", record_key, &fingerprint.0] {
        add(&mut hasher, text.as_bytes());
    }
    HeaderValue::try_from(hex(hasher)).expect("hex digits are a header value")
}

/// Equal for the same method, path parameters and query with equal bodies: the same bytes of JSON, or the same parts of
/// a form in the same order, whatever the boundary between them.
pub(super) fn for_request(request: &RequestView) -> CreateFingerprint {
    let mut hasher = Sha256::new();
    let query = request.query.as_deref().unwrap_or_default();
    for text in [request.method.as_str(), query] {
        add(&mut hasher, text.as_bytes());
    }
    for (name, value) in &request.params {
        add(&mut hasher, name.as_bytes());
        add(&mut hasher, value.as_bytes());
    }
    let body = &request.body;
    match body.form() {
        Some(form) => {
            hasher.update(b"form");
            add_parts(&mut hasher, form);
        }
        None => {
            hasher.update(b"body");
            hasher.update(body.bytes().map_or(&b""[..], |bytes| bytes));
        }
    }
    CreateFingerprint(hex(hasher))
}

fn add_parts(hasher: &mut Sha256, form: &MultipartForm) {
    for part in form.parts() {
        add(hasher, part.name.as_bytes());
        for optional in [&part.file_name, &part.content_type] {
            hasher.update([u8::from(optional.is_some())]);
            add(hasher, optional.as_deref().unwrap_or_default().as_bytes());
        }
        add(hasher, &form.value(part));
    }
}

/// Adds a text with its length, so that no two lists of texts look alike.
fn add(hasher: &mut Sha256, text: &[u8]) {
    hasher.update((text.len() as u64).to_be_bytes());
    hasher.update(text);
}

fn hex(hasher: Sha256) -> String {
    HexDisplay(&hasher.finalize()).to_string()
}
