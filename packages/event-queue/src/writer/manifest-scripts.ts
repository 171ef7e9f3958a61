/**
 * Enters a group into the manifest, unless one of its jobs is in a group already: looking up and writing are one step, so two
 * writers that both hold a job cannot both insert it. KEYS: the group, the count of inserts, then each job's entry. ARGV: the
 * group's id, milliseconds, its kind, version, time, job ids and left-out rows.
 * Answers the group of each job, or an empty list when the group was entered (or had been, by the same call).
 */
export const BEGIN_GROUP = `
local known, isKnown = {}, false
for i = 3, #KEYS do
  local group = redis.call('GET', KEYS[i])
  known[i - 2] = group or ''
  if group and group ~= ARGV[1] then isKnown = true end
end
if isKnown then return known end
for i = 3, #KEYS do redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2]) end
local inserts = redis.call('INCR', KEYS[2])
redis.call('HSET', KEYS[1], 'state', 'open', 'kind', ARGV[3], 'v', ARGV[4], 'at', ARGV[5], 'jobs', ARGV[6], 'skip', ARGV[7],
  'inserts', inserts)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {}
`;

/**
 * Notes that ClickHouse has a group. Its entries stay for a while, for jobs that come again. KEYS: the group, then each job's
 * entry, then the jobs that follow it. ARGV: milliseconds, and how many follow: without one of those nothing is noted, so that
 * a repeat makes them.
 */
export const ACKNOWLEDGE_GROUP = `
local following = tonumber(ARGV[2])
for i = #KEYS - following + 1, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 0 then return redis.error_reply('JOBMISSING a job that follows was not added') end
end
if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('HSET', KEYS[1], 'state', 'acknowledged') end
for i = 1, #KEYS - following do redis.call('PEXPIRE', KEYS[i], ARGV[1]) end
return 0
`;
