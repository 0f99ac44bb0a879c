//! Callbacks that vendors sign: true ones are taken, and forged ones have no effect.

use super::check::check;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::receiver::callback_config;
use crate::harness::signed_vendors::{
    FAL, REPLICATE, SignedVendors, VendorCallback, add_channels, fal_signature,
};
use crate::harness::video::{GENERIC, id_of};
use crate::harness::{Request, ScriptedProvider, ScriptedResponse, Simulator, eventually};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::timeout;

/// The header of a family that has the signature, and a signature of the right form by nobody.
fn forged_signature(family: &str) -> (&'static str, String) {
    match family {
        "fal" => (FAL, "5a".repeat(64)),
        "replicate" => (REPLICATE, format!("v1,{}", STANDARD.encode([7; 32]))),
        _ => ("x-signature", format!("sha256={}", "5a".repeat(32))),
    }
}

/// Callbacks that nobody but a forger sends, of a task whose true one is `true_one`; with what they are.
fn forged(
    family: &str,
    true_one: &VendorCallback,
    other: &VendorCallback,
) -> Vec<(&'static str, VendorCallback)> {
    let (header, forgery) = forged_signature(family);
    let later = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
        + 1_000;
    let other_body = VendorCallback {
        body: true_one
            .body
            .replace("succeeded", "failed")
            .replace("\"OK\"", "\"ERROR\""),
        ..true_one.clone()
    };
    let swapped = VendorCallback {
        token: other.token.clone(),
        ..true_one.clone()
    };
    let ten = [&*forgery; 10].join(" ");
    let unsigned = VendorCallback {
        headers: Vec::new(),
        ..true_one.clone()
    };
    let mut twice = true_one.clone();
    twice.headers.push((header.to_owned(), forgery.clone()));
    let mut all = vec![
        ("another key", true_one.with(header, forgery)),
        ("another body", other_body),
        ("the token of another task", swapped),
        ("no headers", unsigned),
        ("no signature", true_one.without(header)),
        ("an empty signature", true_one.with(header, "")),
        ("ten signatures", true_one.with(header, ten)),
        ("two headers with signatures", twice),
    ];
    let times = ["x-fal-webhook-timestamp", "webhook-timestamp"];
    let times = times
        .into_iter()
        .filter(|name| !true_one.header(name).is_empty());
    for name in times {
        all.push(("an old time", true_one.with(name, "1600000000")));
        all.push(("another time", true_one.with(name, later.to_string())));
        all.push(("no time", true_one.without(name)));
    }
    all
}

#[tokio::test]
async fn a_signed_callback_reaches_the_caller_and_forged_ones_have_no_effect() {
    let vendors = SignedVendors::start(|_| {}).await;
    let mut refused = 0.0;
    for (index, family) in ["fal", "replicate", "plain"].into_iter().enumerate() {
        let (id, true_one) = vendors.created(family).await;
        let (_, other) = vendors.created(family).await;
        let queries = vendors.queries().await;
        for (what, callback) in forged(family, &true_one, &other) {
            let answer = vendors.send(&callback).await;
            assert_eq!(answer.status, 403, "{family}, {what}: {}", answer.text());
            refused += 1.0;
        }
        let huge = true_one.with(forged_signature(family).0, "a".repeat(1 << 20));
        let answer = vendors.send(&huge).await;
        assert!(
            [400, 431].contains(&answer.status),
            "{family}: {}",
            answer.status
        );
        assert_eq!(vendors.queries().await, queries, "{family}");
        assert_eq!(vendors.received("refused").await, refused, "{family}");

        let answer = vendors.send(&true_one).await;
        assert_eq!(answer.status, 200, "{family}: {}", answer.text());
        let events = vendors.setup.receiver.wait_for(index + 1).await;
        let event = events.last().unwrap().json();
        assert_eq!(
            (&event["task_id"], &event["status"]),
            (&json!(id), &json!("succeeded"))
        );
        // The task has ended: a callback that is repeated belongs to none.
        let answer = vendors.send(&true_one).await;
        assert_eq!(answer.status, 404, "{family}: {}", answer.text());
    }
    // One line for each channel, whatever comes.
    let lines = eventually("a line of each channel", async || {
        let log = vendors.setup.gateway.process.stderr.json();
        let lines = log
            .iter()
            .filter(|line| line["message"] == "callback refused");
        let count = lines.count();
        (count >= 3).then_some(count)
    });
    assert_eq!(lines.await, 3);
    assert_eq!(vendors.received("accepted").await, 3.0);
}

#[tokio::test]
async fn a_vendors_own_callbacks_lead_to_events() {
    let mut vendors = SignedVendors::start(|_| {}).await;
    let mut config = vendors.setup.config.clone();
    config["server"]["public_url"] = json!(format!(
        "http://{}",
        config["server"]["listen"].as_str().unwrap()
    ));
    vendors.setup.gateway.reload(&config).await;
    vendors.setup.config = config;
    for family in ["fal", "replicate"] {
        let body = json!({
            "model": family, "prompt": "a gate", "duration": 8, "ratio": "16:9",
            "callback_url": vendors.setup.receiver.url(&format!("/{family}")),
        });
        let created = vendors
            .setup
            .gateway
            .ask(&Request::post(GENERIC, body.to_string()))
            .await;
        let id = id_of(GENERIC, &created);
        eventually("the end of the task", async || {
            let events = vendors.setup.receiver.events();
            events
                .iter()
                .map(|event| event.json())
                .find(|event| event["task_id"] == *id && event["status"] == "succeeded")
        })
        .await;
    }
    assert_eq!(vendors.received("refused").await, 0.0);
}

#[tokio::test]
async fn while_the_keys_cannot_be_fetched_the_vendor_is_asked_to_send_again() {
    let error = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n";
    let keys = ScriptedProvider::start(vec![ScriptedResponse::Send(error.into())]).await;
    let jwks = format!("http://{}/jwks.json", keys.address);
    let vendors = SignedVendors::start(|config| {
        config["families"]["fal"]["callback"]["signature"] = fal_signature(&jwks);
    })
    .await;
    let (_, true_one) = vendors.created("fal").await;
    for _ in 0..3 {
        let answer = vendors.send(&true_one).await;
        assert_eq!(answer.status, 503, "{}", answer.text());
        assert_eq!(answer.headers.get("retry-after"), Some("30"));
    }
    assert_eq!(vendors.received("no_keys").await, 3.0);
    // The keys were not fetched for each callback.
    assert_eq!(keys.requests().len(), 1);
    // A forged token fetches nothing, and is no more than a forged token.
    let forged = VendorCallback {
        token: "forged".into(),
        ..true_one
    };
    assert_eq!(vendors.send(&forged).await.status, 404);
    assert_eq!(keys.requests().len(), 1);
}

#[tokio::test]
async fn keys_that_come_too_slowly_are_given_up() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"keys\":[";
    let mut drip = vec![ScriptedResponse::Send(head.into())];
    // No pause is as long as the idle timeout.
    for _ in 0..60 {
        drip.push(ScriptedResponse::Wait(Duration::from_millis(500)));
        drip.push(ScriptedResponse::Send(b" ".to_vec()));
    }
    let keys = ScriptedProvider::start(drip).await;
    let jwks = format!("http://{}/jwks.json", keys.address);
    let vendors = SignedVendors::start(|config| {
        config["families"]["fal"]["callback"]["signature"] = fal_signature(&jwks);
    })
    .await;
    let (_, true_one) = vendors.created("fal").await;
    let answer = timeout(Duration::from_secs(15), vendors.send(&true_one));
    let answer = answer.await.expect("the fetch has a deadline");
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert_eq!(keys.requests().len(), 1);
}

#[tokio::test]
async fn keys_are_fetched_only_where_egress_allows_it() {
    let keys = ScriptedProvider::start(vec![ScriptedResponse::Send("".into())]).await;
    let jwks = format!("http://localhost:{}/jwks.json", keys.address.port());
    let vendors = SignedVendors::start(|config| {
        config["egress"] = json!({"allow": ["127.0.0.2"]});
        config["families"]["fal"]["callback"]["signature"] = fal_signature(&jwks);
    })
    .await;
    let body = json!({"model": "fal", "prompt": "a gate", "duration": 8, "ratio": "16:9"});
    vendors
        .setup
        .gateway
        .ask(&Request::post(GENERIC, body.to_string()))
        .await;
    let callback = eventually("a callback", async || {
        let requests = vendors.mailbox.0.requests();
        requests
            .last()
            .map(|request| VendorCallback::received(request))
    })
    .await;
    assert_eq!(vendors.send(&callback).await.status, 503);
    assert!(keys.requests().is_empty());
}

#[tokio::test]
async fn without_the_secret_of_the_channel_a_callback_is_a_reason_to_query() {
    let vendors = SignedVendors::start(|config| {
        let channel = config["channels"]["replicate"].as_object_mut().unwrap();
        channel.remove("callback_secrets");
    })
    .await;
    let (_, true_one) = vendors.created("replicate").await;
    let answer = vendors.send(&true_one.without(REPLICATE)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    vendors.setup.receiver.wait_for(1).await;
}

#[tokio::test]
async fn check_reports_secrets_of_callbacks_that_are_missing_or_of_no_use() {
    let simulator = Simulator::start().await;
    let folder = folder_with_schemas();
    let secret = json!(["whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"]);
    for (family, secrets, is_valid, words) in [
        (
            "replicate",
            json!([]),
            true,
            "callbacks of channel `replicate` are not verified",
        ),
        (
            "replicate",
            json!(["short"]),
            false,
            "expected `whsec_` and base64",
        ),
        ("fal", secret.clone(), false, "not signed with secrets"),
    ] {
        let mut config = callback_config(&simulator, "");
        add_channels(
            &mut config,
            &simulator,
            &secret,
            "https://vendor.example/jwks.json",
        );
        config["channels"][family]["callback_secrets"] = secrets;
        let (is_accepted, report) = check(&folder, &config);
        assert_eq!(is_accepted, is_valid, "{words}: {report}");
        assert!(report.contains(words), "{words}: {report}");
        assert!(!report.contains("whsec_C2"), "{report}");
    }
}
