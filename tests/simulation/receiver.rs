//! A receiver of callbacks: it takes events, refuses them, or responds too late.

use super::http::{Message, response};
use super::socket::SocketEnd;
use super::world::World;
use headgate_core::state::lock::lock;
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::time::sleep;

/// All events that arrived.
#[derive(Default)]
pub struct Receiver(Mutex<Vec<DeliveredEvent>>);

/// An event as it arrived.
#[derive(Clone, Debug)]
pub struct DeliveredEvent {
    /// The path of the callback URL, which names the create.
    pub path: String,
    pub message: Message,
}

impl Receiver {
    pub fn events(&self) -> Vec<DeliveredEvent> {
        lock(&self.0).clone()
    }

    /// Serves a connection of a gateway.
    pub async fn serve(world: Arc<World>, mut socket: SocketEnd) {
        let Some(event) = Message::read(&mut socket, &mut Vec::new()).await else {
            return;
        };
        if !event.is_whole {
            return;
        }
        let path = event.target().to_owned();
        let status = event.json()["status"].clone();
        let has_fault = world.has_fault(world.faults.receiver_percent);
        let fault = has_fault.then(|| world.random.below(4));
        world.note(format!("receiver: {path} {status} fault {fault:?}"));
        let message = event;
        lock(&world.receiver.0).push(DeliveredEvent { path, message });
        sleep(world.random.up_to_ms(500)).await;
        let status = match fault {
            Some(0) => 500,
            Some(1) => return socket.reset(),
            Some(2) => {
                sleep(Duration::from_secs(20)).await;
                200
            }
            Some(_) => 302,
            None => 200,
        };
        let _ = socket.write_all(&response(status, &json!({}))).await;
    }
}
