//! A service as filters call it.

use super::breaker::{BreakerChange, BreakerPermit, BreakerSettings, OpenBreaker};
use super::client::{
    ServiceClient, ServiceEndpoint, ServiceHttpRequest, ServiceRequest, ServiceResponse,
};
use super::outcome::{CallFailure, CallOutcome};
use super::shared::{ProcessServiceStates, ServiceState};
use super::verdict::Verdict;
use crate::catalog::channel::Channel;
use crate::request_id::RequestId;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use std::collections::BTreeMap;
use std::future::Future;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// The services of a configuration, by name.
#[derive(Default)]
pub struct CalloutServices(BTreeMap<Arc<str>, Arc<CalloutService>>);

/// A service that filters may call.
pub struct CalloutService {
    pub name: Arc<str>,
    endpoint: ServiceEndpoint,
    timeout: Duration,
    state: Arc<ServiceState>,
    shared: Arc<ProcessServiceStates>,
}

/// The limits of calls of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ServiceLimits {
    /// How long a call may take, with the wait for a permit.
    pub timeout: Duration,
    /// Maximum concurrent calls.
    pub concurrent: u32,
    pub breaker: BreakerSettings,
}

/// What a service is called to decide.
pub struct ServiceQuestion<'q, P> {
    /// The id of the caller's request.
    pub id: &'q RequestId,
    /// JSON.
    pub body: Bytes,
    /// Maximum size of the response, in bytes.
    pub response_bytes_max: usize,
    /// Reads the response; what it refuses is a failure of the service.
    pub read: fn(ServiceResponse) -> Result<Verdict<P>, String>,
}

impl CalloutServices {
    pub fn new(services: impl IntoIterator<Item = CalloutService>) -> Self {
        let named = |service: CalloutService| (service.name.clone(), Arc::new(service));
        Self(services.into_iter().map(named).collect())
    }

    pub fn get(&self, name: &str) -> Option<&Arc<CalloutService>> {
        self.0.get(name)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<CalloutService>> {
        self.0.values()
    }
}

impl CalloutService {
    /// A service whose state is that of an earlier configuration, if the settings are the same.
    pub fn new(
        name: Arc<str>,
        endpoint: ServiceEndpoint,
        limits: ServiceLimits,
        shared: Arc<ProcessServiceStates>,
    ) -> Self {
        let mut hasher = DefaultHasher::new();
        (&name, endpoint.server.fingerprint, &endpoint.path).hash(&mut hasher);
        (limits.concurrent, limits.breaker).hash(&mut hasher);
        let state = shared.service_state(hasher.finish(), limits.concurrent, limits.breaker);
        Self {
            name,
            endpoint,
            timeout: limits.timeout,
            state,
            shared,
        }
    }

    /// Equal only for services with the same settings.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let endpoint = &self.endpoint;
        (endpoint.server.fingerprint, &endpoint.path, self.timeout).hash(&mut hasher);
        hasher.finish()
    }

    /// Its server.
    pub fn server(&self) -> &Channel {
        &self.endpoint.server
    }

    /// The path of its URL.
    pub fn path(&self) -> &str {
        &self.endpoint.path
    }

    /// Whether the circuit breaker is open, so that the service is not called.
    pub fn is_open(&self) -> bool {
        self.state.breaker.is_open()
    }

    /// Calls the service. `accept` turns the verdict into what the caller of this function needs; if it refuses the
    /// verdict, the call is a failure of the service.
    ///
    /// # Errors
    /// There is no usable response in time.
    pub async fn call<P, T>(
        &self,
        question: ServiceQuestion<'_, P>,
        accept: impl FnOnce(Verdict<P>) -> Result<Verdict<T>, String> + Send,
    ) -> Result<Verdict<T>, CallFailure> {
        let began = Instant::now();
        let sent = |within| self.decision(question, within);
        let received = self.admitted(began, self.timeout, sent).await;
        // Whether changes fit may depend on the caller's request, which must not open the breaker for others.
        let called = received.and_then(|verdict| {
            accept(verdict).map_err(|reason| CallFailure::new(CallOutcome::InvalidResponse, reason))
        });
        self.record(CallOutcome::from_result(&called), began);
        called
    }

    /// Records a call that was not made, since its content cannot be sent.
    pub fn record_unsent(&self) {
        self.record(CallOutcome::NotSent, Instant::now());
    }

    /// Sends any request to the server of the service, within the limits of the service.
    ///
    /// # Errors
    /// There is no whole response within `timeout` and the timeout of the service.
    pub async fn forward(
        &self,
        content: ServiceHttpRequest,
        timeout: Duration,
        response_bytes_max: usize,
    ) -> Result<ServiceResponse, CallFailure> {
        let began = Instant::now();
        let sent = async |within| {
            let request = ServiceRequest {
                endpoint: &self.endpoint,
                id: None,
                may_repeat: content.method.is_safe(),
                content,
                within,
                response_bytes_max,
            };
            Ok(self.client()?.send(request).await?)
        };
        let timeout = timeout.min(self.timeout);
        let received = self.admitted(began, timeout, sent).await;
        let failed = received.as_ref().err();
        let outcome = failed.map_or(CallOutcome::Continue, |failed| failed.outcome);
        self.record(outcome, began);
        received
    }

    /// Sends a request when the limits of the service permit it.
    async fn admitted<T, F: Future<Output = Result<T, CallFailure>>>(
        &self,
        began: Instant,
        within: Duration,
        send: impl FnOnce(Duration) -> F,
    ) -> Result<T, CallFailure> {
        let permit = self.state.breaker.admit(began);
        let permit = permit.map_err(|OpenBreaker { is_unreachable }| CallFailure {
            is_unreachable,
            ..CallFailure::new(CallOutcome::BreakerOpen, "the circuit breaker is open")
        })?;
        let call = timeout(within, self.state.calls.acquire()).await;
        let Ok(Ok(_call)) = call else {
            let detail = format!("too many calls in flight for {within:?}");
            return Err(CallFailure::new(CallOutcome::Saturated, detail));
        };
        let left = within.saturating_sub(began.elapsed());
        let received = match timeout(left, send(left)).await {
            Ok(received) => received,
            Err(_) => {
                let detail = format!("no response within {within:?}");
                Err(CallFailure::new(CallOutcome::Timeout, detail))
            }
        };
        self.settle(permit, received.as_ref().err());
        received
    }

    /// The decision of the service about a request or a response.
    async fn decision<P>(
        &self,
        question: ServiceQuestion<'_, P>,
        within: Duration,
    ) -> Result<Verdict<P>, CallFailure> {
        let json = HeaderValue::from_static("application/json");
        let headers = [(header::CONTENT_TYPE, json.clone()), (header::ACCEPT, json)];
        let request = ServiceRequest {
            endpoint: &self.endpoint,
            id: Some(question.id),
            content: ServiceHttpRequest {
                method: Method::POST,
                path: self.endpoint.path.clone(),
                headers: HeaderMap::from_iter(headers),
                body: question.body,
            },
            // A service that decides about the same content twice does no harm.
            may_repeat: true,
            within,
            response_bytes_max: question.response_bytes_max,
        };
        let response = self.client()?.send(request).await?;
        let status = response.status;
        (question.read)(response).map_err(|detail| CallFailure {
            outcome: CallOutcome::InvalidResponse,
            detail,
            is_unreachable: matches!(
                status,
                StatusCode::BAD_GATEWAY
                    | StatusCode::SERVICE_UNAVAILABLE
                    | StatusCode::GATEWAY_TIMEOUT
            ),
        })
    }

    fn client(&self) -> Result<&dyn ServiceClient, CallFailure> {
        let client = self.shared.client().ok_or_else(|| {
            let detail = "the process has no client for services yet";
            CallFailure::new(CallOutcome::ConnectError, detail)
        })?;
        Ok(&**client)
    }

    fn settle(&self, permit: BreakerPermit<'_>, failed: Option<&CallFailure>) {
        let change = match failed {
            None => permit.succeed(),
            Some(failed) => permit.fail(Instant::now(), failed.is_unreachable),
        };
        let service = &*self.name;
        match (change, failed) {
            (BreakerChange::Opened, Some(failed)) => {
                tracing::warn!(service, error = failed.detail, "circuit breaker opened");
            }
            (BreakerChange::Closed, _) => tracing::info!(service, "circuit breaker closed"),
            _ => {}
        }
    }

    fn record(&self, outcome: CallOutcome, began: Instant) {
        if let Some(recorder) = self.shared.recorder() {
            recorder.record(&self.name, outcome, began.elapsed());
        }
    }
}
