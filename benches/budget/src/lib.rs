//! What the measuring programs share: the request, the configuration of the gateway, and a service that it asks.

pub mod request;
pub mod service;
pub mod setup;
