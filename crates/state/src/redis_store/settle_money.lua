-- Corrects what a request has reserved of budgets in money to its cost, once: the reservation is removed with it.
--
-- KEYS: one for each limit; then that of a run, if there is one; then that of the reservation. ARGV: time of admission in ms, cost
-- in billionths; then the kind of each limit, and `run`. A day, a month or a run that is over counts nothing. Returns: 1 if the reservation was settled now.
local taken, cost = tonumber(ARGV[1]), tonumber(ARGV[2])
local reservation = KEYS[#KEYS]
local reserved = redis.call('GET', reservation)
if not reserved then return 0 end
redis.call('DEL', reservation)
for i = 1, #KEYS - 1 do
    local key, measure = KEYS[i], ARGV[2 + i]
    local stored = redis.call('HMGET', key, 'since', 'used')
    if measure == 'run' then
        local start = tonumber(redis.call('HGET', key, 'start') or nil)
        if start and taken >= start then add_to_run(key, 'cost', cost - tonumber(reserved)) end
    elseif tonumber(stored[1]) == period(measure, taken) then
        redis.call('HSET', key, 'used', digits(math.max(0, tonumber(stored[2]) - tonumber(reserved)) + cost))
    end
end
return 1
