//! Gateways with `cache`, and what their responses tell of it.

use super::{Gateway, Request, Simulator, WholeResponse, config};
use serde_json::{Value, json};

/// The header with the outcome of a request.
pub const OUTCOME: &str = "x-headgate-cache";

/// The routes that record responses.
pub const ROUTES: [&str; 2] = ["chat", "messages"];

/// A gateway whose text routes record responses, with a simulated provider.
pub struct CachingSetup {
    pub gateway: Gateway,
    pub simulator: Simulator,
}

/// The standard configuration with `cache` at the end of both routes.
pub fn caching_config(provider: &str, settings: &Value) -> Value {
    let mut config = config::standard(provider);
    config::without_cool_downs(&mut config);
    for name in ROUTES {
        add_step(&mut config, name, json!({"cache": settings}));
    }
    config
}

/// Adds a step to the end of a route's request chain.
pub fn add_step(config: &mut Value, route: &str, step: Value) {
    let chain = &mut config::route(config, route)["request"];
    chain.as_array_mut().unwrap().push(step);
}

/// Adds a step before the last one of a route's request chain.
pub fn insert_step(config: &mut Value, route: &str, step: Value) {
    let chain = config::route(config, route)["request"].as_array_mut();
    let chain = chain.unwrap();
    chain.insert(chain.len() - 1, step);
}

/// What became of a request: `hit`, `miss`, `bypass`, or `none` without the header.
pub fn outcome(response: &WholeResponse) -> &str {
    response.headers.get(OUTCOME).unwrap_or("none")
}

impl CachingSetup {
    pub async fn start(settings: Value) -> Self {
        Self::with(settings, |_| {}).await
    }

    pub async fn with(settings: Value, change: impl FnOnce(&mut Value)) -> Self {
        let simulator = Simulator::start().await;
        let mut config = caching_config(&simulator.url(), &settings);
        change(&mut config);
        Self {
            gateway: Gateway::start(&config).await,
            simulator,
        }
    }

    /// The status and the outcome of a request.
    pub async fn ask(&self, request: &Request) -> (u16, String) {
        let response = self.gateway.ask(request).await;
        (response.status, outcome(&response).to_owned())
    }

    /// Asserts the outcome of a successful request.
    pub async fn expect(&self, request: &Request, expected: &str, what: &str) -> WholeResponse {
        let response = self.gateway.ask(request).await;
        let found = (response.status, outcome(&response));
        assert_eq!(found, (200, expected), "{what}: {}", response.text());
        response
    }

    /// The number of requests that the provider has received.
    pub async fn received(&self) -> usize {
        self.simulator.records().await.len()
    }
}
