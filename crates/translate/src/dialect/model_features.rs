//! What a model of a channel takes, in each protocol.

use super::members::MemberRules;
use super::reasoning::{ChatReasoning, EffortTable, MemberTemplate};

/// What a model takes, where models of one protocol differ. The default is what the protocol's own vendor has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelFeatures {
    pub chat: ChatDialect,
    pub messages: MessagesDialect,
    pub responses: ResponsesDialect,
    pub converse: ConverseDialect,
}

/// Requests in the chat protocol.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatDialect {
    pub output_limit: ChatOutputLimit,
    /// Whether streams have usage only if `stream_options` ask for it.
    pub stream_options: bool,
    pub reasoning: ChatReasoning,
    pub tools: ChatToolSupport,
    pub output_format: OutputFormatSupport,
    pub cache_marks: CacheMarkForm,
    pub parts: ChatParts,
    pub temperature_max: Option<f64>,
    pub top_k: bool,
    /// Texts at which a model stops, at most.
    pub stop_max: usize,
    /// What the assistant says between results of tools and a message of the user.
    pub after_results: Option<Box<str>>,
    pub members: MemberRules,
    /// Members that every request has.
    pub adds: MemberTemplate,
}

/// What a provider of chat takes of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChatToolSupport {
    /// Whether tools may take free text. Other models get functions in their place.
    pub free_text: bool,
    pub strict: bool,
    /// Whether the choice may be any of the tools.
    pub required: bool,
    pub forced_calls: ForcedCalls,
    pub allowed_tools: bool,
    /// Whether the model thinks while it has tools.
    pub with_thoughts: bool,
    pub call_ids: CallIdForm,
}

/// Parts besides text that users may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChatParts {
    pub images: bool,
    pub documents: bool,
    pub audio: bool,
}

/// Requests in the messages protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessagesDialect {
    pub thinking: ThinkingRequest,
    /// Whether thoughts can be switched off.
    pub thinking_off: bool,
    /// Whether requests may have an effort.
    pub effort: bool,
    pub efforts: EffortTable<Box<str>>,
    /// Tokens for thoughts.
    pub budgets: EffortTable<u64>,
    pub temperature_with_top_p: bool,
    /// Whether answers and strict tools are held to their schemas.
    pub structured_outputs: bool,
    pub members: MemberRules,
}

/// Requests in the responses protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponsesDialect {
    /// Whether the model gives its thoughts in encrypted form: those that do not reason refuse that.
    pub encrypted_reasoning: bool,
    pub effort: bool,
    pub efforts: EffortTable<Box<str>>,
    pub cache_marks: CacheMarkForm,
    pub members: MemberRules,
}

/// Requests in the converse protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConverseDialect {
    /// `None` if the name of the model says it.
    pub family: Option<ModelFamily>,
}

/// Who makes a model of the converse protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelFamily {
    /// Anthropic's, which take marks of caches, thoughts, and members of the messages protocol.
    Claude,
    /// Amazon's, which take marks of caches.
    Nova,
    /// OpenAI's open models, which take an effort.
    GptOss,
    Other,
}

/// The member of chat requests that limits output tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChatOutputLimit {
    #[default]
    MaxCompletionTokens,
    /// Its name in the first version of the protocol, which many engines know alone.
    MaxTokens,
}

/// How messages requests ask a model to think.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThinkingRequest {
    /// Adaptive thinking.
    #[default]
    Adaptive,
    /// A budget of tokens.
    Budget,
    /// Not at all: the model does not think.
    None,
}

/// The most exact form of answers that a provider enforces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutputFormatSupport {
    Text,
    JsonObject,
    #[default]
    JsonSchema,
}

/// How requests mark the end of a prefix that is cached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheMarkForm {
    #[default]
    None,
    /// `prompt_cache_breakpoint`
    Breakpoint,
    /// `cache_control`
    CacheControl,
}

/// What becomes of requests that force a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ForcedCalls {
    #[default]
    Taken,
    WithoutThoughts,
    Refused,
}

/// Which ids calls may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallIdForm {
    #[default]
    Any,
    /// Nine letters and digits.
    NineAlphanumerics,
}

impl ModelFamily {
    /// Whether models of the family are held to schemas, of which `dialect` is what those of Claude take.
    pub fn has_structured_outputs(self, dialect: &MessagesDialect) -> bool {
        self != Self::Claude || dialect.structured_outputs
    }
}

impl Default for ChatDialect {
    fn default() -> Self {
        Self {
            output_limit: ChatOutputLimit::default(),
            stream_options: true,
            reasoning: ChatReasoning::default(),
            tools: ChatToolSupport::default(),
            output_format: OutputFormatSupport::default(),
            cache_marks: CacheMarkForm::default(),
            parts: ChatParts::default(),
            temperature_max: None,
            top_k: false,
            stop_max: 4,
            after_results: None,
            members: MemberRules::default(),
            adds: MemberTemplate::default(),
        }
    }
}

impl Default for ChatToolSupport {
    fn default() -> Self {
        Self {
            free_text: false,
            strict: true,
            required: true,
            forced_calls: ForcedCalls::default(),
            allowed_tools: true,
            with_thoughts: true,
            call_ids: CallIdForm::default(),
        }
    }
}

impl Default for ChatParts {
    fn default() -> Self {
        Self {
            images: true,
            documents: true,
            audio: true,
        }
    }
}

impl Default for MessagesDialect {
    fn default() -> Self {
        Self {
            thinking: ThinkingRequest::default(),
            thinking_off: true,
            effort: true,
            efforts: EffortTable::default(),
            budgets: EffortTable([
                None,
                Some(2048),
                Some(2048),
                Some(4096),
                Some(8192),
                Some(16384),
                Some(16384),
            ]),
            temperature_with_top_p: true,
            structured_outputs: true,
            members: MemberRules::default(),
        }
    }
}

impl Default for ResponsesDialect {
    fn default() -> Self {
        Self {
            encrypted_reasoning: true,
            effort: true,
            efforts: EffortTable::default(),
            cache_marks: CacheMarkForm::default(),
            members: MemberRules::default(),
        }
    }
}
