//! Builds what a model has in place of the translation of routes.

use super::ProblemCollector;
use crate::model_properties::ModelPropertiesConfig;
use headgate_protocol::ProtocolTable;
use headgate_translate::ModelTranslationPolicy;

/// The translation of the model at the pointer `at`.
pub(super) fn build(
    config: &ModelPropertiesConfig,
    at: &str,
    known: &ProtocolTable,
    has_task_keys: bool,
    problems: &mut ProblemCollector<'_>,
) -> ModelTranslationPolicy {
    let ModelPropertiesConfig {
        translate,
        on_loss,
        max_output_tokens,
        context_window,
        ..
    } = config;
    if let (Some(limit), Some(window)) = (max_output_tokens, context_window)
        && limit > window
    {
        problems.error(
            &format!("{at}/max_output_tokens"),
            format!("must be at most `context_window`, which is {window}; found {limit}"),
            Some("write what the model can write in one response"),
        );
    }
    let protocols = translate.as_ref().map(|names| {
        let mut protocols = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let at = format!("{at}/translate/{index}");
            // The schema refuses unknown names.
            let Some(protocol) = known.get(&name.0) else {
                continue;
            };
            if protocol.descriptor().translation.is_none() {
                let reason = format!("there is no translation to `{}`", name.0);
                let hint = "write `chat`, `messages` or `responses`";
                problems.error(&at, reason, Some(hint));
            } else if protocols.contains(&protocol) {
                problems.error(&at, format!("`{}` stands here twice", name.0), None);
            } else {
                protocols.push(protocol);
            }
        }
        protocols
    });
    if protocols.as_ref().is_some_and(|all| !all.is_empty()) && !has_task_keys {
        problems.warning(
            &format!("{at}/translate"),
            "without `task_keys` models do not get their thoughts back with the next turn"
                .to_owned(),
            Some("add `task_keys`; `headgate key task` prints one"),
        );
    }
    ModelTranslationPolicy {
        protocols,
        on_loss: on_loss.map(Into::into),
        max_output_tokens: *max_output_tokens,
    }
}
