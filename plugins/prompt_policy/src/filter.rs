//! The callbacks of Proxy-Wasm.

use crate::policy::{Policy, Verdict};
use json_text::{error_body, is_json};
use log::{error, info, warn};
use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::{Action, ContextType, LogLevel};
use std::rc::Rc;
use std::str;

proxy_wasm::main! {{
    proxy_wasm::set_log_level(LogLevel::Info);
    proxy_wasm::set_root_context(|_| Box::new(PolicyRoot::default()));
}}

/// One for each instance of the module.
#[derive(Default)]
struct PolicyRoot {
    policy: Rc<Policy>,
}

impl Context for PolicyRoot {}

impl RootContext for PolicyRoot {
    fn on_configure(&mut self, _size: usize) -> bool {
        let configuration = self.get_plugin_configuration().unwrap_or_default();
        match Policy::new(&configuration) {
            Ok(policy) => self.policy = Rc::new(policy),
            Err(reason) => {
                error!("configuration: {reason}");
                return false;
            }
        }
        true
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }

    fn create_http_context(&self, _context: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(PolicyExchange {
            policy: Rc::clone(&self.policy),
        }))
    }
}

/// One for each exchange.
struct PolicyExchange {
    policy: Rc<Policy>,
}

impl Context for PolicyExchange {}

impl HttpContext for PolicyExchange {
    fn on_http_request_headers(&mut self, _count: usize, end_of_stream: bool) -> Action {
        // The headers wait for the body: it may be denied, and its length may change.
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
        match str::from_utf8(&body)
            .ok()
            .and_then(|body| self.policy.apply(body).ok())
        {
            Some(Verdict::Unchanged) => Action::Continue,
            Some(Verdict::Denial {
                rule,
                message,
                code,
            }) => {
                info!("rule {rule} denied the request");
                self.reply(403, "permission_error", code, message);
                Action::Pause
            }
            Some(Verdict::Rewrite { rules, body }) => {
                for rule in rules {
                    info!("rule {rule} rewrote the prompt");
                }
                if self.get_http_request_header("content-length").is_some() {
                    self.set_http_request_header("content-length", Some(&body.len().to_string()));
                }
                self.set_http_request_body(0, size, body.as_bytes());
                Action::Continue
            }
            // A body that cannot be read would pass without a check.
            None => {
                warn!("refused a request whose body is not JSON");
                self.reply(
                    400,
                    "invalid_request_error",
                    "invalid_json",
                    "The request body must be JSON.",
                );
                Action::Pause
            }
        }
    }
}

impl PolicyExchange {
    fn reply(&self, status: u32, kind: &str, code: &str, message: &str) {
        let path = self.get_http_request_header(":path").unwrap_or_default();
        let body = error_body(&path, kind, code, message);
        self.send_http_response(
            status,
            vec![("content-type", "application/json")],
            Some(body.as_bytes()),
        );
    }
}
