//! What the measuring programs share: the request, the configuration of the gateway, a service that it asks, and the
//! report.

pub mod report;
pub mod request;
pub mod service;
pub mod setup;
