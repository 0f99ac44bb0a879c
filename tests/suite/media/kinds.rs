//! Tests of kinds: what a data URI declares and what its content is, in every role and on every route.

use crate::harness::error_shape::assert_error_body;
use crate::harness::media::{data_uri, downloads, start};
use crate::harness::video::{FAMILY_B, GENERIC, creates};
use crate::harness::{Request, WholeResponse, media_files};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

const IMAGE: &str = "image/png";
const VIDEO: &str = "video/mp4";
const AUDIO: &str = "audio/mpeg";
const DOCUMENT: &str = "application/pdf";

/// Media types, each with a file of it and how messages name its kind.
fn files() -> [(&'static str, Vec<u8>, &'static str); 4] {
    [
        (IMAGE, media_files::png(640, 360), "an image"),
        (VIDEO, media_files::video(4.0, 24.0), "a video"),
        (AUDIO, media_files::mp3(2), "audio"),
        (DOCUMENT, b"%PDF-1.7\n".to_vec(), "a document"),
    ]
}

const ROLES: [(&str, &str); 6] = [
    ("first_frame", IMAGE),
    ("last_frame", IMAGE),
    ("reference_image", IMAGE),
    ("reference_video", VIDEO),
    ("reference_audio", AUDIO),
    ("file", DOCUMENT),
];

/// A create with a medium, and the field of its URL. A last frame has a first one before it.
fn create(path: &str, role: &str, url: &str) -> (Value, String) {
    let first = "https://x.example/a.png";
    let roles = match role {
        "last_frame" => vec![("first_frame", first), (role, url)],
        _ => vec![(role, url)],
    };
    let last = roles.len() - 1;
    let medias: Vec<Value> = roles
        .iter()
        .map(|(role, url)| json!({"type": role, "url": url}))
        .collect();
    match path {
        FAMILY_B => {
            let body =
                json!({"model": "demo-video-b", "input": {"prompt": "a gate", "media": medias}});
            (body, format!("input.media[{last}].url"))
        }
        _ => {
            let body = json!({"model": "demo-video-b", "prompt": "a gate", "medias": medias});
            (body, format!("medias[{last}].url"))
        }
    }
}

/// Asserts a 400 in the shape of the route's protocol that names the field; returns its message.
fn assert_names_the_field(path: &str, refused: &WholeResponse, param: &str) -> String {
    let protocol = match path {
        FAMILY_B => Protocol::FamilyB,
        _ => Protocol::Video,
    };
    let message = assert_error_body(protocol, refused, 400);
    let names = message.contains(param) || refused.json()["error"]["param"] == param;
    assert!(names, "{param}: {}", refused.text());
    message
}

#[tokio::test]
async fn only_a_file_that_is_what_it_declares_and_what_its_role_requires_is_sent() {
    let (simulator, gateway) = start().await;
    let (mut sent, mut refusals) = (0, 0);
    for path in [FAMILY_B, GENERIC] {
        for (role, required) in ROLES {
            if path == GENERIC && role == "file" {
                continue; // the generic protocol has no documents
            }
            for (declared, ..) in files() {
                for (actual, content, kind) in files() {
                    let case = format!("{path} {role}: {actual} declared as {declared}");
                    let (body, param) = create(path, role, &data_uri(declared, &content));
                    let response = gateway.ask(&Request::post(path, body.to_string())).await;
                    if declared == required && actual == required {
                        assert_eq!(response.status, 200, "{case}: {}", response.text());
                        sent += 1;
                        continue;
                    }
                    assert_eq!(response.status, 400, "{case}: {}", response.text());
                    let message = assert_names_the_field(path, &response, &param);
                    if declared == required {
                        let received = format!("its content is {kind}");
                        assert!(message.contains(&received), "{case}: {message}");
                        assert!(message.contains(role), "{case}: {message}");
                    }
                    refusals += 1;
                }
            }
        }
    }
    println!("{sent} files of the right kind sent, {refusals} of another kind refused with 400");
    assert_eq!((sent, refusals), (11, 165));
    assert_eq!(creates(&simulator).await, sent);
    downloads(&simulator, sent).await;
}

#[tokio::test]
async fn the_tracks_of_an_mp4_decide_whether_it_is_a_video_or_audio() {
    let (simulator, gateway) = start().await;
    let sound = media_files::mp4(b"soun", 3.0, 50.0, (0, 0));
    let video = media_files::video(3.0, 24.0);
    for (role, declared, content, expected) in [
        ("reference_audio", "audio/mp4", &sound, Ok(())),
        (
            "reference_video",
            "video/mp4",
            &sound,
            Err("its content is audio"),
        ),
        (
            "reference_audio",
            "audio/mp4",
            &video,
            Err("its content is a video"),
        ),
    ] {
        for path in [FAMILY_B, GENERIC] {
            let (body, param) = create(path, role, &data_uri(declared, content));
            let response = gateway.ask(&Request::post(path, body.to_string())).await;
            match expected {
                Ok(()) => assert_eq!(response.status, 200, "{role}: {}", response.text()),
                Err(reason) => {
                    let message = assert_names_the_field(path, &response, &param);
                    assert!(message.contains(reason), "{role}: {message}");
                }
            }
        }
    }
    assert_eq!(creates(&simulator).await, 2);
}

#[tokio::test]
async fn a_document_has_one_of_nine_formats_by_its_media_type_or_by_the_name_in_its_url() {
    let (simulator, gateway) = start().await;
    let zip = b"PK\x03\x04".as_slice();
    let office = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1".as_slice();
    let open = "application/vnd.openxmlformats-officedocument";
    let mut taken = vec![
        data_uri("application/pdf", b"%PDF-1.4"),
        data_uri("text/plain", "größer".as_bytes()),
        data_uri("text/markdown", b"# Plan"),
        "https://x.example/download?id=7".into(),
        "https://x.example/a.b/plan#page.exe".into(),
        "https://x.example".into(),
    ];
    for old in ["msword", "vnd.ms-excel", "vnd.ms-powerpoint"] {
        taken.push(data_uri(&format!("application/{old}"), office));
    }
    for new in [
        "wordprocessingml.document",
        "spreadsheetml.sheet",
        "presentationml.presentation",
    ] {
        taken.push(data_uri(&format!("{open}.{new}"), zip));
    }
    for name in [
        "docx", "doc", "xlsx", "xls", "pptx", "ppt", "pdf", "txt", "md", "PDF",
    ] {
        taken.push(format!("https://x.example/plans/a.{name}?v=1"));
    }
    for url in &taken {
        let (body, _) = create(FAMILY_B, "file", url);
        let made = gateway
            .ask(&Request::post(FAMILY_B, body.to_string()))
            .await;
        assert_eq!(made.status, 200, "{url}: {}", made.text());
    }
    for url in [
        data_uri("application/pdf", zip),
        data_uri("application/msword", zip),
        data_uri("application/zip", zip),
        data_uri("text/html", b"<p>"),
        data_uri("text/plain", b"\xff\xfe"),
        "https://x.example/a.exe".into(),
        "https://x.example/plans.pdf/a.zip?name=a.pdf".into(),
        "http://x.example/a.html#a.pdf".into(),
    ] {
        let (body, param) = create(FAMILY_B, "file", &url);
        let refused = gateway
            .ask(&Request::post(FAMILY_B, body.to_string()))
            .await;
        assert_eq!(refused.status, 400, "{url}: {}", refused.text());
        assert_names_the_field(FAMILY_B, &refused, &param);
    }
    assert_eq!(creates(&simulator).await, taken.len());
}
