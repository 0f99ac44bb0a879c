//! Tests of video tasks of both families: their states, and the responses to queries.

use super::{ReadResponse, get, request, send, simulator};
use crate::Simulator;
use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};
use std::time::Duration;

const A: &str = "/api/v3/contents/generations/tasks";
const B: &str = "/api/v1/services/aigc/video-generation/video-synthesis";

pub fn body_a() -> Value {
    json!({"model": "a-1", "duration": 4, "ratio": "9:16", "resolution": "480p",
        "content": [{"type": "text", "text": "A lock opens"}]})
}

fn body_b() -> Value {
    json!({"model": "b-1", "input": {"prompt": "A lock opens"},
        "parameters": {"resolution": "720P", "duration": 6, "ratio": "1:1"}})
}

/// A family, with what is needed to use it.
#[derive(Clone, Copy)]
struct FamilyFixture {
    create: &'static str,
    body: fn() -> Value,
    id_at: &'static str,
    status_at: &'static str,
    query: &'static str,
    video_at: &'static str,
}

const FAMILIES: [FamilyFixture; 2] = [
    FamilyFixture {
        create: A,
        body: body_a,
        id_at: "/id",
        status_at: "/status",
        query: A,
        video_at: "/content/video_url",
    },
    FamilyFixture {
        create: B,
        body: body_b,
        id_at: "/output/task_id",
        status_at: "/output/task_status",
        query: "/api/v1/tasks",
        video_at: "/output/video_url",
    },
];

impl FamilyFixture {
    async fn create(&self, simulator: &Simulator, directives: &str) -> ReadResponse {
        let path = match directives {
            "" => self.create.to_owned(),
            _ => format!("/~{directives}{}", self.create),
        };
        send(simulator, asynchronous(&path, &(self.body)())).await
    }

    /// Creates a task and returns its path.
    async fn made(&self, simulator: &Simulator, directives: &str) -> String {
        let json = self.create(simulator, directives).await.json();
        let id = json.pointer(self.id_at).and_then(Value::as_str).unwrap();
        format!("{}/{id}", self.query)
    }

    async fn status(&self, simulator: &Simulator, path: &str) -> String {
        let json = get(simulator, path).await.json();
        json.pointer(self.status_at)
            .and_then(Value::as_str)
            .unwrap()
            .to_owned()
    }
}

fn asynchronous(path: &str, body: &Value) -> Request<Bytes> {
    let mut request = request("POST", path, body.to_string());
    let enable = "enable".parse().unwrap();
    request.headers_mut().insert("x-dashscope-async", enable);
    let host = "sim.example:9092".parse().unwrap();
    request.headers_mut().insert("host", host);
    request
}

fn with_other_key(mut request: Request<Bytes>) -> Request<Bytes> {
    let other = "Bearer sk-other".parse().unwrap();
    request.headers_mut().insert("authorization", other);
    request
}

async fn tasks(simulator: &Simulator) -> Vec<Value> {
    let tasks = get(simulator, "/_simulate/tasks").await.json();
    tasks.as_array().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn a_task_is_queued_then_runs_then_ends_as_asked() {
    let table = [
        (
            "",
            ["queued", "running", "succeeded"],
            ["PENDING", "RUNNING", "SUCCEEDED"],
        ),
        (
            "ends=failed",
            ["queued", "running", "failed"],
            ["PENDING", "RUNNING", "FAILED"],
        ),
        (
            "ends=expired",
            ["queued", "running", "expired"],
            ["PENDING", "RUNNING", "UNKNOWN"],
        ),
        (
            "ends=cancelled",
            ["queued", "running", "cancelled"],
            ["PENDING", "RUNNING", "CANCELED"],
        ),
        (
            "ends=unknown",
            ["queued", "running", "unknown"],
            ["PENDING", "RUNNING", "UNKNOWN"],
        ),
        (
            "unknown_status=SUSPENDED",
            ["queued", "SUSPENDED", "succeeded"],
            ["PENDING", "SUSPENDED", "SUCCEEDED"],
        ),
        (
            "run=0",
            ["queued", "succeeded", "succeeded"],
            ["PENDING", "SUCCEEDED", "SUCCEEDED"],
        ),
    ];
    let simulator = simulator();
    for (directives, in_a, in_b) in table {
        for (family, words) in FAMILIES.iter().zip([in_a, in_b]) {
            let path = family
                .made(&simulator, &format!("queue=100ms;run=2s;{directives}"))
                .await;
            for (word, wait) in words.into_iter().zip([100, 2000, 0]) {
                assert_eq!(family.status(&simulator, &path).await, word, "{directives}");
                tokio::time::advance(Duration::from_millis(wait)).await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_done_task_of_family_a_has_every_member_of_the_vendor() {
    let simulator = simulator();
    let [a, _] = FAMILIES;
    let path = a.made(&simulator, "").await;
    let queued = get(&simulator, &path).await.json();
    assert_eq!(queued["updated_at"], queued["created_at"]);
    assert!(queued.get("content").is_none() && queued.get("usage").is_none());
    tokio::time::advance(Duration::from_secs(5)).await;
    let done = get(&simulator, &path).await.json();
    let expected = json!({
        "model": "a-1", "status": "succeeded", "resolution": "480p", "ratio": "9:16", "duration": 4,
        "framespersecond": 24, "generate_audio": true, "draft": false, "service_tier": "default",
        "execution_expires_after": 172_800, "created_at": queued["created_at"],
        "usage": {"completion_tokens": 38_880, "total_tokens": 38_880},
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&done[name], value, "{name}");
    }
    assert!(done["seed"].is_u64() && done.get("frames").is_none() && done.get("error").is_none());
}

#[tokio::test(start_paused = true)]
async fn frames_take_the_place_of_the_duration_and_echoes_come_back() {
    let simulator = simulator();
    let mut body = body_a();
    let more = json!({"frames": 121, "seed": 11, "return_last_frame": true, "priority": 3,
        "service_tier": "flex", "generate_audio": false, "output_format": "mov"});
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let made = send(&simulator, request("POST", A, body.to_string()))
        .await
        .json();
    tokio::time::advance(Duration::from_secs(5)).await;
    let done = get(&simulator, &format!("{A}/{}", made["id"].as_str().unwrap()))
        .await
        .json();
    for name in [
        "frames",
        "seed",
        "priority",
        "service_tier",
        "generate_audio",
        "output_format",
    ] {
        assert_eq!(done[name], more[name], "{name}");
    }
    assert!(done.get("duration").is_none());
    let url = |name: &str| done["content"][name].as_str().unwrap().to_owned();
    assert!(url("video_url").contains(".mov?") && url("last_frame_url").contains(".png?"));
}

#[tokio::test(start_paused = true)]
async fn a_family_b_task_reports_times_in_utc_plus_eight() {
    let simulator = simulator();
    let [_, b] = FAMILIES;
    let path = b.made(&simulator, "queue=1500ms;run=2500ms").await;
    tokio::time::advance(Duration::from_secs(9)).await;
    let done = get(&simulator, &path).await.json();
    let time = regex::Regex::new(r"^20\d\d-\d\d-\d\d (\d\d):\d\d:(\d\d\.\d{3})$").unwrap();
    let second = |name: &str| {
        let text = done["output"][name].as_str().unwrap();
        let second: f64 = time.captures(text).unwrap()[2].parse().unwrap();
        second
    };
    let since = |from: &str, to: &str| (second(to) - second(from)).rem_euclid(60.0);
    assert!(
        (since("submit_time", "scheduled_time") - 1.5).abs() < 0.001,
        "{done}"
    );
    assert!(
        (since("scheduled_time", "end_time") - 2.5).abs() < 0.001,
        "{done}"
    );
    assert_eq!(done["output"]["orig_prompt"], "A lock opens");
    let usage = json!({"duration": 6, "input_video_duration": 0, "output_video_duration": 6,
        "video_count": 1, "SR": 720, "ratio": "1:1", "fps": 24});
    assert_eq!(done["usage"], usage);
    assert_eq!(done["request_id"].as_str().unwrap().len(), 36);
}

#[tokio::test(start_paused = true)]
async fn the_video_is_there_without_a_credential() {
    let simulator = simulator();
    for family in FAMILIES {
        let path = family.made(&simulator, "body_bytes=70000").await;
        tokio::time::advance(Duration::from_secs(5)).await;
        let mut query = request("GET", &path, "");
        query
            .headers_mut()
            .insert("host", "sim.example:9092".parse().unwrap());
        let done = send(&simulator, query).await.json();
        let url = done
            .pointer(family.video_at)
            .and_then(Value::as_str)
            .unwrap();
        let path = url.strip_prefix("http://sim.example:9092").unwrap();
        let bare = Request::get(path).body(Bytes::new()).unwrap();
        let video = send(&simulator, bare).await;
        assert_eq!((video.status, video.body.len()), (200, 70_000));
        assert_eq!(video.headers["content-type"], "video/mp4");
        assert_eq!(&video.body[4..8], b"ftyp");
    }
}

#[tokio::test(start_paused = true)]
async fn directives_make_a_task_faulty() {
    let simulator = simulator();
    for family in FAMILIES {
        let failing = "ends=failed;code=Custom.Code;message=no";
        let path = family.made(&simulator, failing).await;
        let no_url = family.made(&simulator, "no_url;no_usage").await;
        tokio::time::advance(Duration::from_secs(5)).await;
        let failed = get(&simulator, &path).await;
        assert_eq!(failed.status, 200);
        let failed = failed.json();
        let error = failed.get("error").unwrap_or(&failed["output"]);
        assert_eq!(
            (&error["code"], &error["message"]),
            (&json!("Custom.Code"), &json!("no"))
        );
        let without = get(&simulator, &no_url).await.json();
        assert!(without.pointer(family.video_at).is_none() && without.get("usage").is_none());
        let made = family.create(&simulator, "no_id").await;
        assert_eq!(made.status, 200);
        assert_eq!(made.json().pointer(family.id_at), None);
    }
    assert_eq!(tasks(&simulator).await.len(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_slow_query_takes_its_time_and_a_quick_one_none() {
    let simulator = simulator();
    for family in FAMILIES {
        for (directives, takes) in [("slow_query=3s", 3), ("", 0)] {
            let path = family.made(&simulator, directives).await;
            let requested = tokio::time::Instant::now();
            get(&simulator, &path).await;
            assert_eq!(requested.elapsed().as_secs(), takes, "{directives}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn only_what_was_refused_makes_no_task() {
    let table = [
        ("status=503", 503, 0),
        ("status=429", 429, 0),
        ("error_body", 200, 0),
        ("html", 200, 1),
        ("html;status=502", 502, 0),
        ("cut", 200, 1),
        ("delay=5s", 200, 1),
        ("no_id", 200, 1),
        ("malformed", 200, 1),
    ];
    for family in FAMILIES {
        for (directives, status, made) in table {
            let simulator = simulator();
            let seen = family.create(&simulator, directives).await;
            assert_eq!(seen.status, status, "{directives}");
            assert_eq!(tasks(&simulator).await.len(), made, "{directives}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_early_has_created_the_task() {
    for family in FAMILIES {
        for directives in ["stall", "delay=60s"] {
            let simulator = simulator();
            let made = family.create(&simulator, directives);
            let left = tokio::time::timeout(Duration::from_secs(1), made).await;
            assert!(left.is_err(), "{directives}");
            assert_eq!(tasks(&simulator).await.len(), 1, "{directives}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_account_knows_its_own_tasks_only() {
    let simulator = simulator();
    let [a, b] = FAMILIES;
    let path = a.made(&simulator, "").await;
    for request in [request("GET", &path, ""), request("DELETE", &path, "")] {
        let seen = send(&simulator, with_other_key(request)).await;
        assert_eq!(seen.status, 404);
        assert_eq!(seen.json()["error"]["type"], "NotFound");
    }
    let list = send(&simulator, with_other_key(request("GET", A, "")))
        .await
        .json();
    assert_eq!(list, json!({"items": [], "total": 0}));
    let path = b.made(&simulator, "").await;
    let seen = send(&simulator, with_other_key(request("GET", &path, ""))).await;
    assert_eq!(
        (seen.status, &seen.json()["output"]["task_status"]),
        (200, &json!("UNKNOWN"))
    );
    let cancel = with_other_key(request("POST", &format!("{path}/cancel"), ""));
    assert_eq!(send(&simulator, cancel).await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn creates_and_queries_can_be_counted() {
    let simulator = simulator();
    for family in FAMILIES {
        let path = family.made(&simulator, "").await;
        for _ in 0..3 {
            get(&simulator, &path).await;
        }
    }
    let reported: Vec<_> = tasks(&simulator).await;
    let reported: Vec<_> = reported
        .iter()
        .map(|task| {
            (
                task["family"].as_str().unwrap(),
                task["queries"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(reported, [("a", 3), ("b", 3)]);
    let records = get(&simulator, "/_simulate/requests").await.json();
    let records = records.as_array().unwrap();
    for (endpoint, count) in [
        ("family_a.create", 1),
        ("family_a.query", 3),
        ("family_b.create", 1),
    ] {
        let found = records
            .iter()
            .filter(|record| record["endpoint"] == endpoint);
        assert_eq!(found.count(), count, "{endpoint}");
    }
    assert_eq!(records[0]["model"], "a-1");
}
