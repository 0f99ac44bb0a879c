//! Tests of image edits as forms: the same rules as for JSON, no ambiguity, bounded size.

use crate::harness::error_shape::assert_error_body;
use crate::harness::images::{
    CHANNEL_MODEL, FIELDS, MODEL, PATH, PNG, form, image_config, json_body, written,
};
use crate::harness::request::BOB;
use crate::harness::{Gateway, Request, Simulator};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

#[tokio::test]
async fn what_is_neither_json_nor_a_form_is_refused_by_its_type() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&image_config(&simulator, "", json!({}))).await;
    for content_type in [
        "text/plain",
        "multipart/form-data",
        "multipart/form-data; boundary=a; boundary=gate-7f",
        "multipart/mixed; boundary=gate-7f",
        "application/x-www-form-urlencoded",
    ] {
        let request = form(FIELDS)
            .without("content-type")
            .header("Content-Type", content_type);
        let answer = gateway.ask(&request).await;
        assert_error_body(Protocol::ImageEdit, &answer, 415);
        assert_eq!(
            answer.json()["error"]["param"],
            "content-type",
            "{content_type}"
        );
    }
    let coded = form(FIELDS).header("Content-Encoding", "br");
    assert_error_body(Protocol::ImageEdit, &gateway.ask(&coded).await, 415);
    assert_eq!(simulator.records().await.len(), 0);
}

#[tokio::test]
async fn a_form_is_held_to_the_same_rules_as_json_and_errors_name_its_fields() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&image_config(&simulator, "", json!({}))).await;
    let long = "x".repeat(32_001);
    let rows: [(&str, &str, u16); 22] = [
        ("model", "demo-imagine", 404),
        ("model", "", 400),
        ("prompt", "", 400),
        ("prompt", &long, 400),
        ("n", "0", 400),
        ("n", "11", 400),
        ("n", "two", 400),
        ("n", "1.5", 400),
        ("n", "01", 400),
        ("output_compression", "101", 400),
        ("output_compression", "-1", 400),
        ("partial_images", "4", 400),
        ("stream", "yes", 400),
        ("stream", "1", 400),
        ("size", "1024", 400),
        ("quality", "best", 400),
        ("output_format", "gif", 400),
        ("input_fidelity", "medium", 400),
        ("background", "red", 400),
        ("moderation", "none", 400),
        ("response_format", "png", 400),
        ("image", "https://x.example/a.png", 400),
    ];
    for (name, value, status) in rows {
        let mut fields: Vec<(&str, &[u8])> = vec![("image[]!", PNG)];
        let others = [("model", MODEL), ("prompt", "Add a boat")];
        let others = others.iter().filter(|(other, _)| *other != name);
        fields.extend(others.map(|(name, value)| (*name, value.as_bytes())));
        fields.push((name, value.as_bytes()));
        let answer = gateway.ask(&form(&fields)).await;
        assert_error_body(Protocol::ImageEdit, &answer, status);
        assert_eq!(
            answer.json()["error"]["param"],
            name,
            "{value}: {}",
            answer.text()
        );
    }
    for (fields, param) in [
        (&[("image!", PNG), ("prompt", b"x")][..], "model"),
        (&[("model", MODEL.as_bytes()), ("prompt", b"x")], "image"),
        (
            &[("image!", PNG), ("model", b"a"), ("model", b"b")],
            "model",
        ),
    ] {
        let answer = gateway.ask(&form(fields)).await;
        assert_error_body(Protocol::ImageEdit, &answer, 400);
        assert_eq!(answer.json()["error"]["param"], param, "{}", answer.text());
    }
    let no_prompt = form(&[("image!", PNG), ("model", MODEL.as_bytes())]);
    let message = gateway.ask(&no_prompt).await.json()["error"]["message"].to_string();
    assert!(message.contains("prompt"), "{message}");
    let seventeen = vec![("image[]!", PNG); 17];
    let fields = [
        &seventeen[..],
        &[("model", MODEL.as_bytes()), ("prompt", b"x")],
    ]
    .concat();
    let answer = gateway.ask(&form(&fields)).await;
    assert_eq!(
        answer.json()["error"]["param"],
        "image[]",
        "{}",
        answer.text()
    );
    let stranger = gateway.ask(&form(FIELDS).key(BOB)).await;
    assert_error_body(Protocol::ImageEdit, &stranger, 403);
    assert_eq!(simulator.records().await.len(), 0);
}

#[tokio::test]
async fn a_form_that_could_be_read_in_two_ways_is_refused_with_the_place() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&image_config(&simulator, "", json!({}))).await;
    let good = written(&FIELDS[..5], MODEL);
    let text = String::from_utf8_lossy(&good).into_owned();
    for broken in [
        text.replacen("--gate-7f\r\n", "preamble\n--gate-7f\r\n", 1),
        text.replacen("--gate-7f\r\n", "preamble--gate-7f\r\n", 1),
        format!("--gate-7f\r\nnot a part\r\n{text}"),
        format!("{text}{text}"),
        format!("{text}x--gate-7f--"),
        text.replace("--gate-7f--", "--gate-7f"),
        text.replace("name=\"model\"", "name=\"mod\\el\""),
        text.replace("name=\"model\"", "name=\"x\"; name=\"model\""),
        text.replace("\r\n\r\nb64_json", "\n\nb64_json"),
        format!("{text}--gate-7f\r\n"),
        "{}".to_owned(),
    ] {
        let answer = gateway
            .ask(&form(FIELDS).with_body(broken.into_bytes()))
            .await;
        assert_error_body(Protocol::ImageEdit, &answer, 400);
        assert!(answer.text().contains("at byte"), "{}", answer.text());
    }
    assert_eq!(simulator.records().await.len(), 0);
}

#[tokio::test]
async fn large_files_pass_byte_for_byte_and_larger_ones_than_allowed_are_refused() {
    let simulator = Simulator::start().await;
    let mut config = image_config(&simulator, "", json!({}));
    config["routes"][0]["request"][2] = json!({"limit_body": {"body": "16MiB", "file": "12MiB"}});
    let gateway = Gateway::start(&config).await;
    let noise = (0..11_u32 << 20).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8);
    let file: Vec<u8> = PNG.iter().copied().chain(noise).collect();
    let fields: &[(&str, &[u8])] = &[
        ("model", MODEL.as_bytes()),
        ("image!", &file),
        ("prompt", b"x"),
    ];
    for request in [form(fields), form(fields).chunked(1 << 20)] {
        let before = gateway.process.memory_peak();
        let answer = gateway.ask(&request).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let grown = gateway.process.memory_peak() - before;
        assert!(grown < 3 * file.len() as u64, "{grown} bytes");
        assert!(simulator.last_body().await == written(fields, CHANNEL_MODEL));
    }
    let large = [&file[..], &[0; 2 << 20]].concat();
    for (fields, param) in [
        (
            &[
                ("model", MODEL.as_bytes()),
                ("mask!", &large[..]),
                ("image!", b""),
                ("prompt", b"x"),
            ][..],
            json!("mask"),
        ),
        (
            &[
                ("model", MODEL.as_bytes()),
                ("image[]!", &file),
                ("image[]!", &file),
                ("prompt", b"x"),
            ],
            Value::Null,
        ),
    ] {
        let answer = gateway.ask(&form(fields)).await;
        assert_error_body(Protocol::ImageEdit, &answer, 413);
        assert_eq!(answer.json()["error"]["param"], param, "{}", answer.text());
    }
    let mut body = json_body();
    body["mask"] = json!({"image_url": format!("data:image/png;base64,{}", "A".repeat(11 << 20))});
    config["routes"][0]["request"][2] = json!({"limit_body": {"body": "16MiB", "file": "8MiB"}});
    let gateway = Gateway::start(&config).await;
    let answer = gateway.ask(&Request::post(PATH, body.to_string())).await;
    assert_error_body(Protocol::ImageEdit, &answer, 413);
    assert_eq!(answer.json()["error"]["param"], "mask.image_url");
    assert_eq!(simulator.records().await.len(), 2);
}

#[tokio::test]
async fn legal_forms_pass_and_reach_the_provider_as_the_plain_form_of_the_same_parts() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&image_config(&simulator, "", json!({}))).await;
    let fields: &[(&str, &[u8])] = &[
        ("image[]!", PNG),
        ("prompt", b"Add a boat"),
        ("model", MODEL.as_bytes()),
        ("image[]!", b"\xFF\xD8\xFF second"),
        ("mask!", PNG),
    ];
    let plain = written(fields, MODEL);
    let wanted = written(fields, CHANNEL_MODEL);
    let around = |before: &[u8], behind: &[u8]| [before, &plain, behind].concat();
    let named = |first: &str, second: &str| {
        let fields = [
            (first, fields[0].1),
            fields[1],
            fields[2],
            (second, fields[3].1),
            fields[4],
        ];
        written(&fields, MODEL)
    };
    let padded = replaced(&plain, b"--gate-7f\r\n", b"--gate-7f \t\r\n");
    let padded = replaced(&padded, b"--gate-7f--\r\n", b"--gate-7f-- \r\n");
    for body in [
        plain.clone(),
        around(b"", b"\r\n"),
        around(b"", b"epilogue\r\n"),
        around(b"\r\n", b""),
        around(b"{\"model\": \"other\"}\r\n", b"{\"model\": \"other\"}"),
        padded,
        named("image!", "image!"),
        named("image[0]!", "image[1]!"),
    ] {
        let shown = String::from_utf8_lossy(&body).into_owned();
        for request in [
            form(fields).with_body(body.clone()),
            form(fields).with_body(body.clone()).chunked(7),
        ] {
            let answer = gateway.ask(&request).await;
            assert_eq!(answer.status, 200, "{shown}: {}", answer.text());
            let sent = simulator.last_body().await;
            assert_eq!(
                String::from_utf8_lossy(&sent),
                String::from_utf8_lossy(&wanted),
                "{shown}"
            );
            let record = simulator.last().await;
            assert_eq!(
                record["headers"]["content-length"],
                wanted.len().to_string(),
                "{record}"
            );
        }
    }
}

fn replaced(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut done = 0;
    for at in memchr::memmem::find_iter(text, from) {
        out.extend_from_slice(&text[done..at]);
        out.extend_from_slice(to);
        done = at + from.len();
    }
    out.extend_from_slice(&text[done..]);
    out
}
