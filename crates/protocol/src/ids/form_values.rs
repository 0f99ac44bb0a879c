//! Lenient reading of `multipart/form-data` (RFC 7578): finds every value that any parser may assign to a field, so that no
//! id is overlooked.

use memchr::memmem;

/// The contents of all parts named `name`.
///
/// Lenient: if any parser may assign this name to a part, it is returned.
pub fn form_values<'b>(
    body: &'b [u8],
    boundary: &str,
    name: &str,
) -> impl Iterator<Item = &'b [u8]> {
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
            // Within quotes a line that is folded has a blank, or nothing, in place of its end.
            let quoted = value.trim_start().strip_prefix('"');
            let is_folded = quoted.is_some_and(|rest| {
                let end = rest.find('"').unwrap_or(rest.len());
                rest[..end].contains('\n')
            });
            let value = value.trim_start().lines().next().unwrap_or_default().trim();
            let value = field_name(value.trim_matches('"'));
            is_extended || is_folded || value == name || value.contains(['%', '\\'])
        })
}

/// The name of a field or parameter, without what makes it an element of a list or object to some parsers: `name[]`,
/// `name[0]`, `name.x`.
pub fn field_name(written: &str) -> &str {
    let end = written.find(['[', '.']);
    end.map_or(written, |end| written[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_a_field_are_found_among_files() {
        let body = b"--x\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nassistants\r\n\
            --x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"100%\"\r\n\r\nname=\"no\"\r\n\
            --x\r\nContent-Disposition: form-data; name=\"file_id\"\r\n\r\nfile-1\r\n\
            --x\r\nContent-Disposition: form-data; name=file_id\r\n\r\nfile-2\r\n--x--\r\n";
        let values = |boundary, name| form_values(body, boundary, name).collect::<Vec<_>>();
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
            "content-disposition: form-data; name=\"file_id[0]\"",
            "content-disposition: form-data; name=\"File_ID.x\"",
            "content-disposition: form-data; name=\n \"file_id\"",
            "content-disposition: form-data; name\r\n =\"file_id\"",
            "content-disposition: form-data; name=\"file\r\n _id\"",
        ] {
            let body = format!("--x\n{header}\n\nfile-1\n--x--");
            assert_eq!(
                form_values(body.as_bytes(), "x", "file_id").collect::<Vec<_>>(),
                [b"file-1"],
                "{header}"
            );
        }
    }
}
