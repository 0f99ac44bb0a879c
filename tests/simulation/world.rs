//! What outlives the gateways of a schedule: providers, receivers, callers, the state store, and the trace of events.

use super::callers::CallerLog;
use super::clock;
use super::config::{PROVIDERS, RECEIVER};
use super::http::{Message, request};
use super::provider::Provider;
use super::random::Random;
use super::receiver::Receiver;
use super::socket::{SocketEnd, pair};
use super::store::DurableState;
use headgate_core::state::lock::lock;
use headgate_gateway::simulated_network::{ConnectFuture, SimulatedNetwork, SimulatedSocket};
use headgate_gateway::simulation::SimulatedGateway;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, Weak};
use tokio::time::sleep;

/// How hostile a schedule is. Probabilities are in percent, and hold until [`Self::until_ms`].
#[derive(Clone, Copy, Debug)]
pub struct NetworkFaults {
    pub until_ms: u64,
    pub connect_percent: u64,
    pub provider_percent: u64,
    pub receiver_percent: u64,
}

/// The connections of the gateways that serve.
#[derive(Clone, Default)]
pub struct OpenConnections {
    pub to_providers: Arc<AtomicUsize>,
    pub to_callers: Arc<AtomicUsize>,
}

/// Everything around the gateways.
pub struct World {
    pub random: Random,
    pub faults: NetworkFaults,
    pub providers: Vec<Provider>,
    pub receiver: Receiver,
    pub callers: CallerLog,
    pub durable: Arc<DurableState>,
    open: Mutex<OpenConnections>,
    trace: Mutex<Vec<String>>,
    gateways: Mutex<Vec<Weak<SimulatedGateway>>>,
}

impl World {
    pub fn new(random: Random, faults: NetworkFaults) -> Self {
        Self {
            random,
            faults,
            providers: PROVIDERS.iter().map(|_| Provider::default()).collect(),
            receiver: Receiver::default(),
            callers: CallerLog::default(),
            durable: Arc::default(),
            open: Mutex::default(),
            trace: Mutex::default(),
            gateways: Mutex::default(),
        }
    }

    /// Notes an event, with its time in milliseconds.
    pub fn note(&self, event: impl AsRef<str>) {
        let line = format!("{:>8} {}", clock::elapsed_ms(), event.as_ref());
        lock(&self.trace).push(line);
    }

    pub fn trace(&self) -> Vec<String> {
        lock(&self.trace).clone()
    }

    /// A gateway that serves from now on.
    pub fn add_gateway(&self, gateway: &Arc<SimulatedGateway>) {
        lock(&self.gateways).push(Arc::downgrade(gateway));
    }

    /// No gateway serves any more, and none has a connection.
    pub fn forget_gateways(&self) {
        lock(&self.gateways).clear();
        *lock(&self.open) = OpenConnections::default();
    }

    pub fn open_connections(&self) -> OpenConnections {
        lock(&self.open).clone()
    }

    /// Whether this fault happens now.
    pub fn has_fault(&self, percent: u64) -> bool {
        clock::elapsed_ms() < self.faults.until_ms && self.random.percent(percent)
    }

    /// A connection of a caller to one of the gateways; `None` if none serves.
    pub fn connect_caller(&self) -> Option<SocketEnd> {
        let gateway = self.random.pick(&lock(&self.gateways)).upgrade()?;
        let (near, far) = pair(&self.random, Some(self.open_connections().to_callers));
        let port = 10_000 + u16::try_from(self.random.below(50_000)).unwrap();
        tokio::spawn(gateway.serve(near, SocketAddr::from(([127, 0, 9, 9], port))));
        Some(far)
    }

    /// Calls the gateway back, as a provider does.
    pub async fn call_back(&self, url: &str, body: &str) {
        let Some((_, path)) = url
            .split_once("//")
            .and_then(|(_, rest)| rest.split_once('/'))
        else {
            return;
        };
        let Some(mut socket) = self.connect_caller() else {
            return;
        };
        let target = format!("/{path}");
        let fields = [
            ("Content-Type", "application/json"),
            ("Connection", "close"),
        ];
        let bytes = request("POST", &target, &fields, body);
        let sent = tokio::io::AsyncWriteExt::write_all(&mut socket, &bytes).await;
        if sent.is_ok()
            && let Some(response) = Message::read(&mut socket, &mut Vec::new()).await
        {
            self.note(format!("callback: {}", response.status()));
        }
    }
}

/// The world as the network of a gateway.
pub struct WorldNetwork(pub Arc<World>);

impl SimulatedNetwork for WorldNetwork {
    fn connect(&self, address: SocketAddr) -> ConnectFuture {
        let world = self.0.clone();
        Box::pin(async move {
            sleep(world.random.latency()).await;
            if world.has_fault(world.faults.connect_percent) {
                if world.random.percent(30) {
                    std::future::pending::<()>().await;
                }
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            let (near, far) = pair(&world.random, Some(world.open_connections().to_providers));
            let host = address.ip().to_string();
            let provider = PROVIDERS.iter().position(|known| *known == host);
            match provider {
                Some(index) => drop(tokio::spawn(Provider::serve(world, index, far))),
                None => {
                    assert_eq!(host, RECEIVER, "no gateway connects elsewhere");
                    tokio::spawn(Receiver::serve(world, far));
                }
            }
            Ok(Box::new(near) as Box<dyn SimulatedSocket>)
        })
    }
}
