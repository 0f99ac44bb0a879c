//! The state stores, as a feature of the gateway.

use crate::open::StateStoreOpener;
use headgate_core::feature::Feature;
use headgate_core::state::settings::StoreOpener;

/// The state stores.
pub struct StateFeature;

impl Feature for StateFeature {
    fn stores(&self) -> Option<&'static dyn StoreOpener> {
        Some(&StateStoreOpener)
    }
}
