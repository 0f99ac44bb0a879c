//! Providers that LiteLLM names by the prefix of a model, and where a channel reaches them.

use crate::channel_draft::CredentialForm;

/// A provider whose protocol the gateway speaks.
#[derive(Debug)]
pub struct LitellmProvider {
    pub prefix: &'static str,
    /// Base URL without `path`; `None` if the configuration must have one.
    pub default_url: Option<&'static str>,
    /// Path that LiteLLM adds to the base URL, other than that of the request.
    pub path: &'static str,
    /// Variable of the key that LiteLLM reads by itself; `None` if none is needed.
    pub key_variable: Option<&'static str>,
    pub form: CredentialForm,
    /// Those of text.
    pub protocols: &'static [&'static str],
    /// Those of other APIs.
    pub others: &'static [&'static str],
    /// Whether this API of the provider has models of Claude only, or only others; `None` if all are there.
    pub has_claude: Option<bool>,
    /// What callers should know.
    pub note: Option<&'static str>,
}

const CHAT: &[&str] = &["chat"];
/// The other APIs of OpenAI.
const OPENAI_OTHERS: &[&str] = &[
    "embeddings",
    "completions",
    "moderations",
    "image_generation",
    "speech",
    "transcription",
    "realtime",
    "rerank",
];
const AZURE_NOTE: &str = "the channel uses Azure's v1 API, which takes the deployment's name as `model` and has no api-version";
const ANTHROPIC_NOTE: &str = "the channel speaks messages; callers of /v1/chat/completions reach it by the `translate` of that route";
const BEDROCK_NOTE: &str = "the channel uses the Messages API of Bedrock (bedrock-mantle), which takes an API key of Bedrock in place of AWS credentials and has names of models without region, date and version. It speaks messages; callers of /v1/chat/completions reach it by the `translate` of that route";
const BEDROCK_CHAT_NOTE: &str = "the channel uses Bedrock's OpenAI-compatible API (bedrock-runtime), which takes an API key of Bedrock in place of AWS credentials and has open models and those of OpenAI. The page `models-api-compatibility` of Bedrock's guide lists them: neither Nova, nor Llama, nor Claude, whose models are in its Messages API";
const VERTEX_NOTE: &str = "the channel uses Vertex AI's OpenAI-compatible API, which has Gemini and open models; models of Claude are on a channel of their own. The gateway fetches tokens for the service account in `credentials_file`; on a machine of Google Cloud, write `credential: {gcp: {metadata_server: true}}` for the one that it runs as";
const VERTEX_CLAUDE_NOTE: &str = "the channel uses the API of Claude on Vertex AI (`cloud: vertex_ai`). It speaks messages; callers of /v1/chat/completions reach it by the `translate` of that route. The gateway fetches tokens for the service account in `credentials_file`";
const AZURE_AI_NOTE: &str = "the channel uses the v1 API of the resource, such as https://NAME.services.ai.azure.com; a variable for `api_base` must have that URL without a path. Models of Claude there are on a channel of their own, with /anthropic/v1";
const AZURE_CLAUDE_NOTE: &str = "the channel uses the Messages API of the resource, such as https://NAME.services.ai.azure.com; a variable for `api_base` must have that URL without a path. It speaks messages; callers of /v1/chat/completions reach it by the `translate` of that route";
const GEMINI_NOTE: &str = "the channel uses Google's OpenAI-compatible API";
const OLLAMA_NOTE: &str = "the channel uses Ollama's OpenAI-compatible API";

const fn compatible(
    prefix: &'static str,
    url: &'static str,
    key_variable: &'static str,
) -> LitellmProvider {
    LitellmProvider {
        prefix,
        default_url: Some(url),
        path: "",
        key_variable: Some(key_variable),
        form: CredentialForm::Bearer,
        protocols: CHAT,
        others: OPENAI_OTHERS,
        has_claude: None,
        note: None,
    }
}

const fn self_hosted(prefix: &'static str, key_variable: Option<&'static str>) -> LitellmProvider {
    LitellmProvider {
        prefix,
        default_url: None,
        path: "",
        key_variable,
        form: CredentialForm::Bearer,
        protocols: CHAT,
        others: OPENAI_OTHERS,
        has_claude: None,
        note: None,
    }
}

const fn ollama(prefix: &'static str) -> LitellmProvider {
    LitellmProvider {
        prefix,
        default_url: Some("http://localhost:11434"),
        path: "/v1",
        key_variable: None,
        form: CredentialForm::Bearer,
        protocols: CHAT,
        others: OPENAI_OTHERS,
        has_claude: None,
        note: Some(OLLAMA_NOTE),
    }
}

pub static PROVIDERS: &[LitellmProvider] = &[
    compatible("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    LitellmProvider {
        prefix: "azure",
        default_url: None,
        path: "/openai/v1",
        key_variable: Some("AZURE_API_KEY"),
        form: CredentialForm::AzureKey,
        protocols: &["chat", "responses"],
        others: OPENAI_OTHERS,
        has_claude: None,
        note: Some(AZURE_NOTE),
    },
    LitellmProvider {
        prefix: "anthropic",
        default_url: Some("https://api.anthropic.com"),
        path: "/v1",
        key_variable: Some("ANTHROPIC_API_KEY"),
        form: CredentialForm::ApiKey,
        protocols: &["messages"],
        others: &[],
        has_claude: None,
        note: Some(ANTHROPIC_NOTE),
    },
    LitellmProvider {
        prefix: "bedrock",
        default_url: None,
        path: "/anthropic/v1",
        key_variable: Some("AWS_BEARER_TOKEN_BEDROCK"),
        form: CredentialForm::ApiKey,
        protocols: &["messages"],
        others: &[],
        has_claude: Some(true),
        note: Some(BEDROCK_NOTE),
    },
    LitellmProvider {
        prefix: "bedrock",
        default_url: None,
        path: "/openai/v1",
        key_variable: Some("AWS_BEARER_TOKEN_BEDROCK"),
        form: CredentialForm::Bearer,
        protocols: CHAT,
        others: &[],
        has_claude: Some(false),
        note: Some(BEDROCK_CHAT_NOTE),
    },
    LitellmProvider {
        prefix: "vertex_ai",
        default_url: None,
        path: "",
        // A file, see `vertex::account_file`.
        key_variable: None,
        form: CredentialForm::ServiceAccountFile,
        protocols: CHAT,
        others: &[],
        has_claude: Some(false),
        note: Some(VERTEX_NOTE),
    },
    LitellmProvider {
        prefix: "vertex_ai",
        default_url: None,
        path: "",
        key_variable: None,
        form: CredentialForm::ServiceAccountFile,
        protocols: &["messages"],
        others: &[],
        has_claude: Some(true),
        note: Some(VERTEX_CLAUDE_NOTE),
    },
    LitellmProvider {
        prefix: "azure_ai",
        default_url: None,
        path: "/openai/v1",
        key_variable: Some("AZURE_AI_API_KEY"),
        form: CredentialForm::AzureKey,
        protocols: CHAT,
        others: OPENAI_OTHERS,
        has_claude: Some(false),
        note: Some(AZURE_AI_NOTE),
    },
    LitellmProvider {
        prefix: "azure_ai",
        default_url: None,
        path: "/anthropic/v1",
        key_variable: Some("AZURE_AI_API_KEY"),
        form: CredentialForm::ApiKey,
        protocols: &["messages"],
        others: &[],
        has_claude: Some(true),
        note: Some(AZURE_CLAUDE_NOTE),
    },
    LitellmProvider {
        prefix: "cohere",
        default_url: Some("https://api.cohere.com"),
        path: "",
        key_variable: Some("COHERE_API_KEY"),
        form: CredentialForm::Bearer,
        protocols: &[],
        others: &["cohere_rerank"],
        has_claude: None,
        note: None,
    },
    LitellmProvider {
        protocols: &[],
        others: &["embeddings"],
        ..compatible("voyage", "https://api.voyageai.com/v1", "VOYAGE_API_KEY")
    },
    LitellmProvider {
        protocols: &[],
        others: &["embeddings", "rerank"],
        ..compatible("jina_ai", "https://api.jina.ai/v1", "JINA_AI_API_KEY")
    },
    LitellmProvider {
        note: Some(GEMINI_NOTE),
        ..compatible(
            "gemini",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "GEMINI_API_KEY",
        )
    },
    compatible(
        "openrouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
    ),
    compatible("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    compatible(
        "deepseek",
        "https://api.deepseek.com/v1",
        "DEEPSEEK_API_KEY",
    ),
    compatible("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    compatible("xai", "https://api.x.ai/v1", "XAI_API_KEY"),
    compatible(
        "together_ai",
        "https://api.together.xyz/v1",
        "TOGETHERAI_API_KEY",
    ),
    compatible(
        "fireworks_ai",
        "https://api.fireworks.ai/inference/v1",
        "FIREWORKS_API_KEY",
    ),
    compatible(
        "perplexity",
        "https://api.perplexity.ai",
        "PERPLEXITYAI_API_KEY",
    ),
    compatible("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    compatible(
        "nvidia_nim",
        "https://integrate.api.nvidia.com/v1",
        "NVIDIA_NIM_API_KEY",
    ),
    compatible(
        "deepinfra",
        "https://api.deepinfra.com/v1/openai",
        "DEEPINFRA_API_KEY",
    ),
    compatible("moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    compatible(
        "dashscope",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
    ),
    compatible(
        "volcengine",
        "https://ark.cn-beijing.volces.com/api/v3",
        "VOLCENGINE_API_KEY",
    ),
    ollama("ollama"),
    ollama("ollama_chat"),
    self_hosted("hosted_vllm", None),
    self_hosted("lm_studio", None),
    self_hosted("openai_like", Some("OPENAI_LIKE_API_KEY")),
    self_hosted("custom_openai", Some("OPENAI_API_KEY")),
    self_hosted("litellm_proxy", Some("LITELLM_PROXY_API_KEY")),
];

/// The APIs of a provider that a model may be at, and the provider's name for the model, or the name of a provider that is not
/// known. A pattern of all models may be at several.
pub fn provider_for_model<'m>(
    model: &'m str,
    named: Option<&'m str>,
) -> Result<(Vec<&'static LitellmProvider>, &'m str), &'m str> {
    if let Some(named) = named {
        let own = model
            .strip_prefix(named)
            .and_then(|rest| rest.strip_prefix('/'));
        return known(named, model).map(|providers| (providers, own.unwrap_or(model)));
    }
    if let Some((prefix, own)) = model.split_once('/') {
        return known(prefix, own).map(|providers| (providers, own));
    }
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| model.starts_with(prefix));
    if begins(&["gpt-", "chatgpt-", "o1", "o3", "o4"]) {
        return known("openai", model).map(|providers| (providers, model));
    }
    if begins(&["claude-"]) {
        return known("anthropic", model).map(|providers| (providers, model));
    }
    Err(model)
}

fn known<'p>(prefix: &'p str, own: &str) -> Result<Vec<&'static LitellmProvider>, &'p str> {
    let is_claude = own.contains("claude");
    let is_any = own.contains('*') && !is_claude;
    let fits = |one: &&LitellmProvider| {
        let has_claude = one.has_claude;
        one.prefix == prefix && (is_any || has_claude.is_none_or(|has| has == is_claude))
    };
    match PROVIDERS.iter().filter(fits).collect::<Vec<_>>() {
        none if none.is_empty() => Err(prefix),
        found => Ok(found),
    }
}
