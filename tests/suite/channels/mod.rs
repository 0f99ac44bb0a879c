//! Channels and their providers: which one is asked, over which connection, and what is made of its faults.

mod channel_state;
mod channels_page;
mod dns;
mod failover;
mod five_channels;
mod hostile_responses;
mod probes;
mod refused_credentials;
mod response_heads;
mod upstream_faults;
mod upstream_http2;
mod upstream_tls;
