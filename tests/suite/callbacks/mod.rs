//! Tests of callbacks: from providers to the gateway, and from the gateway to callers.

mod blocked;
mod channels;
mod check;
mod deliveries;
mod fairness;
mod hostile_receivers;
mod hostile_urls;
mod openai_events;
mod outcomes;
mod receivers;
mod replays;
mod signatures;
mod survival;
mod tokens;
mod vendors;
