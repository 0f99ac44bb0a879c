//! Tests of response fields that are taken from the request.

use super::*;

#[test]
fn a_ratio_missing_from_the_response_is_the_requested_one() {
    let a = |ratio: Value| json!({"status": "running", "ratio": ratio});
    let b = |ratio: Value| json!({"output": {"task_status": "RUNNING"}, "usage": {"ratio": ratio}});
    for (name, response, requested, ratio) in [
        ("family-a", a(json!("adaptive")), "1:1", json!("1:1")),
        ("family-a", a(json!(null)), "adaptive", json!(null)),
        ("family-b", b(json!("")), "4:3", json!("4:3")),
        ("family-b", b(json!("3:4")), "4:3", json!("3:4")),
    ] {
        let mut task = task(name);
        task.ratio = Some(requested.into());
        assert_eq!(
            rendered(name, &response, &task)["ratio"],
            ratio,
            "{response}"
        );
    }
}
