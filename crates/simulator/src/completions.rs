//! Text completions, as OpenAI's API reference defines them: a prompt in, text out, whole or as a stream.

use super::api_error::ApiError;
use super::clock;
use super::endpoint_result::{EventStreamSource, SuccessfulResponse};
use super::event::sse;
use super::json::{JsonText, NULL, OrderedJsonObject, object};
use super::model_output::{ModelOutput, OutputContent, TokenCounts};
use super::model_request::{self, ModelRequest, OutputFormat, ToolChoice, missing, required_text};
use super::request_context::RequestContext;
use super::request_record::ResponseEnd;
use super::stream::EventSender;
use super::text;
use async_trait::async_trait;
use bytes::Bytes;
use serde_json::Value;

/// Responds to a request for a completion.
pub fn complete(body: &Value, call: &RequestContext) -> Result<SuccessfulResponse, ApiError> {
    let model = required_text(body, "model")?;
    let prompt = body.get("prompt").and_then(Value::as_str);
    let prompt = prompt.ok_or_else(|| missing("prompt"))?;
    let request = ModelRequest {
        last_user_text: prompt.to_owned(),
        input_tokens: text::tokens(prompt.len()),
        max_tokens: body.get("max_tokens").and_then(Value::as_u64),
        tools: Vec::new(),
        tool_choice: ToolChoice::Never,
        tool_result_came: false,
        shape: OutputFormat::Prose,
    };
    let output = ModelOutput::to(&request, call.sizes, call.options.answer_tokens);
    let stream_options = body.get("stream_options").unwrap_or(&Value::Null);
    let completion = TextCompletion {
        id: call.ids.next("cmpl-"),
        created: clock::unix_seconds(),
        model: model.to_owned(),
        usage: (!call.directives.no_usage).then_some(output.usage),
        output,
        include_usage: model_request::is_set(stream_options, "include_usage"),
    };
    Ok(match model_request::is_set(body, "stream") {
        true => SuccessfulResponse::Stream(Box::new(completion)),
        false => SuccessfulResponse::Whole(completion.json()),
    })
}

/// A completion to be sent whole or as a stream.
struct TextCompletion {
    id: String,
    created: u64,
    model: String,
    output: ModelOutput,
    usage: Option<TokenCounts>,
    include_usage: bool,
}

#[async_trait]
impl EventStreamSource for TextCompletion {
    async fn send(&self, stream: &mut EventSender) -> Result<(), ResponseEnd> {
        for piece in self.output.pieces() {
            stream
                .content(piece, |delta| self.chunk(delta.text, None))
                .await?;
        }
        stream.end_of_content().await?;
        stream
            .event(self.chunk("", Some(self.finish_reason())))
            .await?;
        if let Some(usage) = self.usage.filter(|_| self.include_usage) {
            let mut chunk = self.head();
            chunk.member("choices", &[NULL; 0]);
            chunk.member("usage", &usage_json(usage));
            stream.event(sse(None, &chunk.end())).await?;
        }
        stream.event(Bytes::from_static(b"data: [DONE]\n\n")).await
    }
}

impl TextCompletion {
    fn json(&self) -> JsonText {
        let OutputContent::Text(text) = &self.output.content else {
            unreachable!("a request without tools gets text");
        };
        let mut json = self.head();
        json.member("choices", &[choice(text, Some(self.finish_reason()))]);
        if let Some(usage) = self.usage {
            json.member("usage", &usage_json(usage));
        }
        json.end()
    }

    fn chunk(&self, text: &str, finish_reason: Option<&str>) -> Bytes {
        let mut json = self.head();
        json.member("choices", &[choice(text, finish_reason)]);
        sse(None, &json.end())
    }

    fn head(&self) -> OrderedJsonObject {
        let mut json = OrderedJsonObject::new();
        json.member("id", &self.id);
        json.member("object", "text_completion");
        json.member("created", &self.created);
        json.member("model", &self.model);
        json
    }

    fn finish_reason(&self) -> &'static str {
        match self.output.truncated {
            true => "length",
            false => "stop",
        }
    }
}

fn choice(text: &str, finish_reason: Option<&str>) -> JsonText {
    object! {"text": text, "index": 0, "logprobs": NULL, "finish_reason": finish_reason}
}

fn usage_json(usage: TokenCounts) -> JsonText {
    object! {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total(),
    }
}
