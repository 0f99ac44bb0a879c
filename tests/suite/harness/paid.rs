//! Paid creates in every shape, with an `Idempotency-Key`.

use super::folder::Folder;
use super::images::{self, image_config};
use super::process::BINARY;
use super::video::{self, FAMILY_A, FAMILY_B, GENERIC, create_body, video_config};
use super::{
    Connection, Gateway, PATIENCE, RedisServer, Request, Simulator, WholeResponse, eventually,
};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tokio::task::JoinHandle;

/// A route of a paid create, with a request for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateShape {
    GenericForA,
    GenericForB,
    FamilyA,
    FamilyB,
    ImageJson,
    ImageForm,
}

impl CreateShape {
    pub const ALL: [Self; 6] = [
        Self::GenericForA,
        Self::GenericForB,
        Self::FamilyA,
        Self::FamilyB,
        Self::ImageJson,
        Self::ImageForm,
    ];

    /// A create; creates with another `prompt` are other requests.
    pub fn request(self, prompt: &str) -> Request {
        let video = |path: &str, model: &str| {
            let body = create_body(path, model).to_string();
            Request::post(path, body.replace("a gate", prompt))
        };
        match self {
            Self::GenericForA => video(GENERIC, "demo-video-a"),
            Self::GenericForB => video(GENERIC, "demo-video-b"),
            Self::FamilyA => video(FAMILY_A, "demo-video-a"),
            Self::FamilyB => video(FAMILY_B, "demo-video-b"),
            Self::ImageJson => {
                let image = format!("data:image/png;base64,{}", images::PNG_BASE64);
                let body = json!({"model": images::MODEL, "prompt": prompt, "images": [{"image_url": image}]});
                Request::post(images::PATH, body.to_string())
            }
            Self::ImageForm => images::form(&[
                ("model", images::MODEL.as_bytes()),
                ("prompt", prompt.as_bytes()),
                ("image[]!", images::PNG),
            ]),
        }
    }

    /// A create with this key.
    pub fn keyed(self, key: &str) -> Request {
        self.request("a gate").header("Idempotency-Key", key)
    }

    /// A configuration with its route, and with the filter `idempotency` with these settings.
    pub fn config(self, simulator: &Simulator, settings: &Value) -> Value {
        let mut config = match self {
            Self::ImageJson | Self::ImageForm => image_config(simulator, "", json!({})),
            _ => video_config(simulator, ""),
        };
        for channel in config["channels"].as_object_mut().unwrap().values_mut() {
            channel["timeouts"] = json!({"first_byte": "3s", "idle": "3s"});
            channel["health"] = json!({"consecutive_failures": 0});
        }
        for route in config["routes"].as_array_mut().unwrap() {
            let chain = route["request"].as_array_mut().unwrap();
            if let Some(at) = chain.iter().position(|filter| filter == "validate") {
                chain.insert(at + 1, json!({"idempotency": settings}));
            }
        }
        config
    }

    /// The same with the records in a file of this folder.
    pub fn config_on_file(self, simulator: &Simulator, state: &Folder) -> Value {
        let mut config = self.config(simulator, &json!({}));
        config["state"] = json!(format!("sqlite:{}/state", state.path().display()));
        config
    }

    /// A gateway with its route, and with the records in a file of this folder.
    pub async fn gateway_on_file(self, simulator: &Simulator, state: &Folder) -> Gateway {
        Gateway::start(&self.config_on_file(simulator, state)).await
    }

    /// A gateway with its route, and with the records in Redis. It serves when this returns, and the provider has
    /// received one create.
    pub async fn gateway_on_redis(self, simulator: &Simulator, redis: &RedisServer) -> Gateway {
        let mut config = self.config(simulator, &json!({}));
        config["state"] = json!({"redis": {"url": redis.url()}});
        let gateway = Gateway::start(&config).await;
        let request = self.keyed("ready");
        let ready = async || (gateway.ask(&request).await.status == 200).then_some(());
        eventually("a create", ready).await;
        gateway
    }

    /// A gateway with its route.
    pub async fn gateway(self, simulator: &Simulator, settings: Value) -> Gateway {
        Gateway::start(&self.config(simulator, &settings)).await
    }

    /// How many creates the provider has received.
    pub async fn received(self, simulator: &Simulator) -> usize {
        match self {
            Self::ImageJson | Self::ImageForm => video::count(simulator, "edit").await,
            _ => video::creates(simulator).await,
        }
    }
}

/// The code of an error in any shape.
pub fn error_code(response: &WholeResponse) -> String {
    let body = response.json();
    let code = body.pointer("/error/code").or_else(|| body.get("code"));
    code.and_then(Value::as_str).unwrap_or_default().to_owned()
}

pub fn is_replayed(response: &WholeResponse) -> bool {
    response.headers.get("idempotent-replayed") == Some("true")
}

/// The responses to `count` requests that are sent at once, each on a connection of its own.
pub async fn ask_at_once(gateway: &Gateway, request: &Request, count: usize) -> Vec<WholeResponse> {
    let address = gateway.address;
    let asks = (0..count).map(|_| {
        let request = request.clone();
        tokio::spawn(async move {
            let mut connection = Connection::to(address).await;
            connection.ask(&request).await
        })
    });
    let mut responses = Vec::new();
    for ask in asks.collect::<Vec<_>>() {
        responses.push(ask.await.unwrap());
    }
    responses
}

/// Sends a create, and leaves as soon as the provider has received it.
pub async fn ask_and_leave_when_sent(
    gateway: &Gateway,
    simulator: &Simulator,
    shape: CreateShape,
    request: &Request,
) {
    let before = shape.received(simulator).await;
    let mut connection = gateway.connect().await;
    connection.send(&request.bytes()).await.unwrap();
    let sent = async || (shape.received(simulator).await > before).then_some(());
    eventually("the create", sent).await;
}

/// Sends a request on a connection of its own; its response, or `None` if the connection ended without one.
fn send(gateway: &Gateway, request: &Request) -> JoinHandle<Option<WholeResponse>> {
    let (address, bytes) = (gateway.address, request.bytes());
    tokio::spawn(async move {
        let mut connection = Connection::to(address).await;
        connection.send(&bytes).await.ok()?;
        connection.answer().await
    })
}

/// Sends the first create, and duplicates of it once the provider has received it; they wait when this returns.
pub async fn send_with_duplicates(
    gateway: &Gateway,
    simulator: &Simulator,
    shape: CreateShape,
    request: &Request,
    duplicates: usize,
) -> Vec<JoinHandle<Option<WholeResponse>>> {
    let mut sent = vec![send(gateway, request)];
    let received = async || (shape.received(simulator).await == 1).then_some(());
    eventually("the create", received).await;
    sent.extend((0..duplicates).map(|_| send(gateway, request)));
    tokio::time::sleep(Duration::from_millis(500)).await;
    sent
}

/// Sends a request, and leaves after a while.
pub async fn ask_and_leave(gateway: &Gateway, request: &Request, after: Duration) {
    let mut connection = gateway.connect().await;
    connection.send(&request.bytes()).await.unwrap();
    tokio::time::sleep(after).await;
}

/// Locks a state file against writes of its gateways until the connection is dropped.
pub async fn lock_state_file(state: &Folder) -> rusqlite::Connection {
    let file = state.path().join("state");
    let lock = tokio::task::spawn_blocking(move || {
        let connection = rusqlite::Connection::open(file).unwrap();
        connection.busy_timeout(PATIENCE).unwrap();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        connection
    });
    lock.await.unwrap()
}

/// What `headgate task unknown --json` lists with this configuration.
pub fn unsettled_creates(config: &Path) -> Vec<Value> {
    let output = Command::new(BINARY)
        .args(["task", "unknown", "--json", "--config"])
        .arg(config)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{error}");
    serde_json::from_slice(&output.stdout).unwrap()
}
