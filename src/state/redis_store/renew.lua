-- Keeps places that are still in use, also where Redis has lost them.
--
-- KEYS: the limit's. ARGV: lease in ms; then the places.
local lease = tonumber(ARGV[1])
local ends = now_ms() + lease
for i = 2, #ARGV do
    redis.call('ZADD', KEYS[1], ends, ARGV[i])
end
redis.call('PEXPIRE', KEYS[1], 2 * lease)
return 1
