//! Tests of the command line, and of the commands for changes: diff, replay and check --strict, compared with what
//! gateways then do.

mod changed_pair;
mod changed_schema;
mod check_strict;
mod command_line;
mod diff_and_replay;
mod exit_codes;
mod file_errors;
mod settings_printed;
