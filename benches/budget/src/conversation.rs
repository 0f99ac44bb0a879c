//! Conversations in the three protocols between which the gateway translates: requests, and what a provider sends.

use crate::request::{messages, request_to};

/// A protocol of conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conversation {
    Chat,
    Messages,
    Responses,
}

/// What a provider sends in one protocol.
pub struct ProviderTexts {
    /// The whole response.
    pub response: &'static str,
    /// The events of a stream that precede its texts.
    pub first_events: &'static str,
    /// An event with a piece of text.
    pub event: &'static str,
    /// The events at the end of a stream.
    pub last_events: &'static str,
}

impl Conversation {
    pub const ALL: [Self; 3] = [Self::Chat, Self::Messages, Self::Responses];

    /// The name in the configuration; also that of the model whose channel has only this protocol.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Messages => "messages",
            Self::Responses => "responses",
        }
    }

    /// The path of requests.
    pub fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Messages => "/v1/messages",
            Self::Responses => "/v1/responses",
        }
    }

    /// The protocol of a request, by its first line.
    pub fn for_request(line: &str) -> Self {
        let mut all = Self::ALL.into_iter();
        all.find(|one| line.contains(one.path()))
            .unwrap_or(Self::Chat)
    }

    /// A request with a body of `body_bytes`, as bytes on the wire.
    pub fn request(self, model: &str, body_bytes: usize, stream: bool) -> Vec<u8> {
        let stream = match (self, stream) {
            (_, false) => "",
            (Self::Chat, true) => r#","stream":true,"stream_options":{"include_usage":true}"#,
            (Self::Messages | Self::Responses, true) => r#","stream":true"#,
        };
        let (begin, end) = match self {
            Self::Chat => (
                r#"{"messages":[{"role":"system","content":"Be brief."}"#,
                r#"],"temperature":0.7,"max_completion_tokens":60"#,
            ),
            Self::Messages => (
                r#"{"system":"Be brief.","messages":[{"role":"user","content":"Hello."},{"role":"assistant","content":"Hello."}"#,
                r#"],"temperature":0.7,"max_tokens":60"#,
            ),
            Self::Responses => (
                r#"{"instructions":"Be brief.","input":[{"role":"user","content":"Hello."},{"role":"assistant","content":"Hello."}"#,
                r#"],"temperature":0.7,"max_output_tokens":60,"store":false"#,
            ),
        };
        let end = format!(r#"{end},"model":"{model}"{stream}}}"#);
        let body = messages(begin, &end, body_bytes);
        request_to(self.path(), "", &body)
    }

    /// What its providers send.
    pub fn provider_texts(self) -> ProviderTexts {
        match self {
            Self::Chat => CHAT,
            Self::Messages => MESSAGES,
            Self::Responses => RESPONSES,
        }
    }
}

/// The text of each whole response, as JSON without quotes.
macro_rules! text {
    () => {
        concat!(
            r#"The report has three parts. The first one describes where the water comes from and how much of it there is; "#,
            r#"the second one compares the \"dry\" years with the others.\n\nThe third part is the longest: it lists what was "#,
            r#"tried, what it cost, and what the authors would do again. In short: the gates work, and they are cheap."#,
        )
    };
}

const CHAT: ProviderTexts = ProviderTexts {
    response: concat!(
        r#"{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"provider-model-2026-08","#,
        r#""system_fingerprint":"fp_1","choices":[{"index":0,"message":{"role":"assistant","content":""#,
        text!(),
        r#"","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],"#,
        r#""usage":{"prompt_tokens":120,"completion_tokens":80,"total_tokens":200,"#,
        r#""prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"#,
        r#""audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}},"service_tier":"default"}"#,
    ),
    first_events: "",
    event: concat!(
        r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"provider-model-2026-08","#,
        r#""choices":[{"index":0,"delta":{"content":" water"},"logprobs":null,"finish_reason":null}]}"#,
        "\n\n",
    ),
    last_events: concat!(
        r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"provider-model-2026-08","#,
        r#""choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]}"#,
        "\n\n",
        r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"provider-model-2026-08","#,
        r#""choices":[],"usage":{"prompt_tokens":12,"completion_tokens":4,"total_tokens":16}}"#,
        "\n\ndata: [DONE]\n\n",
    ),
};

const MESSAGES: ProviderTexts = ProviderTexts {
    response: concat!(
        r#"{"id":"msg_01","type":"message","role":"assistant","model":"provider-model-2026-08","content":[{"type":"text","text":""#,
        text!(),
        r#""}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":120,"cache_creation_input_tokens":0,"#,
        r#""cache_read_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"#,
        r#""output_tokens":80,"service_tier":"standard"}}"#,
    ),
    first_events: concat!(
        "event: message_start\n",
        r#"data: {"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"provider-model-2026-08","#,
        r#""content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"output_tokens":1}}}"#,
        "\n\nevent: content_block_start\n",
        r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        "\n\n",
    ),
    event: concat!(
        "event: content_block_delta\n",
        r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" water"}}"#,
        "\n\n",
    ),
    last_events: concat!(
        "event: content_block_stop\n",
        r#"data: {"type":"content_block_stop","index":0}"#,
        "\n\nevent: message_delta\n",
        r#"data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":4}}"#,
        "\n\nevent: message_stop\n",
        r#"data: {"type":"message_stop"}"#,
        "\n\n",
    ),
};

/// A response object, with its status, its list of output items and its usage.
macro_rules! response_object {
    ($status:literal, $output:expr, $usage:literal) => {
        concat!(
            r#"{"id":"resp_01","object":"response","created_at":1700000000,"status":""#,
            $status,
            r#"","background":false,"error":null,"incomplete_details":null,"instructions":"Be brief.","max_output_tokens":60,"#,
            r#""model":"provider-model-2026-08","output":["#,
            $output,
            r#"],"parallel_tool_calls":true,"previous_response_id":null,"reasoning":{"effort":null,"summary":null},"#,
            r#""service_tier":"default","store":false,"temperature":0.7,"text":{"format":{"type":"text"}},"tool_choice":"auto","#,
            r#""tools":[],"top_p":1.0,"truncation":"disabled","usage":"#,
            $usage,
            r#","user":null,"metadata":{}}"#,
        )
    };
}

/// An output item with a text.
macro_rules! message_item {
    ($text:expr) => {
        concat!(
            r#"{"id":"msg_01","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","#,
            r#""annotations":[],"text":""#,
            $text,
            r#""}]}"#
        )
    };
}

const RESPONSES: ProviderTexts = ProviderTexts {
    response: response_object!(
        "completed",
        message_item!(text!()),
        r#"{"input_tokens":120,"input_tokens_details":{"cached_tokens":0},"output_tokens":80,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":200}"#
    ),
    first_events: concat!(
        "event: response.created\n",
        r#"data: {"type":"response.created","sequence_number":0,"response":"#,
        response_object!("in_progress", "", "null"),
        "}\n\nevent: response.output_item.added\n",
        r#"data: {"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"msg_01","type":"message","#,
        r#""status":"in_progress","role":"assistant","content":[]}}"#,
        "\n\nevent: response.content_part.added\n",
        r#"data: {"type":"response.content_part.added","sequence_number":2,"item_id":"msg_01","output_index":0,"content_index":0,"#,
        r#""part":{"type":"output_text","annotations":[],"text":""}}"#,
        "\n\n",
    ),
    event: concat!(
        "event: response.output_text.delta\n",
        r#"data: {"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_01","output_index":0,"content_index":0,"#,
        r#""delta":" water","logprobs":[]}"#,
        "\n\n",
    ),
    last_events: concat!(
        "event: response.output_text.done\n",
        r#"data: {"type":"response.output_text.done","sequence_number":4,"item_id":"msg_01","output_index":0,"content_index":0,"#,
        r#""text":" water","logprobs":[]}"#,
        "\n\nevent: response.output_item.done\n",
        r#"data: {"type":"response.output_item.done","sequence_number":5,"output_index":0,"item":"#,
        message_item!(" water"),
        "}\n\nevent: response.completed\n",
        r#"data: {"type":"response.completed","sequence_number":6,"response":"#,
        response_object!(
            "completed",
            message_item!(" water"),
            r#"{"input_tokens":12,"input_tokens_details":{"cached_tokens":0},"output_tokens":4,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":16}"#
        ),
        "}\n\n",
    ),
};
