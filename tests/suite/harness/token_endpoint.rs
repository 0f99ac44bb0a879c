//! A server that issues numbered tokens, and a provider that takes those that are valid.

use super::ScriptedProvider;
use super::http_response::json_response;
use super::scripted::ScriptedResponse;
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What each token begins with.
pub const TOKEN: &str = "issued-canary-6f1d";

/// A token endpoint, and the provider behind the channel that has its tokens.
pub struct TokenEndpoint {
    pub server: ScriptedProvider,
    pub provider: ScriptedProvider,
    tokens: Arc<IssuedTokens>,
}

#[derive(Default)]
struct IssuedTokens {
    /// When each token expires.
    expiries: Mutex<Vec<Instant>>,
    lifetime_seconds: AtomicU64,
    is_down: AtomicBool,
    refused: AtomicUsize,
}

impl TokenEndpoint {
    /// Tokens are valid for so many seconds.
    pub async fn start(lifetime_seconds: u64) -> Self {
        let tokens = Arc::<IssuedTokens>::default();
        tokens.set_lifetime(lifetime_seconds);
        let issuing = tokens.clone();
        let issue = move |_: &str| issuing.issue();
        let taking = tokens.clone();
        let take = move |request: &str| taking.take(request);
        Self {
            server: ScriptedProvider::start(vec![ScriptedResponse::Call(Arc::new(issue))]).await,
            provider: ScriptedProvider::start(vec![ScriptedResponse::Call(Arc::new(take))]).await,
            tokens,
        }
    }

    /// Scheme and host of the server.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address)
    }

    /// Sets for how long the tokens after this one are valid.
    pub fn set_lifetime(&self, seconds: u64) {
        self.tokens.set_lifetime(seconds);
    }

    /// Whether the server answers with 503.
    pub fn set_down(&self, is_down: bool) {
        self.tokens.is_down.store(is_down, Ordering::Relaxed);
    }

    /// Makes all tokens that were issued invalid.
    pub fn revoke(&self) {
        let now = Instant::now();
        self.tokens.expiries.lock().unwrap().fill(now);
    }

    pub fn issued(&self) -> usize {
        self.tokens.expiries.lock().unwrap().len()
    }

    /// How many requests the provider refused.
    pub fn refused(&self) -> usize {
        self.tokens.refused.load(Ordering::Relaxed)
    }

    /// The last request for a token.
    pub fn last_request(&self) -> String {
        self.server.requests().pop().unwrap()
    }
}

impl IssuedTokens {
    fn set_lifetime(&self, seconds: u64) {
        self.lifetime_seconds.store(seconds, Ordering::Relaxed);
    }

    fn issue(&self) -> Vec<u8> {
        if self.is_down.load(Ordering::Relaxed) {
            let body =
                json!({"error": "temporarily_unavailable", "error_description": "Try later."});
            return json_response(503, body);
        }
        let seconds = self.lifetime_seconds.load(Ordering::Relaxed);
        let mut expiries = self.expiries.lock().unwrap();
        expiries.push(Instant::now() + Duration::from_secs(seconds));
        let token = format!("{TOKEN}-{}", expiries.len());
        let body = json!({"access_token": token, "token_type": "Bearer", "expires_in": seconds});
        json_response(200, body)
    }

    fn take(&self, request: &str) -> Vec<u8> {
        let mut fields = request.lines().filter_map(|line| line.split_once(':'));
        let sent = fields.find(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        let sent = sent.map_or("", |(_, value)| value.trim());
        let number = sent.strip_prefix(&format!("Bearer {TOKEN}-"));
        let number: Option<usize> = number.and_then(|number| number.parse().ok());
        let expiries = self.expiries.lock().unwrap();
        let expiry = number.and_then(|number| expiries.get(number.checked_sub(1)?));
        if expiry.is_none_or(|expiry| *expiry <= Instant::now()) {
            self.refused.fetch_add(1, Ordering::Relaxed);
            let error = json!({"message": "The token has expired.", "code": "invalid_token"});
            return json_response(401, json!({"error": error}));
        }
        let message = json!({"role": "assistant", "content": format!("You sent {sent}.")});
        let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
        json_response(
            200,
            json!({
                "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "provider-large",
                "choices": [choice],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            }),
        )
    }
}
