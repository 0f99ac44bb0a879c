//! Credentials for providers that servers issue for a while: how each kind of server is asked, and when.

pub mod aws;
pub mod entra;
pub mod google;
mod issuer;
pub mod managed_identity;
pub mod metadata_server;
pub mod oauth2;
pub mod refresh;
mod token_file;
mod token_response;

pub use issuer::CredentialIssuer;
