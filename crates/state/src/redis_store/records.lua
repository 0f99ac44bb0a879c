-- Operations on the records of one kind.
--
-- KEYS: the name that begins the keys of this kind. ARGV: the operation, then its arguments. Each record is a hash
-- `<name>:record:<key>`; `<name>:keys`, `<name>:due` and `<name>:owner:<owner>` are sorted sets of keys. Entries of
-- records that have expired are removed as they are met. Versions are random numbers of the gateways, since a counter
-- would repeat them after a failover or FLUSHDB.
local base, operation = KEYS[1], ARGV[1]
local CLEANED_AT_ONCE = 10
local EXPIRIES_READ = 100
local now = now_ms()

local function owners(owner) return base .. ':owner:' .. owner end

local function unlist(key)
    redis.call('ZREM', base .. ':keys', key)
    redis.call('ZREM', base .. ':due', key)
end

-- The record as a list of texts, or nil: key, version, value, owner, expiry, due time or an empty text.
local function read(key)
    local stored = redis.call('HMGET', base .. ':record:' .. key, 'version', 'value', 'owner', 'expires', 'due')
    if not stored[1] or tonumber(stored[4]) <= now then return nil end
    return { key, stored[1], stored[2], stored[3], stored[4], stored[5] or '' }
end

local function drop(record)
    redis.call('DEL', base .. ':record:' .. record[1])
    redis.call('ZREM', owners(record[4]), record[1])
    unlist(record[1])
end

local function put(version, key, value, owner, expires, due)
    local name = base .. ':record:' .. key
    redis.call('DEL', name)
    redis.call('HSET', name, 'version', version, 'value', value, 'owner', owner, 'expires', expires, 'due', due)
    redis.call('PEXPIREAT', name, expires)
    redis.call('ZADD', owners(owner), expires, key)
    redis.call('ZADD', base .. ':keys', 0, key)
    if due == '' then redis.call('ZREM', base .. ':due', key) else redis.call('ZADD', base .. ':due', due, key) end
    return version
end

-- The live records among `keys`, in one list.
local function collect(keys)
    local found = {}
    for _, key in ipairs(keys) do
        local record = read(key)
        if record then
            for i = 1, 6 do found[#found + 1] = record[i] end
        else
            unlist(key)
        end
    end
    return found
end

-- Pages of live records. `next_page` returns the keys after those that an earlier call found expired.
local function first_page(next_page)
    while true do
        local keys = next_page()
        local found = collect(keys)
        if #found > 0 or #keys == 0 then return found end
    end
end

local operations = {}

function operations.insert(version, key, value, owner, expires, due, owner_max)
    local existing = read(key)
    if existing then return { 'exists', unpack(existing) } end
    local expired = redis.call('ZRANGEBYSCORE', owners(owner), '-inf', now, 'LIMIT', 0, CLEANED_AT_ONCE)
    for _, old in ipairs(expired) do
        redis.call('ZREM', owners(owner), old)
        if not read(old) then unlist(old) end
    end
    if redis.call('ZCOUNT', owners(owner), '(' .. string.format('%.0f', now), '+inf') >= tonumber(owner_max) then
        return { 'owner_full' }
    end
    return { 'inserted', put(version, key, value, owner, expires, due) }
end

function operations.replace(new_version, key, version, value, owner, expires, due)
    local existing = read(key)
    if not existing or existing[2] ~= version then return {} end
    drop(existing)
    return { put(new_version, key, value, owner, expires, due) }
end

function operations.remove(key, version)
    local existing = read(key)
    if not existing or existing[2] ~= version then return {} end
    drop(existing)
    return { version }
end

function operations.get(key)
    return collect({ key })
end

function operations.due(until_ms, limit)
    return first_page(function()
        return redis.call('ZRANGEBYSCORE', base .. ':due', '-inf', until_ms, 'LIMIT', 0, limit)
    end)
end

-- The number of records, and when the first of those expires that are due first.
function operations.count()
    local first = ''
    for _, key in ipairs(redis.call('ZRANGEBYSCORE', base .. ':due', '-inf', '+inf', 'LIMIT', 0, EXPIRIES_READ)) do
        local expires = redis.call('HGET', base .. ':record:' .. key, 'expires')
        if expires and (first == '' or tonumber(expires) < tonumber(first)) then first = expires end
    end
    return { tostring(redis.call('ZCARD', base .. ':keys')), first }
end

function operations.list(after, limit)
    return first_page(function()
        return redis.call('ZRANGEBYLEX', base .. ':keys', '(' .. after, '+', 'LIMIT', 0, limit)
    end)
end

return operations[operation](unpack(ARGV, 2))
