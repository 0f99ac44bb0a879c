//! The callbacks of Proxy-Wasm.

use crate::config::Redact;
use crate::placeholder::PlaceholderTable;
use crate::stream::StreamRestorer;
use crate::{request_text, restore};
use json_text::{error_body, is_json, is_json_type};
use log::{error, info, warn};
use proxy_wasm::hostcalls;
use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::{Action, BufferType, ContextType, LogLevel, MetricType};
use std::rc::Rc;
use std::str;

proxy_wasm::main! {{
    proxy_wasm::set_log_level(LogLevel::Info);
    proxy_wasm::set_root_context(|_| Box::new(RedactRoot::default()));
}}

/// One for each instance of the module.
#[derive(Default)]
struct RedactRoot {
    redact: Rc<Redact>,
    /// The metric that counts placeholders, if the proxy has metrics.
    placeholders: Option<u32>,
}

impl Context for RedactRoot {}

impl RootContext for RedactRoot {
    fn on_configure(&mut self, _size: usize) -> bool {
        let configuration = self.get_plugin_configuration().unwrap_or_default();
        match Redact::new(&configuration) {
            Ok(redact) => self.redact = Rc::new(redact),
            Err(reason) => {
                error!("configuration: {reason}");
                return false;
            }
        }
        self.placeholders =
            hostcalls::define_metric(MetricType::Counter, "redact_placeholders").ok();
        true
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }

    fn create_http_context(&self, _context: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(RedactExchange {
            redact: Rc::clone(&self.redact),
            placeholders: self.placeholders,
            response: ResponseMode::Unchanged,
            table: PlaceholderTable::default(),
        }))
    }
}

/// One for each exchange.
struct RedactExchange {
    redact: Rc<Redact>,
    placeholders: Option<u32>,
    response: ResponseMode,
    table: PlaceholderTable,
}

/// What becomes of the response's body.
enum ResponseMode {
    Unchanged,
    /// It is read as a whole, and its headers are held until then.
    Json,
    /// Each event is sent as soon as it is read.
    Events(StreamRestorer),
}

impl Context for RedactExchange {}

impl HttpContext for RedactExchange {
    fn on_http_request_headers(&mut self, _count: usize, end_of_stream: bool) -> Action {
        // The headers wait for the body: it may be refused, and its length may change.
        if end_of_stream {
            Action::Continue
        } else {
            Action::Pause
        }
    }

    fn on_http_request_body(&mut self, size: usize, end_of_stream: bool) -> Action {
        if !end_of_stream {
            return Action::Pause;
        }
        let body = self.get_http_request_body(0, size).unwrap_or_default();
        let content_type = self.get_http_request_header("content-type");
        if !is_json(content_type.as_deref(), &body) {
            return Action::Continue;
        }
        let redacted = str::from_utf8(&body)
            .ok()
            .and_then(|body| request_text::redact(&self.redact, body).ok());
        let Some((edited, table)) = redacted else {
            self.refuse();
            return Action::Pause;
        };
        if let Some(edited) = edited {
            if self.get_http_request_header("content-length").is_some() {
                self.set_http_request_header("content-length", Some(&edited.len().to_string()));
            }
            self.set_http_request_body(0, size, edited.as_bytes());
            info!("replaced {} values", table.len());
            if let Some(metric) = self.placeholders {
                hostcalls::increment_metric(metric, table.len() as i64).ok();
            }
        }
        self.table = table;
        Action::Continue
    }

    fn on_http_response_headers(&mut self, _count: usize, end_of_stream: bool) -> Action {
        if end_of_stream || self.table.is_empty() || !self.redact.restore {
            return Action::Continue;
        }
        let encoding = self.get_http_response_header("content-encoding");
        if encoding.is_some_and(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
            warn!("the response is compressed, its placeholders stay");
            return Action::Continue;
        }
        let content_type = self
            .get_http_response_header("content-type")
            .unwrap_or_default()
            .to_ascii_lowercase();
        if content_type.starts_with("text/event-stream") {
            let table = std::mem::take(&mut self.table);
            self.response = ResponseMode::Events(StreamRestorer::new(table));
            return Action::Continue;
        }
        if is_json_type(&content_type) {
            self.response = ResponseMode::Json;
            return Action::Pause;
        }
        Action::Continue
    }

    fn on_http_response_body(&mut self, size: usize, end_of_stream: bool) -> Action {
        match &mut self.response {
            ResponseMode::Unchanged => Action::Continue,
            ResponseMode::Json if !end_of_stream => Action::Pause,
            ResponseMode::Json => {
                self.restore_json(size);
                Action::Continue
            }
            ResponseMode::Events(stream) => {
                let bytes = hostcalls::get_buffer(BufferType::HttpResponseBody, 0, size);
                let bytes = bytes.ok().flatten().unwrap_or_default();
                let mut sent = stream.push(&bytes);
                if end_of_stream {
                    sent.extend(stream.finish());
                }
                if sent != bytes {
                    self.set_http_response_body(0, size, &sent);
                }
                Action::Continue
            }
        }
    }
}

impl RedactExchange {
    fn restore_json(&self, size: usize) {
        let body = self.get_http_response_body(0, size).unwrap_or_default();
        let restored = str::from_utf8(&body)
            .ok()
            .map(|body| restore::restore(&self.table, body));
        match restored {
            Some(Ok(Some(restored))) => {
                if self.get_http_response_header("content-length").is_some() {
                    self.set_http_response_header(
                        "content-length",
                        Some(&restored.len().to_string()),
                    );
                }
                self.set_http_response_body(0, size, restored.as_bytes());
            }
            Some(Ok(None)) => (),
            _ => warn!("the response is not JSON, its placeholders stay"),
        }
    }

    /// A body that cannot be read would pass with its personal data.
    fn refuse(&self) {
        warn!("refused a request whose body is not JSON");
        let path = self.get_http_request_header(":path").unwrap_or_default();
        let body = error_body(
            &path,
            "invalid_request_error",
            "invalid_json",
            "The request body must be JSON.",
        );
        self.send_http_response(
            400,
            vec![("content-type", "application/json")],
            Some(body.as_bytes()),
        );
    }
}
