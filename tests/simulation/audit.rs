//! The invariants that hold at the end of every schedule.

use super::callback_audit;
use super::callers::CreateOperation;
use super::config::{CALLERS, TASK_COST};
use super::http::Message;
use super::life::{LifeRemains, durable_store};
use super::store::StoreFaults;
use super::world::World;
use headgate_core::state::StateStore;
use headgate_core::state::admission::LimitKind;
use headgate_core::state::calendar::{period, unix_ms};
use headgate_core::state::counter_key::CounterKey;
use headgate_core::state::records::RecordKind;
use headgate_paid::journal::unsettled;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

/// The last request for a create with a key, and the successful responses to earlier ones.
pub struct FinalCreate {
    pub create: CreateOperation,
    pub before: Vec<Message>,
    pub response: Option<Message>,
}

/// The invariants that a schedule has violated, in words.
pub async fn violations(
    world: &World,
    remains: &[LifeRemains],
    finals: &[FinalCreate],
    store_faults: StoreFaults,
) -> Vec<String> {
    let mut found = Vec::new();
    // A response that the store did not take reaches its caller nevertheless, and is lost with its gateway; so is the task's
    // subscription that the store did not take.
    let is_killed = remains.iter().any(|it| it.is_killed);
    let may_lose = is_killed && store_faults.are_possible();
    let unsettled = unsettled_requests(durable_store(world)).await;
    found.extend(doubled_creates(world));
    found.extend(leaks(world, remains));
    found.extend(final_creates(world, finals, &unsettled, may_lose));
    found.extend(exchanges(world, remains));
    found.extend(reservations(world, remains, store_faults).await);
    found.extend(usage(world, remains, store_faults).await);
    found.extend(callback_audit::violations(world, may_lose).await);
    found
}

/// Request ids of the creates that the journal lists as undecided.
async fn unsettled_requests(store: &dyn StateStore) -> BTreeSet<String> {
    let (listed, unreadable) = unsettled(store).await.unwrap();
    assert_eq!(unreadable, 0);
    listed
        .into_iter()
        .map(|create| create.record.request_id)
        .collect()
}

/// No create is made twice, nor sent again after it may have been made.
fn doubled_creates(world: &World) -> Vec<String> {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for provider in &world.providers {
        for (prompt, count) in provider.creates() {
            *counts.entry(prompt).or_default() += count;
        }
    }
    let doubled = counts.into_iter().filter(|(_, count)| *count > 1);
    doubled
        .map(|(prompt, count)| format!("create {prompt} reached providers {count} times"))
        .collect()
}

/// No permit and no connection is leaked.
fn leaks(world: &World, remains: &[LifeRemains]) -> Vec<String> {
    let mut found: Vec<String> = remains.iter().flat_map(|it| it.leaks.clone()).collect();
    let open = world.open_connections();
    for (side, open) in [
        ("providers", open.to_providers),
        ("callers", open.to_callers),
    ] {
        let open = open.load(Ordering::Relaxed);
        if open > 0 {
            found.push(format!("{open} connections to {side} are open"));
        }
    }
    found
}

/// Every record of a key leads to the response, to a create that was not made before, or to a listed one.
fn final_creates(
    world: &World,
    finals: &[FinalCreate],
    unsettled: &BTreeSet<String>,
    may_lose_responses: bool,
) -> Vec<String> {
    let mut found = Vec::new();
    let made = |prompt: &str| {
        let creates = world.providers.iter().map(|provider| provider.creates());
        creates
            .filter_map(|creates| creates.get(prompt).copied())
            .sum::<u32>()
    };
    for last in finals {
        let name = &last.create.name;
        let Some(response) = &last.response else {
            found.push(format!("{name}: no response to its last request"));
            continue;
        };
        let text = response.text();
        match response.status() {
            200 => {
                if made(name) != 1 {
                    found.push(format!(
                        "{name}: has a response and was made {} times",
                        made(name)
                    ));
                }
                if last
                    .before
                    .iter()
                    .any(|before| before.body != response.body)
                {
                    found.push(format!("{name}: two different responses"));
                }
            }
            504 if text.contains("outcome_unknown") => {
                if !last.before.is_empty() && !may_lose_responses {
                    found.push(format!("{name}: its outcome is unknown after a response"));
                }
                if !unsettled.iter().any(|id| text.contains(id)) {
                    found.push(format!("{name}: its unknown outcome is not listed: {text}"));
                }
            }
            status => found.push(format!("{name}: {status} to its last request: {text}")),
        }
    }
    found
}

/// Every exchange is settled once: it has one line in the access log.
fn exchanges(world: &World, remains: &[LifeRemains]) -> Vec<String> {
    let mut lines: BTreeMap<String, u32> = BTreeMap::new();
    for line in remains.iter().flat_map(|it| &it.lines) {
        if let Some(name) = line["user_agent"].as_str() {
            *lines.entry(name.to_owned()).or_default() += 1;
        }
    }
    let last_part = remains.last().map_or(0, |it| it.part);
    let mut found = Vec::new();
    for (name, response) in world.callers.requests() {
        let count = lines.get(&name).copied().unwrap_or(0);
        let outlived = name.ends_with("/final") || name.starts_with(&format!("op-{last_part}-"));
        if count > 1 || count == 0 && response.is_some() && outlived {
            found.push(format!("{name}: {count} lines in the access log"));
        }
    }
    found
}

/// Every reservation is released, and budgets are charged with what was settled.
async fn reservations(
    world: &World,
    remains: &[LifeRemains],
    store_faults: StoreFaults,
) -> Vec<String> {
    let books = &world.durable.books;
    let alive = || remains.iter().filter(|it| !it.is_killed);
    let mut found: Vec<String> = alive().flat_map(|it| books.unbalanced(it.life)).collect();
    let store = durable_store(world);
    let open = open_reservations(store).await;
    for (caller, _) in CALLERS {
        let counter = CounterKey::new(caller.into(), None, LimitKind::CostPerMonth);
        let mut expected = 0;
        let (month, _) = period(LimitKind::CostPerMonth, unix_ms());
        for entry in books.money() {
            if !entry.reserved.counters.contains(&counter) {
                continue;
            }
            if entry.reserved.taken_ms >= month {
                expected += entry.settled.unwrap_or(entry.reserved.amount);
            }
            let is_alive = alive().any(|it| it.life == entry.life);
            let is_open = open.iter().any(|value| value.contains(&*entry.reserved.id));
            // A task costs what was reserved if the store has not taken its reservation.
            let is_spent = store_faults.are_possible() && entry.reserved.amount == TASK_COST;
            if is_alive && entry.settled.is_none() && !is_open && !is_spent {
                let id = &entry.reserved.id;
                found.push(format!("reservation {id} of {caller} was never settled"));
            }
        }
        let used = store.money_used(&counter).get().await.unwrap();
        if used != expected {
            found.push(format!("{caller} has used {used}, and settled {expected}"));
        }
    }
    found
}

/// The records that name reservations which are not settled yet.
async fn open_reservations(store: &dyn StateStore) -> Vec<String> {
    let mut values = Vec::new();
    for kind in [
        RecordKind::IdempotencyKey,
        RecordKind::PaidCreate,
        RecordKind::TaskCost,
    ] {
        let records = store.records().list(kind, "", 10_000).get().await.unwrap();
        let texts = records.iter().map(|record| &record.content.value);
        values.extend(texts.map(|value| String::from_utf8_lossy(value).into_owned()));
    }
    values
}

/// What the store has as the usage of a day is what exchanges have recorded.
async fn usage(world: &World, remains: &[LifeRemains], store_faults: StoreFaults) -> Vec<String> {
    if remains.iter().any(|it| it.is_killed) {
        // A gateway that is killed loses the last seconds.
        return Vec::new();
    }
    let store = durable_store(world);
    let records = store.records().list(RecordKind::UsageDay, "", 10_000).get();
    let mut found = Vec::new();
    let mut stored: BTreeMap<String, [i64; 3]> = BTreeMap::new();
    for record in records.await.unwrap() {
        let rows: Value = serde_json::from_slice(&record.content.value).unwrap();
        for row in rows["rows"].as_array().unwrap() {
            let caller = row["caller"].as_str().unwrap().to_owned();
            let sums = stored.entry(caller).or_default();
            for (sum, name) in sums.iter_mut().zip(["requests", "charged", "cost"]) {
                *sum += row["counts"][name].as_i64().unwrap_or(0);
            }
        }
    }
    let books = world.durable.books.money();
    for (caller, _) in CALLERS {
        let mut recorded = [0; 3];
        for sums in remains
            .iter()
            .filter_map(|it| it.ledger.sums().get(caller).copied())
        {
            for (sum, added) in recorded
                .iter_mut()
                .zip([sums.requests, sums.charged, sums.cost])
            {
                *sum += added;
            }
        }
        let stored = stored.get(caller).copied().unwrap_or_default();
        if stored != recorded {
            found.push(format!(
                "usage of {caller}: stored {stored:?}, recorded {recorded:?}"
            ));
        }
        let of_caller = books.iter().filter(|entry| {
            let mut counters = entry.reserved.counters.iter();
            counters.any(|counter| **counter.caller() == *caller)
        });
        let charged: u64 = of_caller
            .map(|entry| entry.settled.unwrap_or(entry.reserved.amount))
            .sum();
        // If the store loses the result of the removal that ends a task's reservation, the budget has the task's cost, and the
        // usage what was reserved.
        if recorded[1] != i64::try_from(charged).unwrap() && !store_faults.are_possible() {
            let recorded = recorded[1];
            found.push(format!(
                "{caller} was charged {recorded}, and budgets have {charged}"
            ));
        }
    }
    found
}
