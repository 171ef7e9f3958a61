/**
 * Adds an insert batch to the manifest, unless one of its jobs belongs to another batch already. The check and the write are
 * atomic, so that two writers which both hold a job cannot both insert it. KEYS: the batch, the number of inserts, then each
 * job's entry. ARGV: the batch's id, TTL in milliseconds, kind, version, time, job ids and skipped rows.
 * Returns the batch of each job (empty: none), or an empty list if the batch was added, by this call or by the same one before.
 */
export const BEGIN_BATCH = `
local batches, isKnown = {}, false
for i = 3, #KEYS do
  local batch = redis.call('GET', KEYS[i])
  batches[i - 2] = batch or ''
  if batch and batch ~= ARGV[1] then isKnown = true end
end
if isKnown then return batches end
for i = 3, #KEYS do redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2]) end
local inserts = redis.call('INCR', KEYS[2])
redis.call('HSET', KEYS[1], 'state', 'open', 'kind', ARGV[3], 'v', ARGV[4], 'at', ARGV[5], 'jobs', ARGV[6], 'skip', ARGV[7],
  'inserts', inserts)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {}
`;

/**
 * Marks an insert batch as acknowledged: ClickHouse has its rows. The entries expire after a TTL, for jobs that arrive again.
 * KEYS: the batch, then each job's entry, then the webhook jobs added for the batch. ARGV: TTL in milliseconds, number of webhook
 * jobs. If a webhook job is missing, the batch is not acknowledged, so that a retry adds it.
 */
export const ACKNOWLEDGE_BATCH = `
local webhookJobs = tonumber(ARGV[2])
for i = #KEYS - webhookJobs + 1, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 0 then return redis.error_reply('JOBMISSING a webhook job was not added') end
end
if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('HSET', KEYS[1], 'state', 'acknowledged') end
for i = 1, #KEYS - webhookJobs do redis.call('PEXPIRE', KEYS[i], ARGV[1]) end
return 0
`;
