//! Calls of runs that nobody awaits: the store takes them back.

use super::redis_server::RedisServer;
use super::runs::{AdmittedCall, admit, demand, end, granted, usage};
use super::{TempFolder, caller, redis_store};
use headgate_core::state::StateStore;
use headgate_core::state::run::RunDemand;
use std::future::poll_fn;
use std::task::Poll;
use std::thread::sleep;
use std::time::Duration;

/// Admissions of which some are dropped while the store decides; those that were awaited to their end.
async fn admissions_of_which_most_are_dropped(
    store: &dyn StateStore,
    run: &RunDemand,
) -> Vec<AdmittedCall> {
    let mut awaited = Vec::new();
    for number in 0..60 {
        let mut pending = Box::pin(admit(store, &[], run));
        match poll_fn(|context| Poll::Ready(pending.as_mut().poll(context))).await {
            Poll::Ready(admitted) => awaited.push(admitted.unwrap()),
            // From before the store has it until after it has replied.
            Poll::Pending => sleep(Duration::from_micros(20 * number)),
        }
    }
    awaited
}

#[tokio::test]
async fn a_call_that_nobody_awaits_is_taken_back() {
    let (server, folder) = (RedisServer::start(), TempFolder::new());
    for store in [
        redis_store::open(redis_store::site(&server.url())),
        folder.store(),
    ] {
        let run = demand(&caller(), &[]);
        let kept = granted(&*store, &run).await;
        let others = admissions_of_which_most_are_dropped(&*store, &run).await;
        let awaited = 1 + others.len() as u64;
        for other in others {
            end(other, &*store, 10, 100);
        }
        super::eventually("all of them are taken back", async || {
            let usage = usage(&*store, &run.key.caller).await;
            (usage.calls, usage.tokens, usage.cost) == (awaited, 10 * awaited, 100 * awaited)
        })
        .await;
        end(kept, &*store, 1, 2);
        let usage = usage(&*store, &run.key.caller).await;
        assert_eq!((usage.calls, usage.tokens), (awaited, 10 * awaited - 9));
    }
}

#[tokio::test]
async fn what_a_model_that_stands_in_reserves_is_free_again_if_nobody_awaits_it() {
    let (server, folder) = (RedisServer::start(), TempFolder::new());
    for store in [
        redis_store::open(redis_store::site(&server.url())),
        folder.store(),
    ] {
        let call = demand(&caller(), &[]);
        granted(&*store, &call).await;
        let fallback = RunDemand {
            calls: 0,
            tokens: 0,
            fingerprint: None,
            ..call.clone()
        };
        for (_, money) in admissions_of_which_most_are_dropped(&*store, &fallback).await {
            store.settle_money(money.expect("a reservation"), 0);
        }
        super::eventually("only the call has reserved something", async || {
            let usage = usage(&*store, &call.key.caller).await;
            (usage.calls, usage.tokens, usage.cost) == (1, 10, 100)
        })
        .await;
    }
}
