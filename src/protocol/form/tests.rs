//! Forms that read one way only, and the bytes around a change.

use super::*;
use crate::protocol::json::edit::Edits;
use proptest::prelude::*;

fn parse(body: &str) -> Result<Form, Unreadable> {
    Form::parse(Bytes::copy_from_slice(body.as_bytes()), "b")
}

/// A form of one part with these header lines.
fn with_head(head: &str) -> String {
    format!("--b\r\n{head}\r\n\r\nvalue\r\n--b--\r\n")
}

#[test]
fn parts_are_found_with_their_places() {
    let body = "--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm\r\n\
        --b\r\ncontent-disposition: Form-Data; name=\"image[]\"; filename=\"a;b.png\"\r\n\
        Content-Type: image/png\r\nContent-Length: 6\r\n\r\n\r\n\x01--\r\n\r\n--b--\r\n";
    let form = parse(body).unwrap();
    let [model, image] = form.parts() else {
        panic!("{form:?}")
    };
    assert_eq!((model.name.as_str(), model.is_file), ("model", false));
    assert_eq!((image.name.as_str(), image.is_file), ("image[]", true));
    assert_eq!(image.content_type.as_deref(), Some("image/png"));
    assert_eq!(form.value(model), "m");
    assert_eq!(form.value(image), "\r\n\x01--\r\n");
    assert!(body[image.whole.clone()].starts_with("--b\r\ncontent"));
    assert_eq!(image.whole.start, model.whole.end);
}

#[test]
fn a_form_may_end_without_a_line_end_and_be_empty() {
    assert_eq!(parse("--b--").unwrap().parts(), []);
    assert_eq!(parse("--b--\r\n").unwrap().parts(), []);
}

#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    const PART: &str = "Content-Disposition: form-data; name=\"n\"\r\n\r\n1";
    for (body, reason) in [
        (String::new(), Reason::NoBeginning),
        (format!("\r\n--b\r\n{PART}\r\n--b--"), Reason::NoBeginning),
        (
            format!("preamble\r\n--b\r\n{PART}\r\n--b--"),
            Reason::NoBeginning,
        ),
        (format!("--b \r\n{PART}\r\n--b--"), Reason::BadDelimiter),
        (format!("--b\n{PART}\r\n--b--"), Reason::BadDelimiter),
        (format!("--b\r\n{PART}\n--b--"), Reason::BadDelimiter),
        (format!("--b\r\n{PART}--b\r\n--b--"), Reason::BadDelimiter),
        (
            format!("--b\r\n{PART}\r\n--bc\r\n--b--"),
            Reason::BadDelimiter,
        ),
        (
            format!("--b\r\n{PART}\r\n--b--\r\nmore"),
            Reason::BytesBehind,
        ),
        (
            format!("--b\r\n{PART}\r\n--b--\r\n--b--"),
            Reason::BytesBehind,
        ),
        (format!("--b\r\n{PART}\r\n"), Reason::NoEnd),
        ("--b\r\n--b--".to_owned(), Reason::LongHead),
        ("--b\r\n\r\nvalue\r\n--b--".to_owned(), Reason::LongHead),
    ] {
        let found = parse(&body).map_err(|unreadable| unreadable.reason);
        assert_eq!(found.unwrap_err(), reason, "{body:?}");
    }
    let many = format!("--b\r\n{PART}\r\n").repeat(PARTS_MAX + 1) + "--b--";
    assert_eq!(parse(&many).unwrap_err().reason, Reason::TooManyParts);
    let long = Form::parse(Bytes::new(), &"b".repeat(71)).unwrap_err();
    assert_eq!(long.reason, Reason::LongBoundary);
}

#[test]
fn the_head_of_a_part_has_one_meaning() {
    let named = |rest: &str| format!("Content-Disposition: form-data; name=\"n\"{rest}");
    for head in [
        named(""),
        named("; filename=a.png"),
        named("; filename=\"C:\\a.png\""),
        named("; filename=\"ä 100%.png\"; filename*=UTF-8''%C3%A4.png"),
        named("\r\nContent-Type: text/plain; charset=UTF-8"),
        named("\r\nContent-Transfer-Encoding: binary"),
        named("\r\nX-Own: 1"),
        "Content-Disposition: form-data;name=n".to_owned(),
        "Content-Disposition: form-data; NAME = n".to_owned(),
    ] {
        let form = parse(&with_head(&head)).unwrap_or_else(|found| panic!("{head}: {found}"));
        assert_eq!(form.parts()[0].name, "n", "{head}");
        assert_eq!(form.parts()[0].is_file, head.contains("filename"), "{head}");
    }
    let disposition = |rest: &str| format!("Content-Disposition: {rest}");
    for (head, reason) in [
        ("Content-Type: text/plain".to_owned(), Reason::NoDisposition),
        (disposition("form-data"), Reason::BadDisposition),
        (
            disposition("attachment; name=\"n\""),
            Reason::BadDisposition,
        ),
        (
            disposition("form-data; filename=\"n\""),
            Reason::BadDisposition,
        ),
        (
            disposition("form-data; name=\"n\"; name=\"m\""),
            Reason::BadDisposition,
        ),
        (disposition("form-data; name=\"n"), Reason::BadDisposition),
        (
            disposition("form-data; name=\"n\\\"; x=\"m\""),
            Reason::BadDisposition,
        ),
        (
            disposition("form-data; name=\"n\" m"),
            Reason::BadDisposition,
        ),
        (
            disposition("form-data; name=\"n\";"),
            Reason::BadDisposition,
        ),
        (disposition("form-data; name=\"\""), Reason::BadName),
        (disposition("form-data; name=\"n%5B\""), Reason::BadName),
        (disposition("form-data; name=\"n m\""), Reason::BadName),
        (
            disposition("form-data; name=\"n\"; name*=utf-8''m"),
            Reason::BadName,
        ),
        // What readers of RFC 2231 put together to a name: `model`.
        (named("; name*0=\"mo\"; name*1=\"del\""), Reason::BadName),
        (named("; x=\"; name=m\""), Reason::BadDisposition),
        (
            named("\r\nContent-Disposition: form-data; name=m"),
            Reason::RepeatedHeader,
        ),
        (
            named("\r\ncontent-type: a/b\r\nContent-Type: a/c"),
            Reason::RepeatedHeader,
        ),
        (named("\r\n folded"), Reason::BadHeader),
        (named("\r\nX-Own : 1"), Reason::BadHeader),
        (named("\nX-Own: 1"), Reason::BadHeader),
        (named("\r\nX-Own: \x01"), Reason::BadHeader),
        (
            named("\r\nContent-Transfer-Encoding: base64"),
            Reason::Encoded,
        ),
        (
            named("\r\nContent-Type: text/plain; charset=utf-16"),
            Reason::Encoded,
        ),
        (
            named(&format!("\r\nX-Own: {}", "x".repeat(9000))),
            Reason::LongHead,
        ),
    ] {
        let found = parse(&with_head(&head)).expect_err(&head);
        assert_eq!(found.reason, reason, "{head}");
        assert!(found.to_string().contains("at byte 5"), "{found}");
    }
}

/// A part with a value of any bytes in which the boundary does not stand.
fn any_part() -> impl Strategy<Value = (String, bool, Vec<u8>)> {
    let value = prop::collection::vec(
        prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'-'), any::<u8>()],
        0..80,
    );
    ("[a-z_\\[\\]]{1,12}", any::<bool>(), value)
}

fn written(parts: &[(String, bool, Vec<u8>)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, is_file, value) in parts {
        let file = if *is_file { "; filename=\"f\"" } else { "" };
        let head =
            format!("--a0Z\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(value);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--a0Z--\r\n");
    body
}

proptest! {
    #[test]
    fn any_parts_are_read_back_and_a_spliced_one_leaves_the_others_alone(
        mut parts in prop::collection::vec(any_part(), 1..8),
        at in any::<prop::sample::Index>(),
        with in "[a-z0-9.-]{0,40}",
    ) {
        let body = Bytes::from(written(&parts));
        let form = Form::parse(body.clone(), "a0Z").unwrap();
        prop_assert_eq!(form.parts().len(), parts.len());
        for (part, (name, is_file, value)) in form.parts().iter().zip(&parts) {
            prop_assert_eq!(&part.name, name);
            prop_assert_eq!(part.is_file, *is_file);
            prop_assert_eq!(&body[part.value.clone()], &value[..]);
        }
        let at = at.index(parts.len());
        let mut edits = Edits::default();
        edits.replace(form.parts()[at].value.clone(), with.clone());
        parts[at].2 = with.into_bytes();
        prop_assert_eq!(edits.apply(&body).to_bytes(), written(&parts));
        let mut edits = Edits::default();
        edits.replace(form.parts()[at].whole.clone(), Bytes::new());
        parts.remove(at);
        prop_assert_eq!(edits.apply(&body).to_bytes(), written(&parts));
    }

    #[test]
    fn no_bytes_at_all_make_the_reader_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut body = body;
        body.splice(0..0, *b"--b\r\n");
        body.extend_from_slice(b"\r\n--b--");
        let _ = Form::parse(body.into(), "b");
    }
}
