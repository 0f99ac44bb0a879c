//! Writes the chunks of a stream, which all begin alike.

use crate::context::ResponseContext;
use crate::json_writer::JsonWriter;
use headgate_protocol::sse::SseEvent;

#[derive(Debug)]
pub(super) struct ChunkWriter {
    /// What each chunk begins with: an object without its last members.
    head: Vec<u8>,
    /// Whether chunks without usage have it as null.
    includes_usage: bool,
    json: JsonWriter,
}

impl ChunkWriter {
    pub fn new(context: &ResponseContext) -> Self {
        let mut json = JsonWriter::with_capacity(256);
        json.begin_object();
        json.key("id").id("chatcmpl-", &context.id);
        json.key("object").literal("chat.completion.chunk");
        json.key("created").number(context.created);
        json.key("model").raw(&context.model);
        Self {
            head: json.into_bytes(),
            includes_usage: context.includes_usage,
            json: JsonWriter::with_capacity(256),
        }
    }

    /// Adds a chunk with the members of a delta that `write` adds.
    pub fn write_delta(&mut self, events: &mut Vec<SseEvent>, write: impl FnOnce(&mut JsonWriter)) {
        self.write_choice(None, events, write);
    }

    /// Adds the chunk that has the reason for the end.
    pub fn write_finish(&mut self, reason: &'static str, events: &mut Vec<SseEvent>) {
        self.write_choice(Some(reason), events, |_| {});
    }

    /// Adds the chunk that has the usage that `write` adds.
    pub fn write_usage(&mut self, events: &mut Vec<SseEvent>, write: impl FnOnce(&mut JsonWriter)) {
        let json = self.begin();
        json.key("choices").begin_array().end_array().key("usage");
        write(json);
        self.end(events);
    }

    /// Adds an error in place of the next chunk.
    pub fn write_error(&mut self, events: &mut Vec<SseEvent>, write: impl FnOnce(&mut JsonWriter)) {
        self.json.clear();
        self.json.begin_object().key("error").begin_object();
        write(&mut self.json);
        self.json.end_object();
        self.end(events);
    }

    fn write_choice(
        &mut self,
        finish: Option<&'static str>,
        events: &mut Vec<SseEvent>,
        write: impl FnOnce(&mut JsonWriter),
    ) {
        let includes_usage = self.includes_usage;
        let json = self.begin();
        json.key("choices").begin_array().begin_object();
        json.key("index").number(0).key("delta").begin_object();
        write(json);
        json.end_object().key("logprobs").null();
        json.key("finish_reason");
        match finish {
            Some(reason) => json.literal(reason),
            None => json.null(),
        };
        json.end_object().end_array();
        if includes_usage {
            json.key("usage").null();
        }
        self.end(events);
    }

    fn begin(&mut self) -> &mut JsonWriter {
        self.json.clear();
        self.json.raw(&self.head)
    }

    fn end(&mut self, events: &mut Vec<SseEvent>) {
        self.json.end_object();
        events.push(SseEvent::encoded(None, self.json.as_bytes()));
    }
}
