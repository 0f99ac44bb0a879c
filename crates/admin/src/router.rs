//! Which admin page responds to a request: the gateway's own pages, and those of its features.

mod tables;

use super::page::AdminPage;
use super::refusal::TEXT;
use crate::openapi::AdminPageDescription;
use headgate_core::feature::FeatureList;
use headgate_core::serve::AppResponse;
use http::{HeaderValue, Method, StatusCode, header};

/// All pages, in the order of the description of the HTTP API.
pub struct AdminPages(Vec<AdminPage>);

impl AdminPages {
    /// The pages of a gateway with these features.
    pub fn new(features: FeatureList) -> Self {
        let others = features.iter().flat_map(|feature| feature.admin_pages());
        let (actions, reading): (Vec<_>, Vec<_>) = others
            .map(AdminPage::from)
            .partition(|page| page.access.action().is_some());
        let pages = [
            tables::STATE,
            &reading,
            tables::PROCESS,
            &actions,
            tables::CHANNEL_ACTIONS,
            tables::CALLERS,
        ];
        Self(pages.concat())
    }

    /// The descriptions of all pages, for the document of the HTTP API.
    pub fn descriptions(&self) -> Vec<AdminPageDescription> {
        self.0.iter().map(AdminPage::description).collect()
    }

    /// The page for a method and path.
    ///
    /// # Errors
    /// The response if there is none: 404 with the paths, or 405 with the methods of the path.
    pub(super) fn find(&self, method: &Method, path: &str) -> Result<&AdminPage, Box<AppResponse>> {
        let with_path = || self.0.iter().filter(|page| page.is_at(path));
        if let Some(page) = with_path().find(|page| page.method == *method) {
            return Ok(page);
        }
        let methods: Vec<&str> = with_path().map(|page| page.method.as_str()).collect();
        if methods.is_empty() {
            let pages = self
                .0
                .iter()
                .map(|page| format!("{} {}", page.method, page.path));
            let pages = pages.collect::<Vec<_>>().join(", ");
            let text = format!("unknown path; the admin pages are {pages}\n");
            return Err(Box::new(AppResponse::full(
                StatusCode::NOT_FOUND,
                TEXT,
                text,
            )));
        }
        let methods = methods.join(", ");
        let text = format!("method not allowed; use {methods}\n");
        let response = AppResponse::full(StatusCode::METHOD_NOT_ALLOWED, TEXT, text);
        Err(Box::new(match HeaderValue::from_str(&methods) {
            Ok(methods) => response.with_header(header::ALLOW, methods),
            Err(_) => response,
        }))
    }
}
