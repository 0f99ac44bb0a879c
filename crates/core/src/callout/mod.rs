//! HTTP services that filters call with requests and responses: deadline, limit of concurrent calls, circuit breaker.
//!
//! The state of a service outlives snapshots, as long as its settings are the same.

mod breaker;
mod client;
mod outcome;
mod preview;
mod service;
mod shared;
mod verdict;

pub use breaker::BreakerSettings;
pub use client::{
    ServiceCallError, ServiceClient, ServiceEndpoint, ServiceHttpRequest, ServiceRequest,
    ServiceResponse, ServiceResponseFuture,
};
pub use outcome::{CallFailure, CallOutcome, CallRecorder};
pub use preview::PlannedCallout;
pub use service::{CalloutService, CalloutServices, ServiceLimits, ServiceQuestion};
pub use shared::ProcessServiceStates;
pub use verdict::{ServiceDenial, Verdict};
