//! Multipart forms: parts lie within the body in order, and an unambiguous form reads back with the same parts.
//!
//! An input is the text of a boundary, and after a line with `--` a form with it.

use crate::input::parts;
use bytes::Bytes;
use headgate_protocol::form::{MultipartForm, boundary};
use headgate_protocol::json::edit::JsonEdits;

pub fn run(input: &[u8]) {
    let [first, body] = parts(input);
    let Ok(first) = std::str::from_utf8(first) else {
        return;
    };
    let text = match boundary(&format!("multipart/form-data; boundary={first}")) {
        Some(text) => text.to_owned(),
        None => first.to_owned(),
    };
    if text.is_empty() {
        return;
    }
    let body = Bytes::copy_from_slice(body);
    let Ok(form) = MultipartForm::parse(body, &text) else {
        return;
    };
    check_ranges(&form);
    let mut edits = JsonEdits::default();
    form.normalise(&mut edits);
    let plain = edits.apply(form.body()).to_bytes();
    let again = MultipartForm::parse(plain.clone(), &text)
        .unwrap_or_else(|error| panic!("{error}: {}", plain.escape_ascii()));
    assert_eq!(summarise(&again), summarise(&form));
    let mut edits = JsonEdits::default();
    again.normalise(&mut edits);
    assert!(
        edits.is_empty(),
        "the form is still ambiguous: {}",
        plain.escape_ascii()
    );
    check_removal(&again, &text);
}

/// Names, contents and whether each part is a file.
fn summarise(form: &MultipartForm) -> Vec<(String, Bytes, bool)> {
    let parts = form.parts().iter();
    let parts = parts.map(|part| (part.name.clone(), form.value(part), part.is_file()));
    parts.collect()
}

fn check_ranges(form: &MultipartForm) {
    let mut end = 0;
    for part in form.parts() {
        assert_eq!(
            end, part.whole.start,
            "a part begins where the last one ends"
        );
        let inside = [&part.written_name, &part.value];
        assert!(inside.iter().all(|range| {
            part.whole.start <= range.start
                && range.start <= range.end
                && range.end <= part.whole.end
        }));
        assert!(part.written_name.end <= part.value.start);
        end = part.whole.end;
    }
    assert!(end <= form.body().len());
    let named = form
        .parts()
        .iter()
        .all(|part| form.part(&part.name).is_some());
    assert!(named, "a part is not found by its name");
}

/// A form without its first part has all others.
fn check_removal(form: &MultipartForm, boundary: &str) {
    let Some(first) = form.parts().first() else {
        return;
    };
    let mut edits = JsonEdits::default();
    edits.replace(first.whole.clone(), Bytes::new());
    let rest = edits.apply(form.body()).to_bytes();
    let rest = MultipartForm::parse(rest, boundary).expect("a form without a part is one");
    assert_eq!(summarise(&rest), summarise(form)[1..]);
}
