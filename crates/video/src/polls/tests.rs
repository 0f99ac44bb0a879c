//! Tests of status polls against a fake provider: cached statuses, queries sent, final statuses.

use super::*;
use headgate_core::state::OnStoreFailure;
use headgate_core::state::memory::MemoryStore;
use headgate_core::state::per_second_limiter::PerSecondDecision;
use headgate_core::state::test_stores::UnreachableStore;
use headgate_core::subrequest::SubrequestResponse;
use headgate_core::task::families::shipped;
use headgate_core::task::state::TaskState;
use http::{HeaderMap, StatusCode};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A provider that returns scripted statuses and counts the queries.
#[derive(Default)]
struct FakeProvider(Arc<AtomicUsize>);

impl FakeProvider {
    /// A response with `status`: a task status of the provider, or an HTTP status.
    fn responds(&self, status: &str) -> SubrequestFuture {
        let (poll_count, status) = (self.0.clone(), status.to_owned());
        Box::pin(async move {
            poll_count.fetch_add(1, Ordering::SeqCst);
            let output = r#"{"output":{"task_id":"up-1","task_status":"STATUS","video_url":"u"}}"#;
            let (code, body) = match status.parse::<u16>() {
                Ok(code) => (code, "{}".to_owned()),
                Err(_) => (200, output.replace("STATUS", &status)),
            };
            Ok(SubrequestResponse {
                inline_file: None,
                status: StatusCode::from_u16(code).unwrap(),
                headers: HeaderMap::new(),
                body: body.into(),
            })
        })
    }

    fn poll_count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

fn question(state: Arc<dyn StateStore>, change: impl FnOnce(&mut VideoFamily)) -> CallerStatusPoll {
    let yaml = shipped("family-b").unwrap();
    let config: serde_json::Value = serde_saphyr::from_str(yaml).unwrap();
    let config = serde_json::from_value(config).unwrap();
    let mut family = VideoFamily::new("family-b", &config).unwrap();
    family.query.cache_ttl = Duration::ZERO;
    family.query.final_cache_ttl = Duration::ZERO;
    family.query.max_per_second = None;
    change(&mut family);
    let task = TaskId {
        caller: "ann".into(),
        channel: "b".into(),
        credential: 1,
        model: "demo-video".into(),
        created: unix_ms() / 1_000,
        ratio: None,
        upstream: "up-1".into(),
        family: "family-b".into(),
        requested: Default::default(),
        query_url: None,
    };
    CallerStatusPoll {
        family: Arc::new(family),
        task,
        state,
    }
}

fn memory() -> Arc<dyn StateStore> {
    Arc::new(MemoryStore::default())
}

fn task_state(reported: &PollResult) -> TaskState {
    reported.as_ref().map(|known| known.report.state).unwrap()
}

#[tokio::test]
async fn a_status_never_goes_back() {
    for (words, reported) in [
        (["PENDING", "RUNNING", "PENDING"], TaskState::Running),
        (["RUNNING", "SUCCEEDED", "UNKNOWN"], TaskState::Succeeded),
        (["RUNNING", "SUCCEEDED", "FAILED"], TaskState::Succeeded),
        (["PENDING", "FAILED", "SUCCEEDED"], TaskState::Failed),
        (["PENDING", "CANCELED", "RUNNING"], TaskState::Cancelled),
        (["PENDING", "SUCCEEDED", "404"], TaskState::Succeeded),
        (["PENDING", "SUCCEEDED", "500"], TaskState::Succeeded),
        (["UNKNOWN", "PENDING", "SUCCEEDED"], TaskState::Succeeded),
    ] {
        let (polls, provider) = (
            Arc::new(TaskStatusFetcher::default()),
            FakeProvider::default(),
        );
        let status_query = question(memory(), |_| {});
        let mut last = None;
        for word in words {
            last = Some(
                polls
                    .status(status_query.clone(), provider.responds(word))
                    .await,
            );
        }
        assert_eq!(task_state(&last.unwrap()), reported, "{words:?}");
        assert_eq!(provider.poll_count(), 3, "{words:?}");
    }
}

#[tokio::test]
async fn a_fresh_status_is_served_from_the_cache() {
    let hour = Duration::from_secs(3600);
    for (word, under_way, when_done, poll_count) in [
        ("RUNNING", hour, Duration::ZERO, 1),
        ("RUNNING", Duration::ZERO, hour, 3),
        ("SUCCEEDED", Duration::ZERO, hour, 1),
        ("SUCCEEDED", hour, Duration::ZERO, 3),
        ("500", hour, hour, 1),
    ] {
        let (polls, provider) = (
            Arc::new(TaskStatusFetcher::default()),
            FakeProvider::default(),
        );
        let status_query = question(memory(), |family| {
            family.query.cache_ttl = under_way;
            family.query.final_cache_ttl = when_done;
        });
        for _ in 0..3 {
            let reported = polls
                .status(status_query.clone(), provider.responds(word))
                .await;
            assert_eq!(reported.is_ok(), word != "500");
            if let Ok(known) = reported {
                assert!(known.poll_after <= hour);
            }
        }
        assert_eq!(provider.poll_count(), poll_count, "{word}");
    }
}

#[tokio::test]
async fn over_budget_a_cached_status_is_served_or_the_poll_waits() {
    let (polls, provider) = (
        Arc::new(TaskStatusFetcher::default()),
        FakeProvider::default(),
    );
    let status_query = question(memory(), |family| family.query.max_per_second = Some(1));
    let began = Instant::now();
    for _ in 0..5 {
        let reported = polls
            .status(status_query.clone(), provider.responds("RUNNING"))
            .await;
        assert_eq!(task_state(&reported), TaskState::Running);
    }
    assert!(provider.poll_count() as u64 <= 1 + began.elapsed().as_secs());
    assert!(
        polls.counters().total(PollAnswerSource::OverBudget) >= 5 - provider.poll_count() as u64
    );
    let mut other = status_query;
    other.task.upstream = "up-2".into();
    let reported = polls.status(other, provider.responds("404")).await;
    assert!(
        matches!(*reported.unwrap_err(), StatusQueryError::Refused(_)),
        "it was asked in its turn"
    );
}

#[tokio::test]
async fn polls_over_budget_get_a_retry_after() {
    let (polls, provider) = (
        Arc::new(TaskStatusFetcher::default()),
        FakeProvider::default(),
    );
    let mut asking = Vec::new();
    let state = memory();
    for number in 0..12 {
        let mut status_query = question(state.clone(), |family| {
            family.query.max_per_second = Some(1)
        });
        status_query.task.upstream = format!("up-{number}");
        let (polls, ask) = (polls.clone(), provider.responds("404"));
        asking.push(tokio::spawn(async move {
            polls.status(status_query, ask).await
        }));
    }
    let mut refused = 0;
    for poll in asking {
        let error = poll.await.unwrap().unwrap_err();
        if let StatusQueryError::Failed(fault) = &*error {
            assert_eq!(fault.kind, FaultKind::TooManyRequests);
            assert!(fault.retry_after.is_some());
            refused += 1;
        }
    }
    assert_eq!(refused + provider.poll_count(), 12);
    assert!(refused >= 8, "{refused}");
}

#[tokio::test]
async fn without_the_store_polls_are_limited_locally_or_denied() {
    for on_store_failure in [OnStoreFailure::Allow, OnStoreFailure::Deny] {
        let (polls, provider) = (
            Arc::new(TaskStatusFetcher::default()),
            FakeProvider::default(),
        );
        let unreachable_store: Arc<dyn StateStore> = Arc::new(UnreachableStore(on_store_failure));
        let status_query = question(unreachable_store, |family| {
            family.query.max_per_second = Some(1)
        });
        for _ in 0..3 {
            let reported = polls
                .status(status_query.clone(), provider.responds("RUNNING"))
                .await;
            match on_store_failure {
                OnStoreFailure::Allow => assert_eq!(task_state(&reported), TaskState::Running),
                OnStoreFailure::Deny => {
                    let error = reported.unwrap_err();
                    let StatusQueryError::Failed(fault) = &*error else {
                        panic!("{error:?}");
                    };
                    assert_eq!(fault.kind, FaultKind::Overloaded);
                }
            }
        }
        let own = polls.counters().total(PollAnswerSource::OverBudget);
        match on_store_failure {
            OnStoreFailure::Allow => assert_eq!(provider.poll_count() as u64 + own, 3),
            OnStoreFailure::Deny => assert_eq!((provider.poll_count(), own), (0, 3)),
        }
    }
}

#[tokio::test]
async fn a_terminal_status_is_noted_in_the_store() {
    let state = memory();
    let provider = FakeProvider::default();
    let ask = async |word: &str| {
        let polls = Arc::new(TaskStatusFetcher::default());
        let status_query = question(state.clone(), |family| {
            family.query.final_cache_ttl = Duration::from_secs(3600);
        });
        task_state(&polls.status(status_query, provider.responds(word)).await)
    };
    assert_eq!(ask("RUNNING").await, TaskState::Running);
    assert_eq!(ask("SUCCEEDED").await, TaskState::Succeeded);
    assert_eq!(ask("UNKNOWN").await, TaskState::Succeeded);
    assert_eq!(provider.poll_count(), 2, "the last was told by the note");
}

fn cache_for_an_hour(family: &mut VideoFamily) {
    family.query.cache_ttl = Duration::from_secs(3600);
    family.query.final_cache_ttl = Duration::from_secs(3600);
}

#[tokio::test]
async fn status_now_queries_the_provider() {
    let (polls, provider) = (
        Arc::new(TaskStatusFetcher::default()),
        FakeProvider::default(),
    );
    let status_query = question(memory(), cache_for_an_hour);
    let now = async |word: &str| {
        let report = polls
            .status_now(&status_query, provider.responds(word), 2)
            .await;
        report.unwrap().state
    };
    polls
        .status(status_query.clone(), provider.responds("UNKNOWN"))
        .await
        .unwrap();
    assert_eq!(now("PENDING").await, TaskState::Queued);
    assert_eq!(now("RUNNING").await, TaskState::Running);
    assert_eq!(now("SUCCEEDED").await, TaskState::Succeeded);
    assert_eq!(
        now("PENDING").await,
        TaskState::Succeeded,
        "nobody was asked"
    );
    assert_eq!(provider.poll_count(), 4);
}

#[tokio::test]
async fn status_now_reserves_budget_for_the_cancel() {
    let state = memory();
    let (polls, provider) = (
        Arc::new(TaskStatusFetcher::default()),
        FakeProvider::default(),
    );
    let status_query = question(state.clone(), |family| {
        family.query.max_per_second = Some(2)
    });
    let report = polls
        .status_now(&status_query, provider.responds("PENDING"), 2)
        .await;
    assert_eq!(report.unwrap().state, TaskState::Queued);
    let pace = state.take_per_second("b", 2).get().await.unwrap();
    assert!(matches!(pace, PerSecondDecision::RetryAfter(_)), "{pace:?}");
}

#[tokio::test]
async fn a_terminal_status_of_another_gateway_replaces_a_fresh_one() {
    let state = memory();
    let (polls, other) = (
        Arc::new(TaskStatusFetcher::default()),
        Arc::new(TaskStatusFetcher::default()),
    );
    let provider = FakeProvider::default();
    let status_query = question(state, cache_for_an_hour);
    let poll = async |polls: &Arc<TaskStatusFetcher>, word: &str| {
        task_state(
            &polls
                .status(status_query.clone(), provider.responds(word))
                .await,
        )
    };
    assert_eq!(poll(&polls, "PENDING").await, TaskState::Queued);
    // A cancel uses `status_now` in the same way.
    let seen = other
        .status_now(&status_query, provider.responds("SUCCEEDED"), 2)
        .await;
    assert_eq!(seen.unwrap().state, TaskState::Succeeded);
    assert_eq!(poll(&polls, "PENDING").await, TaskState::Succeeded);
    assert_eq!(poll(&polls, "PENDING").await, TaskState::Succeeded);
    assert_eq!(provider.poll_count(), 2);
}

#[tokio::test]
async fn status_now_updates_the_cache_for_all_polls() {
    let (polls, provider) = (
        Arc::new(TaskStatusFetcher::default()),
        FakeProvider::default(),
    );
    let status_query = question(memory(), cache_for_an_hour);
    let poll = async |word: &str| {
        task_state(
            &polls
                .status(status_query.clone(), provider.responds(word))
                .await,
        )
    };
    assert_eq!(poll("PENDING").await, TaskState::Queued);
    for (word, state) in [
        ("RUNNING", TaskState::Running),
        ("SUCCEEDED", TaskState::Succeeded),
    ] {
        let now = polls
            .status_now(&status_query, provider.responds(word), 2)
            .await;
        assert_eq!(now.unwrap().state, state);
        assert_eq!(poll("PENDING").await, state);
    }
    assert_eq!(provider.poll_count(), 3);
}
