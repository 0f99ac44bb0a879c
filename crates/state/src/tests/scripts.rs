//! Tests of the Lua scripts by the data in Redis: counters of seconds, leases, the calendar.

use super::redis_server::RedisServer;
use super::redis_store::{open, site};
use super::*;

#[tokio::test]
async fn minute_windows_slide_and_the_lease_of_a_dead_gateway_expires() {
    let server = RedisServer::start();
    let (store, mut redis, now) = opened(&server);
    let ann: Arc<str> = "ann".into();
    let key = "test:{ann}:requests_per_minute";
    let mut plant = redis::cmd("HSET");
    plant.arg(key).arg(now - 70).arg(1000).arg(now - 30).arg(3);
    plant.exec(&mut redis).unwrap();
    let limits = [limit(&ann, LimitKind::RequestsPerMinute, 4)];
    granted(&*store, &limits, 0).await;
    let (_, retry_after) = refused(&*store, &limits, 0).await;
    let expected = Duration::from_secs(25)..=Duration::from_secs(31);
    assert!(expected.contains(&retry_after), "{retry_after:?}");
    let kept: Vec<i64> = redis::cmd("HKEYS").arg(key).query(&mut redis).unwrap();
    let old = i64::try_from(now - 70).unwrap();
    assert!(!kept.contains(&old), "{kept:?}");

    let limits = [limit(&ann, LimitKind::Concurrent, 1)];
    let mut plant = redis::cmd("ZADD");
    plant
        .arg("test:{ann}:concurrent")
        .arg(now * 1000 + 1500)
        .arg("dead-1");
    plant.exec(&mut redis).unwrap();
    eventually("the dead gateway's place runs out", async || {
        matches!(
            admit(&*store, &limits, 0).await.decision,
            AdmissionDecision::Granted(_)
        )
    })
    .await;
    let ends: u64 = redis::cmd("ZRANGE")
        .arg(&["test:{ann}:concurrent", "0", "0", "WITHSCORES"])
        .query::<(String, u64)>(&mut redis)
        .unwrap()
        .1;
    let lease_ends = now * 1000 + 29_000..now * 1000 + 90_000;
    assert!(lease_ends.contains(&ends), "{ends}");
}

#[tokio::test]
async fn a_redis_clock_set_back_refuses_no_request() {
    let server = RedisServer::start();
    let (store, mut redis, now) = opened(&server);
    let ann: Arc<str> = "ann".into();
    let later = now + 3_600;
    redis::cmd("HSET")
        .arg("test:{ann}:requests_per_minute")
        .arg(later)
        .arg(1000)
        .arg(-i64::try_from(later).unwrap())
        .arg(later * 1000)
        .exec(&mut redis)
        .unwrap();
    let limits = [limit(&ann, LimitKind::RequestsPerMinute, 1)];
    granted(&*store, &limits, 0).await;
    let (_, wait) = refused(&*store, &limits, 0).await;
    assert!(wait <= Duration::from_secs(60), "{wait:?}");
    redis::cmd("LPUSH")
        .arg("test:{account}:pace")
        .arg(later * 1000)
        .exec(&mut redis)
        .unwrap();
    let pace = store.take_per_second("account", 1).get().await.unwrap();
    assert_eq!(
        pace,
        headgate_core::state::per_second_limiter::PerSecondDecision::Allowed
    );
}

#[test]
fn redis_has_the_same_calendar() {
    let server = RedisServer::start();
    let mut redis = crate::redis_store::client(&site(&server.url()))
        .unwrap()
        .get_connection()
        .unwrap();
    let code = include_str!("../redis_store/calendar.lua");
    let script = redis::Script::new(&format!(
        "{code}\nreturn {{period(ARGV[1], tonumber(ARGV[2]))}}"
    ));
    let day_ms = 24 * 60 * 60 * 1000;
    // Days from 2024 to 2032, each at a different time of day.
    for day in (19_723..22_645_u64).step_by(3) {
        for measure in [LimitKind::TokensPerDay, LimitKind::TokensPerMonth] {
            let now = day * day_ms + 12_345_678;
            let found: (u64, u64) = script
                .arg(measure.name())
                .arg(now)
                .invoke(&mut redis)
                .unwrap();
            assert_eq!(
                found,
                headgate_core::state::calendar::period(measure, now),
                "{measure:?} at {now}"
            );
        }
    }
}

#[test]
fn an_admission_that_nobody_awaits_is_taken_back_from_its_own_day() {
    const DAY_MS: u64 = 24 * 60 * 60 * 1000;
    let server = RedisServer::start();
    let mut redis = crate::redis_store::client(&site(&server.url()))
        .unwrap()
        .get_connection()
        .unwrap();
    let now: (u64, u64) = redis::cmd("TIME").query(&mut redis).unwrap();
    // In the future, since what is counted of past days expires.
    let midnight = (now.0 * 1_000 / DAY_MS + 2) * DAY_MS;
    let script = |now: u64, code: &str| {
        let calendar = include_str!("../redis_store/calendar.lua");
        let clock = format!("local function now_ms() return {now} end");
        let run = include_str!("../redis_store/run.lua");
        redis::Script::new(&format!("{calendar}\n{clock}\n{run}\n{code}"))
    };
    let admit = script(midnight - 1, include_str!("../redis_store/admit.lua"));
    let mut admitted = admit.key("day");
    admitted.key("month").key("noted").key("reserved");
    admitted.arg("lease").arg(30_000).arg(0).arg(70).arg(2);
    admitted
        .arg("cost_per_day")
        .arg(1_000)
        .arg("cost_per_month")
        .arg(1_000);
    let reply: Vec<i64> = admitted.invoke(&mut redis).unwrap();
    assert_eq!(reply[0], 1, "{reply:?}");
    let mut used = |key: &str| -> u64 {
        redis::cmd("HGET")
            .arg(key)
            .arg("used")
            .query(&mut redis)
            .unwrap()
    };
    assert_eq!([used("day"), used("month")], [70, 70]);
    let cancel = script(midnight + 1, include_str!("../redis_store/settle.lua"));
    for _ in 0..2 {
        let mut cancelled = cancel.key("day");
        cancelled.key("month").key("noted").key("reserved");
        cancelled.arg("lease").arg("").arg(0).arg(0);
        cancelled.arg("cost_per_day").arg("cost_per_month");
        let _: i64 = cancelled.invoke(&mut redis).unwrap();
        let mut used = |key: &str| -> u64 {
            redis::cmd("HGET")
                .arg(key)
                .arg("used")
                .query(&mut redis)
                .unwrap()
        };
        assert_eq!([used("day"), used("month")], [0, 0]);
    }
    let is_reserved: bool = redis::cmd("EXISTS")
        .arg("reserved")
        .query(&mut redis)
        .unwrap();
    assert!(!is_reserved);
}

/// A store, a separate connection to the same Redis, and the seconds of its clock.
fn opened(server: &RedisServer) -> (Arc<dyn StateStore>, redis::Connection, u64) {
    let site = site(&server.url());
    let mut redis = crate::redis_store::client(&site)
        .unwrap()
        .get_connection()
        .unwrap();
    let now: (u64, u64) = redis::cmd("TIME").query(&mut redis).unwrap();
    (open(site), redis, now.0)
}
