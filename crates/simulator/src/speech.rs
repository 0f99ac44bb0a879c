//! Speech, as OpenAI's API reference defines it: a text in, the bytes of a sound file out.

use super::api_error::ApiError;
use super::endpoint_result::SuccessfulResponse;
use super::model_request::{required_text, text_at};
use super::request_context::RequestContext;
use bytes::Bytes;
use serde_json::Value;

/// The bytes of sound for each byte of text.
const BYTES_PER_CHARACTER: usize = 64;

/// Responds to a request for speech.
pub fn speak(body: &Value, call: &RequestContext) -> Result<SuccessfulResponse, ApiError> {
    required_text(body, "model")?;
    let input = required_text(body, "input")?;
    required_text(body, "voice")?;
    let content_type = match text_at(body, "response_format") {
        "" | "mp3" => "audio/mpeg",
        "opus" => "audio/ogg",
        "aac" => "audio/aac",
        "flac" => "audio/flac",
        "wav" => "audio/wav",
        "pcm" => "audio/pcm",
        _ => {
            let refusal =
                ApiError::invalid("'response_format' must be mp3, opus, aac, flac, wav or pcm.");
            return Err(refusal.param("response_format").code("invalid_value"));
        }
    };
    let bytes = call.sizes.text.unwrap_or(input.len() * BYTES_PER_CHARACTER);
    // The first bytes of an MP3 file without tags, then silence.
    let mut sound = vec![0; bytes.max(4)];
    sound[..4].copy_from_slice(&[0xff, 0xfb, 0x90, 0xc4]);
    Ok(SuccessfulResponse::Content(
        content_type,
        Bytes::from(sound),
    ))
}
