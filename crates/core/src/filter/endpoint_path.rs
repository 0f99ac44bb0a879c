//! The path by which the gateway recognises the endpoint of a request.

use super::view::RequestView;

impl RequestView {
    /// The path of the endpoint. A path with a model in it, which a caller can choose, is none: then it is that of the provider.
    pub fn endpoint_path(&self) -> &str {
        match (self.param("model"), &self.upstream_path) {
            (Some(_), Some(path)) => path,
            _ => &self.path,
        }
    }
}
