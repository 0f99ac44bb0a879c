//! Tests of who delivers which stored event.

use super::*;
use headgate_core::finding::FindingSeverity;
use headgate_core::state::StateStore;
use headgate_core::state::memory::MemoryStore;

fn receivers(names: &[&str]) -> AlertReceivers {
    let wanted: Vec<_> = names
        .iter()
        .map(|name| (*name, FindingSeverity::Warning))
        .collect();
    AlertReceivers::for_tests(&wanted)
}

async fn lease(state: &MemoryStore, names: &[&str]) -> Vec<LeasedAlert> {
    lease_due(state.records(), &receivers(names)).await.unwrap()
}

#[tokio::test]
async fn a_gateway_leaves_events_of_receivers_that_it_does_not_know_to_others() {
    let state = MemoryStore::default();
    let event = AlertEvent::new("newer", "{}".into());
    assert!(store(state.records(), &event).await.unwrap());
    for _ in 0..3 {
        assert!(lease(&state, &["older"]).await.is_empty());
    }
    let leased = lease(&state, &["older", "newer"]).await;
    assert_eq!(leased.len(), 1);
    assert_eq!(leased[0].event.id, event.id);
    assert_eq!(leased[0].event.expires_ms, event.expires_ms);
}

#[tokio::test]
async fn events_that_are_left_do_not_hide_what_is_due_behind_them() {
    let state = MemoryStore::default();
    for number in 0..=PAGE {
        let event = AlertEvent::new("unknown", number.to_string());
        assert!(store(state.records(), &event).await.unwrap());
    }
    let event = AlertEvent::new("known", "{}".into());
    let due_ms = event.due_ms + 1;
    let event = AlertEvent { due_ms, ..event };
    assert!(store(state.records(), &event).await.unwrap());
    tokio::time::sleep(Duration::from_millis(2)).await;
    let leased = lease(&state, &["known"]).await;
    assert_eq!(leased.len(), 1);
    let count = state.records().count(KIND).get().await.unwrap().count;
    assert_eq!(count, PAGE as u64 + 2, "no event is removed");
}

#[tokio::test]
async fn an_event_that_is_stored_twice_is_one() {
    let state = MemoryStore::default();
    let event = AlertEvent::new("known", "{}".into());
    for _ in 0..2 {
        assert!(store(state.records(), &event).await.unwrap());
    }
    assert_eq!(lease(&state, &["known"]).await.len(), 1);
    assert!(lease(&state, &["known"]).await.is_empty(), "it is taken");
}
