//! Tests of the process metrics on `/metrics`.

use crate::harness::{Request, TestSetup, TlsTestSetup, eventually};
use headgate_protocol::Protocol;

#[tokio::test]
async fn the_metrics_describe_the_process_and_its_build() {
    let world = TestSetup::start().await;
    world.ask(&Request::ask(Protocol::Chat)).await;
    let metrics = world.gateway.metrics().await;
    let of = |name: &str| {
        let found = metrics.samples.iter().find(|sample| sample.name == name);
        found.unwrap_or_else(|| panic!("no {name}")).value
    };
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs_f64();
    let resident = world.gateway.process.resident_bytes() as f64;
    for (name, bounds) in [
        ("process_cpu_seconds_total", 0.001..60.0),
        (
            "process_resident_memory_bytes",
            resident / 2.0..resident * 2.0,
        ),
        ("process_virtual_memory_bytes", resident..1e15),
        ("process_open_fds", 10.0..1000.0),
        ("process_max_fds", 100.0..1e10),
        ("process_threads", 3.0..1000.0),
        ("process_start_time_seconds", now - 120.0..now + 2.0),
    ] {
        assert!(bounds.contains(&of(name)), "{name} {} {bounds:?}", of(name));
    }
    let build = metrics
        .samples
        .iter()
        .find(|sample| sample.name == "headgate_build_info")
        .expect("the build");
    assert_eq!(build.value, 1.0);
    assert_eq!(build.labels["version"], env!("CARGO_PKG_VERSION"));
    let text = world.gateway.page("GET", "/metrics").await.text();
    assert!(
        text.contains("# TYPE process_cpu_seconds_total counter"),
        "{text}"
    );
    // The counter increases, with a resolution finer than a second.
    let before = of("process_cpu_seconds_total");
    for _ in 0..20 {
        world.ask(&Request::ask(Protocol::Chat)).await;
    }
    let after = world
        .gateway
        .metrics()
        .await
        .sum("process_cpu_seconds_total", &[]);
    assert!(after >= before, "{before} {after}");
}

#[tokio::test]
async fn the_metrics_have_the_expiry_of_the_listeners_certificate() {
    let world = TlsTestSetup::start().await;
    let metrics = world.gateway.metrics().await;
    let name = "headgate_certificate_expiry_timestamp_seconds";
    let expiry = metrics.sum(name, &[("setting", "server.tls")]);
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs_f64();
    assert!(expiry > now, "{expiry}");
}

#[tokio::test]
async fn each_caller_has_metrics_of_its_own() {
    let world = TestSetup::start().await;
    for _ in 0..3 {
        world.ask(&Request::ask(Protocol::Chat)).await;
    }
    // A request is counted after its response was sent.
    let metrics = eventually("3 requests", async || {
        let metrics = world.gateway.metrics().await;
        let counted = metrics.sum("headgate_caller_requests_total", &[("caller", "ann")]);
        (counted == 3.0).then_some(metrics)
    })
    .await;
    let of = |name: &str, labels: &[(&str, &str)]| {
        let labels = [&[("caller", "ann")], labels].concat();
        metrics.sum(&format!("headgate_caller_{name}_total"), &labels)
    };
    assert!(of("request_seconds", &[]) > 0.0);
    let all = |kind: &str| metrics.sum("headgate_tokens_total", &[("kind", kind)]);
    for kind in ["input", "output"] {
        assert_eq!(of("tokens", &[("kind", kind)]), all(kind), "{kind}");
        assert!(all(kind) > 0.0, "{kind}");
    }
}
