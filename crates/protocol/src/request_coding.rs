//! Content codings of request bodies (RFC 9110, section 8.4).

use crate::fault::{Fault, FaultKind};
use http::{HeaderMap, HeaderValue, header};

/// The codings that are accepted, as a value of `accept-encoding`.
pub const ACCEPTED: &str = "gzip, zstd, deflate";
/// The parameter of faults about a coding.
pub const PARAMETER: &str = "content-encoding";

/// A coding that the gateway decodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestCoding {
    Gzip,
    Zstd,
    /// With or without the zlib header: clients send both.
    Deflate,
}

/// The coding of a body; `None` if it has none. Some parsers read only the first line of the header, some only the last, so
/// that a coding must stand alone.
///
/// # Errors
/// [`FaultKind::UnsupportedMedia`]: there are several codings, or another one.
pub fn from_headers(headers: &HeaderMap) -> Result<Option<RequestCoding>, Fault> {
    let mut sent = headers.get_all(header::CONTENT_ENCODING).iter();
    let Some(first) = sent.next() else {
        return Ok(None);
    };
    match (named(first), sent.next()) {
        (Some(Coding::Identity), None) => Ok(None),
        (Some(Coding::Known(coding)), None) => Ok(Some(coding)),
        (_, second) => {
            let is_coded = |value: &&HeaderValue| !matches!(named(value), Some(Coding::Identity));
            let mut all = headers.get_all(header::CONTENT_ENCODING).iter();
            match all.find(is_coded) {
                None => Ok(None),
                Some(value) => Err(unsupported(value, second.is_some())),
            }
        }
    }
}

enum Coding {
    Identity,
    Known(RequestCoding),
}

fn named(value: &HeaderValue) -> Option<Coding> {
    let name = value.as_bytes().trim_ascii();
    let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
    if is("identity") {
        Some(Coding::Identity)
    } else if is("gzip") || is("x-gzip") {
        Some(Coding::Known(RequestCoding::Gzip))
    } else if is("zstd") {
        Some(Coding::Known(RequestCoding::Zstd))
    } else if is("deflate") {
        Some(Coding::Known(RequestCoding::Deflate))
    } else {
        None
    }
}

fn unsupported(value: &HeaderValue, is_repeated: bool) -> Fault {
    // Values in error messages are bounded.
    const EXCERPT_CHARS_MAX: usize = 100;
    let text = String::from_utf8_lossy(value.as_bytes());
    let excerpt: String = text.chars().take(EXCERPT_CHARS_MAX).collect();
    let problem = match is_repeated {
        true => "was received more than once",
        false => "is not accepted",
    };
    Fault::new(
        FaultKind::UnsupportedMedia,
        format!(
            "content-encoding `{excerpt}` {problem}; send the body uncompressed, or in one of gzip, zstd and deflate"
        ),
    )
    .param(PARAMETER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_known_coding_alone_is_accepted() {
        for (values, expected) in [
            (&[][..], Some(None)),
            (&["identity"], Some(None)),
            (&["Identity", "identity"], Some(None)),
            (&["gzip"], Some(Some(RequestCoding::Gzip))),
            (&[" X-GZIP "], Some(Some(RequestCoding::Gzip))),
            (&["zstd"], Some(Some(RequestCoding::Zstd))),
            (&["deflate"], Some(Some(RequestCoding::Deflate))),
            (&["br"], None),
            (&["gzip, gzip"], None),
            (&["gzip,identity"], None),
            (&["gzip", "gzip"], None),
            (&["identity", "gzip"], None),
            (&["gzip", "identity"], None),
            (&["identity", "br"], None),
            (&[""], None),
        ] {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::CONTENT_ENCODING, HeaderValue::from_static(value));
            }
            assert_eq!(from_headers(&headers).ok(), expected, "{values:?}");
        }
    }
}
