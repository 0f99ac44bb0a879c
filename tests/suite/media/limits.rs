//! Tests of limits: counts, durations and their totals, frame rates, pixels, and sizes of requests.

use crate::harness::media::{data_uri, downloads, file, start};
use crate::harness::media_files::{self, mp3, video, wav};
use crate::harness::video::{FAMILY_A, FAMILY_B, GENERIC, creates};
use crate::harness::{Gateway, PATIENCE, Request, WholeResponse};
use serde_json::{Value, json};
use std::time::Duration;

/// A create with media, and a duration unless it is `None`.
fn create(path: &str, model: &str, medias: &[(&str, &str)], duration: Option<i64>) -> Value {
    match path {
        FAMILY_A => {
            let content = medias.iter().map(|(role, url)| {
                let kind = match *role {
                    "reference_video" => "video_url",
                    "reference_audio" => "audio_url",
                    _ => "image_url",
                };
                json!({"type": kind, kind: {"url": url}, "role": role})
            });
            json!({"model": model, "content": content.collect::<Vec<_>>()})
        }
        FAMILY_B => {
            let media = medias
                .iter()
                .map(|(role, url)| json!({"type": role, "url": url}));
            let mut body = json!({"model": model, "input": {"media": media.collect::<Vec<_>>()}});
            if let Some(duration) = duration {
                body["parameters"] = json!({"duration": duration});
            }
            body
        }
        _ => {
            let media = medias
                .iter()
                .map(|(role, url)| json!({"type": role, "url": url}));
            let mut body = json!({"model": model, "medias": media.collect::<Vec<_>>()});
            if let Some(duration) = duration {
                body["duration"] = json!(duration);
            }
            body
        }
    }
}

fn mp4_uri(seconds: f64, frame_rate: f64) -> String {
    data_uri("video/mp4", &video(seconds, frame_rate))
}

async fn send(gateway: &Gateway, path: &str, body: Value) -> WholeResponse {
    gateway.ask(&Request::post(path, body.to_string())).await
}

#[tokio::test]
async fn durations_and_frame_rates_of_family_b_are_those_of_its_limits() {
    let (simulator, gateway) = start().await;
    let (clip, long) = (mp4_uri(8.0, 24.0), mp4_uri(15.02, 23.976));
    let (longer, medium) = (mp4_uri(15.4, 24.0), mp4_uri(10.4, 24.0));
    let (slow, odd) = (mp4_uri(4.0, 12.0), mp4_uri(4.0, 15.99));
    let slower = mp4_uri(4.0, 15.5);
    let (sound, song) = (
        data_uri("audio/wav", &wav(8)),
        data_uri("audio/mpeg", &mp3(16)),
    );
    let damaged = data_uri("video/mp4", &video(40.0, 24.0)[..150]);
    let mut sent = 0;
    for (medias, duration, expected) in [
        (vec![("reference_video", &clip)], None, Ok(())),
        (vec![("reference_video", &long)], Some(15), Ok(())),
        (vec![("reference_video", &odd)], Some(26), Ok(())),
        (vec![("reference_video", &long)], Some(-1), Ok(())),
        (vec![("reference_audio", &sound)], Some(30), Ok(())),
        // What a damaged file would state is the provider's to check.
        (vec![("reference_video", &damaged)], Some(20), Ok(())),
        (
            vec![("reference_video", &slow)],
            None,
            Err("12 frames per second; at least 16"),
        ),
        (
            vec![("reference_video", &slower)],
            None,
            Err("15.5 frames per second; at least 16"),
        ),
        (
            vec![("reference_video", &longer)],
            None,
            Err("is 15.4 s long in all; it may be at most 15 s, and one frame (0.042 s)"),
        ),
        (
            vec![("reference_video", &medium)],
            Some(20),
            Err("20 s of output and 10.4 s of input video are more than 30 s, and one frame"),
        ),
        (
            vec![("reference_video", &clip), ("reference_video", &clip)],
            None,
            Err("`reference_video` is 16 s long in all; it may be at most 15 s"),
        ),
        (
            vec![("reference_audio", &sound), ("reference_audio", &sound)],
            None,
            Err("`reference_audio` is 16 s long in all; it may be at most 15 s"),
        ),
        (
            vec![("reference_audio", &song)],
            None,
            Err("`reference_audio` is 15.9"),
        ),
        (
            vec![("reference_video", &long)],
            Some(16),
            Err("16 s of output and 15.02 s of input video are more than 30 s"),
        ),
        (
            vec![("reference_video", &clip)],
            Some(23),
            Err("23 s of output and 8 s of input video are more than 30 s"),
        ),
    ] {
        for path in [FAMILY_B, GENERIC] {
            let medias: Vec<(&str, &str)> = medias
                .iter()
                .map(|(role, url)| (*role, url.as_str()))
                .collect();
            let body = create(path, "demo-video-b", &medias, duration);
            let response = send(&gateway, path, body).await;
            match expected {
                Ok(()) => {
                    assert_eq!(
                        response.status,
                        200,
                        "{path} {duration:?}: {}",
                        response.text()
                    );
                    sent += 1;
                }
                Err(reason) => {
                    assert_eq!(response.status, 400, "{path} {reason}: {}", response.text());
                    assert!(
                        response.text().contains(reason),
                        "{reason}: {}",
                        response.text()
                    );
                }
            }
        }
    }
    assert_eq!(creates(&simulator).await, sent);
}

#[tokio::test]
async fn frame_rates_and_pixels_of_family_a_are_those_of_its_limits() {
    let (simulator, gateway) = start().await;
    let large = data_uri(
        "video/mp4",
        &media_files::mp4(b"vide", 4.0, 24.0, (4096, 2304)),
    );
    let largest = data_uri(
        "video/mp4",
        &media_files::mp4(b"vide", 4.0, 24.0, (3840, 2160)),
    );
    for (url, expected) in [
        (mp4_uri(4.0, 23.976), Ok(())),
        (mp4_uri(4.0, 59.94), Ok(())),
        (largest, Ok(())),
        (large, Err("4096x2304 pixels; at most 8295044")),
        (mp4_uri(4.0, 20.0), Err("20 frames per second; at least 24")),
        (mp4_uri(4.0, 90.0), Err("90 frames per second; at most 60")),
        (
            mp4_uri(31.0, 24.0),
            Err("31 s long in all; it may be at most 30 s"),
        ),
    ] {
        for path in [FAMILY_A, GENERIC] {
            let body = create(path, "demo-video-a", &[("reference_video", &url)], None);
            let response = send(&gateway, path, body).await;
            match expected {
                Ok(()) => assert_eq!(response.status, 200, "{path}: {}", response.text()),
                Err(reason) => {
                    assert_eq!(response.status, 400, "{path} {reason}: {}", response.text());
                    assert!(
                        response.text().contains(reason),
                        "{reason}: {}",
                        response.text()
                    );
                }
            }
        }
    }
    assert_eq!(creates(&simulator).await, 6);
}

#[tokio::test]
async fn too_many_media_of_a_role_are_a_400_before_anything_is_stored() {
    let (simulator, gateway) = start().await;
    let image = data_uri("image/png", &media_files::png(640, 360));
    let clip = mp4_uri(1.0, 24.0);
    let sound = data_uri("audio/wav", &wav(1));
    for (role, url, most) in [
        ("reference_image", &image, 10),
        ("reference_video", &clip, 5),
        ("reference_audio", &sound, 5),
    ] {
        for path in [FAMILY_B, GENERIC] {
            let medias = vec![(role, url.as_str()); most + 1];
            let refused = send(&gateway, path, create(path, "demo-video-b", &medias, None)).await;
            assert_eq!(refused.status, 400, "{path} {role}: {}", refused.text());
            let text = refused.text();
            assert!(
                text.contains(&format!("at most {most}")) && text.contains(role),
                "{text}"
            );
            assert!(!gateway.folder.path().join("media").exists(), "{role}");
        }
    }
    for path in [FAMILY_B, GENERIC] {
        let medias = vec![("reference_image", image.as_str()); 10];
        let made = send(&gateway, path, create(path, "demo-video-b", &medias, None)).await;
        assert_eq!(made.status, 200, "{path}: {}", made.text());
    }
    assert_eq!(creates(&simulator).await, 2);
}

const MIB: usize = 1 << 20;

/// A request of `size` bytes whose media are small: a text of escapes takes the rest.
fn large_text(path: &str, size: usize) -> String {
    let image = data_uri("image/png", &media_files::png(640, 360));
    let body = create(path, "demo-video-b", &[("reference_image", &image)], None).to_string();
    let text = r"\/".repeat(size / 2);
    match path {
        FAMILY_B => body.replacen(
            r#""input":{"#,
            &format!(r#""input":{{"negative_prompt":"{text}","#),
            1,
        ),
        _ => body.replacen('{', &format!(r#"{{"negative_prompt":"{text}","#), 1),
    }
}

/// Asks, and returns by how much the memory of the gateway that is not backed by a file grew at most meanwhile.
async fn ask_watched(gateway: &Gateway, request: &Request) -> (WholeResponse, u64) {
    let before = gateway.process.anonymous_bytes();
    let mut most = before;
    let connection = gateway.connect().await;
    // A build without optimisation takes a while for them on a busy machine.
    let mut connection = connection.with_patience(4 * PATIENCE);
    let mut asked = std::pin::pin!(connection.ask(request));
    loop {
        tokio::select! {
            response = &mut asked => return (response, most.saturating_sub(before)),
            () = tokio::time::sleep(Duration::from_millis(5)) => {
                most = most.max(gateway.process.anonymous_bytes());
            }
        }
    }
}

#[tokio::test]
async fn what_is_not_media_has_the_limit_of_the_family_and_is_not_copied() {
    let (simulator, gateway) = start().await;
    for path in [FAMILY_B, GENERIC] {
        let request = Request::post(path, large_text(path, 80 * MIB));
        let (refused, grown) = ask_watched(&gateway, &request).await;
        assert_eq!(refused.status, 413, "{path}: {}", refused.text());
        assert!(refused.text().contains("67108864"), "{}", refused.text());
        println!("{path}: 80 MiB of text: 413, {} KiB of memory", grown >> 10);
        assert!(grown < 40 * MIB as u64, "{path}: {grown}");
    }
    assert_eq!(creates(&simulator).await, 0);
}

/// A video of `size` bytes as a data URI in which every slash is escaped, as some JSON writers do.
fn escaped_video(size: usize) -> String {
    let mut content = video(4.0, 24.0);
    let rest =
        (content.len()..size).map(|at| (at as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0]);
    content.extend(rest);
    data_uri("video/mp4", &content).replace('/', r"\/")
}

#[tokio::test]
async fn escapes_in_large_base64_take_no_memory() {
    let url = escaped_video(48 * MIB);
    for (path, model) in [
        (FAMILY_B, "demo-video-b"),
        (GENERIC, "demo-video-b"),
        (GENERIC, "demo-video-a"),
    ] {
        let (simulator, gateway) = start().await;
        let body = create(path, model, &[("reference_video", "URL")], None);
        let body = body.to_string().replace("URL", &url);
        let (made, grown) = ask_watched(&gateway, &Request::post(path, body)).await;
        assert_eq!(made.status, 200, "{path} {model}: {}", made.text());
        assert_eq!(creates(&simulator).await, 1);
        println!(
            "{path} to {model}: a video of 48 MiB with escapes: {} KiB of memory",
            grown >> 10
        );
        assert!(grown < 32 * MIB as u64, "{path} {model}: {grown}");
    }
}

#[tokio::test]
async fn large_inline_images_beside_a_stored_video_are_stored_too() {
    let (simulator, gateway) = start().await;
    let clip = mp4_uri(4.0, 24.0);
    let images = [1, 2].map(|seed| data_uri("image/png", &file("image", 20 * MIB, seed)));
    let small = data_uri("image/png", &media_files::png(640, 360));
    for (images, downloaded) in [([&small, &small], 1), ([&images[0], &images[1]], 3)] {
        let medias = [
            ("reference_video", clip.as_str()),
            ("reference_image", images[0]),
            ("reference_image", images[1]),
        ];
        let before = simulator.downloads().await.len();
        let body = create(FAMILY_A, "demo-video-a", &medias, None).to_string();
        let (made, grown) = ask_watched(&gateway, &Request::post(FAMILY_A, body)).await;
        assert_eq!(made.status, 200, "{}", made.text());
        downloads(&simulator, before + downloaded).await;
        let sent = simulator.last_create_body().await;
        assert!(sent.len() < MIB, "{} bytes were sent", sent.len());
        println!(
            "{downloaded} of a video and two images stored: {} KiB of memory",
            grown >> 10
        );
        // The base64 of the large ones has 53 MiB.
        assert!(grown < 40 * MIB as u64, "{grown}");
    }
}
