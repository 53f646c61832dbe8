-- Posts the tokens of a file, at random.  wrk -s sign-in.lua URL -- TOKENS [MEAN_PAUSE_MS]
-- With a pause each connection thinks between two requests, between 0 and twice as long; wrk then measures a service
-- that is not saturated.

local requests = {}
local pause = 0

function init(args)
    math.randomseed(os.time())
    for token in io.lines(args[1]) do
        local body = '{"idToken":"' .. token .. '","device":{"name":"Pixel 9","platform":"android"}}'
        table.insert(requests, wrk.format("POST", "/v1/sign-in/google", { ["Content-Type"] = "application/json" }, body))
    end
    pause = tonumber(args[2] or "0")
    if pause == 0 then delay = nil end
end

function request()
    return requests[math.random(#requests)]
end

function delay()
    return math.random(0, 2 * pause)
end

function done(summary, latency)
    local errors = summary.errors
    io.write(string.format(
        '{"requests":%d,"seconds":%.3f,"p50":%d,"p99":%d,"refused":%d,"failed":%d}\n',
        summary.requests, summary.duration / 1e6, latency:percentile(50), latency:percentile(99),
        errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
