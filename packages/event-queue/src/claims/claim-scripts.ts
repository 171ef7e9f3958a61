/**
 * Takes several claims in one call. KEYS: the claims. ARGV: the TTL of a pending claim in milliseconds, then the pending value
 * of each. Returns for each an empty string (this owner holds it, from now or before) or the value that another owner has set.
 * Does not use `SET … NX GET`, which needs Redis 7.
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

/** Deletes the claims that are still pending for their owner. KEYS: the claims. ARGV: the pending value of each. */
export const RELEASE_CLAIMS = `
for i = 1, #KEYS do
  if redis.call('GET', KEYS[i]) == ARGV[i] then redis.call('DEL', KEYS[i]) end
end
return 0
`;

/**
 * Runs last in the transaction that replays spooled batches of clicks. Sets the claims that no other click holds, and each
 * batch's marker. Returns for each batch (a spool entry) which of its rows its original transaction had discarded (see
 * FINALIZE), if that was carried out although its answer came too late: a JSON array of row indexes, or an empty string.
 * ARGV: number of claims, number of entries, TTL of a marker in milliseconds; per claim its value and the milliseconds left of
 * its hour; per entry the bit of its marker. KEYS: claims, then each entry's marker and job.
 *
 * The caller adds the discarded rows in a job of their own, so the entry's job must leave them out, or both jobs could insert them. If that
 * job was completed before, this transaction has added it anew, without its `progress`: the script writes the discarded rows there again. It
 * also prolongs the key with their list for as long as replays of the entry may follow.
 */
export const REPLAY_CLICKS = `
local claims, entries = tonumber(ARGV[1]), tonumber(ARGV[2])
for i = 1, claims do redis.call('SET', KEYS[i], ARGV[2 + i * 2], 'NX', 'PX', ARGV[3 + i * 2]) end
local discarded = {}
for i = 1, entries do
  local marker, job = KEYS[claims + i * 2 - 1], KEYS[claims + i * 2]
  redis.call('SETBIT', marker, ARGV[3 + claims * 2 + i], 1)
  redis.call('PEXPIRE', marker, ARGV[3])
  local struck = redis.call('GET', job .. ':struck')
  if struck then
    redis.call('PEXPIRE', job .. ':struck', ARGV[3])
    -- A job that the transaction could not add must stay absent, or a repeat would take it for present.
    if redis.call('EXISTS', job) == 1 then redis.call('HSETNX', job, 'progress', '{"struck":' .. struck .. '}') end
  end
  discarded[i] = struck or ''
end
return discarded
`;

/**
 * Runs last in the transaction that adds a batch's jobs, and finalizes their claims. No claim becomes final unless every job of
 * the batch exists, so a final claim always stands for an event that is in the queue.
 *
 * Clicks also take their hourly claims here. If a click's claim is held, the visit was counted before, and the click's row is
 * discarded: the job's `progress` lists it as `struck`, and the writer skips it. The discarded rows are also stored under
 * `<job>:struck`. If the answer to this transaction comes too late, the batch is spooled and every click of it is acknowledged
 * as recorded; the replay of the spool then reads that key and adds the discarded rows again. The batch's marker is one bit
 * that is set here and by the replay: after a replay this script discards no clicks.
 *
 * An entry (one `commit`) is accepted if each of its claims is still pending for its owner (or free, if the entry takes it
 * here). Otherwise the entry is late: another owner may hold its claims, or has recorded the event, so none of them is set and the entry's
 * rows are discarded. A claim that already has the entry's final value is no exception: a request that was sent twice has the same value.
 *
 * A transaction is repeated after its answer was lost. Claims have changed since: they are final, or a change of a customer has removed
 * them. So the first run stores its late entries, and a repeat decides as the first run did. They are stored under an idempotency key of
 * the batch, and with its jobs: a repeat that comes when the key has expired must not discard accepted rows of a job that still waits.
 *
 * KEYS: jobs, that of the clicks first; marker and claims of the clicks if there are any; if there are entries: the batch's idempotency
 * key, each entry's claims and state keys.
 * ARGV: number of jobs, number of entries, number of clicks; if there are clicks: bit of the marker, TTL of the marker, TTL of
 * a claim, click ids; if there are entries: TTL of the idempotency key; per entry: 1 if its caller has already received an error,
 * number of claims, per claim its pending value (empty: free), final value, TTL; number of state keys, per key 1 if it is a hash, its
 * field, value, TTL; number of rows, per row the number of its job and its index in that job. All TTLs are in milliseconds.
 * Returns the numbers of the late entries, and the numbers of the clicks counted before, each followed by the counted id.
 */
export const FINALIZE = `
local jobCount, entryCount, clickCount = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
for i = 1, jobCount do
  if redis.call('EXISTS', KEYS[i]) == 0 then return redis.error_reply('JOBMISSING a job of the batch was not added') end
end
local key, arg = jobCount, 3
local late, counted, discarded = {}, {}, {}
local outcome, outcomeTtl, isRepeat, wasLate = nil, nil, false, {}
local first, firstCommitJob = false, clickCount > 0 and 2 or 1
local function discard(job, row)
  discarded[job] = discarded[job] or {}
  table.insert(discarded[job], row)
end
if clickCount > 0 then
  key, arg = jobCount + 1, 6
  local isRecorded = redis.call('SETBIT', KEYS[key], ARGV[4], 1) == 1
  redis.call('PEXPIRE', KEYS[key], ARGV[5])
  for i = 1, clickCount do
    local claim, id = KEYS[key + i], ARGV[arg + i]
    if not redis.call('SET', claim, id, 'NX', 'PX', ARGV[6]) and not isRecorded then
      local held = redis.call('GET', claim)
      if held ~= id then
        counted[#counted + 1] = i
        counted[#counted + 1] = held
        discard(1, i - 1)
      end
    end
  end
  if discarded[1] then
    redis.call('SET', KEYS[1] .. ':struck', '[' .. table.concat(discarded[1], ',') .. ']', 'PX', ARGV[5])
  end
  key, arg = key + clickCount, arg + clickCount
end
if entryCount > 0 then
  key, arg = key + 1, arg + 1
  outcome, outcomeTtl = KEYS[key], ARGV[arg]
  first = redis.call('GET', outcome)
  for i = firstCommitJob, jobCount do first = first or redis.call('HGET', KEYS[i], 'outcome') end
  isRepeat = first ~= false
  for number in string.gmatch(first or '', '%d+') do wasLate[tonumber(number)] = true end
end
for entry = 1, entryCount do
  local abandoned = ARGV[arg + 1] == '1'
  local claimCount = tonumber(ARGV[arg + 2])
  arg = arg + 2
  local firstKey, firstArg = key, arg
  local isAccepted = not (abandoned and claimCount == 0) and not wasLate[entry]
  for _ = 1, claimCount do
    key = key + 1
    local held = redis.call('GET', KEYS[key]) or ''
    if not isRepeat and held ~= ARGV[arg + 1] then isAccepted = false end
    arg = arg + 3
  end
  local mustSet = isAccepted and not isRepeat
  if mustSet then
    for i = 1, claimCount do
      local at = firstArg + (i - 1) * 3
      redis.call('SET', KEYS[firstKey + i], ARGV[at + 2], 'PX', ARGV[at + 3])
    end
  end
  if not isAccepted then late[#late + 1] = entry end
  arg = arg + 1
  for _ = 1, tonumber(ARGV[arg]) do
    key = key + 1
    if mustSet and ARGV[arg + 1] == '1' then
      redis.call('HSET', KEYS[key], ARGV[arg + 2], ARGV[arg + 3])
      redis.call('PEXPIRE', KEYS[key], ARGV[arg + 4])
    elseif mustSet then
      redis.call('SET', KEYS[key], ARGV[arg + 3], 'PX', ARGV[arg + 4])
    end
    arg = arg + 4
  end
  arg = arg + 1
  for _ = 1, tonumber(ARGV[arg]) do
    if not isAccepted then discard(tonumber(ARGV[arg + 1]), ARGV[arg + 2]) end
    arg = arg + 2
  end
end
for job, rows in pairs(discarded) do
  redis.call('HSET', KEYS[job], 'progress', '{"struck":[' .. table.concat(rows, ',') .. ']}')
end
if outcome then
  first = first or table.concat(late, ',')
  for i = firstCommitJob, jobCount do redis.call('HSET', KEYS[i], 'outcome', first) end
  if not isRepeat then redis.call('SET', outcome, first, 'PX', outcomeTtl) end
end
return {late, counted}
`;
