//! Media types of image files, data URLs and base64.

use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use base64::{Engine, alphabet};

/// Accepts base64 with or without padding: callers send both.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The type of a file without a known type.
const UNKNOWN: &str = "application/octet-stream";

/// The media type of a file by its first bytes, else the declared one.
///
/// SDKs declare `application/octet-stream` for content without a file name, and providers detect the type.
pub fn detect_type<'t>(content: &[u8], declared: Option<&'t str>) -> &'t str {
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

/// The file name extension of a type.
pub fn file_extension(content_type: &str) -> &str {
    match content_type {
        "image/png" => "png",
        "image/jpeg" | "image/jpg" => "jpg",
        "image/webp" => "webp",
        "image/gif" => "gif",
        _ => "bin",
    }
}

/// Appends the decoded `base64`.
///
/// # Errors
/// `base64` is invalid.
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

/// The length of the base64 of `bytes` bytes.
pub fn encoded_len(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

/// The number of bytes that `base64` decodes to, or a little more.
pub fn decoded_len(base64: &str) -> usize {
    base64.len().div_ceil(4) * 3
}
