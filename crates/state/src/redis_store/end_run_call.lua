-- Ends a call of a run: corrects its tokens, and adds it to the calls of the run. A call that has ended before is not corrected
-- again, nor one of an earlier run of this name.
--
-- KEYS: the run's, its caller's runs, all callers with runs. ARGV: name of the lease, or nothing for a call that was refused;
-- tokens used, or nothing for a call that is taken back; the call as JSON, or the money that it has reserved; how many calls are kept; names of the run and its
-- caller.
-- Returns: 1 if something changed.
local key, lease, used = KEYS[1], ARGV[1], tonumber(ARGV[2])
local now = now_ms()
local idle = tonumber(redis.call('HGET', key, 'idle') or nil)
if not idle then return 0 end
if lease ~= '' then
    local reserved = redis.call('HGET', key, 'open:' .. lease)
    if not reserved then return 0 end
    redis.call('HDEL', key, 'open:' .. lease)
    add_to_run(key, 'tokens', (used or 0) - tonumber(reserved))
    if not used then
        add_to_run(key, 'calls', -1)
        add_to_run(key, 'cost', -tonumber(ARGV[3]))
        return 1
    end
    touch_run({ key = key, live_key = KEYS[2], index = KEYS[3], idle = idle, name = ARGV[5], caller = ARGV[6] }, now)
end
local calls = key .. ':calls'
redis.call('LPUSH', calls, ARGV[3])
redis.call('LTRIM', calls, 0, tonumber(ARGV[4]) - 1)
redis.call('PEXPIRE', calls, idle + 60000)
return 1
