//! Lenient reading of `multipart/form-data` (RFC 7578): finds every value that any parser may assign to a field.

use memchr::memmem;

/// The boundary of a `multipart/form-data` content type; `None` for other types, and for a content type that is
/// ambiguous.
pub fn boundary(content_type: &str) -> Option<&str> {
    let (essence, parameters) = content_type.split_once(';')?;
    if !essence.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let mut boundary = None;
    for parameter in parameters.split(';').filter(|text| !text.trim().is_empty()) {
        let (name, value) = parameter.split_once('=')?;
        match name.trim().to_ascii_lowercase().as_str() {
            "boundary" if boundary.is_none() => boundary = Some(unquoted(value.trim())?),
            // A repeated boundary, or the segments of RFC 2231: `boundary*0`.
            name if name.starts_with("boundary") => return None,
            // Some parsers decode field names with this charset.
            name if name.starts_with("charset") && !is_utf8(name, value) => return None,
            _ => {}
        }
    }
    // Some parsers end the boundary at a comma or a space.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "'()+_-./:=?".contains(c);
    boundary.filter(|boundary| !boundary.is_empty() && boundary.chars().all(is_plain))
}

fn unquoted(value: &str) -> Option<&str> {
    match value.strip_prefix('"') {
        Some(rest) => rest.strip_suffix('"'),
        None => Some(value),
    }
}

fn is_utf8(name: &str, charset: &str) -> bool {
    let charset = charset.trim().trim_matches('"');
    name == "charset"
        && ["utf-8", "utf8", "us-ascii"]
            .iter()
            .any(|known| charset.eq_ignore_ascii_case(known))
}

/// The contents of all parts named `name`.
///
/// Lenient: if any parser may assign this name to a part, it is returned.
pub fn values<'b>(body: &'b [u8], boundary: &str, name: &str) -> impl Iterator<Item = &'b [u8]> {
    let delimiter = format!("--{boundary}");
    let mut rest = next_part(body, &delimiter);
    std::iter::from_fn(move || {
        let from = rest?;
        rest = next_part(from, &delimiter);
        let end = rest.map_or(from.len(), |rest| from.len() - rest.len() - delimiter.len());
        Some(&from[..end])
    })
    .filter_map(move |part| {
        let (head, content) = split_head(part)?;
        is_named(head, name).then(|| without_line_end(content))
    })
}

/// The bytes after the next delimiter.
fn next_part<'b>(body: &'b [u8], delimiter: &str) -> Option<&'b [u8]> {
    let start = memmem::find(body, delimiter.as_bytes())?;
    Some(&body[start + delimiter.len()..])
}

fn split_head(part: &[u8]) -> Option<(&[u8], &[u8])> {
    let (at, length) = match (memmem::find(part, b"\r\n\r\n"), memmem::find(part, b"\n\n")) {
        (Some(strict), Some(loose)) if loose < strict => (loose, 2),
        (Some(strict), _) => (strict, 4),
        (None, Some(loose)) => (loose, 2),
        (None, None) => return None,
    };
    Some((&part[..at], &part[at + length..]))
}

fn without_line_end(content: &[u8]) -> &[u8] {
    let content = content.strip_suffix(b"\n").unwrap_or(content);
    content.strip_suffix(b"\r").unwrap_or(content)
}

/// Whether a part's headers contain this name, or some parser may read them so.
fn is_named(head: &[u8], name: &str) -> bool {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let mut before = "";
    head.split("name")
        .filter_map(|rest| {
            let is_filename = std::mem::replace(&mut before, rest).ends_with("file");
            if is_filename {
                return None;
            }
            // `name*=` has a charset and escapes, `name*0=` is a segment of a name.
            let is_extended = rest.starts_with('*');
            let (_, value) = rest.split_once('=')?;
            Some((is_extended, value.split(';').next().unwrap_or_default()))
        })
        .any(|(is_extended, value)| {
            let value = value.lines().next().unwrap_or_default().trim();
            let value = value.trim_matches('"').trim_end_matches("[]");
            is_extended || value == name || value.contains('%') || value.contains('\\')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boundary_is_that_of_forms_alone() {
        for (content_type, found) in [
            ("multipart/form-data; boundary=x", Some("x")),
            (
                "Multipart/Form-Data; charset=utf-8; Boundary=\"x=y\";",
                Some("x=y"),
            ),
            ("multipart/form-data; boundary=x; charset=UTF8", Some("x")),
            ("multipart/form-data; boundary=x; boundary=y", None),
            ("multipart/form-data; boundary=\"x;y\"", None),
            ("multipart/form-data; boundary=x,y", None),
            ("multipart/form-data; boundary=\"x,y\"", None),
            ("multipart/form-data; boundary=x y", None),
            ("multipart/form-data; boundary=x; boundary*=utf-8''y", None),
            ("multipart/form-data; boundary=x; boundary*0=y", None),
            ("multipart/form-data; boundary=x; charset=utf-7", None),
            (
                "multipart/form-data; boundary=x; charset*=utf-8''utf-7",
                None,
            ),
            ("multipart/form-data; boundary=x\"", None),
            ("multipart/form-data", None),
            ("multipart/form-data; boundary=", None),
            ("multipart/mixed; boundary=x", None),
            ("application/json", None),
        ] {
            assert_eq!(boundary(content_type), found, "{content_type}");
        }
    }

    #[test]
    fn the_values_of_a_field_are_found_among_files() {
        let body = b"--x\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nassistants\r\n\
            --x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"100%\"\r\n\r\nname=\"no\"\r\n\
            --x\r\nContent-Disposition: form-data; name=\"file_id\"\r\n\r\nfile-1\r\n\
            --x\r\nContent-Disposition: form-data; name=file_id\r\n\r\nfile-2\r\n--x--\r\n";
        let values = |boundary, name| values(body, boundary, name).collect::<Vec<_>>();
        let found = values("x", "purpose");
        assert_eq!(found, [&b"assistants"[..]]);
        let found = values("x", "file_id");
        assert_eq!(found, [b"file-1", b"file-2"]);
        assert!(values("y", "file_id").is_empty());
    }

    #[test]
    fn a_name_that_two_readers_could_read_differently_counts() {
        for header in [
            "content-disposition: form-data; name=\"file\\_id\"",
            "content-disposition: form-data; name*=utf-8''file%5Fid",
            "content-disposition: form-data; name*=utf-8''file_id",
            "content-disposition: form-data; name=\"x\"; name*0=\"file\"; name*1=\"_id\"",
            "content-disposition: form-data; NAME = file_id",
            "content-disposition: form-data; name=\"file_id[]\"",
        ] {
            let body = format!("--x\n{header}\n\nfile-1\n--x--");
            assert_eq!(
                values(body.as_bytes(), "x", "file_id").collect::<Vec<_>>(),
                [b"file-1"],
                "{header}"
            );
        }
    }
}
