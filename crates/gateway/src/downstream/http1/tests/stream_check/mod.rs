//! Compares the session with a second parser on any bytes, whole and in pieces; tests and a fuzz target call it.

pub mod grammar;
pub(super) mod reading;

use reading::{AcceptedRequest, HEAD_BYTES_MAX, StreamCutting, StreamReadingEnd, read_stream};
use std::fmt;
use std::future::Future;
use tokio::runtime::{Builder, Runtime};

/// What chunks may have beside their data in any case, in bytes.
const EXTRAS_MAX: usize = 8 << 10;

/// Checks the session with any input: six bytes determine how the stream after them is cut.
///
/// # Errors
/// What the session reads otherwise than the grammar, or in pieces otherwise than as a whole.
pub fn check(input: &[u8]) -> Result<(), String> {
    let Some((cutting, stream)) = input.split_first_chunk::<6>() else {
        return Ok(());
    };
    let whole = block_on(read_stream(stream, &StreamCutting::default()));
    let what = stream.escape_ascii().to_string();
    let rest = check_grammar(stream, &whole.requests, &whole.end);
    let rest = rest.map_err(|fault| format!("{fault}: {what}"))?;
    let finished = whole
        .requests
        .iter()
        .filter(|request| request.body.is_some());
    compare("responses", &whole.replies.0, &finished.count(), &what)?;
    let cutting = StreamCutting::decode(*cutting);
    let mut cut = block_on(read_stream(stream, &cutting));
    // The begin of a head is parsed when it arrives, and each time that it has doubled.
    let is_refused_early =
        whole.end == StreamReadingEnd::RefusedHead && grammar::is_open_head(rest);
    if is_refused_early && cut.end == StreamReadingEnd::UnfinishedHead {
        cut.end = StreamReadingEnd::RefusedHead;
    }
    compare("reading", &cut, &whole, &format!("{cutting:?}: {what}"))
}

/// Checks that the session finds no other requests than the grammar; returns what is behind them.
fn check_grammar<'s>(
    stream: &'s [u8],
    requests: &[AcceptedRequest],
    end: &StreamReadingEnd,
) -> Result<&'s [u8], String> {
    let mut rest = stream;
    for request in requests {
        let found = grammar::first_request(rest);
        let found = found.ok_or_else(|| format!("not in the grammar: {request:?}"))?;
        let AcceptedRequest {
            method,
            target,
            fields,
            body,
            ..
        } = request;
        let head = (method, target, fields);
        compare(
            "head",
            &head,
            &(&found.method, &found.target, &found.fields),
            "",
        )?;
        // Only the session has a limit for what chunks have beside their data.
        if *end != StreamReadingEnd::RefusedBody || body.is_some() || rest.len() < EXTRAS_MAX {
            compare("body", body, &found.body, "")?;
        }
        compare("size", &(found.head_bytes <= HEAD_BYTES_MAX), &true, "")?;
        rest = &rest[found.bytes..];
    }
    match end {
        StreamReadingEnd::Closed(behind) => compare("rest", &&behind[..], &rest, "")?,
        StreamReadingEnd::Silent => compare("silence", &rest.trim_ascii(), &&b""[..], "")?,
        StreamReadingEnd::UnfinishedHead => {
            compare("open", &grammar::is_open_head(rest), &true, "")?;
        }
        _ => {}
    }
    Ok(rest)
}

pub(super) fn compare<T: fmt::Debug + PartialEq>(
    name: &str,
    actual: &T,
    expected: &T,
    what: &str,
) -> Result<(), String> {
    match actual == expected {
        true => Ok(()),
        false => Err(format!(
            "{name}: {actual:?} instead of {expected:?}: {what}"
        )),
    }
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    thread_local! {
        static RUNTIME: Runtime = Builder::new_current_thread().enable_time().build().unwrap();
    }
    RUNTIME.with(|runtime| runtime.block_on(future))
}
