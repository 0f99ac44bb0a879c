//! The request callbacks of `plugin`: what it is given of a request, and what is taken over.

use super::PluginFilter;
use super::active::ExchangePlugin;
use super::lending::{self, WithheldHeaders};
use super::outcome::{closed_fault, failed_fault, local_reply, too_large_fault};
use crate::{PluginBodyAction, PluginStreamAction};
use bytes::Bytes;
use headgate_core::filter::FilterAction;
use headgate_core::filter::body::RequestBody;
use headgate_core::filter::body_edit::edited_document;
use headgate_core::filter::view::RequestView;
use headgate_protocol::fault::Fault;
use headgate_protocol::json::{JsonDocument, JsonLimits};

impl PluginFilter {
    pub(super) async fn on_request_headers(
        &self,
        request: &mut RequestView,
    ) -> Result<FilterAction, Fault> {
        let Some(mut active) = self.begin(request).await? else {
            return Ok(FilterAction::Continue);
        };
        if !self.phases.request_headers {
            self.keep(request, active);
            return Ok(FilterAction::Continue);
        }
        let ends = !lending::has_body(request);
        let withheld = lending::borrow_request(request, &mut active.exchange, &self.grants);
        let called = active
            .stream
            .on_request_headers(&mut active.exchange, ends)
            .await;
        self.return_request(request, &mut active, withheld);
        match called {
            // A plugin that waits for the body gets it before anything is sent.
            Ok(PluginStreamAction::Continue | PluginStreamAction::Hold) => {
                self.take_over_head(request, &active);
                self.keep(request, active);
                Ok(FilterAction::Continue)
            }
            Ok(PluginStreamAction::Reply(reply)) => local_reply(self.plugin.name(), reply),
            Ok(PluginStreamAction::Close) => Err(closed_fault(self.plugin.name())),
            Err(failure) => self.failed(&failure).map(|()| FilterAction::Continue),
        }
    }

    pub(super) async fn on_request_body(
        &self,
        request: &mut RequestView,
    ) -> Result<FilterAction, Fault> {
        let Some(mut active) = self.take(request) else {
            return Ok(FilterAction::Continue);
        };
        let given = match &*request.body {
            RequestBody::Json(document) if !request.edits.is_empty() => {
                let limit = request.body_limit;
                let edited = edited_document(document.body(), &request.edits, limit)?;
                edited.body().clone()
            }
            other => other.bytes().cloned().unwrap_or_default(),
        };
        let withheld = lending::borrow_request(request, &mut active.exchange, &self.grants);
        let called = active
            .stream
            .on_request_body(&mut active.exchange, given.clone(), true)
            .await;
        self.return_request(request, &mut active, withheld);
        match called {
            Ok(PluginBodyAction::Continue(body)) => {
                self.take_over_head(request, &active);
                self.keep(request, active);
                if body != given {
                    self.replace_request_body(request, body)?;
                }
                Ok(FilterAction::Continue)
            }
            // The host waits for a plugin that holds a whole body.
            Ok(PluginBodyAction::Hold) => {
                self.keep(request, active);
                Ok(FilterAction::Continue)
            }
            Ok(PluginBodyAction::Reply(reply)) => local_reply(self.plugin.name(), reply),
            Ok(PluginBodyAction::Close) => Err(closed_fault(self.plugin.name())),
            Err(failure) => match self.failed(&failure) {
                Ok(()) => Ok(FilterAction::Continue),
                Err(fault) => {
                    Err(too_large_fault(self.plugin.name(), &failure, &given).unwrap_or(fault))
                }
            },
        }
    }

    /// Takes over a body that the plugin wrote. Earlier filters check it again.
    fn replace_request_body(&self, request: &mut RequestView, body: Bytes) -> Result<(), Fault> {
        let name = self.plugin.name();
        if !matches!(*request.body, RequestBody::Json(_)) {
            let reason = "it changed a body that is not JSON, which is not possible";
            return Err(failed_fault(name, reason));
        }
        let document = JsonDocument::parse(body, &JsonLimits::default());
        let document = document.map_err(|error| {
            failed_fault(
                name,
                &format!("its body for the provider is no JSON: {error}"),
            )
        })?;
        let checked = self.editor.check(request, document)?;
        request.replace_body(checked);
        Ok(())
    }

    /// Moves the headers back from the plugin.
    fn return_request(
        &self,
        request: &mut RequestView,
        active: &mut ExchangePlugin,
        withheld: WithheldHeaders,
    ) {
        let (grants, plugin) = (&self.grants, &self.plugin);
        lending::return_request(request, &mut active.exchange, withheld, grants, plugin);
    }

    /// Takes over the path as the plugin left it.
    fn take_over_head(&self, request: &mut RequestView, active: &ExchangePlugin) {
        let head = &active.exchange.request;
        lending::take_over_head(request, head, &self.grants, &self.plugin);
    }
}
