//! Tests of what gives a part a second meaning to some parsers: its own length, a charset for all parts, a folded name.

use super::*;

#[test]
fn the_length_of_a_part_is_not_sent() {
    for (head, plain) in [
        (
            "Content-Length: 5\r\nContent-Disposition: form-data; name=\"n\"",
            "Content-Disposition: form-data; name=\"n\"",
        ),
        (
            "Content-Disposition: form-data;\r\n name=\"n\"\r\ncontent-length:\r\n 7\r\nX-Own: 1",
            "Content-Disposition: form-data; name=\"n\"\r\nX-Own: 1",
        ),
        (
            "Content-Disposition: form-data; name=\"n\"\r\nContent-Length:  5",
            "Content-Disposition: form-data; name=\"n\"",
        ),
    ] {
        let form = parse(&with_head(head)).unwrap();
        let mut edits = JsonEdits::default();
        form.normalise(&mut edits);
        let sent = edits.apply(form.body()).to_bytes();
        assert_eq!(String::from_utf8_lossy(&sent), with_head(plain));
        assert_eq!(form.value(&form.parts()[0]), "value");
    }
}

#[test]
fn a_name_that_is_folded_is_refused() {
    for head in [
        "name=\r\n \"n\"",
        "name= \r\n\tn",
        "name\r\n =\"n\"",
        "name=\"n\"; filename=\r\n \"a\"",
    ] {
        let head = format!("Content-Disposition: form-data; {head}");
        let found = parse(&with_head(&head)).unwrap_err();
        assert_eq!(found.reason, Kind::FoldedName, "{head}");
        assert!(found.to_string().contains("on one line"), "{found}");
    }
}

#[test]
fn the_charset_of_a_form_is_utf8() {
    let form = |name: &str, charset: &str| {
        let head = format!("Content-Disposition: form-data; name=\"{name}\"");
        parse(&format!("--b\r\n{head}\r\n\r\n{charset}\r\n--b--"))
    };
    for (name, charset, expected) in [
        ("_charset_", "utf-8", None),
        ("_charset_", "US-ASCII", None),
        ("_charset_", "utf-7", Some(Kind::DefaultCharset)),
        ("_CHARSET_", "utf-16", Some(Kind::DefaultCharset)),
        ("_charset_", "", Some(Kind::DefaultCharset)),
        ("charset", "utf-7", None),
    ] {
        let found = form(name, charset).err().map(|error| error.reason);
        assert_eq!(found, expected, "{name} {charset}");
    }
}
