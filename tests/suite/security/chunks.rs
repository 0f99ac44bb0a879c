//! Tests of chunked bodies by RFC 9112, section 7.1: violations of the grammar are refused.

use crate::harness::request::{ANN, body_of};
use crate::harness::{Connection, TestSetup};
use headgate_protocol::Protocol;
use std::time::Duration;
use tokio::time::timeout;

/// A connection that is silent for this long waits for more input.
const HANGS: Duration = Duration::from_secs(10);
/// The minimum number of forms that the tables below make, to notice an empty table.
const FORMS_MIN: usize = 150;

/// Sizes and chunks: `{S}` is the size of the body `{B}`, `{s}` the same in the other case.
const CHUNKS: &[(bool, &str)] = &[
    (true, "{S}\r\n{B}\r\n0\r\n\r\n"),
    (true, "{s}\r\n{B}\r\n0\r\n\r\n"),
    (true, "00{S}\r\n{B}\r\n0\r\n\r\n"),
    (true, "{S}\r\n{B}\r\n000\r\n\r\n"),
    (true, "1\r\n{\r\n{-}\r\n{R}\r\n0\r\n\r\n"),
    (false, "\r\n{B}\r\n0\r\n\r\n"),
    (false, "\r\n{S}\r\n{B}\r\n0\r\n\r\n"),
    (false, " \r\n{B}\r\n0\r\n\r\n"),
    (false, " {S}\r\n{B}\r\n0\r\n\r\n"),
    (false, "\t{S}\r\n{B}\r\n0\r\n\r\n"),
    (false, "{S} {S}\r\n{B}\r\n0\r\n\r\n"),
    (false, "+{S}\r\n{B}\r\n0\r\n\r\n"),
    (false, "-{S}\r\n{B}\r\n0\r\n\r\n"),
    (false, "0x{S}\r\n{B}\r\n0\r\n\r\n"),
    (false, "{S}h\r\n{B}\r\n0\r\n\r\n"),
    (false, "\"{S}\"\r\n{B}\r\n0\r\n\r\n"),
    (false, "{S},{S}\r\n{B}\r\n0\r\n\r\n"),
    (false, "{S}.0\r\n{B}\r\n0\r\n\r\n"),
    (false, "{S}_\r\n{B}\r\n0\r\n\r\n"),
    (false, "\u{ff11}\r\n{B}\r\n0\r\n\r\n"),
    (false, "\0{S}\r\n{B}\r\n0\r\n\r\n"),
    (false, "{S}\n{B}\r\n0\r\n\r\n"),
    (false, "{S}\r{B}\r\n0\r\n\r\n"),
    (false, "{S}\r\r\n{B}\r\n0\r\n\r\n"),
    (false, "{S}\n\r{B}\r\n0\r\n\r\n"),
    (false, "10000000000000000\r\n{B}\r\n0\r\n\r\n"),
    (false, "ffffffffffffffffffff\r\n{B}\r\n0\r\n\r\n"),
    // The end of the chunk's data.
    (false, "{S}\r\n{B}0\r\n\r\n"),
    (false, "{S}\r\n{B}\n0\r\n\r\n"),
    (false, "{S}\r\n{B}\r0\r\n\r\n"),
    (false, "{S}\r\n{B}\r\r\n0\r\n\r\n"),
    (false, "{S}\r\n{B}\n\r0\r\n\r\n"),
    (false, "{S}\r\n{B} \r\n0\r\n\r\n"),
    (false, "{S}\r\n{B}x\r\n0\r\n\r\n"),
    (false, "{S}\r\n{B};\r\n0\r\n\r\n"),
    // The end of the body: an empty or blank size is invalid.
    (false, "{S}\r\n{B}\r\n\r\n"),
    (false, "{S}\r\n{B}\r\n\r\n\r\n"),
    (false, "{S}\r\n{B}\r\n \r\n\r\n"),
    (false, "{S}\r\n{B}\r\n\t\r\n\r\n"),
    (false, "{S}\r\n{B}\r\n\r\n0\r\n\r\n"),
    (false, "{S}\r\n{B}\r\n;\r\n\r\n"),
    (false, "{S}\r\n{B}\r\n;a=b\r\n\r\n"),
    (false, "{S}\r\n{B}\r\n-0\r\n\r\n"),
    (false, "{S}\r\n{B}\r\n0x0\r\n\r\n"),
    (false, "{S}\r\n{B}\r\n 0\r\n\r\n"),
    (false, "{S}\r\n{B}\r\n0\n\n"),
    (false, "{S}\r\n{B}\r\n0\n\r\n"),
    (false, "{S}\r\n{B}\r\n0\r\n\n"),
    (false, "{S}\r\n{B}\r\n0\r\r\n\r\n"),
    (false, "{S}\r\n{B}\r\n0\r\n\r\r\n"),
    (false, "{S}\r\n{B}\r\n00000000000000000\r\n\r\n"),
];

/// Text after a size, in the first chunk and in the last one.
const EXTENSIONS: &[(bool, &str)] = &[
    (true, ";a"),
    (true, ";a=b"),
    (true, ";a=b;c=d;e"),
    (true, " ;a"),
    (true, "\t;\ta\t=\tb\t;\tc"),
    (true, " ; a = b ; c = \"d\""),
    (true, ";a=\"\""),
    (true, ";a=\"[b]\""),
    (true, ";a=\"b c\td\""),
    (true, ";a=\"\u{e9}\u{2014}\""),
    (true, ";a=\"\\\"\\\\\\[\\ \""),
    (true, ";a=\";b=,c(){}<>@:/?\""),
    (true, ";!#$%&'*+-.^_`|~=0"),
    (false, " "),
    (false, "\t"),
    (false, "  \t "),
    (false, ";"),
    (false, " ;"),
    (false, "; "),
    (false, ";;"),
    (false, ";;a"),
    (false, ";a;"),
    (false, ";a; ;b"),
    (false, ";="),
    (false, ";=b"),
    (false, "; =b"),
    (false, ";a="),
    (false, ";a=;b"),
    (false, ";a= "),
    (false, ";a==b"),
    (false, ";a=b=c"),
    (false, ";a "),
    (false, ";a=b "),
    (false, ";a=\"b\" "),
    (false, ";a b"),
    (false, ";a=b c"),
    (false, ";a,b"),
    (false, ";a=b,c"),
    (false, ";a=\"b"),
    (false, ";a=b\""),
    (false, ";a\"b\""),
    (false, ";a=\"b\"c"),
    (false, ";a=\"b\"\"c\""),
    (false, ";\"a\"=b"),
    (false, ";a='b c'"),
    (false, ";a=\"b\\"),
    (false, ";["),
    (false, ";a[0]"),
    (false, ";a=[b]"),
    (false, ";a={b}"),
    (false, ";a/b"),
    (false, ";a:b"),
    (false, ";\u{e9}"),
    (false, ";a=\u{e9}"),
    (false, ";a\0"),
    (false, ";a=\0"),
    (false, ";a=\"\0\""),
    (false, ";a=\"\\\0\""),
    (false, ";a\u{7f}"),
    (false, ";a=\"\u{7f}\""),
    (false, ";a=\"\u{1b}\""),
    (false, ";a\n"),
    (false, ";a\n;b"),
    (false, ";a=b\nc"),
    (false, ";a=\"b\nc\""),
    (false, ";a=\"b\r\nc\""),
    (false, ";a\r;b"),
    (false, ";a=\"\\\n\""),
    (false, "\u{b};a"),
    (false, "a;b;"),
    (false, "=a"),
    (false, ":a"),
];

/// Text between the last chunk and the empty line.
const TRAILERS: &[(bool, &str)] = &[
    (true, "X-A: b\r\n"),
    (true, "X-A:b\r\nX-C: d\r\n"),
    (true, "X-A:\r\n"),
    (true, "X-A: \t b \t \r\n"),
    (true, "X-A: [b] \"c\" \u{e9}\r\n"),
    (true, "!#$%&'*+-.^_`|~: b\r\n"),
    (false, "X-A\r\n"),
    (false, "X-A b\r\n"),
    (false, ": b\r\n"),
    (false, " : b\r\n"),
    (false, "X-A : b\r\n"),
    (false, "X-A\t: b\r\n"),
    (false, "X A: b\r\n"),
    (false, " X-A: b\r\n"),
    (false, "\tX-A: b\r\n"),
    (false, "X-A: b\r\n c\r\n"),
    (false, "X-A: b\r\n\tc\r\n"),
    (false, "X-A: b\r\n \r\n"),
    (false, " \r\n"),
    (false, "X-A: b\0c\r\n"),
    (false, "X-A: b\u{7f}c\r\n"),
    (false, "X-A: b\u{1}c\r\n"),
    (false, "X-A\0: b\r\n"),
    (false, "X-\u{e9}: b\r\n"),
    (false, "X[A]: b\r\n"),
    (false, "\"X-A\": b\r\n"),
    (false, "X-A: b\n"),
    (false, "X-A: b\nX-C: d\r\n"),
    (false, "X-A: b\rc\r\n"),
    (false, "X-A: b\r\r\n"),
    (false, "X-A: b\n\r"),
    (false, "\nX-A: b\r\n"),
    (false, "\rX-A: b\r\n"),
    (false, "GET /v1/models HTTP/1.1\r\n"),
    (false, "0\r\n"),
];

/// How a form is sent.
#[derive(Clone, Copy, Debug)]
enum Pace {
    AtOnce,
    InPieces,
}

#[tokio::test]
async fn a_chunked_body_is_taken_by_exactly_the_grammar() {
    let forms = forms();
    assert!(forms.len() >= FORMS_MIN, "{} forms", forms.len());
    let world = TestSetup::start().await;
    let mut wrong = Vec::new();
    let mut received = 0;
    for (legal, form) in &forms {
        for pace in [Pace::AtOnce, Pace::InPieces] {
            let outcome = outcome_of(&world, form, pace).await;
            let records = world.simulator.records().await;
            let bodies = records.len() - received;
            let right = match legal {
                // The next request on the connection starts where the body ends.
                true => outcome == [Some(200), Some(200)] && bodies == 2,
                false => outcome == [Some(400), None] && bodies == 0,
            };
            if !right {
                wrong.push(format!(
                    "{outcome:?} and {bodies} at the provider, legal: {legal}, {pace:?}: {form:?}"
                ));
            }
            received = records.len();
        }
    }
    println!(
        "{} forms of chunked bodies, each at once and in pieces",
        forms.len()
    );
    let (count, wrong) = (wrong.len(), wrong.join("\n"));
    assert_eq!(count, 0, "of {} forms:\n{wrong}", forms.len());
    assert_eq!(world.simulator.last_body().await, upstream_body());
}

#[tokio::test]
async fn bodies_of_one_byte_chunks_are_taken_whole() {
    let world = TestSetup::start().await;
    let chunks: String = sent_body()
        .chars()
        .map(|c| format!("1\r\n{c}\r\n"))
        .collect();
    let mut connection = world.gateway.connect().await;
    let request = head() + &chunks + "0\r\n\r\n";
    connection.send(request.as_bytes()).await.unwrap();
    assert_eq!(connection.answer().await.unwrap().status, 200);
    assert_eq!(world.simulator.last_body().await, upstream_body());
}

/// The statuses of the responses to a form and to the request after it; `None` if the connection ends.
async fn outcome_of(world: &TestSetup, form: &str, pace: Pace) -> [Option<u16>; 2] {
    let mut connection = world.gateway.connect().await;
    let follower = head() + &filled("{S}\r\n{B}\r\n0\r\n\r\n");
    let payload = form.to_string() + &follower;
    // Writes fail once the gateway has closed the connection.
    match pace {
        Pace::AtOnce => drop(connection.send((head() + &payload).as_bytes()).await),
        Pace::InPieces => {
            let _ = connection.send(head().as_bytes()).await;
            for piece in payload.as_bytes().chunks(23) {
                if connection.send(piece).await.is_err() {
                    break;
                }
            }
        }
    }
    [status(&mut connection).await, status(&mut connection).await]
}

async fn status(connection: &mut Connection) -> Option<u16> {
    let answer = timeout(HANGS, connection.answer()).await;
    answer
        .expect("a response or the end")
        .map(|answer| answer.status)
}

fn forms() -> Vec<(bool, String)> {
    let chunks = CHUNKS.iter().map(|(legal, form)| (*legal, filled(form)));
    let extensions = EXTENSIONS.iter().flat_map(|(legal, extension)| {
        [
            format!("{{S}}{extension}\r\n{{B}}\r\n0\r\n\r\n"),
            format!("{{S}}\r\n{{B}}\r\n0{extension}\r\n\r\n"),
        ]
        .map(|form| (*legal, filled(&form)))
    });
    let trailers = TRAILERS.iter().map(|(legal, trailers)| {
        let form = format!("{{S}}\r\n{{B}}\r\n0\r\n{trailers}\r\n");
        (*legal, filled(&form))
    });
    chunks.chain(extensions).chain(trailers).collect()
}

fn head() -> String {
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: gate.test\r\nAuthorization: Bearer {ANN}\r\n\
         Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
}

/// The body that the provider receives.
fn upstream_body() -> Vec<u8> {
    sent_body()
        .replace("demo-large", "sim-large-2026-08")
        .into_bytes()
}

/// The body with spaces, so that its size in hexadecimal contains a letter.
fn sent_body() -> String {
    let body = body_of(Protocol::Chat).to_string();
    let blanks = 0xab - body.len();
    body + &" ".repeat(blanks)
}

fn filled(form: &str) -> String {
    let body = sent_body();
    form.replace("{S}", &format!("{:x}", body.len()))
        .replace("{s}", &format!("{:X}", body.len()))
        .replace("{-}", &format!("{:x}", body.len() - 1))
        .replace("{R}", &body[1..])
        .replace("{B}", &body)
}
