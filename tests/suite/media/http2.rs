//! Tests of the URLs of stored media over HTTP/2.

use crate::harness::certificates::Authority;
use crate::harness::config::sha256;
use crate::harness::free_port::free_port;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::media::{create_with, data_uri, file, media_config, path_of_content};
use crate::harness::s3::S3Server;
use crate::harness::video::FAMILY_B;
use crate::harness::{Gateway, Http2, Request, Simulator};
use serde_json::Value;

/// A gateway with TLS that has stored a file, and the path of its URL.
struct StoredOverHttp2 {
    gateway: Gateway,
    connection: Http2,
    path: String,
    _simulator: Simulator,
}

impl StoredOverHttp2 {
    async fn start(content: &[u8], media: Option<Value>) -> Self {
        let simulator = Simulator::start().await;
        let (folder, authority) = (folder_with_schemas(), Authority::new());
        let mut config = media_config(&simulator, free_port());
        config["server"]["tls"] = authority.server().write(&folder, "server");
        if let Some(media) = media {
            config["media"] = media;
        }
        let gateway = Gateway::start_in(folder, &config.to_string()).await;
        let stream = authority.connect(gateway.address, &["h2"], None).await;
        let connection = Http2::over(stream.unwrap()).await;
        let uri = data_uri("video/mp4", content);
        let body = create_with(FAMILY_B, "demo-video-b", "reference_video", &uri);
        let request = Request::post(FAMILY_B, body.to_string());
        let made = connection.ask(&request).await;
        assert_eq!(made.status, 200, "{}", made.text());
        Self {
            gateway,
            connection,
            path: path_of_content(content, "video/mp4"),
            _simulator: simulator,
        }
    }
}

#[tokio::test]
async fn ranges_and_head_work_over_http2() {
    let content = file("video", 700_000, 3);
    let stored = StoredOverHttp2::start(&content, None).await;
    let get = Request::get(&stored.path).without("authorization");
    let whole = stored.connection.ask(&get).await;
    assert_eq!((whole.status, whole.whole), (200, true));
    assert_eq!(sha256(&whole.body), sha256(&content));
    assert_eq!(whole.headers.get("content-length"), Some("700000"));
    assert_eq!(whole.headers.get("accept-ranges"), Some("bytes"));
    assert_eq!(whole.headers.get("x-content-type-options"), Some("nosniff"));
    let tag = whole.headers.get("etag").unwrap();
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
        let request = get.clone().header("range", range);
        let response = stored.connection.ask(&request).await;
        assert_eq!((response.status, response.whole), (status, true), "{range}");
        assert!(response.body == part, "{range}: {}", response.body.len());
        let received = response.headers.get("content-range");
        assert_eq!(received, Some(content_range), "{range}");
        if status == 206 {
            let length = part.len().to_string();
            assert_eq!(response.headers.get("content-length"), Some(&*length));
        }
    }
    let known = get.clone().header("if-none-match", tag);
    let known = stored.connection.ask(&known).await;
    assert_eq!((known.status, known.body.len()), (304, 0));
    let head = Request::new("HEAD", &stored.path).without("authorization");
    for head in [head.clone(), head.header("range", "bytes=0-9")] {
        let response = stored.connection.ask(&head).await;
        assert_eq!((response.status, response.body.len()), (200, 0));
        assert!(response.whole);
        assert_eq!(response.headers.get("content-length"), Some("700000"));
        assert_eq!(response.headers.get("etag"), Some(tag));
    }
    let missing = Request::new("HEAD", &path_of_content(b"never stored", "video/mp4"));
    let missing = stored.connection.ask(&missing).await;
    assert_eq!((missing.status, missing.body.len()), (404, 0));
    let after = stored.connection.ask(&get).await;
    assert!(after.body == content, "the connection goes on");
}

#[tokio::test]
async fn readers_of_a_bucket_that_read_nothing_hold_little_memory() {
    const READERS: usize = 60;
    const EACH_MAX: u64 = 640 << 10;
    let server = S3Server::start();
    let content = file("video", 4_000_000, 5);
    let stored = StoredOverHttp2::start(&content, Some(server.media(false))).await;
    let get = Request::get(&stored.path).without("authorization");
    let before = stored.gateway.process.anonymous_bytes();
    let mut unread = Vec::new();
    for _ in 0..READERS {
        let response = stored.connection.open(&get).await;
        assert_eq!(response.status, 200);
        unread.push(response);
    }
    let grown = stored
        .gateway
        .process
        .anonymous_bytes()
        .saturating_sub(before);
    println!(
        "{READERS} streams of a file in a bucket that nobody reads: {} KiB each",
        (grown >> 10) / READERS as u64
    );
    assert!(grown < READERS as u64 * EACH_MAX, "{grown}");
    let (last, _) = unread.pop().unwrap().rest().await;
    assert!(last.body == content, "a slow reader gets the whole file");
}
