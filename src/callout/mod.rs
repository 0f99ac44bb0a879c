//! HTTP services that filters ask about requests and responses: deadline, limit of concurrent calls, circuit breaker.
//!
//! The state of a service outlives snapshots, as long as its settings are the same.

mod answer;
mod breaker;
mod client;
mod outcome;
mod service;
mod shared;

pub use answer::{ANSWER_BYTES_MAX, ProposedChanges, ServiceAnswer, ServiceDenial};
pub use breaker::BreakerSettings;
pub use client::{
    ServiceCallError, ServiceClient, ServiceEndpoint, ServiceRequest, ServiceResponseFuture,
};
pub use outcome::{CallFailure, CallOutcome, CallRecorder};
pub use service::{CalloutService, CalloutServices, ServiceLimits};
pub use shared::SharedServiceState;
