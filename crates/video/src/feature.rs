//! Video tasks: their mapping, their polls, and callbacks of and for them.

use crate::callbacks::{CallbackQueue, background};
use crate::filter::{callbacks, map_task, receive_callback};
use crate::polls::TaskStatusFetcher;
use headgate_core::feature::background::BackgroundWork;
use headgate_core::feature::{Feature, FeatureValues};
use headgate_core::filter::descriptor::FilterDescriptor;
use std::sync::Arc;

/// Video tasks: their mapping, their polls, and callbacks of and for them.
pub struct VideoFeature;

impl Feature for VideoFeature {
    fn filters(&self) -> &'static [FilterDescriptor] {
        const FILTERS: &[FilterDescriptor] = &[
            callbacks::DESCRIPTOR,
            map_task::DESCRIPTOR,
            receive_callback::DESCRIPTOR,
        ];
        FILTERS
    }

    fn background(&self) -> Option<BackgroundWork> {
        Some(BackgroundWork {
            name: "callback worker",
            is_awaited: true,
            run: |context| Box::pin(background::run(context)),
        })
    }

    fn add_shared_values(&self, values: &mut FeatureValues) {
        values.set(Arc::<TaskStatusFetcher>::default());
        values.set(Arc::<CallbackQueue>::default());
    }
}
