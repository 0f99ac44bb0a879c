//! Transcriptions and translations, as OpenAI's API reference defines them: a form with sound in; JSON, text, subtitles or a stream
//! of events out.
//!
//! Events have no names, and `[DONE]` does not follow the last one (developers.openai.com/api/reference, "Transcription streaming
//! events"). Models with `whisper` in their names report seconds, which are rounded up, others tokens; plain text and subtitles
//! have no usage.

use super::api_error::ApiError;
use super::endpoint::SoundTask;
use super::endpoint_result::{EventStreamSource, SuccessfulResponse};
use super::event::sse;
use super::headers::form_boundary;
use super::json::{JsonText, OrderedJsonObject, object};
use super::model_request::missing;
use super::request_context::RequestContext;
use super::request_record::ResponseEnd;
use super::stream::EventSender;
use super::text;
use async_trait::async_trait;
use headgate_protocol::ids::form_values;

/// The bytes of sound for each second.
const BYTES_PER_SECOND: usize = 1000;
/// The tokens of a second of sound.
const TOKENS_PER_SECOND: f64 = 10.0;
/// The size of a text whose length no directive sets.
const ORDINARY_BYTES: usize = 80;

/// Responds to a form with sound.
pub fn respond(task: SoundTask, call: &RequestContext) -> Result<SuccessfulResponse, ApiError> {
    let field = |name: &'static str| {
        let boundary = form_boundary(&call.head.headers)?;
        form_values(call.raw, boundary, name).next()
    };
    let text = |name| field(name).map(|value| String::from_utf8_lossy(value).into_owned());
    let model = text("model").ok_or_else(|| missing("model"))?;
    let sound = field("file").ok_or_else(|| missing("file"))?;
    let prompt = text("prompt").unwrap_or_default();
    let transcript = Transcript {
        task,
        seconds: sound.len() as f64 / BYTES_PER_SECOND as f64,
        prompt_tokens: text::tokens(prompt.len()),
        is_billed_by_seconds: model.contains("whisper"),
        text: text::reply_text("the gate", call.sizes.text.unwrap_or(ORDINARY_BYTES)),
        piece: call.sizes.piece,
        has_usage: !call.directives.no_usage,
    };
    let plain =
        |body: String| SuccessfulResponse::Content("text/plain; charset=utf-8", body.into());
    let whole = SuccessfulResponse::Whole;
    Ok(match text("response_format").as_deref() {
        // Whisper ignores `stream`.
        None | Some("json" | "diarized_json")
            if text("stream").as_deref() == Some("true") && !transcript.is_billed_by_seconds =>
        {
            SuccessfulResponse::Stream(Box::new(transcript))
        }
        None | Some("json") => whole(transcript.json()),
        Some("verbose_json") => whole(transcript.verbose_json()),
        Some("diarized_json") => whole(transcript.diarized_json()),
        Some("text") => plain(format!("{}\n", transcript.text)),
        Some("srt") => plain(transcript.srt()),
        Some("vtt") => plain(transcript.vtt()),
        Some(_) => {
            let refusal = ApiError::invalid(
                "'response_format' must be json, text, srt, verbose_json, vtt or diarized_json.",
            );
            return Err(refusal.param("response_format").code("invalid_value"));
        }
    })
}

/// The text of a sound, to be sent.
struct Transcript {
    task: SoundTask,
    seconds: f64,
    prompt_tokens: u64,
    is_billed_by_seconds: bool,
    text: String,
    piece: Option<usize>,
    has_usage: bool,
}

#[async_trait]
impl EventStreamSource for Transcript {
    async fn send(&self, stream: &mut EventSender) -> Result<(), ResponseEnd> {
        for piece in text::pieces(&self.text, self.piece) {
            let event = |delta: &str| {
                let json = object! {"type": "transcript.text.delta", "delta": delta};
                sse(None, &json)
            };
            stream.content(piece, |delta| event(delta.text)).await?;
        }
        stream.end_of_content().await?;
        let mut done = OrderedJsonObject::new();
        done.member("type", "transcript.text.done");
        done.member("text", &self.text);
        self.add_usage(&mut done);
        stream.event(sse(None, &done.end())).await
    }
}

impl Transcript {
    fn json(&self) -> JsonText {
        let mut json = OrderedJsonObject::new();
        json.member("text", &self.text);
        self.add_usage(&mut json);
        json.end()
    }

    fn verbose_json(&self) -> JsonText {
        let mut json = self.head();
        json.member("language", "english");
        json.member("text", &self.text);
        json.member("segments", &[self.segment(OrderedJsonObject::new())]);
        self.add_usage(&mut json);
        json.end()
    }

    fn diarized_json(&self) -> JsonText {
        let mut json = self.head();
        json.member("text", &self.text);
        let mut segment = OrderedJsonObject::new();
        segment.member("type", "transcript.text.segment");
        segment.member("speaker", "A");
        json.member("segments", &[self.segment(segment)]);
        self.add_usage(&mut json);
        json.end()
    }

    fn head(&self) -> OrderedJsonObject {
        let mut json = OrderedJsonObject::new();
        let task = match self.task {
            SoundTask::Transcribe => "transcribe",
            SoundTask::Translate => "translate",
        };
        json.member("task", task);
        json.member("duration", &self.seconds);
        json
    }

    fn segment(&self, mut json: OrderedJsonObject) -> JsonText {
        json.member("id", "seg_001");
        json.member("start", &0.0);
        json.member("end", &self.seconds);
        json.member("text", &self.text);
        json.end()
    }

    fn srt(&self) -> String {
        let end = self.end_time(',');
        format!("1\n00:00:00,000 --> {end}\n{}\n\n", self.text)
    }

    fn vtt(&self) -> String {
        let end = self.end_time('.');
        format!("WEBVTT\n\n00:00:00.000 --> {end}\n{}\n\n", self.text)
    }

    /// The end of the sound as hours, minutes, seconds and milliseconds.
    fn end_time(&self, point: char) -> String {
        let ms = (self.seconds * 1000.0).round() as u64;
        let (hours, minutes, seconds) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
        format!(
            "{hours:02}:{minutes:02}:{seconds:02}{point}{:03}",
            ms % 1000
        )
    }

    fn add_usage(&self, json: &mut OrderedJsonObject) {
        if !self.has_usage {
            return;
        }
        let usage = match self.is_billed_by_seconds {
            true => object! {"type": "duration", "seconds": self.seconds.ceil() as u64},
            false => {
                let audio = (self.seconds * TOKENS_PER_SECOND).ceil() as u64;
                let (input, output) = (audio + self.prompt_tokens, text::tokens(self.text.len()));
                object! {
                    "type": "tokens",
                    "input_tokens": input,
                    "input_token_details": object! {
                        "text_tokens": self.prompt_tokens, "audio_tokens": audio,
                    },
                    "output_tokens": output,
                    "total_tokens": input + output,
                }
            }
        };
        json.member("usage", &usage);
    }
}
