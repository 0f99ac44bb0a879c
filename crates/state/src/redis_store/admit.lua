-- Charges a request to all of its limits, or to none; the same as src/state/limit_counters.rs does.
--
-- KEYS: one for each limit; then, if tokens, money, a lease or a run are charged, one under which the admission is noted, in
-- case that nobody awaits it; then, if money is charged, one that has what is reserved of it until that is settled; then, for
-- a call of a run, those of the run, of its caller's runs and of all callers with runs. ARGV: name of the lease, its lifetime
-- in ms, tokens, money in billionths, number of limits; then kind and maximum of each limit; then, for a call of a run, what
-- run.lua reads.
-- Returns: 1 if granted, 0 if a limit refuses, 2 if the run does; the limit or the cap that refuses, from 1; ms to wait; the
-- time in ms; then remaining and ms to the reset of each limit, or the maximum, what is used, and what is needed of the cap.
local PLACE_RETRY_MS, NOTE_MS, RESERVED_MS = 1000, 60000, 40 * DAY_MS
local now = now_ms()
local second = floor(now / 1000)
local place, lease, tokens, cost = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local count = tonumber(ARGV[5])
local run = run_of(KEYS, ARGV, 5 + 2 * count)
local others = #KEYS - (run and 3 or 0)
local note = count + 1 <= others and KEYS[count + 1]
local reservation = count + 2 <= others and KEYS[count + 2]

local function until_forgotten(last)
    return math.min(WINDOW_MS, last + WINDOW_MS - now)
end

-- The buckets of the last minute, the oldest first, and their sum. The field `-second` has the time of the last count
-- in that second; older versions of the gateway take such a field for a second long ago and remove it.
local function minute_of(key)
    local seconds, lasts, old, sum = {}, {}, {}, 0
    local fields = redis.call('HGETALL', key)
    for i = 1, #fields, 2 do
        local at = tonumber(fields[i])
        if at < 0 then lasts[-at] = tonumber(fields[i + 1]) end
    end
    for i = 1, #fields, 2 do
        local at, count = tonumber(fields[i]), tonumber(fields[i + 1])
        local last = lasts[at] or at * 1000 + 999
        if at < 0 then
            if -at + 61 < second or -at > second then old[#old + 1] = fields[i] end
        elseif last + WINDOW_MS <= now or at > second then
            -- A second in the future was counted before this server's clock was set back.
            old[#old + 1] = fields[i]
        else
            seconds[#seconds + 1] = { at = at, count = count, last = last }
            sum = sum + count
        end
    end
    if #old > 0 then redis.call('HDEL', key, unpack(old)) end
    table.sort(seconds, function(a, b) return a.at < b.at end)
    return seconds, sum
end

local function wait_in_minute(seconds, sum, room, most)
    -- A request that alone exceeds the limit is admitted when the window is empty: its estimate may be wrong.
    room = math.min(room, most)
    if sum + room <= most then return 0 end
    for _, entry in ipairs(seconds) do
        sum = sum - entry.count
        if sum + room <= most then return until_forgotten(entry.last) end
    end
    return WINDOW_MS
end

local function look(key, measure, most)
    local limit = { key = key, measure = measure, most = most }
    if measure == 'concurrent' then
        redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
        limit.used, limit.room, limit.reset = redis.call('ZCARD', key), 1, 0
        limit.wait = limit.used < most and 0 or PLACE_RETRY_MS
    elseif is_money(measure) then
        local first, following = period(measure, now)
        local stored = redis.call('HMGET', key, 'since', 'used')
        limit.since, limit.following = first, following
        limit.used = tonumber(stored[1]) == first and tonumber(stored[2]) or 0
        limit.room, limit.reset = cost, following - now
        limit.wait = (cost == 0 or limit.used + cost <= most) and 0 or following - now
    elseif is_budget(measure) then
        local first, following = period(measure, now)
        local stored = redis.call('HMGET', key, 'since', 'used')
        limit.since, limit.following = first, following
        limit.used = tonumber(stored[1]) == first and tonumber(stored[2]) or 0
        limit.room, limit.reset = tokens, following - now
        limit.wait = limit.used < most and 0 or following - now
    else
        local seconds, sum = minute_of(key)
        limit.used, limit.room = sum, measure == 'tokens_per_minute' and tokens or 1
        limit.reset = #seconds > 0 and until_forgotten(seconds[#seconds].last) or 0
        limit.wait = wait_in_minute(seconds, sum, limit.room, most)
    end
    return limit
end

local function take(limit)
    if limit.measure == 'concurrent' then
        redis.call('ZADD', limit.key, now + lease, place)
        redis.call('PEXPIRE', limit.key, 2 * lease)
    elseif is_money(limit.measure) then
        if cost == 0 then return end
        redis.call('HSET', limit.key, 'since', digits(limit.since), 'used', digits(limit.used + cost))
        if limit.following < FOREVER_MS then redis.call('PEXPIREAT', limit.key, digits(limit.following + DAY_MS)) end
    elseif is_budget(limit.measure) then
        redis.call('HSET', limit.key, 'since', limit.since, 'used', limit.used + limit.room)
        redis.call('PEXPIREAT', limit.key, limit.following + DAY_MS)
    else
        redis.call('HINCRBY', limit.key, second, limit.room)
        redis.call('HSET', limit.key, -second, now)
        redis.call('PEXPIRE', limit.key, 62000)
        limit.reset = until_forgotten(now)
    end
    limit.used = limit.used + limit.room
end

local limits, in_the_way, longest = {}, 0, 0
for i = 1, count do
    limits[i] = look(KEYS[i], ARGV[4 + 2 * i], tonumber(ARGV[5 + 2 * i]))
    if limits[i].wait > longest then
        in_the_way, longest = i, limits[i].wait
    end
end
if in_the_way == 0 and run then
    local refusal = refuse_run(run, now)
    if refusal then return refusal end
end
-- A note that exists is that of a cancellation which overtook this admission.
if in_the_way == 0 and note and not redis.call('SET', note, now, 'NX', 'PX', NOTE_MS) then
    in_the_way = 1
end
if in_the_way == 0 and run then charge_run(run, place) end
if in_the_way == 0 and reservation then redis.call('SET', reservation, ARGV[4], 'PX', RESERVED_MS) end
local answer = { in_the_way == 0 and 1 or 0, in_the_way, longest, now }
for _, limit in ipairs(limits) do
    if in_the_way == 0 then take(limit) end
    answer[#answer + 1] = math.max(0, limit.most - limit.used)
    answer[#answer + 1] = limit.reset
end
return answer
