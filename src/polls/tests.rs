//! Questions to a provider that the test plays: what is told, what is asked, and what stays.

use super::*;
use crate::state::demand::{Admission, Demand, Ticket};
use crate::state::health::Health;
use crate::state::memory::Memory;
use crate::state::{Pending, Unavailable};
use crate::task::families::shipped;
use crate::task::state::State;
use http::{HeaderMap, StatusCode};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A provider that says what it is told to, and counts how often it is asked.
#[derive(Default)]
struct Provider(Arc<AtomicUsize>);

impl Provider {
    /// `status` is the provider's word, or an HTTP status.
    fn says(&self, status: &str) -> PendingResponse {
        let (asked, status) = (self.0.clone(), status.to_owned());
        Box::pin(async move {
            asked.fetch_add(1, Ordering::SeqCst);
            let output = r#"{"output":{"task_id":"up-1","task_status":"STATUS","video_url":"u"}}"#;
            let (code, body) = match status.parse::<u16>() {
                Ok(code) => (code, "{}".to_owned()),
                Err(_) => (200, output.replace("STATUS", &status)),
            };
            Ok(SubrequestResponse {
                status: StatusCode::from_u16(code).unwrap(),
                headers: HeaderMap::new(),
                body: body.into(),
            })
        })
    }

    fn asked(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

fn question(state: Arc<dyn Store>, change: impl FnOnce(&mut Family)) -> Question {
    let yaml = shipped("family-b").unwrap();
    let config: serde_json::Value = serde_saphyr::from_str(yaml).unwrap();
    let config = serde_json::from_value(config).unwrap();
    let mut family = Family::new("family-b", &config).unwrap();
    family.query.fresh = Duration::ZERO;
    family.query.fresh_when_done = Duration::ZERO;
    family.query.per_second = None;
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
    };
    Question {
        family: Arc::new(family),
        task,
        state,
    }
}

fn memory() -> Arc<dyn Store> {
    Arc::new(Memory::default())
}

fn state_of(told: &Told) -> State {
    told.as_ref().map(|known| known.report.state).unwrap()
}

#[tokio::test]
async fn what_is_told_never_goes_back() {
    for (words, told) in [
        (["PENDING", "RUNNING", "PENDING"], State::Running),
        (["RUNNING", "SUCCEEDED", "UNKNOWN"], State::Succeeded),
        (["RUNNING", "SUCCEEDED", "FAILED"], State::Succeeded),
        (["PENDING", "FAILED", "SUCCEEDED"], State::Failed),
        (["PENDING", "CANCELED", "RUNNING"], State::Cancelled),
        (["PENDING", "SUCCEEDED", "404"], State::Succeeded),
        (["PENDING", "SUCCEEDED", "500"], State::Succeeded),
        (["UNKNOWN", "PENDING", "SUCCEEDED"], State::Succeeded),
    ] {
        let (polls, provider) = (Arc::new(Polls::default()), Provider::default());
        let question = question(memory(), |_| {});
        let mut last = None;
        for word in words {
            last = Some(polls.report(question.clone(), provider.says(word)).await);
        }
        assert_eq!(state_of(&last.unwrap()), told, "{words:?}");
        assert_eq!(provider.asked(), 3, "{words:?}");
    }
}

#[tokio::test]
async fn what_was_said_is_told_again_while_it_is_fresh() {
    let hour = Duration::from_secs(3600);
    for (word, under_way, when_done, asked) in [
        ("RUNNING", hour, Duration::ZERO, 1),
        ("RUNNING", Duration::ZERO, hour, 3),
        ("SUCCEEDED", Duration::ZERO, hour, 1),
        ("SUCCEEDED", hour, Duration::ZERO, 3),
        ("500", hour, hour, 1),
    ] {
        let (polls, provider) = (Arc::new(Polls::default()), Provider::default());
        let question = question(memory(), |family| {
            family.query.fresh = under_way;
            family.query.fresh_when_done = when_done;
        });
        for _ in 0..3 {
            let told = polls.report(question.clone(), provider.says(word)).await;
            assert_eq!(told.is_ok(), word != "500");
            if let Ok(known) = told {
                assert!(known.again <= hour);
            }
        }
        assert_eq!(provider.asked(), asked, "{word}");
    }
}

#[tokio::test]
async fn over_budget_what_is_known_is_told_and_what_is_not_waits() {
    let (polls, provider) = (Arc::new(Polls::default()), Provider::default());
    let question = question(memory(), |family| family.query.per_second = Some(1));
    let began = Instant::now();
    for _ in 0..5 {
        let told = polls
            .report(question.clone(), provider.says("RUNNING"))
            .await;
        assert_eq!(state_of(&told), State::Running);
    }
    assert!(provider.asked() as u64 <= 1 + began.elapsed().as_secs());
    assert!(polls.tally().of(Outcome::OverBudget) >= 5 - provider.asked() as u64);
    let mut other = question;
    other.task.upstream = "up-2".into();
    let told = polls.report(other, provider.says("404")).await;
    assert!(
        matches!(*told.unwrap_err(), Trouble::Refused(_)),
        "it was asked in its turn"
    );
}

#[tokio::test]
async fn more_tasks_than_there_is_room_for_are_told_when_to_come_back() {
    let (polls, provider) = (Arc::new(Polls::default()), Provider::default());
    let mut asking = Vec::new();
    let state = memory();
    for number in 0..12 {
        let mut question = question(state.clone(), |family| family.query.per_second = Some(1));
        question.task.upstream = format!("up-{number}");
        let (polls, ask) = (polls.clone(), provider.says("404"));
        asking.push(tokio::spawn(
            async move { polls.report(question, ask).await },
        ));
    }
    let mut refused = 0;
    for asked in asking {
        let trouble = asked.await.unwrap().unwrap_err();
        if let Trouble::Failed(fault) = &*trouble {
            assert_eq!(fault.kind, FaultKind::TooManyRequests);
            assert!(fault.retry_after.is_some());
            refused += 1;
        }
    }
    assert_eq!(refused + provider.asked(), 12);
    assert!(refused >= 8, "{refused}");
}

/// A store that nobody reaches.
struct Away(WhenAway);

impl Store for Away {
    fn when_away(&self) -> WhenAway {
        self.0
    }

    fn health(&self) -> Health {
        Health::away("redis")
    }

    fn remember(&self, _: &Arc<str>, _: &str, _: &Arc<str>) {}

    fn channel_of<'a>(&'a self, _: &'a Arc<str>, _: &'a str) -> Pending<'a, Option<Arc<str>>> {
        gone()
    }

    fn forget(&self, _: &Arc<str>, _: &str) {}

    fn admit<'a>(&'a self, _: &'a Demand<'a>) -> Pending<'a, Admission> {
        gone()
    }

    fn settle(&self, _: Ticket, _: u64) {}

    fn pace<'a>(&'a self, _: &'a str, _: u16) -> Pending<'a, Pace> {
        gone()
    }

    fn note(&self, _: &str, _: &Bytes) {}

    fn noted<'a>(&'a self, _: &'a str) -> Pending<'a, Option<Bytes>> {
        gone()
    }
}

fn gone<'a, T>() -> Pending<'a, T> {
    Pending::Ready(Err(Unavailable("gone".into())))
}

#[tokio::test]
async fn while_the_store_is_away_each_gateway_counts_for_itself_or_nobody_is_asked() {
    for when_away in [WhenAway::Open, WhenAway::Closed] {
        let (polls, provider) = (Arc::new(Polls::default()), Provider::default());
        let away: Arc<dyn Store> = Arc::new(Away(when_away));
        let question = question(away, |family| family.query.per_second = Some(1));
        for _ in 0..3 {
            let told = polls
                .report(question.clone(), provider.says("RUNNING"))
                .await;
            match when_away {
                WhenAway::Open => assert_eq!(state_of(&told), State::Running),
                WhenAway::Closed => {
                    let trouble = told.unwrap_err();
                    let Trouble::Failed(fault) = &*trouble else {
                        panic!("{trouble:?}");
                    };
                    assert_eq!(fault.kind, FaultKind::Overloaded);
                }
            }
        }
        let own = polls.tally().of(Outcome::OverBudget);
        match when_away {
            WhenAway::Open => assert_eq!(provider.asked() as u64 + own, 3),
            WhenAway::Closed => assert_eq!((provider.asked(), own), (0, 3)),
        }
    }
}

#[tokio::test]
async fn the_end_is_noted_for_those_who_have_not_seen_it() {
    let state = memory();
    let provider = Provider::default();
    let ask = async |word: &str| {
        let polls = Arc::new(Polls::default());
        let question = question(state.clone(), |family| {
            family.query.fresh_when_done = Duration::from_secs(3600);
        });
        state_of(&polls.report(question, provider.says(word)).await)
    };
    assert_eq!(ask("RUNNING").await, State::Running);
    assert_eq!(ask("SUCCEEDED").await, State::Succeeded);
    assert_eq!(ask("UNKNOWN").await, State::Succeeded);
    assert_eq!(provider.asked(), 2, "the last was told by the note");
}

#[tokio::test]
async fn who_asks_now_is_told_what_is_so_and_not_what_was_guessed() {
    let (polls, provider) = (Arc::new(Polls::default()), Provider::default());
    let question = question(memory(), |family| {
        family.query.fresh = Duration::from_secs(3600);
        family.query.fresh_when_done = Duration::from_secs(3600);
    });
    let now = async |word: &str| {
        let report = polls.report_now(&question, provider.says(word)).await;
        report.unwrap().state
    };
    polls
        .report(question.clone(), provider.says("UNKNOWN"))
        .await
        .unwrap();
    assert_eq!(now("PENDING").await, State::Queued);
    assert_eq!(now("RUNNING").await, State::Running);
    assert_eq!(now("SUCCEEDED").await, State::Succeeded);
    assert_eq!(now("PENDING").await, State::Succeeded, "nobody was asked");
    assert_eq!(provider.asked(), 4);
}

#[tokio::test]
async fn who_asks_to_act_upon_it_has_room_for_that_too_and_need_not_wait_in_between() {
    let state = memory();
    let (polls, provider) = (Arc::new(Polls::default()), Provider::default());
    let question = question(state.clone(), |family| family.query.per_second = Some(2));
    let report = polls.report_now(&question, provider.says("PENDING")).await;
    assert_eq!(report.unwrap().state, State::Queued);
    let pace = state.pace("b", 2).get().await.unwrap();
    assert!(matches!(pace, Pace::In(_)), "{pace:?}");
}

#[tokio::test]
async fn the_end_that_another_gateway_has_seen_is_told_even_while_an_earlier_state_is_fresh() {
    let state = memory();
    let (polls, other) = (Arc::new(Polls::default()), Arc::new(Polls::default()));
    let provider = Provider::default();
    let question = question(state, |family| {
        family.query.fresh = Duration::from_secs(3600);
        family.query.fresh_when_done = Duration::from_secs(3600);
    });
    let poll = async |polls: &Arc<Polls>, word: &str| {
        state_of(&polls.report(question.clone(), provider.says(word)).await)
    };
    assert_eq!(poll(&polls, "PENDING").await, State::Queued);
    // As a cancel does there.
    let seen = other
        .report_now(&question, provider.says("SUCCEEDED"))
        .await;
    assert_eq!(seen.unwrap().state, State::Succeeded);
    assert_eq!(poll(&polls, "PENDING").await, State::Succeeded);
    assert_eq!(poll(&polls, "PENDING").await, State::Succeeded);
    assert_eq!(provider.asked(), 2);
}

#[tokio::test]
async fn what_who_asks_now_learns_is_told_to_all_who_poll() {
    let (polls, provider) = (Arc::new(Polls::default()), Provider::default());
    let question = question(memory(), |family| {
        family.query.fresh = Duration::from_secs(3600);
        family.query.fresh_when_done = Duration::from_secs(3600);
    });
    let poll =
        async |word: &str| state_of(&polls.report(question.clone(), provider.says(word)).await);
    assert_eq!(poll("PENDING").await, State::Queued);
    for (word, state) in [("RUNNING", State::Running), ("SUCCEEDED", State::Succeeded)] {
        let now = polls.report_now(&question, provider.says(word)).await;
        assert_eq!(now.unwrap().state, state);
        assert_eq!(poll("PENDING").await, state);
    }
    assert_eq!(provider.asked(), 3);
}
