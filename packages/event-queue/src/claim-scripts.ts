/**
 * Takes claims in one call. KEYS: the claims. ARGV: milliseconds pending, then the pending value of each. Answers, for each,
 * an empty text (taken now, or by this very owner before) or the value that holds it. Also for Redis below 7, which has no
 * `SET … NX GET`.
 */
export const TAKE_CLAIMS = `
local answers = {}
for i = 1, #KEYS do
  local mine = ARGV[i + 1]
  if redis.call('SET', KEYS[i], mine, 'NX', 'PX', ARGV[1]) then
    answers[i] = ''
  else
    local held = redis.call('GET', KEYS[i])
    if held == mine then answers[i] = '' else answers[i] = held end
  end
end
return answers
`;

/** Deletes claims that are still pending for their owner. KEYS: the claims. ARGV[1]: the owner's pending value. */
export const RELEASE_CLAIMS = `
for i = 1, #KEYS do
  if redis.call('GET', KEYS[i]) == ARGV[1] then redis.call('DEL', KEYS[i]) end
end
return 0
`;

/**
 * Takes the hourly claims of clicks in one call. A click's claim is written once: `<group>.<bit>:<click id>`, and counts as
 * final when that bit of the group's marker is set, which the transaction that adds the job does for the whole batch. A claim
 * whose bit stays unset was left by a batch that never came through; after a while it is as good as free.
 *
 * KEYS[1]: what every marker's key starts with; then the claims. ARGV: milliseconds a claim lasts, milliseconds it may be
 * pending, then for each claim the value to set, with `!` before it to take the claim over from whoever holds it.
 * Answers, for each, an empty text (taken), `f:<click id>` (counted already) or `p:<click id>` (pending).
 */
export const TAKE_CLICKS = `
local lasts, pendingMs = tonumber(ARGV[1]), tonumber(ARGV[2])
local answers = {}
for i = 2, #KEYS do
  local key, mine = KEYS[i], ARGV[i + 1]
  local answer = ''
  if string.sub(mine, 1, 1) == '!' then
    redis.call('SET', key, string.sub(mine, 2), 'PX', lasts)
  elseif not redis.call('SET', key, mine, 'NX', 'PX', lasts) then
    local held = redis.call('GET', key)
    if held ~= mine then
      local group, bit, id = string.match(held, '^(.-)%.(%w+):(.*)$')
      if redis.call('GETBIT', KEYS[1] .. group, tonumber(bit, 36)) == 1 then
        answer = 'f:' .. id
      elseif redis.call('PTTL', key) > lasts - pendingMs then
        answer = 'p:' .. id
      else
        redis.call('SET', key, mine, 'PX', lasts)
      end
    end
  end
  answers[i - 1] = answer
end
return answers
`;

/** How claims of clicks stand, without taking them. KEYS as for taking. Answers as for taking, empty when nobody holds it. */
export const READ_CLICKS = `
local answers = {}
for i = 2, #KEYS do
  local held = redis.call('GET', KEYS[i])
  local answer = ''
  if held then
    local group, bit, id = string.match(held, '^(.-)%.(%w+):(.*)$')
    local isRecorded = redis.call('GETBIT', KEYS[1] .. group, tonumber(bit, 36)) == 1
    answer = (isRecorded and 'f:' or 'p:') .. id
  end
  answers[i - 1] = answer
end
return answers
`;

/**
 * Sets the claims of spooled clicks, unless other clicks have them by now, and the bits that make them final.
 * ARGV: number of claims, number of markers, milliseconds a marker lasts; per claim its value and the milliseconds left of its
 * hour; per marker its bit. KEYS: claims, then markers.
 */
export const SPOOLED_CLICKS = `
local claims, markers = tonumber(ARGV[1]), tonumber(ARGV[2])
for i = 1, claims do redis.call('SET', KEYS[i], ARGV[2 + i * 2], 'NX', 'PX', ARGV[3 + i * 2]) end
for i = 1, markers do
  redis.call('SETBIT', KEYS[claims + i], ARGV[3 + claims * 2 + i], 1)
  redis.call('PEXPIRE', KEYS[claims + i], ARGV[3])
end
return 0
`;

/**
 * Runs last in the transaction that adds a batch's jobs and makes their claims final. Nothing is final unless every job of
 * the batch exists, so a claim can never say done for an event that is not in the queue.
 *
 * An entry (one `commit`) counts when each of its claims is still pending for its owner, or already has this entry's own
 * final value, which is a repeat of a transaction whose answer was lost. Otherwise the entry came too late: its claims may
 * belong to someone else by then, so none of them is set and its rows are struck out of their jobs, in the same transaction,
 * by the job's `progress`, which the writer obeys.
 *
 * KEYS: jobs, the marker of the batch's clicks if it has any, then each entry's claims and state keys.
 * ARGV: number of jobs, bit of the marker or -1, milliseconds the marker lasts, number of entries; per entry: 1 if its caller
 * was already told that it failed, number of claims, per claim pending value, final value, milliseconds; number of state keys,
 * per key value, milliseconds; number of rows, per row its job's number and its place in it.
 * Answers the numbers of the entries that came too late.
 */
export const FINALIZE = `
local jobCount = tonumber(ARGV[1])
for i = 1, jobCount do
  if redis.call('EXISTS', KEYS[i]) == 0 then return redis.error_reply('JOBMISSING a job of the batch was not added') end
end
local key, arg = jobCount, 4
if ARGV[2] ~= '-1' then
  key = key + 1
  redis.call('SETBIT', KEYS[key], ARGV[2], 1)
  redis.call('PEXPIRE', KEYS[key], ARGV[3])
end
local late, struck = {}, {}
for entry = 1, tonumber(ARGV[arg]) do
  local abandoned = ARGV[arg + 1] == '1'
  local claimCount = tonumber(ARGV[arg + 2])
  arg = arg + 2
  local firstKey, firstArg = key, arg
  local counts = not (abandoned and claimCount == 0)
  for _ = 1, claimCount do
    key = key + 1
    local held = redis.call('GET', KEYS[key])
    if held ~= ARGV[arg + 1] and held ~= ARGV[arg + 2] then counts = false end
    arg = arg + 3
  end
  if counts then
    for i = 1, claimCount do
      local at = firstArg + (i - 1) * 3
      redis.call('SET', KEYS[firstKey + i], ARGV[at + 2], 'PX', ARGV[at + 3])
    end
  else
    late[#late + 1] = entry
  end
  arg = arg + 1
  for _ = 1, tonumber(ARGV[arg]) do
    key = key + 1
    if counts then redis.call('SET', KEYS[key], ARGV[arg + 1], 'PX', ARGV[arg + 2]) end
    arg = arg + 2
  end
  arg = arg + 1
  for _ = 1, tonumber(ARGV[arg]) do
    if not counts then
      local job = tonumber(ARGV[arg + 1])
      struck[job] = struck[job] or {}
      table.insert(struck[job], ARGV[arg + 2])
    end
    arg = arg + 2
  end
end
for job, rows in pairs(struck) do
  redis.call('HSET', KEYS[job], 'progress', '{"struck":[' .. table.concat(rows, ',') .. ']}')
end
return late
`;
