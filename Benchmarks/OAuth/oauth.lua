-- Posts a form with a token of a file, at random.  wrk -t1 -s oauth.lua URL -- PATH FORM TOKENS
-- FORM is the body up to the token, which is written after it.

local requests = {}

function init(args)
    math.randomseed(os.time())
    local headers = { ["Content-Type"] = "application/x-www-form-urlencoded" }
    for token in io.lines(args[3]) do
        table.insert(requests, wrk.format("POST", args[1], headers, args[2] .. token))
    end
end

function request()
    return requests[math.random(#requests)]
end

function done(summary, latency)
    local errors = summary.errors
    io.write(string.format(
        '{"requests":%d,"seconds":%.3f,"p50":%d,"p99":%d,"refused":%d,"failed":%d}\n',
        summary.requests, summary.duration / 1e6, latency:percentile(50), latency:percentile(99),
        errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
