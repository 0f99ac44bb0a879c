//! Tests of the demo with the repository's routes.yaml and a simulated provider.

use crate::harness::connection::Connection;
use crate::harness::process::Process;
use crate::harness::receiver::Receiver;
use crate::harness::simulator::wait_for_listener;
use crate::harness::{Request, WholeResponse, eventually};
use serde_json::{Value, json};
use std::net::SocketAddr;

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
