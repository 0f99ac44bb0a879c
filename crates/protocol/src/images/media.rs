//! Types of image files, data URLs and their base64.

use base64::Engine;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};

/// Takes base64 with or without its padding: callers write both.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Of a file that says nothing of itself.
const UNKNOWN: &str = "application/octet-stream";

/// The type of a file by its first bytes, else as it was declared.
///
/// SDKs declare `application/octet-stream` for whatever has no file name; providers look.
pub fn type_of<'t>(content: &[u8], declared: Option<&'t str>) -> &'t str {
    match content {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xFF, 0xD8, 0xFF, ..] => "image/jpeg",
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => "image/webp",
        [b'G', b'I', b'F', b'8', ..] => "image/gif",
        _ => declared.unwrap_or(UNKNOWN),
    }
}

/// A file name's ending for a type.
pub fn ending_of(content_type: &str) -> &str {
    match content_type {
        "image/png" => "png",
        "image/jpeg" | "image/jpg" => "jpg",
        "image/webp" => "webp",
        "image/gif" => "gif",
        _ => "bin",
    }
}

/// Type and base64 of a data URL; none for any other text.
pub fn data_url(url: &str) -> Option<(&str, &str)> {
    let (content_type, base64) = url.strip_prefix("data:")?.split_once(";base64,")?;
    Some((content_type, base64))
}

/// Appends what `base64` stands for.
///
/// # Errors
/// It is no base64.
pub fn decode_onto(out: &mut Vec<u8>, base64: &str) -> Result<(), base64::DecodeError> {
    out.reserve(decoded_len(base64));
    LENIENT.decode_vec(base64, out)
}

/// Appends `content` in base64.
pub fn encode_onto(out: &mut Vec<u8>, content: &[u8]) {
    let start = out.len();
    out.resize(start + encoded_len(content.len()), 0);
    STANDARD
        .encode_slice(content, &mut out[start..])
        .expect("there is room for all of it");
}

/// Bytes of the base64 of so many bytes.
pub fn encoded_len(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

/// At least the bytes that `base64` stands for.
pub fn decoded_len(base64: &str) -> usize {
    base64.len().div_ceil(4) * 3
}
