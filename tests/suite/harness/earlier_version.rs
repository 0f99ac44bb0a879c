//! What an earlier version wrote, from `tests/fixtures/versions`: its state in a store of this test, and a gateway on it.

use super::config::sha256;
use super::folder::Folder;
use super::free_port::free_port;
use super::gateway::folder_with_schemas;
use super::http_response::{http_response, json_response};
use super::receiver::Receiver;
use super::request::{ANN, BOB, OPERATOR};
use super::service::CONTINUE;
use super::{Gateway, RedisServer, Request, ScriptedProvider, ScriptedResponse};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use headgate_core::state::admission::LimitKind;
use headgate_core::state::calendar::{period, unix_ms};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

/// The folder of the version whose state is opened.
pub const VERSION: &str = "b454da2";
/// Where the version's gateways kept their state.
pub const STORES: [SharedStore; 2] = [SharedStore::Sqlite, SharedStore::Redis];
/// The time since the earlier gateway was killed, in most tests: its leases are over, and no task is polled yet.
pub const AGE: Duration = Duration::from_secs(20);

/// The requests that wrote the state, and the provider's responses to them.
static REQUESTS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let text = fs::read_to_string(versions().join("requests.json")).unwrap();
    serde_json::from_str(&text).unwrap()
});

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedStore {
    Sqlite,
    Redis,
}

/// A gateway of this version on the state of the earlier one.
pub struct EarlierState {
    pub gateway: Gateway,
    pub provider: ScriptedProvider,
    pub receiver: Receiver,
    /// What callers and the provider of the earlier gateway got, by the names of the requests.
    pub results: Value,
    pub state: StateCopy,
    _service: ScriptedProvider,
}

/// A store with the state of the earlier version, or an empty one.
pub struct StateCopy {
    pub folder: Folder,
    pub redis: Option<RedisServer>,
}

/// The folder of a version's fixtures.
pub fn version_folder() -> PathBuf {
    versions().join(VERSION)
}

/// The requests that wrote the state.
pub fn requests() -> impl Iterator<Item = &'static Value> {
    REQUESTS.iter()
}

impl EarlierState {
    /// A gateway on the state of one that was killed this long ago.
    pub async fn open(store: SharedStore, age: Duration) -> Self {
        let receiver = Receiver::responding("200 OK").await;
        let service = ScriptedResponse::Send(json_response(200, CONTINUE));
        Self::start(store, Some(age), receiver, service).await
    }

    /// The same gateway without state. Its service never responds, and the receiver takes no event.
    pub async fn empty(store: SharedStore) -> Self {
        let receiver = ScriptedProvider::start(vec![ScriptedResponse::Answer(refuse_event)]).await;
        Self::start(store, None, Receiver(receiver), ScriptedResponse::Hang).await
    }

    async fn start(
        store: SharedStore,
        age: Option<Duration>,
        receiver: Receiver,
        service: ScriptedResponse,
    ) -> Self {
        let provider = ScriptedProvider::start(vec![ScriptedResponse::Answer(respond)]).await;
        let service = ScriptedProvider::start(vec![service]).await;
        let state = StateCopy::new(store, age, &receiver.url(""));
        let config = earlier_config(&state, &provider, &service);
        let results = version_folder().join(store.name()).join("results.json");
        let results = fs::read_to_string(results).unwrap();
        Self {
            gateway: Gateway::start_in(folder_with_schemas(), &config).await,
            provider,
            receiver,
            results: serde_json::from_str(&results).unwrap(),
            state,
            _service: service,
        }
    }

    /// A request that wrote the state.
    pub fn request(&self, name: &str) -> Request {
        let mut requests = requests();
        let request = requests.find(|request| request["name"] == name).unwrap();
        let path = request["path"].as_str().unwrap();
        let sent = match &request["base64"] {
            Value::String(body) => Request::post(path, STANDARD.decode(body).unwrap())
                .without("content-type")
                .header("Content-Type", request["content_type"].as_str().unwrap()),
            _ => {
                let body = request["json"].to_string();
                Request::post(path, body.replace("${RECEIVER}", &self.receiver.url("")))
            }
        };
        match request["key"] == true {
            true => sent.header("Idempotency-Key", name),
            false => sent,
        }
    }

    /// What the response to a request had at a JSON pointer.
    pub fn result(&self, name: &str, pointer: &str) -> String {
        let body: Value = serde_json::from_str(self.text(name, "body")).unwrap();
        let found = body.pointer(pointer).and_then(Value::as_str);
        found.unwrap_or_else(|| panic!("{name}: {body}")).to_owned()
    }

    /// What was written down of a request.
    pub fn text(&self, name: &str, key: &str) -> &str {
        let found = self.results[name][key].as_str();
        found.unwrap_or_else(|| panic!("{name}: {key}"))
    }

    /// The heads of the requests that the provider has received, each line with its end.
    pub fn received(&self) -> Vec<String> {
        let requests = self.provider.requests().into_iter();
        let heads = requests.map(|request| {
            let head = request.split("\r\n\r\n").next().unwrap();
            format!("{head}\r\n")
        });
        heads.collect()
    }

    /// How many creates the provider has received.
    pub fn creates(&self) -> usize {
        let received = self.received();
        received
            .iter()
            .filter(|head| head.starts_with("POST"))
            .count()
    }
}

impl StateCopy {
    /// The state as it was written this long ago, for events at the URLs of `receiver`; an empty store without `age`.
    pub fn new(store: SharedStore, age: Option<Duration>, receiver: &str) -> Self {
        let copy = Self {
            folder: Folder::new(),
            redis: (store == SharedStore::Redis).then(RedisServer::start),
        };
        let fixtures = version_folder().join(store.name());
        if let Some(age) = age {
            copy_files(&fixtures.join("media"), &copy.media());
            let state = fs::read_to_string(fixtures.join(store.file())).unwrap();
            let state = filled(&state, age, &[("RECEIVER", receiver)]);
            match &copy.redis {
                Some(redis) => load_redis(redis, &state),
                None => load_sqlite(&copy.file(), &state),
            }
        }
        copy
    }

    /// The state file, unless the state is in Redis.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("state.sqlite")
    }

    fn media(&self) -> PathBuf {
        self.folder.path().join("media")
    }

    /// The setting `state`.
    fn url(&self) -> String {
        match &self.redis {
            Some(redis) => redis.url(),
            None => format!("sqlite:{}", self.file().display()),
        }
    }
}

impl SharedStore {
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Redis => "redis",
        }
    }

    /// The file with the state.
    pub fn file(self) -> &'static str {
        match self {
            Self::Sqlite => "state.sql",
            Self::Redis => "state.jsonl",
        }
    }
}

/// Fills in the variables of a fixture; the state was written `age` ago.
pub fn filled(text: &str, age: Duration, variables: &[(&str, &str)]) -> String {
    let now_ms = unix_ms();
    let written_ms = (now_ms - age.as_millis() as u64).cast_signed();
    let value = |name: &str| {
        let shifted = |prefix: &str, now: i64| {
            let offset = name.strip_prefix(prefix)?;
            Some((now + offset.parse::<i64>().unwrap()).to_string())
        };
        let found = variables.iter().find(|(known, _)| *known == name);
        let period_of = |kind| period(kind, now_ms).0.to_string();
        match name {
            "day_ms" => Some(period_of(LimitKind::TokensPerDay)),
            "month_ms" => Some(period_of(LimitKind::TokensPerMonth)),
            _ => shifted("now_ms", written_ms)
                .or_else(|| shifted("now_s", written_ms / 1000))
                .or_else(|| found.map(|(_, value)| (*value).to_owned())),
        }
    };
    let mut parts = text.split("${");
    let mut filled = parts.next().unwrap().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').unwrap();
        filled += &value(name).unwrap_or_else(|| panic!("no variable `{name}`"));
        filled += rest;
    }
    filled
}

/// The configuration of the gateways that wrote the state, with another preference of channels.
fn earlier_config(
    state: &StateCopy,
    provider: &ScriptedProvider,
    service: &ScriptedProvider,
) -> String {
    let listen = format!("127.0.0.1:{}", free_port());
    let variables = [
        ("LISTEN", listen.clone()),
        ("PUBLIC_URL", format!("http://{listen}")),
        ("STATE", state.url()),
        ("MEDIA", state.media().display().to_string()),
        ("PROVIDER", format!("http://{}", provider.address)),
        ("SERVICE", format!("http://{}/check", service.address)),
        ("TIER_OF_FIRST", "0".to_owned()),
        ("ANN_SHA256", sha256(ANN.as_bytes())),
        ("BOB_SHA256", sha256(BOB.as_bytes())),
        ("OPERATOR_SHA256", sha256(OPERATOR.as_bytes())),
    ];
    let variables: Vec<(&str, &str)> = variables
        .iter()
        .map(|(name, text)| (*name, &**text))
        .collect();
    let config = fs::read_to_string(version_folder().join("gateway.yaml")).unwrap();
    filled(&config, Duration::ZERO, &variables)
}

fn load_sqlite(file: &Path, state: &str) {
    let connection = rusqlite::Connection::open(file).unwrap();
    connection
        .pragma_update(None, "journal_mode", "wal")
        .unwrap();
    connection.execute_batch(state).unwrap();
}

fn load_redis(redis: &RedisServer, commands: &str) {
    let client = redis::Client::open(redis.url()).unwrap();
    let mut connection = client.get_connection().unwrap();
    for line in commands.lines() {
        let words: Vec<String> = serde_json::from_str(line).unwrap();
        let mut command = redis::cmd(&words[0]);
        command.arg(&words[1..]).exec(&mut connection).unwrap();
    }
}

fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_files(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

fn versions() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/versions")
}

/// A receiver that refuses events, those at `/dead` for good.
fn refuse_event(event: &str) -> Vec<u8> {
    let status = match event.starts_with("POST /dead ") {
        true => 410,
        false => 500,
    };
    http_response(status, "", "")
}

/// The provider: each create gets the response of the fixture, each task has succeeded, and every other id exists.
fn respond(request: &str) -> Vec<u8> {
    let (method, rest) = request.split_once(' ').unwrap();
    let path = rest.split(' ').next().unwrap();
    let id = path.rsplit('/').next().unwrap();
    if method == "POST" {
        let is_answered = |entry: &&Value| {
            let name = entry["name"].as_str().unwrap();
            request.contains(&format!("gate {name}."))
        };
        let entry = requests().find(is_answered);
        let padding = entry.and_then(|entry| entry["provider_padding"].as_u64());
        let padding = " ".repeat(padding.unwrap_or(0) as usize);
        return match entry.map(|entry| &entry["provider"]) {
            Some(Value::Null) => Vec::new(),
            Some(Value::String(text)) => json_response(200, text),
            Some(body) => json_response(200, format!("{body}{padding}")),
            None => json_response(
                200,
                json!({"created": 1, "data": [{"b64_json": "iVBORw0KGgo="}]}),
            ),
        };
    }
    let video = format!("https://videos.example/{id}.mp4");
    let body = if path.starts_with("/api/v3/") {
        json!({"id": id, "model": "sim-video-a", "status": "succeeded", "content": {"video_url": video},
            "created_at": 1_795_680_000, "updated_at": 1_795_680_060})
    } else if path.starts_with("/api/v1/") {
        json!({"output": {"task_id": id, "task_status": "SUCCEEDED", "video_url": video}, "request_id": "r-9"})
    } else {
        json!({"id": id, "object": "response", "status": "completed", "output": []})
    };
    json_response(200, body)
}
