-- Takes one of the uses that a second may hold, with a quarter of one to spare; as src/state/paces.rs does.
--
-- KEYS: the last uses, the newest first. ARGV: how many a second may hold.
-- Gives: ms to wait; 0 if a use was taken.
local now, most = now_ms(), tonumber(ARGV[1])
local oldest = tonumber(redis.call('LINDEX', KEYS[1], most - 1) or nil)
local window = 1250
-- A use that is still to come was counted before this server's clock was set back.
if oldest and oldest <= now and now - oldest < window then return window - (now - oldest) end
redis.call('LPUSH', KEYS[1], now)
redis.call('LTRIM', KEYS[1], 0, most - 1)
redis.call('PEXPIRE', KEYS[1], 2 * window)
return 0
