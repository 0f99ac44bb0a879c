//! Tests that a new family needs only a definition.
//!
//! The family in `tests/fixtures/families/studio` has other names, nesting, units and words than the built-in ones.

use super::*;

const STUDIO: &str = include_str!("../../../../../tests/fixtures/families/studio/definition.yaml");

#[test]
fn a_third_family_maps_requests_by_its_definition() {
    let studio = VideoFamily::new("studio", &config(STUDIO)).unwrap();
    assert_eq!(studio.create.call.method, "PUT");
    assert_eq!(studio.query.call.path("a/b"), "/jobs/a%2Fb/look");
    assert!(studio.cancel.is_none());
    let created = document(&json!({"ref": "up-1"}));
    assert_eq!(created_id(&studio, &created).as_deref(), Ok("up-1"));
}
