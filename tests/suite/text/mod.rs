//! Tests of the three text protocols, whole responses and streams.

mod affinity;
mod affinity_rules;
mod caller_lists;
mod declared_protocols;
mod error_parity;
mod form_endpoints;
mod heartbeats;
mod hints;
mod hostile_forms;
mod last_events;
mod missing_fields;
mod path_model_forms;
mod path_models;
mod provider_paths;
mod referenced_ids;
mod repeated_ids;
mod responses;
mod rewrite;
mod schemas;
mod sealed_content;
mod shipped_protocols;
mod stored_objects;
mod stream_ends;
mod streams;
mod token_kinds;
