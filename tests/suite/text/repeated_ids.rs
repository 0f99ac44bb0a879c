//! Tests of a provider that repeats ids of other callers, or of the request, in its response: nobody gains them.

use crate::harness::accounts::{CAT, form};
use crate::harness::http_response::json_response;
use crate::harness::request::ANN;
use crate::harness::{Gateway, Request, ScriptedProvider, config};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

const CALLS: &str = "code_interpreter_call";

fn response(id: &str, output: &Value) -> Value {
    json!({"id": id, "object": "response", "status": "completed", "output": output})
}

/// A gateway with one account, and a caller `cat` besides `ann`.
async fn before(provider: &ScriptedProvider) -> Gateway {
    let mut config = config::standard(&provider.url());
    config::add_stored_objects(&mut config);
    let callers = config["callers"].as_array_mut().unwrap();
    callers.push(config::caller("cat", CAT, &["*"]));
    Gateway::start(&config).await
}

/// Sends a request to which the provider responds with `answer`, and waits until the gateway has recorded its ids.
async fn exchange(
    gateway: &Gateway,
    provider: &ScriptedProvider,
    request: &Request,
    answer: &Value,
) -> u16 {
    use crate::harness::ScriptedResponse::Send;
    provider.next(vec![Send(json_response(200, answer))]);
    let found = gateway.ask(request).await;
    gateway.log_of(&found).await;
    if found.status == 404 {
        provider.forget_turns();
    }
    found.status
}

#[tokio::test]
async fn an_id_that_a_provider_repeats_stays_with_its_caller() {
    let provider = ScriptedProvider::answering(json_response(200, json!({}))).await;
    let gateway = before(&provider).await;
    let ask = |input: Value| {
        let body = json!({"model": "demo-large", "input": input});
        Request::to(Protocol::Responses, body.to_string())
    };
    let item = |container: &str| json!([{"type": CALLS, "container_id": container}]);
    let own = response("resp_ann", &item("cntr_ann"));
    let asked = ask("x".into()).key(ANN);
    assert_eq!(exchange(&gateway, &provider, &asked, &own).await, 200);
    let file = form("/v1/files", &[("purpose", "user_data")], b"x").key(ANN);
    let made = json!({"id": "file-ann", "object": "file"});
    assert_eq!(exchange(&gateway, &provider, &file, &made).await, 200);

    // The ids of another caller, and one of nobody that the request names itself.
    let hers = ask(item("cntr_nobody")).key(CAT);
    for answer in [
        response("resp_cat", &item("cntr_ann")),
        response("resp_cat", &item("cntr_nobody")),
        response("resp_ann", &json!([])),
        json!({"id": "file-ann", "object": "file"}),
    ] {
        assert_eq!(exchange(&gateway, &provider, &hers, &answer).await, 200);
    }
    for (path, ann, cat) in [
        ("/v1/responses/resp_ann", 200, 404),
        ("/v1/responses/resp_cat", 404, 200),
        ("/v1/containers/cntr_ann", 200, 404),
        ("/v1/containers/cntr_nobody", 404, 404),
        ("/v1/files/file-ann", 200, 404),
    ] {
        for (key, status) in [(ANN, ann), (CAT, cat)] {
            let read = Request::get(path).key(key);
            let found = exchange(&gateway, &provider, &read, &json!({})).await;
            assert_eq!(found, status, "{path} {key}");
        }
    }
}
