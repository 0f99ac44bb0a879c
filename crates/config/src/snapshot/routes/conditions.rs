//! Conditions of steps: which ones a filter may have, and the filters that evaluate them.

use super::super::ProblemCollector;
use crate::routes::{OnConditionErrorConfig, StepIfExpressionConfig};
use headgate_core::filter::Filter;
use headgate_core::filter::chain::NamedFilter;
use headgate_core::filter::condition::{ConditionErrorAction, ConditionId, StepCondition};
use headgate_core::filter::conditional::ConditionalFilter;
use headgate_core::filter::descriptor::{
    ChainSide, ConditionSupport, FilterDescriptor, InvalidSettings,
};
use headgate_core::filter::expression::FilterExpression;
use headgate_core::filter::output_check::OutputCheckMode;
use headgate_expression::{EvaluationPhase, ValueOrigin};
use std::cell::Cell;
use std::sync::Arc;

/// Builds the conditions of a snapshot.
#[derive(Default)]
pub(crate) struct StepConditionBuilder {
    built: Cell<usize>,
}

impl StepConditionBuilder {
    /// The condition of a step with a filter of this kind. Pointers of errors are relative to the step.
    ///
    /// # Errors
    /// The expression is invalid or names what is not known, or the filter takes no such condition.
    pub fn build(
        &self,
        config: &StepIfExpressionConfig,
        kind: &'static FilterDescriptor,
        side: ChainSide,
    ) -> Result<StepCondition, InvalidSettings> {
        let name = kind.name;
        let support = kind.placement.condition;
        if support == ConditionSupport::Never {
            let reason = format!("`{name}` takes no `if`: it must run for every request");
            let hint = "remove the condition, or use routes of their own for such requests";
            return Err(InvalidSettings::new(reason).at("/if").hint(hint));
        }
        let on_error = on_error(config.on_error, support, side, name)?;
        let available = available(support, side);
        let expression = FilterExpression::compile_condition(&config.r#if, available);
        let expression = expression.map_err(|invalid| invalid.at("/if"))?;
        self.built.set(self.built.get() + 1);
        Ok(StepCondition {
            id: ConditionId(self.built.get()),
            filter: name,
            expression,
            on_error,
        })
    }
}

/// When the condition of a step is evaluated; at the head if it has none.
pub(super) fn phase(condition: Option<&StepCondition>) -> EvaluationPhase {
    condition.map_or(EvaluationPhase::Head, |condition| {
        condition.expression.phase()
    })
}

/// The filter of a step, with the step's condition.
pub(super) fn with_condition(
    kind: &'static FilterDescriptor,
    filter: Arc<dyn Filter>,
    condition: Option<StepCondition>,
    side: ChainSide,
) -> NamedFilter {
    let filter: Arc<dyn Filter> = match (&condition, side) {
        (None, _) => filter,
        (Some(condition), ChainSide::Response) => Arc::new(ConditionalFilter::for_response_chain(
            filter,
            condition.clone(),
        )),
        (Some(condition), _) => Arc::new(ConditionalFilter::for_request_chain(
            filter,
            condition.clone(),
        )),
    };
    NamedFilter {
        kind,
        filter,
        condition,
    }
}

/// Warns of a condition by which callers avoid a filter that enforces something, or that is no condition at all.
pub(super) fn warn_if_avoidable(step: &NamedFilter, at: &str, problems: &mut ProblemCollector<'_>) {
    let is_guard = step.kind.placement.condition == ConditionSupport::Guard
        || step.filter.declare().output_check != OutputCheckMode::None;
    let Some(condition) = step.condition.as_ref().filter(|_| is_guard) else {
        return;
    };
    let name = step.kind.name;
    let (reason, hint) = match condition.expression.origin() {
        ValueOrigin::Constant => (
            format!(
                "`{name}` runs for every request or for none: its condition reads nothing of the request"
            ),
            "remove `if`, or the step",
        ),
        ValueOrigin::Caller => (
            format!(
                "a caller can switch `{name}` off: only what the caller sends decides its condition"
            ),
            "name `caller`, `model` or `client.address` in the condition, or remove `if`",
        ),
        ValueOrigin::Exchange => return,
    };
    problems.warning(&format!("{at}/if"), reason, Some(hint));
}

fn is_check(support: ConditionSupport) -> bool {
    matches!(support, ConditionSupport::Check | ConditionSupport::Guard)
}

/// The latest phase whose names a condition may use.
fn available(support: ConditionSupport, side: ChainSide) -> EvaluationPhase {
    match (side, support) {
        (ChainSide::Response, ConditionSupport::ResponseBody | ConditionSupport::AttemptOrBody) => {
            EvaluationPhase::ResponseBody
        }
        (ChainSide::Response, _) => EvaluationPhase::ResponseHead,
        (_, ConditionSupport::Attempt | ConditionSupport::AttemptOrBody) => {
            EvaluationPhase::Attempt
        }
        _ => EvaluationPhase::Body,
    }
}

fn on_error(
    config: Option<OnConditionErrorConfig>,
    support: ConditionSupport,
    side: ChainSide,
    name: &str,
) -> Result<ConditionErrorAction, InvalidSettings> {
    let refused =
        |reason: String, hint: &str| Err(InvalidSettings::new(reason).at("/on_error").hint(hint));
    match (config, side) {
        (Some(OnConditionErrorConfig::Skip), _) if is_check(support) => refused(
            format!(
                "`{name}` takes no `on_error: skip`: a request that cannot be judged would pass unchecked"
            ),
            "write `on_error: refuse` or `on_error: run`",
        ),
        (Some(OnConditionErrorConfig::Refuse), ChainSide::Response) => refused(
            "a response filter takes no `on_error: refuse`: the provider has responded".into(),
            "write `on_error: run` or `on_error: skip`",
        ),
        (None, ChainSide::Response) => Ok(ConditionErrorAction::Run),
        (Some(OnConditionErrorConfig::Run), _) => Ok(ConditionErrorAction::Run),
        (Some(OnConditionErrorConfig::Skip), _) => Ok(ConditionErrorAction::Skip),
        (Some(OnConditionErrorConfig::Refuse) | None, _) => Ok(ConditionErrorAction::Refuse),
    }
}
