//! Sessions of operators who logged in with a browser: random ids in memory, sent in a cookie.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use headgate_core::catalog::caller::KeyDigest;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The time for which a session lasts.
pub(super) const SESSION_TTL: Duration = Duration::from_secs(12 * 3600);
/// The maximum number of sessions; a new one ends the oldest.
const SESSIONS_MAX: usize = 256;
const ID_BYTES: usize = 32;

/// The sessions of the process. A restart ends them.
#[derive(Default)]
pub(super) struct AdminSessions {
    /// By the digests of their ids, so that a lookup takes a time that reveals no id.
    open: Mutex<HashMap<KeyDigest, AdminSession>>,
}

struct AdminSession {
    /// The key that logged in: without it, or with another role of it, the session is another one.
    key: KeyDigest,
    until: Instant,
}

impl AdminSessions {
    /// Opens a session of the holder of a key; returns its id.
    ///
    /// # Errors
    /// The system's random number generator failed.
    pub fn open(&self, key: KeyDigest, now: Instant) -> Result<String, getrandom::Error> {
        let mut random = [0; ID_BYTES];
        getrandom::fill(&mut random)?;
        let id = URL_SAFE_NO_PAD.encode(random);
        let mut open = self.lock();
        open.retain(|_, session| now < session.until);
        if open.len() >= SESSIONS_MAX {
            let oldest = open.iter().min_by_key(|(_, session)| session.until);
            if let Some(oldest) = oldest.map(|(id, _)| *id) {
                open.remove(&oldest);
            }
        }
        let until = now + SESSION_TTL;
        open.insert(
            KeyDigest::from_key(id.as_bytes()),
            AdminSession { key, until },
        );
        Ok(id)
    }

    /// The digest of the key that opened the session with this id.
    pub fn key_digest(&self, id: &str, now: Instant) -> Option<KeyDigest> {
        let open = self.lock();
        let session = open.get(&KeyDigest::from_key(id.as_bytes()))?;
        (now < session.until).then_some(session.key)
    }

    /// Ends the session with this id.
    pub fn close(&self, id: &str) {
        self.lock().remove(&KeyDigest::from_key(id.as_bytes()));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<KeyDigest, AdminSession>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_lasts_until_it_expires_or_is_closed() {
        let (sessions, now) = (AdminSessions::default(), Instant::now());
        let key = KeyDigest::from_key(b"sk-ops");
        let [one, other] = [(); 2].map(|()| sessions.open(key, now).unwrap());
        assert_ne!(one, other);
        let just_before = now + SESSION_TTL - Duration::from_millis(1);
        assert!(sessions.key_digest(&one, just_before) == Some(key));
        assert!(sessions.key_digest(&one, now + SESSION_TTL).is_none());
        assert!(sessions.key_digest(&one[1..], now).is_none());
        assert!(sessions.key_digest("", now).is_none());
        sessions.close(&one);
        assert!(sessions.key_digest(&one, now).is_none());
        assert!(sessions.key_digest(&other, now).is_some());
    }

    #[test]
    fn a_session_above_the_maximum_ends_the_oldest() {
        let (sessions, now) = (AdminSessions::default(), Instant::now());
        let key = KeyDigest::from_key(b"sk-ops");
        let open = |second: usize| {
            let at = now + Duration::from_secs(second as u64);
            sessions.open(key, at).unwrap()
        };
        let ids: Vec<String> = (0..=SESSIONS_MAX).map(open).collect();
        let later = now + Duration::from_secs(600);
        let are_open = ids
            .iter()
            .map(|id| sessions.key_digest(id, later).is_some());
        let closed: Vec<usize> = are_open
            .enumerate()
            .filter(|(_, open)| !open)
            .map(|(index, _)| index)
            .collect();
        assert_eq!(closed, [0]);
    }
}
