-- Runs of agents; the same as in src/state/run_usage.rs and local_runs.rs.
--
-- A run is a hash: `start`, `used` and `ends` are times in ms, `idle` is a time, `calls`, `tokens`, `cost` and `repeats` are what
-- is charged, `same` identifies the last request, `most:CAP` is what requests have set, `open:LEASE` has the tokens that are
-- reserved for a call which has not ended.
-- The longest idle time that a configuration may have.
local IDLE_MAX_MS = 30 * DAY_MS
local RUN_CAPS = { 'calls', 'time', 'repeats', 'tokens', 'cost' }

-- What an admission asks of its run, if it is a call of one. The last three keys: the run, its caller's runs by the time when
-- they are forgotten, and the callers with runs by their last use. Arguments from `first` on: the names of the run and its caller, calls,
-- fingerprint or nothing, tokens, money in billionths or nothing if that has no limit, idle time in ms, the number of live
-- runs; then for each cap its maximum and that of the request, or nothing.
local function run_of(keys, args, first)
    if #args <= first then return nil end
    local run = {
        key = keys[#keys - 2], live_key = keys[#keys - 1], index = keys[#keys],
        name = args[first + 1], caller = args[first + 2], calls = tonumber(args[first + 3]), same = args[first + 4],
        tokens = tonumber(args[first + 5]), cost = tonumber(args[first + 6]), idle = tonumber(args[first + 7]),
        live = tonumber(args[first + 8]), caps = {},
    }
    for i, cap in ipairs(RUN_CAPS) do
        run.caps[cap] = { most = tonumber(args[first + 7 + 2 * i]), own = tonumber(args[first + 8 + 2 * i]) }
    end
    return run
end

local function touch_run(run, now)
    local ends = now + run.idle
    redis.call('HSET', run.key, 'used', now, 'ends', ends, 'idle', run.idle)
    redis.call('PEXPIREAT', run.key, ends)
    redis.call('ZADD', run.live_key, ends, run.name)
    redis.call('PEXPIRE', run.live_key, IDLE_MAX_MS)
    redis.call('ZADD', run.index, now, run.caller)
    redis.call('PEXPIRE', run.index, IDLE_MAX_MS)
end

-- The lower one of two maxima, of which one may be none.
local function lower(one, other)
    if one and other then return math.min(one, other) end
    return one or other
end

local function needed(run, cap, now)
    if cap == 'calls' then return run.stored.calls, run.calls end
    if cap == 'time' then return now - run.stored.start, run.calls end
    if cap == 'tokens' then return run.stored.tokens, run.tokens end
    if cap == 'cost' then return run.stored.cost, run.cost or math.huge end
    if run.same == '' then return 0, 0 end
    return run.stored.same == run.same and run.stored.repeats or 0, 1
end

-- The reply of an admission that the run refuses; nothing if it does not. The run exists then, and is in use.
local function refuse_run(run, now)
    local names = { 'start', 'calls', 'tokens', 'cost', 'repeats', 'same' }
    local stored = redis.call('HMGET', run.key, unpack(names))
    if not stored[1] then
        redis.call('ZREMRANGEBYSCORE', run.live_key, '-inf', now)
        if redis.call('ZCARD', run.live_key) >= run.live then
            local first = redis.call('ZRANGEBYSCORE', run.live_key, '-inf', '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
            return { 2, 0, (tonumber(first[2]) or now) - now, now, run.live, 0, 0 }
        end
        redis.call('DEL', run.key .. ':calls')
        redis.call('HSET', run.key, 'start', now)
        stored = { now }
    end
    run.stored = { same = stored[6] }
    for i = 1, 5 do run.stored[names[i]] = tonumber(stored[i]) or 0 end
    touch_run(run, now)
    for i, cap in ipairs(RUN_CAPS) do
        local caps = run.caps[cap]
        local own = lower(tonumber(redis.call('HGET', run.key, 'most:' .. cap) or nil), caps.own)
        if caps.own then redis.call('HSET', run.key, 'most:' .. cap, digits(own)) end
        local most = lower(caps.most, own)
        local used, need = needed(run, cap, now)
        -- All maxima are noted, also those after the one that refuses.
        if most and need > 0 and used + need > most and not run.refusal then
            run.refusal = { 2, i, 0, now, most, used, need == math.huge and -1 or need }
        end
    end
    return run.refusal
end

local function charge_run(run, lease)
    if run.same ~= '' then
        local is_same = run.stored.same == run.same
        redis.call('HSET', run.key, 'same', run.same, 'repeats', (is_same and run.stored.repeats or 0) + 1)
    end
    redis.call('HINCRBY', run.key, 'tokens', digits(run.tokens))
    if run.cost then redis.call('HINCRBY', run.key, 'cost', digits(run.cost)) end
    if run.calls > 0 then
        redis.call('HINCRBY', run.key, 'calls', run.calls)
        redis.call('HSET', run.key, 'open:' .. lease, digits(run.tokens))
    end
end

-- Adds to a number of a run, which never falls below zero.
local function add_to_run(key, field, change)
    if redis.call('HINCRBY', key, field, digits(change)) < 0 then redis.call('HSET', key, field, 0) end
end
