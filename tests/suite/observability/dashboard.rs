//! Tests of the dashboard's pages: the page itself, the overview and its events, traffic, requests.

use super::status::run;
use crate::harness::config::{self, admin_keys};
use crate::harness::request::{ANN, BOB, VIEWER};
use crate::harness::video::{self, FAMILY_B, video_config};
use crate::harness::{Connection, Gateway, Request, Simulator, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

async fn gateway(change: impl FnOnce(&mut Value)) -> (Gateway, Simulator) {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    change(&mut config);
    (Gateway::start(&config).await, simulator)
}

async fn page(gateway: &Gateway, path: &str) -> Value {
    let received = gateway.page("GET", path).await;
    assert_eq!(received.status, 200, "{path}: {}", received.text());
    received.json()
}

/// The requests that a filter selects, once there are `count` of them.
async fn requests(gateway: &Gateway, filter: &str, count: usize) -> Vec<Value> {
    let look = async || {
        let page = page(gateway, &format!("/requests?{filter}")).await;
        let found = page["requests"].as_array().unwrap().clone();
        (found.len() == count).then_some(found)
    };
    eventually(&format!("{count} requests with {filter}"), look).await
}

#[tokio::test]
async fn the_page_and_its_files_need_nothing_from_elsewhere() {
    let (gateway, _simulator) = gateway(|config| {
        config["server"]["admin_keys"] = admin_keys();
    })
    .await;
    for (path, kind) in [
        ("/", "text/html; charset=utf-8"),
        ("/dashboard.css", "text/css; charset=utf-8"),
        ("/dashboard.js", "text/javascript; charset=utf-8"),
        ("/charts.js", "text/javascript; charset=utf-8"),
        ("/elements.js", "text/javascript; charset=utf-8"),
        ("/runs.js", "text/javascript; charset=utf-8"),
        ("/usage.js", "text/javascript; charset=utf-8"),
        ("/usage-pages.js", "text/javascript; charset=utf-8"),
        ("/samples.js", "text/javascript; charset=utf-8"),
    ] {
        // Without a key, so that the page can ask for one.
        let received = gateway.ask_admin(&gateway.admin_request("GET", path)).await;
        assert_eq!(received.status, 200, "{path}");
        assert_eq!(received.headers.get("content-type"), Some(kind));
        let text = received.text().replace("http://www.w3.org/2000/svg", "");
        assert!(
            !text.contains("http://") && !text.contains("https://"),
            "{path}"
        );
    }
    let policy = gateway.page("GET", "/").await;
    let policy = policy.headers.get("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
    for path in ["/overview", "/events", "/findings", "/traffic", "/requests"] {
        let received = gateway.ask_admin(&gateway.admin_request("GET", path)).await;
        assert_eq!(received.status, 401, "{path}");
    }
}

#[tokio::test]
async fn the_overview_and_the_traffic_count_what_was_served() {
    let (gateway, _simulator) = gateway(|_| {}).await;
    for _ in 0..3 {
        gateway.ask(&Request::ask(Protocol::Chat)).await;
    }
    gateway
        .ask(&Request::ask(Protocol::Chat).key("sk-unknown"))
        .await;
    let failing = Request::ask(Protocol::Chat).simulate("status=500");
    gateway.ask(&failing).await;
    requests(&gateway, "", 5).await;

    let overview = page(&gateway, "/overview").await;
    let minute = &overview["minute"];
    assert_eq!(minute["requests"], 5);
    assert_eq!(
        minute["errors"],
        json!({"caller": 1, "gateway": 0, "upstream": 1})
    );
    assert_eq!(minute["callers"]["ann"]["requests"], 4);
    assert!(minute["output_tokens"].as_u64().unwrap() > 0, "{minute}");
    assert!(
        minute["first_byte_ms"]["p50"].as_f64().unwrap() > 0.0,
        "{minute}"
    );
    let channels = overview["channels"].as_array().unwrap();
    let openai = channels.iter().find(|channel| channel["name"] == "openai");
    assert_eq!(openai.unwrap()["minute"]["requests"], 4);

    let traffic = page(&gateway, "/traffic").await;
    let intervals = traffic["intervals"].as_array().unwrap().iter();
    let sum: u64 = intervals
        .map(|interval| interval["requests"].as_u64().unwrap())
        .sum();
    assert_eq!(sum, 5);
    let later = page(&gateway, "/traffic?since=99999999999").await;
    assert_eq!(later["intervals"], json!([]));
}

#[tokio::test]
async fn recent_requests_are_selected_by_their_fields_also_without_an_access_log() {
    let (gateway, _simulator) = gateway(|config| {
        config["server"]["access_log"] = "off".into();
    })
    .await;
    gateway.ask(&Request::ask(Protocol::Chat)).await;
    let small =
        json!({"model": "demo-small", "messages": [{"role": "user", "content": "private words"}]});
    let small = Request::to(Protocol::Chat, small.to_string()).key(BOB);
    let answer = gateway.ask(&small).await;
    // A line follows the end of its response.
    requests(&gateway, "", 2).await;
    gateway.ask(&small.key("sk-unknown-secret")).await;

    assert_eq!(
        requests(&gateway, "caller=ann", 1).await[0]["model"],
        "demo-large"
    );
    assert_eq!(requests(&gateway, "status=4xx", 1).await[0]["status"], 401);
    assert_eq!(
        requests(&gateway, "caller=bob&model=demo-small", 1).await[0]["channel"],
        "openai"
    );
    let id = answer.headers.get("x-request-id").unwrap();
    assert_eq!(
        requests(&gateway, &format!("id={id}"), 1).await[0]["caller"],
        "bob"
    );
    let all = requests(&gateway, "", 3).await;
    assert_eq!(all[0]["status"], 401, "the newest comes first");
    let text = json!(all).to_string();
    for secret in ["private words", ANN, BOB, "sk-unknown-secret"] {
        assert!(!text.contains(secret), "{secret}");
    }
    for filter in ["status=banana", "limit=0", "colour=red"] {
        let received = gateway.page("GET", &format!("/requests?{filter}")).await;
        assert_eq!(received.status, 400, "{filter}");
    }
}

#[tokio::test]
async fn a_request_names_the_attempts_that_failed_before_it_was_served() {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    config["channels"]["openai"]["tier"] = 1.into();
    let busy = config::channel(
        &simulator.url_obeying("status=503"),
        &["chat"],
        json!({"bearer": "sk-busy"}),
    );
    config["channels"]["busy"] = busy;
    let gateway = Gateway::start(&config).await;
    let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());

    let line = &requests(&gateway, "", 1).await[0];
    let failed = line["failed_attempts"].as_str().unwrap();
    assert!(
        failed.starts_with("busy: rate_limited, status 503, after "),
        "{failed}"
    );
    assert_eq!(
        (&line["attempts"], &line["channel"]),
        (&json!(2), &json!("openai"))
    );
    assert_eq!(gateway.log_of(&answer).await["failed_attempts"], failed);
}

#[tokio::test]
async fn a_stream_in_flight_is_listed_with_the_side_that_is_silent() {
    let (gateway, _simulator) = gateway(|_| {}).await;
    let request = Request::ask_stream(Protocol::Chat).simulate("stall_after=2");
    let mut stream = gateway.open(&request).await;
    stream.until("data:").await;
    let look = async || {
        let overview = page(&gateway, "/overview").await;
        let open = overview["open_requests"].as_array().unwrap().clone();
        let silent = open
            .iter()
            .any(|open| open["waits_for"] == "upstream" && open["waiting_ms"].as_u64() > Some(200));
        silent.then_some(open)
    };
    let open = eventually("a silent stream", look).await;
    assert_eq!(open.len(), 1);
    let expected = json!({"route": "chat", "caller": "ann", "model": "demo-large", "channel": "openai", "streamed": true});
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&open[0][name], value, "{name}");
    }
    drop(stream);
    let over = async || {
        let overview = page(&gateway, "/overview").await;
        overview["open_requests"]
            .as_array()
            .unwrap()
            .is_empty()
            .then_some(())
    };
    eventually("no request in flight", over).await;
}

#[tokio::test]
async fn events_bring_the_overview_every_second() {
    let (gateway, _simulator) = gateway(|config| {
        config["server"]["admin_keys"] = admin_keys();
    })
    .await;
    let connection = Connection::to(gateway.admin).await;
    let request = gateway.admin_request("GET", "/events").key(VIEWER);
    let mut events = connection.open(&request).await;
    let first = events.until("\n\n").await;
    let data = first
        .split("data: ")
        .nth(1)
        .unwrap_or_else(|| panic!("no event: {first}"));
    let overview: Value = serde_json::from_str(data.split("\n\n").next().unwrap()).unwrap();
    assert_eq!(overview["ready"], true);
    assert_eq!(overview["findings"], json!([]));
    events.until("event: overview").await;
}

#[tokio::test]
async fn video_tasks_are_counted_by_the_state_in_which_they_were_seen_last() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&video_config(&simulator, "")).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let created = video::create(&gateway, FAMILY_B, "demo-video-b").await;
        ids.push(video::id_of(FAMILY_B, &created));
    }
    let tasks = page(&gateway, "/overview").await["tasks"].clone();
    assert_eq!(
        (&tasks["queued"], &tasks["outcome_unknown"]),
        (&json!(3), &json!(0)),
        "{tasks}"
    );
    let ended = async || {
        video::ask(&gateway, FAMILY_B, &ids[0]).await;
        let tasks = page(&gateway, "/overview").await["tasks"].clone();
        (tasks["succeeded"] == 1 && tasks["queued"] == 2).then_some(())
    };
    eventually("the end of a task", ended).await;
    let url = format!("http://{}", gateway.admin);
    let (_, top, _) = run(&["top", "--once", "--admin", &url], &[]);
    assert!(top.contains("tasks 2 queued, 1 succeeded"), "{top}");
}
