//! Tests of channels and providers: selection, connections, and faults.

mod affinity;
mod balance;
mod channel_state;
mod channels_page;
mod confirmations;
mod content_codings;
mod dns;
mod drains;
mod endpoint_classes;
mod explain_live;
mod failover;
mod false_starts;
mod false_successes;
mod five_channels;
mod hostile_responses;
mod model_fallback;
mod model_patterns;
mod probes;
mod provider_errors;
mod quoted_patterns;
mod refused_credentials;
mod response_heads;
mod retry_budget;
mod upstream_faults;
mod upstream_http2;
mod upstream_tls;
