//! The events of one response of a session, in the order of OpenAI's guide to realtime conversations.

use crate::text;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::collections::VecDeque;

/// Bytes of a reply.
const REPLY_BYTES: usize = 40;
/// Bytes of sound, all zero, for each piece of a reply.
const SOUND_BYTES: usize = 480;

/// A response whose events are still to be sent.
pub struct GeneratedResponse {
    id: String,
    events: VecDeque<Value>,
    input_tokens: u64,
    output_tokens: u64,
    is_sound: bool,
}

impl GeneratedResponse {
    /// The response to what was said last, as sound or as text.
    pub fn new(id: String, heard: &str, is_sound: bool) -> Self {
        let reply = text::reply_text(heard, REPLY_BYTES);
        let item = format!("item_of_{id}");
        let place =
            json!({"response_id": id, "item_id": item, "output_index": 0, "content_index": 0});
        let event = |kind: &str, members: Value| {
            let mut event = place.clone();
            event["type"] = kind.into();
            for (name, value) in members.as_object().into_iter().flatten() {
                event[name] = value.clone();
            }
            event
        };
        let (part, text_kind) = match is_sound {
            true => (
                json!({"type": "audio", "transcript": ""}),
                "response.output_audio_transcript",
            ),
            false => (json!({"type": "text", "text": ""}), "response.output_text"),
        };
        let message = json!({"id": item, "type": "message", "role": "assistant", "status": "in_progress", "content": []});
        let mut events = VecDeque::from([
            json!({"type": "response.created", "response": {"object": "realtime.response", "id": id,
                "status": "in_progress", "output": [], "usage": null}}),
            event("response.output_item.added", json!({"item": message})),
            event("response.content_part.added", json!({"part": part})),
        ]);
        for piece in text::pieces(&reply, None) {
            events.push_back(event(
                &format!("{text_kind}.delta"),
                json!({"delta": piece}),
            ));
            if is_sound {
                let sound = STANDARD.encode(vec![0; SOUND_BYTES]);
                events.push_back(event(
                    "response.output_audio.delta",
                    json!({"delta": sound}),
                ));
            }
        }
        let named = if is_sound { "transcript" } else { "text" };
        events.push_back(event(&format!("{text_kind}.done"), json!({named: reply})));
        if is_sound {
            events.push_back(event("response.output_audio.done", json!({})));
        }
        let mut response = Self {
            id,
            events,
            input_tokens: 10 + text::tokens(heard.len()),
            output_tokens: text::tokens(reply.len()),
            is_sound,
        };
        let done = response.done("completed");
        response.events.push_back(done);
        response
    }

    /// The next event.
    pub fn next(&mut self) -> Option<Value> {
        self.events.pop_front()
    }

    /// Whether all events were taken.
    pub fn has_ended(&self) -> bool {
        self.events.is_empty()
    }

    /// Ends the response before its time.
    pub fn cancel(&mut self) {
        self.events = VecDeque::from([self.done("cancelled")]);
    }

    fn done(&self, status: &str) -> Value {
        let Self {
            id,
            input_tokens: input,
            output_tokens: output,
            is_sound,
            ..
        } = self;
        let (text, audio) = match is_sound {
            true => (0, *output),
            false => (*output, 0),
        };
        json!({"type": "response.done", "response": {
            "object": "realtime.response", "id": id, "status": status, "output": [],
            "usage": {
                "total_tokens": input + output, "input_tokens": input, "output_tokens": output,
                "input_token_details": {"text_tokens": input, "audio_tokens": 0, "cached_tokens": 4},
                "output_token_details": {"text_tokens": text, "audio_tokens": audio},
            },
        }})
    }
}
