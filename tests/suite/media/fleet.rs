//! Tests of gateways that share a media store: what one stores all serve, once, and no removal breaks it.

use crate::harness::config::sha256;
use crate::harness::folder::Folder;
use crate::harness::free_port::free_port;
use crate::harness::media::{create_with, data_uri, downloads, file, media_config, path_of_url};
use crate::harness::video::FAMILY_B;
use crate::harness::{Gateway, RedisServer, Request, Simulator};
use headgate_core::state::records::RecordKind;
use headgate_core::state::settings::{RedisSettings, SqliteSettings, StoreOpener, StoreSettings};
use headgate_core::state::{OnStoreFailure, StateStore};
use headgate_media::{
    ContentDigest, MediaLimits, MediaLocation, MediaSettings, MediaStore, SharedMediaState,
};
use headgate_state::open::StateStoreOpener;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long the processes of a fleet keep a file.
const TTL: Duration = Duration::from_secs(73 * 60 * 60);

/// Where the gateways of a fleet have their files and their records.
struct SharedPlace {
    directory: PathBuf,
    state: StoreSettings,
    /// The state as a configuration names it.
    named: Value,
}

impl SharedPlace {
    fn on_file(folder: &Path) -> Self {
        let path = folder.join("state.sqlite");
        Self {
            directory: folder.join("media"),
            named: json!(format!("sqlite:{}", path.display())),
            state: StoreSettings::File(SqliteSettings { path, id_ttl: TTL }),
        }
    }

    fn on_redis(folder: &Path, redis: &RedisServer) -> Self {
        let settings = RedisSettings {
            url: serde_json::from_value(json!(redis.url())).unwrap(),
            user: None,
            password: None,
            ca: None,
            prefix: "headgate".into(),
            timeout: Duration::from_secs(1),
            id_ttl: TTL,
            on_store_failure: OnStoreFailure::Deny,
        };
        Self {
            directory: folder.join("media"),
            named: json!(redis.url()),
            state: StoreSettings::Redis(Box::new(settings)),
        }
    }

    async fn start_gateway(&self, simulator: &Simulator) -> Gateway {
        let mut config = media_config(simulator, free_port());
        config["state"] = self.named.clone();
        config["media"] = json!({"directory": self.directory});
        Gateway::start(&config).await
    }

    /// The complete files of the store, which are in folders by the start of their names.
    fn files(&self) -> Vec<PathBuf> {
        let folders = std::fs::read_dir(&self.directory).into_iter().flatten();
        let files = folders.flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap());
        let paths = files.map(|file| file.unwrap().path());
        paths
            .filter(|path| !path.to_str().unwrap().contains('#'))
            .collect()
    }
}

/// The media store of one more member of the fleet, in this process.
struct Member {
    state: Arc<dyn StateStore>,
    store: Arc<MediaStore>,
}

impl Member {
    fn of(place: &SharedPlace) -> Self {
        let state = StateStoreOpener.open(&place.state);
        let settings = MediaSettings {
            location: MediaLocation::Directory(place.directory.clone()),
            ttl: TTL,
            limits: MediaLimits {
                objects_per_caller: 1000,
                bytes_per_caller: 1 << 30,
                bytes: 1 << 30,
            },
        };
        let shared = Arc::new(SharedMediaState::default());
        let store = Arc::new(MediaStore::new(settings, state.clone(), shared).unwrap());
        Self { state, store }
    }

    /// Makes a file that is stored due for its removal, and removes it unless another member writes it again first.
    /// Returns the number of its write, which differs for each.
    async fn expire(&self, digest: ContentDigest) -> Option<u64> {
        let (records, key) = (self.state.records(), digest.to_string());
        let kind = RecordKind::MediaObject;
        let found = records.get(kind, &key).get().await.unwrap()?;
        let mut record: Value = serde_json::from_slice(&found.content.value).unwrap();
        if record["state"]["state"] != "stored" {
            return None;
        }
        record["expires_s"] = json!(1_000_000);
        let mut content = found.content.clone();
        content.value = record.to_string().into();
        content.due_ms = Some(0);
        let replaced = records.replace(kind, &key, found.version, content);
        replaced.get().await.unwrap()?;
        self.store.remove_expired().await.unwrap();
        record["write"].as_u64()
    }
}

async fn create(gateway: &Gateway, body: &str) {
    let made = gateway.ask(&Request::post(FAMILY_B, body)).await;
    assert_eq!(made.status, 200, "{}", made.text());
}

/// Both gateways store the same bytes at once, and each serves the URLs of the other.
async fn store_once_and_serve_everywhere(place: &SharedPlace, what: &str) {
    let simulator = Simulator::start().await;
    let first = place.start_gateway(&simulator).await;
    let second = place.start_gateway(&simulator).await;
    let content = file("video", 3_000_000, 1);
    let uri = data_uri("video/mp4", &content);
    let body = create_with(FAMILY_B, "demo-video-b", "reference_video", &uri).to_string();
    let creates = (0..10).map(|number| create([&first, &second][number % 2], &body));
    futures_of(creates).await;
    let files = downloads(&simulator, 10).await;
    let hosts: BTreeSet<String> = files.iter().map(|file| host_of(&file["url"])).collect();
    assert_eq!(hosts.len(), 2, "each gateway made URLs");
    for file in &files {
        assert_eq!(file["sha256"].as_str(), Some(&*sha256(&content)), "{file}");
        let path = path_of_url(file["url"].as_str().unwrap());
        for gateway in [&first, &second] {
            let served = gateway
                .ask(&Request::get(&path).without("authorization"))
                .await;
            assert!(served.status == 200 && served.body == content, "{path}");
        }
    }
    assert_eq!(place.files().len(), 1, "the same bytes are stored once");
    println!(
        "{what}: 10 creates at two gateways, 1 file, 20 downloads of it by URLs of both at either"
    );

    // A third gateway removes the file again and again, while the others store it.
    let member = Member::of(place);
    let digest = ContentDigest::from_content(&content);
    let (mut writes, mut made) = (BTreeSet::new(), 0);
    while writes.len() < 5 {
        let [left, right] = [&first, &second].map(|gateway| create(gateway, &body));
        let ((), (), write) = tokio::join!(left, right, member.expire(digest));
        writes.extend(write);
        made += 2;
        assert!(made < 100, "the file was written {} times", writes.len());
    }
    let files = downloads(&simulator, 10 + made).await;
    create(&first, &body).await;
    let newest = downloads(&simulator, 11 + made).await.pop().unwrap();
    let path = path_of_url(newest["url"].as_str().unwrap());
    for gateway in [&first, &second] {
        let served = gateway.ask(&Request::get(&path)).await;
        assert!(served.status == 200 && served.body == content);
    }
    // A file that was removed between create and download is gone; whatever was downloaded is whole.
    for file in files.iter().filter(|file| file["status"] == 200) {
        assert_eq!(file["sha256"].as_str(), Some(&*sha256(&content)), "{file}");
    }
    assert_eq!(place.files().len(), 1);
    println!(
        "{what}: {made} creates beside {} removals by a third gateway: all accepted, 1 file",
        writes.len()
    );
}

fn host_of(url: &Value) -> String {
    let url = url.as_str().unwrap();
    url.split('/').nth(2).unwrap().to_owned()
}

/// Runs futures at the same time.
async fn futures_of(futures: impl Iterator<Item = impl Future<Output = ()>>) {
    let mut open: Vec<_> = futures.map(Box::pin).collect();
    std::future::poll_fn(|context| {
        open.retain_mut(|future| future.as_mut().poll(context).is_pending());
        match open.is_empty() {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
}

#[tokio::test]
async fn two_gateways_store_bytes_once_and_serve_what_the_other_stored() {
    let folder = Folder::new();
    store_once_and_serve_everywhere(&SharedPlace::on_file(folder.path()), "SQLite").await;
    let (folder, redis) = (Folder::new(), RedisServer::start());
    store_once_and_serve_everywhere(&SharedPlace::on_redis(folder.path(), &redis), "Redis").await;
}
