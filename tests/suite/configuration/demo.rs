//! Tests of the demo with the repository's routes.yaml and a simulated provider.

use crate::harness::connection::Connection;
use crate::harness::folder::Folder;
use crate::harness::process::Process;
use crate::harness::receiver::Receiver;
use crate::harness::simulator::wait_for_listener;
use crate::harness::{Request, WholeResponse, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::PathBuf;

pub(super) struct Demo {
    _process: Process,
    pub gateway: SocketAddr,
    pub admin: SocketAddr,
}

impl Demo {
    pub async fn start() -> Self {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/routes.yaml");
        let local = "127.0.0.1:0";
        let mut process = Process::spawn(&[
            "demo",
            "--config",
            file,
            "--listen",
            local,
            "--admin",
            local,
            "--simulator",
            local,
        ]);
        let line = process.wait_for_line("headgate is listening").await;
        let address = |key: &str| line[key].as_str().unwrap().parse().unwrap();
        let (gateway, admin) = (address("listen"), address("admin"));
        wait_for_listener(gateway).await;
        Self {
            _process: process,
            gateway,
            admin,
        }
    }

    async fn ask(&self, request: Request) -> WholeResponse {
        let mut connection = Connection::to(self.gateway).await;
        connection.ask(&request.key("sk-demo")).await
    }
}

/// A create and the pointer to the id in its response; the path of a query and the pointer to the video.
struct Shape {
    create: &'static str,
    body: Value,
    id: &'static str,
    query: &'static str,
    video: &'static str,
}

fn shapes() -> Vec<Shape> {
    let generic = |model| Shape {
        create: "/v1/video/generations",
        body: json!({"model": model, "prompt": "A gate opens", "duration": 5}),
        id: "/task_id",
        query: "/v1/video/generations",
        video: "/video_url",
    };
    let family_a = |create, query| Shape {
        create,
        body: json!({"model": "demo-video-a", "content": [{"type": "text", "text": "A gate opens"}]}),
        id: "/id",
        query,
        video: "/content/video_url",
    };
    let family_b = |create, query| Shape {
        create,
        body: json!({"model": "demo-video-b", "input": {"prompt": "A gate opens"}}),
        id: "/output/task_id",
        query,
        video: "/output/video_url",
    };
    let own_a = "/v1/family-a/video/generations";
    let own_b = "/v1/family-b/video/generations";
    let native_a = "/api/v3/contents/generations/tasks";
    let native_b = "/api/v1/services/aigc/video-generation/video-synthesis";
    vec![
        generic("demo-video-a"),
        generic("demo-video-b"),
        family_a(own_a, own_a),
        family_a(native_a, native_a),
        family_b(own_b, own_b),
        family_b(native_b, "/api/v1/tasks"),
    ]
}

#[tokio::test]
async fn responses_are_counted_and_compacted() {
    let demo = Demo::start().await;
    for (path, object) in [
        ("/v1/responses/input_tokens", "response.input_tokens"),
        ("/v1/responses/compact", "response.compaction"),
    ] {
        let body = json!({"model": "demo-chat", "input": "Hello"}).to_string();
        let request = Request::post(path, body);
        let response = demo.ask(request).await;
        assert_eq!(response.status, 200, "{path}: {}", response.text());
        assert_eq!(response.json()["object"], object);
    }
}

#[tokio::test]
async fn the_demo_runs_from_an_empty_folder_and_leaves_nothing_behind() {
    let folder = Folder::new();
    let local = "127.0.0.1:0";
    let mut process = Process::spawn_under(
        "sh",
        &[
            "-c",
            r#"cd "$0" && exec "$@""#,
            folder.path().to_str().unwrap(),
        ],
        &[
            "demo",
            "--listen",
            local,
            "--admin",
            local,
            "--simulator",
            local,
        ],
    );
    let line = process.wait_for_line("headgate is listening").await;
    let gateway: SocketAddr = line["listen"].as_str().unwrap().parse().unwrap();
    wait_for_listener(gateway).await;
    for body in [
        json!({"model": "demo-chat", "messages": [{"role": "user", "content": "Hello"}]}),
        json!({"model": "demo-chat", "stream": true, "messages": [{"role": "user", "content": "Hello"}]}),
    ] {
        let request = Request::to(Protocol::Chat, body.to_string());
        let response = Connection::to(gateway)
            .await
            .ask(&request.key("sk-demo"))
            .await;
        assert_eq!(response.status, 200, "{}", response.text());
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let named = async || {
        let lines = process.stderr.all();
        let file = lines
            .iter()
            .find(|line| line.ends_with("built-in-routes.yaml"))?;
        Some(PathBuf::from(file.trim()))
    };
    let config = eventually("the path of the configuration", named).await;
    assert!(config.is_file());
    process.signal(libc::SIGINT);
    let removed = async || (!config.parent().unwrap().exists()).then_some(());
    eventually("no files of the demo", removed).await;
}

#[tokio::test]
async fn a_video_is_made_in_every_shape_and_at_the_vendors_own_paths() {
    let demo = Demo::start().await;
    for shape in shapes() {
        let create = Request::post(shape.create, shape.body.to_string());
        let made = demo.ask(create).await;
        assert_eq!(made.status, 200, "{}: {}", shape.create, made.text());
        let made = made.json();
        let id = made.pointer(shape.id).and_then(Value::as_str).unwrap();
        let url = eventually("the video", async || {
            let query = Request::get(&format!("{}/{id}", shape.query));
            let reported = demo.ask(query).await;
            assert_eq!(reported.status, 200, "{}: {}", shape.query, reported.text());
            reported.json().pointer(shape.video).cloned()
        })
        .await;
        assert!(
            url.as_str().is_some_and(|url| url.contains(".mp4")),
            "{url}"
        );
        let generic = demo
            .ask(Request::get(&format!("/v1/video/generations/{id}")))
            .await;
        assert_eq!(generic.json()["status"], "succeeded", "{}", generic.text());
    }
}

#[tokio::test]
async fn status_changes_are_delivered_signed_to_this_machine() {
    let demo = Demo::start().await;
    let receiver = Receiver::responding("204 No Content").await;
    let body = json!({
        "model": "demo-video-a", "prompt": "A gate opens", "duration": 5,
        "callback_url": receiver.url("/done"),
    });
    let create = Request::post("/v1/video/generations", body.to_string());
    let create = create.header("x-simulate", "queue=1s;run=6s");
    let made = demo.ask(create).await;
    assert_eq!(made.status, 200, "{}", made.text());
    let events = receiver.wait_for(2).await;
    let status = |n: usize| events[n].json()["status"].clone();
    assert_eq!(
        (status(0), status(1)),
        (json!("running"), json!("succeeded"))
    );
    assert!(
        events.iter().all(|event| event.signatures.len() == 2),
        "{events:?}"
    );
}

#[tokio::test]
async fn a_model_takes_what_its_generation_takes() {
    let demo = Demo::start().await;
    for (path, body, words) in [
        (
            "/v1/family-a/video/generations",
            json!({"model": "demo-video-a", "duration": 99, "content": [{"type": "text", "text": "A gate"}]}),
            "duration",
        ),
        (
            "/v1/family-b/video/generations",
            json!({"model": "demo-video-b", "input": {"prompt": "A gate"}, "parameters": {"duration": 99}}),
            "duration",
        ),
        (
            "/v1/family-b/video/generations",
            json!({"model": "demo-video-a", "input": {"prompt": "A gate"}}),
            "demo-video-a",
        ),
    ] {
        let answer = demo.ask(Request::post(path, body.to_string())).await;
        assert!((400..500).contains(&answer.status), "{}", answer.text());
        assert!(answer.text().contains(words), "{}", answer.text());
    }
}
