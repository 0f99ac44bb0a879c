//! `headgate schema`: the JSON Schema of routes.yaml.

use super::CommandError;
use crate::config::schema::routes_schema;
use crate::snapshot::filter_schemas;

pub fn run() -> Result<(), CommandError> {
    println!("{:#}", routes_schema(&filter_schemas()));
    Ok(())
}
