//! Header maps as plugins see them: pseudo headers first, hidden headers left out.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

use super::edits::ExchangeUndoLog;
use super::map_kind::HeaderMapKind;
use crate::abi_status::AbiStatus;
use crate::exchange::{LentExchange, PluginRequestHead};
use crate::settings::PluginSettings;

/// A map that is read.
pub(crate) struct HeaderMapView<'a> {
    pseudo: PseudoHeaders<'a>,
    headers: &'a HeaderMap,
    hidden: &'a [HeaderName],
}

enum PseudoHeaders<'a> {
    None,
    Request(&'a PluginRequestHead),
    Response(StatusCode),
}

/// A map of an exchange that is changed.
pub(crate) struct HeaderMapEditor<'a> {
    kind: HeaderMapKind,
    exchange: &'a mut LentExchange,
    log: &'a mut ExchangeUndoLog,
    settings: &'a PluginSettings,
}

impl<'a> HeaderMapView<'a> {
    pub fn new(
        exchange: &'a LentExchange,
        kind: HeaderMapKind,
        hidden: &'a [HeaderName],
    ) -> Option<Self> {
        let view = match kind {
            HeaderMapKind::RequestHeaders => Self {
                pseudo: PseudoHeaders::Request(&exchange.request),
                headers: &exchange.request.headers,
                hidden,
            },
            HeaderMapKind::ResponseHeaders => {
                let response = exchange.response.as_ref()?;
                Self::response(response.status, &response.headers, hidden)
            }
            HeaderMapKind::RequestTrailers => {
                Self::plain(exchange.request_trailers.as_deref()?, hidden)
            }
            HeaderMapKind::ResponseTrailers => {
                Self::plain(exchange.response_trailers.as_deref()?, hidden)
            }
            HeaderMapKind::CallHeaders | HeaderMapKind::CallTrailers => return None,
        };
        Some(view)
    }

    pub fn response(status: StatusCode, headers: &'a HeaderMap, hidden: &'a [HeaderName]) -> Self {
        let pseudo = PseudoHeaders::Response(status);
        Self {
            pseudo,
            headers,
            hidden,
        }
    }

    pub fn plain(headers: &'a HeaderMap, hidden: &'a [HeaderName]) -> Self {
        let pseudo = PseudoHeaders::None;
        Self {
            pseudo,
            headers,
            hidden,
        }
    }

    /// Passes all pairs to `visit`.
    pub fn each(&self, visit: &mut dyn FnMut(&[u8], &[u8])) {
        match &self.pseudo {
            PseudoHeaders::None => {}
            PseudoHeaders::Response(status) => visit(b":status", status.as_str().as_bytes()),
            PseudoHeaders::Request(head) => {
                visit(b":method", head.method.as_str().as_bytes());
                visit(b":scheme", head.scheme.as_bytes());
                visit(b":authority", head.authority.as_bytes());
                visit(b":path", head.path.as_bytes());
            }
        }
        for (name, value) in self.headers {
            if !self.hidden.contains(name) {
                visit(name.as_str().as_bytes(), value.as_bytes());
            }
        }
    }

    pub fn len(&self) -> usize {
        let mut count = 0;
        self.each(&mut |_, _| count += 1);
        count
    }

    /// The value of a name; several values with a comma between them.
    pub fn value(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        if name.first() == Some(&b':') {
            return self.pseudo_value(name);
        }
        let name = HeaderName::from_bytes(name).ok()?;
        if self.hidden.contains(&name) {
            return None;
        }
        let mut values = self.headers.get_all(&name).iter();
        let first = values.next()?.as_bytes();
        let mut value = Cow::Borrowed(first);
        for next in values {
            let joined = value.to_mut();
            joined.push(b',');
            joined.extend_from_slice(next.as_bytes());
        }
        Some(value)
    }

    fn pseudo_value(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        let text = match (&self.pseudo, name) {
            (PseudoHeaders::Response(status), b":status") => {
                return Some(Cow::Owned(status.as_str().as_bytes().to_vec()));
            }
            (PseudoHeaders::Request(head), b":method") => head.method.as_str(),
            (PseudoHeaders::Request(head), b":scheme") => &head.scheme,
            (PseudoHeaders::Request(head), b":authority") => &head.authority,
            (PseudoHeaders::Request(head), b":path") => &head.path,
            _ => return None,
        };
        Some(Cow::Borrowed(text.as_bytes()))
    }
}

impl<'a> HeaderMapEditor<'a> {
    pub fn new(
        exchange: &'a mut LentExchange,
        log: &'a mut ExchangeUndoLog,
        kind: HeaderMapKind,
        settings: &'a PluginSettings,
    ) -> Option<Self> {
        let exists = match kind {
            HeaderMapKind::RequestHeaders => true,
            HeaderMapKind::ResponseHeaders => exchange.response.is_some(),
            HeaderMapKind::RequestTrailers | HeaderMapKind::ResponseTrailers => true,
            HeaderMapKind::CallHeaders | HeaderMapKind::CallTrailers => false,
        };
        exists.then_some(Self {
            kind,
            exchange,
            log,
            settings,
        })
    }

    /// Adds a value to those that the name has.
    pub fn add(&mut self, name: &[u8], value: &[u8]) -> Result<(), AbiStatus> {
        if name.first() == Some(&b':') {
            return self.set_pseudo(name, value);
        }
        let (name, value) = self.checked(name, value)?;
        self.check_size(name.as_str().len() + value.len(), 1)?;
        self.note(&name);
        self.map().append(name, value);
        self.count_edit();
        Ok(())
    }

    /// Replaces all values that the name has.
    pub fn replace(&mut self, name: &[u8], value: &[u8]) -> Result<(), AbiStatus> {
        if name.first() == Some(&b':') {
            return self.set_pseudo(name, value);
        }
        let (name, value) = self.checked(name, value)?;
        self.check_size(name.as_str().len() + value.len(), 1)?;
        self.note(&name);
        self.map().insert(name, value);
        self.count_edit();
        Ok(())
    }

    /// Removes all values that the name has; a name without values is no error.
    pub fn remove(&mut self, name: &[u8]) -> Result<(), AbiStatus> {
        let name = HeaderName::from_bytes(name).map_err(|_| AbiStatus::BadArgument)?;
        if self.is_hidden(&name) {
            return Ok(());
        }
        self.note(&name);
        if self.map().remove(&name).is_some() {
            self.count_edit();
        }
        Ok(())
    }

    /// Replaces the whole map. Pseudo headers that are left out and hidden headers stay.
    pub fn replace_all(&mut self, pairs: &[(&[u8], &[u8])]) -> Result<(), AbiStatus> {
        let limits = &self.settings.limits;
        let bytes: usize = pairs.iter().map(|pair| pair.0.len() + pair.1.len()).sum();
        if pairs.len() > limits.headers || bytes > limits.header_bytes {
            return Err(AbiStatus::BadArgument);
        }
        let mut map = HeaderMap::with_capacity(pairs.len());
        for (name, value) in pairs.iter().filter(|pair| !pair.0.starts_with(b":")) {
            let (name, value) = self.checked(name, value)?;
            map.append(name, value);
        }
        for (name, value) in pairs.iter().filter(|pair| pair.0.starts_with(b":")) {
            self.set_pseudo(name, value)?;
        }
        let former = self.take_map();
        for name in &self.settings.grants.hidden_headers {
            for value in former.iter().flat_map(|former| former.get_all(name)) {
                map.append(name, value.clone());
            }
        }
        *self.map() = map;
        self.log.note_whole(self.kind, former);
        self.count_edit();
        Ok(())
    }

    fn checked(&self, name: &[u8], value: &[u8]) -> Result<(HeaderName, HeaderValue), AbiStatus> {
        let name = HeaderName::from_bytes(name).map_err(|_| AbiStatus::BadArgument)?;
        let value = HeaderValue::from_bytes(value).map_err(|_| AbiStatus::BadArgument)?;
        if self.is_hidden(&name) {
            return Err(AbiStatus::BadArgument);
        }
        Ok((name, value))
    }

    fn is_hidden(&self, name: &HeaderName) -> bool {
        self.settings.grants.hidden_headers.contains(name)
    }

    /// Refuses a map that would become too large.
    fn check_size(&mut self, more_bytes: usize, more: usize) -> Result<(), AbiStatus> {
        let limits = &self.settings.limits;
        let map = self.map();
        if map.len() + more > limits.headers {
            return Err(AbiStatus::BadArgument);
        }
        let bytes: usize = map
            .iter()
            .map(|(name, value)| name.as_str().len() + value.len())
            .sum();
        if bytes + more_bytes > limits.header_bytes {
            return Err(AbiStatus::BadArgument);
        }
        Ok(())
    }

    fn count_edit(&mut self) {
        if self.kind == HeaderMapKind::ResponseHeaders {
            self.exchange.response_head_edits += 1;
        }
    }

    fn note(&mut self, name: &HeaderName) {
        let log = &mut *self.log;
        let map = match self.kind {
            HeaderMapKind::ResponseHeaders => self.exchange.response.as_ref().map(|r| &r.headers),
            HeaderMapKind::RequestTrailers => self.exchange.request_trailers.as_deref(),
            HeaderMapKind::ResponseTrailers => self.exchange.response_trailers.as_deref(),
            _ => Some(&self.exchange.request.headers),
        };
        match map {
            Some(map) => log.note_name(self.kind, map, name),
            None => log.note_whole(self.kind, None),
        }
    }

    fn take_map(&mut self) -> Option<HeaderMap> {
        match self.kind {
            HeaderMapKind::RequestTrailers if self.exchange.request_trailers.is_none() => None,
            HeaderMapKind::ResponseTrailers if self.exchange.response_trailers.is_none() => None,
            _ => Some(std::mem::take(self.map())),
        }
    }

    fn map(&mut self) -> &mut HeaderMap {
        let exchange = &mut *self.exchange;
        match self.kind {
            HeaderMapKind::ResponseHeaders => {
                &mut exchange.response.get_or_insert_default().headers
            }
            HeaderMapKind::RequestTrailers => exchange.request_trailers.get_or_insert_default(),
            HeaderMapKind::ResponseTrailers => exchange.response_trailers.get_or_insert_default(),
            _ => &mut exchange.request.headers,
        }
    }

    fn set_pseudo(&mut self, name: &[u8], value: &[u8]) -> Result<(), AbiStatus> {
        let text = std::str::from_utf8(value).map_err(|_| AbiStatus::BadArgument)?;
        if text.len() > self.settings.limits.header_bytes || text.bytes().any(|b| b < b'!') {
            return Err(AbiStatus::BadArgument);
        }
        match (self.kind, name) {
            (HeaderMapKind::ResponseHeaders, b":status") => self.set_status(text),
            (HeaderMapKind::RequestHeaders, _) => self.set_request_pseudo(name, text),
            _ => Err(AbiStatus::BadArgument),
        }
    }

    fn set_status(&mut self, text: &str) -> Result<(), AbiStatus> {
        let status: StatusCode = text.parse().map_err(|_| AbiStatus::BadArgument)?;
        // An interim response cannot end an exchange.
        if !(200..=599).contains(&status.as_u16()) {
            return Err(AbiStatus::BadArgument);
        }
        let response = self.exchange.response.as_mut();
        let response = response.ok_or(AbiStatus::BadArgument)?;
        self.log.note_status(response.status);
        response.status = status;
        self.count_edit();
        Ok(())
    }

    fn set_request_pseudo(&mut self, name: &[u8], text: &str) -> Result<(), AbiStatus> {
        let method = Method::from_bytes(text.as_bytes());
        self.log.note_head(self.exchange);
        let request = &mut self.exchange.request;
        match name {
            b":method" => request.method = method.map_err(|_| AbiStatus::BadArgument)?,
            b":path" if text.starts_with('/') => text.clone_into(&mut request.path),
            b":authority" => text.clone_into(&mut request.authority),
            b":scheme" => text.clone_into(&mut request.scheme),
            _ => return Err(AbiStatus::BadArgument),
        }
        Ok(())
    }
}
