//! The admin pages, on a listener of their own: metrics, health, channels, the configuration in use, reload.

mod channels_page;
mod config_page;

use crate::channel::clock::Moment;
use crate::channel::live::Channels;
use crate::observe::access_log::AccessLog;
use crate::observe::metrics::Metrics;
use crate::reload::{Outcome, Reloader};
use crate::serve::{Answer, App};
use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const TEXT: &str = "text/plain; charset=utf-8";
/// The version is Prometheus' own for its text format.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The admin pages.
pub struct Admin {
    pub reloader: Arc<Reloader>,
    pub channels: Arc<Channels>,
    pub metrics: Arc<Metrics>,
    pub access_log: Arc<AccessLog>,
    /// Off once the process is told to stop, so that no new traffic is sent here.
    pub ready: Arc<AtomicBool>,
}

impl App for Admin {
    async fn answer(&self, request: Request<Bytes>) -> Answer {
        match (request.method(), request.uri().path()) {
            (&Method::GET, "/metrics") => self.metrics(),
            (&Method::GET, "/healthz") => Answer::full(StatusCode::OK, TEXT, "ok\n"),
            (&Method::GET, "/readyz") => self.readiness(),
            (&Method::GET, "/config") => self.config().await,
            (&Method::GET, "/channels") => {
                let snapshot = self.reloader.current();
                let page = channels_page::page(&snapshot, &self.channels, Moment::now());
                Answer::json(StatusCode::OK, &page)
            }
            // A page in somebody's browser must not be able to do this.
            (&Method::POST, "/reload") if request.headers().contains_key(header::ORIGIN) => {
                Answer::full(StatusCode::FORBIDDEN, TEXT, "not from a browser\n")
            }
            (&Method::POST, "/reload") => self.reload().await,
            (_, "/reload") => only("POST"),
            (_, "/metrics" | "/healthz" | "/readyz" | "/config" | "/channels") => only("GET"),
            _ => Answer::full(
                StatusCode::NOT_FOUND,
                TEXT,
                "GET /metrics, /healthz, /readyz, /config or /channels; POST /reload\n",
            ),
        }
    }
}

impl Admin {
    fn metrics(&self) -> Answer {
        let catalog = &self.reloader.current().catalog;
        let usable = self.channels.usable_channels(catalog, Moment::now());
        self.metrics.channels.usable(usable);
        self.metrics.polls.show(self.reloader.polls().tally());
        let refused = self.channels.refused_keys(catalog, Moment::now());
        self.metrics.channels.refused_keys(refused);
        let page = self
            .metrics
            .render(self.access_log.dropped(), &self.reloader.state().health());
        Answer::full(StatusCode::OK, METRICS, page)
    }

    fn readiness(&self) -> Answer {
        match self.ready.load(Ordering::Relaxed) {
            true => Answer::full(StatusCode::OK, TEXT, "ready\n"),
            false => Answer::full(StatusCode::SERVICE_UNAVAILABLE, TEXT, "draining\n"),
        }
    }

    /// Reads the file on disk, which may take its time.
    async fn config(&self) -> Answer {
        let reloader = self.reloader.clone();
        match tokio::task::spawn_blocking(move || config_page::page(&reloader)).await {
            Ok(page) => Answer::json(StatusCode::OK, &page),
            Err(error) => Answer::full(
                StatusCode::INTERNAL_SERVER_ERROR,
                TEXT,
                format!("{error}\n"),
            ),
        }
    }

    async fn reload(&self) -> Answer {
        let reloader = self.reloader.clone();
        match tokio::task::spawn_blocking(move || reloader.reload()).await {
            Ok(Outcome::Unchanged { needing_restart }) => {
                let revision = self.reloader.current().revision.clone();
                reloaded("unchanged", &revision, &needing_restart)
            }
            Ok(Outcome::Swapped {
                revision,
                needing_restart,
            }) => reloaded("in_use", &revision, &needing_restart),
            Ok(Outcome::Refused(refusal)) => {
                Answer::full(StatusCode::UNPROCESSABLE_ENTITY, TEXT, refusal.report)
            }
            Err(error) => Answer::full(
                StatusCode::INTERNAL_SERVER_ERROR,
                TEXT,
                format!("{error}\n"),
            ),
        }
    }
}

/// `settings` differ from those of the process.
fn reloaded(result: &str, revision: &str, settings: &[&str]) -> Answer {
    Answer::json(
        StatusCode::OK,
        &json!({
            "result": result,
            "revision": revision,
            "needs_restart": !settings.is_empty(),
            "settings_needing_restart": settings,
        }),
    )
}

fn only(method: &str) -> Answer {
    Answer::full(
        StatusCode::METHOD_NOT_ALLOWED,
        TEXT,
        format!("{method} only\n"),
    )
}
