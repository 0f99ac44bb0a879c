//! What the measuring programs share: the request, and the configuration of the gateway.

pub mod request;
pub mod setup;
