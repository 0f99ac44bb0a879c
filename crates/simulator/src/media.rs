//! The videos and images that responses link to: their URLs, and small files with valid headers.

use super::images::png;
use super::query;
use bytes::Bytes;
use http::request::Parts;

/// Their folder. As with signed URLs, no credential is required there.
pub const FOLDER: &str = "media";

/// The size of a video if no size was requested, in bytes.
const ORDINARY_BYTES: usize = 16 << 10;

/// The start of an MP4 file: a `ftyp` box of 24 bytes.
const FILE_TYPE: &[u8; 24] = b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isommp42";

/// The URL of the file `name` on the host of the request, with `signature` as its signature.
pub fn url(head: &Parts, name: &str, bytes: Option<usize>, signature: &str) -> String {
    let size = bytes.map_or_else(String::new, |bytes| format!("&bytes={bytes}"));
    format!("{}/{FOLDER}/{name}?{signature}{size}", origin(head))
}

/// The scheme and host of URLs in the response to a request.
pub fn origin(head: &Parts) -> String {
    let host = head.headers.get("host").and_then(|host| host.to_str().ok());
    let authority = head.uri.authority().map(http::uri::Authority::as_str);
    format!("http://{}", host.or(authority).unwrap_or("localhost"))
}

/// The content type and content of the file `name`; `uri_query` may contain its size.
pub fn file(name: &str, uri_query: &str) -> (&'static str, Bytes) {
    let size = query::number(uri_query, "bytes");
    let size = size.filter(|size| *size <= super::directive_value::MAX_TEXT_BYTES);
    if name.ends_with(".png") {
        let image = png::image(png::ImageSize::ORDINARY, size.unwrap_or(0));
        ("image/png", image.into())
    } else {
        ("video/mp4", video(name, size.unwrap_or(ORDINARY_BYTES)))
    }
}

/// A file of `size` bytes (at least its boxes) that starts like an MP4 file and contains its own name.
fn video(name: &str, size: usize) -> Bytes {
    let size = size.max(FILE_TYPE.len() + 8 + name.len());
    let content = size - FILE_TYPE.len();
    let length = u32::try_from(content).expect("sizes asked for stay below 4 GiB");
    let mut file = Vec::with_capacity(size);
    file.extend_from_slice(FILE_TYPE);
    file.extend_from_slice(&length.to_be_bytes());
    file.extend_from_slice(b"mdat");
    file.extend_from_slice(name.as_bytes());
    file.resize(size, 0);
    file.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_form_of_their_names_and_the_size_asked_for() {
        for (name, query, content_type, start, bytes) in [
            ("a.mp4", "x=1", "video/mp4", &FILE_TYPE[..], ORDINARY_BYTES),
            ("a.mp4", "x=1&bytes=99", "video/mp4", &FILE_TYPE[..], 99),
            ("a.mp4", "bytes=1", "video/mp4", &FILE_TYPE[..], 37),
            ("a.png", "bytes=5000", "image/png", b"\x89PNG", 5000),
        ] {
            let (found, file) = file(name, query);
            assert_eq!((found, file.len()), (content_type, bytes), "{name} {query}");
            assert!(file.starts_with(start), "{name} {query}");
        }
    }
}
