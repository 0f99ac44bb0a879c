-- Corrects what a request has taken to what it has used, and frees its place.
--
-- KEYS: one for each limit. ARGV: place, ms at which it was taken, estimate, used; then the measure of
-- each limit. What was forgotten meanwhile stays forgotten.
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
