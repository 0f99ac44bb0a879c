//! No callback is lost, and none goes to another caller than the task's.

use super::callers::CreateOperation;
use super::config::{SECRETS, VIDEO_PATH};
use super::http::Message;
use super::life::durable_store;
use super::receiver::DeliveredEvent;
use super::world::World;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use headgate_core::state::records::RecordKind;
use hmac::{Hmac, Mac};
use sha2::Sha256;

/// The violated invariants of callbacks. `may_lose_ends`: a gateway was killed while the store failed, so that what the store has
/// not taken is lost with it.
pub async fn violations(world: &World, may_lose_ends: bool) -> Vec<String> {
    let mut found = Vec::new();
    let events = world.receiver.events();
    let waiting = waiting_deliveries(world).await;
    let creates = world.callers.creates();
    for event in &events {
        let create = creates
            .iter()
            .find(|create| event.path == format!("/{}", create.name));
        match create {
            Some(create) => found.extend(wrong_event(world, create, event)),
            None => found.push(format!("an event at {}, which nobody named", event.path)),
        }
    }
    for create in creates.iter().filter(|create| create.has_callback) {
        let ended = world.providers.iter().flat_map(|provider| provider.tasks());
        let has_ended = ended
            .into_iter()
            .any(|(_, task)| task.prompt == create.name && task.has_ended());
        let Some(id) = task_id(world, create).filter(|_| has_ended) else {
            continue;
        };
        let path = format!("/{}", create.name);
        let is_end =
            |event: &&DeliveredEvent| event.path == path && has_ended_status(&event.message);
        let is_delivered = events.iter().any(|event| is_end(&event));
        let is_waiting = waiting.iter().any(|value| value.contains(&path));
        if !is_delivered && !is_waiting && !may_lose_ends {
            found.push(format!(
                "{}: the end of {id} was never delivered",
                create.name
            ));
        }
    }
    found
}

/// The id of a create's task, if a caller has received it.
fn task_id(world: &World, create: &CreateOperation) -> Option<String> {
    let response = world.callers.successes(&create.name).pop()?;
    Some(response.json()["task_id"].as_str()?.to_owned())
}

fn wrong_event(world: &World, create: &CreateOperation, event: &DeliveredEvent) -> Option<String> {
    let name = &create.name;
    if !is_signed(&event.message, SECRETS[create.caller]) {
        return Some(format!("{name}: an event is not signed for its caller"));
    }
    let id = task_id(world, create)?;
    let reported = event.message.json()["task_id"].clone();
    (reported != *id).then(|| format!("{name}: an event about {reported}, not {id} ({VIDEO_PATH})"))
}

fn has_ended_status(event: &Message) -> bool {
    let status = event.json()["status"].clone();
    ["succeeded", "failed", "expired", "cancelled"]
        .iter()
        .any(|ended| status == **ended)
}

fn is_signed(event: &Message, secret: &str) -> bool {
    let field = |name: &str| event.field(name).unwrap_or_default().to_owned();
    let (id, timestamp) = (field("webhook-id"), field("webhook-timestamp"));
    let key = STANDARD
        .decode(secret.trim_start_matches("whsec_"))
        .unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(&event.body);
    let expected = STANDARD.encode(mac.finalize().into_bytes());
    field("webhook-signature") == format!("v1,{expected}")
}

/// The stored events that wait for their delivery, or could not be delivered.
async fn waiting_deliveries(world: &World) -> Vec<String> {
    let mut values = Vec::new();
    for kind in [RecordKind::Delivery, RecordKind::DeadLetter] {
        let records = durable_store(world).records().list(kind, "", 10_000).get();
        let texts = records.await.unwrap().into_iter();
        values.extend(
            texts.map(|record| String::from_utf8_lossy(&record.content.value).into_owned()),
        );
    }
    values
}
