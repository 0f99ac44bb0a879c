//! A request on its way to an endpoint.

use super::directive::{Directives, Sizes};
use super::ids::Ids;
use super::options::SimulatorOptions;
use super::shelf::Shelves;
use super::video::Tasks;
use http::request::Parts;

/// What an endpoint knows besides the request's body.
pub struct Call<'c> {
    pub directives: &'c Directives,
    pub sizes: Sizes,
    pub options: &'c SimulatorOptions,
    pub ids: &'c Ids,
    pub head: &'c Parts,
    pub request_id: &'c str,
    /// The credential that came: to each its own responses, files, conversations, containers and tasks.
    pub account: &'c str,
    pub shelves: &'c Shelves,
    pub tasks: &'c Tasks,
}
