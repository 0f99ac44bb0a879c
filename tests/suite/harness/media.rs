//! Gateways with a media store, small files of each kind, and what the simulated provider downloaded.

use super::free_port::free_port;
use super::images::image_config;
use super::video::{FAMILY_A, FAMILY_B, video_config};
use super::{Gateway, PATIENCE, Simulator, eventually_within};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use headgate_core::state::calendar::unix_ms;
use headgate_core::task::id::{TaskIdKey, TaskIdKeyRing};
use headgate_media::token::MediaToken;
use headgate_media::{ContentDigest, MEDIA_PATH};
use serde_json::{Value, json};
use std::time::Duration;

/// The key of `task_keys` in [`video_config`].
pub const TASK_KEY: &str = "0123456789abcdef0123456789abcdef";

/// The routes that create videos, each with a model.
pub const CREATES: [(&str, &str); 4] = [
    (FAMILY_B, "demo-video-b"),
    (FAMILY_A, "demo-video-a"),
    (super::video::GENERIC, "demo-video-b"),
    (super::video::GENERIC, "demo-video-a"),
];

/// The configuration of [`video_config`] with a media store that is reached by its public URL at `port`.
pub fn media_config(simulator: &Simulator, port: u16) -> Value {
    let mut config = video_config(simulator, "");
    config["server"]["listen"] = json!(format!("127.0.0.1:{port}"));
    config["server"]["public_url"] = json!(format!("http://127.0.0.1:{port}"));
    config["chains"]["body"] =
        json!(["require_json", "authenticate", {"limit_body": "1GiB"}, "route_model"]);
    let routes = config["routes"].as_array_mut().unwrap();
    for route in routes.iter_mut() {
        let steps = route["request"].as_array_mut().unwrap();
        if let Some(validate) = steps.iter().position(|step| step == "validate") {
            steps.insert(validate + 1, json!("store_media"));
        }
    }
    routes.push(json!({
        "name": "media", "match": "GET|HEAD /_headgate/media/{token}", "request": ["serve_media"],
    }));
    config
}

/// The configuration of [`image_config`] with a media store that is reached by its public URL.
pub fn public_images(simulator: &Simulator, directives: &str, image_edit: Value) -> Value {
    let mut config = image_config(simulator, directives, image_edit);
    let address = format!("127.0.0.1:{}", free_port());
    config["server"]["listen"] = json!(address);
    config["server"]["public_url"] = json!(format!("http://{address}"));
    config["task_keys"] = json!([TASK_KEY]);
    config["routes"].as_array_mut().unwrap().push(json!({
        "name": "media", "match": "GET|HEAD /_headgate/media/{token}", "request": ["serve_media"],
    }));
    config
}

pub async fn start() -> (Simulator, Gateway) {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&media_config(&simulator, free_port())).await;
    (simulator, gateway)
}

/// The keys of the gateway's tokens.
pub fn keys() -> TaskIdKeyRing {
    TaskIdKeyRing::new(TaskIdKey::new(TASK_KEY).unwrap(), Vec::new())
}

/// A file that begins like one of `kind`, filled up to `size` bytes; `seed` makes it differ from others.
pub fn file(kind: &str, size: usize, seed: u8) -> Vec<u8> {
    let start: &[u8] = match kind {
        "image" => b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x02\x80\x00\x00\x01\x68",
        "video" => b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isommp42",
        "audio" => b"RIFF\x00\x00\x00\x00WAVEfmt ",
        "document" => b"%PDF-1.7\n",
        other => panic!("no file of kind {other}"),
    };
    let mut file = start.to_vec();
    let rest = size.saturating_sub(file.len());
    let pattern =
        (0..rest).map(|at| (at as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0] ^ seed);
    file.extend(pattern);
    file
}

pub fn data_uri(media_type: &str, content: &[u8]) -> String {
    format!("data:{media_type};base64,{}", STANDARD.encode(content))
}

/// A create with one medium.
pub fn create_with(path: &str, model: &str, role: &str, url: &str) -> Value {
    match path {
        FAMILY_A => {
            let kind = match role {
                "reference_video" => "video_url",
                "reference_audio" => "audio_url",
                _ => "image_url",
            };
            json!({"model": model, "content": [
                {"type": "text", "text": "a gate"},
                {"type": kind, kind: {"url": url}, "role": role},
            ]})
        }
        FAMILY_B => {
            json!({"model": model, "input": {"prompt": "a gate", "media": [{"type": role, "url": url}]}})
        }
        _ => {
            let kind = match role {
                "reference_video" => "video",
                "reference_audio" => "audio",
                _ => "image",
            };
            json!({"model": model, "prompt": "a gate", "medias": [{"type": kind, "role": role, "url": url}]})
        }
    }
}

/// What the provider downloaded, once there are `count` files.
pub async fn downloads(simulator: &Simulator, count: usize) -> Vec<Value> {
    downloads_within(PATIENCE, simulator, count).await
}

/// Like [`downloads`], for files that take longer.
pub async fn downloads_within(
    patience: Duration,
    simulator: &Simulator,
    count: usize,
) -> Vec<Value> {
    eventually_within(patience, "the downloads of the provider", async || {
        let all: Vec<Value> = simulator.downloads().await;
        (all.len() >= count).then_some(all)
    })
    .await
}

/// The path of a URL of a file that is valid for an hour, whether or not the file is stored.
pub fn path_of_content(content: &[u8], content_type: &str) -> String {
    let token = MediaToken {
        digest: ContentDigest::from_content(content),
        expires_s: unix_ms() / 1000 + 60 * 60,
        content_type: content_type.into(),
    };
    format!("{MEDIA_PATH}{}", token.seal(&keys()))
}

/// The path of a URL of the gateway.
pub fn path_of_url(url: &str) -> String {
    let (_, path) = url.split_once("://").unwrap();
    path[path.find('/').unwrap()..].to_owned()
}
