//! Tests of cancelling, deleting and listing video tasks, and of refused requests.

use super::video::body_a;
use super::{get, request, send, simulator, with};
use serde_json::{Value, json};
use std::time::Duration;

const A: &str = "/api/v3/contents/generations/tasks";
const B: &str = "/api/v1/services/aigc/video-generation/video-synthesis";

#[tokio::test(start_paused = true)]
async fn family_a_cancels_what_is_queued_and_deletes_what_has_ended() {
    // The directives, the time until the deletion, its status, and the status of a query after it.
    let table = [
        ("queue=1s", 0, 200, Some("cancelled")),
        ("queue=0;run=60s", 0, 403, Some("running")),
        ("run=0", 5, 200, None),
        ("ends=failed", 5, 200, None),
        ("ends=expired", 5, 200, None),
        ("ends=cancelled", 5, 403, Some("cancelled")),
    ];
    for (directives, seconds, status, after) in table {
        let simulator = simulator();
        let create = request("POST", &format!("/~{directives}{A}"), body_a().to_string());
        let made = send(&simulator, create).await.json();
        let path = format!("{A}/{}", made["id"].as_str().unwrap());
        tokio::time::advance(Duration::from_secs(seconds)).await;
        let deleted = send(&simulator, request("DELETE", &path, "")).await;
        assert_eq!(deleted.status, status, "{directives}");
        if status == 200 {
            // The provider's SDK parses the empty response as JSON.
            assert_eq!(deleted.json(), json!({}), "{directives}");
        } else {
            let error = &deleted.json()["error"];
            assert_eq!(
                error["code"], "OperationDenied.InvalidState",
                "{directives}"
            );
        }
        tokio::time::advance(Duration::from_secs(60)).await;
        let seen = get(&simulator, &path).await;
        let now = (seen.status == 200).then(|| seen.json()["status"].clone());
        let expected = match after {
            // The tasks that were not cancelled have ended meanwhile.
            Some("running") => Some(json!("succeeded")),
            other => other.map(Value::from),
        };
        assert_eq!(now, expected, "{directives}");
    }
}

#[tokio::test(start_paused = true)]
async fn family_b_cancels_what_is_pending_and_nothing_else() {
    let body = json!({"model": "b", "input": {"prompt": "x"}});
    for (seconds, status, after) in [
        (0, 200, "CANCELED"),
        (1, 400, "RUNNING"),
        (9, 400, "SUCCEEDED"),
    ] {
        let simulator = simulator();
        let path = format!("/~queue=500ms;run=5s{B}");
        let mut create = request("POST", &path, body.to_string());
        let headers = create.headers_mut();
        headers.insert("X-DashScope-Async", "enable".parse().unwrap());
        let made = send(&simulator, create).await.json();
        let id = made["output"]["task_id"].as_str().unwrap();
        tokio::time::advance(Duration::from_secs(seconds)).await;
        let cancel = request("POST", &format!("/api/v1/tasks/{id}/cancel"), "");
        let cancelled = send(&simulator, cancel).await;
        assert_eq!(cancelled.status, status);
        if status == 400 {
            assert_eq!(cancelled.json()["code"], "UnsupportedOperation");
        }
        let now = get(&simulator, &format!("/api/v1/tasks/{id}")).await.json();
        assert_eq!(now["output"]["task_status"], after);
    }
}

#[tokio::test(start_paused = true)]
async fn family_a_lists_what_the_filters_let_through_page_by_page() {
    let simulator = simulator();
    let mut ids = Vec::new();
    for (model, directives) in [("m1", "run=0"), ("m2", "run=60m"), ("m2", "run=0")] {
        let body = with(&body_a(), &json!({"model": model}));
        let create = request("POST", &format!("/~{directives}{A}"), body.to_string());
        let made = send(&simulator, create).await.json();
        ids.push(made["id"].as_str().unwrap().to_owned());
    }
    tokio::time::advance(Duration::from_secs(2)).await;
    let [first, second, third] = &ids[..] else {
        panic!("three were made");
    };
    for (query, total, shown) in [
        (String::new(), 3, vec![third, second, first]),
        ("page_num=2&page_size=2".into(), 3, vec![first]),
        ("filter.status=running".into(), 1, vec![second]),
        (
            "filter.model=m2&filter.status=succeeded".into(),
            1,
            vec![third],
        ),
        (
            format!("filter.task_ids={first}&filter.task_ids={second}"),
            2,
            vec![second, first],
        ),
        ("filter.service_tier=flex".into(), 0, vec![]),
    ] {
        let list = get(&simulator, &format!("{A}?{query}")).await.json();
        let items = list["items"].as_array().unwrap().iter();
        let found: Vec<_> = items.map(|item| item["id"].as_str().unwrap()).collect();
        assert_eq!(
            (list["total"].as_u64(), found),
            (Some(total), shown.iter().map(|id| id.as_str()).collect()),
            "{query}"
        );
    }
}

#[tokio::test]
async fn bodies_that_the_families_refuse_get_their_words() {
    let simulator = simulator();
    let image = json!({"type": "image_url", "image_url": {}});
    let draft = json!({"type": "draft_task", "draft_task": {"id": "cgt-never"}});
    for (path, body, status, code) in [
        (
            A,
            json!({"content": [{"type": "text", "text": "x"}]}),
            400,
            "MissingParameter",
        ),
        (
            A,
            json!({"model": "m", "content": []}),
            400,
            "MissingParameter",
        ),
        (
            A,
            json!({"model": "m", "content": [image]}),
            400,
            "MissingParameter",
        ),
        (
            A,
            json!({"model": "m", "content": [{"type": "song"}]}),
            400,
            "InvalidParameter",
        ),
        (
            A,
            json!({"model": "m", "content": [draft]}),
            404,
            "NotFound.id",
        ),
        (
            B,
            json!({"input": {"prompt": "x"}}),
            400,
            "BadRequest.EmptyModel",
        ),
        (B, json!({"model": "m"}), 400, "BadRequest.EmptyInput"),
        (
            B,
            json!({"model": "m", "input": {}}),
            400,
            "InvalidParameter",
        ),
    ] {
        let mut create = request("POST", path, body.to_string());
        let headers = create.headers_mut();
        headers.insert("x-dashscope-async", "enable".parse().unwrap());
        let seen = send(&simulator, create).await;
        let json = seen.json();
        let error = json.get("error").unwrap_or(&json);
        assert_eq!(
            (seen.status, &error["code"]),
            (status, &json!(code)),
            "{body}"
        );
    }
    let synchronous = json!({"model": "m", "input": {"prompt": "x"}});
    let seen = send(&simulator, request("POST", B, synchronous.to_string())).await;
    assert_eq!(
        (seen.status, &seen.json()["code"]),
        (403, &json!("AccessDenied"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_draft_is_made_into_a_video_by_its_id() {
    let simulator = simulator();
    let draft = with(&body_a(), &json!({"draft": true}));
    let made = send(&simulator, request("POST", A, draft.to_string()))
        .await
        .json();
    let content = json!([{"type": "draft_task", "draft_task": {"id": made["id"]}}]);
    let body = json!({"model": "m", "content": content}).to_string();
    let early = send(&simulator, request("POST", A, body.clone())).await;
    assert_eq!(early.status, 400);
    tokio::time::advance(Duration::from_secs(5)).await;
    let video = send(&simulator, request("POST", A, body)).await.json();
    let path = format!("{A}/{}", video["id"].as_str().unwrap());
    assert_eq!(
        get(&simulator, &path).await.json()["draft_task_id"],
        made["id"]
    );
}

#[tokio::test]
async fn errors_have_the_shape_of_the_family() {
    let simulator = simulator();
    for (directives, status, code_a, code_b) in [
        (
            "status=429",
            429,
            "RateLimitExceeded.EndpointRPMExceeded",
            "Throttling.RateQuota",
        ),
        ("status=500", 500, "InternalServiceError", "InternalError"),
        ("error_body", 200, "InternalServiceError", "InternalError"),
        ("status=400;code=Own", 400, "Own", "Own"),
    ] {
        let a = get(&simulator, &format!("/~{directives}{A}/x")).await;
        let b = get(&simulator, &format!("/~{directives}/api/v1/tasks/x")).await;
        assert_eq!((a.status, b.status), (status, status), "{directives}");
        let (a, b) = (a.json(), b.json());
        assert_eq!(
            (&a["error"]["code"], &b["code"]),
            (&json!(code_a), &json!(code_b))
        );
        assert!(
            a["error"]["message"]
                .as_str()
                .unwrap()
                .contains("Request id: ")
        );
        assert!(b["request_id"].is_string() && b.get("output").is_none());
    }
    let patch = send(&simulator, request("PATCH", A, "")).await;
    assert_eq!(patch.status, 405);
}

#[tokio::test]
async fn a_directive_may_be_for_one_method_only() {
    let simulator = simulator();
    let create = request(
        "POST",
        &format!("/~only=GET;status=503{A}"),
        body_a().to_string(),
    );
    let made = send(&simulator, create).await;
    assert_eq!(made.status, 200);
    let path = format!("{A}/{}", made.json()["id"].as_str().unwrap());
    let once = format!("/~only=GET;status=503;times=1{path}");
    assert_eq!(get(&simulator, &once).await.status, 503);
    assert_eq!(get(&simulator, &once).await.status, 200);
}

#[tokio::test]
async fn base_urls_may_have_a_prefix() {
    let simulator = simulator();
    for path in [
        "/api/plan/v3/contents/generations/tasks",
        "/v1/api/v3/contents/generations/tasks",
    ] {
        let create = request("POST", path, body_a().to_string());
        assert_eq!(send(&simulator, create).await.status, 200, "{path}");
    }
    let query = get(&simulator, "/proxy/api/v1/tasks/0385dc79").await;
    assert_eq!(query.json()["output"]["task_status"], "UNKNOWN");
}
