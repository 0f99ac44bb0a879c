//! Answers of both families in the generic protocol's words: states, fields, times, usage.

use super::*;
use crate::task::state::State;
use crate::task::status::TaskStatus;

const DAY_MS: u64 = 24 * HOUR_MS;

fn status_at(name: &str, answer: &Value, task: &TaskId, now_ms: u64) -> TaskStatus {
    family(name)
        .status(&document(answer), task, now_ms)
        .unwrap()
}

/// The generic answer to an answer of a family's.
fn rendered(name: &str, answer: &Value, task: &TaskId) -> Value {
    let status = status_at(name, answer, task, now_ms());
    serde_json::from_slice(&status.render("task_1", task)).unwrap()
}

#[test]
fn ids_are_read_from_the_answers_to_creates() {
    let b = json!({"request_id": "r", "output": {"task_id": "0385dc79", "task_status": "PENDING"}});
    let table = [
        (
            "family-a",
            json!({"id": "cgt-20260606160057-6bbjd"}),
            Some("cgt-20260606160057-6bbjd"),
        ),
        (
            "family-a",
            json!({"id": "cgt-1", "safety_identifier": "x"}),
            Some("cgt-1"),
        ),
        ("family-b", b, Some("0385dc79")),
        ("family-a", json!({"id": ""}), None),
        ("family-a", json!({"id": null}), None),
        ("family-a", json!({"id": ".."}), None),
        ("family-a", json!({"id": "a\nb"}), None),
        ("family-a", json!({"id": "x".repeat(513)}), None),
        (
            "family-a",
            json!({"error": {"code": "InternalServiceError"}}),
            None,
        ),
        ("family-a", json!([]), None),
        (
            "family-b",
            json!({"code": "Throttling", "message": "m", "request_id": "r"}),
            None,
        ),
        ("family-b", json!({"output": {}}), None),
    ];
    for (name, answer, id) in table {
        let created = family(name).created(&document(&answer));
        assert_eq!(created.ok().as_deref(), id, "{answer}");
    }
}

#[test]
fn every_status_has_its_word_in_the_generic_protocol() {
    let a = |word: &str| {
        json!({"id": "up-1", "status": word, "content": {"video_url": "https://v"},
            "error": {"code": "C", "message": "m"}})
    };
    let b = |word: &str| json!({"output": {"task_id": "up-1", "task_status": word, "video_url": "https://v"}});
    let table = [
        ("family-a", a("queued"), State::Queued, None),
        ("family-a", a("running"), State::Running, None),
        ("family-a", a("succeeded"), State::Succeeded, None),
        ("family-a", a("failed"), State::Failed, None),
        ("family-a", a("cancelled"), State::Cancelled, None),
        ("family-a", a("canceled"), State::Cancelled, None),
        ("family-a", a("expired"), State::Expired, None),
        ("family-a", a("paused"), State::Running, Some("paused")),
        (
            "family-a",
            a("SUCCEEDED"),
            State::Running,
            Some("SUCCEEDED"),
        ),
        ("family-b", b("PENDING"), State::Queued, None),
        ("family-b", b("SUSPENDED"), State::Queued, None),
        ("family-b", b("RUNNING"), State::Running, None),
        ("family-b", b("SUCCEEDED"), State::Succeeded, None),
        ("family-b", b("FAILED"), State::Failed, None),
        ("family-b", b("CANCELED"), State::Cancelled, None),
        ("family-b", b("CANCELLED"), State::Cancelled, None),
        ("family-b", b("UNKNOWN"), State::Running, Some("UNKNOWN")),
        (
            "family-b",
            b("THROTTLED"),
            State::Running,
            Some("THROTTLED"),
        ),
    ];
    for (name, answer, state, word) in table {
        let status = status_at(name, &answer, &task(name), now_ms());
        assert_eq!(status.state, state, "{answer}");
        assert_eq!(status.upstream_word.as_deref(), word, "{answer}");
        assert_eq!(
            status.video_url.is_some(),
            state == State::Succeeded,
            "{answer}"
        );
        assert_eq!(status.error.is_some(), state == State::Failed, "{answer}");
        let json: Value = serde_json::from_slice(&status.render("task_1", &task(name))).unwrap();
        assert_eq!(json["status"], state.name());
    }
}

#[test]
fn an_unknown_status_runs_for_a_day_and_has_expired_then() {
    let created_ms = CREATED * 1_000;
    let answer = json!({"output": {"task_id": "up-1", "task_status": "UNKNOWN"}});
    let family = family("family-b");
    let task = task("family-b");
    for (now_ms, state) in [
        (created_ms - 5_000, State::Running),
        (created_ms, State::Running),
        (created_ms + DAY_MS - 1, State::Running),
        (created_ms + DAY_MS, State::Expired),
        (created_ms + 90 * DAY_MS, State::Expired),
    ] {
        let status = family.status(&document(&answer), &task, now_ms).unwrap();
        assert_eq!(status.state, state, "{now_ms}");
        assert_eq!(status.upstream_word.as_deref(), Some("UNKNOWN"));
        let missing = family.missing(&task, now_ms);
        assert_eq!(missing.state, state, "{now_ms}");
        assert_eq!(missing.upstream_word.as_deref(), Some("not_found"));
    }
}

#[test]
fn an_unknown_status_is_told_in_what_a_header_can_carry() {
    let word = format!("odd\r\nx: ü {}", "y".repeat(100));
    let answer = json!({"id": "up-1", "status": word});
    let status = status_at("family-a", &answer, &task("family-a"), now_ms());
    let told = status.upstream_word.unwrap();
    assert_eq!(told, format!("oddx:{}", "y".repeat(59)));
}

#[test]
fn an_answer_that_says_nothing_of_the_task_is_unreadable() {
    let table = [
        (
            "family-a",
            json!({"id": "up-2", "status": "running"}),
            Unreadable::OtherTask,
        ),
        ("family-a", json!({"id": "up-1"}), Unreadable::NoStatus),
        (
            "family-a",
            json!({"id": "up-1", "status": ""}),
            Unreadable::NoStatus,
        ),
        (
            "family-a",
            json!({"error": {"code": "C"}}),
            Unreadable::NoStatus,
        ),
        ("family-a", json!("busy"), Unreadable::NoStatus),
        (
            "family-b",
            json!({"code": "Throttling", "message": "m"}),
            Unreadable::NoStatus,
        ),
        (
            "family-b",
            json!({"output": {"task_id": "up-1", "task_status": null}}),
            Unreadable::NoStatus,
        ),
    ];
    for (name, answer, unreadable) in table {
        let status = family(name).status(&document(&answer), &task(name), now_ms());
        assert_eq!(status, Err(unreadable), "{answer}");
    }
}

#[test]
fn a_success_without_a_video_is_a_failure() {
    let table = [
        ("family-a", json!({"status": "succeeded"})),
        (
            "family-a",
            json!({"status": "succeeded", "content": {"video_url": ""}}),
        ),
        (
            "family-a",
            json!({"status": "succeeded", "content": {"video_url": null}}),
        ),
        (
            "family-a",
            json!({"status": "succeeded", "content": null, "usage": {"total_tokens": 1}}),
        ),
        (
            "family-b",
            json!({"output": {"task_status": "SUCCEEDED", "video_url": ""}}),
        ),
        (
            "family-b",
            json!({"output": {"task_status": "SUCCEEDED"}, "usage": {"duration": 5}}),
        ),
    ];
    for (name, answer) in table {
        let generic = rendered(name, &answer, &task(name));
        assert_eq!(generic["status"], "failed", "{answer}");
        assert_eq!(generic["error_code"], "invalid_upstream_response");
        assert!(
            generic["error_message"]
                .as_str()
                .unwrap()
                .contains("without a video")
        );
        assert!(generic.get("usage").is_none() && generic.get("video_url").is_none());
    }
}

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
fn a_failure_tells_the_providers_code_and_message() {
    let table = [
        (
            "family-a",
            json!({"status": "failed", "error": {"code": "OutputVideoSensitiveContentDetected", "message": "no"}}),
            "OutputVideoSensitiveContentDetected",
            "no",
        ),
        (
            "family-a",
            json!({"status": "failed", "error": null}),
            "upstream_failed",
            "gave no reason",
        ),
        (
            "family-a",
            json!({"status": "failed", "error": {"code": "C"}}),
            "C",
            "C",
        ),
        (
            "family-b",
            json!({"output": {"task_status": "FAILED", "code": "InvalidParameter", "message": "bad"}}),
            "InvalidParameter",
            "bad",
        ),
        (
            "family-b",
            json!({"code": "", "output": {"task_status": "FAILED"}, "message": null}),
            "upstream_failed",
            "gave no reason",
        ),
    ];
    for (name, answer, code, message) in table {
        let generic = rendered(name, &answer, &task(name));
        assert_eq!(generic["error_code"], code, "{answer}");
        assert!(
            generic["error_message"].as_str().unwrap().contains(message),
            "{generic}"
        );
        assert_eq!(generic["status"], "failed");
    }
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

#[test]
fn errors_of_refused_requests_are_read_and_some_may_go_elsewhere() {
    let a = |code: &str| json!({"error": {"code": code, "message": "m", "type": "t"}});
    let b = |code: &str| json!({"code": code, "message": "m", "request_id": "r"});
    let table = [
        ("family-a", a("RateLimitExceeded.EndpointRPMExceeded"), true),
        ("family-a", a("QuotaExceeded"), true),
        ("family-a", a("ServerOverloaded"), true),
        ("family-a", a("AccountOverdueError"), true),
        ("family-a", a("InvalidEndpointOrModel.NotFound"), true),
        ("family-a", a("InvalidParameter.OversizedImage"), false),
        ("family-a", a("InputTextSensitiveContentDetected"), false),
        ("family-b", b("Throttling"), true),
        ("family-b", b("Throttling.RateQuota"), true),
        ("family-b", b("Arrearage"), true),
        ("family-b", b("AccessDenied.Unpurchased"), true),
        ("family-b", b("InvalidParameter"), false),
        ("family-b", b("DataInspectionFailed"), false),
    ];
    for (name, answer, elsewhere) in table {
        let family = family(name);
        let error = family.error(&document(&answer)).unwrap();
        assert_eq!(error.message, "m");
        assert_eq!(
            family.may_go_elsewhere(&error.code),
            elsewhere,
            "{}",
            error.code
        );
    }
    assert_eq!(
        family("family-a").error(&document(&json!({"id": "x"}))),
        None
    );
    let created = crate::task::status::created("task_1");
    assert_eq!(created, r#"{"task_id":"task_1","status":"queued"}"#);
}
