//! Vendors whose responses are without end, or lead elsewhere by redirects.

use crate::harness::config::{self, caller};
use crate::harness::http_response::{http_response, json_response};
use crate::harness::request::ANN;
use crate::harness::video::{GENERIC, OPENAI, ask, cancel, id_of};
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, WholeResponse};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Length of an endless response, in bytes: nobody reads all of it.
const ENDLESS: u64 = 2 << 30;
/// What the gateway may read of one endless response, and by how much its memory may grow, in bytes.
const READ_MAX: u64 = 24 << 20;
const GROWTH_MAX: u64 = 96 << 20;

fn configuration(base_url: &str, family: &str) -> Value {
    let mut config = config::standard(base_url);
    config["task_keys"] = json!(["0123456789abcdef0123456789abcdef"]);
    config["callers"] = json!([caller("ann", ANN, &["*"])]);
    config["models"] = json!({});
    config["families"] = json!({"own": {
        "extends": family,
        "query": {"method": "GET", "path": "/predictions/{id}", "cache_ttl": "1ms"},
    }});
    config["channels"] = json!({"vendor": {
        "base_url": base_url, "protocols": ["video"], "family": "own",
        "credential": {"bearer": "vendor-key"}, "models": {"demo": "owner/name"},
    }});
    let operation = |name: &str, pattern: &str, protocol: &str| {
        json!({
            "name": name, "match": pattern, "protocol": protocol,
            "request": ["authenticate", {"map_task": {"operation": name}}],
        })
    };
    config["routes"] = json!([
        {"name": "create", "match": format!("POST {GENERIC}"), "protocol": "video",
         "request": [{"use": "body"}, "validate", {"map_task": {"operation": "create"}}]},
        operation("query", &format!("GET {GENERIC}/{{id}}"), "video"),
        operation("cancel", &format!("DELETE {GENERIC}/{{id}}"), "video"),
        operation("content", &format!("GET {OPENAI}/{{id}}/content"), "videos"),
    ]);
    config["egress"] = json!({"allow": ["127.0.0.1"]});
    config
}

async fn create(gateway: &Gateway) -> WholeResponse {
    let request = json!({"model": "demo", "prompt": "a gate"}).to_string();
    gateway.ask(&Request::post(GENERIC, request)).await
}

/// A vendor whose answers to all but creates do not end; what it has sent, in bytes.
async fn endless_vendor(is_chunked: bool) -> (String, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let sent = Arc::new(AtomicU64::new(0));
    let counted = sent.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, is_chunked, counted.clone()));
        }
    });
    (base, sent)
}

async fn answer(mut stream: TcpStream, is_chunked: bool, sent: Arc<AtomicU64>) {
    let mut request = [0; 8_192];
    let Ok(length) = stream.read(&mut request).await else {
        return;
    };
    if request[..length].starts_with(b"POST /models") {
        let body = r#"{"id": "t-1", "status": "starting"}"#;
        let headers = "Content-Type: application/json\r\nConnection: close\r\n";
        let _ = stream.write_all(&http_response(201, headers, body)).await;
        return;
    }
    let framing = match is_chunked {
        true => "Transfer-Encoding: chunked".to_owned(),
        false => format!("Content-Length: {ENDLESS}"),
    };
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{framing}\r\n\r\n");
    let beginning = r#"{"id": "t-1", "status": "succeeded", "output": "data:video/mp4;base64,"#;
    let mut piece = beginning.to_owned();
    let _ = stream.write_all(head.as_bytes()).await;
    let base64 = "A".repeat(1 << 16);
    while sent.load(Ordering::Relaxed) < ENDLESS {
        let framed = match is_chunked {
            true => format!("{:x}\r\n{piece}\r\n", piece.len()),
            false => piece.clone(),
        };
        if stream.write_all(framed.as_bytes()).await.is_err() {
            return;
        }
        sent.fetch_add(framed.len() as u64, Ordering::Relaxed);
        piece.clone_from(&base64);
    }
}

#[tokio::test]
async fn a_result_without_end_fills_no_memory() {
    for is_chunked in [false, true] {
        let (base, sent) = endless_vendor(is_chunked).await;
        let gateway = Gateway::start(&configuration(&base, "replicate")).await;
        let created = create(&gateway).await;
        let id = id_of(GENERIC, &created);
        let before = gateway.process.resident_bytes();
        for _ in 0..4 {
            let earlier = sent.load(Ordering::Relaxed);
            let status = ask(&gateway, GENERIC, &id).await;
            assert_eq!(status.status, 502, "{is_chunked}: {}", status.text());
            let read = sent.load(Ordering::Relaxed) - earlier;
            assert!(read < READ_MAX, "{is_chunked}: {read} bytes");
        }
        let cancelled = cancel(&gateway, GENERIC, &id).await;
        assert_eq!(cancelled.status, 502, "{is_chunked}: {}", cancelled.text());
        let content = ask(&gateway, OPENAI, &format!("{id}/content")).await;
        assert!(content.status >= 400, "{is_chunked}: {}", content.text());
        let growth = gateway.process.memory_peak().saturating_sub(before);
        println!(
            "endless result, chunked {is_chunked}: {sent:?} bytes sent, memory grew by {growth}"
        );
        assert!(growth < GROWTH_MAX, "{is_chunked}: {growth} bytes");
    }
}

fn redirect(status: u16, location: &str) -> ScriptedResponse {
    let headers = format!("Location: {location}\r\n");
    ScriptedResponse::Send(http_response(status, &headers, ""))
}

fn scripted_json(body: &Value) -> ScriptedResponse {
    ScriptedResponse::Send(json_response(200, body))
}

#[tokio::test]
async fn a_redirect_of_an_api_is_not_followed() {
    let elsewhere = ScriptedProvider::start(vec![scripted_json(&json!({"id": "t-2"}))]).await;
    let location = format!("http://{}/predictions/t-1", elsewhere.address);
    for status in [301, 302, 303, 307, 308] {
        let queued = scripted_json(&json!({"id": "t-1", "status": "starting"}));
        let provider = ScriptedProvider::start(vec![redirect(status, &location)]).await;
        let base = format!("http://{}", provider.address);
        let gateway = Gateway::start(&configuration(&base, "replicate")).await;
        let created = create(&gateway).await;
        assert_eq!(created.status, 502, "{status}: {}", created.text());
        assert_eq!(provider.requests().len(), 1, "{status}");
        provider.next(vec![queued]);
        let id = id_of(GENERIC, &create(&gateway).await);
        for response in [
            ask(&gateway, GENERIC, &id).await,
            cancel(&gateway, GENERIC, &id).await,
            ask(&gateway, OPENAI, &format!("{id}/content")).await,
        ] {
            assert_eq!(response.status, 502, "{status}: {}", response.text());
            assert!(!response.text().contains(&location), "{}", response.text());
            assert_eq!(response.headers.get("location"), None);
        }
    }
    assert!(
        elsewhere.requests().is_empty(),
        "{:?}",
        elsewhere.requests()
    );
}

#[tokio::test]
async fn a_file_is_fetched_only_where_egress_allows_it() {
    let other = ScriptedProvider::start(vec![scripted_json(&json!({}))]).await;
    let inside = "http://169.254.169.254/latest/meta-data";
    let by_name = format!("http://localhost:{}/v1/file", other.address.port());
    let provider = ScriptedProvider::start(vec![redirect(302, inside)]).await;
    let base = format!("http://{}", provider.address);
    let gateway = Gateway::start(&configuration(&base, "replicate")).await;
    let urls = [
        inside,
        &by_name,
        "http://[::ffff:169.254.169.254]/",
        "https://169.254.169.254/",
        "file:///etc/passwd",
        "http://0/",
        // The vendor's own host, which redirects.
        &format!("{base}/file"),
    ];
    for (index, url) in urls.into_iter().enumerate() {
        let done = json!({"id": format!("task-{index}"), "status": "succeeded", "output": url});
        provider.next(vec![scripted_json(&done)]);
        let id = id_of(GENERIC, &create(&gateway).await);
        provider.next(vec![scripted_json(&done)]);
        let content = ask(&gateway, OPENAI, &format!("{id}/content")).await;
        assert_eq!(content.status, 502, "{url}: {}", content.text());
        assert!(!content.text().contains("169.254"), "{}", content.text());
        assert!(!content.text().contains("vendor-key"), "{}", content.text());
    }
    assert!(other.requests().is_empty());
    let files = provider.requests();
    let files = files
        .iter()
        .filter(|request| request.starts_with("GET /file"));
    let files: Vec<_> = files.collect();
    assert_eq!(files.len(), 1);
    assert!(!files[0].contains("vendor-key"), "{files:?}");
}

#[tokio::test]
async fn a_message_that_names_a_part_of_a_composed_id_has_the_callers_id() {
    const RAW: &str = "867283741759111202";
    let provider = ScriptedProvider::start(vec![]).await;
    let base = format!("http://{}", provider.address);
    let mut config = configuration(&base, "replicate");
    config["families"]["own"]["task_id"] = json!("{create_path}/{/id}");
    config["families"]["own"]["query"]["path"] = json!("{+id}");
    let gateway = Gateway::start(&config).await;
    provider.next(vec![scripted_json(
        &json!({"id": RAW, "status": "starting"}),
    )]);
    let id = id_of(GENERIC, &create(&gateway).await);
    let message = format!("task {RAW} at /models/owner/name/predictions/{RAW} failed");
    let failed = json!({"id": RAW, "status": "failed", "error": message});
    let refused = json_response(400, &failed);
    for response in [ScriptedResponse::Send(refused), scripted_json(&failed)] {
        provider.next(vec![response]);
        let status = ask(&gateway, GENERIC, &id).await;
        let text = status.text();
        assert!(!text.contains(RAW), "{text}");
        assert!(
            text.contains(&format!("task {id} at {id} failed")),
            "{text}"
        );
    }
}
