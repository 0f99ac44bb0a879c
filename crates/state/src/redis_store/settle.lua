-- Corrects the charge of a request from its estimate to what it used, and ends its concurrency lease.
--
-- KEYS: one for each limit; then, if tokens are corrected, the one under which the admission is noted; then, if nobody awaited
-- an admission that charges money, that of its reservation, which is taken back. ARGV: name of the lease, time of admission in
-- ms or nothing if nobody awaited the admission and only the note has it, estimate, used; then the kind of each limit. A minute that has forgotten the estimate counts what exceeds it from now on; a day or month
-- that is over counts nothing. What is noted as settled or cancelled is not corrected twice.
local NOTE_MS = 60000
local place, taken, estimate, actual = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local now = now_ms()
local count = #ARGV - 4
local note, reservation = KEYS[count + 1], KEYS[count + 2]

if note then
    local noted = redis.call('GET', note)
    if noted == 'settled' then return 1 end
    -- This settlement may be repeated, and an admission that comes after its cancellation is refused.
    redis.call('SET', note, taken and 'settled' or 'cancelled', 'PX', NOTE_MS)
    taken = taken or tonumber(noted)
end

local function corrected(count)
    return math.max(0, tonumber(count) - estimate) + actual
end

local function correct_minute(key)
    local second = floor(taken / 1000)
    local count = redis.call('HGET', key, second)
    local last = tonumber(redis.call('HGET', key, -second)) or second * 1000 + 999
    if count and last + WINDOW_MS > now then
        redis.call('HSET', key, second, corrected(count))
    elseif actual > estimate then
        local current = floor(now / 1000)
        redis.call('HINCRBY', key, current, actual - estimate)
        redis.call('HSET', key, -current, now)
        redis.call('PEXPIRE', key, WINDOW_MS + 2000)
    end
end

-- Without the time, the day and the month are not known; then the gateway's own clock decides, in another script.
local reserved = taken and reservation and tonumber(redis.call('GET', reservation) or nil)
if reserved then redis.call('DEL', reservation) end
for i = 1, count do
    local key, measure = KEYS[i], ARGV[4 + i]
    if measure == 'concurrent' then
        redis.call('ZREM', key, place)
    elseif not taken or is_money(measure) and not reserved then
        -- The request was never admitted, or its money is settled apart.
    elseif is_money(measure) then
        local stored = redis.call('HMGET', key, 'since', 'used')
        if tonumber(stored[1]) == period(measure, taken) then
            redis.call('HSET', key, 'used', digits(math.max(0, tonumber(stored[2]) - reserved)))
        end
    elseif is_budget(measure) then
        local stored = redis.call('HMGET', key, 'since', 'used')
        if tonumber(stored[1]) == period(measure, taken) then
            redis.call('HSET', key, 'used', corrected(stored[2]))
        end
    elseif measure == 'tokens_per_minute' then
        correct_minute(key)
    end
end
return 1
