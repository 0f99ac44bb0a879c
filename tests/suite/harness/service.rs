//! A service that filters call, and the routes that call it.

use super::http_response::json_response;
use super::{Gateway, PROTOCOLS, ScriptedProvider, ScriptedResponse, config};
use serde_json::{Value, json};

/// The head of a stream.
pub const STREAM_HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
/// The word that [`moderate`] denies.
pub const FORBIDDEN: &str = "forbidden";
/// The key of the gateway at the service.
pub const SERVICE_KEY: &str = "sk-service-canary-31e0";
pub const CONTINUE: &str = r#"{"action":"continue"}"#;
pub const DENY: &str = r#"{"action":"deny","message":"not here"}"#;

/// A script: responds with this JSON.
pub fn respond(body: &str) -> Vec<ScriptedResponse> {
    vec![ScriptedResponse::Send(json_response(200, body))]
}

/// Denies what has [`FORBIDDEN`].
pub fn moderate(request: &str) -> Vec<u8> {
    let (_, body) = request.split_once("\r\n\r\n").unwrap();
    let decision = match body.contains(FORBIDDEN) {
        true => DENY,
        false => CONTINUE,
    };
    json_response(200, decision)
}

/// A service that denies [`FORBIDDEN`].
pub async fn moderation() -> ScriptedProvider {
    ScriptedProvider::start(vec![ScriptedResponse::Answer(moderate)]).await
}

/// What the service has received so far, as JSON.
pub fn payloads(service: &ScriptedProvider) -> Vec<Value> {
    let requests = service.requests();
    let bodies = requests.iter().map(|request| {
        let (_, body) = request.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body}"))
    });
    bodies.collect()
}

/// Adds the service `moderation` to a configuration.
pub fn add_service(config: &mut Value, service: &ScriptedProvider, settings: Value) {
    let mut settings = settings;
    settings["url"] = json!(format!("http://{}/check", service.address));
    settings["headers"] = json!({"x-service-key": SERVICE_KEY});
    config["services"] = json!({"moderation": settings});
}

/// Has the request chain of a route call the service, as its last filter.
pub fn call_on_requests(config: &mut Value, route: &str, settings: Value) {
    let chain = &mut config::route(config, route)["request"];
    chain.as_array_mut().unwrap().push(callout(settings));
}

/// Has the response chain of a route call the service.
pub fn call_on_responses(config: &mut Value, route: &str, settings: Value) {
    config::route(config, route)["response"] =
        json!(["pass_sse", "meter_usage", callout(settings)]);
}

fn callout(mut settings: Value) -> Value {
    settings["service"] = json!("moderation");
    json!({"callout": settings})
}

/// A gateway whose text routes call `service`, with these settings, for responses of `provider`.
pub async fn gateway_with_checks(
    provider: &ScriptedProvider,
    service: &ScriptedProvider,
    service_settings: Value,
    settings: &Value,
) -> Gateway {
    let mut config = config::standard(&provider.url());
    config::without_cool_downs(&mut config);
    add_service(&mut config, service, service_settings);
    for protocol in PROTOCOLS {
        call_on_responses(&mut config, protocol.name(), settings.clone());
    }
    Gateway::start(&config).await
}
