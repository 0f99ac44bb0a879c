//! `force_usage`: asks chat streams for their usage, and takes the extra chunk out again for callers who did not.

use super::kind::{FilterKind, InvalidSettings, Need, Place, Side};
use super::view::{FrameView, RequestView, Verdict};
use super::{Access, Declaration, Filter, Step};
use crate::protocol::Protocol;
use crate::protocol::json::edit::Edits;
use crate::protocol::json::{Document, Kind, Limits};
use bytes::{BufMut, Bytes, BytesMut};
use std::sync::Arc;

pub const KIND: FilterKind = FilterKind {
    name: "force_usage",
    summary: "Asks chat streams for their usage, and removes the extra chunk for callers who did not ask.",
    side: Side::Request,
    place: Place {
        needs: &[Need::Body],
        ..Place::ANYWHERE
    },
    settings: None,
    bare: true,
    build: |_, parts| match parts.protocol {
        Some(Protocol::Chat) => Ok(Arc::new(ForceUsage)),
        _ => Err(InvalidSettings::new(
            "`force_usage` is for the chat protocol; others always tell usage",
        )),
    },
};

struct ForceUsage;

/// The chunk with the usage was the filter's wish, not the caller's.
struct UsageWasForced;

impl Filter for ForceUsage {
    fn declare(&self) -> Declaration {
        Declaration {
            events: Access::Replace,
            ..Declaration::default()
        }
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> Step<'a> {
        let body = request.body.scanned();
        if ask_for_usage(body, &mut request.edits) {
            request.state.set(UsageWasForced);
        }
        Step::next()
    }

    fn on_event(&self, frame: &mut FrameView<'_>) {
        if frame.request.state.get::<UsageWasForced>().is_some() {
            frame.verdict = without_usage(frame.event.data());
        }
    }
}

/// Makes a stream tell its usage; `false` where it does already, or is no stream.
fn ask_for_usage(body: &Document, edits: &mut Edits) -> bool {
    const ASKING: &[u8] = br#"{"include_usage":true}"#;
    let root = body.root();
    if root.get("stream").and_then(|stream| stream.as_bool()) != Some(true) {
        return false;
    }
    match root.get("stream_options") {
        None => edits.insert_member(root, "stream_options", ASKING),
        Some(options) if options.kind() != Kind::Object => edits.replace(options.span(), ASKING),
        Some(options) => match options.get("include_usage") {
            Some(asked) if asked.as_bool() == Some(true) => return false,
            Some(asked) => edits.replace(asked.span(), &b"true"[..]),
            None => edits.insert_member(options, "include_usage", &b"true"[..]),
        },
    }
    true
}

/// The extra chunk has no choices; every other chunk says `"usage":null`.
fn without_usage(data: &[u8]) -> Verdict {
    if memchr::memmem::find(data, b"\"usage\"").is_none() {
        return Verdict::Pass;
    }
    let Ok(chunk) = Document::parse(Bytes::copy_from_slice(data), &Limits::default()) else {
        return Verdict::Pass;
    };
    let root = chunk.root();
    let Some(usage) = root.get("usage") else {
        return Verdict::Pass;
    };
    let no_choices = root
        .get("choices")
        .is_some_and(|choices| choices.is_empty());
    if no_choices && !usage.is_null() {
        return Verdict::Drop;
    }
    let mut edits = Edits::default();
    edits.remove_member(usage);
    let mut event = BytesMut::with_capacity(data.len() + 8);
    event.put_slice(b"data: ");
    for piece in edits.apply(chunk.body()).iter() {
        event.put_slice(piece);
    }
    event.put_slice(b"\n\n");
    Verdict::Replace(event.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(body: &'static str) -> Option<String> {
        let body =
            Document::parse(Bytes::from_static(body.as_bytes()), &Limits::default()).unwrap();
        let mut edits = Edits::default();
        ask_for_usage(&body, &mut edits)
            .then(|| String::from_utf8(edits.apply(body.body()).to_bytes().to_vec()).unwrap())
    }

    #[test]
    fn only_streams_that_do_not_ask_are_changed() {
        for (body, expected) in [
            (r#"{"model":"m"}"#, None),
            (r#"{"stream":false}"#, None),
            (
                r#"{"stream":true,"stream_options":{"include_usage":true}}"#,
                None,
            ),
            (
                r#"{"stream":true}"#,
                Some(r#"{"stream":true,"stream_options":{"include_usage":true}}"#),
            ),
            (
                r#"{"stream":true,"stream_options":null}"#,
                Some(r#"{"stream":true,"stream_options":{"include_usage":true}}"#),
            ),
            (
                r#"{"stream":true,"stream_options":{}}"#,
                Some(r#"{"stream":true,"stream_options":{"include_usage":true}}"#),
            ),
            (
                r#"{"stream":true,"stream_options":{"include_usage":false}}"#,
                Some(r#"{"stream":true,"stream_options":{"include_usage":true}}"#),
            ),
        ] {
            assert_eq!(asked(body).as_deref(), expected, "{body}");
        }
    }

    #[test]
    fn what_was_not_asked_for_is_taken_out_again() {
        let replaced = |text: &'static str| Verdict::Replace(Bytes::from_static(text.as_bytes()));
        for (data, expected) in [
            (r#"{"choices":[{"index":0}]}"#, Verdict::Pass),
            ("[DONE]", Verdict::Pass),
            (
                r#"{"choices":[],"usage":{"prompt_tokens":1}}"#,
                Verdict::Drop,
            ),
            (
                r#"{"choices":[{"index":0}],"usage":null}"#,
                replaced("data: {\"choices\":[{\"index\":0}]}\n\n"),
            ),
        ] {
            assert_eq!(without_usage(data.as_bytes()), expected, "{data}");
        }
    }
}
