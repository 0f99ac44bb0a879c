//! Streams that were not planned: with mutations, of words in any order, or of any bytes.

use super::choices::StreamChoices;
use super::stream_plan::ByteStreamPlan;
use memchr::memmem;

/// What heads and bodies consist of, in an order that no grammar knows.
const WORDS: &[&str] = &[
    "\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Content-Length: 3\r\n",
    "\r\n\r\n",
    "3\r\nabc\r\n",
    "0\r\n\r\n",
    "\n",
    "\r",
    " ",
    "\t",
    ":",
    "\0",
    ",",
    ";",
    "a",
    "0",
    "3",
    "abc",
    "GET ",
    "/",
    " HTTP/1.1",
    " HTTP/1.0\n\n",
    "Connection: close\r\n",
    "Connection: keep-alive\r\n",
    "Expect: 100-continue\r\n",
    "Host: b\r\n",
    "\u{e9}",
    "\"",
    "Transfer-Encoding: ",
    "Content-Length: ",
    "chunked",
];

/// A planned stream with mutations, words without a plan, or any bytes.
pub fn generate(choices: &mut StreamChoices<'_>) -> Vec<u8> {
    match choices.below(8) {
        0 => choices.take(usize::MAX).to_vec(),
        1 | 2 => {
            let words = (0..choices.below(40)).map(|_| choices.one(WORDS).as_bytes());
            words.collect::<Vec<_>>().concat()
        }
        _ => {
            // The plan may use up all others.
            let mut mutations = StreamChoices::new(choices.take(20));
            let mut stream = ByteStreamPlan::generate(choices).stream;
            for _ in 0..=mutations.below(3) {
                mutate(&mut mutations, &mut stream);
            }
            stream
        }
    }
}

fn mutate(choices: &mut StreamChoices<'_>, stream: &mut Vec<u8>) {
    if stream.is_empty() {
        return;
    }
    let at = choices.below(stream.len());
    let end = stream.len().min(at + 1 + choices.below(30));
    match choices.below(8) {
        0 => drop(stream.remove(at)),
        1 => stream[at] = choices.below(256) as u8,
        2 => stream.insert(at, choices.one(b"\r\n \t:;0,\0")),
        3 => drop(stream.drain(at..end)),
        4 => {
            let copy = stream[at..end].to_vec();
            let to = choices.below(stream.len());
            stream.splice(to..to, copy);
        }
        5 => {
            stream.splice(at..at, choices.one(WORDS).bytes());
        }
        // The next line ends with one character.
        6 => {
            if let Some(line_end) = memmem::find(&stream[at..], b"\r\n") {
                stream.remove(at + line_end + choices.below(2));
            }
        }
        // The next length is another one.
        _ => {
            if let Some(digit) = stream[at..].iter().position(u8::is_ascii_digit) {
                stream[at + digit] = choices.one(b"0123456789aF");
            }
        }
    }
}
