//! A collector of OpenTelemetry as a sink: log records by OTLP over HTTP, as JSON.

use crate::batch::{PromptBatch, RefusedBatch};
use crate::record::PromptRecord;
use bytes::Bytes;
use headgate_core::catalog::egress::EgressPolicy;
use headgate_core::outgoing::delivery_client::{DeliveryClient, EventPost};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};
use std::time::UNIX_EPOCH;

/// `SeverityNumber` of `INFO`.
const INFO: u8 = 9;
/// `event.name` of the records.
const EVENT_NAME: &str = "headgate.prompt";

/// A collector.
pub(crate) struct PromptCollector {
    /// With the path. It may have a secret.
    pub url: String,
    pub headers: HeaderMap,
    pub egress: EgressPolicy,
}

impl PromptCollector {
    /// Sends a batch.
    ///
    /// # Errors
    /// The collector did not take it: for ever, unless its status is one of those that OTLP repeats.
    pub async fn send(
        &self,
        batch: &PromptBatch,
        client: &dyn DeliveryClient,
    ) -> Result<(), RefusedBatch> {
        let mut headers = self.headers.clone();
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
        let post = EventPost {
            url: &self.url,
            headers,
            body: Bytes::from(export(batch)),
        };
        let posted = client.post(post, &self.egress).await;
        let response = posted.map_err(|error| RefusedBatch::for_now(error.to_string()))?;
        if response.status.is_success() {
            return Ok(());
        }
        let is_temporary = matches!(
            response.status,
            StatusCode::TOO_MANY_REQUESTS
                | StatusCode::BAD_GATEWAY
                | StatusCode::SERVICE_UNAVAILABLE
                | StatusCode::GATEWAY_TIMEOUT
        );
        Err(RefusedBatch {
            reason: format!("the collector responded {}", response.status.as_u16()),
            is_final: !is_temporary,
            retry_after: response.retry_after,
        })
    }
}

/// `ExportLogsServiceRequest`.
fn export(batch: &PromptBatch) -> Vec<u8> {
    let records: Vec<Value> = batch
        .records
        .iter()
        .map(|record| log_record(record, &batch.gateway))
        .collect();
    let resource = [
        text("service.name", Some("headgate")),
        text("service.version", Some(env!("CARGO_PKG_VERSION"))),
        text("service.instance.id", Some(&batch.gateway)),
    ];
    let export = json!({"resourceLogs": [{
        "resource": {"attributes": attributes(resource)},
        "scopeLogs": [{"scope": {"name": "headgate"}, "logRecords": records}],
    }]});
    serde_json::to_vec(&export).expect("texts and numbers serialise")
}

/// `LogRecord`. Its body is the line that a bucket would get.
fn log_record(record: &PromptRecord, gateway: &str) -> Value {
    let mut line = Vec::new();
    record.append_json(gateway, &mut line);
    let since_epoch = record.time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let usage = record.usage.unwrap_or_default();
    let cost = record.cost.as_ref().map(|(cost, _)| cost.to_string());
    let attributes = attributes([
        text("headgate.request_id", Some(&record.id)),
        text("headgate.caller", record.caller.as_deref()),
        text("headgate.run", record.run.as_deref()),
        text("headgate.route", Some(&record.route)),
        text("headgate.channel", record.channel.as_deref()),
        text("headgate.settlement", Some(record.settlement)),
        text("headgate.cost", cost.as_deref()),
        text("gen_ai.request.model", record.model.as_deref()),
        text("gen_ai.response.model", record.channel_model.as_deref()),
        number("gen_ai.usage.input_tokens", usage.input_with_cache()),
        number("gen_ai.usage.output_tokens", usage.output_tokens),
        number("http.response.status_code", record.status.map(u64::from)),
    ]);
    let mut fields = Map::from_iter([
        (
            "timeUnixNano".to_owned(),
            json!(since_epoch.as_nanos().to_string()),
        ),
        ("severityNumber".to_owned(), json!(INFO)),
        ("eventName".to_owned(), json!(EVENT_NAME)),
        (
            "body".to_owned(),
            json!({"stringValue": String::from_utf8_lossy(&line)}),
        ),
        ("attributes".to_owned(), attributes),
    ]);
    if let Some(trace) = record.trace_id {
        fields.insert("traceId".into(), json!(trace.to_string()));
    }
    fields.into()
}

/// Those that have a value.
fn attributes<const COUNT: usize>(all: [Option<Value>; COUNT]) -> Value {
    all.into_iter().flatten().collect()
}

fn text(key: &str, value: Option<&str>) -> Option<Value> {
    Some(json!({"key": key, "value": {"stringValue": value?}}))
}

/// Numbers of 64 bits are texts in the JSON of protobuf.
fn number(key: &str, value: Option<u64>) -> Option<Value> {
    Some(json!({"key": key, "value": {"intValue": value?.to_string()}}))
}
