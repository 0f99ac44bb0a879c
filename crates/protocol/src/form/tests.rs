//! Tests of form parsing: unambiguous forms are accepted, others refused, and edits change no other bytes.

mod second_meanings;

use super::FormSyntaxErrorKind as Kind;
use super::*;
use crate::json::edit::JsonEdits;
use proptest::prelude::*;

fn parse(body: &str) -> Result<MultipartForm, FormError> {
    MultipartForm::parse(Bytes::copy_from_slice(body.as_bytes()), "b")
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
    assert_eq!((model.name.as_str(), model.is_file()), ("model", false));
    assert_eq!((image.name.as_str(), image.is_file()), ("image[]", true));
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
fn what_carries_no_part_is_read_over_and_not_kept() {
    const PART: &str = "Content-Disposition: form-data; name=\"n\"\r\n\r\n1";
    let plain = format!("--b\r\n{PART}\r\n--b--\r\n");
    for body in [
        plain.clone(),
        // The encoder of openai-node 4 ends a form like this.
        format!("{plain}\r\n"),
        format!("{plain}epilogue"),
        format!("{plain}epilogue\r\nof two lines\r\n"),
        format!("\r\n{plain}"),
        format!("preamble\r\n{plain}"),
        format!("This is a form.\r\nIn MIME.\r\n\r\n{plain}\r\n"),
        format!("--\r\n--a\r\n-\r\n{plain}--\r\n--a\r\n"),
        format!("--b \r\n{PART}\r\n--b--\r\n"),
        format!("--b \t \r\n{PART}\r\n--b-- \t\r\n"),
        format!("preamble\r\n--b\t\r\n{PART}\r\n--b-- \r\nepilogue"),
    ] {
        let form = parse(&body).unwrap_or_else(|found| panic!("{body:?}: {found}"));
        let [part] = form.parts() else {
            panic!("{form:?}")
        };
        assert_eq!(
            (part.name.as_str(), &form.value(part)[..]),
            ("n", &b"1"[..])
        );
        let mut edits = JsonEdits::default();
        form.normalise(&mut edits);
        assert_eq!(edits.apply(form.body()).to_bytes(), plain, "{body:?}");
    }
    let open = format!("\r\n--b\r\n{PART}\r\n--b--");
    assert_eq!(parse(&open).unwrap().body(), open.trim_start().as_bytes());
}

#[test]
fn ambiguous_part_headers_are_normalised() {
    for (head, plain) in [
        (
            "Content-Disposition: form-data;\r\n name=\"n\";\r\n\tfilename=\"a.png\"\r\nContent-Type:\r\n image/png",
            "Content-Disposition: form-data; name=\"n\";\tfilename=\"a.png\"\r\nContent-Type: image/png",
        ),
        (
            "Content-Disposition: form-data; filename=\"a \\\"b\\\"; c\"; name=n",
            "Content-Disposition: form-data; filename=\"a %22b%22; c\"; name=n",
        ),
        (
            "Content-Disposition: form-data;\r\n filename=\"a\\\"\r\n b\";\r\n name=\"n\"",
            "Content-Disposition: form-data; filename=\"a%22 b\"; name=\"n\"",
        ),
    ] {
        let form = parse(&format!("before\r\n{}", with_head(head))).unwrap();
        let mut edits = JsonEdits::default();
        form.normalise(&mut edits);
        let sent = edits.apply(form.body()).to_bytes();
        assert_eq!(String::from_utf8_lossy(&sent), with_head(plain));
        // The range of the name is right, whatever precedes it.
        let mut edits = JsonEdits::default();
        form.normalise(&mut edits);
        edits.replace(form.parts()[0].written_name.clone(), "\"m\"");
        let renamed = MultipartForm::parse(edits.apply(form.body()).to_bytes(), "b").unwrap();
        assert_eq!(renamed.parts()[0].name, "m");
        assert_eq!(form.value(&form.parts()[0]), "value");
    }
}

#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    const PART: &str = "Content-Disposition: form-data; name=\"n\"\r\n\r\n1";
    for (body, reason) in [
        (String::new(), Kind::NoBeginning),
        ("preamble".to_owned(), Kind::NoBeginning),
        // The first and the closing delimiter must be unambiguous to every parser.
        (
            format!("preamble--b\r\n{PART}\r\n--b--"),
            Kind::BadDelimiter,
        ),
        (
            format!("preamble\n--b\r\n{PART}\r\n--b--"),
            Kind::BadDelimiter,
        ),
        (format!("\n--b\r\n{PART}\r\n--b--"), Kind::BadDelimiter),
        (
            format!("\r\n--bc\r\n\r\n--b\r\n{PART}\r\n--b--"),
            Kind::BadDelimiter,
        ),
        (
            format!("x --b\r\n{PART}\r\n\r\n--b\r\n{PART}\r\n--b--"),
            Kind::BadDelimiter,
        ),
        (format!("--b x\r\n{PART}\r\n--b--"), Kind::BadDelimiter),
        (format!("--b \n{PART}\r\n--b--"), Kind::BadDelimiter),
        (format!("--b\u{b}\r\n{PART}\r\n--b--"), Kind::BadDelimiter),
        (format!("--b\r\n{PART}\r\n--b --"), Kind::BadDelimiter),
        (format!("--b\r\n{PART}\r\n--b-- x"), Kind::TrailingBytes),
        (format!("--b\r\n{PART}\r\n--b--x"), Kind::TrailingBytes),
        (format!("--b\r\n{PART}\r\n--b--\nx"), Kind::TrailingBytes),
        (format!("--b\r\n{PART}\r\n--b--\rx"), Kind::TrailingBytes),
        (
            format!("--b\r\n{PART}\r\n--b--\r\nx--b"),
            Kind::TrailingBytes,
        ),
        (
            format!("--b\r\n{PART}\r\n--b--\r\n--b\r\n{PART}\r\n--b--"),
            Kind::TrailingBytes,
        ),
        (format!("--b\n{PART}\r\n--b--"), Kind::BadDelimiter),
        (format!("--b\r\n{PART}\n--b--"), Kind::BadDelimiter),
        (format!("--b\r\n{PART}--b\r\n--b--"), Kind::BadDelimiter),
        (
            format!("--b\r\n{PART}\r\n--bc\r\n--b--"),
            Kind::BadDelimiter,
        ),
        (
            format!("--b\r\n{PART}\r\n--b--\r\n--b--"),
            Kind::TrailingBytes,
        ),
        (format!("--b\r\n{PART}\r\n"), Kind::NoEnd),
        ("--b\r\n--b--".to_owned(), Kind::LongHead),
        ("--b\r\n\r\nvalue\r\n--b--".to_owned(), Kind::LongHead),
    ] {
        let found = parse(&body).map_err(|unreadable| unreadable.reason);
        assert_eq!(found.unwrap_err(), reason, "{body:?}");
    }
    let many = format!("--b\r\n{PART}\r\n").repeat(PARTS_MAX + 1) + "--b--";
    assert_eq!(parse(&many).unwrap_err().reason, Kind::TooManyParts);
    let long = MultipartForm::parse(Bytes::new(), &"b".repeat(71)).unwrap_err();
    assert_eq!(long.reason, Kind::LongBoundary);
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
        named("; size=12"),
        named(";\r\n filename=a"),
        named(";\r\n\tfilename=\"a b.png\"\r\nContent-Type:\r\n image/png"),
        "Content-Disposition:\r\n form-data;\r\n name=n\r\nX-Own: 1".to_owned(),
        named("; filename=\"a \\\"b\\\".png\""),
        named("; filename=\"a\\\\\""),
        "Content-Disposition: form-data; size=12; name=\"n\"; x-y=\"a b\"".to_owned(),
        "Content-Disposition: form-data;name=n".to_owned(),
        "Content-Disposition: form-data; NAME = n".to_owned(),
    ] {
        let form = parse(&with_head(&head)).unwrap_or_else(|found| panic!("{head}: {found}"));
        assert_eq!(form.parts()[0].name, "n", "{head}");
        assert_eq!(
            form.parts()[0].is_file(),
            head.contains("filename"),
            "{head}"
        );
    }
    let disposition = |rest: &str| format!("Content-Disposition: {rest}");
    for (head, reason) in [
        ("Content-Type: text/plain".to_owned(), Kind::NoDisposition),
        (disposition("form-data"), Kind::BadDisposition),
        (disposition("attachment; name=\"n\""), Kind::BadDisposition),
        (
            disposition("form-data; filename=\"n\""),
            Kind::BadDisposition,
        ),
        (
            disposition("form-data; name=\"n\"; name=\"m\""),
            Kind::BadDisposition,
        ),
        (disposition("form-data; name=\"n"), Kind::BadDisposition),
        (
            disposition("form-data; name=\"n\\\"; x=\"m\""),
            Kind::BadDisposition,
        ),
        (disposition("form-data; name=\"n\" m"), Kind::BadDisposition),
        (disposition("form-data; name=\"n\";"), Kind::BadDisposition),
        (disposition("form-data; name=\"\""), Kind::BadName),
        (disposition("form-data; name=\"n%5B\""), Kind::BadName),
        (disposition("form-data; name=\"n m\""), Kind::BadName),
        (
            disposition("form-data; name=\"n\"; name*=utf-8''m"),
            Kind::BadName,
        ),
        // Parsers with RFC 2231 support join these to the name `model`.
        (named("; name*0=\"mo\"; name*1=\"del\""), Kind::BadName),
        (named("; x=\"; name=m\""), Kind::BadDisposition),
        (named("; x=\"; NAME = m\""), Kind::BadDisposition),
        (named("; x=\"; name*=utf-8''m\""), Kind::BadDisposition),
        (named("; filename=\"a; name=m\""), Kind::BadDisposition),
        (named("; xname=m"), Kind::BadDisposition),
        (named("; size"), Kind::BadDisposition),
        (
            named("\r\nContent-Type: multipart/mixed; boundary=c"),
            Kind::NestedMultipart,
        ),
        (
            named("\r\nContent-Type: Multipart/Form-Data"),
            Kind::NestedMultipart,
        ),
        (
            named("\r\nContent-Disposition: form-data; name=m"),
            Kind::RepeatedHeader,
        ),
        (
            named("\r\ncontent-type: a/b\r\nContent-Type: a/c"),
            Kind::RepeatedHeader,
        ),
        (named("\r\n folded"), Kind::BadDisposition),
        (named("\r\n \t"), Kind::BadHeader),
        (named("\n ; filename=a"), Kind::BadHeader),
        (
            " Content-Disposition: form-data; name=n".to_owned(),
            Kind::BadHeader,
        ),
        (
            named("; filename=\"a\\\"; name=\\\"m\""),
            Kind::BadDisposition,
        ),
        (named("; filename=\"a\\\""), Kind::BadDisposition),
        (named("; x=\"a\\\"b\""), Kind::BadDisposition),
        (named("\r\nX-Own : 1"), Kind::BadHeader),
        (named("\nX-Own: 1"), Kind::BadHeader),
        (named("\r\nX-Own: \x01"), Kind::BadHeader),
        (
            named("\r\nContent-Transfer-Encoding: base64"),
            Kind::TransferEncoding,
        ),
        (
            named("\r\nContent-Type: text/plain; charset=utf-16"),
            Kind::TransferEncoding,
        ),
        (
            named(&format!("\r\nX-Own: {}", "x".repeat(9000))),
            Kind::LongHead,
        ),
    ] {
        let found = parse(&with_head(&head)).expect_err(&head);
        assert_eq!(found.reason, reason, "{head}");
        assert!(found.to_string().contains("at byte 5"), "{found}");
    }
}

/// A part with any bytes that do not contain the boundary.
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
        let form = MultipartForm::parse(body.clone(), "a0Z").unwrap();
        prop_assert_eq!(form.parts().len(), parts.len());
        for (part, (name, is_file, value)) in form.parts().iter().zip(&parts) {
            prop_assert_eq!(&part.name, name);
            prop_assert_eq!(part.is_file(), *is_file);
            prop_assert_eq!(&body[part.value.clone()], &value[..]);
        }
        let at = at.index(parts.len());
        let mut edits = JsonEdits::default();
        edits.replace(form.parts()[at].value.clone(), with.clone());
        parts[at].2 = with.into_bytes();
        prop_assert_eq!(edits.apply(&body).to_bytes(), written(&parts));
        let mut edits = JsonEdits::default();
        edits.replace(form.parts()[at].whole.clone(), Bytes::new());
        parts.remove(at);
        prop_assert_eq!(edits.apply(&body).to_bytes(), written(&parts));
    }

    #[test]
    fn what_surrounds_the_parts_is_left_out_and_the_parts_are_the_same(
        parts in prop::collection::vec(any_part(), 0..6),
        before in prop_oneof![Just(String::new()), "[a-z\\r\\n -]{0,30}\\r\\n"],
        behind in prop_oneof![Just(String::new()), "\\r\\n[a-z\\r\\n -]{0,30}"],
        padding in "[ \\t]{0,4}",
    ) {
        let plain = written(&parts);
        let end = plain.len() - 2;
        let mut body = before.into_bytes();
        let text = &plain[..end];
        // After each boundary and after the closing `--`.
        let delimiter = b"--a0Z";
        let mut done = 0;
        for at in memchr::memmem::find_iter(text, delimiter) {
            let line = at + delimiter.len() + if at + delimiter.len() + 2 == end { 2 } else { 0 };
            body.extend_from_slice(&text[done..line]);
            body.extend_from_slice(padding.as_bytes());
            done = line;
        }
        body.extend_from_slice(&text[done..]);
        let has_line_end = behind.starts_with("\r\n");
        body.extend_from_slice(behind.as_bytes());
        let form = MultipartForm::parse(body.into(), "a0Z").unwrap();
        let mut edits = JsonEdits::default();
        form.normalise(&mut edits);
        let sent = edits.apply(form.body()).to_bytes();
        prop_assert_eq!(&sent[..], &plain[..if has_line_end { end + 2 } else { end }]);
        let names: Vec<&str> = form.parts().iter().map(|part| &*part.name).collect();
        let expected: Vec<&str> = parts.iter().map(|(name, ..)| &**name).collect();
        prop_assert_eq!(names, expected);
        for (part, (name, _, value)) in form.parts().iter().zip(&parts) {
            prop_assert_eq!(&form.value(part)[..], &value[..]);
            let written = &form.body()[part.written_name.clone()];
            prop_assert_eq!(written.to_vec(), format!("\"{name}\"").into_bytes());
        }
    }

    #[test]
    fn no_bytes_at_all_make_the_reader_panic(
        body in prop::collection::vec(any::<u8>(), 0..200),
        before in "[a\\r\\n-]{0,6}",
        behind in "[ab\\r\\n-]{0,8}",
    ) {
        let mut body = body;
        body.splice(0..0, *b"--b\r\n");
        body.splice(0..0, before.bytes());
        body.extend_from_slice(b"\r\n--b--");
        body.extend_from_slice(behind.as_bytes());
        if let Ok(form) = MultipartForm::parse(body.into(), "b") {
            let again = MultipartForm::parse(form.body().clone(), "b").unwrap();
            prop_assert_eq!(form.parts(), again.parts());
        }
    }
}
