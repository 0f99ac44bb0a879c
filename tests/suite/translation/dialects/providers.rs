//! What the vendors of dialects refuse, with the words of their errors.

use serde_json::{Value, json};

/// A vendor.
pub struct DialectProvider {
    pub dialect: &'static str,
    pub model: &'static str,
    /// More members of the caller's request, as JSON.
    pub more: &'static str,
    /// Why the vendor refuses a request.
    pub refusal: fn(&Value) -> Option<&'static str>,
    /// Why it refuses one in the plain protocol.
    pub reason: &'static str,
}

pub const PROVIDERS: [DialectProvider; 10] = [
    DialectProvider {
        dialect: "deepseek",
        model: "deepseek-v4-pro",
        more: "{}",
        refusal: deepseek,
        reason: "must be passed back",
    },
    DialectProvider {
        dialect: "kimi",
        model: "kimi-k2.6",
        more: r#"{"temperature": 0.2}"#,
        refusal: kimi,
        reason: "only 1 is allowed",
    },
    DialectProvider {
        dialect: "glm",
        model: "glm-5.2",
        more: r#"{"stop_sequences": ["END"], "metadata": {"user_id": "u-1"}}"#,
        refusal: glm,
        reason: "max_tokens",
    },
    DialectProvider {
        dialect: "qwen",
        model: "qwen3.6-plus",
        more: r#"{"tool_choice": {"type": "tool", "name": "look"}, "top_k": 20}"#,
        refusal: qwen,
        // The gateway itself refuses a member that the plain protocol lacks.
        reason: "top_k",
    },
    DialectProvider {
        dialect: "vllm",
        model: "openai/gpt-oss-120b",
        more: "{}",
        refusal: vllm,
        reason: "Input should be 'low', 'medium' or 'high'",
    },
    DialectProvider {
        dialect: "sglang",
        model: "Qwen/Qwen3-8B",
        more: "{}",
        refusal: sglang,
        reason: "reasoning_effort",
    },
    DialectProvider {
        dialect: "openrouter",
        model: "anthropic/claude-sonnet-4.5",
        more: r#"{"thinking": {"type": "enabled", "budget_tokens": 4096}, "output_config": {}}"#,
        refusal: openrouter,
        reason: "reasoning.max_tokens",
    },
    DialectProvider {
        dialect: "xai",
        model: "grok-4",
        more: "{}",
        refusal: xai,
        reason: "does not support parameter reasoningEffort",
    },
    DialectProvider {
        dialect: "mistral",
        model: "mistral-large-2512",
        more: "{}",
        refusal: mistral,
        reason: "Extra inputs are not permitted",
    },
    DialectProvider {
        dialect: "azure",
        model: "gpt-5",
        more: r#"{"temperature": 0.2}"#,
        refusal: azure,
        reason: "Unsupported value",
    },
];

fn messages(body: &Value) -> &[Value] {
    body["messages"].as_array().expect("messages")
}

/// Whether a message of the assistant has calls, and no member of this name.
fn lacks_thoughts(body: &Value) -> bool {
    let mut messages = messages(body).iter();
    messages.any(|message| {
        message.get("tool_calls").is_some() && message.get("reasoning_content").is_none()
    })
}

fn is_one_of(value: &Value, words: &[&str]) -> bool {
    value.is_null() || words.iter().any(|word| value == word)
}

fn deepseek(body: &Value) -> Option<&'static str> {
    if body["thinking"]["type"] != "disabled" && lacks_thoughts(body) {
        return Some(
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
        );
    }
    if body["thinking"]["type"] != "disabled" && body.get("tool_choice").is_some() {
        return Some("Thinking mode does not support this tool_choice");
    }
    let efforts = ["low", "high", "max"];
    (!is_one_of(&body["reasoning_effort"], &efforts)).then_some("reasoning_effort: unknown variant")
}

fn kimi(body: &Value) -> Option<&'static str> {
    if body.get("temperature").is_some_and(|it| it != 1) {
        return Some("invalid temperature: only 1 is allowed for this model");
    }
    if body["thinking"]["type"] != "disabled" && lacks_thoughts(body) {
        return Some(
            "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
        );
    }
    (body["tool_choice"] == "required").then_some("tool_choice 'required' is not supported")
}

fn glm(body: &Value) -> Option<&'static str> {
    if body.get("max_completion_tokens").is_some() || body["max_tokens"] != 9000 {
        return Some("the limit is max_tokens");
    }
    if body.get("user").is_some() || body["user_id"] != "u-1" {
        return Some("the user is user_id");
    }
    let choices = ["auto"];
    (!is_one_of(&body["tool_choice"], &choices)).then_some("tool_choice: only auto is supported")
}

fn qwen(body: &Value) -> Option<&'static str> {
    if body["enable_thinking"] != false && !is_one_of(&body["tool_choice"], &["auto", "none"]) {
        return Some(
            "The tool_choice parameter does not support being set to required or object in thinking mode",
        );
    }
    (body["top_k"] != 20).then_some("top_k")
}

fn vllm(body: &Value) -> Option<&'static str> {
    let efforts = ["low", "medium", "high"];
    let is_known = is_one_of(&body["reasoning_effort"], &efforts);
    (!is_known).then_some("reasoning_effort: Input should be 'low', 'medium' or 'high'")
}

fn sglang(body: &Value) -> Option<&'static str> {
    let thinks = &body["chat_template_kwargs"]["enable_thinking"];
    (body.get("reasoning_effort").is_some() || thinks != true)
        .then_some("reasoning_effort: the template of this model reads enable_thinking")
}

fn openrouter(body: &Value) -> Option<&'static str> {
    let reasoning = &body["reasoning"];
    (reasoning["max_tokens"] != 4096 || reasoning.get("effort").is_some())
        .then_some("reasoning.max_tokens must be the budget, and alone")
}

fn xai(body: &Value) -> Option<&'static str> {
    (body.get("reasoning_effort").is_some())
        .then_some("Model grok-4 does not support parameter reasoningEffort.")
}

fn mistral(body: &Value) -> Option<&'static str> {
    let known = [
        "model",
        "messages",
        "max_tokens",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "temperature",
        "top_p",
        "stop",
        "stream",
        "random_seed",
        "response_format",
    ];
    let members = body.as_object().expect("an object").keys();
    if members
        .into_iter()
        .any(|name| !known.contains(&name.as_str()))
    {
        return Some("Extra inputs are not permitted");
    }
    let ids = messages(body).iter().flat_map(|message| {
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        let calls = calls.map(|call| call["id"].clone());
        calls.chain(message.get("tool_call_id").cloned())
    });
    let is_good = |id: &Value| {
        let id = id.as_str().unwrap_or_default();
        id.len() == 9 && id.bytes().all(|letter| letter.is_ascii_alphanumeric())
    };
    if !ids.into_iter().all(|id| is_good(&id)) {
        return Some("Tool call id must be a-z, A-Z, 0-9, with a length of 9.");
    }
    let mut pairs = messages(body).windows(2);
    let is_wrong = |pair: &[Value]| pair[0]["role"] == "tool" && pair[1]["role"] == "user";
    pairs
        .any(is_wrong)
        .then_some("Unexpected role 'user' after role 'tool'")
}

fn azure(body: &Value) -> Option<&'static str> {
    if body.get("max_tokens").is_some() {
        return Some("Unsupported parameter: 'max_tokens' is not supported with this model.");
    }
    let efforts = ["minimal", "low", "medium", "high"];
    let is_taken = body.get("temperature").is_none_or(|it| *it == json!(1))
        && is_one_of(&body["reasoning_effort"], &efforts);
    (!is_taken).then_some("Unsupported value: 'temperature' does not support 0.2 with this model.")
}
