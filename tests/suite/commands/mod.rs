//! Tests of the commands for changes: diff, replay and check --strict, compared with what gateways then do.

mod changed_pair;
mod changed_schema;
mod check_strict;
mod diff_and_replay;
mod file_errors;
mod settings_printed;
