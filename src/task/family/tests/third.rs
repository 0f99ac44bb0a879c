//! A third family, with other names, nesting, units and words, needs a definition and nothing else.

use super::*;
use crate::task::generic::GenericRequest;
use crate::task::state::State;

const STUDIO: &str = r#"
create: {method: PUT, path: "/jobs?kind=film", headers: {x-mode: batch}}
query: {method: POST, path: "/jobs/{id}/look"}
request:
  base: {job: {kind: film, version: 3}}
  model: /job/engine
  prompt: {to: /job/script, value: "Scene: {}."}
  negative_prompt: /job/avoid
  medias:
    first_frame: /job/open_with
    last_frame: {refuse: "cannot end with a given image"}
    reference_image: {to: /job/moods/-, value: ["image", "{}"]}
    reference_video: {to: /job/moods/-, value: ["film", "{}"]}
  duration: {to: /job/length, value: "PT{}S"}
  resolution: {to: /job/size, map: {720p: small, 1080p: {wide: 1920}}}
  ratio: {to: /job/shape, map: {"16:9": landscape, "9:16": portrait}}
  generate_audio: {to: /job/sound, map: {"true": "on", "false": "off"}}
task_id: [/job/ref, /ref]
status:
  at: /job/stage
  map: {"0": queued, "1": running, "2": succeeded, "-1": failed, halted: cancelled}
  unknown: fail
answer:
  video_url: [/job/film/hd, /job/film/sd]
  video_duration: /job/film/ticks / /job/film/ticks_per_second
  resolution: "{/job/film/lines}p"
  ratio: "{/job/film/w}:{/job/film/h}"
  created: /job/at/0
  updated: [/job/at/2, /job/at/1]
  times: {unit: milliseconds}
  usage: {total_tokens: /bill/units}
errors: {code: /job/trouble/0, message: /job/trouble/1}
"#;

fn studio() -> Family {
    Family::new("studio", &config(STUDIO)).unwrap()
}

#[test]
fn its_requests_are_put_together_from_the_definition() {
    let body = json!({
        "model": "demo", "prompt": "a \"cat\"", "negative_prompt": "rain", "duration": 6,
        "resolution": "1080P", "ratio": "16:9", "generate_audio": true,
        "medias": [
            {"role": "reference_video", "url": "v"}, {"role": "first_frame", "url": "f"},
            {"role": "reference_image", "url": "i"},
        ],
    });
    let document = document(&body);
    let request = GenericRequest::read(&document).unwrap();
    let studio = studio();
    let mapped = studio
        .request(&request, "engine-9", Unsupported::Refuse)
        .unwrap();
    let expected = json!({"job": {
        "kind": "film", "version": 3, "engine": "engine-9", "script": "Scene: a \"cat\".",
        "avoid": "rain", "open_with": "f", "moods": [["film", "v"], ["image", "i"]],
        "length": "PT6S", "size": {"wide": 1920}, "shape": "landscape", "sound": "on",
    }});
    assert_eq!(
        serde_json::from_slice::<Value>(&mapped.body).unwrap(),
        expected
    );
    assert_eq!(studio.create.call.method, "PUT");
    assert_eq!(studio.query.call.path("a/b"), "/jobs/a%2Fb/look");
    assert!(studio.cancel.is_none());
}

#[test]
fn what_it_cannot_do_is_refused() {
    let two_frames = [("first_frame", "a"), ("first_frame", "b")];
    let two_frames = two_frames.map(|(role, url)| json!({"role": role, "url": url}));
    let table = [
        (
            json!({"seed": 1}),
            "seed",
            "`seed`: model `demo` takes no seed",
        ),
        (
            json!({"watermark": true}),
            "watermark",
            "takes no watermark",
        ),
        (
            json!({"callback_url": "u"}),
            "callback_url",
            "takes no callback_url",
        ),
        (
            json!({"resolution": "480p"}),
            "resolution",
            "is one of 720p, 1080p",
        ),
        (
            json!({"medias": [{"role": "last_frame", "url": "u"}]}),
            "medias[0]",
            "`medias[0]`: model `demo` cannot end with a given image",
        ),
        (
            json!({"medias": [{"type": "audio", "url": "u"}]}),
            "medias[0]",
            "no reference_audio",
        ),
        (
            json!({"medias": two_frames}),
            "medias[1]",
            "one medium of this kind",
        ),
    ];
    for (fields, param, words) in table {
        let mut body = fields.clone();
        body["model"] = json!("demo");
        let document = document(&body);
        let request = GenericRequest::read(&document).unwrap();
        let refused = studio()
            .request(&request, "e", Unsupported::Refuse)
            .unwrap_err();
        assert_eq!(refused.param, param);
        assert!(refused.message.contains(words), "{refused}");
    }
}

#[test]
fn its_answers_are_read_by_the_definition() {
    let studio = studio();
    let created = document(&json!({"ref": "up-1"}));
    assert_eq!(studio.created(&created).as_deref(), Ok("up-1"));
    let answer = document(&json!({
        "job": {"ref": "up-1", "stage": 2, "at": [1_780_732_857_123_u64, null, 1_780_732_991_456_u64],
            "film": {"sd": "https://sd", "ticks": 999, "ticks_per_second": 100, "lines": 1080,
                "w": 9, "h": 16}},
        "bill": {"units": 12},
    }));
    let task = task("studio");
    let status = studio.status(&answer, &task, now_ms()).unwrap();
    let expected = json!({
        "task_id": "task_1", "status": "succeeded", "model": "demo-video", "video_url": "https://sd",
        "video_duration": 9, "resolution": "1080p", "ratio": "9:16",
        "created": 1_780_732_857_123_u64, "updated": 1_780_732_991_456_u64,
        "usage": {"total_tokens": 12},
    });
    let rendered: Value = serde_json::from_slice(&status.render("task_1", &task)).unwrap();
    assert_eq!(rendered, expected);
}

#[test]
fn its_words_mean_what_the_definition_says() {
    let studio = studio();
    let table = [
        (json!(0), State::Queued, None),
        (json!("1"), State::Running, None),
        (json!("halted"), State::Cancelled, None),
        (json!(-1), State::Failed, Some("T")),
        (json!("lost"), State::Failed, Some("T")),
    ];
    for (stage, state, code) in table {
        let answer = json!({"job": {"stage": stage, "trouble": ["T", "trouble"]}});
        let status = studio
            .status(&document(&answer), &task("studio"), now_ms())
            .unwrap();
        assert_eq!(status.state, state, "{stage}");
        assert_eq!(status.error.map(|error| error.code).as_deref(), code);
    }
    let lost = json!({"job": {"stage": "lost"}});
    let status = studio
        .status(&document(&lost), &task("studio"), now_ms())
        .unwrap();
    assert_eq!(status.error.unwrap().code, "unknown_upstream_status");
}
