//! Tests of durations in containers other than plain MP4, WAV and MP3: read, or refused where a limit needs them.

use crate::harness::Request;
use crate::harness::media::{create_with, data_uri, start};
use crate::harness::media_files::video;
use crate::harness::video::{FAMILY_B, creates};
use headgate_core::task::media_kind::MediaKind;
use headgate_media::MediaProperties;
use std::io::Cursor;

/// An element of Matroska with a size of eight bytes.
fn element(id: &[u8], body: &[u8]) -> Vec<u8> {
    let size = (body.len() as u64 | 1 << 56).to_be_bytes();
    [id, &size, body].concat()
}

/// A WebM file of a track with 25 frames a second; a live stream states no duration, and its cluster no size.
fn webm(seconds: Option<f64>, track_type: u8) -> Vec<u8> {
    let document = element(b"\x1A\x45\xDF\xA3", &element(b"\x42\x82", b"webm"));
    let scale = element(b"\x2A\xD7\xB1", &1_000_000_u32.to_be_bytes());
    let duration = seconds.map(|seconds| element(b"\x44\x89", &(seconds * 1000.0).to_be_bytes()));
    let info = element(
        b"\x15\x49\xA9\x66",
        &[scale, duration.unwrap_or_default()].concat(),
    );
    let pixels = [
        element(b"\xB0", &640_u16.to_be_bytes()),
        element(b"\xBA", &360_u16.to_be_bytes()),
    ];
    let track = [
        element(b"\x83", &[track_type]),
        element(b"\x23\xE3\x83", &40_000_000_u32.to_be_bytes()),
        element(b"\xE0", &pixels.concat()),
    ];
    let tracks = element(b"\x16\x54\xAE\x6B", &element(b"\xAE", &track.concat()));
    let cluster = b"\x1F\x43\xB6\x75\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xE7\x81\0";
    let segment = [&info[..], &tracks, &cluster[..]].concat();
    [
        &document[..],
        b"\x18\x53\x80\x67\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFF",
        &segment,
    ]
    .concat()
}

/// AAC of two channels at 44.1 kHz, in frames of 100 bytes.
fn aac(frames: usize) -> Vec<u8> {
    let mut frame = [0; 100];
    frame[..7].copy_from_slice(&[
        0xFF,
        0xF1,
        0x50,
        0x80,
        100 >> 3,
        (100 & 7) << 5 | 0x1F,
        0xFC,
    ]);
    frame.repeat(frames)
}

/// FLAC of one channel at 44.1 kHz and 16 bits, without its frames.
fn flac(seconds: u64) -> Vec<u8> {
    let mut stream_info = vec![0x10, 0, 0x10, 0, 0, 0, 0, 0, 0, 0];
    let packed = 44_100_u64 << 44 | 15 << 36 | (seconds * 44_100);
    stream_info.extend(packed.to_be_bytes());
    stream_info.extend([0; 16]);
    [b"fLaC\x80\0\0\x22", &stream_info[..]].concat()
}

fn boxed(kind: &[u8; 4], parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    let size = (8 + body.len() as u32).to_be_bytes();
    [&size[..], kind, &body].concat()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A video of `seconds` fragments of a second, whose header states no duration.
fn fragmented(seconds: u32) -> Vec<u8> {
    let mut file = video(1.0, 24.0);
    let at = |file: &[u8], kind: &[u8]| file.windows(4).position(|found| found == kind).unwrap();
    // The duration follows version, flags, and two times; in `tkhd` also the track and a reserved word.
    for (kind, behind) in [(b"mvhd", 20), (b"tkhd", 24), (b"mdhd", 20)] {
        let place = at(&file, kind) + behind;
        file[place..place + 4].fill(0);
    }
    let default = boxed(b"trex", &[&words(&[0, 1, 1, 3_750, 0, 0])]);
    let extends = boxed(b"mvex", &[&default]);
    let start = at(&file, b"moov") - 4;
    let movie = boxed(b"moov", &[&file[start + 8..], &extends]);
    let header = boxed(b"tfhd", &[&words(&[0x02_0000, 1])]);
    let run = boxed(b"trun", &[&words(&[0, 24])]);
    let fragment = boxed(b"moof", &[&boxed(b"traf", &[&header, &run])]);
    let second = [fragment, boxed(b"mdat", &[&[7; 64]])].concat();
    [&file[..start], &movie, &second.repeat(seconds as usize)].concat()
}

fn duration_seconds(content_type: &str, content: Vec<u8>) -> Option<f64> {
    let found = MediaProperties::read(content_type, &mut Cursor::new(content));
    found.duration.map(|duration| duration.as_secs_f64())
}

#[test]
fn durations_are_read_of_every_container() {
    for (content_type, content, expected) in [
        ("video/webm", webm(Some(12.5), 1), 12.5),
        ("audio/x-matroska", webm(Some(12.5), 2), 12.5),
        ("audio/aac", aac(431), 10.008),
        ("audio/x-flac", flac(9), 9.0),
        ("video/mp4", fragmented(7), 7.0),
    ] {
        let seconds = duration_seconds(content_type, content).unwrap_or_default();
        assert!(
            (seconds - expected).abs() < 0.01,
            "{content_type}: {seconds}"
        );
    }
    let found = MediaProperties::read("video/webm", &mut Cursor::new(webm(Some(3.0), 1)));
    assert_eq!(found.kind, Some(MediaKind::Video));
    assert_eq!(
        (found.frame_rate, found.dimensions),
        (Some(25.0), Some((640, 360)))
    );
    let sound = MediaProperties::read("audio/webm", &mut Cursor::new(webm(Some(3.0), 2)));
    assert_eq!(sound.kind, Some(MediaKind::Audio));
    assert_eq!(duration_seconds("video/webm", webm(None, 1)), None);
}

#[tokio::test]
async fn a_limit_of_duration_needs_files_that_state_theirs() {
    let (simulator, gateway) = start().await;
    let mut sent = 0;
    for (role, media_type, content, refusal) in [
        ("reference_video", "video/webm", webm(Some(9.0), 1), None),
        ("reference_video", "video/mp4", fragmented(9), None),
        ("reference_audio", "audio/aac", aac(400), None),
        ("reference_audio", "audio/flac", flac(9), None),
        (
            "reference_video",
            "video/webm",
            webm(Some(16.0), 1),
            Some("is 16 s long"),
        ),
        (
            "reference_video",
            "video/mp4",
            fragmented(16),
            Some("is 16 s long"),
        ),
        ("reference_audio", "audio/aac", aac(800), Some("is 18.5")),
        (
            "reference_audio",
            "audio/flac",
            flac(16),
            Some("is 16 s long"),
        ),
        (
            "reference_video",
            "video/webm",
            webm(None, 1),
            Some("does not state how long"),
        ),
        (
            "reference_audio",
            "audio/ogg",
            b"OggS\0\x02".to_vec(),
            Some("does not state how long"),
        ),
    ] {
        let body = create_with(
            FAMILY_B,
            "demo-video-b",
            role,
            &data_uri(media_type, &content),
        );
        let request = Request::post(FAMILY_B, body.to_string());
        let created = gateway.ask(&request).await;
        let text = created.text();
        match refusal {
            None => assert_eq!(created.status, 200, "{media_type}: {text}"),
            Some(reason) => {
                assert_eq!(created.status, 400, "{media_type} {reason}: {text}");
                assert!(text.contains(reason), "{media_type}: {text}");
            }
        }
        sent += usize::from(refusal.is_none());
    }
    assert_eq!(creates(&simulator).await, sent);
}
