//! Answers of both families in the generic protocol's words: fields, durations, times, usage.

use super::*;

#[test]
fn a_whole_answer_of_family_a_is_mapped_field_by_field() {
    let answer = json!({
        "id": "up-1", "model": "doubao-seedance-2-0-fast-260128", "status": "succeeded",
        "content": {"video_url": "https://v.mp4?X=1", "last_frame_url": "https://l"},
        "usage": {"completion_tokens": 108_900, "total_tokens": 108_901},
        "created_at": 1_780_732_857, "updated_at": 1_780_732_991, "seed": 97_151,
        "resolution": "720p", "ratio": "16:9", "duration": 5, "framespersecond": 24,
        "generate_audio": true, "draft": false, "error": null
    });
    let expected = json!({
        "task_id": "task_1", "status": "succeeded", "model": "demo-video",
        "video_url": "https://v.mp4?X=1", "video_duration": 5, "resolution": "720p", "ratio": "16:9",
        "created": 1_780_732_857_000_u64, "updated": 1_780_732_991_000_u64,
        "usage": {"total_tokens": 108_901},
    });
    assert_eq!(rendered("family-a", &answer, &task("family-a")), expected);
}

#[test]
fn a_whole_answer_of_family_b_is_mapped_field_by_field() {
    let answer = json!({
        "request_id": "2ca1c497", "output": {
            "task_id": "up-1", "task_status": "SUCCEEDED",
            "submit_time": "2026-09-25 11:07:28.590", "scheduled_time": "2026-09-25 11:07:35.349",
            "end_time": "2026-09-25 11:17:11.650", "orig_prompt": "p", "video_url": "https://v.mp4?E=1"},
        "usage": {"duration": 15, "input_video_duration": 5, "output_video_duration": 10,
            "video_count": 1, "SR": 720, "ratio": "9:16"}
    });
    let expected = json!({
        "task_id": "task_1", "status": "succeeded", "model": "demo-video",
        "video_url": "https://v.mp4?E=1", "video_duration": 10, "resolution": "720p", "ratio": "9:16",
        "created": 1_790_305_648_590_u64, "updated": 1_790_306_231_650_u64,
        "usage": {"input_video_duration": 5, "output_video_duration": 10, "duration": 15},
    });
    assert_eq!(rendered("family-b", &answer, &task("family-b")), expected);
}

#[test]
fn durations_are_whole_seconds_from_the_right_fields() {
    let a = |fields: Value| {
        let mut answer = json!({"status": "succeeded", "content": {"video_url": "u"}});
        answer
            .as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        answer
    };
    let b = |usage: Value| json!({"output": {"task_status": "SUCCEEDED", "video_url": "u"}, "usage": usage});
    let table = [
        ("family-a", a(json!({"duration": 5})), json!(5)),
        ("family-a", a(json!({"duration": 5.04})), json!(5)),
        ("family-a", a(json!({"duration": 4.96})), json!(5)),
        ("family-a", a(json!({"duration": 5.5})), json!(6)),
        (
            "family-a",
            a(json!({"frames": 121, "framespersecond": 24})),
            json!(5),
        ),
        (
            "family-a",
            a(json!({"frames": 143, "framespersecond": 24})),
            json!(5),
        ),
        (
            "family-a",
            a(json!({"duration": null, "frames": 29, "framespersecond": 24})),
            json!(1),
        ),
        ("family-a", a(json!({"duration": -1})), json!(null)),
        ("family-a", a(json!({"frames": 29})), json!(null)),
        (
            "family-a",
            a(json!({"frames": 29, "framespersecond": 0})),
            json!(null),
        ),
        ("family-a", a(json!({})), json!(null)),
        (
            "family-b",
            b(json!({"output_video_duration": 10, "duration": 15})),
            json!(10),
        ),
        (
            "family-b",
            b(json!({"output_video_duration": 9.6})),
            json!(10),
        ),
        (
            "family-b",
            b(json!({"duration": 15, "input_video_duration": 5})),
            json!(10),
        ),
        (
            "family-b",
            b(json!({"duration": 15.2, "input_video_duration": 5.1})),
            json!(10),
        ),
        ("family-b", b(json!({"duration": 15})), json!(null)),
        ("family-b", b(json!({})), json!(null)),
    ];
    for (name, answer, seconds) in table {
        let generic = rendered(name, &answer, &task(name));
        assert_eq!(generic["video_duration"], seconds, "{answer}");
    }
}

#[test]
fn usage_comes_from_the_right_fields_in_whole_numbers() {
    let table = [
        (
            "family-a",
            json!({"completion_tokens": 7, "total_tokens": 9}),
            json!({"total_tokens": 9}),
        ),
        (
            "family-a",
            json!({"completion_tokens": 7}),
            json!({"total_tokens": 7}),
        ),
        ("family-a", json!({"duration": 7}), json!(null)),
        ("family-a", json!({}), json!(null)),
        ("family-b", json!({"duration": 15}), json!({"duration": 15})),
        (
            "family-b",
            json!({"duration": 15.4, "input_video_duration": 5.4, "output_video_duration": 10.0}),
            json!({"duration": 15, "input_video_duration": 5, "output_video_duration": 10}),
        ),
        (
            "family-b",
            json!({"total_tokens": 9, "input_video_duration": 0}),
            json!({"input_video_duration": 0}),
        ),
    ];
    for (name, usage, expected) in table {
        let answer = json!({
            "status": "succeeded", "content": {"video_url": "u"}, "usage": usage,
            "output": {"task_status": "SUCCEEDED", "video_url": "u"},
        });
        assert_eq!(
            rendered(name, &answer, &task(name))["usage"],
            expected,
            "{answer}"
        );
    }
}

#[test]
fn tiers_are_in_lower_case_and_ratios_concrete() {
    let a = |resolution: Value, ratio: Value| json!({"status": "running", "resolution": resolution, "ratio": ratio});
    let b = |tier: Value, ratio: Value| json!({"output": {"task_status": "RUNNING"}, "usage": {"SR": tier, "ratio": ratio}});
    let table = [
        (
            "family-a",
            a(json!("1080P"), json!("21:9")),
            None,
            json!("1080p"),
            json!("21:9"),
        ),
        (
            "family-a",
            a(json!("4k"), json!("adaptive")),
            Some("1:1"),
            json!("4k"),
            json!("1:1"),
        ),
        (
            "family-a",
            a(json!("1280*720"), json!(null)),
            Some("adaptive"),
            json!(null),
            json!(null),
        ),
        (
            "family-b",
            b(json!(480), json!("")),
            Some("4:3"),
            json!("480p"),
            json!("4:3"),
        ),
        (
            "family-b",
            b(json!("1080"), json!("3:4")),
            Some("4:3"),
            json!("1080p"),
            json!("3:4"),
        ),
        (
            "family-b",
            b(json!(0), json!("adaptive")),
            None,
            json!(null),
            json!(null),
        ),
        (
            "family-b",
            b(json!(""), json!(169)),
            None,
            json!(null),
            json!(null),
        ),
    ];
    for (name, answer, requested, resolution, ratio) in table {
        let mut task = task(name);
        task.ratio = requested.map(String::from);
        let generic = rendered(name, &answer, &task);
        assert_eq!(generic["resolution"], resolution, "{answer}");
        assert_eq!(generic["ratio"], ratio, "{answer}");
    }
}

#[test]
fn times_are_those_of_the_provider_or_else_ours() {
    let (ours, now) = (CREATED * 1_000, now_ms());
    let b = |times: Value| {
        let mut output = json!({"task_status": "RUNNING"});
        output
            .as_object_mut()
            .unwrap()
            .extend(times.as_object().unwrap().clone());
        json!({"output": output})
    };
    let (submitted, scheduled) = ("2026-09-25 11:07:28", "2026-09-25 11:07:35.349");
    let table = [
        ("family-a", json!({"status": "running"}), ours, now),
        (
            "family-a",
            json!({"status": "running", "created_at": 5, "updated_at": 7}),
            5_000,
            7_000,
        ),
        (
            "family-a",
            json!({"status": "running", "created_at": 0, "updated_at": null}),
            ours,
            now,
        ),
        (
            "family-a",
            json!({"status": "running", "created_at": 7, "updated_at": 5}),
            7_000,
            7_000,
        ),
        ("family-b", b(json!({})), ours, now),
        (
            "family-b",
            b(json!({"submit_time": submitted})),
            1_790_305_648_000,
            1_790_305_648_000,
        ),
        (
            "family-b",
            b(json!({"submit_time": submitted, "scheduled_time": scheduled, "end_time": ""})),
            1_790_305_648_000,
            1_790_305_655_349,
        ),
        (
            "family-b",
            b(json!({"submit_time": "yesterday"})),
            ours,
            now,
        ),
    ];
    for (name, answer, created, updated) in table {
        let generic = rendered(name, &answer, &task(name));
        assert_eq!(generic["created"], created, "{answer}");
        assert_eq!(generic["updated"], updated, "{answer}");
    }
}
