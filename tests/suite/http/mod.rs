//! Tests of HTTP between callers and the gateway: both versions, TLS, pipelining, refusals.

mod compressed_requests;
mod cors;
mod http2;
mod http2_floods;
mod http2_heads;
mod http2_refusals;
mod http2_stream_states;
mod http2_workers;
mod pipelining;
mod refusals;
mod request_paths;
mod tls;
mod uploads;
mod websockets;
