//! A schedule: what a seed determines, from the configuration of faults to the last byte.

use super::audit::{self, FinalCreate};
use super::callers::{self, CallerOperation};
use super::clock;
use super::config;
use super::counts::ScheduleCounts;
use super::life::{GatewayLife, LifeRemains, PreparedGateway};
use super::process_copy::ProcessCopy;
use super::random::Random;
use super::store::{StoreFaults, StoreSetup};
use super::world::{NetworkFaults, World, WorldNetwork};
use headgate_gateway::simulated_network::simulate;
use serde::{Deserialize, Serialize};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// The longest time that callers and providers are faulty, in milliseconds.
const FAULTS_MS: u64 = 30_000;
/// How long the gateways run on after the last operation, before every create with a key is repeated.
const SETTLING: Duration = Duration::from_secs(90);
/// How long a schedule runs on after that, so that tasks have ended, and events were tried again that failed twice.
const CALM: Duration = Duration::from_secs(420);
/// The first second of a schedule, an hour before the end of a month.
const UNIX_SECONDS: u64 = 1_782_864_000 - 3_600;
/// The largest number of gateways that share the store.
const GATEWAYS: usize = 2;
/// How often all gateways are killed at most.
const KILLS: usize = 2;

/// The gateways that every schedule begins with.
pub struct PreparedSchedule(Vec<PreparedGateway>);

/// What a schedule has shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleReport {
    pub seed: u64,
    /// The violated invariants.
    pub violations: Vec<String>,
    pub trace: Vec<String>,
    pub counts: ScheduleCounts,
}

/// The faults and the work that a seed determines.
#[derive(Debug)]
struct SchedulePlan {
    network: NetworkFaults,
    store: StoreFaults,
    /// When all gateways are killed, in milliseconds after their start.
    kills_ms: Vec<u64>,
    operations: u64,
    gateways: usize,
}

impl SchedulePlan {
    fn new(random: &Random) -> Self {
        let percent = |often: u64, max: u64| match random.percent(often) {
            true => random.below(max),
            false => 0,
        };
        let outage_ms = 1_000 + random.below(8_000);
        let kills = match random.percent(40) {
            true => 1 + random.below(KILLS as u64),
            false => 0,
        };
        Self {
            network: NetworkFaults {
                until_ms: FAULTS_MS,
                connect_percent: percent(50, 30),
                provider_percent: percent(80, 70),
                receiver_percent: percent(60, 80),
            },
            store: StoreFaults {
                percent: percent(50, 25),
                until_ms: FAULTS_MS,
                outage: match random.percent(30) {
                    true => (outage_ms, outage_ms + 1_000 + random.below(22_000)),
                    false => (0, 0),
                },
            },
            kills_ms: (0..kills).map(|_| 500 + random.below(9_000)).collect(),
            operations: 5 + random.below(11),
            gateways: random.pick(&[1, GATEWAYS]),
        }
    }
}

impl PreparedSchedule {
    /// Builds the gateways, at the start of the virtual time.
    pub fn build() -> Self {
        clock::start(UNIX_SECONDS, Random::new(0));
        headgate_core::random::seed_thread(0);
        let folder = std::env::temp_dir();
        let file = folder.join(format!("headgate-simulation-{}.yaml", std::process::id()));
        std::fs::write(&file, config::config().to_string()).unwrap();
        let gateways = (0..GATEWAYS * (KILLS + 1)).map(|_| PreparedGateway::build(&file));
        let prepared = Self(gateways.collect());
        std::fs::remove_file(&file).unwrap();
        prepared.0[0].prepare_connector();
        prepared
    }

    /// Runs the schedule of a seed, in a copy of this process.
    pub fn start(&self, seed: u64) -> ProcessCopy {
        ProcessCopy::start(|| {
            let ran = catch_unwind(AssertUnwindSafe(|| run(self, seed)));
            let report = ran.unwrap_or_else(|panic| {
                let text = panic.downcast_ref::<String>().cloned();
                ScheduleReport {
                    seed,
                    violations: vec![format!("panic: {}", text.unwrap_or_default())],
                    ..ScheduleReport::default()
                }
            });
            serde_json::to_vec(&report).unwrap()
        })
    }
}

fn run(prepared: &PreparedSchedule, seed: u64) -> ScheduleReport {
    let random = Random::new(seed);
    // About the end of a month, so that some schedules pass it.
    let unix_seconds = UNIX_SECONDS + random.below(7_200);
    clock::start(unix_seconds, random.fork());
    headgate_core::random::seed_thread(random.draw());
    let plan = SchedulePlan::new(&random);
    let world = Arc::new(World::new(random.fork(), plan.network));
    world.note(format!("{plan:?}"));
    let network = simulate(Arc::new(WorldNetwork(world.clone())));
    let mut remains = Vec::new();
    for (part, kill_ms) in plan.kills_ms.iter().enumerate() {
        let runtime = clock::runtime();
        runtime.block_on(async {
            let gateways = prepared.start_part(&world, &plan, part, &random);
            spawn_operations(&world, part, plan.operations, &random);
            sleep(Duration::from_millis(*kill_ms)).await;
            world.note("all gateways are killed");
            for (index, gateway) in gateways.iter().enumerate() {
                gateway.kill();
                let life = part * GATEWAYS + index;
                remains.push(LifeRemains::new(life, part, gateway, true));
            }
        });
        drop(runtime);
        clock::advance(Duration::from_millis(1 + random.below(3_000)));
    }
    let runtime = clock::runtime();
    let finals = runtime.block_on(async {
        let part = plan.kills_ms.len();
        let gateways = prepared.start_part(&world, &plan, part, &random);
        let operations = spawn_operations(&world, part, plan.operations, &random);
        for operation in operations {
            operation.await.unwrap();
        }
        sleep(SETTLING).await;
        let finals = repeat_creates(&world, &random).await;
        sleep(CALM).await;
        for (index, gateway) in gateways.iter().enumerate() {
            gateway.until_stored().await;
            let life = part * GATEWAYS + index;
            remains.push(LifeRemains::new(life, part, gateway, false));
        }
        finals
    });
    let violations =
        clock::runtime().block_on(audit::violations(&world, &remains, &finals, plan.store));
    drop(runtime);
    drop(network);
    ScheduleReport {
        seed,
        violations,
        trace: world.trace(),
        counts: ScheduleCounts::new(&world, &remains),
    }
}

impl PreparedSchedule {
    /// Starts the gateways of a part of the schedule, which ends with a kill of all of them.
    fn start_part(
        &self,
        world: &World,
        plan: &SchedulePlan,
        part: usize,
        random: &Random,
    ) -> Vec<GatewayLife> {
        world.forget_gateways();
        let lives = part * GATEWAYS..part * GATEWAYS + plan.gateways;
        let start = |life: usize| {
            let setup = StoreSetup {
                state: world.durable.clone(),
                life,
                faults: plan.store,
                random: random.fork(),
            };
            self.0[life].start(world, setup)
        };
        lives.map(start).collect()
    }
}

fn spawn_operations(
    world: &Arc<World>,
    part: usize,
    count: u64,
    random: &Random,
) -> Vec<tokio::task::JoinHandle<()>> {
    let operations = (0..count).map(|nth| {
        let operation = match random.percent(40) {
            true => CallerOperation::Chat {
                streams: random.percent(50),
            },
            false => CallerOperation::Create {
                has_key: random.percent(70),
                has_callback: random.percent(70),
            },
        };
        let caller = usize::try_from(random.below(2)).unwrap();
        let name = format!("op-{part}-{nth}");
        tokio::spawn(callers::run(world.clone(), name, caller, operation))
    });
    operations.collect()
}

/// Sends every create with a key once more, when nothing is faulty any more.
async fn repeat_creates(world: &Arc<World>, random: &Random) -> Vec<FinalCreate> {
    let mut finals = Vec::new();
    for create in world.callers.creates() {
        if !create.has_key {
            continue;
        }
        let before = world.callers.successes(&create.name);
        let patience = Duration::from_secs(900);
        let response = create.attempt(world, "final", patience, random).await;
        finals.push(FinalCreate {
            create,
            before,
            response,
        });
    }
    finals
}
