/**
 * Adds an insert batch to the manifest, unless one of its jobs belongs to another batch already. The check and the write are
 * atomic, so that two writers which both hold a job cannot both insert it. KEYS: the batch, the number of inserts, then the
 * key of each job. ARGV: the batch's id, TTL in milliseconds, kind, version, time, job ids, skipped rows and inserts of other queue shards.
 * Returns the batch of each job (empty: none); or an empty list if the batch was added, by this call or by an earlier one with the same id.
 */
export const BEGIN_BATCH = `
local batches, isTaken = {}, false
for i = 3, #KEYS do
  local batch = redis.call('GET', KEYS[i])
  batches[i - 2] = batch or ''
  if batch and batch ~= ARGV[1] then isTaken = true end
end
if isTaken then return batches end
for i = 3, #KEYS do redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2]) end
local inserts = redis.call('INCR', KEYS[2])
redis.call('HSET', KEYS[1], 'state', 'open', 'kind', ARGV[3], 'v', ARGV[4], 'at', ARGV[5], 'jobs', ARGV[6], 'skip', ARGV[7],
  'inserts', inserts, 'elsewhere', ARGV[8])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {}
`;

/**
 * Marks an insert batch as acknowledged: ClickHouse has its rows. The keys of its jobs expire after a TTL, for jobs that arrive again.
 * The ids of its events are appended to the tails of their workspaces, once, however often the script runs. KEYS: the batch, the list of
 * tails, then the key of each job, the webhook jobs added for the batch, and the tail of each tail entry (one tail may occur several
 * times). ARGV: TTL in milliseconds, number of webhook jobs, number of tail entries, version of the list of tails by which they were
 * chosen, kind, maximum number of ids of a tail, then for each tail entry the number of its ids and the ids. If a webhook job is missing,
 * the batch is not acknowledged, so that a retry adds it.
 * Returns an empty list; or, if the list of tails has another version, `stale` and the fields of the list: then the script has done nothing.
 */
export const ACKNOWLEDGE_BATCH = `
local webhookJobs, tailEntries = tonumber(ARGV[2]), tonumber(ARGV[3])
if (redis.call('HGET', KEYS[2], 'version') or '') ~= ARGV[4] then
  local stale = redis.call('HGETALL', KEYS[2])
  table.insert(stale, 1, 'stale')
  return stale
end
local firstTail = #KEYS - tailEntries + 1
for i = firstTail - webhookJobs, firstTail - 1 do
  if redis.call('EXISTS', KEYS[i]) == 0 then return redis.error_reply('JOBMISSING a webhook job was not added') end
end
local state = redis.call('HGET', KEYS[1], 'state')
if state and state ~= 'acknowledged' then
  for i = 0, tailEntries - 1 do
    local tail = KEYS[firstTail + i]
    local last = redis.call('XREVRANGE', tail, '+', '-', 'COUNT', 1)[1]
    if last then
      local epoch, number = string.match(last[1], '(%d+)-(%d+)')
      number = tonumber(number) + tonumber(ARGV[7 + 2 * i])
      redis.call('XADD', tail, string.format('%s-%.0f', epoch, number), 'kind', ARGV[5], 'ids', ARGV[8 + 2 * i])
      local oldest = number - tonumber(ARGV[6]) + 1
      if oldest > 0 then redis.call('XTRIM', tail, 'MINID', string.format('%s-%.0f', epoch, oldest)) end
    end
  end
  redis.call('HSET', KEYS[1], 'state', 'acknowledged')
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
for i = 3, firstTail - webhookJobs - 1 do redis.call('PEXPIRE', KEYS[i], ARGV[1]) end
return {}
`;
