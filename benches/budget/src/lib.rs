//! What the measuring programs share: requests, the configuration of the gateway, a service that it asks, and the
//! report.

pub mod conversation;
pub mod report;
pub mod request;
pub mod service;
pub mod setup;
