//! Tests of the command line, of the commands for changes (diff, replay and check --strict, compared with what gateways
//! then do), of convert, and of the commands for authors of video families.

mod changed_pair;
mod changed_schema;
mod check_strict;
mod colours;
mod command_line;
mod convert;
mod diff_and_replay;
mod exit_codes;
mod external_callers;
mod family;
mod file_errors;
mod prices;
mod settings_printed;
