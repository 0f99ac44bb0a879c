//! Tests of the URLs of stored media: ranges, headers, and tokens that are not the gateway's.

use crate::harness::config::sha256;
use crate::harness::media::{create_with, data_uri, downloads, file, keys, path_of_url, start};
use crate::harness::video::FAMILY_B;
use crate::harness::{Gateway, Request, Simulator, WholeResponse};
use headgate_core::task::id::{TaskIdKey, TaskIdKeyRing};
use headgate_core::task::token::UrlTokenPurpose;
use headgate_media::ContentDigest;
use headgate_media::token::MediaToken;

/// Stores a file, and returns the path of its URL.
async fn stored(simulator: &Simulator, gateway: &Gateway, role: &str, uri: &str) -> String {
    let before = simulator.downloads().await.len();
    let body = create_with(FAMILY_B, "demo-video-b", role, uri);
    let made = gateway
        .ask(&Request::post(FAMILY_B, body.to_string()))
        .await;
    assert_eq!(made.status, 200, "{}", made.text());
    let files = downloads(simulator, before + 1).await;
    path_of_url(files[before]["url"].as_str().unwrap())
}

async fn get(gateway: &Gateway, path: &str, headers: &[(&str, &str)]) -> WholeResponse {
    let request = Request::get(path).without("authorization");
    let request = headers.iter().fold(request, |request, (name, value)| {
        request.header(name, value)
    });
    gateway.ask(&request).await
}

#[tokio::test]
async fn ranges_and_conditions_are_honoured() {
    let (simulator, gateway) = start().await;
    let content = file("image", 700_000, 3);
    let path = stored(
        &simulator,
        &gateway,
        "first_frame",
        &data_uri("image/png", &content),
    )
    .await;
    let whole = get(&gateway, &path, &[]).await;
    assert_eq!((whole.status, sha256(&whole.body)), (200, sha256(&content)));
    let header = |name: &str| whole.headers.get(name).map(str::to_owned);
    assert_eq!(header("content-type").as_deref(), Some("image/png"));
    assert_eq!(header("content-length").as_deref(), Some("700000"));
    assert_eq!(header("x-content-type-options").as_deref(), Some("nosniff"));
    assert_eq!(header("accept-ranges").as_deref(), Some("bytes"));
    assert_eq!(header("content-disposition"), None);
    let tag = header("etag").unwrap();
    for (range, status, part, content_range) in [
        ("bytes=0-9", 206, &content[..10], "bytes 0-9/700000"),
        (
            "bytes=300000-599999",
            206,
            &content[300_000..600_000],
            "bytes 300000-599999/700000",
        ),
        (
            "bytes=-5",
            206,
            &content[699_995..],
            "bytes 699995-699999/700000",
        ),
        ("bytes=700000-", 416, &[][..], "bytes */700000"),
    ] {
        let response = get(&gateway, &path, &[("Range", range)]).await;
        assert_eq!(response.status, status, "{range}");
        assert!(
            response.body == part,
            "{range}: {} bytes",
            response.body.len()
        );
        assert_eq!(response.headers.get("content-range"), Some(content_range));
    }
    let several = get(&gateway, &path, &[("Range", "bytes=0-1,5-6")]).await;
    assert_eq!((several.status, several.body.len()), (200, 700_000));
    let changed = get(
        &gateway,
        &path,
        &[("Range", "bytes=0-9"), ("If-Range", "\"other\"")],
    )
    .await;
    assert_eq!((changed.status, changed.body.len()), (200, 700_000));
    let known = get(&gateway, &path, &[("If-None-Match", &tag)]).await;
    assert_eq!((known.status, known.body.len()), (304, 0));
    let mut connection = gateway.connect().await;
    let head = Request::new("HEAD", &path).without("authorization");
    connection.send(&head.bytes()).await.unwrap();
    let (status, headers) = connection.head().await.unwrap();
    assert_eq!(
        (status, headers.get("content-length")),
        (200, Some("700000"))
    );
    let after = connection.ask(&Request::get(&path)).await;
    assert_eq!(after.body.len(), 700_000, "HEAD has no body");
}

#[tokio::test]
async fn documents_are_never_shown_by_browsers() {
    let (simulator, gateway) = start().await;
    let content = b"<html><script>alert(1)</script>";
    let path = stored(
        &simulator,
        &gateway,
        "file",
        &data_uri("text/plain", content),
    )
    .await;
    let response = get(&gateway, &path, &[]).await;
    assert_eq!(response.body, content);
    for (name, value) in [
        ("content-type", "text/plain"),
        ("x-content-type-options", "nosniff"),
        ("content-disposition", "attachment"),
        ("content-security-policy", "default-src 'none'; sandbox"),
    ] {
        assert_eq!(response.headers.get(name), Some(value), "{name}");
    }
}

#[tokio::test]
async fn forged_expired_altered_and_foreign_tokens_get_one_and_the_same_404() {
    let (simulator, gateway) = start().await;
    let content = file("image", 1000, 3);
    let path = stored(
        &simulator,
        &gateway,
        "first_frame",
        &data_uri("image/png", &content),
    )
    .await;
    let token = path.rsplit('/').next().unwrap();
    let valid = MediaToken::open(&keys(), token, 0).unwrap();
    let expired = MediaToken {
        expires_s: 1_000_000,
        ..valid.clone()
    };
    let absent = MediaToken {
        digest: ContentDigest::from_content(b"never stored"),
        ..valid.clone()
    };
    let foreign = TaskIdKeyRing::new(TaskIdKey::new(&"f".repeat(32)).unwrap(), Vec::new());
    let mut bodies = Vec::new();
    for token in [
        "x".to_owned(),
        "A".repeat(4000),
        format!("{}A", &token[..token.len() - 2]),
        token[1..].to_owned(),
        expired.seal(&keys()),
        absent.seal(&keys()),
        valid.seal(&foreign),
        keys().seal_token(UrlTokenPurpose::Callback, b"callback"),
        keys().seal_token(UrlTokenPurpose::Media, b"short"),
    ] {
        let refused = get(&gateway, &format!("/_headgate/media/{token}"), &[]).await;
        assert_eq!(refused.status, 404, "{token}: {}", refused.text());
        let mut body = refused.json();
        body["error"]
            .as_object_mut()
            .map(|error| error.remove("request_id"));
        bodies.push(body.to_string());
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "{bodies:?}");
    assert_eq!(get(&gateway, &path, &[]).await.status, 200);
}

#[tokio::test]
async fn tokens_are_in_no_log_and_no_metric() {
    let (simulator, gateway) = start().await;
    let uri = data_uri("image/png", &file("image", 1000, 3));
    let path = stored(&simulator, &gateway, "first_frame", &uri).await;
    let token = path.rsplit('/').next().unwrap();
    let served = get(&gateway, &path, &[]).await;
    assert_eq!(gateway.log_of(&served).await["path"], "/_headgate/media/…");
    for request in [
        Request::new("POST", &path),
        Request::get(&format!("{path}/more")),
        Request::get(&format!("/prefix{path}")),
    ] {
        let refused = gateway.ask(&request).await;
        assert!(refused.status >= 400);
        assert!(!refused.text().contains(token), "{}", refused.text());
        gateway.log_of(&refused).await;
    }
    let lines = [gateway.process.stdout.all(), gateway.process.stderr.all()].concat();
    assert!(lines.iter().all(|line| !line.contains(token)), "{lines:?}");
    let metrics = gateway.page("GET", "/metrics").await.text();
    assert!(!metrics.contains(token));
}

#[tokio::test]
async fn a_file_that_is_gone_gets_404_and_a_whole_response() {
    let (simulator, gateway) = start().await;
    let uri = data_uri("image/png", &file("image", 700_000, 4));
    let path = stored(&simulator, &gateway, "first_frame", &uri).await;
    std::fs::remove_dir_all(gateway.folder.path().join("media")).unwrap();
    let refused = get(&gateway, &path, &[]).await;
    assert_eq!(refused.status, 404, "{}", refused.text());
    assert_eq!(refused.json()["error"]["code"], "id_not_found");
    let mut connection = gateway.connect().await;
    let head = Request::new("HEAD", &path).without("authorization");
    connection.send(&head.bytes()).await.unwrap();
    assert_eq!(connection.head().await.unwrap().0, 404);
    let again = stored(&simulator, &gateway, "first_frame", &uri).await;
    assert_eq!(get(&gateway, &again, &[]).await.body.len(), 700_000);
    assert_eq!(get(&gateway, &path, &[]).await.status, 200, "stored again");
}

#[tokio::test]
async fn head_has_no_ranges_and_caches_forget_a_file_when_its_url_expires() {
    let (simulator, gateway) = start().await;
    let uri = data_uri("image/png", &file("image", 1000, 5));
    let path = stored(&simulator, &gateway, "first_frame", &uri).await;
    let mut connection = gateway.connect().await;
    let head = Request::new("HEAD", &path).header("Range", "bytes=0-9");
    connection.send(&head.bytes()).await.unwrap();
    let (status, headers) = connection.head().await.unwrap();
    assert_eq!((status, headers.get("content-length")), (200, Some("1000")));
    let cache_control = headers.get("cache-control").unwrap();
    let max_age = cache_control.strip_prefix("private, max-age=").unwrap();
    let max_age: u64 = max_age.parse().unwrap();
    assert!((262_000..=262_800).contains(&max_age), "{max_age}");
}
