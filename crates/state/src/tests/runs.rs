//! Runs of agents, whose caps every store must keep.

use super::redis_server::RedisServer;
use super::{TempFolder, caller, join_all, limit, redis_store};
use headgate_core::state::StateStore;
use headgate_core::state::admission::{
    AdmissionDecision, AdmissionLimit, AdmissionRequest, LimitKind,
};
use headgate_core::state::money::MoneyReservation;
use headgate_core::state::run::{
    RUN_CALLS_KEPT, RunCall, RunCallEnd, RunCap, RunCaps, RunDemand, RunKey, RunRefusal, RunTicket,
};
use headgate_core::state::run_usage::{RunStatus, RunUsage};
use std::sync::Arc;
use std::time::Duration;

pub type AdmittedCall = (RunTicket, Option<MoneyReservation>);

const HOUR_MS: u64 = 3_600_000;

fn caps(all: &[(RunCap, u64)]) -> RunCaps {
    let mut caps = RunCaps::default();
    for (cap, most) in all {
        caps.set(*cap, Some(*most));
    }
    caps
}

/// A call of a run `job` that uses 10 tokens and costs 100 billionths.
pub fn demand(caller: &Arc<str>, all: &[(RunCap, u64)]) -> RunDemand {
    RunDemand {
        key: RunKey {
            caller: caller.clone(),
            name: "job".into(),
        },
        caps: caps(all),
        tightened: RunCaps::default(),
        calls: 1,
        fingerprint: Some("same".into()),
        tokens: 10,
        cost: Some(100),
        idle_ms: HOUR_MS,
        live_max: 5,
    }
}

pub async fn admit(
    store: &dyn StateStore,
    limits: &[AdmissionLimit],
    run: &RunDemand,
) -> Result<AdmittedCall, AdmissionDecision> {
    let admitted = store
        .admit(&AdmissionRequest {
            limits,
            tokens: 0,
            cost: run.cost,
            run: Some(run),
        })
        .get()
        .await
        .unwrap();
    match admitted.decision {
        AdmissionDecision::Granted(_) => {
            let ticket = admitted.run.expect("the call of a run");
            Ok((*ticket, admitted.money.map(|money| *money)))
        }
        refused => {
            assert!(admitted.run.is_none() && admitted.money.is_none());
            Err(refused)
        }
    }
}

pub async fn granted(store: &dyn StateStore, run: &RunDemand) -> AdmittedCall {
    admit(store, &[], run).await.expect("the run admits it")
}

/// The cap that refuses a call.
async fn refused(store: &dyn StateStore, run: &RunDemand) -> RunCap {
    match admit(store, &[], run).await.map(|_| ()) {
        Err(AdmissionDecision::RunRefused(RunRefusal::Cap { cap, .. })) => cap,
        other => panic!("{other:?}"),
    }
}

pub fn end((ticket, money): AdmittedCall, store: &dyn StateStore, tokens: u64, cost: u64) {
    let call = RunCall {
        id: format!("req_{tokens}"),
        status: 200,
        tokens,
        cost: Some(cost),
        ..RunCall::default()
    };
    store.end_run_call(RunCallEnd {
        key: ticket.key.clone(),
        ticket: Some(ticket),
        call,
    });
    if let Some(money) = money {
        store.settle_money(money, cost);
    }
}

async fn find(store: &dyn StateStore, caller: &Arc<str>) -> Option<RunStatus> {
    store.flush(Duration::from_secs(10));
    let all = store.runs(Some("job"), 10_000).get().await.unwrap();
    all.into_iter().find(|run| run.key.caller == *caller)
}

pub async fn usage(store: &dyn StateStore, caller: &Arc<str>) -> RunUsage {
    find(store, caller).await.expect("a live run").usage
}

pub async fn each_cap_ends_a_run(store: &dyn StateStore) {
    for (cap, most, admitted) in [
        (RunCap::Calls, 3, 3),
        (RunCap::Repeats, 2, 2),
        (RunCap::Tokens, 49, 4),
        (RunCap::Cost, 500, 5),
    ] {
        let run = demand(&caller(), &[(cap, most)]);
        for _ in 0..admitted {
            granted(store, &run).await;
        }
        assert_eq!(refused(store, &run).await, cap);
        let after = usage(store, &run.key.caller).await;
        assert_eq!((after.calls, after.tokens), (admitted, admitted * 10));
        assert_eq!((after.cost, after.repeats), (admitted * 100, admitted));
        // A run that refuses goes on doing so.
        assert_eq!(refused(store, &run).await, cap);
    }
    let run = demand(&caller(), &[(RunCap::Time, 300)]);
    granted(store, &run).await;
    super::eventually("its time is over", async || {
        admit(store, &[], &run).await.is_err()
    })
    .await;
    assert_eq!(refused(store, &run).await, RunCap::Time);
}

pub async fn many_calls_at_once_pass_no_cap(store: &dyn StateStore) {
    for (cap, most, admitted) in [
        (RunCap::Calls, 7, 7),
        (RunCap::Repeats, 7, 7),
        (RunCap::Tokens, 79, 7),
        (RunCap::Cost, 700, 7),
    ] {
        let run = demand(&caller(), &[(cap, most)]);
        let calls = (0..50).map(|_| admit(store, &[], &run));
        let granted = join_all(calls).await.into_iter().filter(Result::is_ok);
        assert_eq!(granted.count(), admitted, "{cap:?}");
    }
}

pub async fn the_end_of_a_call_corrects_its_run(store: &dyn StateStore) {
    let run = demand(&caller(), &[(RunCap::Tokens, 25), (RunCap::Cost, 250)]);
    let first = granted(store, &run).await;
    let second = granted(store, &run).await;
    assert_eq!(refused(store, &run).await, RunCap::Tokens);
    end(first, store, 2, 20);
    end(second, store, 12, 110);
    let after = usage(store, &run.key.caller).await;
    assert_eq!((after.calls, after.tokens, after.cost), (2, 14, 130));
    let third = granted(store, &run).await;
    store.end_run_call(RunCallEnd {
        key: run.key.clone(),
        ticket: None,
        call: RunCall {
            id: "req_refused".into(),
            refused_by: Some("run_tokens".into()),
            ..RunCall::default()
        },
    });
    for _ in 0..RUN_CALLS_KEPT {
        let key = run.key.clone();
        let call = RunCall::default();
        store.end_run_call(RunCallEnd {
            key,
            ticket: None,
            call,
        });
    }
    end(third, store, 1, 0);
    let found = find(store, &run.key.caller).await.unwrap();
    assert_eq!((found.usage.tokens, found.usage.cost), (15, 130));
    assert_eq!(found.calls.len(), RUN_CALLS_KEPT);
    assert_eq!(
        (&*found.calls[0].id, found.calls[0].cost),
        ("req_1", Some(0))
    );
    assert!(
        found.calls.iter().all(|call| call.id != "req_2"),
        "the oldest are dropped"
    );
}

pub async fn a_call_is_admitted_by_its_run_and_all_limits_or_by_none(store: &dyn StateStore) {
    let name = caller();
    let requests = [limit(&name, LimitKind::RequestsPerMinute, 1)];
    let run = demand(&name, &[(RunCap::Calls, 1)]);
    let other = RunDemand {
        key: RunKey {
            name: "other".into(),
            ..run.key.clone()
        },
        ..run.clone()
    };
    granted(store, &other).await;
    let refused = admit(store, &requests, &other).await.map(|_| ());
    assert!(
        matches!(refused, Err(AdmissionDecision::RunRefused(_))),
        "{refused:?}"
    );
    admit(store, &requests, &run)
        .await
        .expect("no request was counted");
    let refused = admit(store, &requests, &run).await.map(|_| ());
    assert!(
        matches!(refused, Err(AdmissionDecision::Refused { limit: 0, .. })),
        "{refused:?}"
    );
    let money = [limit(&caller(), LimitKind::CostTotal, 99)];
    let run = demand(&caller(), &[]);
    let refused = admit(store, &money, &run).await.map(|_| ());
    assert!(
        matches!(refused, Err(AdmissionDecision::Refused { .. })),
        "{refused:?}"
    );
    granted(store, &run).await;
    assert_eq!(usage(store, &run.key.caller).await.cost, 100);
}

pub async fn a_request_tightens_its_run_for_good(store: &dyn StateStore) {
    for cap in [RunCap::Calls, RunCap::Tokens, RunCap::Cost, RunCap::Repeats] {
        let each = match cap {
            RunCap::Tokens => 10,
            RunCap::Cost => 100,
            _ => 1,
        };
        let run = demand(&caller(), &[(cap, 5 * each)]);
        let mut tight = run.clone();
        tight.tightened = caps(&[(cap, 2 * each)]);
        let mut wide = run.clone();
        wide.tightened = caps(&[(cap, 100 * each)]);
        granted(store, &tight).await;
        granted(store, &wide).await;
        for demand in [&run, &wide, &tight] {
            assert_eq!(refused(store, demand).await, cap);
        }
    }
}

pub async fn runs_of_callers_are_apart(store: &dyn StateStore) {
    let [ann, bob] = [caller(), caller()].map(|name| demand(&name, &[(RunCap::Calls, 1)]));
    granted(store, &ann).await;
    assert_eq!(refused(store, &ann).await, RunCap::Calls);
    let call = granted(store, &bob).await;
    end(call, store, 3, 7);
    assert_eq!(usage(store, &ann.key.caller).await.tokens, 10);
    assert_eq!(usage(store, &bob.key.caller).await.tokens, 3);
    let listed = store.runs(None, 10_000).get().await.unwrap();
    for run in [&ann, &bob] {
        let own = listed.iter().filter(|listed| listed.key == run.key);
        assert_eq!(own.count(), 1);
    }
    assert_eq!(store.runs(None, 1).get().await.unwrap().len(), 1);
}

pub async fn a_caller_has_a_bounded_number_of_runs(store: &dyn StateStore) {
    let run = demand(&caller(), &[]);
    let named = |number: usize| RunDemand {
        key: RunKey {
            name: format!("job-{number}").into(),
            ..run.key.clone()
        },
        ..run.clone()
    };
    for number in 0..5 {
        granted(store, &named(number)).await;
    }
    let sixth = admit(store, &[], &named(5)).await.map(|_| ());
    let Err(AdmissionDecision::RunRefused(RunRefusal::Live { most, retry_after })) = sixth else {
        panic!("{sixth:?}");
    };
    assert_eq!(most, 5);
    let hour = Duration::from_secs(3_590)..=Duration::from_secs(3_600);
    assert!(hour.contains(&retry_after), "{retry_after:?}");
    granted(store, &named(3)).await;
    granted(store, &demand(&caller(), &[])).await;
}

pub async fn a_forgotten_run_leaves_nothing_to_the_next_of_its_name(store: &dyn StateStore) {
    let mut run = demand(&caller(), &[(RunCap::Calls, 1)]);
    run.idle_ms = 200;
    run.live_max = 1;
    let old = granted(store, &run).await;
    assert_eq!(refused(store, &run).await, RunCap::Calls);
    let key = run.key.caller.clone();
    super::eventually("the run is forgotten", async || {
        find(store, &key).await.is_none()
    })
    .await;
    run.idle_ms = HOUR_MS;
    granted(store, &run).await;
    // What an earlier run of the name reserved is none of this one's.
    end(old, store, 0, 0);
    let after = usage(store, &run.key.caller).await;
    assert_eq!((after.calls, after.tokens, after.cost), (1, 10, 100));
}

/// How many of 50 calls at once a run admits that may make 7, on stores in turn; then what the first one has of the run.
async fn admitted_of_fifty(stores: &[Arc<dyn StateStore>]) -> (usize, RunUsage) {
    let run = demand(&caller(), &[(RunCap::Calls, 7)]);
    let calls = (0..50).map(|number| admit(&*stores[number % stores.len()], &[], &run));
    let mut admitted = Vec::new();
    for (number, call) in join_all(calls).await.into_iter().enumerate() {
        admitted.extend(call.ok().map(|call| (number, call)));
    }
    let count = admitted.len();
    for (number, call) in admitted {
        end(call, &*stores[number % stores.len()], 1, 1);
    }
    for store in stores {
        store.flush(Duration::from_secs(10));
    }
    (count, usage(&*stores[0], &run.key.caller).await)
}

#[tokio::test]
async fn gateways_share_the_runs_of_a_file_and_of_redis() {
    let folder = TempFolder::new();
    let server = RedisServer::start();
    let redis = || redis_store::open(redis_store::site(&server.url()));
    for stores in [
        vec![folder.store(), folder.store()],
        vec![redis(), redis(), redis()],
    ] {
        let (admitted, usage) = admitted_of_fifty(&stores).await;
        assert_eq!(admitted, 7);
        assert_eq!((usage.calls, usage.tokens, usage.cost), (7, 7, 7));
    }
}

#[tokio::test]
async fn a_run_of_the_file_survives_a_restart() {
    let folder = TempFolder::new();
    let run = demand(&caller(), &[(RunCap::Calls, 1)]);
    let call = granted(&*folder.store(), &run).await;
    let next = folder.store();
    assert_eq!(refused(&*next, &run).await, RunCap::Calls);
    end(call, &*next, 4, 4);
    assert_eq!(usage(&*next, &run.key.caller).await.tokens, 4);
}
