//! A scripted provider of chat and of videos: it responds, refuses, breaks off, hangs, responds twice or too late.

use super::clock;
use super::http::{Message, response};
use super::socket::SocketEnd;
use super::world::World;
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::lock::lock;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::time::sleep;

/// What a provider has received and made.
#[derive(Default)]
pub struct Provider(Mutex<ProviderRecords>);

#[derive(Default)]
struct ProviderRecords {
    /// The creates that arrived as a whole and were not refused, by prompt.
    creates: BTreeMap<String, u32>,
    tasks: BTreeMap<String, ProviderTask>,
}

/// A task of a provider.
#[derive(Clone, Debug)]
pub struct ProviderTask {
    pub prompt: String,
    /// In Unix seconds.
    created_at: u64,
    runs_at_ms: u64,
    ends_at_ms: u64,
    fails: bool,
}

/// How a provider responds to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Script {
    Respond,
    /// Refuses the request with this status.
    Refuse(u16),
    /// Fails with this status; a create may have been made.
    Fail(u16),
    /// Breaks the connection before the response.
    Break,
    /// Breaks the connection within the response.
    BreakWithin,
    /// Never responds.
    Hang,
    /// Responds after the gateway has stopped waiting.
    RespondLate,
    /// Responds, and sends the response again.
    RespondTwice,
}

const FAULTS: [Script; 11] = [
    Script::Refuse(429),
    Script::Refuse(401),
    Script::Refuse(400),
    Script::Fail(500),
    Script::Fail(503),
    Script::Break,
    Script::Break,
    Script::BreakWithin,
    Script::Hang,
    Script::RespondLate,
    Script::RespondTwice,
];

impl Provider {
    /// How often each create was made, or may have been.
    pub fn creates(&self) -> BTreeMap<String, u32> {
        lock(&self.0).creates.clone()
    }

    /// All tasks, by the provider's ids.
    pub fn tasks(&self) -> BTreeMap<String, ProviderTask> {
        lock(&self.0).tasks.clone()
    }

    /// Serves a connection of a gateway.
    pub async fn serve(world: Arc<World>, index: usize, mut socket: SocketEnd) {
        let mut received = Vec::new();
        while let Some(request) = Message::read(&mut socket, &mut received).await {
            if !request.is_whole {
                return;
            }
            let script = match world.has_fault(world.faults.provider_percent) {
                true => world.random.pick(&FAULTS),
                false => Script::Respond,
            };
            sleep(world.random.up_to_ms(300)).await;
            let is_create = request.start_line.starts_with("POST") && !is_chat(&request);
            let reply = match script {
                Script::Refuse(status) => response(status, &error(status)),
                Script::Fail(status) => {
                    if is_create {
                        world.providers[index].create(&world, &request, world.random.percent(50));
                    }
                    response(status, &error(status))
                }
                _ => world.providers[index].reply(&world, &request),
            };
            world.note(format!(
                "provider {index}: {} {script:?}",
                request.start_line
            ));
            if !send(&world, &mut socket, script, &reply).await {
                if script == Script::Break || script == Script::BreakWithin {
                    socket.reset();
                }
                return;
            }
        }
    }

    fn reply(&self, world: &Arc<World>, request: &Message) -> Vec<u8> {
        if is_chat(request) {
            return chat_response(&request.json());
        }
        if request.start_line.starts_with("POST") {
            let id = self.create(world, request, true).expect("a task was made");
            return response(200, &json!({"id": id}));
        }
        let id = request.target().rsplit('/').next().unwrap_or_default();
        match lock(&self.0).tasks.get(id) {
            Some(task) => response(200, &task.body(id)),
            None => response(404, &error(404)),
        }
    }

    /// Notes a create; makes its task if `is_made`.
    fn create(&self, world: &Arc<World>, request: &Message, is_made: bool) -> Option<String> {
        let body = request.json();
        let prompt = body.pointer("/content/0/text").and_then(Value::as_str);
        let prompt = prompt.unwrap_or_default().to_owned();
        let mut records = lock(&self.0);
        *records.creates.entry(prompt.clone()).or_default() += 1;
        if !is_made {
            return None;
        }
        let id = format!("cgt-{}", records.tasks.len());
        let runs_at_ms = clock::elapsed_ms() + world.random.below(5_000);
        let task = ProviderTask {
            prompt,
            created_at: unix_ms() / 1_000,
            runs_at_ms,
            ends_at_ms: runs_at_ms + world.random.below(60_000),
            fails: world.random.percent(20),
        };
        records.tasks.insert(id.clone(), task.clone());
        if let Some(url) = body["callback_url"].as_str() {
            tokio::spawn(task.call_back(world.clone(), url.to_owned(), id.clone()));
        }
        Some(id)
    }
}

impl ProviderTask {
    /// Whether the task has ended.
    pub fn has_ended(&self) -> bool {
        clock::elapsed_ms() >= self.ends_at_ms
    }

    fn status(&self) -> &'static str {
        let now = clock::elapsed_ms();
        match (now < self.runs_at_ms, now < self.ends_at_ms, self.fails) {
            (true, ..) => "queued",
            (_, true, _) => "running",
            (_, _, true) => "failed",
            (_, _, false) => "succeeded",
        }
    }

    fn body(&self, id: &str) -> Value {
        let mut body = json!({
            "id": id, "status": self.status(), "created_at": self.created_at,
            "updated_at": unix_ms() / 1_000,
        });
        match self.status() {
            "succeeded" => {
                body["content"] = json!({"video_url": "https://video.example/1.mp4"});
                body["duration"] = json!(5);
                body["usage"] = json!({"completion_tokens": 1000, "total_tokens": 1000});
            }
            "failed" => body["error"] = json!({"code": "InternalError", "message": "it failed"}),
            _ => {}
        }
        body
    }

    /// Calls back at each change, now and then twice, late, or not at all.
    async fn call_back(self, world: Arc<World>, url: String, id: String) {
        for at_ms in [self.runs_at_ms, self.ends_at_ms] {
            let wait = at_ms.saturating_sub(clock::elapsed_ms());
            sleep(Duration::from_millis(wait)).await;
            if world.random.percent(20) {
                continue;
            }
            sleep(world.random.up_to_ms(2_000)).await;
            for _ in 0..=u32::from(world.random.percent(20)) {
                world.call_back(&url, &self.body(&id).to_string()).await;
            }
        }
    }
}

/// Sends a response by the script; returns whether the connection may carry another one.
async fn send(world: &World, socket: &mut SocketEnd, script: Script, reply: &[u8]) -> bool {
    match script {
        Script::Break => return false,
        Script::Hang => {
            sleep(Duration::from_secs(60)).await;
            return false;
        }
        Script::RespondLate => sleep(Duration::from_secs(4)).await,
        _ => {}
    }
    let size = match script {
        Script::BreakWithin => usize::try_from(world.random.below(reply.len() as u64)).unwrap(),
        _ => reply.len(),
    };
    // In pieces, as streams arrive.
    for piece in reply[..size].chunks(1 + size / 4) {
        if socket.write_all(piece).await.is_err() {
            return false;
        }
        sleep(world.random.up_to_ms(100)).await;
    }
    if script == Script::RespondTwice {
        let _ = socket.write_all(reply).await;
    }
    script != Script::BreakWithin
}

fn is_chat(request: &Message) -> bool {
    request.target().ends_with("/chat/completions")
}

fn chat_response(request: &Value) -> Vec<u8> {
    let output = 10;
    let usage =
        json!({"prompt_tokens": 20, "completion_tokens": output, "total_tokens": 20 + output});
    let body = json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": request["model"],
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "gate"}, "finish_reason": "stop"}],
        "usage": usage,
    });
    if request["stream"] != true {
        return response(200, &body);
    }
    let mut events = String::new();
    for (nth, finish) in [(0, Value::Null), (1, Value::Null), (2, json!("stop"))] {
        let chunk = json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": request["model"],
            "choices": [{"index": 0, "delta": {"content": format!("gate {nth}")}, "finish_reason": finish}],
        });
        events += &format!("data: {chunk}\n\n");
    }
    let last = json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": request["model"],
        "choices": [], "usage": usage,
    });
    events += &format!("data: {last}\n\ndata: [DONE]\n\n");
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    format!("{head}{:x}\r\n{events}\r\n0\r\n\r\n", events.len()).into_bytes()
}

fn error(status: u16) -> Value {
    json!({"error": {"code": format!("Simulated{status}"), "message": "simulated", "type": "simulated"}})
}
