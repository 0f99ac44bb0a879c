//! Tests of large data URIs: the memory of the gateway at its peak, time, and the bytes that providers download.
//!
//! `HEADGATE_TEST_MEDIA_MB` sets the size of the large file, `HEADGATE_TEST_MEDIA_CROWD_MB` that of each of twenty. The
//! figures are printed (`cargo test --test suite media::large_files -- --nocapture`).

use crate::harness::config::sha256;
use crate::harness::free_port::free_port;
use crate::harness::media::{
    create_with, data_uri, downloads, downloads_within, file, media_config,
};
use crate::harness::s3::S3Server;
use crate::harness::video::{FAMILY_B, GENERIC};
use crate::harness::{Gateway, Request, Simulator};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use headgate_media::ContentHasher;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::task::{JoinSet, yield_now};

/// Memory that one large file may take beyond the spooled body, in a directory and in a bucket.
const ONE_FILE_MAX: [u64; 2] = [40 << 20, 56 << 20];
/// Memory that twenty files may take: three parts each, of 1 MiB in a directory and 5 MiB in a bucket, and their pieces.
const CROWD_MAX: [u64; 2] = [280 << 20, 400 << 20];
const CROWD: usize = 20;
const CROWD_VARIABLE: &str = "HEADGATE_TEST_MEDIA_CROWD_MB";
/// Twenty files of 100 MB take minutes in a build without optimisation on a busy machine.
const CROWD_PATIENCE: Duration = Duration::from_secs(30 * 60);

fn megabytes(variable: &str, default: usize) -> usize {
    let set = std::env::var(variable).ok();
    set.map_or(default, |text| text.parse().unwrap()) * 1_000_000
}

/// The peak of the memory that the system cannot reclaim: mapped bodies are not in it.
struct PeakMeter {
    peak: Arc<AtomicU64>,
    sampling: tokio::task::JoinHandle<()>,
}

impl PeakMeter {
    fn start(gateway: &Gateway) -> Self {
        let peak = Arc::new(AtomicU64::new(0));
        let (sampled, status) = (
            peak.clone(),
            format!("/proc/{}/status", gateway.process.id()),
        );
        let sampling = tokio::spawn(async move {
            loop {
                let text = std::fs::read_to_string(&status).unwrap_or_default();
                let line = text.lines().find(|line| line.starts_with("RssAnon:"));
                let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
                sampled.fetch_max(kib.unwrap_or(0) << 10, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        Self { peak, sampling }
    }

    fn stop(self) -> u64 {
        self.sampling.abort();
        self.peak.load(Ordering::Relaxed)
    }
}

fn config(simulator: &Simulator, bucket: Option<&S3Server>) -> Value {
    let mut config = media_config(simulator, free_port());
    if let Some(server) = bucket {
        config["media"] = server.media(false);
    }
    config
}

async fn one_large_file_by_each_route(bucket: Option<&S3Server>) {
    let size = megabytes("HEADGATE_TEST_MEDIA_MB", 32);
    let place = if bucket.is_some() { "S3" } else { "directory" };
    for (number, (path, model)) in [
        (FAMILY_B, "demo-video-b"),
        (GENERIC, "demo-video-b"),
        (GENERIC, "demo-video-a"),
    ]
    .into_iter()
    .enumerate()
    {
        let simulator = Simulator::start().await;
        let gateway = Gateway::start(&config(&simulator, bucket)).await;
        let content = file("video", size, number as u8);
        let expected = sha256(&content);
        let uri = data_uri("video/mp4", &content);
        let body = create_with(path, model, "reference_video", &uri).to_string();
        let before = gateway.process.anonymous_bytes();
        let (meter, began) = (PeakMeter::start(&gateway), Instant::now());
        let made = gateway.ask(&Request::post(path, body)).await;
        let created = began.elapsed();
        assert_eq!(made.status, 200, "{path} {model}: {}", made.text());
        let files = downloads(&simulator, 1).await;
        let (peak, downloaded) = (meter.stop(), began.elapsed());
        assert_eq!(files[0]["status"], 200, "{}", files[0]);
        assert_eq!(
            files[0]["sha256"].as_str(),
            Some(&*expected),
            "byte-identical"
        );
        let grown = peak.saturating_sub(before);
        println!(
            "{place}: {size} bytes, {path} to {model}: peak {} MiB above {} MiB, created after {:.2} s, downloaded identically after {:.2} s",
            grown >> 20,
            before >> 20,
            created.as_secs_f64(),
            downloaded.as_secs_f64()
        );
        let most = ONE_FILE_MAX[usize::from(bucket.is_some())];
        assert!(grown < most, "{grown} bytes, at most {most}");
    }
}

#[tokio::test]
async fn a_large_video_takes_a_few_pieces_of_memory_on_each_route() {
    one_large_file_by_each_route(None).await;
}

#[tokio::test]
async fn a_large_video_takes_a_few_pieces_of_memory_on_each_route_with_a_bucket() {
    one_large_file_by_each_route(Some(&S3Server::start())).await;
}

/// Bytes of a piece of a video; its base64 has 1 MiB.
const PIECE_BYTES: usize = 3 << 18;
/// How many pieces the videos share, each in another order: a test holds these, and not twenty videos.
const SHARED_PIECES: usize = 16;

/// Videos of the same size that differ, sent piece by piece.
struct LargeVideos {
    pieces: Vec<(Vec<u8>, String)>,
    /// Pieces of each.
    count: usize,
}

impl LargeVideos {
    fn new(size: usize) -> Self {
        let pieces = (0..SHARED_PIECES as u8).map(|seed| {
            let piece = file("image", PIECE_BYTES, seed);
            let encoded = STANDARD.encode(&piece);
            (piece, encoded)
        });
        Self {
            pieces: pieces.collect(),
            count: size.div_ceil(PIECE_BYTES),
        }
    }

    fn bytes(&self) -> usize {
        self.count * PIECE_BYTES
    }

    /// Sends a create with video `number`, and returns the video's SHA-256 once the task is made.
    async fn create(&self, gateway: &Gateway, number: usize) -> String {
        let start = file("video", PIECE_BYTES, number as u8);
        let start = (STANDARD.encode(&start), start);
        let rest = (1..self.count).map(|nth| &self.pieces[(number + nth) % SHARED_PIECES]);
        let body = create_with(FAMILY_B, "demo-video-b", "reference_video", "URL").to_string();
        let (before, after) = body.split_once("URL").unwrap();
        let before = format!("{before}data:video/mp4;base64,");
        let length = before.len() + self.count * start.0.len() + after.len();
        let head = Request::new("POST", FAMILY_B)
            .header("Content-Type", "application/json")
            .header("Content-Length", &length.to_string());
        let connection = gateway.connect().await;
        let mut connection = connection.with_patience(CROWD_PATIENCE);
        let mut hasher = ContentHasher::default();
        let began = [head.bytes(), before.into_bytes(), start.0.into_bytes()];
        let mut is_sent = connection.send(&began.concat()).await.is_ok();
        hasher.update(&start.1);
        for (piece, encoded) in rest {
            // A refusal ends the sending.
            is_sent = is_sent && connection.send(encoded.as_bytes()).await.is_ok();
            hasher.update(piece);
            // The gateway waits a minute for the next byte of each.
            yield_now().await;
        }
        let _ = connection.send(after.as_bytes()).await;
        let made = connection.answer().await;
        let made = made.unwrap_or_else(|| panic!("no response; the log: {:?}", gateway.log()));
        assert_eq!(made.status, 200, "{}", made.text());
        hasher.digest().to_string()
    }
}

async fn many_at_once(size: usize, bucket: Option<&S3Server>) {
    let place = if bucket.is_some() { "S3" } else { "directory" };
    let simulator = Simulator::start().await;
    let mut config = config(&simulator, bucket);
    // Small files are spooled like large ones.
    config["server"]["spool"] = json!({"threshold": "1MiB"});
    config["server"]["limits"] = json!({"body_timeout": "30m"});
    let gateway = Arc::new(Gateway::start(&config).await);
    let videos = Arc::new(LargeVideos::new(size));
    let size = videos.bytes();
    let before = gateway.process.anonymous_bytes();
    let (meter, began) = (PeakMeter::start(&gateway), Instant::now());
    let mut creating = JoinSet::new();
    for number in 0..CROWD {
        let (gateway, videos) = (gateway.clone(), videos.clone());
        creating.spawn(async move { videos.create(&gateway, number).await });
    }
    let mut expected = creating.join_all().await;
    let created = began.elapsed();
    let files = downloads_within(CROWD_PATIENCE, &simulator, CROWD).await;
    let received = files.iter().map(|file| file["sha256"].as_str());
    let mut received: Vec<_> = received.map(|digest| digest.unwrap().to_owned()).collect();
    let grown = meter.stop().saturating_sub(before);
    expected.sort();
    received.sort();
    assert_eq!(received, expected, "byte-identical");
    println!(
        "{place}: {CROWD} at once of {size} bytes each: peak {} MiB above {} MiB, created after {:.2} s, downloaded identically after {:.2} s",
        grown >> 20,
        before >> 20,
        created.as_secs_f64(),
        began.elapsed().as_secs_f64()
    );
    let most = CROWD_MAX[usize::from(bucket.is_some())];
    assert!(grown < most, "{grown} bytes, at most {most}");
    let whole = (CROWD * size) as u64;
    assert!(most < whole, "{most} is more than all files, {whole}");
}

#[tokio::test]
async fn twenty_large_videos_at_once_take_bounded_memory() {
    many_at_once(megabytes(CROWD_VARIABLE, 20), None).await;
}

#[tokio::test]
async fn twenty_large_videos_at_once_take_bounded_memory_with_a_bucket() {
    // Parts of a bucket are larger: less than this would fit into memory as a whole.
    many_at_once(megabytes(CROWD_VARIABLE, 24), Some(&S3Server::start())).await;
}
