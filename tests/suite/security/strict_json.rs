//! Tests that ambiguous bodies are refused before any provider receives them.

use crate::harness::error_shape::assert_error_body;
use crate::harness::{PROTOCOLS, Request, TestSetup, body_of};
use headgate_protocol::Protocol;

/// What replaces `EXTRA` in an otherwise valid body.
const REFUSED_MEMBERS: [(&str, &[u8]); 26] = [
    ("the model twice", br#""model":"demo-small""#),
    (
        "the model twice, once in escapes",
        br#""\u006dod\u0065l":"demo-small""#,
    ),
    ("a key twice further in", br#""x":{"a":[{"b":1,"b":1}]}"#),
    (
        "a key twice further in, once in escapes",
        br#""x":[{"b":1,"\u0062":2}]"#,
    ),
    ("the empty key twice", br#""x":{"":1,"":2}"#),
    ("a byte that is no UTF-8", b"\"x\":\"\xff\""),
    ("an over-long NUL", b"\"x\":\"\xc0\x80\""),
    ("an over-long slash", b"\"x\":\"\xe0\x80\xaf\""),
    ("a surrogate in UTF-8", b"\"x\":\"\xed\xa0\x80\""),
    ("a code point beyond Unicode", b"\"x\":\"\xf4\x90\x80\x80\""),
    ("half a character", b"\"x\":\"\xe2\x82\""),
    ("a lone high surrogate", br#""x":"\ud800""#),
    ("a lone low surrogate", br#""x":"\udc00 ""#),
    ("two high surrogates", br#""x":"\ud83d\ud83d""#),
    ("a raw NUL", b"\"x\":\"\0\""),
    ("a raw line break", b"\"x\":\"\n\""),
    ("an unknown escape", br#""x":"\x41""#),
    ("a number with a plus", br#""x":+1"#),
    ("a number with a leading zero", br#""x":01"#),
    ("a number without digits behind its point", br#""x":1."#),
    ("a hexadecimal number", br#""x":0x10"#),
    ("no number", br#""x":NaN"#),
    ("a trailing comma", br#""x":[1,]"#),
    ("a comment", br#""x":/* 1 */1"#),
    ("single quotes", b"\"x\":'1'"),
    ("an unquoted key", b"x:1"),
];

#[tokio::test]
async fn an_ambiguous_or_broken_body_is_refused_in_the_protocols_shape() {
    let world = TestSetup::start().await;
    for protocol in PROTOCOLS {
        for (what, members) in REFUSED_MEMBERS {
            assert_refused(&world, protocol, what, with_members(protocol, members), 400).await;
        }
        for (what, body) in whole_bodies(protocol) {
            assert_refused(&world, protocol, what, body, 400).await;
        }
    }
    assert_eq!(world.simulator.records().await.len(), 0);
    assert_eq!(world.ask(&Request::ask(Protocol::Chat)).await.status, 200);
}

#[tokio::test]
async fn a_body_may_be_sixty_four_deep_and_no_deeper() {
    let world = TestSetup::start().await;
    let nested = |depth: usize| {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        with_members(Protocol::Chat, format!("\"x\":{open}1{close}").as_bytes())
    };
    let request = |depth| Request::to(Protocol::Chat, nested(depth)).simulate("html");
    // The 502 for the provider's HTML page shows that the request was forwarded.
    assert_eq!(world.ask(&request(63)).await.status, 502);
    for depth in [64, 100_000] {
        let message = assert_error_body(Protocol::Chat, &world.ask(&request(depth)).await, 400);
        assert!(message.contains("64"), "{message}");
    }
    assert_eq!(world.simulator.records().await.len(), 1);
}

#[tokio::test]
async fn a_body_of_more_than_a_million_values_is_too_large() {
    let world = TestSetup::start().await;
    let many = |count: usize| format!("\"x\":[{}0]", "0,".repeat(count - 1));
    let keys: String = (0..1_000_001).map(|n| format!("\"{n}\":0,")).collect();
    for members in [
        many(1_000_001),
        format!("\"x\":{{{}}}", keys.trim_end_matches(',')),
    ] {
        let request = Request::to(
            Protocol::Chat,
            with_members(Protocol::Chat, members.as_bytes()),
        );
        assert_error_body(Protocol::Chat, &world.ask(&request).await, 413);
    }
    let fits = with_members(Protocol::Chat, many(900_000).as_bytes());
    let request = Request::to(Protocol::Chat, fits).simulate("html");
    assert_eq!(world.ask(&request).await.status, 502);
    assert_eq!(world.simulator.records().await.len(), 1);
}

async fn assert_refused(
    world: &TestSetup,
    protocol: Protocol,
    what: &str,
    body: Vec<u8>,
    status: u16,
) {
    for request in [
        Request::to(protocol, body.clone()),
        Request::to(protocol, body).chunked(5),
    ] {
        let answer = world.ask(&request).await;
        assert_eq!(answer.status, status, "{what}: {}", answer.text());
        assert_error_body(protocol, &answer, status);
    }
}

/// A valid body with `members` at its end.
fn with_members(protocol: Protocol, members: &[u8]) -> Vec<u8> {
    let good = body_of(protocol).to_string();
    let open = good.strip_suffix('}').unwrap().as_bytes();
    [open, b",", members, b"}"].concat()
}

/// Bodies that are invalid as a whole.
fn whole_bodies(protocol: Protocol) -> Vec<(&'static str, Vec<u8>)> {
    let good = body_of(protocol).to_string();
    let model = |value: &str| good.replace("\"demo-large\"", value).into_bytes();
    let utf16 =
        |order: fn(u16) -> [u8; 2]| good.encode_utf16().flat_map(order).collect::<Vec<u8>>();
    vec![
        ("nothing", Vec::new()),
        ("blanks", b" \r\n\t ".to_vec()),
        ("a byte order mark", format!("\u{feff}{good}").into_bytes()),
        ("UTF-16, little endian", utf16(u16::to_le_bytes)),
        ("UTF-16, big endian", utf16(u16::to_be_bytes)),
        ("bytes behind the body", format!("{good} x").into_bytes()),
        ("a second body", format!("{good}{good}").into_bytes()),
        ("a NUL behind the body", format!("{good}\0").into_bytes()),
        ("half a body", good.as_bytes()[..good.len() / 2].to_vec()),
        ("a list", format!("[{good}]").into_bytes()),
        ("a string", b"\"demo-large\"".to_vec()),
        ("null", b"null".to_vec()),
        ("no members", b"{}".to_vec()),
        ("a model that is a number", model("1")),
        ("a model that is null", model("null")),
        ("a model that is a list", model("[\"demo-large\"]")),
        ("a model without a name", model("\"\"")),
        (
            "a vertical tab for a blank",
            format!("\u{b}{good}").into_bytes(),
        ),
        (
            "a no-break space for a blank",
            format!("\u{a0}{good}").into_bytes(),
        ),
    ]
}
