//! A service that filters ask, and the routes that ask it.

use super::{ScriptedProvider, ScriptedResponse, config};
use serde_json::{Value, json};

/// The word that [`moderate`] denies.
pub const FORBIDDEN: &str = "forbidden";
/// The key of the gateway at the service.
pub const SERVICE_KEY: &str = "sk-service-canary-31e0";
pub const CONTINUE: &str = r#"{"action":"continue"}"#;
pub const DENY: &str = r#"{"action":"deny","message":"not here"}"#;

/// A response with this JSON.
pub fn json_response(body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}").into()
}

/// A script: answers with this JSON.
pub fn answer(body: &str) -> Vec<ScriptedResponse> {
    vec![ScriptedResponse::Send(json_response(body))]
}

/// Denies what has [`FORBIDDEN`].
pub fn moderate(question: &str) -> Vec<u8> {
    let (_, body) = question.split_once("\r\n\r\n").unwrap();
    json_response(match body.contains(FORBIDDEN) {
        true => DENY,
        false => CONTINUE,
    })
}

/// A service that denies [`FORBIDDEN`].
pub async fn moderation() -> ScriptedProvider {
    ScriptedProvider::start(vec![ScriptedResponse::Answer(moderate)]).await
}

/// The questions so far, as JSON.
pub fn questions(service: &ScriptedProvider) -> Vec<Value> {
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

/// Has the request chain of a route ask the service, as its last filter.
pub fn ask_about_requests(config: &mut Value, route: &str, settings: Value) {
    let chain = &mut config::route(config, route)["request"];
    chain.as_array_mut().unwrap().push(callout(settings));
}

/// Has the response chain of a route ask the service.
pub fn ask_about_responses(config: &mut Value, route: &str, settings: Value) {
    config::route(config, route)["response"] =
        json!(["pass_sse", "meter_usage", callout(settings)]);
}

fn callout(mut settings: Value) -> Value {
    settings["service"] = json!("moderation");
    json!({"callout": settings})
}
