//! Tests of both families' states in the generic protocol, of ids, failures and refusals.

use super::*;
use crate::state::TaskState;
use proptest::prelude::*;
use std::sync::LazyLock;

const DAY_MS: u64 = 24 * HOUR_MS;

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
    for (name, response, id) in table {
        let created = created_id(&family(name), &document(&response));
        assert_eq!(created.ok().as_deref(), id, "{response}");
    }
}

#[test]
fn a_status_that_no_table_has_is_named_to_operators() {
    let a = |word: &str| json!({"id": "up-1", "status": word});
    let b = |word: &str| json!({"output": {"task_id": "up-1", "task_status": word}});
    for (name, response, word) in [
        ("family-a", a("running"), None),
        ("family-a", a("paused"), Some("paused")),
        ("family-a", a("SUCCEEDED"), Some("SUCCEEDED")),
        ("family-b", b("RUNNING"), None),
        ("family-b", b("THROTTLED"), Some("THROTTLED")),
    ] {
        let status = status_at(name, &response, &task(name), now_ms());
        assert_eq!(status.upstream_word.as_deref(), word, "{response}");
    }
}

#[test]
fn an_unknown_status_runs_for_a_day_and_has_expired_then() {
    let created_ms = CREATED * 1_000;
    let response = json!({"output": {"task_id": "up-1", "task_status": "UNKNOWN"}});
    let family = family("family-b");
    let task = task("family-b");
    for (now_ms, state) in [
        (created_ms - 5_000, TaskState::Running),
        (created_ms, TaskState::Running),
        (created_ms + DAY_MS - 1, TaskState::Running),
        (created_ms + DAY_MS, TaskState::Expired),
        (created_ms + 90 * DAY_MS, TaskState::Expired),
    ] {
        let status = family.status(&document(&response), &task, now_ms).unwrap();
        assert_eq!(status.state, state, "{now_ms}");
        assert_eq!(status.upstream_word.as_deref(), Some("UNKNOWN"));
        let missing = family.missing(&task, now_ms);
        assert_eq!(missing.state, state, "{now_ms}");
        assert_eq!(missing.upstream_word.as_deref(), Some("not_found"));
    }
}

#[test]
fn an_unknown_status_word_is_limited_to_valid_header_characters() {
    let word = format!("odd\r\nx: ü {}", "y".repeat(100));
    let response = json!({"id": "up-1", "status": word});
    let status = status_at("family-a", &response, &task("family-a"), now_ms());
    let reported = status.upstream_word.unwrap();
    assert_eq!(reported, format!("oddx:{}", "y".repeat(59)));
}

#[test]
fn a_response_without_a_task_status_is_unreadable() {
    let table = [
        (
            "family-a",
            json!({"id": "up-2", "status": "running"}),
            InvalidTaskResponse::OtherTask,
        ),
        (
            "family-a",
            json!({"id": "up-1"}),
            InvalidTaskResponse::NoStatus,
        ),
        (
            "family-a",
            json!({"id": "up-1", "status": ""}),
            InvalidTaskResponse::NoStatus,
        ),
        (
            "family-a",
            json!({"error": {"code": "C"}}),
            InvalidTaskResponse::NoStatus,
        ),
        ("family-a", json!("busy"), InvalidTaskResponse::NoStatus),
        (
            "family-b",
            json!({"code": "Throttling", "message": "m"}),
            InvalidTaskResponse::NoStatus,
        ),
        (
            "family-b",
            json!({"output": {"task_id": "up-1", "task_status": null}}),
            InvalidTaskResponse::NoStatus,
        ),
    ];
    for (name, response, unreadable) in table {
        let status = family(name).status(&document(&response), &task(name), now_ms());
        assert_eq!(status, Err(unreadable), "{response}");
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
    for (name, response, elsewhere) in table {
        let family = family(name);
        let error = family.error(&document(&response)).unwrap();
        assert_eq!(error.message, "m");
        let code = error.code.unwrap();
        assert_eq!(family.may_fail_over(&code), elsewhere, "{code}");
    }
    assert_eq!(
        family("family-a").error(&document(&json!({"id": "x"}))),
        None
    );
    let created = crate::status::created("task_1");
    assert_eq!(created, r#"{"task_id":"task_1","status":"queued"}"#);
}

prop_compose! {
    /// A response with random values in the fields that families read.
    fn any_answer()(
        word in "queued|running|succeeded|failed|PENDING|SUCCEEDED|FAILED|UNKNOWN|.{0,80}",
        values in prop::collection::vec(
            prop_oneof![
                Just(json!(null)), Just(json!([])), Just(json!({})), Just(json!(true)),
                any::<i64>().prop_map(|number| json!(number)),
                any::<f64>().prop_map(|number| json!(number)),
                ".{0,30}".prop_map(|text| json!(text)),
                "[0-9]{4}-[01][0-9]-[0-3][0-9] [0-9:]{8}".prop_map(|text| json!(text)),
            ],
            14,
        ),
    ) -> Value {
        let mut values = values.into_iter();
        let mut value = || values.next().unwrap();
        json!({
            "status": word, "content": {"video_url": value()}, "duration": value(), "frames": value(),
            "framespersecond": value(), "created_at": value(), "updated_at": value(), "error": value(),
            "output": {"task_status": word, "video_url": value(), "submit_time": value(),
                "end_time": value(), "code": value()},
            "usage": {"SR": value(), "duration": value(), "input_video_duration": value()},
        })
    }
}

static FAMILIES: LazyLock<[VideoFamily; 2]> =
    LazyLock::new(|| ["family-a", "family-b"].map(family));

proptest! {
    #[test]
    fn any_response_gives_a_valid_status_or_an_error(response in any_answer()) {
        for family in &*FAMILIES {
            let task = task(&family.name);
            let Ok(status) = family.status(&document(&response), &task, now_ms()) else {
                continue;
            };
            prop_assert_eq!(status.video_url.is_some(), status.state == TaskState::Succeeded);
            prop_assert_eq!(status.error.is_some(), status.state == TaskState::Failed);
            prop_assert!(status.updated_ms >= status.created_ms);
            let word = status.upstream_word.clone().unwrap_or_default();
            prop_assert!(http::HeaderValue::from_str(&word).is_ok());
            let rendered: Value = serde_json::from_slice(&status.render("task_1", &task)).unwrap();
            prop_assert_eq!(&rendered["status"], status.state.name());
        }
    }
}
