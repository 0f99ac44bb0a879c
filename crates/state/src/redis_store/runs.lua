-- Lists runs: of one name with their calls, or the last used ones of all callers without theirs.
--
-- KEYS: the callers with runs, by their last use. ARGV: the beginning and the end of the key of a caller's runs, around its
-- escaped name; the name of a run or nothing; how many; how many calls. Only the callers are looked at that were in use last.
-- Returns: for each run its caller, its name, its fields, and its calls.
local CALLERS_MAX = 1000
local now = now_ms()
local name, most, calls_max = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])

local function escaped(caller)
    return (caller:gsub('[{}%%]', function(character) return string.format('%%%02x', character:byte()) end))
end

-- The last elements of a sorted set, the last first.
local function last_of(key, count)
    local first = math.max(0, redis.call('ZCARD', key) - count)
    local found = redis.call('ZRANGEBYSCORE', key, '-inf', '+inf', 'LIMIT', first, count)
    local reversed = {}
    for i = #found, 1, -1 do reversed[#reversed + 1] = found[i] end
    return reversed
end

local function calls_of(key)
    local calls = {}
    for i = 0, calls_max - 1 do
        local call = redis.call('LINDEX', key .. ':calls', i)
        if not call then break end
        calls[#calls + 1] = call
    end
    return calls
end

local found = {}
for _, caller in ipairs(last_of(KEYS[1], CALLERS_MAX)) do
    local live = ARGV[1] .. escaped(caller) .. ARGV[2]
    redis.call('ZREMRANGEBYSCORE', live, '-inf', now)
    if redis.call('ZCARD', live) == 0 then redis.call('ZREM', KEYS[1], caller) end
    for _, run in ipairs(name ~= '' and { name } or last_of(live, most)) do
        local key = live .. ':' .. run
        local used = tonumber(redis.call('HGET', key, 'used') or nil)
        if used then found[#found + 1] = { caller = caller, name = run, key = key, used = used } end
    end
end
table.sort(found, function(a, b) return a.used > b.used end)
local reply = {}
for i = 1, math.min(most, #found) do
    local run = found[i]
    reply[i] = { run.caller, run.name, redis.call('HGETALL', run.key), name ~= '' and calls_of(run.key) or {} }
end
return reply
