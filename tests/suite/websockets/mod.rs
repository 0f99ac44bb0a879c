//! Tests of WebSockets: of the responses protocol, and sessions of the realtime protocol.

mod conversations;
mod frames;
mod handshakes;
mod lifecycle;
mod realtime;
mod realtime_limits;
mod realtime_providers;
mod responses;

use crate::harness::{TestSetup, config};
use serde_json::{Value, json};

/// A gateway whose responses route takes WebSockets with these settings, and a simulated provider.
async fn with_websockets(settings: Value) -> TestSetup {
    TestSetup::with(|config| config::route(config, "responses")["websocket"] = settings).await
}

async fn started() -> TestSetup {
    with_websockets(json!({})).await
}
