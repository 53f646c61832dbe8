-- Posts the tokens of a file in turn to django-allauth, from a random one on.  wrk -t1 -s sign-in.lua URL -- TOKENS TARGET BODY
-- BODY is that of a request, with TOKEN for the token.

local requests = {}
local position = 0

function init(args)
    math.randomseed(os.time())
    for token in io.lines(args[1]) do
        local body = args[3]:gsub("TOKEN", token)
        table.insert(requests, wrk.format("POST", args[2], { ["Content-Type"] = "application/json" }, body))
    end
    position = math.random(#requests)
end

function request()
    position = position % #requests + 1
    return requests[position]
end

dofile("Benchmarks/report.lua")
