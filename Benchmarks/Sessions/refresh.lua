-- Refreshes the sessions of a file in turn, each with the token that its answer before has brought.
-- wrk -t1 -s refresh.lua URL -- TOKENS

local headers = { ["Content-Type"] = "application/json" }
local tokens, first, last = {}, 1, 0

function init(args)
    for token in io.lines(args[1]) do
        last = last + 1
        tokens[last] = token
    end
end

-- A session whose answer is under way has no token meanwhile.
function request()
    local token = tokens[first]
    tokens[first] = nil
    first = first + 1
    return wrk.format("POST", "/v1/sessions/refresh", headers, '{"refreshToken":"' .. token .. '"}')
end

function response(status, headers, body)
    last = last + 1
    tokens[last] = body:match('"refreshToken":"([^"]+)"')
end

dofile("Benchmarks/report.lua")
