//! A plugin's part of one exchange, kept between the hooks of its filter.

use super::lending;
use crate::{LentExchange, PluginStream, PluginWithSettings, WithheldPartGrants};
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::view::{RequestView, ResponseView};

/// A plugin that takes part in an exchange.
pub struct ExchangePlugin {
    pub stream: PluginStream,
    pub exchange: LentExchange,
    /// Whether the plugin has had the headers of the response that it is granted.
    has_granted_headers: bool,
    /// Whether the exchange has the request as it was sent, so that nothing is taken back from it.
    shows_sent_request: bool,
}

/// The plugins of one exchange, each with the identity of its filter.
#[derive(Default)]
struct ExchangePlugins(Vec<(usize, Box<ExchangePlugin>)>);

impl ExchangePlugin {
    /// Boxed, since filters take and keep it in every hook.
    pub fn new(
        stream: PluginStream,
        request: &RequestView,
        grants: &WithheldPartGrants,
    ) -> Box<Self> {
        Box::new(Self {
            stream,
            exchange: LentExchange {
                request: lending::request_head(request, grants),
                ..LentExchange::default()
            },
            has_granted_headers: false,
            shows_sent_request: false,
        })
    }

    /// Takes what the filter `identity` has kept.
    pub fn take(request: &mut RequestView, identity: usize) -> Option<Box<Self>> {
        let plugins = &mut request.state.get_mut::<ExchangePlugins>()?.0;
        let at = plugins.iter().position(|(of, _)| *of == identity)?;
        Some(plugins.swap_remove(at).1)
    }

    pub fn keep(self: Box<Self>, request: &mut RequestView, identity: usize) {
        let plugins = request.state.get_or_default::<ExchangePlugins>();
        plugins.0.push((identity, self));
    }

    /// Shows the plugin the request as it was sent, once.
    pub fn show_request(
        &mut self,
        request: &RequestView,
        candidate: Option<&Candidate>,
        grants: &WithheldPartGrants,
    ) {
        if !std::mem::replace(&mut self.shows_sent_request, true) {
            lending::show_request(request, candidate, &mut self.exchange, grants);
        }
    }

    pub fn show_response(&mut self, response: &ResponseView<'_>, grants: &WithheldPartGrants) {
        self.show_request(response.request, response.candidate, grants);
        lending::show_response(response, &mut self.exchange);
        if !self.has_granted_headers {
            lending::show_granted_headers(response.request, &mut self.exchange, grants);
        }
    }

    /// Takes over the head of the response as the plugin left it.
    pub fn take_over_response(
        &mut self,
        response: &mut ResponseView<'_>,
        plugin: &PluginWithSettings,
    ) {
        // What the plugin has removed of them stays away.
        self.has_granted_headers = true;
        lending::take_over_response(response, &self.exchange, plugin);
    }
}
