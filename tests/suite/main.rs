//! The gateway as a whole: real processes on real sockets, asked as callers and providers would.

mod harness;

mod admin;
mod affinity;
mod affinity_rules;
mod channels_page;
mod cli;
mod crowds;
mod deadlines;
mod desync;
mod error_parity;
mod failover;
mod five_channels;
mod hardening;
mod http2;
mod identity;
mod leaving;
mod limits;
mod operations;
mod probes;
mod refusals;
mod reload;
mod responses;
mod rewrite;
mod schemas;
mod shutdown;
mod streams;
mod strict_json;
mod tls;
mod upgrade;
mod upstream_faults;
mod upstream_http2;
mod upstream_tls;
