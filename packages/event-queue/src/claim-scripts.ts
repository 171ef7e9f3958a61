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
 * Runs last in the transaction that adds a batch's jobs and makes their claims final. Nothing is final unless every job of
 * the batch exists, so a claim can never say done for an event that is not in the queue.
 *
 * An entry (one \`commit\`) counts when each of its claims is still pending for its owner, or already has this entry's own
 * final value, which is a repeat of a transaction whose answer was lost. Otherwise the entry came too late: its claims may
 * belong to someone else by then, so none of them is set and its rows are struck out of their jobs, in the same transaction,
 * by the job's \`progress\`, which the writer obeys.
 *
 * KEYS: jobs, click claims, then each entry's claims and state keys.
 * ARGV: number of jobs, number of click claims, milliseconds a click claim lasts, the value of each click claim, number of
 * entries; per entry: 1 if its caller was already told that it failed, number of claims, per claim pending value, final value,
 * milliseconds; number of state keys, per key value, milliseconds; number of rows, per row its job's number and its place in it.
 * Answers the numbers of the entries that came too late.
 */
export const FINALIZE = `
local jobCount = tonumber(ARGV[1])
for i = 1, jobCount do
  if redis.call('EXISTS', KEYS[i]) == 0 then return redis.error_reply('JOBMISSING a job of the batch was not added') end
end
local key, arg = jobCount, 3
for _ = 1, tonumber(ARGV[2]) do
  key = key + 1
  arg = arg + 1
  redis.call('SET', KEYS[key], ARGV[arg], 'PX', ARGV[3])
end
arg = arg + 1
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

/**
 * Makes the claims of spooled clicks final, unless another click has them by now. KEYS: the claims. ARGV, for each: its value
 * and the milliseconds left of its hour.
 */
export const SPOOLED_FINALS = `
for i = 1, #KEYS do
  local value = ARGV[i * 2 - 1]
  local held = redis.call('GET', KEYS[i])
  if not held or held == 'p:' .. string.sub(value, 3) then
    redis.call('SET', KEYS[i], value, 'PX', ARGV[i * 2])
  end
end
return 0
`;
