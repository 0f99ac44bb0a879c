//! The civil calendar, UTC, and dates as the protocols write them.

/// Seconds since 1970 as a date and time in UTC, by RFC 3339.
pub fn rfc3339(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}Z",
        second % 60
    )
}

/// Year, month and day of the month of a day counted from 1970-01-01.
pub fn civil(days: u64) -> (u64, u64, u64) {
    // Counted from 1 March of year 0, so that a leap day ends its year; 400 years are 146,097 days.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let months_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * months_from_march + 2) / 5 + 1;
    let month = (months_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

/// Days from 1970-01-01 to a date, below zero for earlier ones.
pub fn days_before(year: i64, month: i64, day: i64) -> i64 {
    // Counted from 1 March, so that a leap day ends its year; 719,468 days lie between 0000-03-01 and 1970.
    let (year, month) = match month > 2 {
        true => (year, month - 3),
        false => (year - 1, month + 9),
    };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let table = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ];
        for (seconds, date) in table {
            assert_eq!(rfc3339(seconds), date);
            let (year, month, day) = civil(seconds / 86_400);
            let days = days_before(year as i64, month as i64, day as i64);
            assert_eq!(days, (seconds / 86_400) as i64, "{date}");
        }
    }
}
