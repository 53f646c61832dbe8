-- GETs the targets of a file, at random, each with the header fields of its line.
--     wrk -t1 -s paced.lua URL -- FILE RATE
-- A line is: path, tab, Cookie (or -), tab, X-Forwarded-For (or - for a network of its own for each request).
-- All connections together ask RATE times a second as a Poisson process, however long the answers take. A request that
-- finds no free connection is late; one that is late by more than a second is dropped.

local ffi = require("ffi")
ffi.cdef([[
    typedef struct { long seconds, nanoseconds; } moment;
    int clock_gettime(int clock, moment *now);
]])

local targets = {}
local rate
local due
local number = 0
local moment = ffi.new("moment")

local function now()
    ffi.C.clock_gettime(1, moment)
    return tonumber(moment.seconds) + tonumber(moment.nanoseconds) / 1e9
end

function init(args)
    math.randomseed(os.time())
    for line in io.lines(args[1]) do
        local path, cookie, address = line:match("^(.-)\t(.-)\t(.-)$")
        table.insert(targets, { path = path, cookie = cookie, address = address })
    end
    rate = tonumber(args[2])
end

function request()
    local target = targets[math.random(#targets)]
    local address = target.address
    if address == "-" then
        number = number + 1
        address = string.format("10.%d.%d.7", math.floor(number / 256) % 256, number % 256)
    end
    local headers = { ["X-Forwarded-For"] = address, ["Accept-Language"] = "en-US,en;q=0.9,de;q=0.8" }
    if target.cookie ~= "-" then headers["Cookie"] = target.cookie end
    return wrk.format("GET", target.path, headers)
end

-- Milliseconds until the next one is due.
function delay()
    local now = now()
    due = math.max(due or now, now - 1) - math.log(1 - math.random()) / rate
    return math.max(0, math.floor(1000 * (due - now) + 0.5))
end

dofile("Benchmarks/report.lua")
