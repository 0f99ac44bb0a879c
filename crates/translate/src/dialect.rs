//! What providers of one protocol do differently from each other: dialects, which are data.

mod build;
mod channel_dialect;
mod config;
mod invalid;
mod members;
mod merge;
mod model_features;
mod reasoning;
mod shipped;
mod template;
#[cfg(test)]
pub(crate) mod tests;

pub use channel_dialect::Dialect;
pub use config::{
    CacheMarksConfig, CallIdsConfig, ChatDialectConfig, ChatReasoningConfig, ChatToolsConfig,
    ConverseDialectConfig, DialectConfig, EffortConfig, ForcedCallsConfig, LackConfig,
    MessagesDialectConfig, ModelDialectConfig, ModelFamilyConfig, OutputFormatConfig,
    OutputLimitConfig, PartTypeConfig, ReasoningHistoryConfig, ReasoningMemberConfig,
    ResponsesDialectConfig, ThinkingFormConfig,
};
pub use invalid::InvalidDialect;
pub use members::MemberRules;
pub use model_features::{
    CacheMarkForm, CallIdForm, ChatDialect, ChatOutputLimit, ChatParts, ChatToolSupport,
    ConverseDialect, ForcedCalls, MessagesDialect, ModelFamily, ModelFeatures, OutputFormatSupport,
    ResponsesDialect, ThinkingRequest,
};
pub use reasoning::{
    ChatReasoning, EffortTable, MemberPlace, MemberTemplate, ReasoningHistory, ReasoningMember,
};
pub use shipped::SHIPPED_DIALECTS;
