//! Tests five channels of one model, four of which fail in different ways: callers see no failure.
//!
//! `FIVE_CHANNELS_REQUESTS=10000` runs it at full size, 200 requests per second; it prints its measurements.

use crate::harness::closed_port::ClosedPort;
use crate::harness::config::{self, channel};
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, Simulator, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The timeout of the channel that stalls.
const DEADLINE: Duration = Duration::from_millis(500);
const EVERY: Duration = Duration::from_millis(5);
/// Requests that begin within this time may fail, because the gateway does not know yet which channels fail. It is
/// fixed: a gateway that takes longer fails the test, however slow the machine is.
const EXEMPT: Duration = Duration::from_secs(2);

struct RequestLoad {
    begun: Duration,
    took: Duration,
    status: u16,
    whole: bool,
    text: String,
    id: String,
}

fn five_channels(
    well: &Simulator,
    nobody: &ClosedPort,
    faulty: &Simulator,
    mute: &ScriptedProvider,
) -> Value {
    let mut config = config::standard(&well.url());
    let named = [
        ("refusing", nobody.url()),
        ("busy", faulty.url_obeying("status=429;retry_after=2")),
        ("stalling", mute.url()),
        ("failing", faulty.url_obeying("error_event_first")),
        ("well", well.url()),
    ];
    let channels = named.map(|(name, url)| {
        let mut channel = channel(&url, &["chat"], json!({"bearer": format!("sk-{name}")}));
        if name == "stalling" {
            channel["timeouts"] = json!({"first_byte": format!("{}ms", DEADLINE.as_millis())});
        }
        (name.to_owned(), channel)
    });
    config["channels"] = Value::Object(channels.into_iter().collect());
    config["routes"] = json!([config::route(&mut config, "chat")]);
    config
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_do_not_notice_that_four_of_five_channels_fail() {
    let requests: u32 = std::env::var("FIVE_CHANNELS_REQUESTS")
        .map_or(1_200, |text| text.parse().expect("a number"));
    let (well, faulty) = (Simulator::start().await, Simulator::start().await);
    let mute =
        ScriptedProvider::start(vec![ScriptedResponse::Wait(Duration::from_secs(3600))]).await;
    let nobody = ClosedPort::new();
    let config = five_channels(&well, &nobody, &faulty, &mute);
    let gateway = Arc::new(Gateway::start(&config).await);
    let began = Instant::now();
    let mut asked = Vec::new();
    for number in 0..requests {
        tokio::time::sleep_until(began + EVERY * number).await;
        let gateway = Arc::clone(&gateway);
        asked.push(tokio::spawn(async move {
            let begun = began.elapsed();
            let answer = gateway.ask(&Request::ask_stream(Protocol::Chat)).await;
            RequestLoad {
                begun,
                took: began.elapsed() - begun,
                status: answer.status,
                whole: answer.whole,
                text: answer.text(),
                id: answer
                    .headers
                    .get("x-request-id")
                    .unwrap_or_default()
                    .into(),
            }
        }));
    }
    let mut answers = Vec::new();
    for asked in asked {
        answers.push(asked.await.unwrap());
    }
    let cooled = gateway.metrics().await;
    let well_cooled = cooled.sum("headgate_cool_downs_total", &[("channel", "well")]);
    assert_eq!(
        well_cooled, 0.0,
        "the machine is too slow to tell: even the good channel was late"
    );
    assert_all_served(&answers);
    assert_delivered_once(&answers, &well, &gateway).await;
    let lines = eventually("a line of each request", async || {
        Some(gateway.log()).filter(|lines| lines.len() == requests as usize)
    })
    .await;
    let attempts: u64 = lines
        .iter()
        .map(|line| line["attempts"].as_u64().unwrap_or(0))
        .sum();
    let extra = attempts - u64::from(requests);
    let seconds = (EVERY * requests).as_secs_f64();
    let allowed = f64::from(requests) * 0.1 + 10.0 * (seconds + 1.0);
    assert!(
        (extra as f64) <= allowed,
        "{extra} further attempts, {allowed} allowed"
    );
    report(&answers, &lines, extra, allowed);
}

fn assert_all_served(answers: &[RequestLoad]) {
    for answer in answers.iter().filter(|answer| answer.begun > EXEMPT) {
        assert_eq!(
            (answer.status, answer.whole),
            (200, true),
            "{}",
            answer.text
        );
        assert_eq!(answer.text.matches("[DONE]").count(), 1, "{}", answer.text);
        assert_eq!(
            answer.text.matches("\"role\":\"assistant\"").count(),
            1,
            "{}",
            answer.text
        );
    }
}

/// Asserts that the healthy provider has received each request at most once.
async fn assert_delivered_once(answers: &[RequestLoad], well: &Simulator, gateway: &Gateway) {
    let mut seen: HashMap<String, u32> = HashMap::new();
    for record in well.records().await {
        let id = record["headers"]["x-request-id"]
            .as_str()
            .unwrap()
            .to_owned();
        *seen.entry(id).or_default() += 1;
    }
    assert!(seen.values().all(|times| *times == 1), "delivered twice");
    let last = answers.last().unwrap();
    gateway
        .log_line(|line| line["id"] == last.id.as_str())
        .await;
}

fn report(answers: &[RequestLoad], lines: &[Value], extra: u64, allowed: f64) {
    let failed: Vec<_> = answers
        .iter()
        .filter(|answer| answer.status != 200)
        .collect();
    let last_failed = failed.iter().map(|answer| answer.begun).max();
    let further = |wanted: bool| {
        let mut took: Vec<Duration> = answers
            .iter()
            .filter(|answer| {
                let line = lines.iter().find(|line| line["id"] == answer.id.as_str());
                line.is_some_and(|line| (line["attempts"].as_u64() > Some(1)) == wanted)
            })
            .map(|answer| answer.took)
            .collect();
        took.sort();
        took
    };
    let (straight, failed_over) = (further(false), further(true));
    let all = {
        let mut all: Vec<_> = answers.iter().map(|answer| answer.took).collect();
        all.sort();
        all
    };
    println!(
        "{} requests, {} errors, the last {:?} behind the begin, {extra} further attempts of {allowed:.0} allowed; \
         p50 {:?} p99 {:?} of all, p99 {:?} of {} answered at once, p50 {:?} p99 {:?} of {} that failed over",
        answers.len(),
        failed.len(),
        last_failed.unwrap_or_default(),
        at(&all, 50),
        at(&all, 99),
        at(&straight, 99),
        straight.len(),
        at(&failed_over, 50),
        at(&failed_over, 99),
        failed_over.len(),
    );
}

fn at(sorted: &[Duration], percent: usize) -> Duration {
    match sorted.len() {
        0 => Duration::ZERO,
        length => sorted[(length * percent / 100).min(length - 1)],
    }
}
