//! `remove_headers`: removes request headers for the provider, or response headers for the caller.

use headgate_core::filter::descriptor::{
    ChainSide, ConditionSupport, FilterChainRules, FilterDescriptor, InvalidSettings,
    read_settings, settings_schema,
};
use headgate_core::filter::header_name::header_name;
use headgate_core::filter::view::{AttemptView, RequestView, ResponseView, UpstreamHeaderEdits};
use headgate_core::filter::{Filter, HookResult};
use headgate_expression::EvaluationPhase;
use http::HeaderName;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "remove_headers",
    summary: "Removes the listed headers.",
    side: ChainSide::Either,
    placement: FilterChainRules {
        condition: ConditionSupport::Attempt,
        ..FilterChainRules::ANYWHERE
    },
    settings: Some(settings_schema::<Vec<String>>),
    bare: false,
    build: |settings, context| {
        let names = read_settings::<Vec<String>>(settings)?
            .iter()
            .enumerate()
            .map(|(index, name)| {
                header_name(name).map_err(|invalid| invalid.at(format!("/{index}")))
            })
            .collect::<Result<_, InvalidSettings>>()?;
        Ok(Arc::new(RemoveHeadersFilter {
            side: context.side,
            is_for_attempt: context.condition_phase == EvaluationPhase::Attempt,
            names,
        }))
    },
};

struct RemoveHeadersFilter {
    side: ChainSide,
    /// Whether the condition of the step names the attempt.
    is_for_attempt: bool,
    names: Vec<HeaderName>,
}

impl Filter for RemoveHeadersFilter {
    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        if !self.is_for_attempt {
            request.header_edits.extend(self.edits());
        }
        HookResult::next()
    }

    fn on_attempt<'a>(
        &'a self,
        _request: &'a RequestView,
        attempt: &'a mut AttemptView,
    ) -> HookResult<'a, ()> {
        match self.is_for_attempt {
            true => HookResult::from(self.edits().apply(&mut attempt.headers)),
            false => HookResult::done(),
        }
    }

    fn on_response_head<'a>(&'a self, response: &'a mut ResponseView<'_>) -> HookResult<'a, ()> {
        if self.side != ChainSide::Response {
            return HookResult::done();
        }
        for name in &self.names {
            response.headers.remove(name);
        }
        HookResult::done()
    }
}

impl RemoveHeadersFilter {
    fn edits(&self) -> UpstreamHeaderEdits {
        let mut edits = UpstreamHeaderEdits::default();
        for name in &self.names {
            edits.remove(name);
        }
        edits
    }
}
