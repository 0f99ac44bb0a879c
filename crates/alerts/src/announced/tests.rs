//! Tests of who gets which event.

use super::*;
use FindingSeverity::{Critical, Notice, Warning};
use serde_json::Value;

fn began(severity: FindingSeverity, subject: &str) -> FindingChange {
    FindingChange::Began(LiveFinding {
        severity,
        code: "certificate_expires",
        subject: subject.into(),
        cause: "It expires.".into(),
        advice: String::new(),
    })
}

fn over(key: &str) -> FindingChange {
    let (code, key) = ("certificate_expires", key.to_owned());
    FindingChange::Over { code, key }
}

/// The receiver, type, severity and subject of each event.
fn summaries(events: &[AlertEvent]) -> Vec<String> {
    let events = events.iter().map(|event| {
        let body: Value = serde_json::from_str(&event.body).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let data = &body["data"];
        let kind = text(&body["type"]);
        let (severity, subject) = (text(&data["severity"]), text(&data["subject"]));
        format!("{} {kind} {severity} {subject}", event.receiver)
    });
    events.collect()
}

#[test]
fn who_got_the_beginning_of_a_finding_gets_its_end_with_the_highest_severity_that_was_sent() {
    let receivers =
        AlertReceivers::for_tests(&[("all", Notice), ("chat", Warning), ("pager", Critical)]);
    let steps: [(FindingChange, &[&str]); 8] = [
        (
            began(Warning, "tls"),
            &[
                "all finding.began warning tls",
                "chat finding.began warning tls",
            ],
        ),
        (
            began(Critical, "tls"),
            &[
                "all finding.began critical tls",
                "chat finding.began critical tls",
                "pager finding.began critical tls",
            ],
        ),
        (
            over("tls"),
            &[
                "all finding.over critical tls",
                "chat finding.over critical tls",
                "pager finding.over critical tls",
            ],
        ),
        (over("tls"), &[]),
        (began(Notice, "tls"), &["all finding.began notice tls"]),
        (over("tls"), &["all finding.over notice tls"]),
        (
            began(Critical, "request req_1"),
            &[
                "all finding.began critical request req_1",
                "chat finding.began critical request req_1",
                "pager finding.began critical request req_1",
            ],
        ),
        (
            over("requests"),
            &[
                "all finding.over critical request req_1",
                "chat finding.over critical request req_1",
                "pager finding.over critical request req_1",
            ],
        ),
    ];
    let mut announced = AnnouncedFindings::default();
    for (number, (change, expected)) in steps.iter().enumerate() {
        let events = announced.apply(change, &receivers);
        assert_eq!(summaries(&events), *expected, "step {number}");
    }
}

#[test]
fn a_process_sends_what_its_predecessor_has_not_sent() {
    let before = AlertReceivers::for_tests(&[("chat", Warning), ("removed", Warning)]);
    let mut announced = AnnouncedFindings::default();
    for subject in ["stays", "ended", "rises"] {
        announced.apply(&began(Warning, subject), &before);
    }
    let stored = announced.encode(usize::MAX);
    let now_receivers = AlertReceivers::for_tests(&[("chat", Warning), ("new", Warning)]);
    let (mut next, start) = (AnnouncedFindings::default(), Instant::now());
    assert!(next.restore(&stored, start));
    let mut found = Vec::new();
    for (severity, subject) in [(Warning, "stays"), (Critical, "rises")] {
        found.extend(next.apply(&began(severity, subject), &now_receivers));
    }
    let expected = [
        "new finding.began warning stays",
        "chat finding.began critical rises",
        "new finding.began critical rises",
    ];
    assert_eq!(summaries(&found), expected);
    let absent = |next: &mut AnnouncedFindings, seconds| {
        let now = start + Duration::from_secs(seconds);
        summaries(&next.end_absent(&now_receivers, now))
    };
    assert!(absent(&mut next, 69).is_empty());
    let expected = ["chat finding.over warning ended"];
    assert_eq!(absent(&mut next, 70), expected);
    assert!(absent(&mut next, 200).is_empty(), "it is over once");
}

#[test]
fn findings_that_began_before_the_store_could_be_read_keep_who_got_them() {
    let receivers = AlertReceivers::for_tests(&[("chat", Warning)]);
    let mut earlier = AnnouncedFindings::default();
    earlier.apply(&began(Critical, "tls"), &receivers);
    let mut next = AnnouncedFindings::default();
    next.apply(&began(Warning, "tls"), &receivers);
    assert!(next.restore(&earlier.encode(usize::MAX), Instant::now()));
    let events = next.apply(&over("tls"), &receivers);
    assert_eq!(summaries(&events), ["chat finding.over critical tls"]);
    assert!(!next.restore(b"[{}]", Instant::now()), "what is no finding");
}

#[test]
fn what_is_stored_has_a_limit_and_so_have_the_findings() {
    let receivers = AlertReceivers::for_tests(&[("chat", Warning)]);
    let mut announced = AnnouncedFindings::default();
    let mut sent = 0;
    for number in 0..FINDINGS_MAX + 5 {
        let change = began(Warning, &format!("certificate {number}"));
        sent += announced.apply(&change, &receivers).len();
    }
    assert_eq!(sent, FINDINGS_MAX);
    let stored = announced.encode(10_000);
    assert!((5_000..=10_000).contains(&stored.len()), "{}", stored.len());
    assert!(AnnouncedFindings::default().restore(&stored, Instant::now()));
}
