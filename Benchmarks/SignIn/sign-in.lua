-- Posts the tokens of a file in turn, from a random one on.  wrk -t1 -s sign-in.lua URL -- TOKENS [RATE]
-- With a rate, all connections together post that many a second as a Poisson process, however long the answers take. A
-- request that finds no free connection is late; one that is late by more than a second is dropped. Without a rate,
-- each connection posts after each answer.

local ffi = require("ffi")
ffi.cdef([[
    typedef struct { long seconds, nanoseconds; } moment;
    int clock_gettime(int clock, moment *now);
]])

local requests = {}
local position = 0
local rate = 0
local due
local moment = ffi.new("moment")

local function now()
    ffi.C.clock_gettime(1, moment)
    return tonumber(moment.seconds) + tonumber(moment.nanoseconds) / 1e9
end

function init(args)
    math.randomseed(os.time())
    for token in io.lines(args[1]) do
        local body = '{"idToken":"' .. token .. '","device":{"name":"Pixel 9","platform":"android"}}'
        table.insert(requests, wrk.format("POST", "/v1/sign-in/google", { ["Content-Type"] = "application/json" }, body))
    end
    position = math.random(#requests)
    rate = tonumber(args[2] or "0")
    if rate == 0 then delay = nil end
end

function request()
    position = position % #requests + 1
    return requests[position]
end

-- Milliseconds until the next one is due.
function delay()
    local now = now()
    due = math.max(due or now, now - 1) - math.log(1 - math.random()) / rate
    return math.max(0, math.floor(1000 * (due - now) + 0.5))
end

dofile("Benchmarks/report.lua")
