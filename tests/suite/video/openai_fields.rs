//! The fields of creates in OpenAI's format: what models make of them, and how errors name them.

use super::openai_videos::{completed, create_video, form_create, start, video_id};
use crate::harness::config::route;
use crate::harness::error_shape::assert_error_body;
use crate::harness::video::{GENERIC, OPENAI, openai_config, operations};
use crate::harness::{Gateway, Request, Simulator};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

#[tokio::test]
async fn what_no_model_can_make_is_refused_with_the_callers_names_and_nothing_is_sent() {
    let (simulator, gateway) = start("").await;
    for (model, field, value, param, message) in [
        (
            "demo-video-a",
            "seconds",
            json!("x"),
            "seconds",
            "whole number",
        ),
        (
            "demo-video-b",
            "seconds",
            json!("99"),
            "seconds",
            "`seconds`",
        ),
        ("demo-video-a", "size", json!("wide"), "size", "1280x720"),
        ("demo-video-a", "size", json!("1000x100"), "size", "21:9"),
        (
            "demo-video-b",
            "size",
            json!("640x360"),
            "size",
            "`size` (its resolution) of model `demo-video-b` must be one of 480p",
        ),
        (
            "demo-video-b",
            "size",
            json!("21:9"),
            "size",
            "`size` (its ratio) of model `demo-video-b` must be one of 16:9",
        ),
        ("demo-video-a", "prompt", json!(""), "prompt", "empty"),
        (
            "demo-video-a",
            "duration",
            json!(5),
            "duration",
            "send `seconds`",
        ),
        (
            "demo-video-a",
            "input_reference",
            json!("https://x.example/a"),
            "input_reference",
            "file",
        ),
        (
            "demo-video-a",
            "input_reference",
            json!({"file_id": "file-1"}),
            "input_reference.file_id",
            "by id",
        ),
    ] {
        let mut body = json!({"model": model, "prompt": "a gate"});
        body[field] = value;
        let refused = create_video(&gateway, &body).await;
        let text = assert_error_body(Protocol::Videos, &refused, 400);
        assert!(text.contains(message), "{body}: {text}");
        assert!(!text.contains("-1"), "{body}: {text}");
        assert_eq!(
            refused.json()["error"]["param"],
            param,
            "{}",
            refused.text()
        );
    }
    let refused = gateway
        .ask(&form_create(&[
            ("model", b"demo-video-a"),
            ("prompt!", b"a"),
        ]))
        .await;
    assert_error_body(Protocol::Videos, &refused, 400);
    assert_eq!(operations(&simulator).await, [""; 0]);
}

#[tokio::test]
async fn the_errors_of_every_filter_have_the_callers_names() {
    let simulator = Simulator::start().await;
    let mut config = openai_config(&simulator, "");
    let (a, b) = ("demo-video-a", "demo-video-b");
    config["models"] = json!({a: {"profile": "family_a/2.0"}});
    let gateway = Gateway::start(&config).await;
    for (model, field, value, param, message) in [
        (
            a,
            "input_reference",
            json!({"image_url": "data:image/png;base64,!"}),
            "input_reference",
            "`input_reference`",
        ),
        (
            a,
            "input_reference",
            json!({"image_url": "data:video/mp4;base64,AAAA"}),
            "input_reference",
            "must be an image",
        ),
        (
            a,
            "input_reference",
            json!({"image_url": "data:image/png;base64,AAAA"}),
            "input_reference",
            "`input_reference`",
        ),
        (
            b,
            "input_reference",
            json!({"image_url": "ftp://x.example/a.png"}),
            "input_reference",
            "`input_reference`",
        ),
        (a, "seconds", json!("99"), "seconds", "4 to 15 seconds"),
        (b, "seconds", json!("1"), "seconds", "2 to 30 seconds"),
    ] {
        let mut body = json!({"model": model, "prompt": "a gate"});
        body[field] = value;
        let refused = create_video(&gateway, &body).await;
        let text = assert_error_body(Protocol::Videos, &refused, 400);
        assert!(text.contains(message), "{body}: {text}");
        assert_eq!(refused.json()["error"]["param"], param, "{body}: {text}");
        for generic in ["medias", "duration`", "first_frame", "-1"] {
            assert!(!text.contains(generic), "{body}: {text}");
        }
    }
    assert_eq!(operations(&simulator).await, [""; 0]);
}

#[tokio::test]
async fn fields_that_are_left_out_are_listed_by_the_callers_names() {
    let simulator = Simulator::start().await;
    let mut config = openai_config(&simulator, "");
    for route in config["routes"].as_array_mut().unwrap() {
        for filter in route["request"].as_array_mut().unwrap() {
            if filter["map_task"]["operation"] == "create" {
                filter["map_task"]["unsupported"] = json!("ignore");
            }
        }
    }
    let gateway = Gateway::start(&config).await;
    let body = json!({"model": "demo-video-b", "prompt": "a gate", "size": "640x360"});
    let created = create_video(&gateway, &body).await;
    video_id(&created);
    assert_eq!(created.headers.get("x-headgate-ignored"), Some("size"));
}

#[tokio::test]
async fn a_size_becomes_the_nearest_resolution_of_the_model_and_is_returned_as_it_is_made() {
    let simulator = Simulator::start().await;
    let mut config = openai_config(&simulator, "");
    config["channels"]["minimax"] = json!({
        "base_url": format!("http://{}/~queue=0ms;run=0ms/vendor/minimax-v2", simulator.address),
        "protocols": ["video"], "family": "minimax-v2", "credential": {"bearer": "vendor-key"},
        "models": {"of-minimax": "MiniMax-H3"},
    });
    let gateway = Gateway::start(&config).await;
    let create = |size: &str| json!({"model": "of-minimax", "prompt": "a gate", "size": size});
    for (size, resolution, ratio, returned) in [
        ("1280x720", "768P", "16:9", json!("1366x768")),
        ("720x1280", "768P", "9:16", json!("768x1366")),
        ("1366x768", "768P", "16:9", json!("1366x768")),
        ("2560x1440", "2K", "16:9", json!("2560x1440")),
        ("720p", "768P", "16:9", Value::Null),
        ("9:16", "2K", "9:16", Value::Null),
    ] {
        let created = create_video(&gateway, &create(size)).await;
        let id = video_id(&created);
        assert_eq!(created.json()["size"], returned, "{size}");
        let sent: Value = serde_json::from_slice(&simulator.last_create_body().await).unwrap();
        let made = (&sent["resolution"], &sent["ratio"]);
        assert_eq!(made, (&json!(resolution), &json!(ratio)), "{size}: {sent}");
        let done = completed(&gateway, OPENAI, &id).await;
        if !returned.is_null() {
            assert_eq!(done["size"], returned, "{size}");
        }
    }
    // No further away than a tenth, since another resolution has another price.
    let refused = create_video(&gateway, &create("1920x1080")).await;
    let message = assert_error_body(Protocol::Videos, &refused, 400);
    assert!(
        message.contains("one of 768p, 2k; the nearest is 768p"),
        "{message}"
    );
    // Other formats name resolutions, and get what they name or an error.
    let generic = json!({"model": "of-minimax", "prompt": "a gate", "resolution": "720p"});
    let refused = gateway
        .ask(&Request::post(GENERIC, generic.to_string()))
        .await;
    assert_eq!(refused.status, 400, "{}", refused.text());
}

#[tokio::test]
async fn limits_are_checked_on_the_converted_create_and_cannot_stand_before_the_conversion() {
    let simulator = Simulator::start().await;
    let mut config = openai_config(&simulator, "");
    config["prices"] = json!({"models": {"demo-video-a": {"video_second": {"*": 0.1}}}});
    config["callers"][0]["limits"] = json!({"cost_total": 1});
    let steps = &mut route(&mut config, "videos")["request"];
    let mut steps = steps.as_array().unwrap().iter();
    let conversion = steps.position(|step| step == "convert_videos").unwrap();
    let with_limits_at = |place: usize| {
        let mut config = config.clone();
        let steps = &mut route(&mut config, "videos")["request"];
        steps
            .as_array_mut()
            .unwrap()
            .insert(place, json!("rate_limit"));
        config
    };

    let gateway = Gateway::start(&with_limits_at(conversion + 1)).await;
    let body = json!({"model": "demo-video-a", "prompt": "a gate", "seconds": "6"});
    for status in [200, 429] {
        let created = create_video(&gateway, &body).await;
        assert_eq!(created.status, status, "{}", created.text());
    }

    let before = format!("{:#}", with_limits_at(conversion));
    gateway.folder.write("routes.yaml", &before);
    let refused = gateway.page("POST", "/reload").await;
    let reason = "`rate_limit` requires an earlier `convert_videos`";
    assert!(refused.text().contains(reason), "{}", refused.text());
}
