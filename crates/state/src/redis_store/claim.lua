-- Gives an id of a channel to the caller that claims it first, and refreshes what that caller has.
--
-- KEYS: the owner's. ARGV: the caller; the lifetime in ms.
-- Returns: 1 if the id is the caller's; 0 if it is another caller's.
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
