-- Charges one use to a limit per second, in a window of 1.25 s; the same as src/state/per_second_limiter.rs does.
--
-- KEYS: the last uses, the newest first. ARGV: how many uses a second allows.
-- Returns: ms to wait; 0 if the use was charged.
local now, most = now_ms(), tonumber(ARGV[1])
local oldest = tonumber(redis.call('LINDEX', KEYS[1], most - 1) or nil)
local window = 1250
-- A use in the future was counted before this server's clock was set back.
if oldest and oldest <= now and now - oldest < window then return window - (now - oldest) end
redis.call('LPUSH', KEYS[1], now)
redis.call('LTRIM', KEYS[1], 0, most - 1)
redis.call('PEXPIRE', KEYS[1], 2 * window)
return 0
