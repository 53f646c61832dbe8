-- New persons sign in with the tokens of a file, and each link ticket is spent on an account.
-- wrk -t1 -s create.lua URL -- TOKENS
-- It ends when every person has an account, or with the first answer that is neither a ticket nor an account.

local json = { ["Content-Type"] = "application/json" }
local idle
local tokens = {}
local tickets = {}
local next = 0 -- wrk asks first for a request that it does not send
local created = 0

function init(args)
    for token in io.lines(args[1]) do table.insert(tokens, token) end
    idle = wrk.format("GET", "/.well-known/jwks.json")
end

function request()
    local ticket = table.remove(tickets)
    if ticket then
        return wrk.format("POST", "/v1/links/create", json, '{"linkTicket":"' .. ticket .. '"}')
    end
    local token = tokens[next]
    next = next + 1
    if not token then return idle end
    return wrk.format(
        "POST", "/v1/sign-in/google", json,
        '{"idToken":"' .. token .. '","device":{"name":"Pixel 9","platform":"android"}}')
end

local function finish(failed)
    io.write(string.format('{"created":%d,"refused":%d,"failed":0}\n', created, failed))
    os.exit(0)
end

function response(status, headers, body)
    if status == 201 then
        created = created + 1
        if created == #tokens then finish(0) end
    elseif body:sub(1, 9) ~= '{"keys":[' then
        local ticket = body:match('"linkTicket":"([^"]+)"')
        if not ticket then finish(1) end
        table.insert(tickets, ticket)
    end
end
