//! Tests of checks before the create request: what a family and a model accept; and tests of retired channels.

use crate::harness::error_shape::assert_error_body;
use crate::harness::video::{
    FAMILY_A, GENERIC, ask, create, create_body, creates, id_of, video_config,
};
use crate::harness::{Gateway, Request, Simulator};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// Like `video_config`, with a profile for each model.
fn with_profiles(simulator: &Simulator) -> Value {
    let mut config = video_config(simulator, "");
    config["models"] = json!({
        "demo-video-a": {"profile": "family_a/2.0"}, "demo-video-b": {"profile": "family_b/3.0"},
    });
    config
}

fn media(kinds: &[&str]) -> Value {
    let medium = |kind: &&str| json!({"role": kind, "url": "https://media.example.com/1"});
    kinds.iter().map(medium).collect()
}

async fn reload(gateway: &Gateway, config: &Value) {
    let file = gateway.folder.path().join("routes.yaml");
    std::fs::write(file, config.to_string()).unwrap();
    let answer = gateway.page("POST", "/reload").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test]
async fn a_generic_create_is_held_against_the_rules_of_the_family_and_the_model() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&with_profiles(&simulator)).await;
    let (a, b) = ("demo-video-a", "demo-video-b");
    let ten_images = media(&["reference_image"; 10]);
    let eleven_images = media(&["reference_image"; 11]);
    let six_videos = media(&["reference_video"; 6]);
    for (model, field, value, param) in [
        (a, "duration", json!(4), None),
        (a, "duration", json!(-1), None),
        (a, "duration", json!(3), Some("duration")),
        (a, "duration", json!(16), Some("duration")),
        (a, "seed", json!(7), Some("seed")),
        (a, "medias", media(&["first_frame", "last_frame"]), None),
        (
            a,
            "medias",
            media(&["first_frame", "reference_image"]),
            Some("medias[1]"),
        ),
        (a, "medias", ten_images.clone(), Some("medias")),
        (b, "duration", json!(30), None),
        (b, "duration", json!(31), Some("duration")),
        (b, "duration", json!(1), Some("duration")),
        (b, "seed", json!(2_147_483_648_u64), Some("seed")),
        (b, "medias", media(&["first_frame", "last_frame"]), None),
        (b, "medias", media(&["last_frame"]), Some("medias[0]")),
        (
            b,
            "medias",
            media(&["first_frame", "reference_image"]),
            Some("medias[1]"),
        ),
        (
            b,
            "medias",
            media(&["first_frame", "first_frame"]),
            Some("medias"),
        ),
        (b, "medias", ten_images, None),
        (b, "medias", eleven_images, Some("medias")),
        (b, "medias", six_videos, Some("medias")),
        (b, "prompt", json!("x".repeat(20_001)), Some("prompt")),
        (a, "duration", json!(0), Some("duration")),
        (b, "duration", json!(0), Some("duration")),
    ] {
        let mut body = create_body(GENERIC, model);
        body[field] = value;
        let before = creates(&simulator).await;
        let answer = gateway.ask(&Request::post(GENERIC, body.to_string())).await;
        let shown = body.to_string().chars().take(300).collect::<String>();
        match param {
            None => assert_eq!(answer.status, 200, "{shown}: {}", answer.text()),
            Some(param) => {
                assert_error_body(Protocol::Chat, &answer, 400);
                let reported = answer.json()["error"]["param"].clone();
                assert_eq!(reported, param, "{shown}: {}", answer.text());
                // An error by the generic protocol's own schema does not name a model.
                let generic = ["first frame", "last frame", "seconds, at least 1, or"];
                let is_generic = generic.iter().any(|words| answer.text().contains(words));
                assert!(
                    is_generic || answer.text().contains(model),
                    "{}",
                    answer.text()
                );
                assert_eq!(creates(&simulator).await, before, "{shown}");
            }
        }
    }
}

#[tokio::test]
async fn a_model_of_two_families_goes_to_the_one_that_can_do_what_is_asked() {
    let simulator = Simulator::start().await;
    let mut config = with_profiles(&simulator);
    for channel in ["a", "b"] {
        config["channels"][channel]["models"] = json!({"demo-video": format!("theirs-{channel}")});
    }
    config["models"] = json!({"demo-video": {"profile": ["family_a/2.0", "family_b/3.0"]}});
    let gateway = Gateway::start(&config).await;
    for (field, value, endpoint) in [
        ("resolution", json!("4k"), "family_a.create"),
        ("negative_prompt", json!("rain"), "family_b.create"),
        ("duration", json!(20), "family_b.create"),
    ] {
        let mut body = create_body(GENERIC, "demo-video");
        body[field] = value;
        let answer = gateway.ask(&Request::post(GENERIC, body.to_string())).await;
        assert_eq!(answer.status, 200, "{field}: {}", answer.text());
        let records = simulator.records().await;
        assert_eq!(records.last().unwrap()["endpoint"], endpoint, "{field}");
    }
}

#[tokio::test]
async fn the_family_of_a_channel_is_that_of_its_protocol_unless_it_names_one() {
    let simulator = Simulator::start().await;
    let mut config = video_config(&simulator, "");
    for channel in ["a", "b"] {
        config["channels"][channel]
            .as_object_mut()
            .unwrap()
            .remove("family");
    }
    let gateway = Gateway::start(&config).await;
    for model in ["demo-video-a", "demo-video-b"] {
        let made = create(&gateway, GENERIC, model).await;
        assert_eq!(made.status, 200, "{}", made.text());
    }
}

#[tokio::test]
async fn a_retired_channel_answers_for_its_tasks_and_gets_no_new_ones() {
    let simulator = Simulator::start().await;
    let mut config = video_config(&simulator, "");
    let gateway = Gateway::start(&config).await;
    let id = id_of(GENERIC, &create(&gateway, GENERIC, "demo-video-a").await);
    let native = id_of(FAMILY_A, &create(&gateway, FAMILY_A, "demo-video-a").await);
    config["channels"]["a"]["retired"] = json!(true);
    reload(&gateway, &config).await;
    let refused = create(&gateway, GENERIC, "demo-video-a").await;
    assert_error_body(Protocol::Chat, &refused, 404);
    assert_eq!(ask(&gateway, GENERIC, &id).await.status, 200);
    assert_eq!(ask(&gateway, FAMILY_A, &native).await.status, 200);
    config["channels"].as_object_mut().unwrap().remove("a");
    reload(&gateway, &config).await;
    let gone = ask(&gateway, GENERIC, &id).await;
    assert_eq!(gone.status, 410, "{}", gone.text());
}

#[tokio::test]
async fn thirty_seconds_leave_no_room_for_a_video_to_start_from() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&with_profiles(&simulator)).await;
    for (duration, status) in [(30, 400), (29, 200), (-1, 200)] {
        let mut body = create_body(GENERIC, "demo-video-b");
        body["medias"] = media(&["reference_image", "reference_video"]);
        body["duration"] = duration.into();
        let answer = gateway.ask(&Request::post(GENERIC, body.to_string())).await;
        assert_eq!(answer.status, status, "{duration}: {}", answer.text());
        if status == 400 {
            assert_error_body(Protocol::Chat, &answer, 400);
            assert_eq!(answer.json()["error"]["param"], "duration");
            assert!(
                answer.text().contains("input and output"),
                "{}",
                answer.text()
            );
        }
    }
    assert_eq!(creates(&simulator).await, 2);
}
