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
 * Puts spooled clicks' claims where no other click has them by now, and answers, for each entry, which of its rows were struck
 * (see below) by a transaction that went through although its answer came too late: a list in JSON, or an empty text.
 * ARGV: number of claims, number of entries, milliseconds a marker lasts; per claim its value and the milliseconds left of its
 * hour; per entry the bit of its marker. KEYS: claims, then each entry's marker and job.
 */
export const SPOOLED_CLICKS = `
local claims, entries = tonumber(ARGV[1]), tonumber(ARGV[2])
for i = 1, claims do redis.call('SET', KEYS[i], ARGV[2 + i * 2], 'NX', 'PX', ARGV[3 + i * 2]) end
local struck = {}
for i = 1, entries do
  local marker, job = KEYS[claims + i * 2 - 1], KEYS[claims + i * 2]
  redis.call('SETBIT', marker, ARGV[3 + claims * 2 + i], 1)
  redis.call('PEXPIRE', marker, ARGV[3])
  struck[i] = redis.call('GET', job .. ':struck') or ''
end
return struck
`;

/**
 * Runs last in the transaction that adds a batch's jobs and makes their claims final. Nothing is final unless every job of
 * the batch exists, so a claim can never say done for an event that is not in the queue.
 *
 * Clicks take their hourly claims here, too. A click whose claim is held was counted before: its row is struck out of the job,
 * in the same transaction, by the job's `progress`, which the writer obeys. Struck rows are noted beside it, because a batch
 * whose answer came too late went to the spool as well, and its callers were told that every click of it is recorded: whoever
 * replays it adds the struck rows again. The batch's marker is one bit that says it was carried out: once it was replayed,
 * nothing is struck any more.
 *
 * An entry (one \`commit\`) counts when each of its claims is still pending for its owner (free, where it takes them only here),
 * or already has this entry's own final value, which is a repeat of a transaction whose answer was lost. Otherwise the entry
 * came too late: its claims may belong to someone else by then, so none of them is set and its rows are struck as well.
 *
 * KEYS: jobs, that of the clicks first; marker and claims of the clicks if there are any; each entry's claims and state keys.
 * ARGV: number of jobs, number of entries, number of clicks; with clicks bit of the marker, milliseconds it lasts, milliseconds
 * a claim lasts, click ids; per entry: 1 if its caller was already told that it failed,
 * number of claims, per claim pending value (empty: free), final value, milliseconds; number of state keys, per key 1 if it is a hash,
 * its field, value, milliseconds; number of rows, per row its job's number and its place in it.
 * Answers the numbers of the entries that came too late, and of the clicks counted before, each followed by the id it has.
 */
export const FINALIZE = `
local jobCount, entryCount, clickCount = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
for i = 1, jobCount do
  if redis.call('EXISTS', KEYS[i]) == 0 then return redis.error_reply('JOBMISSING a job of the batch was not added') end
end
local key, arg = jobCount, 3
local late, known, struck = {}, {}, {}
local function strike(job, row)
  struck[job] = struck[job] or {}
  table.insert(struck[job], row)
end
if clickCount > 0 then
  key, arg = jobCount + 1, 6
  local isRepeat = redis.call('SETBIT', KEYS[key], ARGV[4], 1) == 1
  redis.call('PEXPIRE', KEYS[key], ARGV[5])
  for i = 1, clickCount do
    local claim, id = KEYS[key + i], ARGV[arg + i]
    if not redis.call('SET', claim, id, 'NX', 'PX', ARGV[6]) and not isRepeat then
      local held = redis.call('GET', claim)
      if held ~= id then
        known[#known + 1] = i
        known[#known + 1] = held
        strike(1, i - 1)
      end
    end
  end
  if struck[1] then redis.call('SET', KEYS[1] .. ':struck', '[' .. table.concat(struck[1], ',') .. ']', 'PX', ARGV[5]) end
  key, arg = key + clickCount, arg + clickCount
end
for entry = 1, entryCount do
  local abandoned = ARGV[arg + 1] == '1'
  local claimCount = tonumber(ARGV[arg + 2])
  arg = arg + 2
  local firstKey, firstArg = key, arg
  local counts = not (abandoned and claimCount == 0)
  for _ = 1, claimCount do
    key = key + 1
    local held = redis.call('GET', KEYS[key]) or ''
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
    if counts and ARGV[arg + 1] == '1' then
      redis.call('HSET', KEYS[key], ARGV[arg + 2], ARGV[arg + 3])
      redis.call('PEXPIRE', KEYS[key], ARGV[arg + 4])
    elseif counts then
      redis.call('SET', KEYS[key], ARGV[arg + 3], 'PX', ARGV[arg + 4])
    end
    arg = arg + 4
  end
  arg = arg + 1
  for _ = 1, tonumber(ARGV[arg]) do
    if not counts then strike(tonumber(ARGV[arg + 1]), ARGV[arg + 2]) end
    arg = arg + 2
  end
end
for job, rows in pairs(struck) do
  redis.call('HSET', KEYS[job], 'progress', '{"struck":[' .. table.concat(rows, ',') .. ']}')
end
return {late, known}
`;
