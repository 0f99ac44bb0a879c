//! The behaviour that every store must have.

use super::money::{
    a_reservation_is_settled_once, all_budgets_are_reserved_or_none,
    money_is_reserved_up_to_the_budget, what_costs_nothing_needs_no_budget,
};
use super::runs::{
    a_call_is_admitted_by_its_run_and_all_limits_or_by_none, a_caller_has_a_bounded_number_of_runs,
    a_forgotten_run_leaves_nothing_to_the_next_of_its_name, a_request_tightens_its_run_for_good,
    each_cap_ends_a_run, many_calls_at_once_pass_no_cap, runs_of_callers_are_apart,
    the_end_of_a_call_corrects_its_run,
};
use super::*;
use bytes::Bytes;
use headgate_core::state::memory::MemoryStore;
use headgate_core::state::note_cache::NOTE_BYTES_MAX;
use headgate_core::state::per_second_limiter::PerSecondDecision;

/// Runs each behaviour against `store`, and prints its name.
macro_rules! behaviours {
    ($($name:ident),+ $(,)?) => {
        pub async fn all(store: &dyn StateStore) {
            $(
                eprintln!("{}", stringify!($name));
                $name(store).await;
            )+
        }
    };
}

behaviours![
    an_id_leads_to_the_channel_that_made_it,
    a_later_channel_takes_an_ids_place,
    an_id_of_a_channel_stays_with_the_caller_that_had_it_first,
    an_id_of_another_caller_is_known_as_such,
    what_is_forgotten_is_unknown,
    requests_are_let_in_up_to_their_limit,
    tokens_are_taken_by_estimate_and_corrected,
    a_demand_that_never_fits_goes_through_alone,
    places_are_freed_when_settled,
    all_limits_are_taken_or_none,
    budgets_are_spent_and_corrected,
    what_a_budget_has_counted_is_corrected_later_and_more_than_once,
    money_is_reserved_up_to_the_budget,
    a_reservation_is_settled_once,
    all_budgets_are_reserved_or_none,
    what_costs_nothing_needs_no_budget,
    each_cap_ends_a_run,
    many_calls_at_once_pass_no_cap,
    the_end_of_a_call_corrects_its_run,
    a_call_is_admitted_by_its_run_and_all_limits_or_by_none,
    a_request_tightens_its_run_for_good,
    runs_of_callers_are_apart,
    a_caller_has_a_bounded_number_of_runs,
    a_forgotten_run_leaves_nothing_to_the_next_of_its_name,
    models_and_callers_are_counted_apart,
    a_limit_that_was_raised_keeps_its_count,
    limit_statuses_report_what_remains,
    no_second_holds_more_uses_than_it_may,
    a_note_is_found_by_its_key,
];

/// An id that no other test uses: the first caller that has an id keeps it.
fn new_id() -> String {
    format!("resp_1 of {}", caller())
}

async fn an_id_leads_to_the_channel_that_made_it(store: &dyn StateStore) {
    let (ann, bob, id) = (caller(), caller(), new_id());
    store.remember(&ann, &id, &Arc::from("primary"));
    assert_eq!(
        find_channel(store, &ann, &id).await.as_deref(),
        Some("primary")
    );
    assert_eq!(find_channel(store, &ann, &new_id()).await, None);
    assert_eq!(find_channel(store, &bob, &id).await, None);
}

async fn a_later_channel_takes_an_ids_place(store: &dyn StateStore) {
    let (ann, id) = (caller(), new_id());
    for channel in ["primary", "second"] {
        store.remember(&ann, &id, &Arc::from(channel));
        assert_eq!(
            find_channel(store, &ann, &id).await.as_deref(),
            Some(channel)
        );
    }
}

async fn an_id_of_a_channel_stays_with_the_caller_that_had_it_first(store: &dyn StateStore) {
    let channel = |name: &str| -> Arc<str> { name.into() };
    // The second claim comes while the first one is queued, and after it is written.
    for is_written in [false, true] {
        let (ann, bob, id) = (caller(), caller(), new_id());
        store.remember(&ann, &id, &channel("primary"));
        if is_written {
            store.flush(Duration::from_secs(10));
        }
        for _ in 0..2 {
            store.remember(&bob, &id, &channel("primary"));
            assert_eq!(find_channel(store, &bob, &id).await, None);
            store.flush(Duration::from_secs(10));
            assert_eq!(find_channel(store, &bob, &id).await, None);
            // The owner may refresh its own.
            store.remember(&ann, &id, &channel("primary"));
            store.flush(Duration::from_secs(10));
            let found = find_channel(store, &ann, &id).await;
            assert_eq!(found.as_deref(), Some("primary"));
        }
        // Another account may have the same id.
        store.remember(&bob, &id, &channel("second"));
        store.flush(Duration::from_secs(10));
        let found = find_channel(store, &bob, &id).await;
        assert_eq!(found.as_deref(), Some("second"));
    }
}

async fn an_id_of_another_caller_is_known_as_such(store: &dyn StateStore) {
    let (ann, bob, id) = (caller(), caller(), new_id());
    let channels: [Arc<str>; 2] = ["primary".into(), "second".into()];
    let is_anothers = async |caller: &Arc<str>| {
        let found = store.is_of_another(caller, &id, &channels).get().await;
        found.unwrap()
    };
    assert!(!is_anothers(&bob).await, "nobody has it");
    store.remember(&ann, &id, &channels[1]);
    // Queued, and then written.
    for _ in 0..2 {
        assert!(is_anothers(&bob).await);
        assert!(!is_anothers(&ann).await);
        store.flush(Duration::from_secs(10));
    }
}

async fn what_is_forgotten_is_unknown(store: &dyn StateStore) {
    let (ann, id) = (caller(), new_id());
    store.remember(&ann, &id, &Arc::from("primary"));
    store.flush(Duration::from_secs(10));
    store.forget(&ann, &id);
    assert_eq!(find_channel(store, &ann, &id).await, None);
    store.flush(Duration::from_secs(10));
    assert_eq!(find_channel(store, &ann, &id).await, None);
    store.remember(&ann, &id, &Arc::from("second"));
    assert_eq!(
        find_channel(store, &ann, &id).await.as_deref(),
        Some("second")
    );
}

async fn requests_are_let_in_up_to_their_limit(store: &dyn StateStore) {
    let limits = [limit(&caller(), LimitKind::RequestsPerMinute, 3)];
    for _ in 0..3 {
        let ticket = granted(store, &limits, 0).await;
        store.settle(ticket, 0);
    }
    let (which, retry_after) = refused(store, &limits, 0).await;
    assert_eq!(which, 0);
    assert!(retry_after > Duration::ZERO && retry_after <= Duration::from_secs(61));
}

async fn tokens_are_taken_by_estimate_and_corrected(store: &dyn StateStore) {
    let limits = [limit(&caller(), LimitKind::TokensPerMinute, 100)];
    let ticket = granted(store, &limits, 90).await;
    assert_eq!(refused(store, &limits, 20).await.0, 0);
    store.settle(ticket, 10);
    store.flush(Duration::from_secs(10));
    let ticket = granted(store, &limits, 90).await;
    store.settle(ticket, 95);
    store.flush(Duration::from_secs(10));
    assert_eq!(refused(store, &limits, 1).await.0, 0);
}

async fn a_demand_that_never_fits_goes_through_alone(store: &dyn StateStore) {
    let limits = [limit(&caller(), LimitKind::TokensPerMinute, 100)];
    granted(store, &limits, 1000).await;
    assert_eq!(refused(store, &limits, 1).await.0, 0);
}

async fn places_are_freed_when_settled(store: &dyn StateStore) {
    let limits = [limit(&caller(), LimitKind::Concurrent, 2)];
    let first = granted(store, &limits, 0).await;
    let _second = granted(store, &limits, 0).await;
    let (_, retry_after) = refused(store, &limits, 0).await;
    assert!(retry_after > Duration::ZERO);
    store.settle(first, 0);
    store.flush(Duration::from_secs(10));
    granted(store, &limits, 0).await;
    refused(store, &limits, 0).await;
}

async fn all_limits_are_taken_or_none(store: &dyn StateStore) {
    let ann = caller();
    let narrow = limit(&ann, LimitKind::TokensPerMinute, 10);
    let wide = limit(&ann, LimitKind::RequestsPerMinute, 3);
    let lease = limit(&ann, LimitKind::Concurrent, 3);
    let all = [wide.clone(), lease.clone(), narrow];
    granted(store, &all, 10).await;
    for _ in 0..5 {
        assert_eq!(refused(store, &all, 10).await.0, 2);
    }
    for _ in 0..2 {
        granted(store, &[wide.clone(), lease.clone()], 0).await;
    }
    refused(store, &[wide], 0).await;
    refused(store, &[lease], 0).await;
}

async fn budgets_are_spent_and_corrected(store: &dyn StateStore) {
    for measure in [LimitKind::TokensPerDay, LimitKind::TokensPerMonth] {
        let limits = [limit(&caller(), measure, 100)];
        let ticket = granted(store, &limits, 99).await;
        store.settle(ticket, 50);
        store.flush(Duration::from_secs(10));
        let ticket = granted(store, &limits, 10).await;
        store.settle(ticket, 70);
        store.flush(Duration::from_secs(10));
        let (_, retry_after) = refused(store, &limits, 1).await;
        assert!(retry_after > Duration::ZERO && retry_after <= 31 * DAY);
    }
}

async fn what_a_budget_has_counted_is_corrected_later_and_more_than_once(store: &dyn StateStore) {
    for measure in [LimitKind::TokensPerDay, LimitKind::TokensPerMonth] {
        let limits = [limit(&caller(), measure, 100)];
        let remaining = async || {
            store.flush(Duration::from_secs(10));
            admit(store, &limits, 0).await.limit_statuses[0].remaining
        };
        let mut settled = Vec::new();
        for tokens in [30, 50] {
            let ticket = granted(store, &limits, tokens).await;
            settled.push(AdmissionTicket {
                limits: limits.to_vec(),
                tokens,
                taken_at: ticket.taken_at,
                lease: 0,
            });
            store.settle(ticket, tokens);
        }
        assert_eq!(remaining().await, 20);
        for (ticket, (tokens, expected)) in settled.into_iter().zip([(10, 40), (70, 20)]) {
            store.correct(ticket, tokens);
            assert_eq!(remaining().await, expected);
        }
    }
}

async fn models_and_callers_are_counted_apart(store: &dyn StateStore) {
    let (ann, bob) = (caller(), caller());
    let of_model = |model: &str| {
        AdmissionLimit::new(&ann, Some(&model.into()), LimitKind::RequestsPerMinute, 1)
    };
    let limits = [
        limit(&ann, LimitKind::RequestsPerMinute, 1),
        limit(&bob, LimitKind::RequestsPerMinute, 1),
        of_model("large"),
        of_model("small"),
    ];
    for limit in limits {
        granted(store, std::slice::from_ref(&limit), 0).await;
        refused(store, &[limit], 0).await;
    }
}

async fn a_limit_that_was_raised_keeps_its_count(store: &dyn StateStore) {
    let ann = caller();
    for measure in [LimitKind::RequestsPerMinute, LimitKind::Concurrent] {
        granted(store, &[limit(&ann, measure, 1)], 0).await;
        refused(store, &[limit(&ann, measure, 1)], 0).await;
        granted(store, &[limit(&ann, measure, 2)], 0).await;
        refused(store, &[limit(&ann, measure, 2)], 0).await;
    }
}

async fn limit_statuses_report_what_remains(store: &dyn StateStore) {
    let ann = caller();
    let limits = [
        limit(&ann, LimitKind::RequestsPerMinute, 5),
        limit(&ann, LimitKind::TokensPerMinute, 100),
        limit(&ann, LimitKind::Concurrent, 1),
        limit(&ann, LimitKind::TokensPerDay, 1000),
    ];
    let left = |admission: &AdmissionResult| {
        let remaining = admission
            .limit_statuses
            .iter()
            .map(|status| status.remaining);
        remaining.collect::<Vec<_>>()
    };
    let admission = admit(store, &limits, 30).await;
    assert_eq!(left(&admission), [4, 70, 0, 970]);
    let resets = admission.limit_statuses.iter().map(|status| status.reset);
    let resets: Vec<_> = resets.collect();
    // The reset is at most the window, however far into a second the test began.
    let minute = Duration::from_secs(58)..=Duration::from_secs(60);
    assert!(
        minute.contains(&resets[0]) && minute.contains(&resets[1]),
        "{resets:?}"
    );
    assert_eq!(resets[2], Duration::ZERO);
    assert!(resets[3] > Duration::ZERO && resets[3] <= DAY, "{resets:?}");
    // A refused request is not charged.
    assert_eq!(left(&admit(store, &limits, 30).await), [4, 70, 0, 970]);
}

async fn no_second_holds_more_uses_than_it_may(store: &dyn StateStore) {
    let (budget_key, other) = (caller(), caller());
    let pace =
        async |budget_key: &str, most| store.take_per_second(budget_key, most).get().await.unwrap();
    for _ in 0..3 {
        assert_eq!(pace(&budget_key, 3).await, PerSecondDecision::Allowed);
    }
    let PerSecondDecision::RetryAfter(wait) = pace(&budget_key, 3).await else {
        panic!("a fourth within a second");
    };
    assert!(wait > Duration::ZERO && wait <= Duration::from_millis(1_250));
    assert_eq!(pace(&other, 3).await, PerSecondDecision::Allowed);
    eventually("room again", async || {
        pace(&budget_key, 3).await == PerSecondDecision::Allowed
    })
    .await;
}

async fn a_note_is_found_by_its_key(store: &dyn StateStore) {
    let key = caller();
    let noted = async |key: &str| store.get_note(key).get().await.unwrap();
    assert_eq!(noted(&key).await, None);
    for text in ["first", "second \0 {}"] {
        store.put_note(&key, &Bytes::from(text));
        store.flush(Duration::from_secs(10));
        assert_eq!(noted(&key).await.as_deref(), Some(text.as_bytes()));
    }
    store.put_note(&key, &Bytes::from(vec![0; NOTE_BYTES_MAX + 1]));
    store.flush(Duration::from_secs(10));
    assert_eq!(noted(&key).await.unwrap().len(), 11);
    assert_eq!(noted(&caller()).await, None);
}

#[tokio::test]
async fn memory_store_fulfils_the_contract() {
    let store = MemoryStore::default();
    all(&store).await;
    super::records::all(&store).await;
}

#[tokio::test]
async fn sqlite_store_fulfils_the_contract() {
    all(&*TempFolder::new().store()).await;
}
