//! Paid creates that an earlier version recorded: none is sent again that may have been made.

use crate::harness::earlier_version::{AGE, EarlierState, STORES};
use crate::harness::paid::{error_code, is_replayed, unsettled_creates};
use serde_json::Value;

#[tokio::test]
async fn recorded_responses_are_sent_again_and_nothing_to_the_provider() {
    for store in STORES {
        let earlier = EarlierState::open(store, AGE).await;
        for name in ["image", "generic_a", "generic_b", "native_a", "native_b"] {
            let again = earlier.gateway.ask(&earlier.request(name)).await;
            assert_eq!(again.status, 200, "{store:?} {name}: {}", again.text());
            assert!(is_replayed(&again), "{store:?} {name}");
            assert_eq!(again.text(), earlier.text(name, "body"), "{store:?} {name}");
        }
        // This one is in the media store, and that one has not reached its caller.
        let large = earlier.gateway.ask(&earlier.request("large_image")).await;
        assert!(is_replayed(&large), "{store:?}: {}", large.text());
        assert!(large.body.len() > 66_000, "{}", large.body.len());
        let undelivered = earlier.gateway.ask(&earlier.request("undelivered")).await;
        assert!(
            is_replayed(&undelivered),
            "{store:?}: {}",
            undelivered.text()
        );
        assert_eq!(earlier.creates(), 0, "{store:?}");
    }
}

#[tokio::test]
async fn a_create_of_unknown_outcome_is_not_sent_again() {
    for store in STORES {
        let earlier = EarlierState::open(store, AGE).await;
        for name in ["unknown", "in_flight"] {
            let again = earlier.gateway.ask(&earlier.request(name)).await;
            let found = (again.status, error_code(&again));
            assert_eq!(
                found,
                (504, "outcome_unknown".to_owned()),
                "{store:?} {name}"
            );
            if let Some(id) = earlier.results[name]["request_id"].as_str() {
                assert!(
                    again.text().contains(id),
                    "{store:?} {name}: {}",
                    again.text()
                );
            }
        }
        let mut other = earlier.request("generic_a");
        let body = String::from_utf8(other.body.take().unwrap()).unwrap();
        other.body = Some(body.replace("gate", "door").into());
        let refused = earlier.gateway.ask(&other).await;
        assert_eq!(refused.status, 422, "{store:?}: {}", refused.text());
        assert_eq!(earlier.creates(), 0, "{store:?}");
    }
}

#[tokio::test]
async fn a_create_that_was_only_reserved_is_sent_once() {
    for store in STORES {
        let earlier = EarlierState::open(store, AGE).await;
        let request = earlier.request("reserved");
        let made = earlier.gateway.ask(&request).await;
        assert_eq!(
            (made.status, is_replayed(&made)),
            (200, false),
            "{store:?}: {}",
            made.text()
        );
        assert!(
            is_replayed(&earlier.gateway.ask(&request).await),
            "{store:?}"
        );
        assert_eq!(earlier.creates(), 1, "{store:?}");
    }
}

#[tokio::test]
async fn operators_find_the_creates_of_an_earlier_version_that_are_not_settled() {
    for store in STORES {
        let earlier = EarlierState::open(store, AGE).await;
        let listed = unsettled_creates(&earlier.gateway.folder.path().join("routes.yaml"));
        let text = |create: &Value, key: &str| create[key].as_str().unwrap_or_default().to_owned();
        for name in ["unknown", "unknown_without_key"] {
            let id = earlier.text(name, "request_id");
            let create = listed
                .iter()
                .find(|create| text(create, "request_id") == id);
            let create = create.unwrap_or_else(|| panic!("{store:?} {name}: {listed:?}"));
            assert_eq!(
                text(create, "reason"),
                "outcome_unknown",
                "{store:?} {name}"
            );
            assert_eq!(
                create["key_sha256"].is_string(),
                name == "unknown",
                "{create}"
            );
        }
        let reasons = |reason: &str| {
            let found = listed
                .iter()
                .filter(|create| text(create, "reason") == reason);
            found.count()
        };
        // The third one was in flight.
        assert_eq!(reasons("outcome_unknown"), 3, "{store:?}: {listed:?}");
        assert_eq!(reasons("response_undelivered"), 1, "{store:?}: {listed:?}");
    }
}
