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

dofile("Benchmarks/report.lua")
