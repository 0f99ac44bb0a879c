//! What a plugin changed of an exchange, so that the changes of a callback that fails can be undone.

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

use super::map_kind::HeaderMapKind;
use crate::exchange::LentExchange;

/// What a plugin changed of an exchange since its stream last went on.
#[derive(Default)]
pub(crate) struct ExchangeUndoLog {
    /// In the order of the four maps of an exchange.
    maps: [HeaderMapUndo; 4],
    head: Option<Box<FormerRequestHead>>,
    status: Option<StatusCode>,
}

#[derive(Default)]
enum HeaderMapUndo {
    #[default]
    Unchanged,
    /// The former values of the names that were changed.
    Names(Vec<(HeaderName, Vec<HeaderValue>)>),
    /// The former map; `None` if there was none.
    Whole(Option<HeaderMap>),
}

struct FormerRequestHead {
    method: Method,
    scheme: String,
    authority: String,
    path: String,
}

impl ExchangeUndoLog {
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Call before the values of `name` change.
    pub fn note_name(&mut self, kind: HeaderMapKind, map: &HeaderMap, name: &HeaderName) {
        let log = &mut self.maps[kind as usize];
        if let HeaderMapUndo::Unchanged = log {
            *log = HeaderMapUndo::Names(Vec::new());
        }
        if let HeaderMapUndo::Names(names) = log
            && !names.iter().any(|(known, _)| known == name)
        {
            let former = map.get_all(name).iter().cloned().collect();
            names.push((name.clone(), former));
        }
    }

    /// Call with the former map when all of it was replaced.
    pub fn note_whole(&mut self, kind: HeaderMapKind, former: Option<HeaderMap>) {
        let log = &mut self.maps[kind as usize];
        *log = match std::mem::take(log) {
            HeaderMapUndo::Unchanged => HeaderMapUndo::Whole(former),
            HeaderMapUndo::Names(names) => {
                let mut former = former.unwrap_or_default();
                restore_names(&mut former, names);
                HeaderMapUndo::Whole(Some(former))
            }
            whole @ HeaderMapUndo::Whole(_) => whole,
        };
    }

    /// Call before a pseudo header of the request changes.
    pub fn note_head(&mut self, exchange: &LentExchange) {
        let request = &exchange.request;
        self.head.get_or_insert_with(|| {
            Box::new(FormerRequestHead {
                method: request.method.clone(),
                scheme: request.scheme.clone(),
                authority: request.authority.clone(),
                path: request.path.clone(),
            })
        });
    }

    /// Call before the status changes.
    pub fn note_status(&mut self, status: StatusCode) {
        self.status.get_or_insert(status);
    }

    pub fn undo(&mut self, exchange: &mut LentExchange) {
        let log = std::mem::take(self);
        if let Some(head) = log.head {
            exchange.request.method = head.method;
            exchange.request.scheme = head.scheme;
            exchange.request.authority = head.authority;
            exchange.request.path = head.path;
        }
        if let (Some(status), Some(response)) = (log.status, &mut exchange.response) {
            response.status = status;
        }
        let [request, request_trailers, response, response_trailers] = log.maps;
        request.restore(&mut exchange.request.headers);
        request_trailers.restore_trailers(&mut exchange.request_trailers);
        if let Some(head) = &mut exchange.response {
            response.restore(&mut head.headers);
        }
        response_trailers.restore_trailers(&mut exchange.response_trailers);
    }
}

impl HeaderMapUndo {
    fn restore(self, map: &mut HeaderMap) {
        match self {
            Self::Unchanged => {}
            Self::Names(names) => restore_names(map, names),
            Self::Whole(former) => *map = former.unwrap_or_default(),
        }
    }

    fn restore_trailers(self, trailers: &mut Option<Box<HeaderMap>>) {
        match self {
            Self::Unchanged => {}
            Self::Whole(former) => *trailers = former.map(Box::new),
            Self::Names(names) => {
                if let Some(map) = trailers {
                    restore_names(map, names);
                }
            }
        }
    }
}

fn restore_names(map: &mut HeaderMap, names: Vec<(HeaderName, Vec<HeaderValue>)>) {
    for (name, values) in names {
        map.remove(&name);
        for value in values {
            map.append(&name, value);
        }
    }
}
