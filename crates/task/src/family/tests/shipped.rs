//! Tests that hold every built-in family to its definition alone.

use super::*;
use crate::families::SHIPPED;

#[test]
fn every_shipped_family_can_be_built() {
    for (name, definition) in SHIPPED {
        let built = VideoFamily::new(name, &config(definition));
        let family = built.unwrap_or_else(|faults| panic!("{name}: {faults:#?}"));
        assert!(!family.modes().is_empty(), "{name}");
        let is_own = name.starts_with("family-");
        assert_eq!(family.vendor.is_some(), !is_own, "{name}");
    }
}
