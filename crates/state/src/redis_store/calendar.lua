-- What the scripts share. Calendar days and months in UTC, on Redis' clock; the same as in src/state/calendar.rs.
local DAY_MS = 24 * 60 * 60 * 1000
local floor = math.floor
local WINDOW_MS = 60000
-- The first millisecond of the year 10000: the end of a period that does not end.
local FOREVER_MS = 253402300800000

local function days_before(year, month)
    if month <= 2 then year = year - 1 end
    local era = floor(year / 400)
    local year_of_era = year - era * 400
    local shifted = month > 2 and month - 3 or month + 9
    local day_of_year = floor((153 * shifted + 2) / 5)
    return era * 146097 + year_of_era * 365 + floor(year_of_era / 4) - floor(year_of_era / 100)
        + day_of_year - 719468
end

local function month_of(day)
    local shifted = day + 719468
    local era = floor(shifted / 146097)
    local day_of_era = shifted - era * 146097
    local year_of_era = floor((day_of_era - floor(day_of_era / 1460) + floor(day_of_era / 36524)
        - floor(day_of_era / 146096)) / 365)
    local day_of_year = day_of_era
        - (365 * year_of_era + floor(year_of_era / 4) - floor(year_of_era / 100))
    local month = floor((5 * day_of_year + 2) / 153)
    month = month < 10 and month + 3 or month - 9
    local year = year_of_era + era * 400
    return month <= 2 and year + 1 or year, month
end

-- The first millisecond of the day or month that contains `now`, and of the next one.
local function period(measure, now)
    local day = floor(now / DAY_MS)
    if measure == 'tokens_per_day' or measure == 'cost_per_day' then return day * DAY_MS, (day + 1) * DAY_MS end
    if measure == 'cost_total' then return 0, FOREVER_MS end
    local year, month = month_of(day)
    local next_year, next_month = year, month + 1
    if month == 12 then next_year, next_month = year + 1, 1 end
    return days_before(year, month) * DAY_MS, days_before(next_year, next_month) * DAY_MS
end

local function now_ms()
    local time = redis.call('TIME')
    return time[1] * 1000 + floor(time[2] / 1000)
end

local function is_budget(measure)
    return measure == 'tokens_per_day' or measure == 'tokens_per_month'
end

local function is_money(measure)
    return measure == 'cost_per_day' or measure == 'cost_per_month' or measure == 'cost_total'
end

-- A whole number as text: Lua itself would write 1e+15.
local function digits(number) return string.format('%.0f', number) end
