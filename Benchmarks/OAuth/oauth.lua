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

dofile("Benchmarks/report.lua")
