//! Generates unique ids in the formats of the providers.

use super::clock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of different suffixes of family A ids: five letters or digits.
const TAILS: u64 = 36_u64.pow(5);

/// Generates ids that are unique among all simulators.
pub struct IdGenerator {
    origin: u64,
    count: AtomicU64,
}

impl IdGenerator {
    pub fn new() -> Self {
        Self {
            origin: getrandom::u64().unwrap_or_else(|_| clock::monotonic_nanos()),
            count: AtomicU64::new(1),
        }
    }

    /// An id with the prefix `prefix`.
    pub fn next(&self, prefix: &str) -> String {
        format!("{prefix}{:016x}{:08x}", self.origin, self.count())
    }

    /// An id of 36 characters that looks like a random UUID (version 4).
    pub fn uuid(&self) -> String {
        let hex = format!("{:016x}", self.origin);
        let (first, second, third) = (&hex[..8], &hex[8..12], &hex[12..15]);
        format!(
            "{first}-{second}-4{third}-8{}-{:012x}",
            &hex[..3],
            self.count()
        )
    }

    /// The id of a family A task: the date and time at +08:00, and five letters or digits.
    pub fn family_a(&self) -> String {
        const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
        // Coprime to the number of suffixes, so that each is used once before any is repeated.
        const STRIDE: u64 = 7_368_787;
        let moment = clock::china_time(clock::unix_millis());
        let seconds = moment.split('.').next().unwrap_or_default();
        let digits: String = seconds.chars().filter(char::is_ascii_digit).collect();
        let mut tail = self.count().wrapping_mul(STRIDE) % TAILS + self.origin % TAILS;
        let letters: String = (0..5)
            .map(|_| {
                let letter = LETTERS[usize::try_from(tail % 36).expect("36 fits everywhere")];
                tail /= 36;
                char::from(letter)
            })
            .collect();
        format!("cgt-{digits}-{letters}")
    }

    /// A number of 14 digits.
    pub fn number(&self) -> u64 {
        (100_000 + self.origin % 900_000) * 100_000_000 + self.count() % 100_000_000
    }

    fn count(&self) -> u64 {
        self.count.fetch_add(1, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_have_the_forms_of_the_vendors_and_none_comes_twice() {
        let ids = IdGenerator::new();
        let made: HashSet<_> = (0..1000)
            .flat_map(|_| [ids.uuid(), ids.family_a()])
            .collect();
        assert_eq!(made.len(), 2000);
        let uuid =
            regex::Regex::new("^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$");
        let family_a = regex::Regex::new("^cgt-20[0-9]{12}-[a-z0-9]{5}$");
        let (uuid, family_a) = (uuid.unwrap(), family_a.unwrap());
        for id in made {
            assert!(uuid.is_match(&id) || family_a.is_match(&id), "{id}");
        }
    }
}
