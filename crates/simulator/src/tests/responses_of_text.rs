//! Tests of whole text responses: their format, and how they follow the request.

use super::{TEXT_AT, get, ordinary, post, request, send, simulator, with};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

#[tokio::test]
async fn every_protocol_answers_with_text_that_echoes_model_and_user() {
    let simulator = simulator();
    for ((path, body), text_at) in ordinary().into_iter().zip(TEXT_AT) {
        let seen = post(&simulator, path, &body).await;
        assert_eq!(seen.status, 200, "{path}");
        let json = seen.json();
        assert_eq!(json["model"], "m-1", "{path}");
        let text = json.pointer(text_at).and_then(Value::as_str).unwrap();
        assert!(
            text.contains("Hello there") && text.len() == 240,
            "{path}: {text}"
        );
        let again = post(&simulator, path, &body).await.json();
        assert_eq!(again.pointer(text_at).unwrap(), text, "{path}");
        assert_ne!(again["id"], json["id"], "{path}");
    }
}

#[tokio::test]
async fn the_objects_have_every_member_their_protocol_requires() {
    let simulator = simulator();
    let members: [&[&str]; 3] = [
        &[
            "/id",
            "/created",
            "/choices/0/finish_reason",
            "/choices/0/logprobs",
            "/usage/total_tokens",
            "/usage/prompt_tokens_details/cached_tokens",
            "/choices/0/message/refusal",
        ],
        &[
            "/id",
            "/type",
            "/role",
            "/stop_reason",
            "/stop_sequence",
            "/usage/input_tokens",
            "/usage/output_tokens",
            "/usage/cache_read_input_tokens",
        ],
        &[
            "/id",
            "/created_at",
            "/status",
            "/error",
            "/incomplete_details",
            "/output/0/id",
            "/tools",
            "/tool_choice",
            "/parallel_tool_calls",
            "/usage/input_tokens_details/cached_tokens",
            "/usage/output_tokens_details/reasoning_tokens",
            "/usage/total_tokens",
            "/metadata",
            "/instructions",
            "/temperature",
            "/text/format/type",
            "/output/0/content/0/annotations",
        ],
    ];
    for ((path, body), members) in ordinary().into_iter().zip(members) {
        let json = post(&simulator, path, &body).await.json();
        for member in members {
            assert!(json.pointer(member).is_some(), "{path} {member}");
        }
    }
}

#[tokio::test]
async fn a_token_limit_shortens_the_output_and_sets_the_finish_reason() {
    let limits = [
        (
            json!({"max_completion_tokens": 5}),
            "/choices/0/finish_reason",
            "length",
        ),
        (json!({"max_tokens": 5}), "/stop_reason", "max_tokens"),
        (
            json!({"max_output_tokens": 5}),
            "/incomplete_details/reason",
            "max_output_tokens",
        ),
    ];
    let simulator = simulator();
    for (((path, body), (limit, reason_at, reason)), text_at) in
        ordinary().into_iter().zip(limits).zip(TEXT_AT)
    {
        let json = post(&simulator, path, &with(&body, &limit)).await.json();
        assert_eq!(json.pointer(reason_at).unwrap(), reason, "{path}");
        assert!(
            json.pointer(text_at).and_then(Value::as_str).unwrap().len() <= 20,
            "{path}"
        );
    }
}

#[tokio::test]
async fn thinking_comes_before_the_text_where_enabled() {
    let [_, (path, body), _] = ordinary();
    let body = with(
        &body,
        &json!({"thinking": {"type": "enabled", "budget_tokens": 1024}}),
    );
    let json = post(&simulator(), path, &body).await.json();
    let kinds = json["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["type"].as_str());
    assert_eq!(kinds.collect::<Vec<_>>(), [Some("thinking"), Some("text")]);
}

#[tokio::test]
async fn several_choices_are_as_many_as_asked_for() {
    let [(path, body), ..] = ordinary();
    let json = post(&simulator(), path, &with(&body, &json!({"n": 3})))
        .await
        .json();
    assert_eq!(json["choices"].as_array().unwrap().len(), 3);
    assert_eq!(json["choices"][2]["index"], 2);
}

#[tokio::test]
async fn counted_tokens_are_those_the_message_is_charged_for() {
    let [_, (path, body), _] = ordinary();
    let simulator = simulator();
    let counted = post(&simulator, "/v1/messages/count_tokens", &body)
        .await
        .json();
    let message = post(&simulator, path, &body).await.json();
    assert_eq!(counted["input_tokens"], message["usage"]["input_tokens"]);
}

#[tokio::test]
async fn a_conversation_is_counted_and_compacted() {
    let [_, _, (path, body)] = ordinary();
    let simulator = simulator();
    let at = |name: &str| format!("{path}/{name}");
    let counted = post(&simulator, &at("input_tokens"), &body).await.json();
    let compacted = post(&simulator, &at("compact"), &body).await.json();
    assert_eq!(counted["object"], "response.input_tokens");
    assert_eq!(compacted["object"], "response.compaction");
    assert_eq!(compacted["output"][0]["type"], "compaction");
    assert_eq!(counted["input_tokens"], compacted["usage"]["input_tokens"]);
}

#[tokio::test]
async fn models_are_listed_in_the_shape_of_who_asks() {
    let simulator = simulator();
    let listed = get(&simulator, "/v1/models").await.json();
    assert_eq!(listed["data"][0]["type"], "model");
    let mut openai = request("GET", "/v1/models", "");
    openai.headers_mut().remove("anthropic-version");
    let listed = send(&simulator, openai).await.json();
    assert_eq!(
        (&listed["object"], &listed["data"][0]["object"]),
        (&json!("list"), &json!("model"))
    );
    assert_eq!(
        get(&simulator, "/v1/models/simulated-small").await.json()["id"],
        "simulated-small"
    );
    assert_eq!(get(&simulator, "/v1/models/other").await.status, 404);
}

#[tokio::test]
async fn what_no_provider_takes_is_refused_in_the_shape_of_its_protocol() {
    let simulator = simulator();
    for (path, body) in ordinary() {
        let type_at = if path == "/v1/messages" {
            "/type"
        } else {
            "/error/type"
        };
        let kind = if path == "/v1/messages" {
            "error"
        } else {
            "invalid_request_error"
        };

        let mut stranger = request("POST", path, body.to_string());
        stranger.headers_mut().remove("authorization");
        let seen = send(&simulator, stranger).await;
        assert_eq!(
            (seen.status, seen.json().pointer(type_at)),
            (401, Some(&json!(kind))),
            "{path}"
        );

        for broken in ["{\"model\":", "{}", r#"{"model":"m"}"#] {
            let seen = send(&simulator, request("POST", path, broken)).await;
            assert_eq!(
                (seen.status, seen.json().pointer(type_at)),
                (400, Some(&json!(kind))),
                "{path}"
            );
        }
    }
    let mut unversioned = request("POST", "/v1/messages", ordinary()[1].1.to_string());
    unversioned.headers_mut().remove("anthropic-version");
    assert_eq!(send(&simulator, unversioned).await.status, 400);
}

#[tokio::test]
async fn answers_have_the_headers_a_gateway_must_see_to() {
    let simulator = simulator();
    for (path, body) in ordinary() {
        let seen = post(&simulator, path, &body).await;
        for name in [
            "x-request-id",
            "openai-organization",
            "openai-processing-ms",
            "openai-version",
            "set-cookie",
            "x-ratelimit-limit-requests",
        ] {
            assert!(seen.headers.contains_key(name), "{path} {name}");
        }
        assert!(
            seen.headers["x-request-id"]
                .to_str()
                .unwrap()
                .starts_with("req_sim_")
        );
        assert_eq!(
            seen.headers.contains_key("request-id"),
            path == "/v1/messages"
        );
    }
}

#[tokio::test]
async fn several_prompts_get_a_choice_each_whole_and_as_a_stream() {
    let simulator = simulator();
    let body = json!({"model": "m-1", "prompt": ["Hello there", "Good day"]});
    let whole = post(&simulator, "/v1/completions", &body).await.json();
    let texts = |json: &Value| {
        let choices = json["choices"].as_array().unwrap().iter();
        let indexes = choices.map(|choice| (choice["index"].as_u64().unwrap() as usize, choice));
        indexes.fold([String::new(), String::new()], |mut texts, (at, choice)| {
            texts[at].push_str(choice["text"].as_str().unwrap());
            texts
        })
    };
    let [first, second] = texts(&whole);
    assert!(first.contains("Hello there"), "{first}");
    assert!(second.contains("Good day"), "{second}");
    assert_eq!(whole["usage"]["prompt_tokens"], 5, "{whole}");
    let streamed = with(&body, &json!({"stream": true}));
    let events = post(&simulator, "/v1/completions", &streamed)
        .await
        .events();
    let mut joined = [String::new(), String::new()];
    for (_, chunk) in events.iter().filter(|(_, data)| data.is_object()) {
        for (text, more) in joined.iter_mut().zip(texts(chunk)) {
            text.push_str(&more);
        }
    }
    assert_eq!(joined, [first, second]);
}

#[tokio::test]
async fn a_vector_has_the_requested_form_and_size() {
    let simulator = simulator();
    let embedding = async |more: Value| {
        let body = with(&json!({"model": "m-1", "input": "abcdefghij"}), &more);
        let seen = post(&simulator, "/v1/embeddings", &body).await;
        (seen.status, seen.json()["data"][0]["embedding"].clone())
    };
    let (_, floats) = embedding(json!({"encoding_format": "float", "dimensions": 3})).await;
    let floats: Vec<f32> = serde_json::from_value(floats).unwrap();
    assert_eq!(floats.len(), 3);
    let (_, encoded) = embedding(json!({"encoding_format": "base64", "dimensions": 3})).await;
    let bytes = STANDARD.decode(encoded.as_str().unwrap()).unwrap();
    let decoded: Vec<f32> = bytes
        .chunks(4)
        .map(|one| f32::from_le_bytes(one.try_into().unwrap()))
        .collect();
    assert_eq!(decoded, floats);
    assert_eq!(embedding(json!({"dimensions": 0})).await.0, 400);
}
