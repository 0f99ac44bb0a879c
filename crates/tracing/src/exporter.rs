//! Sends finished exchanges to the collector, by OTLP over HTTP, in the background.
//!
//! An export is repeated where the specification of OTLP asks for it: after 429, 502, 503 and 504, with the Retry-After of
//! the collector, and if the collector cannot be reached. Meanwhile the queue fills up, and drops what it has no room for.

use super::exchange_trace::FinishedTrace;
use super::ids::random_number;
use super::otlp::{encode, partial_refusal};
use super::queue::{SpanExportOutcome, TraceQueue};
use super::settings::Tracing;
use bytes::Bytes;
use headgate_core::callout::{ServiceClient, ServiceHttpRequest, ServiceRequest, ServiceResponse};
use headgate_protocol::redact::redact;
use headgate_protocol::retry_after;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::time::{Instant, sleep, timeout};

/// How long an exchange waits for others at most, so that they are exported together.
const BATCH_DELAY: Duration = Duration::from_secs(1);
/// How often an export is sent before its spans are given up.
const SENDS_MAX: u32 = 6;
/// The wait before the first repetition; each further one is twice as long.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// The longest Retry-After that is followed.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);
/// The collector's response is read up to this many bytes.
const RESPONSE_BYTES_MAX: usize = 64 << 10;
/// How often the log reports that spans do not reach the collector.
const LOG_INTERVAL: Duration = Duration::from_secs(60);
/// Maximum length of a reason of the collector in the log, in bytes.
const REASON_BYTES_MAX: usize = 256;

/// The exporter of the process.
pub struct TraceExporter {
    queue: Arc<TraceQueue>,
    client: Box<dyn ServiceClient>,
    /// What was taken from the queue and is not exported yet.
    pending: Vec<FinishedTrace>,
    /// The last tracing settings, for what waits when a reload switches tracing off.
    last: Option<Arc<Tracing>>,
    lost: LostSpanLogger,
}

/// What became of an export that was sent.
enum ExportOutcome {
    /// The collector has the spans, except for this many.
    Accepted { refused: u64, reason: String },
    /// The collector does not take them.
    Refused(String),
    /// It may take them later.
    Unavailable {
        retry_after: Option<Duration>,
        reason: String,
    },
}

/// Logs lost spans, at most once in [`LOG_INTERVAL`].
#[derive(Default)]
struct LostSpanLogger {
    logged: Option<Instant>,
    /// The number of lost spans that the log has.
    reported: u64,
}

impl TraceExporter {
    pub fn new(queue: Arc<TraceQueue>, client: Box<dyn ServiceClient>) -> Self {
        Self {
            queue,
            client,
            pending: Vec::new(),
            last: None,
            lost: LostSpanLogger::default(),
        }
    }

    /// Exports what is queued, until it is dropped. `current` returns the settings in use.
    pub async fn run(&mut self, current: impl Fn() -> Option<Arc<Tracing>>) {
        loop {
            let batch_size = self.tracing(&current).map(|now| now.settings.batch_size);
            self.until_due(batch_size.unwrap_or(1)).await;
            self.export_batch(&current).await;
        }
    }

    /// Exports what is left, within this time. What cannot be exported is lost.
    pub async fn finish(&mut self, within: Duration, current: impl Fn() -> Option<Arc<Tracing>>) {
        let _ = timeout(within, async {
            while !(self.pending.is_empty() && self.queue.is_empty()) {
                self.export_batch(&current).await;
            }
        })
        .await;
        let spans = self.drop_all();
        if spans > 0 {
            let reason = "the process ended";
            tracing::warn!(spans, reason, "trace spans were not exported");
        }
    }

    /// Drops all that waits for the export; returns its number of spans.
    fn drop_all(&mut self) -> u64 {
        let mut left = std::mem::take(&mut self.pending);
        while !self.queue.is_empty() {
            left.extend(self.queue.take(usize::MAX));
        }
        let spans = left.iter().map(FinishedTrace::spans).sum();
        self.queue.lose(
            SpanExportOutcome::Undelivered,
            spans,
            "tracing was switched off",
        );
        spans
    }

    fn tracing(&mut self, current: &impl Fn() -> Option<Arc<Tracing>>) -> Option<Arc<Tracing>> {
        if let Some(now) = current() {
            self.last = Some(now);
        }
        self.last.clone()
    }

    /// Waits until there is something to export, and a little longer for a whole batch.
    async fn until_due(&self, batch_size: usize) {
        while self.queue.is_empty() && self.pending.is_empty() {
            self.queue.is_due.notified().await;
        }
        let mut delay = pin!(sleep(BATCH_DELAY));
        while self.queue.len() < batch_size {
            tokio::select! {
                () = &mut delay => return,
                () = self.queue.is_due.notified() => {}
            }
        }
    }

    async fn export_batch(&mut self, current: &impl Fn() -> Option<Arc<Tracing>>) {
        let Some(tracing) = self.tracing(current) else {
            // A reload switched tracing off before the exporter saw its settings.
            self.drop_all();
            return;
        };
        if self.pending.is_empty() {
            self.pending = self.queue.take(tracing.settings.batch_size);
        }
        let spans = self.pending.iter().map(FinishedTrace::spans).sum();
        let body = encode(&self.pending, &tracing.settings);
        let end = self.deliver(body, current).await;
        self.pending.clear();
        let (outcome, lost, reason) = match end {
            ExportOutcome::Accepted { refused, reason } => {
                let refused = refused.min(spans);
                self.queue
                    .count(SpanExportOutcome::Exported, spans - refused);
                (SpanExportOutcome::Refused, refused, reason)
            }
            ExportOutcome::Refused(reason) => (SpanExportOutcome::Refused, spans, reason),
            ExportOutcome::Unavailable { reason, .. } => {
                (SpanExportOutcome::Undelivered, spans, reason)
            }
        };
        self.queue.lose(outcome, lost, &reason);
        self.lost.report(&self.queue, &reason);
    }

    /// Sends an export, again if the collector may take it later.
    async fn deliver(
        &mut self,
        body: Bytes,
        current: &impl Fn() -> Option<Arc<Tracing>>,
    ) -> ExportOutcome {
        let mut delay = RETRY_DELAY;
        let mut sends = 1;
        loop {
            // A reload may have corrected the address.
            let Some(tracing) = self.tracing(current) else {
                return ExportOutcome::Refused("tracing is off".into());
            };
            let end = send(&*self.client, &tracing, body.clone()).await;
            let ExportOutcome::Unavailable {
                retry_after,
                reason,
            } = &end
            else {
                return end;
            };
            if sends == SENDS_MAX {
                return end;
            }
            self.lost.report_delay(reason);
            let wait =
                retry_after.map_or_else(|| jittered(delay), |time| time.min(RETRY_AFTER_MAX));
            sleep(wait).await;
            delay *= 2;
            sends += 1;
        }
    }
}

async fn send(client: &dyn ServiceClient, tracing: &Tracing, body: Bytes) -> ExportOutcome {
    let settings = &tracing.settings;
    let mut headers = HeaderMap::new();
    let protobuf = HeaderValue::from_static("application/x-protobuf");
    headers.insert(header::CONTENT_TYPE, protobuf);
    let agent = concat!("headgate/", env!("CARGO_PKG_VERSION"));
    headers.insert(header::USER_AGENT, HeaderValue::from_static(agent));
    let request = ServiceRequest {
        endpoint: &settings.collector,
        id: None,
        content: ServiceHttpRequest {
            method: Method::POST,
            path: settings.collector.path.clone(),
            headers,
            body,
        },
        // A collector that gets a span twice stores it once.
        may_repeat: true,
        within: settings.timeout,
        response_bytes_max: RESPONSE_BYTES_MAX,
    };
    match timeout(settings.timeout, client.send(request)).await {
        Ok(Ok(response)) => classify_response(&response),
        Ok(Err(error)) => unavailable(error.to_string()),
        Err(_) => unavailable(format!("no response within {:?}", settings.timeout)),
    }
}

fn unavailable(reason: String) -> ExportOutcome {
    ExportOutcome::Unavailable {
        retry_after: None,
        reason,
    }
}

/// What a response to an export means.
fn classify_response(response: &ServiceResponse) -> ExportOutcome {
    let status = response.status;
    if status.is_success() {
        let (refused, reason) = match partial_refusal(&response.body) {
            Some(partial) => (partial.spans, shown(&partial.reason)),
            None => (0, String::new()),
        };
        return ExportOutcome::Accepted { refused, reason };
    }
    let reason = format!("the collector responded with status {}", status.as_u16());
    match status {
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => ExportOutcome::Unavailable {
            retry_after: retry_after::from_headers(&response.headers, SystemTime::now()),
            reason,
        },
        _ => ExportOutcome::Refused(reason),
    }
}

/// A text of the collector for the log.
fn shown(text: &str) -> String {
    let clean = redact(text.as_bytes(), &[]);
    let mut text = String::from_utf8_lossy(&clean).into_owned();
    text.truncate(text.floor_char_boundary(REASON_BYTES_MAX));
    text
}

/// Half of a delay to all of it, so that several gateways do not send in step.
fn jittered(delay: Duration) -> Duration {
    let share = (random_number() >> 32) as f64 / f64::from(u32::MAX);
    delay.mul_f64(0.5 + share / 2.0)
}

impl LostSpanLogger {
    /// Logs the spans that were lost since the last line.
    fn report(&mut self, queue: &TraceQueue, reason: &str) {
        let lost = queue.lost();
        let spans = lost - self.reported;
        if (spans > 0 || !reason.is_empty()) && self.is_due() {
            self.reported = lost;
            let reason = match reason {
                "" => "the queue was full",
                reason => reason,
            };
            tracing::warn!(spans, reason, "trace spans were not exported");
        }
    }

    /// Logs that an export is repeated.
    fn report_delay(&mut self, reason: &str) {
        if self.is_due() {
            tracing::warn!(reason, "trace spans cannot be exported; trying again");
        }
    }

    fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let is_due = self
            .logged
            .is_none_or(|logged| now.duration_since(logged) >= LOG_INTERVAL);
        if is_due {
            self.logged = Some(now);
        }
        is_due
    }
}
