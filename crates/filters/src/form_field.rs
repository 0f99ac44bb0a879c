//! The text of a field of a form, which the gateway sets.

use headgate_protocol::form::MultipartForm;
use headgate_protocol::json::edit::JsonEdits;
use memchr::memmem;

/// What follows the boundary in the last delimiter.
const CLOSING: &[u8] = b"--";

/// Adds an edit that gives the field `name` this text, in a new last part if the form has no such field. `false` if the
/// text would end its part.
pub fn set_field(form: &MultipartForm, name: &str, text: &str, edits: &mut JsonEdits) -> bool {
    let body = form.body();
    let start = form.parts().last().map_or(0, |part| part.whole.end);
    // Its line may end with white space, which another edit removes.
    let end = start + body[start..].trim_ascii_end().len();
    let delimiter = &body[start..end - CLOSING.len()];
    if memmem::find(text.as_bytes(), delimiter).is_some() {
        return false;
    }
    if let Some(part) = form.part(name) {
        edits.replace(part.value.clone(), text.to_owned());
        return true;
    }
    let head = format!("\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n");
    let added = [head.as_bytes(), delimiter, CLOSING].concat();
    edits.replace(end - CLOSING.len()..end, added);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    const FILE: &str =
        "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\"\r\n\r\n--\r\n\r\n";
    const MODEL: &str = "--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\n";

    fn parse(body: &str) -> MultipartForm {
        MultipartForm::parse(Bytes::copy_from_slice(body.as_bytes()), "b").unwrap()
    }

    #[test]
    fn a_field_gets_a_text_in_its_place_or_in_a_last_part() {
        for (body, expected) in [
            ("--b--".to_owned(), format!("{MODEL}m\r\n--b--")),
            ("--b-- \t\r\n".to_owned(), format!("{MODEL}m\r\n--b--\r\n")),
            (
                format!("{FILE}--b--\r\n"),
                format!("{FILE}{MODEL}m\r\n--b--\r\n"),
            ),
            (
                format!("{MODEL}other\r\n{FILE}--b--\r\n"),
                format!("{MODEL}m\r\n{FILE}--b--\r\n"),
            ),
        ] {
            let form = parse(&body);
            let mut edits = JsonEdits::default();
            form.normalise(&mut edits);
            assert!(set_field(&form, "model", "m", &mut edits));
            let edited = edits.apply(form.body()).to_bytes();
            assert_eq!(edited, expected, "{body}");
            let again = MultipartForm::parse(edited, "b").unwrap();
            assert_eq!(again.value(again.part("model").unwrap()), "m");
        }
    }

    #[test]
    fn a_text_that_would_end_its_part_is_not_set() {
        for body in [format!("{FILE}--b--"), format!("{MODEL}x\r\n--b--")] {
            let form = parse(&body);
            let mut edits = JsonEdits::default();
            for text in ["--b", "--b--", "a\r\n--b\r\n"] {
                assert!(!set_field(&form, "model", text, &mut edits), "{text}");
            }
            assert!(edits.is_empty());
        }
    }
}
