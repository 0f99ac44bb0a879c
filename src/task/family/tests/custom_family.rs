//! A third family, with other names, nesting, units and words, needs a definition and nothing else: what it is asked and
//! what it answers stands in `tests/fixtures/families/studio`.

use super::*;

const STUDIO: &str = include_str!("../../../../tests/fixtures/families/studio/definition.yaml");

#[test]
fn a_third_family_maps_requests_by_its_definition() {
    let studio = VideoFamily::new("studio", &config(STUDIO)).unwrap();
    assert_eq!(studio.create.call.method, "PUT");
    assert_eq!(studio.query.call.path("a/b"), "/jobs/a%2Fb/look");
    assert!(studio.cancel.is_none());
    let created = document(&json!({"ref": "up-1"}));
    assert_eq!(studio.created(&created).as_deref(), Ok("up-1"));
}
