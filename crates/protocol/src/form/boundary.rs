//! The boundary that a content type declares.

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
}
