//! Reads a response.

use super::parts::{ReceivedPartKind, candidate_parts, first_candidate, made_id, read_part};
use super::signatures::SignaturePlace;
use super::words::{is_blocked, read_error, read_finish, read_usage};
use crate::escaped_text::EscapedText;
use crate::superset::{Arguments, FinishReason, OutputPart, Response};
use headgate_protocol::json::DocumentNode;

/// The response that a body makes. Calls without an id get one with `response_id` in it.
///
/// # Errors
/// Why it is no response of the protocol.
pub(crate) fn read_response<'a>(
    root: DocumentNode<'a>,
    response_id: &str,
) -> Result<Response<'a>, String> {
    let [id, candidates, feedback, counts, error] = root.get_each([
        "responseId",
        "candidates",
        "promptFeedback",
        "usageMetadata",
        "error",
    ]);
    let mut response = Response {
        id: id.and_then(EscapedText::from_node),
        usage: read_usage(counts),
        ..Response::default()
    };
    let Some(candidate) = first_candidate(candidates) else {
        if is_blocked(feedback) {
            response.finish = Some(FinishReason::ContentFilter);
            return Ok(response);
        }
        let error = error.filter(|error| !error.is_null()).map(read_error);
        return Err(match error {
            Some((message, _)) => format!("it is an error: {:.1024}", message.decoded()),
            None => "it has no candidate".into(),
        });
    };
    let mut reader = PartReader {
        response_id,
        parts: Vec::new(),
        texts: 0,
        calls: 0,
    };
    for part in candidate_parts(candidate) {
        reader.read(part)?;
    }
    let finish = read_finish(candidate.get("finishReason"))?;
    response.finish = finish.map(|finish| with_calls(finish, reader.calls > 0));
    response.parts = reader.parts;
    Ok(response)
}

/// A turn that waits for results of tools ends as any other.
pub(super) fn with_calls(finish: FinishReason, has_calls: bool) -> FinishReason {
    match finish {
        FinishReason::Stop if has_calls => FinishReason::ToolCalls,
        other => other,
    }
}

struct PartReader<'a, 'r> {
    response_id: &'r str,
    parts: Vec<OutputPart<'a>>,
    texts: u32,
    calls: u32,
}

impl<'a> PartReader<'a, '_> {
    fn read(&mut self, part: DocumentNode<'a>) -> Result<(), String> {
        let part = read_part(part)?;
        let signature = part.signature;
        match part.kind {
            ReceivedPartKind::Thought(text) => {
                self.parts.push(OutputPart::Thinking { text, signature });
            }
            ReceivedPartKind::Text(text) if !text.is_empty() => {
                self.parts.push(OutputPart::Text(text));
                self.add_signature(SignaturePlace::Text(self.texts), signature);
                self.texts += 1;
            }
            ReceivedPartKind::Text(_) | ReceivedPartKind::Other => {
                self.add_signature(SignaturePlace::Alone, signature);
            }
            ReceivedPartKind::Call {
                id,
                name,
                arguments,
            } => {
                self.add_signature(SignaturePlace::Call(self.calls), signature);
                self.parts.push(OutputPart::ToolCall {
                    id: id.unwrap_or_else(|| made_id(self.response_id, self.calls)),
                    name,
                    arguments: Arguments::Object(arguments),
                });
                self.calls += 1;
            }
        }
        Ok(())
    }

    fn add_signature(&mut self, place: SignaturePlace, signature: Option<EscapedText<'a>>) {
        let marked = signature.map(|signature| place.mark(&signature));
        self.parts.extend(marked.map(OutputPart::SealedThinking));
    }
}
