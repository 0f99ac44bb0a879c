//! Measures the memory of programs that have just started, and what each open stream adds to it.

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
/// An event every now and then, for longer than the measurement takes.
const DIRECTIVES: &str = "events=60; pace=1s";
/// A start is over, or all streams have begun, and what that needed for a moment is given back.
const SETTLED: Duration = Duration::from_secs(2);

/// Lines of targets that have had no load yet.
pub async fn measure(targets: &Targets) -> [SummaryRow; 3] {
    sleep(SETTLED).await;
    let mut private = SummaryRow::new("private memory, idle after the start, MiB", 1);
    let mut written = SummaryRow::new("the same without pages of the program's file, MiB", 1);
    for proxy in targets.proxies() {
        let [all, dirty] = targets.program(*proxy).private_kib();
        private.push(vec![all / 1024.0]);
        written.push(vec![dirty / 1024.0]);
    }
    let figure = format!("memory for each of {STREAMS} open streams, KiB");
    let mut for_a_stream = SummaryRow::new(figure, 1);
    for proxy in targets.proxies() {
        let idle = targets.program(*proxy).resident_kib();
        let streaming = resident_with_streams(targets, *proxy).await;
        for_a_stream.push(vec![(streaming - idle) / STREAMS as f64]);
    }
    [for_a_stream, private, written]
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
