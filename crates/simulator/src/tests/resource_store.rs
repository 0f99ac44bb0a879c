//! Tests of resources: files, conversations and containers, each visible only to its own account.

use super::{get, post, request, send, simulator};
use http::Request;
use serde_json::json;

const FORM: &str = "--b\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nuser_data\r\n\
    --b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\none\r\ntwo\r\n--b--\r\n";

fn form(path: &str) -> Request<bytes::Bytes> {
    let mut request = request("POST", path, FORM);
    request.headers_mut().remove("anthropic-version");
    let content_type = "multipart/form-data; boundary=b".parse().unwrap();
    request.headers_mut().insert("content-type", content_type);
    request
}

#[tokio::test]
async fn a_file_is_kept_listed_read_and_deleted() {
    let simulator = simulator();
    let file = send(&simulator, form("/v1/files")).await.json();
    assert_eq!(
        (
            &file["object"],
            &file["filename"],
            &file["purpose"],
            &file["bytes"]
        ),
        (
            &json!("file"),
            &json!("a.txt"),
            &json!("user_data"),
            &json!(8)
        )
    );
    let path = format!("/v1/files/{}", file["id"].as_str().unwrap());
    assert_eq!(get(&simulator, &path).await.json(), file);
    assert_eq!(
        get(&simulator, "/v1/files").await.json()["data"],
        json!([file])
    );
    let content = get(&simulator, &format!("{path}/content")).await;
    assert_eq!(&content.body[..], b"one\r\ntwo");
    let deleted = send(&simulator, request("DELETE", &path, "")).await.json();
    assert_eq!(deleted["deleted"], true);
    assert_eq!(get(&simulator, &path).await.status, 404);
}

#[tokio::test]
async fn conversations_hold_items_and_containers_files() {
    let simulator = simulator();
    let conversation = post(&simulator, "/v1/conversations", &json!({}))
        .await
        .json();
    let items = format!(
        "/v1/conversations/{}/items",
        conversation["id"].as_str().unwrap()
    );
    let item = json!({"items": [{"type": "message", "role": "user", "content": "x"}]});
    let added = post(&simulator, &items, &item).await.json();
    assert_eq!(get(&simulator, &items).await.json(), added);
    let container = post(&simulator, "/v1/containers", &json!({"name": "box"}))
        .await
        .json();
    let files = format!("/v1/containers/{}/files", container["id"].as_str().unwrap());
    let file = send(&simulator, form(&files)).await.json();
    assert_eq!(file["path"], "/mnt/data/a.txt");
    let path = format!("{files}/{}", file["id"].as_str().unwrap());
    assert_eq!(get(&simulator, &path).await.json(), file);
    let deleted = send(&simulator, request("DELETE", &path, "")).await;
    assert_eq!(deleted.status, 200);
    assert_eq!(get(&simulator, &files).await.json()["data"], json!([]));
}

#[tokio::test]
async fn what_one_account_has_is_unknown_to_another() {
    let simulator = simulator();
    let file = send(&simulator, form("/v1/files")).await.json();
    let path = format!("/v1/files/{}", file["id"].as_str().unwrap());
    let with_other_key = |mut request: Request<bytes::Bytes>| {
        let other = "Bearer sk-other".parse().unwrap();
        request.headers_mut().insert("authorization", other);
        request
    };
    let read = with_other_key(request("GET", &path, ""));
    assert_eq!(send(&simulator, read).await.status, 404);
    let list = with_other_key(request("GET", "/v1/files", ""));
    assert_eq!(send(&simulator, list).await.json()["data"], json!([]));
    let content = json!([{"type": "input_file", "file_id": file["id"]}]);
    let body = json!({"model": "m", "input": [{"role": "user", "content": content}]});
    assert_eq!(post(&simulator, "/v1/responses", &body).await.status, 200);
    let ask = with_other_key(request("POST", "/v1/responses", body.to_string()));
    assert_eq!(send(&simulator, ask).await.status, 404);
}

#[tokio::test]
async fn code_runs_in_a_container_that_the_answer_names() {
    let simulator = simulator();
    let tool = |container| json!([{"type": "code_interpreter", "container": container}]);
    let mut body = json!({"model": "m", "input": "x", "tools": tool(json!({"type": "auto"}))});
    let made = post(&simulator, "/v1/responses", &body).await.json();
    let container = made["output"][0]["container_id"].clone();
    let path = format!("/v1/containers/{}", container.as_str().unwrap());
    assert_eq!(get(&simulator, &path).await.status, 200);
    body["tools"] = tool(container.clone());
    body["stream"] = true.into();
    let streamed = post(&simulator, "/v1/responses", &body).await;
    assert!(
        streamed
            .joined("/item/container_id")
            .contains(container.as_str().unwrap())
    );
    body["tools"] = tool("cntr_never".into());
    assert_eq!(post(&simulator, "/v1/responses", &body).await.status, 404);
}
