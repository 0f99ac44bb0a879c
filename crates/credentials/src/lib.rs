//! Credentials for providers that servers issue for a while: how each kind of server is asked, and when.

pub mod aws;
pub mod entra;
mod expiry;
pub mod google;
pub mod google_federation;
mod issuer;
pub mod managed_identity;
pub mod metadata_server;
pub mod oauth2;
pub mod refresh;
mod subject_token;
mod token_file;
mod token_response;

pub use issuer::CredentialIssuer;
pub use subject_token::{SubjectToken, SubjectTokenFormat};
