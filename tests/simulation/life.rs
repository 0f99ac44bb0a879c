//! The gateways of a schedule from their start to their end, which is a kill or the end of the schedule.

use super::ledger::{Ledger, LedgerFeature};
use super::store::{SimulatedStore, StoreSetup};
use super::world::World;
use headgate::features::FEATURES;
use headgate_channel::live::ChannelStates;
use headgate_config::reload::SnapshotReloader;
use headgate_config::snapshot::CrossSnapshotState;
use headgate_core::feature::{Feature, FeatureList};
use headgate_core::state::StateStore;
use headgate_gateway::Gateway;
use headgate_gateway::simulation::SimulatedGateway;
use headgate_observe::access_log::AccessLog;
use headgate_observe::metrics::Metrics;
use serde_json::Value;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::time::sleep;

/// How often the counts of features are taken over.
const UPDATE_INTERVAL: Duration = Duration::from_secs(60);

/// The features of the program, and a ledger of what requests have used.
static LIST: LazyLock<FeatureList> = LazyLock::new(|| {
    let own: &'static dyn Feature = &LedgerFeature;
    let all: Vec<_> = FEATURES.iter().chain([own]).collect();
    FeatureList::new(all.leak())
});

/// A gateway that is built, and belongs to no schedule yet.
pub struct PreparedGateway {
    store: Arc<SimulatedStore>,
    metrics: Arc<Metrics>,
    reloader: Arc<SnapshotReloader>,
}

/// A gateway of a schedule.
pub struct GatewayLife {
    store: Arc<SimulatedStore>,
    channels: Arc<ChannelStates>,
    metrics: Arc<Metrics>,
    reloader: Arc<SnapshotReloader>,
    access_log: Arc<AccessLog>,
    _gateway: Arc<SimulatedGateway>,
}

impl PreparedGateway {
    pub fn build(config: &Path) -> Self {
        let store = Arc::<SimulatedStore>::default();
        let mut shared = CrossSnapshotState::new(*LIST);
        shared.state = store.clone();
        let metrics = Arc::new(Metrics::new(shared.list, &shared.features));
        let reloader = SnapshotReloader::start(config, shared, metrics.clone());
        let reloader = reloader.unwrap_or_else(|problems| panic!("{problems}"));
        Self {
            store,
            metrics,
            reloader: Arc::new(reloader),
        }
    }

    /// Reads the certificate authorities of the system, which all gateways of a process share.
    pub fn prepare_connector(&self) {
        let dns = &self.reloader.current().server.dns;
        drop(headgate_gateway::bucket_client(dns, self.metrics.clone()));
    }

    /// Starts the gateway, within the runtime of its schedule.
    pub fn start(&self, world: &World, setup: StoreSetup) -> GatewayLife {
        let Self {
            store,
            metrics,
            reloader,
        } = self;
        store.set_up(setup);
        let channels = Arc::new(ChannelStates::new(metrics.clone()));
        channels.retain(&reloader.current().catalog);
        let access_log = Arc::new(AccessLog::new(None));
        let gateway = Gateway::new(
            reloader.clone(),
            channels.clone(),
            metrics.clone(),
            access_log.clone(),
            Arc::default(),
        );
        let gateway = Arc::new(SimulatedGateway::new(gateway).unwrap());
        world.add_gateway(&gateway);
        let works = FEATURES.iter().filter_map(|feature| feature.background());
        tokio::spawn(gateway.run_background(works.collect()));
        let updated = metrics.clone();
        tokio::spawn(async move {
            loop {
                sleep(UPDATE_INTERVAL).await;
                updated.update_features();
            }
        });
        GatewayLife {
            store: store.clone(),
            channels,
            metrics: metrics.clone(),
            reloader: reloader.clone(),
            access_log,
            _gateway: gateway,
        }
    }
}

impl GatewayLife {
    /// The lines of the access log.
    pub fn lines(&self) -> Vec<Value> {
        let recent = &self.access_log.recent;
        recent.select(usize::MAX, |line| serde_json::from_slice(line).ok())
    }

    /// What features have recorded of requests.
    pub fn ledger(&self) -> Arc<Ledger> {
        self.reloader.features().get::<Ledger>()
    }

    /// Stores what is left, as a process that ends does.
    pub async fn until_stored(&self) {
        self.metrics.update_features();
        self.reloader.until_stored().await;
    }

    /// What the gateway still holds for requests; empty once all have ended.
    pub fn leaks(&self) -> Vec<String> {
        let mut leaks = Vec::new();
        let snapshot = self.reloader.current();
        for channel in snapshot.catalog.channels() {
            let in_flight = self.channels.load(channel).in_flight();
            if in_flight > 0 {
                leaks.push(format!(
                    "{} has {in_flight} requests in flight",
                    channel.name
                ));
            }
        }
        let open = self.metrics.open_requests.states().len();
        if open > 0 {
            leaks.push(format!("{open} requests are open"));
        }
        let counted = self.metrics.in_flight().sum();
        if counted != 0 {
            leaks.push(format!("{counted} requests are counted as in flight"));
        }
        leaks
    }

    /// Kills the gateway: from now on it has no effect.
    pub fn kill(&self) {
        self.store.kill();
    }
}

/// What a gateway leaves behind, for the audit of its schedule.
pub struct LifeRemains {
    pub life: usize,
    /// The part of the schedule in which the gateway lived.
    pub part: usize,
    pub is_killed: bool,
    pub lines: Vec<Value>,
    pub ledger: Arc<Ledger>,
    pub leaks: Vec<String>,
}

impl LifeRemains {
    pub fn new(life: usize, part: usize, gateway: &GatewayLife, is_killed: bool) -> Self {
        Self {
            life,
            part,
            is_killed,
            lines: gateway.lines(),
            ledger: gateway.ledger(),
            leaks: match is_killed {
                true => Vec::new(),
                false => gateway.leaks(),
            },
        }
    }
}

/// The state store of a gateway that is alive, without its faults.
pub fn durable_store(world: &World) -> &dyn StateStore {
    &world.durable.memory
}
