-- Renews leases that are in use, and restores them if Redis has lost them.
--
-- KEYS: the limit's. ARGV: lifetime of a lease in ms; then the names of the leases.
local lease = tonumber(ARGV[1])
local ends = now_ms() + lease
for i = 2, #ARGV do
    redis.call('ZADD', KEYS[1], ends, ARGV[i])
end
redis.call('PEXPIRE', KEYS[1], 2 * lease)
return 1
