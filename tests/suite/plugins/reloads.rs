//! Test of reloads that start plugins anew, while streams pass through the old ones.

use super::lifecycle::version;
use crate::harness::plugins::{add_plugin, declare_plugin, folder_with_plugin};
use crate::harness::repetitions::repetitions;
use crate::harness::{Gateway, PROTOCOLS, Request, Simulator, config};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::task::JoinSet;

const STREAMS: usize = 12;
/// Reloads of the test: after a third of them the allocator has the memory that it reuses.
/// `HEADGATE_PLUGIN_RELOADS` sets another number.
const RELOADS: u64 = 120;
/// What the memory may grow by after the first third of the reloads: half a MiB for each.
const GROWTH_MAX: u64 = 40 << 20;

#[tokio::test]
async fn reloads_that_restart_plugins_drop_no_stream_and_take_no_memory() {
    let reloads = repetitions("HEADGATE_PLUGIN_RELOADS", RELOADS);
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    declare_plugin(&mut config, "tested", json!({}));
    for protocol in PROTOCOLS {
        let filter = json!({"plugin": {"use": "tested", "config": {"n": 0}}});
        let chain = &mut config::route(&mut config, protocol.name())["request"];
        chain.as_array_mut().unwrap().push(filter);
    }
    let folder = folder_with_plugin("tested", &version("0"));
    let gateway = Arc::new(Gateway::start_in(folder, &format!("{config:#}")).await);
    let (over, served) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
    );
    let mut callers = JoinSet::new();
    for index in 0..STREAMS {
        let (gateway, over, served) = (gateway.clone(), over.clone(), served.clone());
        let request = Request::ask_stream(PROTOCOLS[index % PROTOCOLS.len()]);
        let request = request.simulate("pace=40ms; events=15");
        callers.spawn(async move {
            while !over.load(Ordering::Relaxed) {
                let response = gateway.ask(&request).await;
                assert!(
                    response.whole && response.status == 200,
                    "{}",
                    response.text()
                );
                assert!(response.headers.get("x-version").is_some());
                served.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let mut early = 0;
    for n in 1..=reloads {
        // Every other reload has the same module with another configuration.
        if n % 2 == 0 {
            add_plugin(&gateway.folder, "tested", &version(&n.to_string()));
        }
        for protocol in PROTOCOLS {
            let chain = &mut config::route(&mut config, protocol.name())["request"];
            let filter = chain.as_array_mut().unwrap().last_mut().unwrap();
            filter["plugin"]["config"]["n"] = n.into();
        }
        gateway.reload(&config).await;
        if n == reloads / 3 {
            early = gateway.process.anonymous_bytes();
        }
    }
    let late = gateway.process.anonymous_bytes();
    over.store(true, Ordering::Relaxed);
    while let Some(outcome) = callers.join_next().await {
        outcome.unwrap();
    }
    let (early_mib, late_mib) = (early >> 20, late >> 20);
    println!(
        "{reloads} reloads: {early_mib} MiB after a third, {late_mib} MiB at the end, {} streams",
        served.load(Ordering::Relaxed)
    );
    assert!(served.load(Ordering::Relaxed) > STREAMS as u64);
    assert!(
        late < early + GROWTH_MAX,
        "{early_mib} MiB grew to {late_mib} MiB"
    );
}
