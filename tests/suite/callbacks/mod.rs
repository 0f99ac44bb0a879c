//! Tests of callbacks: from providers to the gateway, and from the gateway to callers.

mod deliveries;
mod hostile_urls;
mod receivers;
mod survival;
mod tokens;
