-- Corrects the charge of a request from its estimate to what it used, and ends its concurrency lease.
--
-- KEYS: one for each limit. ARGV: name of the lease, time of admission in ms, estimate, used; then the kind of each
-- limit. A count that has expired meanwhile is not restored.
local place, taken, estimate, actual = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

local function corrected(count)
    return math.max(0, tonumber(count) - estimate) + actual
end

for i, key in ipairs(KEYS) do
    local measure = ARGV[4 + i]
    if measure == 'concurrent' then
        redis.call('ZREM', key, place)
    elseif is_budget(measure) then
        local stored = redis.call('HMGET', key, 'since', 'used')
        if tonumber(stored[1]) == period(measure, taken) then
            redis.call('HSET', key, 'used', corrected(stored[2]))
        end
    elseif measure == 'tokens_per_minute' then
        local second = floor(taken / 1000)
        local count = redis.call('HGET', key, second)
        if count then redis.call('HSET', key, second, corrected(count)) end
    end
end
return 1
