//! Text completions, as OpenAI's API reference defines them: a prompt in, text out, whole or as a stream.

use super::api_error::ApiError;
use super::clock;
use super::endpoint_result::{EventStreamSource, SuccessfulResponse};
use super::event::sse;
use super::json::{JsonText, NULL, OrderedJsonObject, object};
use super::model_output::{ModelOutput, OutputContent, TokenCounts};
use super::model_request::{self, ModelRequest, OutputFormat, ToolChoice, required_text};
use super::request_context::RequestContext;
use super::request_record::ResponseEnd;
use super::stream::EventSender;
use super::text_inputs;
use async_trait::async_trait;
use bytes::Bytes;
use serde_json::Value;

/// Responds to a request for a completion of each prompt.
pub fn complete(body: &Value, call: &RequestContext) -> Result<SuccessfulResponse, ApiError> {
    let model = required_text(body, "model")?;
    let prompts = text_inputs::read(body, "prompt")?.into_iter();
    let outputs = prompts.map(|prompt| {
        let request = ModelRequest {
            last_user_text: prompt.text,
            input_tokens: prompt.tokens,
            max_tokens: body.get("max_tokens").and_then(Value::as_u64),
            tools: Vec::new(),
            tool_choice: ToolChoice::Never,
            tool_result_came: false,
            shape: OutputFormat::Prose,
        };
        ModelOutput::to(&request, call.sizes, call.options.answer_tokens)
    });
    let outputs: Vec<ModelOutput> = outputs.collect();
    let usage = TokenCounts {
        input: outputs.iter().map(|output| output.usage.input).sum(),
        output: outputs.iter().map(|output| output.usage.output).sum(),
    };
    let stream_options = body.get("stream_options").unwrap_or(&Value::Null);
    let completion = TextCompletion {
        id: call.ids.next("cmpl-"),
        created: clock::unix_seconds(),
        model: model.to_owned(),
        usage: (!call.directives.no_usage).then_some(usage),
        outputs,
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
    /// One for each prompt.
    outputs: Vec<ModelOutput>,
    usage: Option<TokenCounts>,
    include_usage: bool,
}

#[async_trait]
impl EventStreamSource for TextCompletion {
    async fn send(&self, stream: &mut EventSender) -> Result<(), ResponseEnd> {
        for (index, output) in self.outputs.iter().enumerate() {
            for piece in output.pieces() {
                let chunk = |text: &str| self.chunk(choice(index, text, None));
                stream.content(piece, |delta| chunk(delta.text)).await?;
            }
        }
        stream.end_of_content().await?;
        for (index, output) in self.outputs.iter().enumerate() {
            let ended = choice(index, "", Some(finish_reason(output)));
            stream.event(self.chunk(ended)).await?;
        }
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
        let choices = self.outputs.iter().enumerate().map(|(index, output)| {
            let OutputContent::Text(text) = &output.content else {
                unreachable!("a request without tools gets text");
            };
            choice(index, text, Some(finish_reason(output)))
        });
        let choices: Vec<JsonText> = choices.collect();
        let mut json = self.head();
        json.member("choices", &choices);
        if let Some(usage) = self.usage {
            json.member("usage", &usage_json(usage));
        }
        json.end()
    }

    fn chunk(&self, choice: JsonText) -> Bytes {
        let mut json = self.head();
        json.member("choices", &[choice]);
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
}

fn finish_reason(output: &ModelOutput) -> &'static str {
    match output.truncated {
        true => "length",
        false => "stop",
    }
}

fn choice(index: usize, text: &str, finish_reason: Option<&str>) -> JsonText {
    object! {"text": text, "index": index, "logprobs": NULL, "finish_reason": finish_reason}
}

fn usage_json(usage: TokenCounts) -> JsonText {
    object! {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total(),
    }
}
