//! Builds a dialect from what is written.

use super::channel_dialect::Dialect;
use super::config::{
    CacheMarksConfig, CallIdsConfig, ChatDialectConfig, ChatReasoningConfig, ChatToolsConfig,
    DialectConfig, EffortConfig, ForcedCallsConfig, LackConfig, MessagesDialectConfig,
    ModelDialectConfig, ModelFamilyConfig, OutputFormatConfig, OutputLimitConfig, PartTypeConfig,
    ReasoningHistoryConfig, ReasoningMemberConfig, ResponsesDialectConfig, ThinkingFormConfig,
};
use super::invalid::InvalidDialect;
use super::members::MemberRules;
use super::merge::merge;
use super::model_features::{
    CacheMarkForm, CallIdForm, ChatDialect, ChatOutputLimit, ChatParts, ChatToolSupport,
    ConverseDialect, ForcedCalls, MessagesDialect, ModelFamily, ModelFeatures, OutputFormatSupport,
    ResponsesDialect, ThinkingRequest,
};
use super::reasoning::{ChatReasoning, EffortTable, ReasoningHistory, ReasoningMember};
use super::template::{DialectFaults, place, template};
use crate::ledger::FieldOutcome;
use headgate_scalar::model_pattern::ModelPattern;
use std::collections::BTreeMap;
use std::sync::Arc;

impl DialectConfig {
    /// The dialect that is written so, without what it is based on: see [`DialectConfig::over`].
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn build(&self) -> Result<Dialect, Vec<InvalidDialect>> {
        let mut faults = Vec::new();
        let all = features(&self.section(), "", &mut faults);
        let sections = self.models.iter().flatten().enumerate();
        let by_model = sections.map(|(index, section)| {
            let names = section.names.iter().map(|name| ModelPattern::new(name));
            let at = format!("/models/{index}");
            let whole = merge(section, &self.section());
            (names.collect(), features(&whole, &at, &mut faults))
        });
        let by_model = by_model.collect();
        match faults.is_empty() {
            true => Ok(Dialect::new(all, by_model)),
            false => {
                // A fault of what all models have is one of each section, too.
                let mut known: Vec<InvalidDialect> = Vec::new();
                for fault in faults {
                    if !known.iter().any(|other| other.reason == fault.reason) {
                        known.push(fault);
                    }
                }
                Err(known)
            }
        }
    }

    fn section(&self) -> ModelDialectConfig {
        ModelDialectConfig {
            names: Vec::new(),
            chat: self.chat.clone(),
            messages: self.messages.clone(),
            responses: self.responses.clone(),
            converse: self.converse.clone(),
        }
    }
}

fn features(
    config: &ModelDialectConfig,
    at: &str,
    faults: &mut Vec<InvalidDialect>,
) -> Arc<ModelFeatures> {
    let mut faults = DialectFaults { at, all: faults };
    Arc::new(ModelFeatures {
        chat: config
            .chat
            .as_ref()
            .map_or_else(ChatDialect::default, |it| chat(it, &mut faults)),
        messages: config
            .messages
            .as_ref()
            .map_or_else(MessagesDialect::default, |it| messages(it, &mut faults)),
        responses: config
            .responses
            .as_ref()
            .map_or_else(ResponsesDialect::default, |it| responses(it, &mut faults)),
        converse: ConverseDialect {
            family: config
                .converse
                .as_ref()
                .and_then(|it| it.family.map(family)),
        },
    })
}

fn family(config: ModelFamilyConfig) -> ModelFamily {
    match config {
        ModelFamilyConfig::Claude => ModelFamily::Claude,
        ModelFamilyConfig::Nova => ModelFamily::Nova,
        ModelFamilyConfig::GptOss => ModelFamily::GptOss,
        ModelFamilyConfig::Other => ModelFamily::Other,
    }
}

fn chat(config: &ChatDialectConfig, faults: &mut DialectFaults<'_>) -> ChatDialect {
    let default = ChatDialect::default();
    ChatDialect {
        output_limit: match config.output_limit {
            None | Some(OutputLimitConfig::MaxCompletionTokens) => {
                ChatOutputLimit::MaxCompletionTokens
            }
            Some(OutputLimitConfig::MaxTokens) => ChatOutputLimit::MaxTokens,
        },
        stream_options: config.stream_options.unwrap_or(default.stream_options),
        reasoning: config
            .reasoning
            .as_ref()
            .map_or(default.reasoning, |it| reasoning(it, faults)),
        tools: config.tools.as_ref().map_or(default.tools, tools),
        output_format: match config.output_format {
            None | Some(OutputFormatConfig::JsonSchema) => OutputFormatSupport::JsonSchema,
            Some(OutputFormatConfig::JsonObject) => OutputFormatSupport::JsonObject,
            Some(OutputFormatConfig::Text) => OutputFormatSupport::Text,
        },
        cache_marks: cache_marks(config.cache_marks),
        parts: config.parts.as_deref().map_or(default.parts, parts),
        temperature_max: config.temperature_max,
        top_k: config.top_k.unwrap_or(default.top_k),
        stop_max: config.stop_max.unwrap_or(default.stop_max),
        after_results: config.after_results.as_deref().map(Box::from),
        members: members(
            config.renames.as_ref(),
            config.lacks.as_ref(),
            "/chat",
            faults,
        ),
        adds: template(config.adds.as_ref(), "/chat/adds", faults),
    }
}

fn reasoning(config: &ChatReasoningConfig, faults: &mut DialectFaults<'_>) -> ChatReasoning {
    let default = ChatReasoning::default();
    let at = "/chat/reasoning";
    ChatReasoning {
        on: template(config.on.as_ref(), &format!("{at}/on"), faults),
        off: Some(template(config.off.as_ref(), &format!("{at}/off"), faults))
            .filter(|off| !off.0.is_empty()),
        effort: match &config.effort {
            None => default.effort,
            Some(text) => place(text, &format!("{at}/effort"), faults),
        },
        efforts: words(config.efforts.as_ref()),
        budget: match &config.budget {
            None => default.budget,
            Some(text) => place(text, &format!("{at}/budget"), faults),
        },
        budgets: table(config.budgets.as_ref(), |tokens| *tokens),
        member: match config.member {
            None | Some(ReasoningMemberConfig::ReasoningContent) => {
                ReasoningMember::ReasoningContent
            }
            Some(ReasoningMemberConfig::Reasoning) => ReasoningMember::Reasoning,
            Some(ReasoningMemberConfig::ReasoningDetails) => ReasoningMember::ReasoningDetails,
            Some(ReasoningMemberConfig::Content) => ReasoningMember::Content,
        },
        history: match config.history {
            None | Some(ReasoningHistoryConfig::All) => ReasoningHistory::All,
            Some(ReasoningHistoryConfig::Calls) => ReasoningHistory::Calls,
            Some(ReasoningHistoryConfig::None) => ReasoningHistory::None,
        },
        is_empty_if_missing: config
            .empty_if_missing
            .unwrap_or(default.is_empty_if_missing),
    }
}

fn tools(config: &ChatToolsConfig) -> ChatToolSupport {
    let default = ChatToolSupport::default();
    ChatToolSupport {
        free_text: config.free_text.unwrap_or(default.free_text),
        strict: config.strict.unwrap_or(default.strict),
        required: config.required.unwrap_or(default.required),
        forced_calls: match config.forced_calls {
            None | Some(ForcedCallsConfig::Taken) => ForcedCalls::Taken,
            Some(ForcedCallsConfig::WithoutThoughts) => ForcedCalls::WithoutThoughts,
            Some(ForcedCallsConfig::Refused) => ForcedCalls::Refused,
        },
        allowed_tools: config.allowed_tools.unwrap_or(default.allowed_tools),
        with_thoughts: config.with_thoughts.unwrap_or(default.with_thoughts),
        call_ids: match config.call_ids {
            None | Some(CallIdsConfig::Any) => CallIdForm::Any,
            Some(CallIdsConfig::NineAlphanumerics) => CallIdForm::NineAlphanumerics,
        },
    }
}

fn messages(config: &MessagesDialectConfig, faults: &mut DialectFaults<'_>) -> MessagesDialect {
    let default = MessagesDialect::default();
    let thinking = match config.thinking {
        None | Some(ThinkingFormConfig::Adaptive) => ThinkingRequest::Adaptive,
        Some(ThinkingFormConfig::Budget) => ThinkingRequest::Budget,
        Some(ThinkingFormConfig::None) => ThinkingRequest::None,
    };
    let mut budgets = default.budgets;
    for (effort, tokens) in config.budgets.iter().flatten() {
        budgets.0[*effort as usize] = Some(*tokens);
    }
    MessagesDialect {
        thinking,
        thinking_off: config.thinking_off.unwrap_or(default.thinking_off),
        effort: config
            .effort
            .unwrap_or(thinking == ThinkingRequest::Adaptive),
        efforts: words(config.efforts.as_ref()),
        budgets,
        temperature_with_top_p: config
            .temperature_with_top_p
            .unwrap_or(default.temperature_with_top_p),
        structured_outputs: config
            .structured_outputs
            .unwrap_or(default.structured_outputs),
        members: members(
            config.renames.as_ref(),
            config.lacks.as_ref(),
            "/messages",
            faults,
        ),
    }
}

fn responses(config: &ResponsesDialectConfig, faults: &mut DialectFaults<'_>) -> ResponsesDialect {
    let default = ResponsesDialect::default();
    ResponsesDialect {
        encrypted_reasoning: config
            .encrypted_reasoning
            .unwrap_or(default.encrypted_reasoning),
        effort: config.effort.unwrap_or(default.effort),
        efforts: words(config.efforts.as_ref()),
        cache_marks: cache_marks(config.cache_marks),
        members: members(
            config.renames.as_ref(),
            config.lacks.as_ref(),
            "/responses",
            faults,
        ),
    }
}

fn cache_marks(config: Option<CacheMarksConfig>) -> CacheMarkForm {
    match config {
        None | Some(CacheMarksConfig::None) => CacheMarkForm::None,
        Some(CacheMarksConfig::PromptCacheBreakpoint) => CacheMarkForm::Breakpoint,
        Some(CacheMarksConfig::CacheControl) => CacheMarkForm::CacheControl,
    }
}

fn parts(config: &[PartTypeConfig]) -> ChatParts {
    ChatParts {
        images: config.contains(&PartTypeConfig::Image),
        documents: config.contains(&PartTypeConfig::Document),
        audio: config.contains(&PartTypeConfig::Audio),
    }
}

fn members(
    renames: Option<&BTreeMap<String, String>>,
    lacks: Option<&BTreeMap<String, LackConfig>>,
    section: &str,
    faults: &mut DialectFaults<'_>,
) -> MemberRules {
    let renames = renames.into_iter().flatten().map(|(own, sent)| {
        faults.check_name(sent, &format!("{section}/renames/{own}"));
        (own.as_str().into(), sent.as_str().into())
    });
    let renames = renames.collect();
    let lacks = lacks.into_iter().flatten().map(|(name, config)| {
        let outcome = match config {
            LackConfig::Dropped => FieldOutcome::Dropped,
            LackConfig::Approximated => FieldOutcome::Approximated,
            LackConfig::Refused => FieldOutcome::Refused,
        };
        (name.as_str().into(), outcome)
    });
    MemberRules {
        renames,
        lacks: lacks.collect(),
    }
}

fn words(config: Option<&BTreeMap<EffortConfig, String>>) -> EffortTable<Box<str>> {
    table(config, |word| word.as_str().into())
}

fn table<C, T>(
    config: Option<&BTreeMap<EffortConfig, C>>,
    value: impl Fn(&C) -> T,
) -> EffortTable<T> {
    let mut table = EffortTable::default();
    for (effort, written) in config.into_iter().flatten() {
        table.0[*effort as usize] = Some(value(written));
    }
    table
}
