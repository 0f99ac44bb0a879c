//! Benchmarks of the steps of a request: scan and edit, validation, stream decoding, the filter chain.

use bytes::Bytes;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use headgate::features::FEATURES;
use headgate_config::snapshot;
use headgate_config::snapshot::CrossSnapshotState;
use headgate_core::filter::body::RequestBody;
use headgate_core::filter::chain::RequestChain;
use headgate_core::filter::view::RequestView;
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use headgate_protocol::sse::SseDecoder;
use headgate_protocol::usage::StreamUsageMeter;
use headgate_protocol::{ChannelProtocol, Protocol};
use headgate_schema::CompiledSchema;
use http::{HeaderMap, HeaderValue, Method};
use std::hint::black_box;
use std::path::Path;

const EVENT_BYTES_MAX: usize = 1 << 20;

/// A chat body of about `bytes` bytes: a conversation, with one image if the body is large.
fn chat_body(bytes: usize) -> Bytes {
    let turn =
        r#"{"role":"user","content":"The water runs where the gate lets it, and nowhere else."},"#;
    let mut messages = String::new();
    while messages.len() < bytes.min(16 << 10) {
        messages.push_str(turn);
    }
    let image = "QUJD".repeat(bytes.saturating_sub(16 << 10) / 4);
    format!(
        r#"{{"messages":[{messages}{{"role":"user","content":[{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{image}"}}}}]}}],"model":"bench-model","temperature":0.7}}"#
    )
    .into()
}

fn scan_and_splice(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scan and splice");
    for (label, bytes) in [
        ("1 KB", 1 << 10),
        ("16 KB", 16 << 10),
        ("1 MB", 1 << 20),
        ("10 MB", 10 << 20),
    ] {
        let body = chat_body(bytes);
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(label, |bencher| {
            bencher.iter(|| {
                let document = JsonDocument::parse(body.clone(), &JsonLimits::default())
                    .expect("the body is JSON");
                let mut edits = JsonEdits::default();
                let model = document.root().get("model").expect("it names a model");
                edits.replace(model.span(), Bytes::from_static(b"\"provider-model\""));
                black_box(edits.apply(document.body()).len())
            });
        });
    }
    group.finish();
}

fn validate(criterion: &mut Criterion) {
    let text = include_str!("../../schemas/chat.schema.json");
    let schema = CompiledSchema::compile(&serde_json::from_str(text).expect("it is JSON"))
        .expect("it is a schema");
    let mut group = criterion.benchmark_group("validate");
    for (label, bytes) in [("1 KB", 1 << 10), ("16 KB", 16 << 10), ("10 MB", 10 << 20)] {
        let document = JsonDocument::parse(chat_body(bytes), &JsonLimits::default())
            .expect("the body is JSON");
        assert!(schema.accepts(&document));
        group.bench_function(label, |bencher| {
            bencher.iter(|| black_box(schema.accepts(&document)))
        });
    }
    group.finish();
}

fn tap_a_stream(criterion: &mut Criterion) {
    let event = Bytes::from_static(
        b"data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\
          \"choices\":[{\"index\":0,\"delta\":{\"content\":\"The water runs\"},\"finish_reason\":null}]}\n\n",
    );
    let mut group = criterion.benchmark_group("tap");
    group.throughput(Throughput::Bytes(event.len() as u64));
    group.bench_function("one event: frame and meter", |bencher| {
        let mut framer = SseDecoder::new(EVENT_BYTES_MAX);
        let mut meter = StreamUsageMeter::new(ChannelProtocol::for_caller(Protocol::Chat).usage());
        bencher.iter(|| {
            framer.push(&event);
            while let Some(event) = framer.next() {
                meter.event(event.name(), event.data());
            }
        });
    });
    group.finish();
}

/// The request chain of the repository's chat route, from the head to the selection of a model.
fn chain(criterion: &mut Criterion) {
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../routes.yaml");
    let snapshot = snapshot::build(&config, &CrossSnapshotState::new(FEATURES))
        .expect("it is good")
        .snapshot;
    let route = snapshot
        .router
        .routes()
        .iter()
        .find(|route| &*route.name == "chat")
        .expect("it has one");
    let body = Bytes::from(
        String::from_utf8_lossy(&chat_body(1 << 10)).replace("bench-model", "demo-chat"),
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime can be built");
    criterion.bench_function("chain of a chat request, 1 KB", |bencher| {
        bencher.iter_batched(
            || chat_view(body.clone()),
            |mut request| {
                runtime.block_on(run(&route.request, &mut request));
                request
            },
            BatchSize::SmallInput,
        );
    });
}

async fn run(chain: &RequestChain, request: &mut RequestView) {
    chain.on_head(request).await.expect("the head is accepted");
    chain.on_body(request).await.expect("the body is accepted");
    assert!(request.destination.is_some());
}

fn chat_view(body: Bytes) -> RequestView {
    let mut headers = HeaderMap::new();
    headers.insert("authorization", HeaderValue::from_static("Bearer sk-demo"));
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    let mut request = RequestView::new(
        "req_1".into(),
        Method::POST,
        "/v1/chat/completions".into(),
        None,
        headers,
        Vec::new(),
        Some(Protocol::Chat),
    );
    let document = JsonDocument::parse(body, &JsonLimits::default()).expect("the body is JSON");
    request.body = RequestBody::Json(document).into();
    request
}

criterion_group!(hot_path, scan_and_splice, validate, tap_a_stream, chain);
criterion_main!(hot_path);
