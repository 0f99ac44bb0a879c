//! Builds a channel's classification of errors.

use super::ProblemCollector;
use crate::channel_errors::{ErrorClassConfig, ErrorClassRuleConfig};
use headgate_protocol::error_class::{ChannelErrorRule, ErrorClass, ErrorClassifier};

/// Builds the rows at `at`; one with problems is omitted, and its problems are reported.
pub(super) fn build(
    configs: &[ErrorClassRuleConfig],
    at: &str,
    problems: &mut ProblemCollector<'_>,
) -> ErrorClassifier {
    let rows = configs.iter().enumerate();
    let build = |(index, config)| build_row(config, &format!("{at}/{index}"), problems);
    ErrorClassifier::new(rows.filter_map(build).collect())
}

fn build_row(
    config: &ErrorClassRuleConfig,
    at: &str,
    problems: &mut ProblemCollector<'_>,
) -> Option<ChannelErrorRule> {
    let ErrorClassRuleConfig {
        status,
        code,
        message,
        class,
    } = config;
    let errors = problems.errors();
    if status.is_none() && code.is_none() && message.is_none() {
        let hint = "add a `status`, a `code` or the beginning of a `message`";
        problems.error(at, "the row matches every error", Some(hint));
    }
    for (key, text) in [("code", code), ("message", message)] {
        if let Some(text) = text
            && !text.chars().any(char::is_alphanumeric)
        {
            let hint = "letters and digits are compared; leave it out to match any";
            let pointer = format!("{at}/{key}");
            problems.error(
                &pointer,
                format!("`{key}` has no letter or digit"),
                Some(hint),
            );
        }
    }
    (problems.errors() == errors).then(|| ChannelErrorRule {
        class: error_class(*class),
        statuses: status.iter().copied().collect(),
        code: code.as_deref().map(Into::into),
        message: message.as_deref().map(Into::into),
    })
}

fn error_class(config: ErrorClassConfig) -> ErrorClass {
    match config {
        ErrorClassConfig::ClientError => ErrorClass::InvalidRequest,
        ErrorClassConfig::ContextTooLong => ErrorClass::ContextTooLong,
        ErrorClassConfig::ContentPolicy => ErrorClass::ContentPolicy,
        ErrorClassConfig::RateLimited => ErrorClass::RateLimited,
        ErrorClassConfig::Overloaded => ErrorClass::Overloaded,
        ErrorClassConfig::ServerError => ErrorClass::ServerError,
        ErrorClassConfig::RefusedCredential => ErrorClass::RefusedCredential,
        ErrorClassConfig::RefusedAccount => ErrorClass::RefusedAccount,
        ErrorClassConfig::ModelUnavailable => ErrorClass::ModelNotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_class_has_the_same_name_in_configuration_and_documentation() {
        for class in ErrorClass::ALL {
            let config: ErrorClassConfig = serde_json::from_value(json!(class.name())).unwrap();
            assert_eq!(error_class(config), class);
        }
    }
}
