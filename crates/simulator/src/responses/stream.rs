//! A response as a stream: every event from `response.created` to the last one, with sequence numbers.

use super::object::{ResponseObject, ResponseStatus, output_text};
use crate::endpoint_result::EventStreamSource;
use crate::event::sse;
use crate::json::{JsonText, NULL, OrderedJsonObject, object};
use crate::model_output::{ModelOutput, OutputContent};
use crate::request_record::ResponseEnd;
use crate::stream::{ContentDelta, EventSender};
use async_trait::async_trait;
use bytes::Bytes;

/// A response to be streamed.
pub struct ResponseStream {
    item_id: String,
    /// The item at its start and at its end.
    code_call: Option<[JsonText; 2]>,
    queued: Option<JsonText>,
    begun: JsonText,
    begun_item: JsonText,
    finished_item: JsonText,
    finished: JsonText,
    status: ResponseStatus,
    reply: ModelOutput,
}

#[async_trait]
impl EventStreamSource for ResponseStream {
    /// Sends the response as a stream.
    async fn send(&self, stream: &mut EventSender) -> Result<(), ResponseEnd> {
        let created = self.queued.as_ref().unwrap_or(&self.begun);
        lifecycle("response.created", created, stream).await?;
        if let Some(queued) = &self.queued {
            lifecycle("response.queued", queued, stream).await?;
        }
        lifecycle("response.in_progress", &self.begun, stream).await?;
        if let Some([begun, finished]) = &self.code_call {
            item("response.output_item.added", 0, begun, stream).await?;
            item("response.output_item.done", 0, finished, stream).await?;
        }
        let index = self.index();
        item(
            "response.output_item.added",
            index,
            &self.begun_item,
            stream,
        )
        .await?;
        match &self.reply.content {
            OutputContent::Text(text) => self.play_text(text, stream).await?,
            OutputContent::ToolCall { name, arguments } => {
                self.play_call(name, arguments, stream).await?
            }
        }
        item(
            "response.output_item.done",
            index,
            &self.finished_item,
            stream,
        )
        .await?;
        let terminal = match self.status {
            ResponseStatus::Incomplete => "response.incomplete",
            _ => "response.completed",
        };
        lifecycle(terminal, &self.finished, stream).await
    }
}

impl ResponseStream {
    /// The stream of `response`, whose last event has `finished`.
    pub fn new(response: ResponseObject, finished: JsonText, in_background: bool) -> Self {
        let status = response.final_status();
        Self {
            queued: in_background.then(|| response.json(ResponseStatus::Queued)),
            begun: response.json(ResponseStatus::InProgress),
            begun_item: response.item(ResponseStatus::InProgress),
            finished_item: response.item(status),
            finished,
            status,
            code_call: response.code_call.as_ref().map(|call| {
                [ResponseStatus::InProgress, ResponseStatus::Completed]
                    .map(|status| call.item(status))
            }),
            item_id: response.item_id,
            reply: response.reply,
        }
    }

    async fn play_text(&self, text: &str, stream: &mut EventSender) -> Result<(), ResponseEnd> {
        self.part("response.content_part.added", "", stream).await?;
        for piece in self.reply.pieces() {
            stream
                .content(piece, |delta| self.text_delta(&delta))
                .await?;
        }
        stream.end_of_content().await?;
        let mut done = self.within_item("response.output_text.done", stream.sequence());
        done.member("content_index", &0_u64);
        done.member("text", text);
        done.member("logprobs", &[NULL; 0]);
        stream
            .event(sse(Some("response.output_text.done"), &done.end()))
            .await?;
        self.part("response.content_part.done", text, stream).await
    }

    async fn play_call(
        &self,
        name: &str,
        arguments: &str,
        stream: &mut EventSender,
    ) -> Result<(), ResponseEnd> {
        for piece in self.reply.pieces() {
            stream
                .content(piece, |delta| self.arguments_delta(&delta))
                .await?;
        }
        stream.end_of_content().await?;
        let kind = "response.function_call_arguments.done";
        let mut done = self.within_item(kind, stream.sequence());
        done.member("arguments", arguments);
        done.member("name", name);
        stream.event(sse(Some(kind), &done.end())).await
    }

    fn text_delta(&self, delta: &ContentDelta) -> Bytes {
        let mut event = self.within_item("response.output_text.delta", delta.sequence);
        event.member("content_index", &0_u64);
        event.member("delta", delta.text);
        event.member("logprobs", &[NULL; 0]);
        sse(Some("response.output_text.delta"), &event.end())
    }

    fn arguments_delta(&self, delta: &ContentDelta) -> Bytes {
        let kind = "response.function_call_arguments.delta";
        let mut event = self.within_item(kind, delta.sequence);
        event.member("delta", delta.text);
        sse(Some(kind), &event.end())
    }

    async fn part(
        &self,
        kind: &str,
        text: &str,
        stream: &mut EventSender,
    ) -> Result<(), ResponseEnd> {
        let mut event = self.within_item(kind, stream.sequence());
        event.member("content_index", &0_u64);
        event.member("part", &output_text(text));
        stream.event(sse(Some(kind), &event.end())).await
    }

    /// The index of the reply among the output items.
    fn index(&self) -> u64 {
        u64::from(self.code_call.is_some())
    }

    fn within_item(&self, kind: &str, sequence: u64) -> OrderedJsonObject {
        let mut event = OrderedJsonObject::new();
        event.member("type", kind);
        event.member("sequence_number", &sequence);
        event.member("item_id", &self.item_id);
        event.member("output_index", &self.index());
        event
    }
}

async fn item(
    kind: &str,
    index: u64,
    item: &JsonText,
    stream: &mut EventSender,
) -> Result<(), ResponseEnd> {
    let event = object! {
        "type": kind, "sequence_number": stream.sequence(), "output_index": index, "item": item,
    };
    stream.event(sse(Some(kind), &event)).await
}

async fn lifecycle(
    kind: &str,
    response: &JsonText,
    stream: &mut EventSender,
) -> Result<(), ResponseEnd> {
    let event = object! {"type": kind, "sequence_number": stream.sequence(), "response": response};
    stream.event(sse(Some(kind), &event)).await
}
