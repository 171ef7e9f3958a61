/** Length of the header in bytes: format, state, number of bits, server, unknown starts, filler, time of the beginning. */
export const HEADER_BYTES = 128;

/**
 * Lua functions for scripts that read or set bits of histories.
 *
 * A history is trusted while it is complete, the server is the one it was filled in, and no process has started since that does not
 * keep histories (the number of such starts is the one in its header). Bits are set whether it is trusted or not. A history that
 * does not exist, or that has another format, has no bits to set and is not trusted.
 */
export const HISTORY_FUNCTIONS = `
local function unknownStarts(startCounts, keeperStarts)
  local starts = 0
  for _, count in ipairs(redis.call('HVALS', startCounts)) do starts = starts + count end
  return starts - (tonumber(redis.call('GET', keeperStarts)) or 0)
end
local function openHistory(key, server, starts)
  local header = redis.call('GETRANGE', key, 0, ${HEADER_BYTES - 1})
  local state, bits, filledIn, startsThen = string.match(header, '^1|(%u)|(%d+)|([^|]+)|(%-?%d+)|')
  if not state then return nil end
  local isTrusted = state == 'C' and filledIn == server and tonumber(startsThen) == starts
  return {key = key, bits = tonumber(bits), isTrusted = isTrusted}
end
local function bitOf(history, position)
  return string.format('%.0f', ${HEADER_BYTES * 8} + tonumber(position) % history.bits)
end
local function isUnseen(history, at)
  if not history or not history.isTrusted then return false end
  for i = at, at + 3 do
    if redis.call('GETBIT', history.key, bitOf(history, ARGV[i])) == 0 then return true end
  end
  return false
end
local function setSeen(history, at)
  if not history then return end
  local a, b, c, d = bitOf(history, ARGV[at]), bitOf(history, ARGV[at + 1]), bitOf(history, ARGV[at + 2]), bitOf(history, ARGV[at + 3])
  redis.call('BITFIELD', history.key, 'SET', 'u1', a, 1, 'SET', 'u1', b, 1, 'SET', 'u1', c, 1, 'SET', 'u1', d, 1)
end
`;

/**
 * Lua that opens the histories of a script into \`histories\`. KEYS from \`first\` on: the histories, start counts, keepers' starts.
 */
export const OPEN_HISTORIES = `
local function openHistories(first, count, server)
  local histories = {}
  if count == 0 then return histories end
  local starts = unknownStarts(KEYS[first + count], KEYS[first + count + 1])
  for i = 1, count do histories[i] = openHistory(KEYS[first + i - 1], server, starts) or false end
  return histories
end
`;

/** Sets the bits of claims in those histories that exist. KEYS: histories. ARGV: per claim the number of its history, 4 positions. */
export const SET_SEEN = `
${HISTORY_FUNCTIONS}
for i = 1, #ARGV, 5 do setSeen(openHistory(KEYS[tonumber(ARGV[i])], '', 0), i + 1) end
return 0
`;

/**
 * What is to be done about a history. KEYS: history, filler, start counts, keepers' starts. ARGV: server; TTL of a history in ms.
 * Returns 'trusted' (and extends its TTL), 'filling' while a filler has the lease, else 'missing'; and the number of its bits.
 */
export const STATE_OF_HISTORY = `
${HISTORY_FUNCTIONS}
local history = openHistory(KEYS[1], ARGV[1], unknownStarts(KEYS[3], KEYS[4]))
local bits = history and history.bits or 0
if redis.call('EXISTS', KEYS[2]) == 1 then return {'filling', bits} end
if history and history.isTrusted then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return {'trusted', bits}
end
return {'missing', bits}
`;

/**
 * Takes the lease of the filler and makes an empty history, whose bits others set from now on. KEYS: history, filler, start counts,
 * keepers' starts. ARGV: server, filler, its lease in ms, number of bits, TTL in ms. Returns the time in ms, or 0 if
 * another process fills it or has filled it.
 */
export const BEGIN_FILLING = `
${HISTORY_FUNCTIONS}
local there = openHistory(KEYS[1], ARGV[1], unknownStarts(KEYS[3], KEYS[4]))
if there and there.isTrusted and there.bits >= tonumber(ARGV[4]) then return 0 end
if not redis.call('SET', KEYS[2], ARGV[2], 'NX', 'PX', ARGV[3]) then return 0 end
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local starts = string.format('%.0f', unknownStarts(KEYS[3], KEYS[4]))
local header = table.concat({'1', 'F', ARGV[4], ARGV[1], starts, ARGV[2], now, ''}, '|')
redis.call('DEL', KEYS[1])
redis.call('SETRANGE', KEYS[1], ${HEADER_BYTES} + math.floor(tonumber(ARGV[4]) / 8) - 1, '\\0')
redis.call('SETRANGE', KEYS[1], 0, header)
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return now
`;

/** Lua that ends a script unless the history is still the one that this filler began. KEYS: history, filler. ARGV[1]: filler. */
const KEEP_FILLING = `
local header = redis.call('GETRANGE', KEYS[1], 0, ${HEADER_BYTES - 1})
local state, bits, server, starts, filler = string.match(header, '^1|(%u)|(%d+)|([^|]+)|(%-?%d+)|([^|]+)|')
if state ~= 'F' or filler ~= ARGV[1] or redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
`;

/** Extends the lease, and sets the bits of claims. KEYS: history, filler. ARGV: filler, lease in ms, 4 positions of each claim. */
export const FILL_HISTORY = `
${HISTORY_FUNCTIONS}
${KEEP_FILLING}
redis.call('PEXPIRE', KEYS[2], ARGV[2])
local history = {key = KEYS[1], bits = tonumber(bits)}
for i = 3, #ARGV, 4 do setSeen(history, i) end
return 1
`;

/**
 * Marks the history as complete, if the server is the one it was begun in, and no process has started since that does not keep
 * histories. Gives the lease back. KEYS: history, filler, start counts, keepers' starts. ARGV: filler, server.
 */
export const COMPLETE_HISTORY = `
${HISTORY_FUNCTIONS}
${KEEP_FILLING}
redis.call('DEL', KEYS[2])
if server ~= ARGV[2] or tonumber(starts) ~= unknownStarts(KEYS[3], KEYS[4]) then return 0 end
redis.call('SETRANGE', KEYS[1], 2, 'C')
return 1
`;

/** Gives the lease back. KEYS: filler. ARGV: filler. */
export const STOP_FILLING = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 0
`;
