//! Tests of tracing: trace context, spans, sampling, and the export to a collector.

mod collector;
mod context;
mod explained;
mod export;
mod messages;
mod sampling;
mod spans;

use crate::harness::http_response::json_response;
use crate::harness::otlp::TraceCollector;
use crate::harness::{Gateway, ScriptedProvider, WholeResponse, config};
use serde_json::Value;

/// A response of the chat protocol with usage.
const CHAT: &str = r#"{"id":"chatcmpl-1","object":"chat.completion","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,"prompt_tokens_details":{"cached_tokens":30}}}"#;

/// A gateway with tracing, its provider and its collector.
struct TracingSetup {
    gateway: Gateway,
    provider: ScriptedProvider,
    collector: TraceCollector,
    config: Value,
}

impl TracingSetup {
    /// The provider responds to every request with [`CHAT`].
    async fn start(settings: Value) -> Self {
        let provider = ScriptedProvider::answering(json_response(200, CHAT)).await;
        Self::with(provider, settings, |_| {}).await
    }

    async fn with(
        provider: ScriptedProvider,
        settings: Value,
        change: impl FnOnce(&mut Value),
    ) -> Self {
        let collector = TraceCollector::start().await;
        let mut config = config::standard(&provider.url());
        config::without_cool_downs(&mut config);
        collector.add_to(&mut config, settings);
        change(&mut config);
        Self {
            gateway: Gateway::start(&config).await,
            provider,
            collector,
            config,
        }
    }

    /// The values of a header in the provider's last request.
    fn provider_headers(&self, name: &str) -> Vec<String> {
        let requests = self.provider.requests();
        let last = requests.last().expect("a request");
        let (head, _) = last.split_once("\r\n\r\n").unwrap();
        let lines = head.lines().filter_map(|line| line.split_once(':'));
        lines
            .filter(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim().to_owned())
            .collect()
    }
}

fn id_of(response: &WholeResponse) -> &str {
    response.headers.get("x-request-id").unwrap()
}
