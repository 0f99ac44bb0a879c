//! A family of video providers as built: its requests, and how its responses are mapped.

mod allowed_values;
mod body_builder;
mod build;
pub mod call;
mod callback;
mod charge;
mod document_expression;
mod field_mapping;
mod field_rule;
pub(super) mod json_fragment;
mod media;
mod media_rule;
mod modes;
mod native;
mod native_api;
pub mod path_template;
mod request;
mod requested_video;
mod response;
mod response_pointer;
mod result;
mod source;
mod task_place;
pub mod task_url;
#[cfg(test)]
mod tests;
pub mod upload;
mod url_removal;
mod value_template;

pub use build::InvalidFamily;
pub use call::{RequestTemplate, TaskCreateTemplate};
pub use callback::ProviderCallbackRules;
pub use charge::TaskCharge;
pub use media::{FamilyMediaRole, RequestMediaUrl};
pub use media_rule::{MediaRoleRule, RequestedOutputDuration};
pub use native::{NativeResponse, NativeTaskView};
pub use native_api::{NativeApi, NativeCall, NativeOperation};
pub use request::{IgnoredField, MappedRequest, UnsupportedFieldPolicy};
pub use requested_video::RequestedVideo;
pub use response::{InvalidTaskResponse, UpstreamError};
pub use result::StatusWithResult;
pub use source::SentCreate;
pub use task_place::{CreatedTask, ForbiddenTaskHost};
pub use url_removal::without_urls;

use super::generic::GenericField;
use super::state::TaskState;
use super::time::TimeFormat;
use body_builder::RequestBodyPointer;
use field_mapping::{FieldTarget, RequestMapping};
use field_rule::FieldRule;
use headgate_protocol::Protocol;
use http::StatusCode;
use media::FamilyMediaRules;
use source::ValueSourceList;
use std::sync::Arc;
use std::time::Duration;
use task_url::HostPattern;
use upload::MediaUpload;

/// A family of video providers. It only maps data, without I/O.
#[derive(Debug)]
pub struct VideoFamily {
    pub name: Arc<str>,
    /// The vendor's name, for people.
    pub vendor: Option<String>,
    /// The protocol of callers who use the family's native API, if there is one.
    pub protocol: Option<Protocol>,
    /// The request for each medium before a create; `None` if creates have the media themselves.
    pub upload: Option<MediaUpload>,
    pub create: TaskCreateTemplate,
    pub query: TaskQueryCall,
    /// `None` if tasks cannot be cancelled.
    pub cancel: Option<TaskCancelCall>,
    /// The request for the result of a task that has succeeded; `None` if its status has the result.
    pub result: Option<RequestTemplate>,
    pub callback: ProviderCallbackRules,
    request: RequestMapping,
    /// Whether an expression reads the create in the generic shape.
    reads_create: bool,
    task_id: ValueSourceList,
    status: StatusMapping,
    response: ResponseFieldSources,
    errors: ErrorMapping,
    native: NativeApi,
    media: FamilyMediaRules,
    /// Without a trailing slash; empty if the gateway does not know its own.
    public_url: Arc<str>,
}

/// Where a create has the URL to which the provider sends status changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallbackTarget<'a> {
    /// A place in the body, in a member that has nothing else.
    Body(&'a RequestBodyPointer),
    /// A member of the query.
    Query(&'a str),
}

impl VideoFamily {
    /// Where a create has the URL to which the provider sends status changes; `None` if it sends none.
    pub fn callback_target(&self) -> Option<CallbackTarget<'_>> {
        let mut mappings = self.request.all_for(GenericField::CallbackUrl);
        mappings.find_map(|mapping| match &mapping.put()?.to {
            FieldTarget::Body(to) => {
                let is_alone = to.is_member() || self.request.has_own_member(to);
                is_alone.then_some(CallbackTarget::Body(to))
            }
            FieldTarget::Query(name) => Some(CallbackTarget::Query(name)),
            FieldTarget::Nowhere => None,
        })
    }

    /// Whether a request before there is a task may have the channel's model in its path.
    pub fn puts_model_in_path(&self) -> bool {
        let upload = self.upload.as_ref();
        self.create.may_name_model()
            || self.native.names_model_in_path()
            || upload.is_some_and(|upload| upload.call.names_model())
    }

    /// The rules between fields for the channel's model in words, for people.
    pub fn rule_descriptions(&self, channel_model: &str) -> Vec<String> {
        let fields = self.request.for_model(channel_model);
        fields.rules().flat_map(FieldRule::descriptions).collect()
    }

    /// Whether the provider sends videos only to requests with the channel's credential.
    pub fn has_private_results(&self) -> bool {
        self.response.is_private
    }

    /// Where responses to queries have the video itself, in base64, as a JSON pointer of names and indexes.
    pub fn inline_video(&self) -> Option<&Arc<str>> {
        self.response.inline_video.as_ref()
    }

    /// Sets the URL below which callers get the files of private results; empty for the gateway itself.
    pub fn set_public_url(&mut self, public_url: &str) {
        self.public_url = public_url.into();
    }

    /// Whether the provider sends status changes to a URL that the gateway sets.
    pub fn sends_callbacks(&self) -> bool {
        self.callback_target().is_some()
    }

    /// Whether the caller's callback URL reaches the provider where the gateway cannot set another one.
    pub fn passes_callback_url_on(&self) -> bool {
        let mut mappings = self.request.all_for(GenericField::CallbackUrl);
        mappings.any(|mapping| mapping.put().is_some()) && !self.sends_callbacks()
    }
}

/// How a task is queried, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskQueryCall {
    pub call: RequestTemplate,
    /// How long a response is cached while the task is running.
    pub cache_ttl: Duration,
    /// How long a response is cached once the task has ended.
    pub final_cache_ttl: Duration,
    /// The maximum number of queries and cancels per channel in any second; `None` for no limit.
    pub max_per_second: Option<u16>,
    /// Where the response to a create has the URL that is queried in place of the path of `call`.
    url: ValueSourceList,
    /// The hosts other than the channel's on which that URL may lie.
    hosts: Vec<HostPattern>,
}

impl TaskQueryCall {
    /// How long a response about a task in this state is cached.
    pub fn cache_ttl(&self, state: TaskState) -> Duration {
        match state.is_terminal() {
            true => self.final_cache_ttl,
            false => self.cache_ttl,
        }
    }
}

/// How a task is cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskCancelCall {
    pub call: RequestTemplate,
    /// The states in which the provider accepts a cancel.
    pub statuses: Vec<TaskState>,
}

#[derive(Debug)]
struct StatusMapping {
    at: ValueSourceList,
    words: Vec<(String, TaskState)>,
    /// Whether a task with an unknown status counts as running for a while.
    keeps_unknown: bool,
    /// `None` if the provider never ends tasks by itself.
    expiry: Option<TaskExpiry>,
}

/// When a provider ends tasks by itself.
#[derive(Debug)]
struct TaskExpiry {
    /// Where responses have the time after the creation, in seconds.
    at: Option<ValueSourceList>,
    /// That time if the response has none.
    default: Duration,
}

#[derive(Debug)]
struct ResponseFieldSources {
    video_url: ValueSourceList,
    /// Where the response has the video itself, in base64.
    inline_video: Option<Arc<str>>,
    /// Whether the provider sends the video only to requests with the channel's credential.
    is_private: bool,
    /// A share from 0 to 1, or a percentage.
    progress: ValueSourceList,
    video_duration: ValueSourceList,
    resolution: ValueSourceList,
    ratio: ValueSourceList,
    created: ValueSourceList,
    updated: ValueSourceList,
    times: TimeFormat,
    usage: UsageMapping,
}

#[derive(Debug)]
struct UsageMapping {
    input_video_duration: ValueSourceList,
    output_video_duration: ValueSourceList,
    total_tokens: ValueSourceList,
    duration: ValueSourceList,
    /// What the task cost, in the unit of the provider's account.
    credits: ValueSourceList,
}

#[derive(Debug)]
struct ErrorMapping {
    code: ValueSourceList,
    message: ValueSourceList,
    failover_codes: Vec<String>,
    /// The HTTP status that an error under 200 stands for, by its code; a trailing `*` matches any rest.
    statuses: Vec<(String, StatusCode)>,
}
