//! `headgate schema`: the JSON Schema of routes.yaml; with `openapi`, the HTTP API of a configuration.

use super::config_file::PositionalConfigFileArgs;
use super::{CommandError, examples};
use crate::features::FEATURES;
use clap::{Args, Subcommand};
use headgate_admin::openapi::document;
use headgate_admin::openapi_page::servers;
use headgate_admin::router::AdminPages;
use headgate_config::reload::running::ListenerSummary;
use headgate_config::schema::routes_schema;
use headgate_config::snapshot;
use headgate_config::snapshot::{CrossSnapshotState, feature_schemas};

#[derive(Args)]
pub struct SchemaArgs {
    #[command(subcommand)]
    subject: Option<SchemaCommand>,
}

#[derive(Subcommand)]
enum SchemaCommand {
    /// Prints the HTTP API of a configuration as OpenAPI 3.1: its routes, their schemas and errors, and the admin pages.
    #[command(after_help = examples::SCHEMA_OPENAPI)]
    Openapi(OpenapiArgs),
}

#[derive(Args)]
struct OpenapiArgs {
    #[command(flatten)]
    config: PositionalConfigFileArgs,
}

pub fn run(args: &SchemaArgs) -> Result<(), CommandError> {
    let printed = match &args.subject {
        None => routes_schema(&feature_schemas(FEATURES)),
        Some(SchemaCommand::Openapi(args)) => {
            let snapshot =
                snapshot::build(&args.config.path(), &CrossSnapshotState::new(FEATURES))?.snapshot;
            let listeners = ListenerSummary::wanted_by(&snapshot);
            let pages = AdminPages::new(FEATURES).descriptions();
            document(&snapshot, &servers(&listeners), &pages)
        }
    };
    println!("{printed:#}");
    Ok(())
}
