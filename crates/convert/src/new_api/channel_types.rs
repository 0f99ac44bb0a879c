//! The types of channels of new-api, by their numbers.

use crate::channel_draft::CredentialForm;

/// A type whose protocol the gateway speaks.
pub struct ChannelType {
    number: u64,
    /// Base URL if the channel has none, without `path`.
    pub default_url: &'static str,
    /// Path that new-api adds to the base URL, other than that of the request.
    pub path: &'static str,
    pub form: CredentialForm,
    pub protocols: &'static [&'static str],
    pub note: Option<&'static str>,
}

const CHAT: &[&str] = &["chat"];
const CHAT_AND_RESPONSES: &[&str] = &["chat", "responses"];

const fn compatible(number: u64, default_url: &'static str, path: &'static str) -> ChannelType {
    ChannelType {
        number,
        default_url,
        path,
        form: CredentialForm::Bearer,
        protocols: CHAT,
        note: None,
    }
}

/// Azure OpenAI.
pub const AZURE: u64 = 3;
/// A URL that is used as it is.
pub const CUSTOM: u64 = 8;
/// Cloudflare, whose account is in `other`.
pub const CLOUDFLARE: u64 = 39;

static TYPES: &[ChannelType] = &[
    ChannelType {
        protocols: CHAT_AND_RESPONSES,
        ..compatible(1, "https://api.openai.com", "/v1")
    },
    ChannelType {
        form: CredentialForm::AzureKey,
        protocols: CHAT_AND_RESPONSES,
        note: Some(
            "the channel uses Azure's v1 API, which takes the deployment's name as `model` and has no api-version",
        ),
        ..compatible(AZURE, "", "/openai/v1")
    },
    ChannelType {
        note: Some("the channel uses Ollama's OpenAI-compatible API"),
        ..compatible(4, "http://localhost:11434", "/v1")
    },
    compatible(6, "https://api.openaimax.com", "/v1"),
    compatible(7, "https://api.ohmygpt.com", "/v1"),
    compatible(CUSTOM, "", ""),
    ChannelType {
        form: CredentialForm::ApiKey,
        protocols: &["messages"],
        note: Some(
            "the channel speaks messages; callers of /v1/chat/completions reach it by the `translate` of that route",
        ),
        ..compatible(14, "https://api.anthropic.com", "/v1")
    },
    ChannelType {
        note: Some(
            "the channel serves chat completions; write a channel with `family: family-b` for video models",
        ),
        ..compatible(17, "https://dashscope.aliyuncs.com", "/compatible-mode/v1")
    },
    compatible(19, "https://api.360.cn", "/v1"),
    compatible(20, "https://openrouter.ai/api", "/v1"),
    ChannelType {
        note: Some("the channel uses Google's OpenAI-compatible API"),
        ..compatible(
            24,
            "https://generativelanguage.googleapis.com",
            "/v1beta/openai",
        )
    },
    compatible(25, "https://api.moonshot.cn", "/v1"),
    compatible(26, "https://open.bigmodel.cn", "/api/paas/v4"),
    compatible(27, "https://api.perplexity.ai", ""),
    compatible(31, "https://api.lingyiwanwu.com", "/v1"),
    compatible(CLOUDFLARE, "https://api.cloudflare.com", ""),
    compatible(40, "https://api.siliconflow.cn", "/v1"),
    compatible(42, "https://api.mistral.ai", "/v1"),
    compatible(43, "https://api.deepseek.com", "/v1"),
    ChannelType {
        note: Some(
            "the channel serves chat completions; write a channel with `family: family-a` for video models",
        ),
        ..compatible(45, "https://ark.cn-beijing.volces.com", "/api/v3")
    },
    compatible(46, "https://qianfan.baidubce.com", "/v2"),
    compatible(47, "", "/v1"),
    compatible(48, "https://api.x.ai", "/v1"),
    compatible(53, "https://llm.submodel.ai", "/v1"),
];

/// The type of this number, if the gateway speaks its protocol.
pub fn find_by_number(number: u64) -> Option<&'static ChannelType> {
    TYPES.iter().find(|one| one.number == number)
}

/// What else to do about a type that the gateway does not speak.
pub fn alternative(number: u64) -> &'static str {
    match number {
        54 => {
            "the provider is one of video tasks: add a channel with `family: family-a`, see docs/routes.md"
        }
        2 | 5 | 36 | 50..=52 | 55 | 56 => "let callers send these requests to the provider",
        _ => {
            "if the provider has an OpenAI-compatible URL, add a channel with it and `protocols: [chat]`"
        }
    }
}
