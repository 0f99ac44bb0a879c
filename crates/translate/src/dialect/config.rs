//! A dialect as written in `routes.yaml`. The comments of fields are the reference for users.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What a provider does differently from others of its protocol. It applies to requests that are translated.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct DialectConfig {
    /// Dialect whose settings this one has where it has none: one of `dialects`, or one that comes with the program. Tables are
    /// merged by their keys, except for `on` and `off`. Default: none, and the defaults of the keys.
    pub based_on: Option<String>,
    /// Requests in the chat protocol.
    pub chat: Option<ChatDialectConfig>,
    /// Requests in the messages protocol.
    pub messages: Option<MessagesDialectConfig>,
    /// Requests in the responses protocol.
    pub responses: Option<ResponsesDialectConfig>,
    /// Requests in the converse protocol. Those for models of Claude have what `messages` says of thoughts, efforts and
    /// sampling, too.
    pub converse: Option<ConverseDialectConfig>,
    /// What differs for some models. The first entry that matches counts, those of this dialect before those that it is based
    /// on. Default: nothing.
    pub models: Option<Vec<ModelDialectConfig>>,
}

/// What differs for some models of a provider.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ModelDialectConfig {
    /// The provider's names of the models; `*` matches any characters.
    #[schemars(length(min = 1))]
    pub names: Vec<String>,
    /// Requests in the chat protocol, besides what all models have.
    pub chat: Option<ChatDialectConfig>,
    /// Requests in the messages protocol.
    pub messages: Option<MessagesDialectConfig>,
    /// Requests in the responses protocol.
    pub responses: Option<ResponsesDialectConfig>,
    /// Requests in the converse protocol.
    pub converse: Option<ConverseDialectConfig>,
}

/// Chat requests of a provider.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct ChatDialectConfig {
    /// Member that limits output tokens. Default: max_completion_tokens.
    pub output_limit: Option<OutputLimitConfig>,
    /// Whether streams have usage only if `stream_options` ask for it. Set false for providers that refuse this member and
    /// send usage without it. Default: true.
    pub stream_options: Option<bool>,
    /// How thoughts are asked for, and how they go back.
    pub reasoning: Option<ChatReasoningConfig>,
    /// What the provider takes of tools.
    pub tools: Option<ChatToolsConfig>,
    /// The most exact form of answers that the provider enforces. A schema that it does not enforce becomes an instruction.
    /// Default: json_schema.
    pub output_format: Option<OutputFormatConfig>,
    /// Marks at the end of prefixes that are cached. Default: none.
    pub cache_marks: Option<CacheMarksConfig>,
    /// Parts besides text that users may send; requests with others are refused. Default: all.
    pub parts: Option<Vec<PartTypeConfig>>,
    /// Largest `temperature`; a larger one becomes this one. Default: none.
    #[schemars(range(min = 0))]
    pub temperature_max: Option<f64>,
    /// Whether requests may have `top_k`. Default: false.
    pub top_k: Option<bool>,
    /// Texts at most in `stop`. Default: 4.
    pub stop_max: Option<usize>,
    /// Text of a message of the assistant that is sent between results of tools and a message of the user, for providers
    /// that refuse one directly after the other. Default: none is sent.
    pub after_results: Option<String>,
    /// The provider's names of members of the request. Default: none.
    pub renames: Option<BTreeMap<String, String>>,
    /// Members of the request that the provider does not take, and what becomes of a request that has one. Default: none.
    pub lacks: Option<BTreeMap<String, LackConfig>>,
    /// Members that every request has. Default: none.
    pub adds: Option<Map<String, Value>>,
}

/// How thoughts are asked for in chat requests, and how they go back.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct ChatReasoningConfig {
    /// Members of a request that asks for thoughts. Default: none.
    pub on: Option<Map<String, Value>>,
    /// Members of a request that wants no thoughts. Default: none, and such a request is sent without them.
    pub off: Option<Map<String, Value>>,
    /// Where the effort stands: a JSON pointer of one or two steps, or an empty text if the provider has none. Default:
    /// /reasoning_effort.
    pub effort: Option<String>,
    /// What is sent for an effort: `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`. Default: the effort itself.
    pub efforts: Option<BTreeMap<EffortConfig, String>>,
    /// Where a budget of tokens for thoughts stands, as `effort`. Default: nowhere, and a budget becomes the nearest effort.
    pub budget: Option<String>,
    /// Budgets of tokens in place of efforts, where the provider has budgets only. Default: none.
    pub budgets: Option<BTreeMap<EffortConfig, u64>>,
    /// Where a message of the assistant has its thoughts. Default: reasoning_content.
    pub member: Option<ReasoningMemberConfig>,
    /// Which thoughts of earlier turns go back. Default: all.
    pub history: Option<ReasoningHistoryConfig>,
    /// Whether a message with calls of tools gets empty thoughts if its own are not there, for providers that refuse it
    /// without this member. Default: false.
    pub empty_if_missing: Option<bool>,
}

/// What a provider of chat takes of tools.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct ChatToolsConfig {
    /// Whether tools may take free text; otherwise functions stand in their place. Default: false.
    pub free_text: Option<bool>,
    /// Whether functions may have `strict`. Default: true.
    pub strict: Option<bool>,
    /// Whether `tool_choice` may be `required`. Otherwise the only tool is named, and with several tools the request is
    /// refused. Default: true.
    pub required: Option<bool>,
    /// What becomes of requests that force a call. Default: taken.
    pub forced_calls: Option<ForcedCallsConfig>,
    /// Whether `tool_choice` may be `allowed_tools`. Otherwise only these tools are sent. Default: true.
    pub allowed_tools: Option<bool>,
    /// Whether the model thinks while it has tools. Otherwise requests with tools have the members of `reasoning.off`.
    /// Default: true.
    pub with_thoughts: Option<bool>,
    /// Which ids calls may have. Default: any.
    pub call_ids: Option<CallIdsConfig>,
}

/// Messages requests of a provider.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct MessagesDialectConfig {
    /// How thoughts are asked for. Default: adaptive.
    pub thinking: Option<ThinkingFormConfig>,
    /// Whether thoughts can be switched off. Otherwise a request for none is sent without that. Default: true.
    pub thinking_off: Option<bool>,
    /// Whether requests may have `output_config.effort`. Default: true with `thinking: adaptive`.
    pub effort: Option<bool>,
    /// What is sent for an effort: `low`, `medium`, `high`, `xhigh`, `max`. Default: the effort itself.
    pub efforts: Option<BTreeMap<EffortConfig, String>>,
    /// Tokens for thoughts by effort, with `thinking: budget`. Default: low 2048, medium 4096, high 8192, xhigh and max 16384.
    pub budgets: Option<BTreeMap<EffortConfig, u64>>,
    /// Whether `temperature` and `top_p` may come together. Otherwise `top_p` is left out. Default: true.
    pub temperature_with_top_p: Option<bool>,
    /// Whether requests may have `output_config.format`, and tools `strict`. Otherwise an instruction asks for the form of the
    /// answer, and tools are not strict. Default: true.
    pub structured_outputs: Option<bool>,
    /// The provider's names of members of the request. Default: none.
    pub renames: Option<BTreeMap<String, String>>,
    /// Members of the request that the provider does not take, and what becomes of a request that has one. Default: none.
    pub lacks: Option<BTreeMap<String, LackConfig>>,
}

/// Responses requests of a provider.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct ResponsesDialectConfig {
    /// Whether the provider gives thoughts in encrypted form. Default: true.
    pub encrypted_reasoning: Option<bool>,
    /// Whether requests may have `reasoning.effort`. Default: true.
    pub effort: Option<bool>,
    /// What is sent for an effort: `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`. Default: the effort itself.
    pub efforts: Option<BTreeMap<EffortConfig, String>>,
    /// Marks at the end of prefixes that are cached. Default: none.
    pub cache_marks: Option<CacheMarksConfig>,
    /// The provider's names of members of the request. Default: none.
    pub renames: Option<BTreeMap<String, String>>,
    /// Members of the request that the provider does not take, and what becomes of a request that has one. Default: none.
    pub lacks: Option<BTreeMap<String, LackConfig>>,
}

/// Converse requests of a provider.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct ConverseDialectConfig {
    /// Whose model it is, which decides what requests may have beyond the members of the protocol. Set it where the name does
    /// not say so, as the ARN of an application inference profile. Default: by the name.
    pub family: Option<ModelFamilyConfig>,
}

/// Who makes a model of the converse protocol.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ModelFamilyConfig {
    Claude,
    Nova,
    GptOss,
    /// Any other: requests have only the members of the protocol.
    Other,
}

/// The member that limits output tokens.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum OutputLimitConfig {
    MaxCompletionTokens,
    MaxTokens,
}

/// How much a model thinks.
#[derive(
    Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord,
)]
#[serde(rename_all = "lowercase")]
pub enum EffortConfig {
    None,
    Minimal,
    Low,
    Medium,
    High,
    XHigh,
    Max,
}

/// Where a message of the assistant has its thoughts.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningMemberConfig {
    /// A text `reasoning_content`.
    ReasoningContent,
    /// A text `reasoning`.
    Reasoning,
    /// A list `reasoning_details` with signatures and encrypted thoughts, which goes back as it came; a text `reasoning` for
    /// thoughts without them.
    ReasoningDetails,
    /// Parts of `content` of the type `thinking`.
    Content,
}

/// Which thoughts of earlier turns go back.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningHistoryConfig {
    All,
    /// Those of messages with calls of tools.
    Calls,
    None,
}

/// What becomes of requests that force a call.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ForcedCallsConfig {
    /// They are sent.
    Taken,
    /// They are sent with the members of `reasoning.off`, since the model does not think before such a call.
    WithoutThoughts,
    /// They are refused.
    Refused,
}

/// Which ids calls may have.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum CallIdsConfig {
    Any,
    /// Nine letters and digits. Other ids become a hash.
    NineAlphanumerics,
}

/// The form of answers.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum OutputFormatConfig {
    /// JSON that matches a schema.
    JsonSchema,
    /// Any JSON object.
    JsonObject,
    /// Text only.
    Text,
}

/// Marks at the end of prefixes that are cached.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum CacheMarksConfig {
    None,
    /// As in OpenAI's API.
    PromptCacheBreakpoint,
    /// As in Anthropic's API.
    CacheControl,
}

/// Parts of messages besides text.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum PartTypeConfig {
    Image,
    Document,
    Audio,
}

/// How thoughts are asked for in messages requests.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingFormConfig {
    /// `{type: adaptive}`
    Adaptive,
    /// `{type: enabled, budget_tokens: …}`
    Budget,
    /// Not at all: the model does not think.
    None,
}

/// What becomes of a request with a member that the provider does not take.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum LackConfig {
    /// The member is left out, which does not change what the caller gets.
    Dropped,
    /// The member is left out, and the provider's default comes close to it.
    Approximated,
    /// The request is refused.
    Refused,
}
