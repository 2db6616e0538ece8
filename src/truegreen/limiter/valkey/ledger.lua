-- SPDX-License-Identifier: Apache-2.0
-- One step of one ledger, inside the server: the rules of truegreen/limiter/ledger.py, number for number.
--
-- KEYS[1]  the ledger: one string, so that no half of it can be evicted, expire or lie on another node
-- ARGV     verb, nine limits (0 for none), then what the verb takes
-- Answer   tag, then whole numbers and texts as truegreen/limiter/valkey/answers.py reads them
--
-- Time is the server's alone. Inside a step every time is "nanoseconds from now", so that numbers stay small: Lua has
-- doubles, which hold whole numbers up to 2^53 exactly. Each product is kept below 2^52 by the limits that the client
-- accepts, each time that is long gone is kept at -2^52; 2^52 nanoseconds are 52 days. A server whose clock goes back
-- changes no level: what was left is left.
local FAR, MOST_WAITING, LONGEST, OVERUSE, GRACE = 4503599627370496, 2000, 86400000000000, 10, 50000000
local KEPT_MS, OVERLOAD_PAUSE = 8 * 86400000, 1000000000
local ID, TICKET, HOLDER, WAKE, COST, TOKENS, ASKED, DEADLINE, EXPIRES, SLOT, STARTED, TOKEN = 1, 2, 3, 4, 5, 6, 7, 8,
  9, 10, 11, 12
local CALLS, PER, BURST, IN_FLIGHT, PER_MINUTE, TOKEN_BURST, STARTS_FULL, LEASE, WAIT = 1, 2, 3, 4, 5, 6, 7, 8, 9
local GRANTED, REFUSED, CANCELLED, DROPPED, EXPIRED, WASTED, RATE_LIMITED, CLAMPED, WAITED, MOST_WAITED, MOST_IN_FLIGHT,
  RESERVED, USED, MIXED = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14

local max, min, insert, remove = math.max, math.min, table.insert, table.remove
local verb, L, G = ARGV[1], nil, nil

local function up(number, by)
  local rest = number % by
  return rest == 0 and number / by or (number - rest) / by + 1
end

local function prepare(limits)
  L = {unpack(limits)}
  L.spacing = L[CALLS] > 0 and up(L[PER], L[CALLS]) or 0
  L.token = L[PER_MINUTE] > 0 and up(60000000000, L[PER_MINUTE]) or 0
  if G then G.limits = limits end
end

local function asked_limits()
  local limits = {}
  for n = 1, 9 do limits[n] = tonumber(ARGV[n + 1]) end
  return limits
end

local function count(which, by) G.counts[which] = G.counts[which] + (by or 1) end

-- The clock: microseconds of the server, and how far all times have come nearer since the last step.
local function server_us()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local TIMES = {ASKED, DEADLINE, EXPIRES, SLOT, TOKEN}
local function nearer(places, by)
  for _, place in ipairs(places) do
    for _, field in ipairs(TIMES) do place[field] = max(place[field] - by, -FAR) end
  end
end

local function new()
  local counts = {}
  for n = 1, 14 do counts[n] = 0 end
  local full = L[STARTS_FULL] == 1
  return {
    rate = full and 0 or L[BURST] * L.spacing, left = 0,
    token = full and 0 or L[TOKEN_BURST] * L.token,
    not_before = -FAR, tickets = 0, places = {}, queue = {}, counts = counts,
  }
end

local function load()
  local now = server_us()
  local kept = redis.call('GET', KEYS[1])
  if not kept then
    prepare(asked_limits())
    G = new()
    G.born, G.limits = now, asked_limits()
  else
    G = cmsgpack.unpack(kept)
    prepare(G.limits)
    local by = min(max(now - G.now, 0), FAR / 1000) * 1000
    by = by - by % 1000
    for _, field in ipairs({'rate', 'left', 'token', 'not_before'}) do G[field] = max(G[field] - by, -FAR) end
    nearer(G.places, by)
    nearer(G.queue, by)
  end
  G.now = now
end

local function save()
  local last = max(G.rate, G.left, G.token, G.not_before)
  for _, place in ipairs(G.places) do last = max(last, place[EXPIRES], place[TOKEN]) end
  redis.call('SET', KEYS[1], cmsgpack.pack(G), 'PX', string.format('%.0f', up(last + FAR, 1000000) - up(FAR, 1000000) + KEPT_MS))
end

-- Tokens: token_trajectory.py.
local function arrival()
  local latest = G.token
  for _, place in ipairs(G.places) do latest = max(latest, place[TOKEN]) end
  return latest
end

local function reserve_tokens(place)
  local taken, last = place[TOKENS] * L.token, #G.places
  if last == 0 then G.token = max(G.token, place[SLOT])
  else G.places[last][TOKEN] = max(G.places[last][TOKEN], place[SLOT]) end
  G.token = G.token + taken
  for _, it in ipairs(G.places) do it[TOKEN] = it[TOKEN] + taken end
  place[TOKEN] = place[SLOT]
  insert(G.places, place)
end

local function settle_tokens(index, used)
  local place = remove(G.places, index)
  local over = used and (used - place[TOKENS]) * L.token or 0
  G.token = G.token + over
  for n = 1, index - 1 do G.places[n][TOKEN] = G.places[n][TOKEN] + over end
  if index == 1 then G.token = max(G.token, place[TOKEN])
  else G.places[index - 1][TOKEN] = max(G.places[index - 1][TOKEN], place[TOKEN]) end
end

-- Places: ledger.py.
local function has_room() return L[IN_FLIGHT] == 0 or #G.places < L[IN_FLIGHT] end

local function find(places, id)
  for index, place in ipairs(places) do if place[ID] == id then return index end end
end

local function slot_of(place, ahead)
  local slot, costs, tokens = max(0, G.not_before), 0, 0
  for _, it in ipairs(ahead) do costs, tokens = costs + it[COST], tokens + it[TOKENS] end
  if #G.places > 0 then slot = max(slot, G.places[#G.places][SLOT]) end
  if L[CALLS] > 0 then slot = max(slot, max(G.rate, G.left) + (place[COST] - L[BURST] + costs) * L.spacing) end
  if L[TOKEN_BURST] > 0 and place[TOKENS] > 0 then
    slot = max(slot, arrival() + (place[TOKENS] - L[TOKEN_BURST] + tokens) * L.token)
  end
  return slot
end

-- When a place with a slot may leave, since others may have left later than at their slots.
local function gate_of(place)
  if L[CALLS] == 0 then return place[SLOT] end
  return max(place[SLOT], G.left + (place[COST] - L[BURST]) * L.spacing)
end

local function start(place)
  local waited = -place[ASKED]
  G.left = max(0, G.left) + place[COST] * L.spacing
  count(GRANTED)
  count(WAITED, waited)
  G.counts[MOST_WAITED] = max(G.counts[MOST_WAITED], waited)
  place[STARTED], place[EXPIRES] = true, L[LEASE]
end

local function put(place, slot)
  place[SLOT], place[EXPIRES] = slot, slot + L[LEASE]
  if L[PER_MINUTE] > 0 then reserve_tokens(place) else insert(G.places, place) end
  if L[CALLS] > 0 then G.rate = max(slot, G.rate) + place[COST] * L.spacing end
  G.counts[MOST_IN_FLIGHT] = max(G.counts[MOST_IN_FLIGHT], #G.places)
end

local function give()
  while #G.queue > 0 and has_room() do
    local head = remove(G.queue, 1)
    local slot = slot_of(head, {})
    if slot > head[DEADLINE] then count(DROPPED) else put(head, slot) end
  end
  local first = #G.places + 1
  while first > 1 and not G.places[first - 1][STARTED] do first = first - 1 end
  for index = first, #G.places do
    local place = G.places[index]
    if gate_of(place) > 0 then break end
    if -place[SLOT] <= GRACE then start(place) end
  end
end

local function take_away(index)
  if L[PER_MINUTE] > 0 then settle_tokens(index, nil) else remove(G.places, index) end
end

local function ended(index, used)
  if L[PER_MINUTE] > 0 and used then
    count(RESERVED, G.places[index][TOKENS])
    count(USED, used)
    settle_tokens(index, min(used, OVERUSE * L[TOKEN_BURST]))
  else
    take_away(index)
  end
end

local function given_up(index)
  local place = G.places[index]
  if L[CALLS] > 0 and index == #G.places and place[SLOT] > 0 then G.rate = G.rate - place[COST] * L.spacing
  elseif L[CALLS] > 0 then count(WASTED, place[COST]) end
  if L[PER_MINUTE] > 0 then settle_tokens(index, 0) else remove(G.places, index) end
end

local function prune()
  for index = #G.places, 1, -1 do
    local place = G.places[index]
    if place[EXPIRES] <= 0 then
      if place[STARTED] then ended(index, nil) count(EXPIRED) else given_up(index) count(DROPPED) end
    end
  end
  local staying = {}
  for _, it in ipairs(G.queue) do
    if it[EXPIRES] > 0 and it[DEADLINE] >= 0 then insert(staying, it) else count(DROPPED) end
  end
  G.queue = staying
  give()
end

-- What stands while two policies use one ledger: limits.py, stricter.
local function least(one, other) return one == 0 and other or (other == 0 and one or min(one, other)) end

local function stricter(one, other)
  local slower = one
  if one[CALLS] == 0 or (other[CALLS] > 0 and up(other[PER], other[CALLS]) > up(one[PER], one[CALLS])) then
    if other[CALLS] > 0 then slower = other end
  end
  return {
    slower[CALLS], slower[PER],
    min(one[CALLS] > 0 and one[BURST] or other[BURST], other[CALLS] > 0 and other[BURST] or one[BURST]),
    least(one[IN_FLIGHT], other[IN_FLIGHT]), least(one[PER_MINUTE], other[PER_MINUTE]),
    least(one[TOKEN_BURST], other[TOKEN_BURST]), min(one[STARTS_FULL], other[STARTS_FULL]),
    min(one[LEASE], other[LEASE]), min(one[WAIT], other[WAIT]),
  }
end

local function under()
  local asked, same = asked_limits(), true
  for n = 1, 9 do same = same and asked[n] == L[n] end
  if same then return end
  prune()
  if #G.places == 0 and #G.queue == 0 then prepare(asked) return end
  count(MIXED)
  prepare(stricter(L, asked))
end

-- Verbs.
local function told(index)
  local place = G.places[index]
  if place[STARTED] then return {'go', place[TICKET], -place[ASKED], L[LEASE], G.born} end
  return {'later', place[TICKET], gate_of(place)}
end

local function never(cost, prompt)
  if L[CALLS] > 0 and cost > L[BURST] then return {'refused', 'cost-above-burst', -1, cost, L[BURST]} end
  if L[TOKEN_BURST] > 0 and prompt > L[TOKEN_BURST] then
    return {'refused', 'tokens-above-burst', -1, prompt, L[TOKEN_BURST]}
  end
end

local function too_late(first, wait, free)
  if first > wait then return {'refused', 'deadline', first, first, wait} end
  if not free and wait == 0 then return {'refused', 'places-taken', max(first, 1), #G.places, L[IN_FLIGHT]} end
  if not free and #G.queue >= MOST_WAITING then return {'refused', 'queue-full', first, #G.queue, MOST_WAITING} end
end

local function known(id)
  local index = find(G.places, id)
  if index then
    local place = G.places[index]
    if not place[STARTED] and place[SLOT] > place[DEADLINE] then -- it was put off beyond what it waits
      given_up(index)
      count(DROPPED)
      give()
      return {'gone'}
    end
    if place[STARTED] then place[EXPIRES] = L[LEASE]
    elseif gate_of(place) <= 0 then start(place) end
    return told(index)
  end
  index = find(G.queue, id)
  if not index then return nil end
  local place = G.queue[index]
  if place[EXPIRES] < (L[LEASE] - L[LEASE] % 2) / 2 then place[EXPIRES] = L[LEASE] end
  return {'queued', place[TICKET], index - 1}
end

local function pause(wait)
  local till = max(0, min(wait, LONGEST))
  count(RATE_LIMITED)
  if till <= max(0, G.not_before) then return end
  local first
  for index, place in ipairs(G.places) do
    if not place[STARTED] then first = index break end
  end
  local by = first and max(0, till - G.places[first][SLOT]) or 0
  if by > 0 then
    for index, place in ipairs(G.places) do
      place[TOKEN] = place[TOKEN] + by
      if index >= first then
        place[SLOT], place[EXPIRES] = place[SLOT] + by, place[EXPIRES] + by
      end
    end
    G.rate, G.token = G.rate + by, G.token + by
  end
  G.not_before = till
  G.rate = max(G.rate, till + (L[BURST] - 1) * L.spacing)
end

local verbs = {}

function verbs.ask(id, holder, wake, cost, prompt, output, wait)
  local again = known(id) -- the answer to the first was lost on the way
  if again then return again end
  cost, prompt, output, wait = tonumber(cost), tonumber(prompt), tonumber(output), tonumber(wait)
  local patience = wait < 0 and L[WAIT] or wait
  local refused = never(cost, prompt)
  local place, first, free
  if not refused then
    local tokens = L[TOKEN_BURST] > 0 and min(prompt + output, L[TOKEN_BURST]) or 0
    place = {id, G.tickets + 1, holder, wake, cost, tokens, 0, patience, L[LEASE], -FAR, false, -FAR}
    first, free = slot_of(place, G.queue), #G.queue == 0 and has_room()
    refused = too_late(first, patience, free)
  end
  if refused then count(REFUSED) return refused end
  G.tickets = G.tickets + 1
  if L[TOKEN_BURST] > 0 and prompt + output > L[TOKEN_BURST] then count(CLAMPED) end
  if free then
    put(place, first)
    give()
    return told(#G.places)
  end
  insert(G.queue, place)
  return {'queued', place[TICKET], #G.queue - 1}
end

function verbs.look(id) return known(id) or {'gone'} end

-- A ledger that was lost (flushed, evicted, a replica that had not heard of it) learns again who is in flight: by the
-- signs of life of those whose leave is from another birth than its own. Above capacity nobody else leaves meanwhile.
function verbs.beat(id, holder, born)
  local index = find(G.places, id)
  if not index and tonumber(born) ~= G.born and #G.places < MOST_WAITING then
    insert(G.places, 1, {id, 0, holder, '', 0, 0, 0, 0, L[LEASE], -FAR, true, -FAR})
    G.counts[MOST_IN_FLIGHT] = max(G.counts[MOST_IN_FLIGHT], #G.places)
    index = 1
  end
  if not index or not G.places[index][STARTED] then return {'gone'} end
  G.places[index][EXPIRES] = L[LEASE]
  return told(index)
end

local function handed_back(id, used, unused)
  local index = find(G.queue, id)
  if index then
    remove(G.queue, index)
    count(CANCELLED)
    return
  end
  index = find(G.places, id)
  if not index then return end
  if unused or not G.places[index][STARTED] then given_up(index) count(CANCELLED)
  else ended(index, used >= 0 and used or nil) end
  give()
end

function verbs.hand_back(id, used, unused, wait, overload)
  handed_back(id, tonumber(used), unused == '1')
  wait = tonumber(wait)
  if overload == '1' then wait = max(wait, OVERLOAD_PAUSE) end
  if wait > 0 then pause(wait) end
  return {'gone'}
end

function verbs.state()
  return {'state', cmsgpack.pack(G)}
end

load()
if verb == 'ask' then under() end
prune()
local answer = verbs[verb](ARGV[11], ARGV[12], ARGV[13], ARGV[14], ARGV[15], ARGV[16], ARGV[17])
if verb ~= 'state' then save() end
return answer
