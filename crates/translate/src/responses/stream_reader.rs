//! Reads a stream of the responses protocol.

mod items;
#[cfg(test)]
mod tests;

use super::outcome::{completed_finish, incomplete_finish, read_error, read_usage};
use super::response_reader::required;
use crate::escaped_text::EscapedText;
use crate::superset::StreamPiece;
use headgate_protocol::json::DocumentNode;
use items::{ProviderItems, ThoughtPlace};

/// The state of a stream that is read.
#[derive(Debug, Default)]
pub(crate) struct ResponsesStreamReader {
    has_started: bool,
    /// Its last event was read.
    has_ended: bool,
    items: ProviderItems,
}

impl ResponsesStreamReader {
    /// Adds the pieces of an event.
    ///
    /// # Errors
    /// Why the event is not of the protocol.
    pub(crate) fn read<'e>(
        &mut self,
        event: DocumentNode<'e>,
        pieces: &mut Vec<StreamPiece<'e>>,
    ) -> Result<(), String> {
        if self.has_ended {
            return Ok(());
        }
        let [name, error, response] = event.get_each(["type", "error", "response"]);
        let error = error.filter(|error| !error.is_null());
        let Some(name) = name.and_then(EscapedText::from_node) else {
            let error = error.ok_or("an event has no text `type`")?;
            self.fail(Some(error), pieces);
            return Ok(());
        };
        let before = pieces.len();
        match name.as_written() {
            "response.created" | "response.in_progress" | "response.queued" => {
                self.start(response, before, pieces);
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.end(response, pieces)?;
                self.start(response, before, pieces);
            }
            "error" => self.fail(error.or(Some(event)), pieces),
            other => {
                self.read_content(other, event, pieces)?;
                if pieces.len() > before {
                    self.start(None, before, pieces);
                }
            }
        }
        Ok(())
    }

    /// An event about an item. Those of other types are left out.
    fn read_content<'e>(
        &mut self,
        name: &str,
        event: DocumentNode<'e>,
        pieces: &mut Vec<StreamPiece<'e>>,
    ) -> Result<(), String> {
        let index = |member| place(event, member);
        let text = |member| required(event, member);
        let item = || event.get("item").ok_or("an event has no `item`");
        let part = || event.get("part").ok_or("an event has no `part`");
        let items = &mut self.items;
        match name {
            "response.output_item.added" => {
                items.open_item(index("output_index")?, item()?, pieces)
            }
            "response.output_item.done" => items.end_item(index("output_index")?, item()?, pieces),
            "response.output_text.delta" | "response.refusal.delta" => {
                let place = (index("output_index")?, index("content_index")?);
                let is_refusal = name == "response.refusal.delta";
                items.add_text(place, is_refusal, text("delta")?, pieces);
                Ok(())
            }
            "response.output_text.done" | "response.refusal.done" => {
                let place = (index("output_index")?, index("content_index")?);
                let is_refusal = name == "response.refusal.done";
                let member = if is_refusal { "refusal" } else { "text" };
                items.complete_text(place, is_refusal, text(member)?, pieces);
                Ok(())
            }
            "response.content_part.done" => {
                let place = (index("output_index")?, index("content_index")?);
                items.end_content(place, part()?, pieces)
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                items.add_arguments(index("output_index")?, text("delta")?, pieces)
            }
            "response.function_call_arguments.done" => {
                items.complete_arguments(index("output_index")?, text("arguments")?, pieces)
            }
            "response.custom_tool_call_input.done" => {
                items.complete_arguments(index("output_index")?, text("input")?, pieces)
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let place = thought_place(name, event)?;
                items.add_thought(place, text("delta")?, pieces);
                Ok(())
            }
            "response.reasoning_summary_text.done" | "response.reasoning_text.done" => {
                let place = thought_place(name, event)?;
                items.complete_thought(place, text("text")?, pieces);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Adds the start of the response at an index of the pieces, unless it came before.
    fn start<'e>(
        &mut self,
        response: Option<DocumentNode<'e>>,
        before: usize,
        pieces: &mut Vec<StreamPiece<'e>>,
    ) {
        if !std::mem::replace(&mut self.has_started, true) {
            let id = response.and_then(|response| EscapedText::from_node(response.get("id")?));
            pieces.insert(before, StreamPiece::Start { id, usage: None });
        }
    }

    /// The last event. Some servers send nothing of the output before it.
    fn end<'e>(
        &mut self,
        response: Option<DocumentNode<'e>>,
        pieces: &mut Vec<StreamPiece<'e>>,
    ) -> Result<(), String> {
        let response = response.ok_or("the last event has no `response`")?;
        let [status, output, error] = response.get_each(["status", "output", "error"]);
        let status = status.and_then(EscapedText::from_node).unwrap_or_default();
        if self.items.is_empty() {
            let output = output.into_iter().flat_map(DocumentNode::elements);
            for (item, index) in output.zip(0..) {
                self.items.end_item(index, item, pieces)?;
            }
        }
        self.items.end_all(pieces);
        let reason = match status.as_written() {
            "completed" => completed_finish(self.items.has_calls()),
            "incomplete" => incomplete_finish(response),
            "failed" => {
                self.fail(error.filter(|error| !error.is_null()), pieces);
                return Ok(());
            }
            other => return Err(format!("the status of the last event is `{other:.64}`")),
        };
        self.has_ended = true;
        let stop_sequence = None;
        pieces.push(StreamPiece::Finish {
            reason,
            stop_sequence,
        });
        pieces.extend(read_usage(response).map(StreamPiece::Usage));
        pieces.push(StreamPiece::End);
        Ok(())
    }

    fn fail<'e>(&mut self, error: Option<DocumentNode<'e>>, pieces: &mut Vec<StreamPiece<'e>>) {
        self.has_ended = true;
        let (message, code) = read_error(error);
        pieces.push(StreamPiece::Error { message, code });
    }
}

/// An index that an event must have.
fn place(event: DocumentNode<'_>, member: &str) -> Result<u64, String> {
    let index = event.get(member).and_then(DocumentNode::as_u64);
    index.ok_or_else(|| format!("an event has no `{member}`"))
}

fn thought_place(name: &str, event: DocumentNode<'_>) -> Result<ThoughtPlace, String> {
    let is_summary = name.starts_with("response.reasoning_summary");
    let member = if is_summary {
        "summary_index"
    } else {
        "content_index"
    };
    Ok(ThoughtPlace {
        item: place(event, "output_index")?,
        is_summary,
        section: place(event, member)?,
    })
}
