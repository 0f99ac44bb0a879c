//! Requests with multipart forms, like those of SDKs.

use super::Request;

/// The boundary of all forms.
pub const BOUNDARY: &str = "gate-7f";

/// A request with a form; a name with `!` is a file.
pub fn form(path: &str, fields: &[(&str, &[u8])]) -> Request {
    Request::post(path, written(fields))
        .without("content-type")
        .header(
            "Content-Type",
            &format!("multipart/form-data; boundary={BOUNDARY}"),
        )
}

/// The body of [`form`].
pub fn written(fields: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, value) in fields {
        let (name, more) = match name.strip_suffix('!') {
            Some(name) => (name, "; filename=\"a.png\"\r\nContent-Type: image/png"),
            None => (*name, ""),
        };
        let head = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"{more}\r\n\r\n"
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(value);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
    body
}
