//! HTTP services that filters call with requests and responses: deadline, limit of concurrent calls, circuit breaker.
//!
//! The state of a service outlives snapshots, as long as its settings are the same.

mod breaker;
mod client;
mod outcome;
mod preview;
mod response;
mod service;
mod shared;

pub use breaker::BreakerSettings;
pub use client::{
    ServiceCallError, ServiceClient, ServiceEndpoint, ServiceHttpRequest, ServiceRequest,
    ServiceResponse, ServiceResponseFuture,
};
pub use outcome::{CallFailure, CallOutcome, CallRecorder};
pub use preview::PlannedCallout;
pub use response::{ProposedChanges, SERVICE_RESPONSE_BYTES_MAX, ServiceDenial, Verdict};
pub use service::{CalloutService, CalloutServices, ServiceLimits};
pub use shared::ProcessServiceStates;
