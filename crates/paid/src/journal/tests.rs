//! Tests of the journal on the store in memory.

mod lost_results;
mod settled_charges;
mod slow_reads;

use super::*;
use bytes::Bytes;
use headgate_core::state::memory::MemoryStore;
use headgate_core::state::records::RecordStore;
use std::future::ready;

const LIMITS: JournalLimits = JournalLimits {
    keep: Duration::from_secs(60),
    keep_unknown: Duration::from_secs(600),
    keys_max: 2,
};

struct JournalSetup {
    journal: Arc<CreateJournal>,
    store: Arc<dyn StateStore>,
}

impl JournalSetup {
    fn new() -> Self {
        Self::on(Arc::new(MemoryStore::default()))
    }

    fn on(store: Arc<dyn StateStore>) -> Self {
        Self {
            journal: Arc::default(),
            store,
        }
    }

    async fn claim(&self, request_id: &str, key: &str, body: &str) -> KeyClaim {
        let claim = self.try_claim(request_id, key, body).await;
        claim.unwrap_or_else(|error| panic!("{error}"))
    }

    async fn try_claim(
        &self,
        request_id: &str,
        key: &str,
        body: &str,
    ) -> Result<KeyClaim, JournalError> {
        let keyed = KeyedRequest {
            record_key: key.into(),
            fingerprint: CreateFingerprint(body.into()),
            wait_max: Duration::from_millis(50),
            body_bytes: 1,
        };
        let create = create(request_id);
        self.journal
            .claim(&self.store, &create, &keyed, LIMITS)
            .await
    }

    async fn stored(&self, key: &str) -> Option<CreateState> {
        let records = self.store.records();
        let found = records.get(RecordKind::IdempotencyKey, key).get().await;
        let found = found.unwrap()?;
        Some(CreateRecord::decode(&found.content.value).unwrap().state)
    }

    /// Removes a record as a store that loses it.
    async fn lose(&self, key: &str) {
        let (records, kind) = (self.store.records(), RecordKind::IdempotencyKey);
        let found = records.get(kind, key).get().await.unwrap().unwrap();
        let removed = records.remove(kind, key, found.version).get().await;
        assert!(removed.unwrap());
    }

    /// Puts a record in place as another gateway would have left it.
    async fn leave(&self, key: &str, state: CreateState) {
        let mut record =
            CreateRecord::new(&create("req_gone"), Some(&CreateFingerprint("a".into())));
        record.state = state;
        let content = RecordContent {
            value: record.encode(),
            owner: "ann".into(),
            expires_ms: u64::MAX,
            due_ms: None,
        };
        let records = self.store.records();
        let kind = RecordKind::IdempotencyKey;
        records.insert(kind, key, content, 9).get().await.unwrap();
    }
}

fn nothing() -> CreateMoney {
    CreateMoney::default()
}

fn create(request_id: &str) -> CreateRequest {
    CreateRequest {
        request_id: request_id.into(),
        caller: "ann".into(),
        route: "video".into(),
        model: None,
    }
}

fn first(claim: KeyClaim) -> JournalEntryHandle {
    match claim {
        KeyClaim::FirstRequest(entry) => entry,
        _ => panic!("the key is not free"),
    }
}

fn response() -> RecordedResponse {
    RecordedResponse {
        status: 201,
        headers: vec![("content-type".into(), "application/json".into())],
        body: RecordedBody::Inline {
            bytes: Bytes::from_static(b"{\"id\":\n1}\n"),
        },
    }
}

/// Changes the state of a create in the store.
async fn change_state(records: &dyn RecordStore, key: &str, state: CreateState) {
    let kind = RecordKind::IdempotencyKey;
    let found = records.get(kind, key).get().await.unwrap().unwrap();
    let mut record = CreateRecord::decode(&found.content.value).unwrap();
    record.state = state;
    let content = RecordContent {
        value: record.encode(),
        ..found.content
    };
    let replaced = records.replace(kind, key, found.version, content);
    assert!(replaced.get().await.unwrap().is_some());
}

/// Waits for what was spawned in the background.
async fn until(mut is_there: impl AsyncFnMut() -> bool) {
    while !is_there().await {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[test]
fn a_record_survives_its_format_and_a_later_format_is_refused() {
    let mut record = CreateRecord::new(&create("req_1"), Some(&CreateFingerprint("abc".into())));
    for state in [
        CreateState::Reserved { lease_ms: 7 },
        CreateState::Sending {
            channel: "a".into(),
            lease_ms: 7,
        },
        CreateState::Accepted {
            channel: "a".into(),
            response_id: Some("task_1".into()),
            is_delivered: false,
            response: Some(response()),
        },
        CreateState::OutcomeUnknown {
            channel: "a".into(),
            upstream_request_id: None,
        },
    ] {
        record.state = state;
        assert_eq!(CreateRecord::decode(&record.encode()).unwrap(), record);
    }
    let mut later = record.encode().to_vec();
    later[0] += 1;
    assert!(CreateRecord::decode(&later.into()).is_err());
    assert!(CreateRecord::decode(&Bytes::new()).is_err());
}

#[tokio::test]
async fn a_key_is_claimed_once_and_its_duplicates_get_the_response() {
    let setup = JournalSetup::new();
    let entry = first(setup.claim("req_1", "key", "a").await);
    assert!(matches!(
        setup.claim("req_2", "key", "b").await,
        KeyClaim::OtherRequest
    ));
    assert!(matches!(
        setup.claim("req_2", "key", "a").await,
        KeyClaim::InFlight
    ));
    entry.begin_sending("a", nothing()).await.unwrap();
    entry.record_response(Some(response()), None).await.unwrap();
    match setup.claim("req_2", "key", "a").await {
        KeyClaim::Response(replay) => assert_eq!(replay.response, response()),
        _ => panic!("the response is recorded"),
    }
    entry.end(CreateEnd::AlreadyRecorded { is_delivered: true });
    let is_delivered = async || {
        let stored = setup.stored("key").await;
        matches!(stored, Some(CreateState::Accepted { is_delivered, .. }) if is_delivered)
    };
    until(is_delivered).await;
}

#[tokio::test]
async fn an_entry_that_is_dropped_frees_its_key_until_it_was_sent() {
    let setup = JournalSetup::new();
    let entry = first(setup.claim("req_1", "key", "a").await);
    drop(entry);
    until(async || setup.stored("key").await.is_none()).await;
    let entry = first(setup.claim("req_2", "key", "b").await);
    entry.begin_sending("a", nothing()).await.unwrap();
    drop(entry);
    let is_unknown = async || {
        let stored = setup.stored("key").await;
        matches!(stored, Some(CreateState::OutcomeUnknown { .. }))
    };
    until(is_unknown).await;
    match setup.claim("req_3", "key", "b").await {
        KeyClaim::OutcomeUnknown { request_id } => assert_eq!(request_id, "req_2"),
        _ => panic!("nobody knows"),
    }
}

#[tokio::test]
async fn what_a_killed_gateway_left_is_taken_over_only_if_it_was_not_sent() {
    let setup = JournalSetup::new();
    let expired = 1;
    setup
        .leave("reserved", CreateState::Reserved { lease_ms: expired })
        .await;
    let sending = CreateState::Sending {
        channel: "a".into(),
        lease_ms: expired,
    };
    setup.leave("sending", sending).await;
    first(setup.claim("req_1", "reserved", "another body").await);
    match setup.claim("req_1", "sending", "a").await {
        KeyClaim::OutcomeUnknown { request_id } => assert_eq!(request_id, "req_gone"),
        _ => panic!("it may have been sent"),
    }
}

#[tokio::test]
async fn an_owner_that_was_taken_over_may_not_send() {
    let setup = JournalSetup::new();
    let slow = first(setup.claim("req_1", "key", "a").await);
    // Its lease expires while it does nothing.
    let expired = CreateState::Reserved { lease_ms: 1 };
    change_state(setup.store.records(), "key", expired).await;
    let other_gateway = JournalSetup {
        store: setup.store.clone(),
        journal: Arc::default(),
    };
    let quick = first(other_gateway.claim("req_2", "key", "a").await);
    let refused = slow.begin_sending("a", nothing()).await;
    assert!(matches!(refused, Err(JournalError::TakenOver)));
    drop(slow);
    quick.begin_sending("a", nothing()).await.unwrap();
    tokio::task::yield_now().await;
    assert!(matches!(
        setup.stored("key").await,
        Some(CreateState::Sending { .. })
    ));
}

/// The caller of an exchange may leave while this is stored, and the end may be stored first.
#[tokio::test]
async fn an_entry_that_has_ended_is_not_stored_as_being_sent() {
    let setup = JournalSetup::new();
    let entry = first(setup.claim("req_1", "key", "a").await);
    entry.0.clone().end_after(ready(CreateEnd::NotMade));
    let sending = entry.begin_sending("a", nothing()).await;
    assert!(matches!(sending, Err(JournalError::Ended)));
    assert_eq!(setup.stored("key").await, None);
    // The key is free for the caller's next request.
    first(setup.claim("req_2", "key", "a").await);
}

#[tokio::test]
async fn a_caller_has_only_so_many_records() {
    let setup = JournalSetup::new();
    let _entries = [
        first(setup.claim("req_1", "one", "a").await),
        first(setup.claim("req_2", "two", "a").await),
    ];
    let third = setup.try_claim("req_3", "three", "a").await;
    assert!(matches!(third, Err(JournalError::Full { keys_max: 2 })));
}

#[tokio::test]
async fn a_create_without_a_key_is_recorded_until_its_response_was_delivered() {
    let setup = JournalSetup::new();
    let stored = async || {
        let records = setup.store.records();
        let found = records.get(RecordKind::PaidCreate, "req_1").get().await;
        let found = found.unwrap()?;
        Some(CreateRecord::decode(&found.content.value).unwrap().state)
    };
    for is_delivered in [true, false] {
        let entry = setup
            .journal
            .entry_without_key(&setup.store, &create("req_1"), LIMITS);
        assert_eq!(stored().await, None);
        entry.begin_sending("a", nothing()).await.unwrap();
        assert!(matches!(stored().await, Some(CreateState::Sending { .. })));
        let recorded = entry.record_response(None, Some("task_1".into()));
        recorded.await.unwrap();
        entry.end(CreateEnd::AlreadyRecorded { is_delivered });
        if is_delivered {
            until(async || stored().await.is_none()).await;
        }
    }
    assert!(matches!(
        stored().await,
        Some(CreateState::Accepted { response_id: Some(id), .. }) if id == "task_1"
    ));
}

#[tokio::test]
async fn ends_of_creates_that_were_never_stored_are_given_up() {
    let setup = JournalSetup::on(Arc::new(MemoryStore::fallback_for("sqlite")));
    for nth in 0..100 {
        let claim = setup.try_claim("req_1", &format!("key-{nth}"), "a").await;
        assert!(matches!(claim, Err(JournalError::Store(_))));
    }
    let create = create("req_2");
    let entry = setup
        .journal
        .entry_without_key(&setup.store, &create, LIMITS);
    let refused = entry.begin_sending("a", nothing()).await;
    assert!(matches!(refused, Err(JournalError::Store(_))));
    entry.end(CreateEnd::NotMade);
    let ends = setup.journal.until_ends_are_stored();
    let given_up = tokio::time::timeout(Duration::from_secs(60), ends).await;
    assert!(given_up.is_ok());
}

#[tokio::test]
async fn a_record_that_the_store_lost_is_stored_again() {
    let setup = JournalSetup::new();
    let entry = first(setup.claim("req_1", "key", "a").await);
    setup.lose("key").await;
    entry.begin_sending("a", nothing()).await.unwrap();
    // The number of the caller's keys does not matter then.
    let _others = [first(setup.claim("req_2", "two", "a").await), {
        setup.lose("key").await;
        first(setup.claim("req_3", "three", "a").await)
    }];
    entry.record_response(Some(response()), None).await.unwrap();
    match setup.claim("req_4", "key", "a").await {
        KeyClaim::Response(replay) => assert_eq!(replay.request_id, "req_1"),
        _ => panic!("the response is recorded"),
    }
}

#[tokio::test]
async fn the_record_of_another_request_is_not_replaced() {
    let setup = JournalSetup::new();
    let entry = first(setup.claim("req_1", "key", "a").await);
    entry.begin_sending("a", nothing()).await.unwrap();
    setup.lose("key").await;
    let others = CreateState::Sending {
        channel: "b".into(),
        lease_ms: u64::MAX,
    };
    setup.leave("key", others.clone()).await;
    let refused = entry.record_response(Some(response()), None).await;
    assert!(matches!(refused, Err(JournalError::TakenOver)));
    entry.end(CreateEnd::AlreadyRecorded { is_delivered: true });
    setup.journal.until_ends_are_stored().await;
    assert_eq!(setup.stored("key").await, Some(others));
}

#[tokio::test]
async fn a_create_is_not_forgotten_while_it_is_sent() {
    let setup = JournalSetup::new();
    let limits = JournalLimits {
        keep: Duration::from_millis(1),
        keep_unknown: Duration::from_millis(1),
        keys_max: 1,
    };
    let entry = setup
        .journal
        .entry_without_key(&setup.store, &create("req_1"), limits);
    entry.begin_sending("a", nothing()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(10)).await;
    let records = setup.store.records();
    let found = records.get(RecordKind::PaidCreate, "req_1").get().await;
    assert!(found.unwrap().is_some());
    entry.end(CreateEnd::OutcomeUnknown {
        upstream_request_id: None,
    });
    setup.journal.until_ends_are_stored().await;
    tokio::time::sleep(Duration::from_millis(10)).await;
    let found = records.get(RecordKind::PaidCreate, "req_1").get().await;
    assert_eq!(found.unwrap(), None);
}
