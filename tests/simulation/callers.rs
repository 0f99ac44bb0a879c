//! Callers: they send chats and paid creates, leave at random moments, repeat creates, and poll tasks.

use super::config::{CALLERS, CHAT_PATH, RECEIVER, VIDEO_PATH};
use super::http::{Message, request};
use super::random::Random;
use super::socket::SocketEnd;
use super::world::World;
use headgate_core::state::lock::lock;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::time::{sleep, timeout};

/// What callers have sent and received, by the name of each request.
#[derive(Default)]
pub struct CallerLog(Mutex<CallerEntries>);

#[derive(Default)]
struct CallerEntries {
    requests: BTreeMap<String, Option<Message>>,
    creates: Vec<CreateOperation>,
}

/// What a caller does.
#[derive(Clone, Debug)]
pub enum CallerOperation {
    Chat { streams: bool },
    Create { has_key: bool, has_callback: bool },
}

/// A create, with the number of its caller.
#[derive(Clone, Debug)]
pub struct CreateOperation {
    pub name: String,
    pub caller: usize,
    pub has_key: bool,
    pub has_callback: bool,
}

impl CallerLog {
    /// The requests that were sent, each with its response if one has arrived as a whole.
    pub fn requests(&self) -> BTreeMap<String, Option<Message>> {
        lock(&self.0).requests.clone()
    }

    /// The creates of all callers.
    pub fn creates(&self) -> Vec<CreateOperation> {
        lock(&self.0).creates.clone()
    }

    /// The successful responses to a create.
    pub fn successes(&self, create: &str) -> Vec<Message> {
        let requests = self.requests().into_iter();
        let of_create = requests.filter(|(name, _)| name.split('/').next() == Some(create));
        let responses = of_create.filter_map(|(_, response)| response);
        responses
            .filter(|response| response.status() == 200)
            .collect()
    }
}

/// Runs the operation `name` of a caller.
pub async fn run(world: Arc<World>, name: String, caller: usize, operation: CallerOperation) {
    let random = world.random.fork();
    sleep(random.up_to_ms(8_000)).await;
    match operation {
        CallerOperation::Chat { streams } => {
            let body = json!({
                "model": "text", "max_tokens": 50, "stream": streams,
                "messages": [{"role": "user", "content": name}],
            });
            let patience = patience(&random, 30);
            send(
                &world,
                &name,
                caller,
                CHAT_PATH,
                &[],
                &body,
                patience,
                &random,
            )
            .await;
        }
        CallerOperation::Create {
            has_key,
            has_callback,
        } => {
            let create = CreateOperation {
                name,
                caller,
                has_key,
                has_callback,
            };
            lock(&world.callers.0).creates.push(create.clone());
            create.run(&world, &random).await;
        }
    }
}

impl CreateOperation {
    /// Sends the create, and with a key sends it again, in part at the same time.
    async fn run(&self, world: &Arc<World>, random: &Random) {
        if !self.has_key {
            self.attempt(world, "0", patience(random, 20), random).await;
            return;
        }
        let duplicates = random.below(3);
        let duplicates: Vec<_> = (0..duplicates)
            .map(|nth| {
                let (create, world) = (self.clone(), world.clone());
                let random = random.fork();
                tokio::spawn(async move {
                    sleep(random.up_to_ms(2_000)).await;
                    let patience = patience(&random, 30);
                    let attempt = format!("d{nth}");
                    create.attempt(&world, &attempt, patience, &random).await;
                })
            })
            .collect();
        for attempt in 0..3 {
            let patience = patience(random, 30);
            let response = self
                .attempt(world, &attempt.to_string(), patience, random)
                .await;
            if response.is_some_and(|response| response.status() == 200) {
                break;
            }
            sleep(random.up_to_ms(3_000)).await;
        }
        for duplicate in duplicates {
            let _ = duplicate.await;
        }
    }

    /// Sends the create once; `attempt` tells its requests apart in the trace.
    pub async fn attempt(
        &self,
        world: &Arc<World>,
        attempt: &str,
        patience: Duration,
        random: &Random,
    ) -> Option<Message> {
        let name = format!("{}/{attempt}", self.name);
        let mut body =
            json!({"model": "film", "prompt": self.name, "ratio": "16:9", "duration": 5});
        if self.has_callback {
            body["callback_url"] = json!(format!("http://{RECEIVER}/{}", self.name));
        }
        let key = [("Idempotency-Key", &*self.name)];
        let fields = match self.has_key {
            true => &key[..],
            false => &[],
        };
        let (caller, path) = (self.caller, VIDEO_PATH);
        send(world, &name, caller, path, fields, &body, patience, random).await
    }
}

/// How long a caller waits: nearly always long enough, and otherwise any time.
fn patience(random: &Random, leaving_percent: u64) -> Duration {
    match random.percent(leaving_percent) {
        true => random.up_to_ms(4_000),
        false => Duration::from_secs(900),
    }
}

#[expect(
    clippy::too_many_arguments,
    reason = "each is a part of the one request"
)]
async fn send(
    world: &Arc<World>,
    name: &str,
    caller: usize,
    path: &str,
    fields: &[(&str, &str)],
    body: &Value,
    patience: Duration,
    random: &Random,
) -> Option<Message> {
    let Some(mut socket) = world.connect_caller() else {
        world.note(format!("{name}: no gateway"));
        return None;
    };
    let authorization = format!("Bearer {}", CALLERS[caller].1);
    let mut all = vec![
        ("Authorization", &*authorization),
        ("User-Agent", name),
        ("Content-Type", "application/json"),
    ];
    all.extend(fields);
    let bytes = request("POST", path, &all, &body.to_string());
    lock(&world.callers.0)
        .requests
        .insert(name.to_owned(), None);
    world.note(format!("{name}: sent"));
    let exchange = async {
        socket.write_all(&bytes).await.ok()?;
        Message::read(&mut socket, &mut Vec::new()).await
    };
    let response = timeout(patience, exchange).await;
    close(socket, random);
    let outcome = match &response {
        Err(_) => "left".to_owned(),
        Ok(None) => "no response".to_owned(),
        Ok(Some(response)) => format!("{} whole {}", response.status(), response.is_whole),
    };
    world.note(format!("{name}: {outcome}"));
    let response = response.ok().flatten()?;
    let whole = response.is_whole.then(|| response.clone());
    lock(&world.callers.0)
        .requests
        .insert(name.to_owned(), whole);
    Some(response)
}

/// Closes a connection, by a reset now and then.
fn close(socket: SocketEnd, random: &Random) {
    match random.percent(20) {
        true => socket.reset(),
        false => drop(socket),
    }
}
