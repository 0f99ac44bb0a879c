//! Sessions of OpenAI's realtime API: a WebSocket that repeats what a client says, as text or as silent sound.

mod generated_response;

use super::api_error::ApiError;
use super::endpoint_result::SuccessfulResponse;
use super::ids::IdGenerator;
use super::query;
use crate::http_response::SimulatedResponse;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use generated_response::GeneratedResponse;
use headgate_websocket::close::SocketEnd;
use headgate_websocket::connection::{SocketInput, WebSocketConnection, WebSocketLimits};
use headgate_websocket::frame_reader::WebSocketPeer;
use headgate_websocket::handshake::WebSocketHandshake;
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::sleep;

/// Sound after which a client that detects turns has said something: half a second of 24 kHz in 16 bits.
const TURN_BYTES: usize = 24_000;

const LIMITS: WebSocketLimits = WebSocketLimits {
    message_bytes_max: 64 << 20,
    write_timeout: Duration::from_secs(30),
};

/// Responds to the handshake of a session.
pub fn accept(head: &Parts) -> Result<SuccessfulResponse, ApiError> {
    if model(head).is_empty() {
        let refusal = ApiError::invalid("You must provide a model parameter.");
        return Err(refusal.param("model").code("missing_model"));
    }
    let handshake = WebSocketHandshake::read(head);
    let handshake = handshake.map_err(|error| ApiError::invalid(error.to_string()))?;
    let mut response =
        SimulatedResponse::full(StatusCode::SWITCHING_PROTOCOLS, "text/plain", Bytes::new());
    response.headers = handshake.response_headers();
    let upgrade = HeaderValue::from_static("Upgrade");
    response.headers.insert(header::CONNECTION, upgrade);
    Ok(SuccessfulResponse::Http(response, Duration::ZERO))
}

/// Serves a session until the client leaves.
pub async fn serve<S>(stream: S, head: &Parts, ids: &IdGenerator, pace: Duration)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let socket = WebSocketConnection::new(stream, WebSocketPeer::Client, BytesMut::new(), LIMITS);
    let mut session = Session {
        socket,
        ids,
        pace,
        settings: json!({
            "type": "realtime",
            "object": "realtime.session",
            "id": ids.next("sess_"),
            "model": model(head),
            "output_modalities": ["audio"],
            "instructions": "",
            "tools": [],
            "tool_choice": "auto",
            "audio": {
                "input": {"format": {"type": "audio/pcm", "rate": 24000}, "turn_detection": {"type": "server_vad"}},
                "output": {"format": {"type": "audio/pcm", "rate": 24000}, "voice": "alloy"},
            },
        }),
        heard_bytes: 0,
        last_text: String::new(),
        running: None,
    };
    // The client has left.
    let Err(_) = session.run().await;
}

struct Session<'i, S> {
    socket: WebSocketConnection<S>,
    ids: &'i IdGenerator,
    /// Time between the events of a response.
    pace: Duration,
    settings: Value,
    /// Bytes of sound since the last turn.
    heard_bytes: usize,
    last_text: String,
    running: Option<GeneratedResponse>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Session<'_, S> {
    async fn run(&mut self) -> Result<Infallible, SocketEnd> {
        let created = json!({"type": "session.created", "session": self.settings});
        self.send(created).await?;
        loop {
            let input = tokio::select! {
                input = self.socket.receive() => Some(input?),
                () = sleep(self.pace), if self.running.is_some() => None,
            };
            match input {
                Some(SocketInput::Text(text)) => self.receive(&text).await?,
                Some(SocketInput::Control) => {}
                None => {
                    let next = self.running.as_mut().and_then(GeneratedResponse::next);
                    self.running.take_if(|response| response.has_ended());
                    if let Some(event) = next {
                        self.send(event).await?;
                    }
                }
            }
        }
    }

    async fn receive(&mut self, text: &[u8]) -> Result<(), SocketEnd> {
        let Ok(event) = serde_json::from_slice::<Value>(text) else {
            return self
                .refuse(&Value::Null, "invalid_json", "Invalid JSON.")
                .await;
        };
        match event["type"].as_str().unwrap_or_default() {
            "session.update" => self.update(&event).await,
            "conversation.item.create" => {
                let mut item = event["item"].clone();
                if let Some(text) = item["content"][0]["text"].as_str() {
                    self.last_text = text.to_owned();
                }
                item["id"] = self.ids.next("item_").into();
                self.send(json!({"type": "conversation.item.added", "item": item}))
                    .await?;
                self.send(json!({"type": "conversation.item.done", "item": item}))
                    .await
            }
            "input_audio_buffer.append" => self.hear(&event).await,
            "input_audio_buffer.commit" => self.commit().await,
            "input_audio_buffer.clear" => {
                self.heard_bytes = 0;
                self.send(json!({"type": "input_audio_buffer.cleared"}))
                    .await
            }
            "response.create" if self.running.is_some() => {
                let message = "Conversation already has an active response in progress.";
                self.refuse(&event, "conversation_already_has_active_response", message)
                    .await
            }
            "response.create" => {
                self.generate(&event["response"]);
                Ok(())
            }
            "response.cancel" => match &mut self.running {
                Some(running) => {
                    running.cancel();
                    Ok(())
                }
                None => {
                    let message = "Cancellation failed: no active response found.";
                    self.refuse(&event, "response_cancel_not_active", message)
                        .await
                }
            },
            other => {
                let message = format!("Invalid value: '{other}'.");
                self.refuse(&event, "invalid_value", &message).await
            }
        }
    }

    async fn update(&mut self, event: &Value) -> Result<(), SocketEnd> {
        let model = &event["session"]["model"];
        if !model.is_null() && *model != self.settings["model"] {
            let message = "Cannot update the model of a session.";
            return self.refuse(event, "cannot_update_model", message).await;
        }
        for (name, value) in event["session"].as_object().into_iter().flatten() {
            merge(&mut self.settings[name], value);
        }
        self.send(json!({"type": "session.updated", "session": self.settings}))
            .await
    }

    async fn hear(&mut self, event: &Value) -> Result<(), SocketEnd> {
        let sound = STANDARD.decode(event["audio"].as_str().unwrap_or_default());
        let Ok(sound) = sound else {
            let message = "Invalid 'audio'. Expected base64-encoded audio bytes.";
            return self.refuse(event, "invalid_value", message).await;
        };
        self.heard_bytes += sound.len();
        let detects = !self.settings["audio"]["input"]["turn_detection"].is_null();
        if !detects || self.heard_bytes < TURN_BYTES || self.running.is_some() {
            return Ok(());
        }
        for kind in ["speech_started", "speech_stopped"] {
            self.send(json!({"type": format!("input_audio_buffer.{kind}")}))
                .await?;
        }
        self.commit().await?;
        self.generate(&Value::Null);
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), SocketEnd> {
        self.last_text = format!("{} bytes of sound", self.heard_bytes);
        self.heard_bytes = 0;
        let id = self.ids.next("item_");
        self.send(json!({"type": "input_audio_buffer.committed", "item_id": id}))
            .await
    }

    fn generate(&mut self, wanted: &Value) {
        let modalities = match &wanted["output_modalities"] {
            Value::Null => &self.settings["output_modalities"],
            own => own,
        };
        let is_sound = modalities[0] == "audio";
        let id = self.ids.next("resp_");
        self.running = Some(GeneratedResponse::new(id, &self.last_text, is_sound));
    }

    async fn refuse(&mut self, event: &Value, code: &str, message: &str) -> Result<(), SocketEnd> {
        let error = json!({"type": "invalid_request_error", "code": code, "message": message,
            "param": null, "event_id": event["event_id"]});
        self.send(json!({"type": "error", "error": error})).await
    }

    async fn send(&mut self, mut event: Value) -> Result<(), SocketEnd> {
        event["event_id"] = self.ids.next("event_").into();
        self.socket.send_text(event.to_string().as_bytes()).await
    }
}

fn model(head: &Parts) -> String {
    let query = head.uri.query().unwrap_or_default();
    let model = query::values(query, "model").next();
    model.unwrap_or_default().into_owned()
}

/// Sets the members of objects, and replaces all else.
fn merge(into: &mut Value, value: &Value) {
    match (into, value) {
        (Value::Object(into), Value::Object(members)) => {
            for (name, member) in members {
                merge(&mut into[name], member);
            }
        }
        (into, value) => *into = value.clone(),
    }
}
