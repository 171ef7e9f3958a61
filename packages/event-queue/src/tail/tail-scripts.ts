/**
 * Opens a stream, or renews its lease, and keeps the tail of its workspace for another hour. A workspace without a tail gets one with a new
 * epoch: the time of Redis, but later than the epoch of the former tail. The id of a tail's entry is `<epoch>-<number of its last event>`;
 * the first event has number 1.
 *
 * - KEYS: 1 the list of tails, 2 the tail, 3 the open streams of the workspace
 * - ARGV: 1 number of the workspace, 2 a new version of the list, 3 and 4 how long the tail is kept and the lease lasts in milliseconds,
 *   5 id of the stream, 6 common prefix of the ids of the API key's streams, 7 and 8 how many streams the key and the workspace may have;
 *   0 in 8 means that the lease is renewed
 *
 * Returns the id of the last entry, or the limit that is reached: `key` or `workspace`.
 */
export const OPEN_STREAM = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ms = function(value) return string.format('%.0f', value) end
local workspace, keptMs, leaseMs, stream, ofKey = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], ARGV[6]
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', ms(now))
if tonumber(ARGV[8]) > 0 then
  local open, count = redis.call('ZRANGE', KEYS[3], 0, -1), 0
  for _, other in ipairs(open) do
    if string.sub(other, 1, #ofKey) == ofKey then count = count + 1 end
  end
  if count >= tonumber(ARGV[7]) then return 'key' end
  if #open >= tonumber(ARGV[8]) then return 'workspace' end
end
redis.call('ZADD', KEYS[3], ms(now + leaseMs), stream)
redis.call('PEXPIRE', KEYS[3], leaseMs)
local isChanged = false
local tails = redis.call('HGETALL', KEYS[1])
for i = 1, #tails, 2 do
  if tails[i] ~= 'version' and tonumber(tails[i + 1]) <= now then
    redis.call('HDEL', KEYS[1], tails[i])
    isChanged = true
  end
end
if redis.call('HEXISTS', KEYS[1], workspace) == 0 or redis.call('EXISTS', KEYS[2]) == 0 then
  local last = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1]
  local epoch = math.max(now, last and tonumber(string.match(last[1], '%d+')) + 1 or 0)
  redis.call('DEL', KEYS[2])
  redis.call('XADD', KEYS[2], ms(epoch) .. '-0', 'begins', '')
  isChanged = true
end
redis.call('HSET', KEYS[1], workspace, ms(now + keptMs))
if isChanged then redis.call('HSET', KEYS[1], 'version', ARGV[2]) end
redis.call('PEXPIRE', KEYS[1], keptMs)
redis.call('PEXPIRE', KEYS[2], keptMs)
return redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1][1]
`;
