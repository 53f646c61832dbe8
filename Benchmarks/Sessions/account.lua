-- Asks for the accounts of the access tokens of a file, in turn.  wrk -t1 -s account.lua URL -- TOKENS

local requests = {}
local position = 0

function init(args)
    for token in io.lines(args[1]) do
        table.insert(requests, wrk.format("GET", "/v1/account", { ["Authorization"] = "Bearer " .. token }))
    end
end

function request()
    position = position % #requests + 1
    return requests[position]
end

function done(summary, latency)
    local errors = summary.errors
    io.write(string.format(
        '{"requests":%d,"seconds":%.3f,"p50":%d,"p99":%d,"refused":%d,"failed":%d}\n',
        summary.requests, summary.duration / 1e6, latency:percentile(50), latency:percentile(99),
        errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
