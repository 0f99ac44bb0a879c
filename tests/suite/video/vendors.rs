//! Tests of the built-in families of vendors, each against a stub that was written from the vendor's own documentation.

use crate::harness::request::ANN;
use crate::harness::vendors::{
    Vendor, VendorCallbacks, VendorCancels, reasons_for_missing_columns, vendors,
};
use crate::harness::video::{GENERIC, OPENAI, ask, cancel, id_of, openai_config};
use crate::harness::{Gateway, Request, Simulator, WholeResponse, eventually};
use headgate_core::task::families::SHIPPED;
use serde_json::{Value, json};

/// What the stub is told, by the name of the scenario.
const SCENARIOS: [(&str, &str); 10] = [
    ("done", "queue=0ms;run=0ms"),
    ("soon", "queue=0ms;run=3s"),
    ("queued", "queue=60m"),
    ("running", "queue=0ms;run=60m"),
    ("failed", "queue=0ms;run=0ms;ends=failed;message=it broke"),
    ("filtered", "queue=0ms;run=0ms;ends=filtered"),
    ("empty", "queue=0ms;run=0ms;no_url"),
    ("unknown", "queue=0ms;run=60m;unknown_status"),
    ("limited", "status=429;only=POST"),
    ("limited_in_200", "status=429;only=POST;error_body"),
];

/// Headers that have the credential of one vendor or another.
const CREDENTIALS: [&str; 4] = ["authorization", "api-key", "x-goog-api-key", "x-key"];

/// One channel for each vendor and scenario, with the model `family/scenario`.
pub(super) fn configuration(simulator: &Simulator) -> Value {
    let mut config = openai_config(simulator, "");
    config["egress"] = json!({"allow": ["127.0.0.1"]});
    config["channels"] = json!({});
    for vendor in vendors() {
        for (scenario, directives) in SCENARIOS {
            let mut directives = directives.replace(' ', "%20");
            if let (true, Some(code)) = (scenario.starts_with("limited"), vendor.rate_limit_code) {
                directives += &format!(";code={code}");
            }
            let base = format!(
                "http://{}/~{directives}/vendor/{}",
                simulator.address, vendor.base
            );
            config["channels"][format!("{}-{scenario}", vendor.family)] = json!({
                "base_url": base, "protocols": ["video"], "family": vendor.family,
                "credential": vendor.credential.config(),
                "models": {format!("{}/{scenario}", vendor.family): vendor.model},
            });
        }
    }
    config
}

pub(super) async fn create(gateway: &Gateway, vendor: &Vendor, scenario: &str) -> WholeResponse {
    let mut body = vendor.create.clone();
    body["model"] = json!(format!("{}/{scenario}", vendor.family));
    gateway.ask(&Request::post(GENERIC, body.to_string())).await
}

/// The status of a new task.
async fn status(gateway: &Gateway, vendor: &Vendor, scenario: &str) -> WholeResponse {
    let created = create(gateway, vendor, scenario).await;
    assert_eq!(
        created.status,
        200,
        "{} {scenario}: {}",
        vendor.family,
        created.text()
    );
    let status = ask(gateway, GENERIC, &id_of(GENERIC, &created)).await;
    assert_eq!(
        status.status,
        200,
        "{} {scenario}: {}",
        vendor.family,
        status.text()
    );
    status
}

#[tokio::test]
async fn a_task_of_every_vendor_runs_and_ends_as_the_vendor_reports() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&configuration(&simulator)).await;
    for vendor in vendors() {
        for (scenario, state) in [
            ("done", "succeeded"),
            ("running", "running"),
            ("failed", "failed"),
            ("filtered", "failed"),
            ("empty", "failed"),
        ] {
            let status = status(&gateway, &vendor, scenario).await;
            let (json, name) = (status.json(), vendor.family);
            assert_eq!(
                json["status"],
                state,
                "{name} {scenario}: {}",
                status.text()
            );
            let has_url = json["video_url"]
                .as_str()
                .is_some_and(|url| url.starts_with("http") || url.starts_with("/v1/videos/"));
            assert_eq!(
                has_url,
                scenario == "done",
                "{name} {scenario}: {}",
                status.text()
            );
            let has_reason = json["error_message"]
                .as_str()
                .is_some_and(|text| !text.is_empty());
            assert_eq!(
                has_reason,
                state == "failed",
                "{name} {scenario}: {}",
                status.text()
            );
            // Vidu and PixVerse say a code only.
            if scenario == "failed" && !["vidu", "pixverse"].contains(&name) {
                let text = status.text();
                assert!(text.contains("it broke"), "{name}: {text}");
            }
        }
    }
    assert_only_the_vendors_key_arrived(&simulator).await;
}

#[tokio::test]
async fn a_task_that_waits_is_queued_or_running_also_if_the_vendor_reports_nothing() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&configuration(&simulator)).await;
    for vendor in vendors() {
        let status = status(&gateway, &vendor, "queued").await;
        let state = status.json()["status"].clone();
        assert!(
            state == "queued" || state == "running",
            "{}: {}",
            vendor.family,
            status.text()
        );
    }
}

#[tokio::test]
async fn a_word_that_a_vendor_does_not_document_leaves_its_task_running() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&configuration(&simulator)).await;
    let reasons = reasons_for_missing_columns();
    for vendor in vendors() {
        if reasons[vendor.family].contains_key("unknown_status") {
            continue;
        }
        let status = status(&gateway, &vendor, "unknown").await;
        assert_eq!(
            status.json()["status"],
            "running",
            "{}: {}",
            vendor.family,
            status.text()
        );
        let word = status.headers.get("x-headgate-upstream-status");
        assert!(word.is_some(), "{}", vendor.family);
    }
}

#[tokio::test]
async fn a_vendor_that_refuses_for_its_rate_is_not_sent_the_create_again() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&configuration(&simulator)).await;
    for vendor in vendors() {
        for (scenario, status) in [
            ("limited", 429),
            // An error that the vendor never states under status 200: the task may exist.
            (
                "limited_in_200",
                if vendor.has_errors_in_200 { 429 } else { 502 },
            ),
        ] {
            let before = simulator.records().await.len();
            let refused = create(&gateway, &vendor, scenario).await;
            let (name, text) = (vendor.family, refused.text());
            assert_eq!(refused.status, status, "{name} {scenario}: {text}");
            let sent = simulator.records().await.len() - before;
            assert_eq!(sent, 1, "{name} {scenario}");
        }
    }
}

#[tokio::test]
async fn a_task_of_every_vendor_is_polled_to_its_end() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&configuration(&simulator)).await;
    let mut tasks = Vec::new();
    for vendor in vendors() {
        let created = create(&gateway, &vendor, "soon").await;
        let id = id_of(GENERIC, &created);
        let first = ask(&gateway, GENERIC, &id).await;
        assert_eq!(first.json()["status"], "running", "{}", first.text());
        tasks.push((vendor.family, id));
    }
    for (name, id) in tasks {
        eventually(&format!("the end of the task of {name}"), async || {
            let status = ask(&gateway, GENERIC, &id).await;
            assert_eq!(status.status, 200, "{name}: {}", status.text());
            (status.json()["status"] == "succeeded").then_some(())
        })
        .await;
        let records = simulator.records().await;
        let is_query = |record: &&Value| {
            let endpoint = record["endpoint"].as_str().unwrap_or_default();
            let path = record["path"].as_str().unwrap_or_default();
            endpoint.ends_with(".query") && path.contains(&format!("/vendor/{}/", stub(name)))
        };
        let queries = records.iter().filter(is_query).count();
        assert!(queries >= 2, "{name}: {queries}");
    }
}

/// The name of a family's stub.
fn stub(family: &str) -> &'static str {
    let vendor = vendors().into_iter().find(|vendor| vendor.family == family);
    vendor.unwrap().base.split('/').next().unwrap()
}

#[tokio::test]
async fn the_credential_opens_private_videos_and_is_not_sent_to_signed_urls() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&configuration(&simulator)).await;
    for vendor in vendors() {
        let name = vendor.family;
        let created = create(&gateway, &vendor, "done").await;
        let id = id_of(GENERIC, &created);
        let status = ask(&gateway, GENERIC, &id).await.json();
        let url = status["video_url"].as_str().unwrap_or_default();
        let is_gateways = url.contains(&format!("{OPENAI}/{id}/content"));
        assert_eq!(is_gateways, vendor.has_private_videos, "{name}: {url}");
        assert_ne!(url.contains("/signed/"), is_gateways, "{name}: {url}");

        let before = simulator.records().await.len();
        let file = ask(&gateway, OPENAI, &format!("{id}/content")).await;
        assert_eq!(file.status, 200, "{name}: {}", file.text());
        let records = simulator.records().await.split_off(before);
        let mut opened = Vec::new();
        for record in records {
            let path = record["path"].as_str().unwrap();
            let headers = record["headers"].as_object().unwrap();
            let has_credential = CREDENTIALS.iter().any(|name| headers.contains_key(*name));
            if record["endpoint"]
                .as_str()
                .is_some_and(|name| name.ends_with(".content"))
            {
                assert_ne!(has_credential, path.contains("/signed/"), "{name}: {path}");
                opened.push(has_credential);
            }
        }
        assert_eq!(opened.contains(&true), vendor.has_private_videos, "{name}");
    }
}

#[tokio::test]
async fn videos_of_every_vendor_are_made_downloaded_and_deleted_in_the_format_of_openai() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&configuration(&simulator)).await;
    for vendor in vendors() {
        let name = vendor.family;
        let mut body = json!({"model": format!("{name}/done"), "prompt": "a gate"});
        body["seconds"] = json!(vendor.create["duration"].to_string());
        if vendor.create.get("ratio").is_some() {
            body["size"] = json!("1280x720");
        }
        let created = gateway.ask(&Request::post(OPENAI, body.to_string())).await;
        assert_eq!(created.status, 200, "{name}: {}", created.text());
        let id = created.json()["id"].as_str().unwrap().to_owned();
        let video = ask(&gateway, OPENAI, &id).await;
        assert_eq!(
            video.json()["status"],
            "completed",
            "{name}: {}",
            video.text()
        );
        let file = ask(&gateway, OPENAI, &format!("{id}/content")).await;
        assert_eq!(file.status, 200, "{name}: {}", file.text());
        assert!(
            file.body.windows(4).take(16).any(|part| part == b"ftyp"),
            "{name}"
        );
        let generic = ask(&gateway, GENERIC, &id).await;
        assert_eq!(
            generic.json()["status"],
            "succeeded",
            "{name}: {}",
            generic.text()
        );
        let deleted = cancel(&gateway, OPENAI, &id).await;
        assert_eq!(
            deleted.json()["deleted"],
            true,
            "{name}: {}",
            deleted.text()
        );
        assert_eq!(ask(&gateway, OPENAI, &id).await.status, 404, "{name}");
    }
    assert_only_the_vendors_key_arrived(&simulator).await;
}

/// No key of a caller reached a vendor.
async fn assert_only_the_vendors_key_arrived(simulator: &Simulator) {
    let records = json!(simulator.records().await).to_string();
    assert!(records.contains("vendor-key"), "{records}");
    assert!(!records.contains(ANN), "the caller's key arrived");
}

#[test]
fn every_family_is_tested_here_with_all_that_its_vendor_offers() {
    let reasons = reasons_for_missing_columns();
    let rows = vendors();
    for (family, _) in SHIPPED {
        if ["family-a", "family-b"].contains(&family) {
            continue;
        }
        let lacks = |column: &str| {
            reasons
                .get(family)
                .is_some_and(|by| by.contains_key(column))
        };
        let row = rows.iter().find(|row| row.family == family);
        assert_eq!(row.is_none(), lacks("simulated"), "{family}");
        let Some(row) = row else { continue };
        let cancels = row.cancels;
        assert_eq!(cancels == VendorCancels::Never, lacks("cancel"), "{family}");
        assert_eq!(
            cancels == VendorCancels::Queued,
            lacks("cancel_running"),
            "{family}"
        );
        let callbacks = row.callbacks;
        assert_eq!(
            callbacks == VendorCallbacks::Never,
            lacks("callback"),
            "{family}"
        );
    }
}
