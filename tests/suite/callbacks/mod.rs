//! Tests of callbacks: from providers to the gateway, and from the gateway to callers.

mod check;
mod deliveries;
mod fairness;
mod hostile_urls;
mod outcomes;
mod receivers;
mod survival;
mod tokens;
