//! Tests of creates that a vendor takes as forms only.

use crate::harness::config::{self, caller};
use crate::harness::request::ANN;
use crate::harness::video::{GENERIC, id_of};
use crate::harness::{Gateway, Request, ScriptedProvider};
use serde_json::json;

#[tokio::test]
async fn a_create_is_sent_as_a_form_with_its_data_uris_as_files() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{\"id\":\"8f2\"}";
    let provider = ScriptedProvider::answering(answer).await;
    let mut config = config::standard(&provider.url());
    config["task_keys"] = json!(["0123456789abcdef0123456789abcdef"]);
    config["callers"] = json!([caller("ann", ANN, &["*"])]);
    config["models"] = json!({});
    config["families"] = json!({"forms": {
        "extends": "flux",
        "create": {"method": "POST", "path": "/image-to-video", "form": true},
        "request": {
            "base": {"output": {"format": "mp4"}},
            "model": "/model", "prompt": "/prompt", "duration": "/seconds",
            "medias": {"reference_image": "/references/-"},
        },
    }});
    config["channels"] = json!({"vendor": {
        "base_url": provider.url(), "protocols": ["video"], "family": "forms",
        "credential": {"bearer": "vendor-key"}, "models": {"demo": "model-1"},
    }});
    config["routes"] = json!([
        {"name": "create", "match": format!("POST {GENERIC}"), "protocol": "video",
         "request": [{"use": "body"}, "validate", {"map_task": {"operation": "create"}}]},
    ]);
    let gateway = Gateway::start(&config).await;
    let body = json!({
        "model": "demo", "prompt": "a \"gate\"\r\nof iron", "duration": 5,
        "medias": [
            {"type": "image", "role": "reference_image", "url": "data:image/png;base64,QUJD"},
            {"type": "image", "role": "reference_image", "url": "https://media.example/1.png"},
            {"type": "image", "role": "reference_image", "url": "https://media.example/2.png"},
        ],
    });
    let created = gateway.ask(&Request::post(GENERIC, body.to_string())).await;
    assert_eq!(created.status, 200, "{}", created.text());
    assert!(!id_of(GENERIC, &created).is_empty());
    let requests = provider.requests();
    assert_eq!(requests.len(), 1);
    let (head, form) = requests[0].split_once("\r\n\r\n").unwrap();
    let head = head.to_ascii_lowercase();
    let boundary = head.split("multipart/form-data; boundary=").nth(1).unwrap();
    let boundary = boundary.lines().next().unwrap().trim();
    assert!(
        head.contains(&format!("content-length: {}", form.len())),
        "{head}"
    );
    let parts: Vec<&str> = form.split(&format!("--{boundary}")).collect();
    for expected in [
        "name=\"model\"\r\n\r\nmodel-1\r\n",
        "name=\"prompt\"\r\n\r\na \"gate\"\r\nof iron\r\n",
        "name=\"seconds\"\r\n\r\n5\r\n",
        "name=\"output\"\r\n\r\n{\"format\":\"mp4\"}\r\n",
        "name=\"references\"; filename=\"file.png\"\r\nContent-Type: image/png\r\n\r\nABC\r\n",
        "name=\"references\"\r\n\r\nhttps://media.example/1.png\r\n",
        "name=\"references\"\r\n\r\nhttps://media.example/2.png\r\n",
    ] {
        assert!(
            parts.iter().any(|part| part.ends_with(expected)),
            "{expected}: {form}"
        );
    }
    // As many as there are fields, with what stands before the first and after the last one.
    assert_eq!(parts.len(), 9, "{form}");
    assert_eq!(*parts.last().unwrap(), "--\r\n");
}
