//! `plugin`: runs a sandboxed plugin (Proxy-Wasm) on requests and responses.

mod active;
mod lending;
mod outcome;
mod requests;
mod settings;

use crate::{
    IgnoredEdit, PluginBodyAction, PluginCallback, PluginFailure, PluginStreamAction,
    PluginWithSettings, WithheldPartGrants,
};
use active::ExchangePlugin;
use bytes::Bytes;
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::body_edit::CheckedBodyEditor;
use headgate_core::filter::descriptor::{
    BuildContext, ChainSide, FilterChainRules, FilterDescriptor, InvalidSettings, settings_schema,
};
use headgate_core::filter::response_inputs::ResponseVaryInputs;
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_core::filter::view::{EventAction, EventView, RequestView, ResponseView};
use headgate_core::filter::{Filter, FilterDeclaration, HookResult, ResponseBodyAccess};
use headgate_protocol::fault::Fault;
use http::HeaderName;
use outcome::{closed_fault, denied_fault, failed_fault};
use settings::{PluginFailurePolicy, PluginFilterConfig, PluginPhases};
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "plugin",
    summary: "Runs a sandboxed plugin, a WebAssembly module with the Proxy-Wasm interface, on requests and responses.",
    side: ChainSide::Either,
    placement: FilterChainRules::CHECK,
    settings: Some(settings_schema::<PluginFilterConfig>),
    bare: false,
    build: |settings, context| Ok(Arc::new(PluginFilter::build(settings, context)?)),
};

struct PluginFilter {
    plugin: Arc<PluginWithSettings>,
    grants: Arc<WithheldPartGrants>,
    phases: PluginPhases,
    /// Whether the plugin handles responses, logs the outcomes of requests, or is in a response chain.
    shows_response: bool,
    on_failure: PluginFailurePolicy,
    side: ChainSide,
    editor: CheckedBodyEditor,
}

impl Filter for PluginFilter {
    fn declare(&self) -> FilterDeclaration {
        let access = match self.phases.response_body {
            true => ResponseBodyAccess::Replace,
            false => ResponseBodyAccess::None,
        };
        FilterDeclaration {
            reads_body: self.phases.request_body,
            inspection_limit: self.phases.inspection_limit(&self.plugin, self.on_failure),
            response_body: access,
            events: access,
            ..FilterDeclaration::default()
        }
    }

    fn label(&self) -> Option<&str> {
        Some(self.plugin.name())
    }

    fn granted_response_headers(&self) -> &[HeaderName] {
        match self.shows_response {
            true => &self.grants.response_headers,
            false => &[],
        }
    }

    fn add_response_inputs(&self, inputs: &mut ResponseVaryInputs) {
        if self.phases.response_headers || self.phases.response_body {
            inputs.add_all();
        }
    }

    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        match self.side {
            ChainSide::Response => HookResult::next(),
            ChainSide::Request | ChainSide::Either => {
                HookResult::later(self.on_request_headers(request))
            }
        }
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        match self.phases.request_body && !request.body.is_empty() {
            true => HookResult::later(self.on_request_body(request)),
            false => HookResult::next(),
        }
    }

    fn on_response_head<'a>(&'a self, response: &'a mut ResponseView<'_>) -> HookResult<'a, ()> {
        match self.shows_response {
            true => HookResult::later(async move { self.on_response_headers(response).await }),
            false => HookResult::done(),
        }
    }

    fn on_response_body<'a>(
        &'a self,
        response: &'a mut ResponseView<'_>,
        body: &'a mut Bytes,
    ) -> HookResult<'a, ()> {
        HookResult::later(async move { self.on_whole_body(response, body).await })
    }

    fn on_event<'a>(&'a self, event: &'a mut EventView<'_>) -> HookResult<'a, ()> {
        HookResult::later(async move { self.on_stream_event(event).await })
    }

    fn on_stream_end<'a>(
        &'a self,
        request: &'a mut RequestView,
        rest: &'a mut Bytes,
    ) -> HookResult<'a, ()> {
        match self.phases.response_body {
            true => HookResult::later(self.on_end(request, rest)),
            false => HookResult::done(),
        }
    }

    fn on_done(&self, request: &mut RequestView, _settlement: ExchangeSettlement) {
        if let Some(mut active) = self.take(request) {
            active.show_request(request, None, &self.grants);
            self.plugin.finish(active.stream, active.exchange);
        }
    }
}

impl PluginFilter {
    fn build(
        settings: &serde_json::Value,
        context: &BuildContext<'_>,
    ) -> Result<Self, InvalidSettings> {
        let config = PluginFilterConfig::read(settings)?;
        let (plugin, grants) = config.start(context)?;
        let phases = config.phases(&plugin, context.side)?;
        let shows_response = context.side == ChainSide::Response
            || phases.response_headers
            || phases.response_body
            || plugin.exports(PluginCallback::Log);
        Ok(Self {
            phases,
            shows_response,
            on_failure: config.on_failure,
            side: context.side,
            editor: context.body_editor(DESCRIPTOR.name),
            plugin,
            grants,
        })
    }

    async fn on_response_headers(&self, response: &mut ResponseView<'_>) -> Result<(), Fault> {
        let active = match self.take(response.request) {
            None if self.side == ChainSide::Response => self.begin(response.request).await?,
            active => active,
        };
        let Some(mut active) = active else {
            return Ok(());
        };
        active.show_response(response, &self.grants);
        if !self.phases.response_headers {
            self.keep(response.request, active);
            return Ok(());
        }
        let called = active
            .stream
            .on_response_headers(&mut active.exchange, false)
            .await;
        match called {
            Ok(PluginStreamAction::Continue | PluginStreamAction::Hold) => {
                active.take_over_response(response, &self.plugin);
                self.keep(response.request, active);
                Ok(())
            }
            Ok(PluginStreamAction::Reply(reply)) => Err(denied_fault(self.plugin.name(), &reply)),
            Ok(PluginStreamAction::Close) => Err(closed_fault(self.plugin.name())),
            Err(failure) => self.failed(&failure),
        }
    }

    async fn on_whole_body(
        &self,
        response: &mut ResponseView<'_>,
        body: &mut Bytes,
    ) -> Result<(), Fault> {
        let Some(mut active) = self.take(response.request) else {
            return Ok(());
        };
        active.show_response(response, &self.grants);
        let called = active
            .stream
            .on_response_body(&mut active.exchange, body.clone(), true)
            .await;
        match called {
            Ok(PluginBodyAction::Continue(changed)) => {
                *body = changed;
                active.take_over_response(response, &self.plugin);
                self.keep(response.request, active);
                Ok(())
            }
            Ok(PluginBodyAction::Hold) => {
                active.take_over_response(response, &self.plugin);
                self.keep(response.request, active);
                Ok(())
            }
            Ok(PluginBodyAction::Reply(reply)) => Err(denied_fault(self.plugin.name(), &reply)),
            Ok(PluginBodyAction::Close) => Err(closed_fault(self.plugin.name())),
            Err(failure) => self.failed(&failure),
        }
    }

    async fn on_stream_event(&self, view: &mut EventView<'_>) -> Result<(), Fault> {
        let given = view.event.raw.clone();
        let called = self.with_stream(view.request, view.candidate, async |active| {
            let event = given.clone();
            active
                .stream
                .on_response_event(&mut active.exchange, event)
                .await
        });
        match called.await? {
            Some(bytes) if bytes == given => {}
            Some(bytes) if bytes.is_empty() => view.action = EventAction::Drop,
            Some(bytes) => view.action = EventAction::Replace(bytes),
            None => {}
        }
        Ok(())
    }

    async fn on_end(&self, request: &mut RequestView, rest: &mut Bytes) -> Result<(), Fault> {
        let called = self.with_stream(request, None, async |active| {
            active
                .stream
                .on_response_body(&mut active.exchange, Bytes::new(), true)
                .await
        });
        if let Some(bytes) = called.await? {
            *rest = bytes;
        }
        Ok(())
    }

    /// Calls the plugin for a part of a stream. `None` if the plugin has no part in this exchange, or no longer.
    async fn with_stream(
        &self,
        request: &mut RequestView,
        candidate: Option<&Candidate>,
        call: impl AsyncFnOnce(&mut ExchangePlugin) -> Result<PluginBodyAction, PluginFailure>,
    ) -> Result<Option<Bytes>, Fault> {
        let Some(mut active) = self.take(request) else {
            return Ok(None);
        };
        active.show_request(request, candidate, &self.grants);
        let edits = active.exchange.response_head_edits;
        let called = call(&mut active).await;
        if active.exchange.response_head_edits != edits {
            self.plugin.report_ignored(IgnoredEdit::SentHead);
        }
        match called {
            Ok(PluginBodyAction::Continue(bytes)) => {
                self.keep(request, active);
                Ok(Some(bytes))
            }
            Ok(PluginBodyAction::Hold) => {
                self.keep(request, active);
                Ok(Some(Bytes::new()))
            }
            Ok(PluginBodyAction::Reply(reply)) => Err(denied_fault(self.plugin.name(), &reply)),
            Ok(PluginBodyAction::Close) => Err(closed_fault(self.plugin.name())),
            Err(failure) => {
                self.failed(&failure)?;
                // What the plugin still holds passes unchanged; it ends with the event of this call.
                Ok(Some(active.stream.take_held().1))
            }
        }
    }

    async fn begin(&self, request: &RequestView) -> Result<Option<Box<ExchangePlugin>>, Fault> {
        match self.plugin.open_stream().await {
            Ok(stream) => Ok(Some(ExchangePlugin::new(stream, request, &self.grants))),
            Err(failure) => self.failed(&failure).map(|()| None),
        }
    }

    /// The plugin's part of the exchange; `None` if it failed before, or its condition does not hold.
    fn take(&self, request: &mut RequestView) -> Option<Box<ExchangePlugin>> {
        ExchangePlugin::take(request, self.identity())
    }

    fn keep(&self, request: &mut RequestView, active: Box<ExchangePlugin>) {
        active.keep(request, self.identity());
    }

    /// Distinguishes the state of this filter from that of others of its kind.
    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// Continues without the plugin, if the settings let the exchange do so.
    fn failed(&self, failure: &PluginFailure) -> Result<(), Fault> {
        self.plugin.record_failure(failure);
        match self.on_failure {
            PluginFailurePolicy::Allow => Ok(()),
            PluginFailurePolicy::Deny => {
                Err(failed_fault(self.plugin.name(), &failure.to_string()))
            }
        }
    }
}
