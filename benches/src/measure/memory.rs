//! Measures the memory of programs that have just started, what each open stream adds to it, and what stays after bursts.

use super::client::Connection;
use super::summary::SummaryRow;
use super::targets::{Target, Targets};
use headgate_budget::request::chat_request;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::LocalSet;
use tokio::time::sleep;

const STREAMS: usize = 1_000;
const BODIES: usize = 100;
const BODY_BYTES: usize = 8 << 20;
/// The time after a burst in which a program should give back what it took.
const REST: Duration = Duration::from_secs(30);
/// An event every now and then, for longer than the measurement takes.
const DIRECTIVES: &str = "events=60; pace=1s";
/// A start is over, or all streams have begun, and what that needed for a moment is given back.
const SETTLED: Duration = Duration::from_secs(2);

/// Lines of targets that have had no load yet.
pub async fn measure(targets: &Targets) -> [SummaryRow; 5] {
    sleep(SETTLED).await;
    let mut private = SummaryRow::new("private memory, idle after the start, MiB", 1);
    let mut written = SummaryRow::new("the same without pages of the program's file, MiB", 1);
    for proxy in targets.proxies() {
        let [all, dirty] = targets.program(*proxy).private_kib();
        private.push(vec![all / 1024.0]);
        written.push(vec![dirty / 1024.0]);
    }
    let proxies = targets.proxies().iter();
    let idle: Vec<f64> = proxies
        .map(|it| targets.program(*it).resident_kib())
        .collect();
    let figure = format!("memory for each of {STREAMS} open streams, KiB");
    let mut for_a_stream = SummaryRow::new(figure, 1);
    for (proxy, idle) in targets.proxies().iter().zip(&idle) {
        let streaming = resident_with_streams(targets, *proxy).await;
        for_a_stream.push(vec![(streaming - idle) / STREAMS as f64]);
    }
    let after_streams = after_burst(targets, &idle, &format!("{STREAMS} streams")).await;
    for proxy in targets.proxies() {
        send_large_bodies(targets, *proxy).await;
    }
    let bodies = format!("{BODIES} bodies of {} MB at once", BODY_BYTES >> 20);
    let after_bodies = after_burst(targets, &idle, &bodies).await;
    [for_a_stream, private, written, after_streams, after_bodies]
}

/// The resident memory some time after a burst, as a multiple of what the programs had when idle, in KiB.
async fn after_burst(targets: &Targets, idle: &[f64], burst: &str) -> SummaryRow {
    sleep(REST).await;
    let seconds = REST.as_secs();
    let figure = format!("resident memory {seconds} s after {burst}, 1 when idle before");
    let mut row = SummaryRow::new(figure, 2);
    for (proxy, idle) in targets.proxies().iter().zip(idle) {
        row.push(vec![targets.program(*proxy).resident_kib() / idle]);
    }
    row
}

async fn send_large_bodies(targets: &Targets, proxy: Target) {
    let request = Rc::new(chat_request(BODY_BYTES, false, ""));
    let clients = LocalSet::new();
    for _ in 0..BODIES {
        let (request, address) = (request.clone(), targets.address(proxy));
        clients
            .spawn_local(async move { Connection::open(address).await.exchange(&request).await });
    }
    clients.await;
}

/// The resident memory while all streams are open; they are closed when it returns.
async fn resident_with_streams(targets: &Targets, proxy: Target) -> f64 {
    let request = Rc::new(chat_request(1 << 10, true, DIRECTIVES));
    let begun = Rc::new(Cell::new(0));
    let clients = LocalSet::new();
    let measuring = async {
        for _ in 0..STREAMS {
            let mut connection = Connection::open(targets.address(proxy)).await;
            let (request, begun) = (request.clone(), begun.clone());
            tokio::task::spawn_local(async move {
                let mut is_first = true;
                let count = |_: &[u8]| {
                    begun.set(begun.get() + usize::from(is_first));
                    is_first = false;
                };
                connection.stream(&request, count).await;
            });
        }
        while begun.get() < STREAMS {
            sleep(Duration::from_millis(50)).await;
        }
        sleep(SETTLED).await;
        targets.program(proxy).resident_kib()
    };
    clients.run_until(measuring).await
}
