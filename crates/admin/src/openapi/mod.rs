//! The HTTP API of a configuration as a document in OpenAPI 3.1: its routes, their schemas and errors, and the admin pages.

mod admin_page;
mod component;
mod content;
mod error_response;
mod operation;

use headgate_config::snapshot::Snapshot;
use serde_json::{Map, Value, json};

pub use admin_page::{AdminPageDescription, AdminPageUser};
use component::ComponentSchemas;
use error_response::ErrorFormat;
use operation::RouteOperations;

/// The tag of the admin pages.
const ADMIN_TAG: &str = "admin";

/// The base URLs that requests go to.
#[derive(Debug)]
pub struct ApiServers {
    /// Of the routes.
    pub gateway: String,
    /// Of the admin pages.
    pub admin: String,
}

impl ApiServers {
    /// The URLs of listeners: their addresses, and whether they have TLS.
    pub fn from_listeners(gateway: (&str, bool), admin: (&str, bool)) -> Self {
        let url = |(address, has_tls): (&str, bool)| {
            let scheme = if has_tls { "https" } else { "http" };
            format!("{scheme}://{address}")
        };
        Self {
            gateway: url(gateway),
            admin: url(admin),
        }
    }
}

/// The document for the routes of a configuration and the admin pages.
pub fn document(
    snapshot: &Snapshot,
    servers: &ApiServers,
    admin_pages: &[AdminPageDescription],
) -> Value {
    let mut schemas = ComponentSchemas::default();
    let mut operations = RouteOperations::default();
    for route in snapshot.router.routes() {
        operations.add(route, &mut schemas);
    }
    let tags = operations.tags();
    let mut paths = operations.into_paths();
    for page in admin_pages {
        let item = paths
            .entry(page.path)
            .or_insert_with(|| Value::Object(Map::new()));
        let method = page.method.as_str().to_ascii_lowercase();
        // A route of the configuration may have the method and path of an admin page, on its own listener.
        if item.get(&method).is_none() {
            item[method] = page.operation(&servers.admin);
        }
    }
    content::add_schemas(&mut schemas);
    let protocols = snapshot.router.routes().iter();
    let protocols = protocols.filter_map(|route| route.protocol);
    let formats: Vec<ErrorFormat> = ErrorFormat::all(protocols).collect();
    error_response::add_schemas(&formats, &mut schemas);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Headgate",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The routes of the gateway and, with the tag `admin`, the admin pages, which are on an address of their own. Bodies of requests are validated by the schemas here; unknown members are accepted unless a schema excludes them. Responses of providers are forwarded as they are.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}
        },
        "servers": [{"url": servers.gateway}],
        "tags": build_tags(tags),
        "paths": paths,
        "components": {
            "schemas": schemas.into_map(),
            "responses": ErrorFormat::responses(&formats),
            "headers": error_response::headers(),
            "securitySchemes": security_schemes(),
        }
    })
}

fn security_schemes() -> Value {
    let mut schemes = json!({
        "bearer": {"type": "http", "scheme": "bearer", "description": "Key of a caller."},
        "admin_key": {"type": "http", "scheme": "bearer", "description": "Key in `server.admin_keys`."}
    });
    for scheme in &operation::KEY_HEADERS {
        let (name, description) = (scheme.header.as_str(), scheme.description);
        schemes[scheme.name] =
            json!({"type": "apiKey", "in": "header", "name": name, "description": description});
    }
    schemes
}

fn build_tags(names: Vec<&str>) -> Value {
    let routes = names.into_iter().map(|name| {
        let description = match name {
            operation::WITHOUT_PROTOCOL => "Routes without a protocol.".to_owned(),
            protocol => format!("Routes with `protocol: {protocol}`."),
        };
        json!({"name": name, "description": description})
    });
    let admin = json!({"name": ADMIN_TAG, "description": "Pages of the admin address."});
    routes.chain([admin]).collect()
}
