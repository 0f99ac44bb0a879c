//! Tests of image edits whose images become URLs of the media store: those of responses, and those of requests.

use crate::harness::gateway::folder_with_schemas;
use crate::harness::http_response::json_response;
use crate::harness::images::{FIELDS, PATH, PNG, form, image_config, json_body};
use crate::harness::media::{data_uri, file, path_of_url, public_images};
use crate::harness::process::BINARY;
use crate::harness::{Gateway, Request, ScriptedProvider, Simulator, WholeResponse, eventually};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::process::Command;

/// The edit of [`json_body`], with its images wanted as URLs.
fn edit_for_urls() -> Value {
    let mut body = json_body();
    body["response_format"] = json!("url");
    body
}

fn ask_for(body: &Value) -> Request {
    Request::post(PATH, body.to_string())
}

async fn download(gateway: &Gateway, url: &Value) -> WholeResponse {
    let path = path_of_url(url.as_str().expect("a URL"));
    gateway
        .ask(&Request::get(&path).without("authorization"))
        .await
}

#[tokio::test]
async fn images_in_base64_become_urls_for_a_caller_who_asks_for_urls() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&public_images(&simulator, "", json!({}))).await;
    let base64 = gateway.ask(&ask_for(&json_body())).await.json();
    let base64 = base64["data"][0]["b64_json"].as_str().unwrap();
    let image = STANDARD.decode(base64).unwrap();
    let mut fields = FIELDS.to_vec();
    fields
        .iter_mut()
        .filter(|(name, _)| *name == "response_format")
        .for_each(|(_, format)| *format = b"url");
    for request in [ask_for(&edit_for_urls()), form(&fields)] {
        let edited = gateway.ask(&request).await;
        assert_eq!(edited.status, 200, "{}", edited.text());
        assert_eq!(edited.headers.get("x-headgate-ignored"), None);
        let edited = edited.json();
        let images = edited["data"].as_array().unwrap();
        assert_eq!(images.len(), 2, "{edited}");
        for shown in images {
            assert_eq!(shown.get("b64_json"), None);
            let downloaded = download(&gateway, &shown["url"]).await;
            assert_eq!(downloaded.headers.get("content-type"), Some("image/png"));
            assert!(downloaded.body == image, "{} bytes", downloaded.body.len());
        }
        assert!(
            edited["usage"]["total_tokens"].as_u64() > Some(0),
            "{edited}"
        );
    }
}

#[tokio::test]
async fn everything_but_the_images_stays_byte_for_byte() {
    let simulator = Simulator::start().await;
    let png = STANDARD.encode(file("image", 5000, 1));
    let details = r#"{"image_tokens" : 1,"text_tokens":2.0e0}"#;
    let rest = format!(
        r#" "usage" : {{"total_tokens":3, "input_tokens":1,"output_tokens":2,"input_tokens_details":{details},"output_tokens_details":{details} }},"size":"1024x1024", "created":1767225600, "note":"\u00e4\/" }}"#
    );
    let response = format!(
        r#"{{ "data" : [ {{"revised_prompt":"a \"gate\"", "b64_json":"{}"}} , {{"b64_json":"{png}","x" : null}}],{rest}"#,
        png.replace('/', r"\/"),
    );
    let provider = ScriptedProvider::answering(json_response(200, response)).await;
    let mut config = public_images(&simulator, "", json!({}));
    config["channels"]["images"]["base_url"] = json!(provider.url());
    let gateway = Gateway::start(&config).await;
    let edited = gateway.ask(&ask_for(&edit_for_urls())).await;
    assert_eq!(
        edited.headers.get("x-headgate-ignored"),
        None,
        "{}",
        edited.text()
    );
    let images = edited.json()["data"].clone();
    assert_eq!(
        images[0]["url"], images[1]["url"],
        "the same bytes are stored once"
    );
    let url = images[0]["url"].as_str().unwrap();
    let expected = format!(
        r#"{{ "data" : [ {{"revised_prompt":"a \"gate\"","url":"{url}"}} , {{"x" : null,"url":"{url}"}}],{rest}"#
    );
    assert_eq!(edited.text(), expected);
    assert!(download(&gateway, &images[0]["url"]).await.body == file("image", 5000, 1));
}

#[tokio::test]
async fn an_image_that_cannot_be_stored_is_delivered_as_base64() {
    let simulator = Simulator::start().await;
    let png = STANDARD.encode(file("image", 300, 1));
    let good = format!(r#"{{"b64_json":"{png}"}}"#);
    for (data, store_works) in [
        (format!("[{good}]"), false),
        (format!(r#"[{good},{{"b64_json":"aGVsbG8="}}]"#), true),
        (format!(r#"[{good},{{"b64_json":"{png}A"}}]"#), true),
    ] {
        let response = json_response(200, format!(r#"{{"data":{data}}}"#));
        let provider = ScriptedProvider::answering(response).await;
        let mut config = public_images(&simulator, "", json!({}));
        config["channels"]["images"]["base_url"] = json!(provider.url());
        if !store_works {
            config["media"] = json!({"directory": "routes.yaml/media"});
        }
        let gateway = Gateway::start(&config).await;
        let edited = gateway.ask(&ask_for(&edit_for_urls())).await;
        assert_eq!(edited.status, 200, "{}", edited.text());
        let ignored = edited.headers.get("x-headgate-ignored");
        assert_eq!(ignored, Some("response_format"), "{data}");
        let expected: Value = serde_json::from_str(&data).unwrap();
        assert_eq!(edited.json()["data"], expected);
        eventually("a warning", async || {
            let mut lines = gateway.process.stderr.json().into_iter();
            lines.find(|line| line.to_string().contains("cannot store an edited image"))
        })
        .await;
    }
}

#[tokio::test]
async fn without_a_public_url_or_in_a_stream_the_images_stay_base64() {
    let simulator = Simulator::start().await;
    for (is_public, stream) in [(false, false), (false, true), (true, true)] {
        let config = match is_public {
            true => public_images(&simulator, "", json!({})),
            false => image_config(&simulator, "", json!({})),
        };
        let gateway = Gateway::start(&config).await;
        let mut body = edit_for_urls();
        body["stream"] = json!(stream);
        let edited = gateway.ask(&ask_for(&body)).await;
        let ignored = edited.headers.get("x-headgate-ignored");
        assert_eq!(ignored, Some("response_format"), "{is_public} {stream}");
        assert!(edited.text().contains("b64_json") && !edited.text().contains("_headgate"));
    }
}

#[tokio::test]
async fn without_a_route_that_serves_media_the_images_stay_base64() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&without_media_route(&simulator)).await;
    let edited = gateway.ask(&ask_for(&edit_for_urls())).await;
    let ignored = edited.headers.get("x-headgate-ignored");
    assert_eq!((edited.status, ignored), (200, Some("response_format")));
    assert!(edited.json()["data"][0]["b64_json"].is_string());
}

fn without_media_route(simulator: &Simulator) -> Value {
    let mut config = public_images(simulator, "", json!({}));
    let routes = config["routes"].as_array_mut().unwrap();
    routes.retain(|route| route["name"] != "media");
    config
}

#[tokio::test]
async fn a_replay_has_the_urls_of_the_first_response() {
    let simulator = Simulator::start().await;
    let mut config = public_images(&simulator, "", json!({}));
    let steps = config["routes"][0]["request"].as_array_mut().unwrap();
    let last = steps.len() - 1;
    steps.insert(last, json!("idempotency"));
    let gateway = Gateway::start(&config).await;
    let request = ask_for(&edit_for_urls()).header("Idempotency-Key", "one");
    let first = gateway.ask(&request).await;
    let again = gateway.ask(&request).await;
    assert_eq!(again.headers.get("idempotent-replayed"), Some("true"));
    assert_eq!(again.body, first.body);
    let downloaded = download(&gateway, &again.json()["data"][1]["url"]).await;
    assert_eq!(downloaded.status, 200);
    assert_eq!(simulator.records().await.len(), 1);
}

#[tokio::test]
async fn storing_large_images_takes_little_memory_beyond_the_response() {
    let simulator = Simulator::start().await;
    let config = public_images(&simulator, "body_bytes=4000000", json!({}));
    let gateway = Gateway::start(&config).await;
    let mut body = edit_for_urls();
    body["n"] = json!(10);
    let before = gateway.process.memory_peak();
    let edited = gateway.ask(&ask_for(&body)).await;
    let grown = gateway.process.memory_peak() - before;
    assert_eq!(edited.headers.get("x-headgate-ignored"), None);
    assert_eq!(edited.json()["data"].as_array().unwrap().len(), 10);
    println!(
        "ten images of 4 MB in base64: the peak of the gateway's memory grew by {} MiB",
        grown >> 20
    );
    assert!(grown < 120 << 20, "{grown} bytes for a response of 53 MB");
}

#[tokio::test]
async fn a_channel_that_wants_urls_gets_files_and_data_uris_as_urls() {
    let simulator = Simulator::start().await;
    let config = public_images(&simulator, "", json!({"body": "json_with_urls"}));
    let gateway = Gateway::start(&config).await;
    let jpeg = [b"\xFF\xD8\xFF\xE0".as_slice(), &[7; 3_000_000]].concat();
    let mut fields = FIELDS.to_vec();
    fields.retain(|(name, value)| *name != "image[]!" || *value == PNG);
    fields.push(("image[]!", &jpeg));
    let mut body = json_body();
    let jpeg_url = json!({"image_url": data_uri("image/png", &jpeg)});
    let elsewhere = json!({"image_url": "https://x.example/a.png"});
    body["images"]
        .as_array_mut()
        .unwrap()
        .extend([jpeg_url, elsewhere.clone()]);
    for (request, is_json) in [(form(&fields), false), (ask_for(&body), true)] {
        let edited = gateway.ask(&request).await;
        assert_eq!(edited.status, 200, "{}", edited.text());
        let sent: Value = serde_json::from_slice(&simulator.last_body().await).unwrap();
        assert!(!sent.to_string().contains("base64"), "{sent}");
        assert_eq!(sent["prompt"], body["prompt"]);
        let images = sent["images"].as_array().unwrap();
        for (sent, (content, media_type)) in [
            (&images[0], (PNG, "image/png")),
            (&images[1], (&jpeg, "image/jpeg")),
            (&sent["mask"], (PNG, "image/png")),
        ] {
            let downloaded = download(&gateway, &sent["image_url"]).await;
            assert_eq!(downloaded.headers.get("content-type"), Some(media_type));
            assert!(
                downloaded.body == content,
                "{} bytes",
                downloaded.body.len()
            );
        }
        assert_eq!(images.get(2), is_json.then_some(&elsewhere));
    }
}

#[tokio::test]
async fn what_cannot_be_stored_for_such_a_channel_is_refused_before_anything_is_sent() {
    let simulator = Simulator::start().await;
    let image_edit = json!({"body": "json_with_urls"});
    let pdf = data_uri("image/png", b"%PDF-1.7");
    for (url, media, status, code, param) in [
        (
            pdf.as_str(),
            json!({}),
            400,
            "invalid_value",
            "images[0].image_url",
        ),
        (
            "data:image/png;base64,A",
            json!({}),
            400,
            "invalid_value",
            "images[0].image_url",
        ),
        (
            "",
            json!({"directory": "routes.yaml/media"}),
            503,
            "overloaded",
            "images[0].image_url",
        ),
    ] {
        let mut config = public_images(&simulator, "", image_edit.clone());
        config["media"] = media;
        let gateway = Gateway::start(&config).await;
        let mut body = json_body();
        if !url.is_empty() {
            body["images"][0]["image_url"] = json!(url);
        }
        let refused = gateway.ask(&ask_for(&body)).await;
        assert_eq!(refused.status, status, "{}", refused.text());
        let error = &refused.json()["error"];
        assert_eq!(
            (&error["code"], &error["param"]),
            (&json!(code), &json!(param))
        );
    }
    assert_eq!(simulator.records().await.len(), 0);
}

#[tokio::test]
async fn without_a_public_url_such_a_channel_gets_data_uris() {
    let simulator = Simulator::start().await;
    let config = image_config(&simulator, "", json!({"body": "json_with_urls"}));
    let gateway = Gateway::start(&config).await;
    for request in [form(FIELDS), ask_for(&json_body())] {
        let edited = gateway.ask(&request).await;
        assert_eq!(edited.status, 200, "{}", edited.text());
        let sent: Value = serde_json::from_slice(&simulator.last_body().await).unwrap();
        let image = sent["images"][0]["image_url"].as_str().unwrap();
        assert!(image.starts_with("data:image/png;base64,"), "{sent}");
    }
}

#[tokio::test]
async fn headgate_check_warns_of_images_without_urls_and_of_urls_that_expire_too_early() {
    let simulator = Simulator::start().await;
    let mut keyed = public_images(&simulator, "", json!({}));
    keyed["state"] = json!("sqlite:state.sqlite");
    let steps = keyed["routes"][0]["request"].as_array_mut().unwrap();
    let last = steps.len() - 1;
    let kept = json!({"idempotency": {"keep": "80h"}});
    steps.insert(last, kept);
    let wanting = image_config(&simulator, "", json!({"body": "json_with_urls"}));
    for (config, warning) in [
        (&keyed, "`keep` is longer than `media.ttl`"),
        (&wanting, "channel `images` wants URLs of images"),
        (
            &without_media_route(&simulator),
            "no route serves stored media",
        ),
    ] {
        let folder = folder_with_schemas();
        let file = folder.write("routes.yaml", format!("{config:#}"));
        let printed = Command::new(BINARY)
            .arg("check")
            .arg(file)
            .output()
            .unwrap();
        let printed = String::from_utf8(printed.stdout).unwrap();
        assert!(printed.contains(warning), "{printed}");
    }
}
