//! Gives `object_store` the client of the process for its requests to a bucket.

use crate::BucketClientSlot;
use async_trait::async_trait;
use headgate_core::outgoing::bucket_client::BucketRequestError;
use http::Request;
use http_body::Body;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;

/// Connects by the client of the process.
#[derive(Clone, Debug)]
pub(super) struct SlotConnector(pub Arc<BucketClientSlot>);

impl HttpConnector for SlotConnector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for SlotConnector {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let client = self.0.client();
        let client = client.ok_or_else(|| http_error(BucketRequestError::NoClient))?;
        let (parts, body) = request.into_parts();
        let mut body = pin!(body);
        let mut pieces = Vec::new();
        while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
            pieces.extend(frame?.into_data().ok());
        }
        let body = match pieces.len() {
            1 => pieces.remove(0),
            _ => pieces.concat().into(),
        };
        let response = client.send(Request::from_parts(parts, body)).await;
        Ok(response.map_err(http_error)?.map(Into::into))
    }
}

fn http_error(error: BucketRequestError) -> HttpError {
    let kind = match error {
        BucketRequestError::Connect(_) => HttpErrorKind::Connect,
        BucketRequestError::Timeout(_) => HttpErrorKind::Timeout,
        BucketRequestError::Broken(_) => HttpErrorKind::Interrupted,
        BucketRequestError::NoClient => HttpErrorKind::Unknown,
    };
    HttpError::new(kind, error)
}
