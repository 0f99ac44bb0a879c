//! The query of the page of usage: which days, which rows, and what they are put together by.

use crate::day::UsageDay;
use headgate_protocol::percent_encoding::decoded_bytes;

/// Days of a report that names none: so many, today among them.
const DEFAULT_DAYS: u32 = 30;

/// A member by which rows are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum UsageGroup {
    Day,
    Caller,
    Model,
    Channel,
}

/// What a report has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UsageQuery {
    pub from: UsageDay,
    pub to: UsageDay,
    /// In the order of the members of a row.
    pub groups: Vec<UsageGroup>,
    /// Only rows of this caller.
    pub caller: Option<String>,
    /// Only rows of this model.
    pub model: Option<String>,
}

impl UsageGroup {
    pub const ALL: [Self; 4] = [Self::Day, Self::Caller, Self::Model, Self::Channel];

    /// The name in queries and rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Caller => "caller",
            Self::Model => "model",
            Self::Channel => "channel",
        }
    }
}

impl UsageQuery {
    /// Reads a query without its question mark.
    ///
    /// # Errors
    /// What is wrong with a parameter, and what to write.
    pub fn read(query: &str, today: UsageDay) -> Result<Self, String> {
        let mut read = Self {
            from: today.before(DEFAULT_DAYS - 1),
            to: today,
            groups: UsageGroup::ALL.to_vec(),
            caller: None,
            model: None,
        };
        let (mut from, mut to) = (None, None);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value =
                decoded(value).ok_or_else(|| format!("`{name}` is not percent-encoded UTF-8"))?;
            match name {
                "from" => from = Some(read_day(name, &value)?),
                "to" => to = Some(read_day(name, &value)?),
                "by" => read.groups = read_groups(&value)?,
                "caller" => read.caller = Some(value),
                "model" => read.model = Some(value),
                _ => {
                    return Err(format!(
                        "there is no parameter `{name:.64}`; there are `from`, `to`, `by`, `caller` and `model`"
                    ));
                }
            }
        }
        read.to = to.unwrap_or(today.max(from.unwrap_or(today)));
        read.from = from.unwrap_or_else(|| read.to.before(DEFAULT_DAYS - 1));
        match read.from <= read.to {
            true => Ok(read),
            false => Err(format!(
                "`from` ({}) is after `to` ({})",
                read.from, read.to
            )),
        }
    }
}

fn read_day(name: &str, value: &str) -> Result<UsageDay, String> {
    let day = value.parse();
    day.map_err(|_| format!("`{name}` must be a day in UTC, such as 2026-11-28, not `{value:.64}`"))
}

fn read_groups(value: &str) -> Result<Vec<UsageGroup>, String> {
    let mut groups = Vec::new();
    for name in value.split(',').filter(|name| !name.is_empty()) {
        let known = UsageGroup::ALL
            .into_iter()
            .find(|group| group.name() == name);
        let group = known.ok_or_else(|| {
            format!("`by` has `{name:.64}`; rows can be told apart by `day`, `caller`, `model` and `channel`")
        })?;
        groups.push(group);
    }
    groups.sort_unstable();
    groups.dedup();
    Ok(groups)
}

/// A value of a query, without percent signs; `None` if one begins no escape, or the bytes are not UTF-8.
fn decoded(value: &str) -> Option<String> {
    let is_escape = |after: &str| {
        let digits = after.bytes().take(2);
        digits.filter(u8::is_ascii_hexdigit).count() == 2
    };
    let is_encoded = value.split('%').skip(1).all(is_escape);
    let spaced = value.replace('+', " ");
    let bytes = is_encoded.then(|| decoded_bytes(spaced.as_bytes()));
    String::from_utf8(bytes?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<UsageQuery, String> {
        UsageQuery::read(query, "2026-11-28".parse().unwrap())
    }

    #[test]
    fn a_query_names_days_groups_and_rows() {
        for (query, from, to, groups) in [
            ("", "2026-10-30", "2026-11-28", "day,caller,model,channel"),
            (
                "from=2026-11-01",
                "2026-11-01",
                "2026-11-28",
                "day,caller,model,channel",
            ),
            ("to=2026-01-30&by=", "2026-01-01", "2026-01-30", ""),
            (
                "from=2027-01-01&by=model,day,model",
                "2027-01-01",
                "2027-01-01",
                "day,model",
            ),
        ] {
            let read = read(query).expect(query);
            assert_eq!(
                (read.from.to_string(), read.to.to_string()),
                (from.into(), to.into())
            );
            let names: Vec<_> = read.groups.iter().map(|group| group.name()).collect();
            assert_eq!(names.join(","), groups, "{query}");
        }
        let read = read("caller=idp%3aann%20b&model=a%2Fb").unwrap();
        assert_eq!(read.caller.as_deref(), Some("idp:ann b"));
        assert_eq!(read.model.as_deref(), Some("a/b"));
    }

    #[test]
    fn the_error_of_a_wrong_query_names_what_to_write() {
        for (query, expected) in [
            (
                "from=yesterday",
                "`from` must be a day in UTC, such as 2026-11-28, not `yesterday`",
            ),
            ("by=cost", "`by` has `cost`; rows can be told apart by"),
            (
                "since=1",
                "there is no parameter `since`; there are `from`,",
            ),
            (
                "from=2026-11-02&to=2026-11-01",
                "`from` (2026-11-02) is after `to` (2026-11-01)",
            ),
            ("caller=%ff", "`caller` is not percent-encoded UTF-8"),
            ("caller=%4", "`caller` is not percent-encoded UTF-8"),
            ("caller=%+4", "`caller` is not percent-encoded UTF-8"),
            ("caller=a%", "`caller` is not percent-encoded UTF-8"),
        ] {
            let error = read(query).expect_err(query);
            assert!(error.starts_with(expected), "{query}: {error}");
        }
    }
}
