//! The variables of `now`, in UTC.

use std::time::UNIX_EPOCH;

use crate::names::Variable;
use crate::values::ExpressionValueSource;

const SECONDS_OF_DAY: i64 = 86_400;
/// The weekday of 1970-01-01, a Thursday, where Sunday is 0.
const FIRST_WEEKDAY: i64 = 4;

/// The value of a variable of the clock; `None` for other variables.
pub(super) fn value(variable: Variable, values: &dyn ExpressionValueSource) -> Option<i64> {
    let part: fn(i64) -> i64 = match variable {
        Variable::Hour => |seconds| seconds.rem_euclid(SECONDS_OF_DAY) / 3_600,
        Variable::Minute => |seconds| seconds.rem_euclid(3_600) / 60,
        Variable::Weekday => {
            |seconds| (seconds.div_euclid(SECONDS_OF_DAY) + FIRST_WEEKDAY).rem_euclid(7)
        }
        Variable::UnixTime => |seconds| seconds,
        _ => return None,
    };
    Some(part(unix_seconds(values)))
}

fn unix_seconds(values: &dyn ExpressionValueSource) -> i64 {
    let seconds = match values.now().duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_secs()),
        Err(before) => i64::try_from(before.duration().as_secs()).map(|seconds| -seconds),
    };
    seconds.unwrap_or_default()
}
