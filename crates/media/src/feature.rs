//! The media store, and the filters that use it.

use crate::SharedMediaState;
use crate::filter::{copy_files, map_images, serve_media, store_media};
use headgate_core::feature::{Feature, FeatureValues};
use headgate_core::filter::descriptor::FilterDescriptor;
use std::sync::Arc;

/// The media store, and the filters that use it.
pub struct MediaFeature;

impl Feature for MediaFeature {
    fn filters(&self) -> &'static [FilterDescriptor] {
        const FILTERS: &[FilterDescriptor] = &[
            copy_files::DESCRIPTOR,
            map_images::DESCRIPTOR,
            serve_media::DESCRIPTOR,
            store_media::DESCRIPTOR,
        ];
        FILTERS
    }

    fn add_shared_values(&self, values: &mut FeatureValues) {
        values.set(Arc::<SharedMediaState>::default());
    }
}
