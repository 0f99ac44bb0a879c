//! `headgate schema`: the JSON Schema of routes.yaml.

use super::Failure;
use crate::config::schema::routes_schema;
use crate::snapshot::filter_schemas;

pub fn run() -> Result<(), Failure> {
    println!("{:#}", routes_schema(&filter_schemas()));
    Ok(())
}
