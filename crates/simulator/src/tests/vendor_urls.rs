//! Tests of the URLs of vendors' answers: videos behind signatures and credentials, queries, and paths of other tasks.

use super::vendor_fixtures::vendors;
use super::vendors::vendor_request;
use super::{ReadResponse, receive, send, simulator};
use crate::Simulator;
use bytes::Bytes;
use http::Request;
use serde_json::Value;

async fn file(simulator: &Simulator, url: &str, headers: &[(&str, &str)]) -> ReadResponse {
    let path = url.strip_prefix("http://sim.example:9092").unwrap();
    let mut request = Request::get(path).header("host", "sim.example:9092");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    receive(simulator.respond(request.body(Bytes::new()).unwrap()).await).await
}

#[tokio::test(start_paused = true)]
async fn urls_in_answers_lie_below_the_base_url_of_the_request_with_its_directives() {
    for (name, at) in [
        ("fal", "/status_url"),
        ("replicate", "/urls/get"),
        ("flux3", "/polling_url"),
    ] {
        let simulator = simulator();
        let vendor = vendors()
            .into_iter()
            .find(|vendor| vendor.name == name)
            .unwrap();
        let answer = vendor.create(&simulator, "queue=9s").await.json();
        let url = answer.pointer(at).and_then(Value::as_str).unwrap();
        let base = format!("http://sim.example:9092/~queue=9s/vendor/{name}");
        let path = url.strip_prefix(&base).unwrap_or_else(|| panic!("{url}"));
        let request = vendor_request(&vendor, "", ("GET", path), &Value::Null);
        let queried = send(&simulator, request).await.json();
        assert_eq!(
            vendor.status(&queried),
            &vendor.statuses[0],
            "{name}: {queried}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_query_below_another_path_than_that_of_the_create_finds_nothing() {
    for (name, path) in [
        ("kling", "/v1/videos/image2video/{id}"),
        ("fal", "/fal-ai/veo3/requests/{id}/status"),
        (
            "fal",
            "/fal-ai/kling-video/v2.6/pro/text-to-video/requests/{id}/status",
        ),
    ] {
        let simulator = simulator();
        let vendor = vendors()
            .into_iter()
            .find(|vendor| vendor.name == name)
            .unwrap();
        let id = vendor.made(&simulator, "").await;
        let answer = vendor.ask(&simulator, "GET", path, &id).await;
        assert_eq!(answer.status, 404, "{name}: {}", answer.json());
    }
}

#[tokio::test(start_paused = true)]
async fn a_video_is_read_in_ranges_with_the_credential_or_only_without() {
    for vendor in vendors() {
        let simulator = simulator();
        let id = vendor
            .made(&simulator, "run=0;queue=0;body_bytes=5000")
            .await;
        let mut url = vendor.video_url(&simulator, &id).await;
        if vendor.is_private {
            let bare = file(&simulator, &url, &[]).await;
            assert_eq!(bare.status, vendor.unauthorized, "{}", vendor.name);
            let opened = file(&simulator, &url, &[vendor.credential]).await;
            match opened.headers.get("location") {
                Some(signed) => signed.to_str().unwrap().clone_into(&mut url),
                None => {
                    let part = [vendor.credential, ("range", "bytes=0-9")];
                    assert_eq!(file(&simulator, &url, &part).await.status, 206);
                    assert_eq!((opened.status, opened.body.len()), (200, 5000));
                    continue;
                }
            }
        }
        let whole = file(&simulator, &url, &[]).await;
        assert_eq!(
            (whole.status, whole.body.len()),
            (200, 5000),
            "{}",
            vendor.name
        );
        let part = file(&simulator, &url, &[("range", "bytes=4-7")]).await;
        assert_eq!(
            (part.status, &part.body[..]),
            (206, &b"ftyp"[..]),
            "{}",
            vendor.name
        );
        assert_eq!(part.headers["content-range"], "bytes 4-7/5000");
        let with_key = file(&simulator, &format!("{url}&key=sk-one"), &[]).await;
        assert_eq!(with_key.status, 400, "{}", vendor.name);
        for credential in [vendor.credential, ("authorization", "Bearer sk-caller")] {
            let refused = file(&simulator, &url, &[credential]).await;
            assert_eq!(refused.status, 400, "{}", vendor.name);
        }
    }
}
