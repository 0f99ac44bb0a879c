//! Tests of the whole gateway: real processes on real sockets, used as callers and providers would.

mod harness;

mod batches;
mod caching;
mod callbacks;
mod callouts;
mod channels;
mod commands;
mod compatibility;
mod configuration;
mod http;
mod images;
mod lifecycle;
mod limits;
mod media;
mod observability;
mod paid;
mod plugins;
mod programs;
mod security;
mod text;
mod tracing;
mod translation;
mod video;
mod websockets;
