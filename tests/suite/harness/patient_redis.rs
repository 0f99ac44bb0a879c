//! The setting `state` of gateways whose results must be exact.

use super::RedisServer;
use serde_json::{Value, json};

/// A Redis that gateways wait for: by default they wait for 100 ms, which a busy machine may exceed, and then admit requests
/// without a check.
pub fn patient_redis(redis: &RedisServer) -> Value {
    json!({"redis": {"url": redis.url(), "timeout": "10s"}})
}
