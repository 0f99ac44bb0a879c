//! States of both families in the generic protocol's words, ids, failures and refusals.

use super::*;
use crate::task::state::State;
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
            "family-a",
            json!({"status": "failed", "error": {"message": "the clip is too dark"}}),
            "upstream_failed",
            "the clip is too dark",
        ),
        (
            "family-a",
            json!({"status": "failed", "error": {"code": null, "message": "the clip is too dark"}}),
            "upstream_failed",
            "the clip is too dark",
        ),
        (
            "family-b",
            json!({"output": {"task_status": "FAILED", "code": "", "message": "the clip is too dark"}}),
            "upstream_failed",
            "the clip is too dark",
        ),
        (
            "family-b",
            json!({"message": "the clip is too dark", "output": {"task_status": "FAILED"}}),
            "upstream_failed",
            "the clip is too dark",
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
        let code = error.code.unwrap();
        assert_eq!(family.may_go_elsewhere(&code), elsewhere, "{code}");
    }
    assert_eq!(
        family("family-a").error(&document(&json!({"id": "x"}))),
        None
    );
    let created = crate::task::status::created("task_1");
    assert_eq!(created, r#"{"task_id":"task_1","status":"queued"}"#);
}

prop_compose! {
    /// An answer with anything at the places that families look at.
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

static FAMILIES: LazyLock<[Family; 2]> = LazyLock::new(|| ["family-a", "family-b"].map(family));

proptest! {
    #[test]
    fn whatever_a_provider_answers_the_status_is_sound(answer in any_answer()) {
        for family in &*FAMILIES {
            let task = task(&family.name);
            let Ok(status) = family.status(&document(&answer), &task, now_ms()) else {
                continue;
            };
            prop_assert_eq!(status.video_url.is_some(), status.state == State::Succeeded);
            prop_assert_eq!(status.error.is_some(), status.state == State::Failed);
            prop_assert!(status.updated_ms >= status.created_ms);
            let word = status.upstream_word.clone().unwrap_or_default();
            prop_assert!(http::HeaderValue::from_str(&word).is_ok());
            let rendered: Value = serde_json::from_slice(&status.render("task_1", &task)).unwrap();
            prop_assert_eq!(&rendered["status"], status.state.name());
        }
    }
}
