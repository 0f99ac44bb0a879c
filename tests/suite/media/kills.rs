//! Tests of gateways that are killed while they write a file: nothing half-written is served, and nothing is lost.

use crate::harness::config::sha256;
use crate::harness::folder::Folder;
use crate::harness::free_port::free_port;
use crate::harness::media::{create_with, data_uri, file, media_config, path_of_content};
use crate::harness::video::FAMILY_B;
use crate::harness::{Gateway, PATIENCE, Request, Simulator, WholeResponse, eventually};
use headgate_core::state::memory::MemoryStore;
use headgate_media::{MediaLimits, MediaLocation, MediaSettings, MediaStore};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

const KILLS: usize = 6;
const FILE_BYTES: usize = 24_000_000;
/// A write of the same bytes waits for the lease of the killed gateway, which is 30 s.
const LEASE_PATIENCE: Duration = Duration::from_secs(120);

/// The files below a directory.
fn files_in(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let files = entries.flat_map(|entry| match entry.path().is_dir() {
        true => files_in(&entry.path()),
        false => vec![entry.path()],
    });
    files.collect()
}

/// Files that are being written, or that a killed process was writing, have a number after `#`.
fn is_unfinished(path: &Path) -> bool {
    path.file_name().unwrap().to_str().unwrap().contains('#')
}

/// The files that are not complete, with their sizes.
fn unfinished(directory: &Path) -> Vec<(PathBuf, u64)> {
    let paths = files_in(directory).into_iter();
    let sizes = paths.filter(|path| is_unfinished(path)).map(|path| {
        let size = path.metadata().map_or(0, |found| found.len());
        (path, size)
    });
    sizes.collect()
}

fn create_of(content: &[u8]) -> Request {
    let uri = data_uri("video/mp4", content);
    let body = create_with(FAMILY_B, "demo-video-b", "reference_video", &uri);
    Request::post(FAMILY_B, body.to_string())
}

async fn get(gateway: &Gateway, content: &[u8]) -> WholeResponse {
    let path = path_of_content(content, "video/mp4");
    gateway
        .ask(&Request::get(&path).without("authorization"))
        .await
}

/// Stops the process when the file that it writes has reached `wanted` bytes, and returns once the write is stopped or
/// over. It looks without a pause, from a thread of its own, since a fast disk takes a few milliseconds for the file.
fn stop_while_writing(process: u32, media: &Path, files_before: usize, wanted: u64) {
    let until = Instant::now() + PATIENCE;
    let open_before = unfinished(media).len();
    while Instant::now() < until {
        let open = unfinished(media);
        let is_writing = open.len() > open_before;
        if is_writing && open.iter().any(|(_, size)| *size >= wanted) {
            let id = libc::pid_t::try_from(process).unwrap();
            // SAFETY: sends a signal to a child that was not waited for yet.
            assert_eq!(unsafe { libc::kill(id, libc::SIGSTOP) }, 0);
            return;
        }
        if files_in(media).len() > files_before + usize::from(is_writing) {
            return;
        }
    }
    panic!("the file was never written");
}

/// Sends a create, and kills the gateway when it has written part `number` of [`KILLS`] of the first half of the file.
/// Returns whether the file was unfinished then.
async fn kill_while_writing(config: &Value, media: &Path, content: &[u8], number: usize) -> bool {
    let gateway = Gateway::start(config).await;
    let (before, files_before) = (unfinished(media).len(), files_in(media).len());
    let wanted = (number * FILE_BYTES / KILLS / 2) as u64;
    let mut writing = tokio::task::spawn_blocking({
        let (process, media) = (gateway.process.id(), media.to_owned());
        move || stop_while_writing(process, &media, files_before, wanted)
    });
    let mut connection = gateway.connect().await;
    connection.send(&create_of(content).bytes()).await.unwrap();
    loop {
        tokio::select! {
            stopped = &mut writing => break stopped.unwrap(),
            served = get(&gateway, content) => {
                let is_whole = served.status == 200 && served.body == content;
                assert!(served.status == 404 || is_whole, "{}", served.status);
            }
        }
    }
    gateway.process.signal(libc::SIGKILL);
    drop(gateway);
    unfinished(media).len() > before
}

/// Removes what the killed processes left, as gateways do once an hour, an hour after the writes.
async fn remove_leftovers(media: &Path) -> usize {
    for (path, _) in unfinished(media) {
        let file = std::fs::File::options().append(true).open(path).unwrap();
        let old = SystemTime::now() - Duration::from_secs(2 * 60 * 60);
        file.set_modified(old).unwrap();
    }
    let settings = MediaSettings {
        location: MediaLocation::Directory(media.into()),
        ttl: Duration::from_secs(73 * 60 * 60),
        limits: MediaLimits {
            objects_per_caller: 1,
            bytes_per_caller: 1,
            bytes: 1,
        },
    };
    let state = Arc::new(MemoryStore::default());
    let store = MediaStore::new(settings, state, Arc::default()).unwrap();
    store.remove_leftovers().await.unwrap()
}

#[tokio::test]
async fn what_a_killed_gateway_was_writing_is_never_served_and_is_stored_by_the_next_try() {
    let (simulator, place) = (Simulator::start().await, Folder::new());
    let media = place.path().join("media");
    let mut config = media_config(&simulator, free_port());
    let state = place.path().join("state.sqlite");
    config["state"] = json!(format!("sqlite:{}", state.display()));
    config["media"] = json!({"directory": media});
    let contents: Vec<_> = (0..KILLS as u8)
        .map(|seed| file("video", FILE_BYTES, seed))
        .collect();
    let mut interrupted = 0;
    for (number, content) in contents.iter().enumerate() {
        let is_unfinished = kill_while_writing(&config, &media, content, number).await;
        interrupted += usize::from(is_unfinished);
    }
    assert!(interrupted > 0, "no write was interrupted");
    let sent_before = simulator.downloads().await.len();

    let gateway = Arc::new(Gateway::start(&config).await);
    for content in &contents {
        let served = get(&gateway, content).await;
        let is_whole = served.status == 200 && served.body == *content;
        assert!(served.status == 404 || is_whole, "{}", served.status);
    }
    let mut creating = tokio::task::JoinSet::new();
    for content in &contents {
        let connection = gateway.connect().await;
        let (mut connection, request) =
            (connection.with_patience(LEASE_PATIENCE), create_of(content));
        creating.spawn(async move { connection.ask(&request).await });
    }
    for made in creating.join_all().await {
        assert_eq!(made.status, 200, "{}", made.text());
    }
    // The provider may still record a download of a gateway that is killed.
    eventually("a download of each file", async || {
        let received = &simulator.downloads().await[sent_before..];
        let is_received = |content: &Vec<u8>| {
            let expected = sha256(content);
            let mut received = received.iter();
            received.any(|file| file["sha256"].as_str() == Some(&*expected))
        };
        contents.iter().all(is_received).then_some(())
    })
    .await;
    for content in &contents {
        assert!(get(&gateway, content).await.body == *content);
    }
    let (open, complete): (Vec<_>, Vec<_>) = files_in(&media)
        .into_iter()
        .partition(|path| is_unfinished(path));
    assert_eq!(complete.len(), KILLS);
    for path in &complete {
        let name = path.file_name().unwrap().to_str().unwrap();
        let digest = sha256(&std::fs::read(path).unwrap());
        assert!(name.starts_with(&digest), "{name} has its content");
    }
    let removed = remove_leftovers(&media).await;
    assert_eq!((removed, unfinished(&media).len()), (open.len(), 0));
    assert_eq!(files_in(&media).len(), KILLS);
    println!(
        "{KILLS} gateways killed, {interrupted} of them while they wrote a file: every file stored by the next try, {removed} unfinished ones removed"
    );
}
