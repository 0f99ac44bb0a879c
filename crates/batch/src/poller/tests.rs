//! Tests of the poller: one gateway asks for a batch, ever more seldom, and a batch that nobody can read is settled before it expires.

use super::*;
use crate::batch_record::RecordedModel;
use crate::counters::{BatchCounters, BatchOutcome};
use headgate_core::catalog::Catalog;
use headgate_core::catalog::base_path::BasePath;
use headgate_core::catalog::channel::{HttpVersion, Origin, Timeouts};
use headgate_core::catalog::limits::CallerLimits;
use headgate_core::catalog::pattern_models::PatternModels;
use headgate_core::state::admission::{AdmissionRequest, LimitKind};
use headgate_core::state::calendar::DAY_MS;
use headgate_core::state::memory::MemoryStore;
use headgate_core::state::records::{RecordContent, RecordKind, owned_key};
use headgate_core::subrequest::{SubrequestFuture, SubrequestResponse, SubrequestSender};
use headgate_protocol::ProtocolConfig;
use http::StatusCode;
use serde_json::json;
use std::sync::Mutex;

const HOUR_MS: u64 = 60 * 60 * 1000;

/// A provider that gives one body for each request, the last one again and again.
struct Provider {
    bodies: Mutex<Vec<&'static str>>,
    asked: Mutex<Vec<String>>,
}

impl SubrequestSender for Provider {
    fn send(self: Arc<Self>, asked: Subrequest, _: TimeoutOverrides) -> SubrequestFuture {
        let version = asked.headers.get("anthropic-version");
        let version = version.map_or("", |version| version.to_str().unwrap());
        self.asked
            .lock()
            .unwrap()
            .push(format!("{} {version}", asked.path));
        let mut bodies = self.bodies.lock().unwrap();
        let body = if bodies.len() > 1 {
            bodies.remove(0)
        } else {
            bodies[0]
        };
        Box::pin(async move {
            tokio::task::yield_now().await;
            Ok(SubrequestResponse {
                status: StatusCode::OK,
                headers: HeaderMap::new(),
                body: body.into(),
                inline_file: None,
            })
        })
    }
}

struct World {
    state: Arc<dyn StateStore>,
    provider: Arc<Provider>,
    catalog: Arc<Catalog>,
    counters: Arc<BatchCounters>,
    owner: Arc<str>,
}

/// The protocol of batches with this path.
fn batch_protocol(path: &str, format: &str) -> Protocol {
    let config = json!({"path": path, "batch": format});
    let config: ProtocolConfig = serde_json::from_value(config).unwrap();
    config.build(&format!("test_{format}")).unwrap()
}

impl World {
    fn new(bodies: &[&'static str]) -> Self {
        let origin = Origin {
            host: "first.test".into(),
            port: 80,
            base_path: BasePath::default(),
            authority: HeaderValue::from_static("first.test"),
            http: HttpVersion::Http1,
            tls: None,
            proxy: None,
        };
        let timeouts = Timeouts::default();
        let mut channel = Channel::for_server("first".into(), origin, timeouts, Vec::new(), 1);
        channel.protocols = vec![
            Protocol::Chat,
            batch_protocol("/v1/batches", "file"),
            batch_protocol("/v1/messages/batches", "list"),
        ];
        let catalog = Catalog::new(vec![Arc::new(channel)], [], PatternModels::default());
        Self {
            state: Arc::new(MemoryStore::default()),
            provider: Arc::new(Provider {
                bodies: Mutex::new(bodies.to_vec()),
                asked: Mutex::default(),
            }),
            catalog: Arc::new(catalog),
            counters: Arc::default(),
            owner: "ann".into(),
        }
    }

    /// A gateway of the fleet.
    fn gateway(&self) -> Arc<BatchPoller> {
        Arc::new(self.poller())
    }

    fn poller(&self) -> BatchPoller {
        BatchPoller {
            subrequests: SubrequestClient::new(self.provider.clone(), TIMEOUTS),
            callers: Arc::default(),
            settler: UsageSettler {
                state: self.state.clone(),
                catalog: self.catalog.clone(),
                counters: self.counters.clone(),
                levels: Arc::default(),
            },
        }
    }

    fn records(&self) -> BatchRecords<'_> {
        BatchRecords {
            state: &*self.state,
            caller: &self.owner,
        }
    }

    /// Stores a batch that is asked for every hour.
    async fn batch(&self, id: &str, channel: &str, api: &str) {
        let record = self.record(id, channel, api);
        assert!(self.records().insert(id, record).await.unwrap());
    }

    fn record(&self, id: &str, channel: &str, api: &str) -> BatchRecord {
        BatchRecord {
            id: id.into(),
            channel: channel.into(),
            api: api.into(),
            endpoint: "/v1/chat/completions".into(),
            models: vec![RecordedModel {
                name: "demo".into(),
                channel_name: "sim".into(),
                tokens: 10,
                price: None,
            }],
            requests: 1,
            poll_ms: HOUR_MS,
            created_ms: unix_ms(),
            price_percent: 50,
            ..BatchRecord::default()
        }
    }

    async fn is_settled(&self, id: &str) -> bool {
        let found = self.records().find(id).await.unwrap();
        found.unwrap().record.is_settled
    }

    fn asked(&self) -> Vec<String> {
        self.provider.asked.lock().unwrap().clone()
    }

    fn settled(&self) -> [u64; 4] {
        BatchOutcome::ALL.map(|outcome| self.counters.settled(outcome))
    }
}

const RUNNING: &str = r#"{"id":"batch_1","status":"in_progress"}"#;
const COMPLETED: &str =
    r#"{"id":"batch_1","status":"completed","usage":{"input_tokens":5,"output_tokens":6}}"#;

#[tokio::test]
async fn a_batch_is_asked_for_until_it_has_ended_and_then_settled() {
    let world = World::new(&[RUNNING, RUNNING, COMPLETED]);
    world.batch("batch_1", "first", "/v1/batches").await;
    let (gateway, now_ms) = (world.gateway(), unix_ms());
    for (hours, due, asked) in [
        (0, 0, 0),
        (2, 1, 1),
        (2, 0, 1),
        (4, 1, 2),
        (6, 1, 3),
        (90, 0, 3),
    ] {
        let found = gateway.poll_due(now_ms + hours * HOUR_MS).await.unwrap();
        assert_eq!((found, world.asked().len()), (due, asked), "{hours}");
    }
    assert!(world.is_settled("batch_1").await);
    assert_eq!(world.settled(), [1, 0, 0, 0]);
    assert_eq!(world.asked()[0], "/batches/batch_1 ");
}

#[tokio::test]
async fn of_many_gateways_one_asks_for_a_batch() {
    let world = World::new(&[COMPLETED]);
    world.batch("batch_1", "first", "/v1/batches").await;
    let later_ms = unix_ms() + 2 * HOUR_MS;
    let (one, other) = (world.gateway(), world.gateway());
    let found = tokio::join!(one.poll_due(later_ms), other.poll_due(later_ms));
    assert!(found.0.is_ok() && found.1.is_ok());
    assert_eq!((world.asked().len(), world.settled()), (1, [1, 0, 0, 0]));
}

#[tokio::test]
async fn a_caller_who_reads_while_the_gateway_asks_settles_the_batch_once() {
    let world = World::new(&[RUNNING]);
    world.batch("batch_1", "first", "/v1/batches").await;
    let seen = world.records().find("batch_1").await.unwrap().unwrap();
    let later_ms = unix_ms() + 2 * HOUR_MS;
    world.gateway().poll_due(later_ms).await.unwrap();
    // The record has changed since the caller's request began.
    assert!(world.records().settle(&seen).await.unwrap());
    assert!(!world.records().settle(&seen).await.unwrap());
    assert_eq!(
        world
            .gateway()
            .poll_due(later_ms + 40 * DAY_MS)
            .await
            .unwrap(),
        0
    );
}

#[tokio::test]
async fn a_batch_whose_usage_stays_unknown_is_settled_before_it_expires() {
    const FILE: &str = "/v1/batches";
    const LIST: &str = "/v1/messages/batches";
    let ended = r#"{"id":"batch_1","processing_status":"ended","request_counts":{"succeeded":1}}"#;
    let other = r#"{"id":"batch_2","status":"completed","usage":{"input_tokens":5}}"#;
    for (id, channel, api, body, asks) in [
        ("batch_1", "gone", FILE, COMPLETED, false),
        ("batch_1", "first", "/v1/other", COMPLETED, false),
        ("../batch_1", "first", FILE, COMPLETED, false),
        ("batch_1", "first", FILE, "no JSON", true),
        ("batch_1", "first", FILE, other, true),
        (
            "batch_1",
            "first",
            FILE,
            r#"{"error":{"message":"no"}}"#,
            true,
        ),
        ("batch_1", "first", LIST, ended, true),
    ] {
        let world = World::new(&[body]);
        world.batch(id, channel, api).await;
        let now_ms = unix_ms();
        let gateway = world.gateway();
        gateway.poll_due(now_ms + 2 * HOUR_MS).await.unwrap();
        assert!(!world.is_settled(id).await, "{body}");
        assert_eq!(world.asked().len(), usize::from(asks), "{body}");
        gateway
            .poll_due(now_ms + 31 * DAY_MS - HOUR_MS)
            .await
            .unwrap();
        assert!(world.is_settled(id).await, "{body}");
        assert_eq!(world.settled(), [0, 0, 1, 0], "{body}");
    }
}

#[tokio::test]
async fn an_old_batch_is_asked_for_seldom_and_usage_that_cannot_be_true_is_not_counted() {
    let world = World::new(&[RUNNING]);
    world.batch("batch_1", "first", "/v1/batches").await;
    let (gateway, now_ms) = (world.gateway(), unix_ms());
    for hour in 0..30 * 24 {
        gateway.poll_due(now_ms + hour * HOUR_MS).await.unwrap();
    }
    let asked = world.asked().len();
    assert!((20..60).contains(&asked), "{asked}");
    let huge = r#"{"id":"batch_1","status":"completed","usage":{"input_tokens":200000000}}"#;
    let world = World::new(&[huge]);
    world.batch("batch_1", "first", "/v1/batches").await;
    world
        .gateway()
        .poll_due(now_ms + 2 * HOUR_MS)
        .await
        .unwrap();
    assert_eq!(world.settled(), [0, 0, 0, 1]);
}

#[tokio::test]
async fn a_record_that_this_version_cannot_read_is_due_no_more() {
    let world = World::new(&[RUNNING]);
    let content = RecordContent {
        value: "{\"later\":{}}".into(),
        owner: world.owner.clone(),
        expires_ms: unix_ms() + DAY_MS,
        due_ms: Some(1),
    };
    let key = owned_key("ann", "batch_9");
    let inserted = world.state.records();
    let inserted = inserted.insert(RecordKind::Batch, &key, content, 9);
    inserted.get().await.unwrap();
    assert_eq!(world.gateway().poll_due(unix_ms()).await.unwrap(), 0);
    let due = world.state.records().due(RecordKind::Batch, unix_ms(), 9);
    assert!(due.get().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_batch_of_a_claimed_caller_corrects_the_limits_that_it_has_and_is_counted_by_its_label() {
    let mut world = World::new(&[COMPLETED]);
    world.owner = "corp:alice".into();
    let budget = [(LimitKind::TokensPerDay, Some(1_000))];
    let staff = Caller::new("staff", &[]);
    let limits = CallerLimits::new(&staff.name, &budget);
    let staff = Arc::new(staff.with_limits(limits));
    let alice = staff.claimed_as(world.owner.clone(), "other".into());
    let limits = alice.limits.for_model(None);
    let left = async |tokens| {
        let demand = AdmissionRequest {
            limits: &limits,
            tokens,
            cost: None,
            run: None,
        };
        let admitted = world.state.admit(&demand).get().await.unwrap();
        admitted.limit_statuses[0].remaining
    };
    assert_eq!(left(100).await, 900);
    let record = BatchRecord {
        counted: 100,
        claimed: ClaimedBatchOwner::find(&alice),
        ..world.record("batch_1", "first", "/v1/batches")
    };
    assert!(world.records().insert("batch_1", record).await.unwrap());
    let mut callers = Callers::default();
    callers.add(&staff);
    let gateway = Arc::new(BatchPoller {
        callers: Arc::new(callers),
        ..world.poller()
    });
    let later_ms = unix_ms() + 2 * HOUR_MS;
    gateway.poll_due(later_ms).await.unwrap();
    assert_eq!(left(0).await, 994, "half of eleven tokens");
    let counted = ("other".to_owned(), "corp:alice".to_owned());
    assert_eq!(world.counters.callers(), [counted]);
}
