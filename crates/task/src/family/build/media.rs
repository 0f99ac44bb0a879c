//! Builds what a family takes as media from its definition.

use super::{FamilyErrors, child};
use crate::definition::{
    FamilyMediaConfig, MediaRoleConfig, NativeMediaPlaceConfig, UrlSchemeHeaderConfig,
};
use crate::family::media::{FamilyMediaRules, NativeMediaPlace, UrlSchemeHeader};
use crate::family::media_rule::{MediaRoleRule, OutputDurationRule};

/// Largest request of a family that sets none.
const REQUEST_BYTES_MAX: u64 = 64 << 20;
const NO_POINTER: &str = "not a JSON pointer: it must begin with `/`";

impl FamilyErrors {
    pub(super) fn media(&mut self, config: &FamilyMediaConfig) -> FamilyMediaRules {
        let FamilyMediaConfig {
            hosted,
            inline,
            roles,
            places,
            max_request,
            output_duration,
            url_headers,
        } = config;
        let rules = roles
            .iter()
            .map(|(role, rule)| (role.clone(), built_rule(rule)));
        let rules = rules.collect();
        for (index, place) in places.iter().enumerate() {
            self.check_place(&format!("/media/places/{index}"), place, config);
        }
        if let Some(rule) = output_duration
            && !rule.at.starts_with('/')
        {
            self.add(
                "/media/output_duration/at",
                NO_POINTER,
                Some("such as /parameters/duration"),
            );
        }
        let built = places.iter().map(|place| NativeMediaPlace {
            each_of: place.each_of.clone(),
            url: place.url.clone(),
            role_at: place.role_at.clone(),
            role_default: place.role.clone(),
        });
        let built = built.collect();
        let headers = url_headers.iter().enumerate();
        let scheme_headers = headers
            .filter_map(|(index, header)| self.url_header(index, header))
            .collect();
        FamilyMediaRules {
            hosted: hosted.clone(),
            inline: inline.clone(),
            roles: rules,
            places: built,
            request_bytes_max: max_request.map_or(REQUEST_BYTES_MAX, |size| size.bytes()),
            output_duration: output_duration.as_ref().map(|rule| OutputDurationRule {
                at: rule.at.clone(),
                default: rule.default.duration(),
                max_with_videos: rule.max_with_videos.duration(),
            }),
            scheme_headers,
        }
    }

    fn check_place(&mut self, at: &str, place: &NativeMediaPlaceConfig, media: &FamilyMediaConfig) {
        let NativeMediaPlaceConfig {
            each_of,
            url,
            role_at,
            role,
        } = place;
        let pointers = [
            ("each_of", each_of.as_ref()),
            ("url", Some(url)),
            ("role_at", role_at.as_ref()),
        ];
        let is_element = each_of.is_some() && url.is_empty();
        for (name, pointer) in pointers {
            if pointer.is_some_and(|pointer| !pointer.starts_with('/'))
                && !(name == "url" && is_element)
            {
                self.add(&child(at, name), NO_POINTER, Some("such as /input/media"));
            }
        }
        if role_at.is_none() && role.is_none() {
            self.add(at, "the place needs `role_at`, `role`, or both", None);
        }
        if let Some(role) = role
            && !media.roles.contains_key(role)
        {
            let reason = format!("unknown role `{role}`");
            self.add(&child(at, "role"), reason, Some("add it to `media.roles`"));
        }
    }

    fn url_header(
        &mut self,
        index: usize,
        config: &UrlSchemeHeaderConfig,
    ) -> Option<UrlSchemeHeader> {
        let at = format!("/media/url_headers/{index}");
        let UrlSchemeHeaderConfig {
            prefix,
            header,
            value,
        } = config;
        let name = header.parse();
        if name.is_err() {
            self.add(&child(&at, "header"), "not a header name", None);
        }
        let text = value.parse();
        if text.is_err() {
            self.add(&child(&at, "value"), "not a valid header value", None);
        }
        Some(UrlSchemeHeader {
            prefix: prefix.clone(),
            name: name.ok()?,
            value: text.ok()?,
        })
    }
}

fn built_rule(config: &MediaRoleConfig) -> MediaRoleRule {
    let MediaRoleConfig {
        kind,
        max_size,
        max_count,
        max_total_duration,
        min_frame_rate,
        max_frame_rate,
        max_pixels,
    } = *config;
    MediaRoleRule {
        kind,
        max_size,
        max_count,
        max_total_duration: max_total_duration.map(|span| span.duration()),
        min_frame_rate,
        max_frame_rate,
        max_pixels,
    }
}
