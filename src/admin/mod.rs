//! The admin pages on their own listener: metrics, health checks, channels, the configuration in use, reload.

mod callbacks_page;
mod channels_page;
mod config_page;

use crate::channel::clock::MonotonicTime;
use crate::channel::live::ChannelStates;
use crate::observe::access_log::AccessLog;
use crate::observe::metrics::Metrics;
use crate::reload::{ReloadOutcome, Reloader};
use crate::serve::{AppResponse, HttpApp};
use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const TEXT: &str = "text/plain; charset=utf-8";
/// The version of Prometheus' text format.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The admin pages.
pub struct AdminApp {
    pub reloader: Arc<Reloader>,
    pub channels: Arc<ChannelStates>,
    pub metrics: Arc<Metrics>,
    pub access_log: Arc<AccessLog>,
    /// False once the process is told to stop, so that load balancers send no new traffic here.
    pub ready: Arc<AtomicBool>,
}

impl HttpApp for AdminApp {
    async fn respond(&self, request: Request<Bytes>) -> AppResponse {
        match (request.method(), request.uri().path()) {
            (&Method::GET, "/metrics") => self.metrics(),
            (&Method::GET, "/healthz") => AppResponse::full(StatusCode::OK, TEXT, "ok\n"),
            (&Method::GET, "/readyz") => self.readiness(),
            (&Method::GET, "/config") => self.config().await,
            (&Method::GET, "/channels") => {
                let snapshot = self.reloader.current();
                let page = channels_page::page(&snapshot, &self.channels, MonotonicTime::now());
                AppResponse::json(StatusCode::OK, &page)
            }
            (&Method::GET, "/callbacks") => {
                let query = request.uri().query().unwrap_or_default();
                callbacks_page::page(&self.reloader, query).await
            }
            // A web page in an operator's browser must not be able to change anything.
            (&Method::POST, "/reload" | "/callbacks/redrive")
                if request.headers().contains_key(header::ORIGIN) =>
            {
                AppResponse::full(
                    StatusCode::FORBIDDEN,
                    TEXT,
                    "requests with an Origin header are refused: a web page must not reload the configuration or redrive dead letters; use curl -X POST\n",
                )
            }
            (&Method::POST, "/reload") => self.reload().await,
            (&Method::POST, "/callbacks/redrive") => {
                let query = request.uri().query().unwrap_or_default();
                callbacks_page::redrive(&self.reloader, query).await
            }
            (_, "/reload" | "/callbacks/redrive") => only("POST"),
            (_, "/metrics" | "/healthz" | "/readyz" | "/config" | "/channels" | "/callbacks") => {
                only("GET")
            }
            _ => AppResponse::full(
                StatusCode::NOT_FOUND,
                TEXT,
                "unknown path; the admin pages are GET /metrics, /healthz, /readyz, /config, /channels, /callbacks and POST /reload, /callbacks/redrive\n",
            ),
        }
    }
}

impl AdminApp {
    fn metrics(&self) -> AppResponse {
        let snapshot = self.reloader.current();
        let services = snapshot.services.iter();
        let breakers = services.map(|service| (&*service.name, service.is_open()));
        self.metrics.services.update(breakers);
        #[cfg(feature = "wasm")]
        {
            let plugins = self.reloader.plugins().in_use();
            self.metrics.plugins.update(&plugins);
        }
        let catalog = &snapshot.catalog;
        let (channels, now) = (&self.channels, MonotonicTime::now());
        let metrics = &self.metrics.channels;
        metrics.usable(channels.usable_channels(catalog, now));
        metrics.available_models(channels.available_models(catalog, now));
        metrics.refused_credentials(channels.refused_credentials(catalog, now));
        self.metrics.polls.update(self.reloader.polls().counters());
        self.metrics.mirrors.update(self.reloader.mirrors());
        let callbacks = self.reloader.callbacks().counters();
        self.metrics.callbacks.update(callbacks);
        self.metrics.media.update(&self.reloader.media().counters);
        let page = self
            .metrics
            .render(self.access_log.dropped(), &self.reloader.state().health());
        AppResponse::full(StatusCode::OK, METRICS, page)
    }

    fn readiness(&self) -> AppResponse {
        match self.ready.load(Ordering::Relaxed) {
            true => AppResponse::full(StatusCode::OK, TEXT, "ready\n"),
            false => AppResponse::full(StatusCode::SERVICE_UNAVAILABLE, TEXT, "draining\n"),
        }
    }

    /// Runs on a blocking thread, because the page reads the file on disk.
    async fn config(&self) -> AppResponse {
        let reloader = self.reloader.clone();
        match tokio::task::spawn_blocking(move || config_page::page(&reloader)).await {
            Ok(page) => AppResponse::json(StatusCode::OK, &page),
            Err(error) => AppResponse::full(
                StatusCode::INTERNAL_SERVER_ERROR,
                TEXT,
                format!("{error}\n"),
            ),
        }
    }

    async fn reload(&self) -> AppResponse {
        let reloader = self.reloader.clone();
        match tokio::task::spawn_blocking(move || reloader.reload()).await {
            Ok(ReloadOutcome::Unchanged { needing_restart }) => {
                let revision = self.reloader.current().revision.clone();
                reloaded("unchanged", &revision, &needing_restart)
            }
            Ok(ReloadOutcome::Swapped {
                revision,
                needing_restart,
            }) => reloaded("loaded", &revision, &needing_restart),
            Ok(ReloadOutcome::Refused(refusal)) => {
                AppResponse::full(StatusCode::UNPROCESSABLE_ENTITY, TEXT, refusal.report)
            }
            Err(error) => AppResponse::full(
                StatusCode::INTERNAL_SERVER_ERROR,
                TEXT,
                format!("{error}\n"),
            ),
        }
    }
}

/// `settings` are those that differ from the running process and need a restart.
fn reloaded(result: &str, revision: &str, settings: &[&str]) -> AppResponse {
    AppResponse::json(
        StatusCode::OK,
        &json!({
            "result": result,
            "revision": revision,
            "needs_restart": !settings.is_empty(),
            "settings_needing_restart": settings,
        }),
    )
}

fn only(method: &str) -> AppResponse {
    AppResponse::full(
        StatusCode::METHOD_NOT_ALLOWED,
        TEXT,
        format!("method not allowed; use {method}\n"),
    )
}
