//! Tests of stored responses: retrieved, continued, cancelled, deleted.

use super::{get, post, request, send, simulator};
use serde_json::{Value, json};
use std::time::Duration;

fn id(response: &Value) -> String {
    response["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_stored_response_can_be_read_continued_and_deleted() {
    let simulator = simulator();
    let created = post(
        &simulator,
        "/v1/responses",
        &json!({"model": "m", "input": "one"}),
    )
    .await
    .json();
    let path = format!("/v1/responses/{}", id(&created));
    assert_eq!(get(&simulator, &path).await.json(), created);
    let next = json!({"model": "m", "input": "two", "previous_response_id": id(&created)});
    let next = post(&simulator, "/v1/responses", &next).await;
    assert_eq!(
        (next.status, &next.json()["previous_response_id"]),
        (200, &created["id"])
    );
    let items = get(&simulator, &format!("{path}/input_items")).await.json();
    assert_eq!(
        items["data"][0]["content"][0],
        json!({"type": "input_text", "text": "one"})
    );
    assert_eq!(
        post(&simulator, &format!("{path}/cancel"), &json!({}))
            .await
            .status,
        400
    );
    assert_eq!(
        send(&simulator, request("DELETE", &path, "")).await.json()["deleted"],
        true
    );
    assert_eq!(get(&simulator, &path).await.status, 404);
}

#[tokio::test]
async fn an_unknown_or_unstored_id_is_not_found() {
    let simulator = simulator();
    let unstored = json!({"model": "m", "input": "x", "store": false});
    let unstored = id(&post(&simulator, "/v1/responses", &unstored).await.json());
    for id in ["resp_unknown", &unstored] {
        for (method, path) in [
            ("GET", format!("/v1/responses/{id}")),
            ("DELETE", format!("/v1/responses/{id}")),
            ("POST", format!("/v1/responses/{id}/cancel")),
            ("GET", format!("/v1/responses/{id}/input_items")),
        ] {
            let seen = send(&simulator, request(method, &path, "")).await;
            assert_eq!(
                (seen.status, &seen.json()["error"]["type"]),
                (404, &json!("invalid_request_error"))
            );
        }
        let next = json!({"model": "m", "input": "x", "previous_response_id": id});
        let seen = post(&simulator, "/v1/responses", &next).await;
        assert_eq!(
            (seen.status, &seen.json()["error"]["param"]),
            (404, &json!("previous_response_id"))
        );
    }
}

#[tokio::test]
async fn two_simulators_do_not_know_each_others_responses() {
    let made = post(
        &simulator(),
        "/v1/responses",
        &json!({"model": "m", "input": "x"}),
    )
    .await
    .json();
    let other = simulator();
    post(
        &other,
        "/v1/responses",
        &json!({"model": "m", "input": "x"}),
    )
    .await;
    assert_eq!(
        get(&other, &format!("/v1/responses/{}", id(&made)))
            .await
            .status,
        404
    );
}

#[tokio::test(start_paused = true)]
async fn a_background_response_is_finished_after_a_while() {
    let simulator = simulator();
    let body = json!({"model": "m", "input": "x", "background": true});
    let queued = post(&simulator, "/v1/responses", &body).await.json();
    assert_eq!(
        (&queued["status"], &queued["output"]),
        (&json!("queued"), &json!([]))
    );
    let path = format!("/v1/responses/{}", id(&queued));
    assert_eq!(get(&simulator, &path).await.json()["status"], "in_progress");
    tokio::time::sleep(Duration::from_secs(3)).await;
    let finished = get(&simulator, &path).await.json();
    assert_eq!(finished["status"], "completed");
    assert_eq!(finished["output"].as_array().unwrap().len(), 1);
    let late = post(&simulator, &format!("{path}/cancel"), &json!({}))
        .await
        .json();
    assert_eq!(late["status"], "completed");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_background_response_stays_cancelled() {
    let simulator = simulator();
    let body = json!({"model": "m", "input": "x", "background": true});
    let path = format!(
        "/v1/responses/{}",
        id(&post(&simulator, "/v1/responses", &body).await.json())
    );
    let cancelled = post(&simulator, &format!("{path}/cancel"), &json!({}))
        .await
        .json();
    assert_eq!(cancelled["status"], "cancelled");
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(get(&simulator, &path).await.json()["status"], "cancelled");
}
