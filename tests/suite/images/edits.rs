//! End-to-end tests of image edits: JSON and forms, sent in the format that each channel wants.

use crate::harness::error_shape::assert_error_body;
use crate::harness::images::{
    CHANNEL_MODEL, FIELDS, MODEL, PATH, PNG, PNG_BASE64, form, image_config, json_body, written,
};
use crate::harness::{Gateway, Request, Simulator};
use headgate_protocol::Protocol;
use headgate_protocol::form::MultipartForm;
use serde_json::{Value, json};

/// The parts of a form that the provider received: names, types and values.
fn parts(body: &[u8]) -> Vec<(String, String, Vec<u8>)> {
    let text = String::from_utf8_lossy(body);
    let boundary = text
        .lines()
        .next()
        .unwrap()
        .trim_start_matches("--")
        .to_owned();
    let form = MultipartForm::parse(body.to_vec().into(), &boundary).unwrap();
    let parts = form.parts().iter().map(|part| {
        let content_type = part.content_type.clone().unwrap_or_default();
        (part.name.clone(), content_type, form.value(part).to_vec())
    });
    parts.collect()
}

#[tokio::test]
async fn json_and_forms_arrive_byte_for_byte_but_for_the_model_and_what_the_gateway_sees_to() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&image_config(&simulator, "", json!({}))).await;
    let text = json_body().to_string().replace(",\"n\"", " ,\n \"n\"");
    let answer = gateway.ask(&Request::post(PATH, text.clone())).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let expected = text
        .replace(MODEL, CHANNEL_MODEL)
        .replace(",\"response_format\":\"b64_json\"", "");
    let received = simulator.last_body().await;
    assert_eq!(String::from_utf8(received).unwrap(), expected);

    let answer = gateway.ask(&form(FIELDS)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let kept: Vec<_> = FIELDS
        .iter()
        .copied()
        .filter(|(name, _)| *name != "response_format")
        .collect();
    assert_eq!(simulator.last_body().await, written(&kept, CHANNEL_MODEL));
    let record = simulator.last().await;
    assert_eq!(record["model"], CHANNEL_MODEL);
    assert_eq!(answer.json()["data"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_channel_that_takes_response_format_gets_it() {
    let simulator = Simulator::start().await;
    let image_edit = json!({"response_format": "forward"});
    let config = image_config(&simulator, "takes_response_format", image_edit);
    let gateway = Gateway::start(&config).await;
    for request in [form(FIELDS), Request::post(PATH, json_body().to_string())] {
        let answer = gateway.ask(&request).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let body = String::from_utf8_lossy(&simulator.last_body().await).into_owned();
        assert!(body.contains("response_format"), "{body}");
    }
}

#[tokio::test]
async fn a_form_becomes_json_where_the_channel_takes_json() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&image_config(&simulator, "", json!({"body": "json"}))).await;
    let answer = gateway.ask(&form(FIELDS)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let received: Value = serde_json::from_slice(&simulator.last_body().await).unwrap();
    let image = json!({"image_url": format!("data:image/png;base64,{PNG_BASE64}")});
    assert_eq!(
        received,
        json!({"model": CHANNEL_MODEL, "prompt": "Add a \"boat\" \u{2014} ä", "n": 2, "mask": image,
            "images": [image, {"image_url": "data:image/jpeg;base64,/9j/IHNlY29uZA=="}]})
    );
    assert_eq!(
        simulator.last().await["headers"]["content-type"],
        "application/json"
    );
    let answer = gateway
        .ask(&Request::post(PATH, json_body().to_string()))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test]
async fn json_becomes_a_form_where_the_channel_takes_forms() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&image_config(&simulator, "", json!({"body": "multipart"}))).await;
    let answer = gateway
        .ask(&Request::post(PATH, json_body().to_string()))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let mut received = parts(&simulator.last_body().await);
    received.sort();
    let part = |name: &str, content_type: &str, value: &[u8]| {
        (name.to_owned(), content_type.to_owned(), value.to_vec())
    };
    assert_eq!(
        received,
        [
            part("image", "image/png", PNG),
            part("mask", "image/png", PNG),
            part("model", "", CHANNEL_MODEL.as_bytes()),
            part("n", "", b"2"),
            part("prompt", "", "Add a \"boat\" \u{2014} ä".as_bytes()),
        ]
    );
    let answer = gateway.ask(&form(FIELDS)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test]
async fn a_request_goes_only_where_its_images_can_be_sent() {
    let simulator = Simulator::start().await;
    let mut config = image_config(&simulator, "", json!({"body": "multipart"}));
    let gateway = Gateway::start(&config).await;
    let mut body = json_body();
    body["images"] = json!([{"image_url": "https://x.example/a.png"}]);
    let by_url = Request::post(PATH, body.to_string());
    let answer = gateway.ask(&by_url).await;
    assert_error_body(Protocol::ImageEdit, &answer, 400);
    let error = answer.json()["error"].clone();
    assert_eq!(error["param"], "images[0].image_url");
    assert!(
        error["message"].as_str().unwrap().contains("data URL"),
        "{error}"
    );
    assert_eq!(simulator.records().await.len(), 0);

    config["channels"]["by_url"] = config["channels"]["images"].clone();
    config["channels"]["by_url"]["image_edit"] = json!({});
    config["channels"]["by_url"]["credential"] = json!({"bearer": "sk-by-url"});
    let gateway = Gateway::start(&config).await;
    for _ in 0..4 {
        let answer = gateway.ask(&by_url).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(
            simulator.last().await["headers"]["content-type"],
            "application/json"
        );
    }
}

#[tokio::test]
async fn a_channel_that_refuses_for_the_moment_is_followed_by_one_that_wants_another_form() {
    let simulator = Simulator::start().await;
    let mut config = image_config(&simulator, "status=429", json!({"body": "json"}));
    config["channels"]["second"] = config["channels"]["images"].clone();
    config["channels"]["second"]["tier"] = json!(1);
    config["channels"]["second"]["base_url"] = json!(simulator.url());
    config["channels"]["second"]["image_edit"] = json!({"body": "multipart"});
    let gateway = Gateway::start(&config).await;
    let answer = gateway.ask(&form(FIELDS)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let types: Vec<String> = simulator
        .records()
        .await
        .iter()
        .map(|record| {
            record["headers"]["content-type"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(
        types,
        ["application/json", "multipart/form-data; boundary=gate-7f"]
    );
}

#[tokio::test]
async fn a_files_id_leads_to_the_account_that_has_the_file() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&image_config(&simulator, "", json!({}))).await;
    let mut body = json_body();
    body["images"] = json!([{"file_id": "file-of-somebody-else"}]);
    let answer = gateway.ask(&Request::post(PATH, body.to_string())).await;
    assert_error_body(Protocol::ImageEdit, &answer, 404);
    assert_eq!(
        answer.json()["error"]["code"],
        "id_not_found",
        "{}",
        answer.text()
    );
    assert_eq!(simulator.records().await.len(), 0);
}

#[tokio::test]
async fn what_could_not_work_is_refused_when_the_file_is_read() {
    let simulator = Simulator::start().await;
    let good = image_config(&simulator, "", json!({}));
    let gateway = Gateway::start(&good).await;
    let filters = "/routes/0/request";
    for (pointer, value, reason) in [
        (
            filters,
            json!(["authenticate", "map_images", "route_model"]),
            "`map_images` requires an earlier `route_model`",
        ),
        (
            filters,
            json!(["authenticate", "route_model", "map_images", "validate"]),
            "`map_images` requires an earlier `validate`",
        ),
        (
            "/routes/0/protocol",
            json!("chat"),
            "`also_accept: multipart` requires a route with `protocol: image_edit`",
        ),
        (
            "/routes/0/request/0",
            json!({"require_json": {"also_accept": "multiparts"}}),
            "did you mean `multipart`?",
        ),
        (
            "/channels/images/protocols",
            json!(["chat"]),
            "`image_edit` requires `image_edit` in the `protocols`",
        ),
        (
            "/egress",
            json!({"allow": ["https://media.example"]}),
            "`https://media.example` is not a host, `host:port` or network",
        ),
    ] {
        let mut config = good.clone();
        config["egress"] = json!({});
        config["channels"]["images"]["image_edit"] = json!({"body": "json"});
        *config.pointer_mut(pointer).unwrap() = value;
        gateway.folder.replace("routes.yaml", format!("{config:#}"));
        let refused = gateway.page("POST", "/reload").await;
        assert!(
            refused.status != 200 && refused.text().contains(reason),
            "{reason}: {}",
            refused.text()
        );
    }
}

#[tokio::test]
async fn no_second_model_reaches_a_provider_that_reads_more_leniently() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&image_config(&simulator, "", json!({}))).await;
    let with = |disposition: &str| {
        let mut body =
            format!("--gate-7f\r\nContent-Disposition: form-data; {disposition}\r\n\r\nother\r\n")
                .into_bytes();
        body.extend(written(FIELDS, MODEL));
        Request::post(PATH, body).without("content-type")
    };
    const PLAIN: &str = "multipart/form-data; boundary=gate-7f";
    for (disposition, content_type, status) in [
        ("name=\"user\"", PLAIN, 200),
        ("name=\"user\"; name*0=\"mo\"; name*1=\"del\"", PLAIN, 400),
        ("x=\"; name=model\"; name=\"user\"", PLAIN, 400),
        ("name=\"Model\"", PLAIN, 400),
        (
            "name=\"user\"",
            "multipart/form-data; boundary=gate-7f; boundary*0=other",
            415,
        ),
        (
            "name=\"+AG0AbwBkAGUAbA-\"",
            "multipart/form-data; boundary=gate-7f; charset=utf-7",
            415,
        ),
    ] {
        let before = simulator.records().await.len();
        let request = with(disposition).header("Content-Type", content_type);
        let answer = gateway.ask(&request).await;
        assert_eq!(answer.status, status, "{disposition}: {}", answer.text());
        let sent = simulator.records().await.len() - before;
        assert_eq!(sent, usize::from(status == 200), "{disposition}");
    }
    let mut body = json_body();
    body["MODEL"] = json!("other");
    let answer = gateway.ask(&Request::post(PATH, body.to_string())).await;
    assert_eq!(answer.status, 400);
    assert_eq!(
        answer.json()["error"]["param"],
        "MODEL",
        "{}",
        answer.text()
    );
}
