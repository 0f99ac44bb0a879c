//! `callbacks`: has providers call back to the gateway, and delivers status changes to the callback URLs of callers.

mod request;

use crate::callbacks::{CallbackRecordStore, CallbackWorkerQueue, CallerStatusFormat};
use bytes::Bytes;
use headgate_core::catalog::channel::TimeoutOverrides;
use headgate_core::catalog::egress::EgressPolicy;
use headgate_core::catalog::public_url::PublicUrl;
use headgate_core::filter::descriptor::{
    BuildContext, ChainSide, FilterChainRules, FilterDescriptor, FilterPrerequisite,
    FilterProvision, InvalidSettings, read_settings_or_default, settings_schema,
};
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_core::filter::view::{AttemptView, RequestView, ResponseView};
use headgate_core::filter::{Filter, FilterDeclaration, HookResult, ResponseBodyAccess};
use headgate_core::task::{NO_KEYS_HINT, TaskSettings};
use headgate_protocol::TaskApiFormat;
use request::AttemptSubscriptions;
pub(super) use request::query_member;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "callbacks",
    summary: "Has providers of video tasks call back to this gateway, and delivers status changes, signed, to the `callback_url` of the caller.",
    side: ChainSide::Request,
    placement: FilterChainRules {
        after: &["validate", "rate_limit"],
        needs: &[
            FilterPrerequisite::Body,
            FilterPrerequisite::Caller,
            FilterPrerequisite::Model,
        ],
        provides: &[FilterProvision::Events],
        ..FilterChainRules::ANYWHERE
    },
    settings: Some(settings_schema::<CallbacksConfig>),
    bare: true,
    build: |settings, context| {
        let config: CallbacksConfig = read_settings_or_default(settings)?;
        let format = match context.protocol.and_then(|it| it.descriptor().tasks) {
            Some(TaskApiFormat::Generic) => CallerStatusFormat::Generic,
            Some(TaskApiFormat::OpenAi) => CallerStatusFormat::OpenAi,
            Some(TaskApiFormat::Native) => CallerStatusFormat::Native,
            None => {
                return Err(InvalidSettings::new(
                    "`callbacks` requires a route with `protocol: video`, `videos`, `family_a` or `family_b`",
                )
                .hint("write the protocol in the route"));
            }
        };
        if context.tasks.keys.is_none() {
            return Err(InvalidSettings::new("`callbacks` requires `task_keys`").hint(NO_KEYS_HINT));
        }
        if config.mode == CallbackUrlMode::SignedOnly && context.public_url.is_none() {
            return Err(InvalidSettings::new(
                "`mode: signed_only` requires `server.public_url`: without it the provider calls the URLs of callers, unsigned",
            )
            .hint("set `server.public_url`, or write `mode: refuse`"));
        }
        let delivers = matches!(
            config.mode,
            CallbackUrlMode::Deliver | CallbackUrlMode::SignedOnly
        );
        if delivers && context.public_url.is_some() {
            check_families(context)?;
        }
        warn_of_missing(config.mode, context);
        if format == CallerStatusFormat::OpenAi {
            warn_of_webhook_urls(delivers && context.public_url.is_some(), context);
        }
        Ok(Arc::new(CallbackSubscriptionFilter {
            mode: config.mode,
            polls_all: config
                .poll_without_callbacks
                .unwrap_or(format == CallerStatusFormat::OpenAi),
            format,
            timeouts: context.timeouts,
            public_url: context.public_url.cloned(),
            egress: context.egress.clone(),
            tasks: context.tasks.clone(),
            records: CallbackRecordStore::new(context.state.clone()),
            queue: context.features.get(),
        }))
    },
};

/// What happens to the `callback_url` of a create.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum CallbackUrlMode {
    /// The gateway delivers status changes there, signed with the caller's `webhook_secrets` if there are any.
    #[default]
    Deliver,
    /// Like `deliver`, but a caller without `webhook_secrets` gets 400, and events are never sent unsigned.
    SignedOnly,
    /// The request gets 400.
    Refuse,
    /// The provider gets it, and sends its own ids and statuses there.
    Pass,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct CallbacksConfig {
    /// What happens to a `callback_url`. Default: deliver.
    mode: CallbackUrlMode,
    /// Whether status changes are also delivered for tasks at providers that send no callbacks, such as those of family
    /// B. Their status is polled instead. Default: false, and true on routes with `protocol: videos`. Without it, such a
    /// `callback_url` has no effect.
    poll_without_callbacks: Option<bool>,
}

struct CallbackSubscriptionFilter {
    mode: CallbackUrlMode,
    /// Whether tasks are polled whose providers send no callbacks.
    polls_all: bool,
    format: CallerStatusFormat,
    /// Those of the route.
    timeouts: TimeoutOverrides,
    /// `None` if providers cannot reach this gateway: then they get the caller's URL.
    public_url: Option<PublicUrl>,
    egress: Arc<EgressPolicy>,
    tasks: Arc<TaskSettings>,
    records: CallbackRecordStore,
    queue: Arc<CallbackWorkerQueue>,
}

impl Filter for CallbackSubscriptionFilter {
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration {
            response_body: ResponseBodyAccess::Replace,
            ..FilterDeclaration::default()
        }
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        HookResult::later(async move {
            self.check_url(request).await?;
            self.prefer_delivering(request);
            Ok(headgate_core::filter::FilterAction::Continue)
        })
    }

    fn on_attempt<'a>(
        &'a self,
        request: &'a RequestView,
        attempt: &'a mut AttemptView,
    ) -> HookResult<'a, ()> {
        match self.subscribes(request, attempt) {
            true => HookResult::later(self.subscribe(request, attempt)),
            false => HookResult::done(),
        }
    }

    fn on_response_body<'a>(
        &'a self,
        response: &'a mut ResponseView<'_>,
        _body: &'a mut Bytes,
    ) -> HookResult<'a, ()> {
        let has_subscription = response
            .request
            .state
            .get::<AttemptSubscriptions>()
            .is_some();
        match has_subscription && response.status.is_success() {
            true => HookResult::later(async move {
                self.bind(response).await;
                Ok(())
            }),
            false => HookResult::done(),
        }
    }

    fn on_done(&self, request: &mut RequestView, _settlement: ExchangeSettlement) {
        if let Some(pending) = request.state.take::<AttemptSubscriptions>() {
            for nonce in pending.into_unbound() {
                self.queue.remove(nonce);
            }
        }
    }
}

/// The gateway's URL is sent in a member of its own: a family that writes the caller's URL beside other fields would pass
/// it on.
fn check_families(context: &BuildContext<'_>) -> Result<(), InvalidSettings> {
    let mut channels = context.catalog.channels();
    let other = channels.find(|channel| {
        let family = channel.family.as_ref();
        family.is_some_and(|family| family.passes_callback_url_on())
    });
    match other {
        None => Ok(()),
        Some(channel) => Err(InvalidSettings::new(format!(
            "the family of channel `{}` maps `callback_url` into a member of the body that has other fields, too",
            channel.name
        ))
        .hint("map it to a member without others, such as `/callback_url`, or remove it from the family")),
    }
}

/// Warns of a caller's `webhook_url` that gets no events of this route.
fn warn_of_webhook_urls(delivers: bool, context: &BuildContext<'_>) {
    let mut callers: Vec<_> = context.callers.iter().collect();
    callers.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    let mut urls = callers
        .into_iter()
        .filter_map(|caller| Some((&*caller.name, &**caller.webhook_url.as_ref()?)));
    if !delivers && let Some((caller, _)) = urls.next() {
        let warning = InvalidSettings::new(format!(
            "videos of this route lead to no events at the `webhook_url` of caller `{caller}`"
        ));
        context.warn(warning.hint("set `server.public_url`, and write `mode: deliver`"));
    } else if context.egress.allowed.is_empty()
        && let Some((caller, _)) = urls.find(|(_, url)| !url.starts_with("https:"))
    {
        let warning = InvalidSettings::new(format!(
            "events are not sent to the `webhook_url` of caller `{caller}`, which is not https"
        ));
        context.warn(warning.hint("write an https URL, or allow its host in `egress`"));
    }
}

fn warn_of_missing(mode: CallbackUrlMode, context: &BuildContext<'_>) {
    let delivers = matches!(mode, CallbackUrlMode::Deliver | CallbackUrlMode::SignedOnly);
    if mode == CallbackUrlMode::Refuse {
        return;
    }
    if mode == CallbackUrlMode::Pass || delivers && context.public_url.is_none() {
        let warning = InvalidSettings::new(
            "the provider calls the callback URLs of callers itself, with its own task ids",
        );
        context.warn(match mode {
            CallbackUrlMode::Pass => warning.hint("write `mode: deliver`, or `mode: refuse`"),
            _ => warning.hint("set `server.public_url`, or write `callbacks: {mode: refuse}`"),
        });
        return;
    }
    let mut unsigned: Vec<&str> = context
        .callers
        .iter()
        .filter(|caller| caller.webhook_secrets.is_empty())
        .map(|caller| &*caller.name)
        .collect();
    unsigned.sort_unstable();
    if !(context.is_provided_at)(crate::callbacks::CALLBACK_PATH, FilterProvision::Callbacks) {
        let warning = InvalidSettings::new(
            "no route receives callbacks of providers, so that status changes are found by polls, after a minute",
        );
        context.warn(warning.hint(
            "add a route with `match: POST /_headgate/callback/{token}` and `request: [receive_callback]`",
        ));
    }
    if !context.state_survives {
        let warning = InvalidSettings::new(
            "with `state: memory`, status changes are not delivered after a restart",
        );
        context.warn(warning.hint("set `state` to a SQLite file or to Redis"));
    }
    if mode == CallbackUrlMode::Deliver
        && let [first, rest @ ..] = unsigned.as_slice()
    {
        let others = match rest.len() {
            0 => String::new(),
            others => format!(" and {others} more"),
        };
        context.warn(
            InvalidSettings::new(format!(
                "deliveries to callbacks of caller `{first}`{others} are not signed"
            ))
            .hint("add `webhook_secrets` to the caller; `headgate key webhook` prints one"),
        );
    }
}
