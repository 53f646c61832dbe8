-- wrk -s kid-flood.lua URL -- kids|nothing MEAN_PAUSE_MS
-- kids: tokens that name unknown keys; nothing: requests for an unknown path.

local alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
local kids = true
local pause = 0

function init(args)
    math.randomseed(os.time())
    kids = args[1] == "kids"
    pause = tonumber(args[2])
end

local function encode(text)
    local parts = {}
    for i = 1, #text - 2, 3 do
        local a, b, c = text:byte(i, i + 2)
        local n = a * 65536 + b * 256 + c
        for shift = 3, 0, -1 do
            local index = math.floor(n / 64 ^ shift) % 64 + 1
            parts[#parts + 1] = alphabet:sub(index, index)
        end
    end
    return table.concat(parts)
end

function request()
    if not kids then return wrk.format("GET", "/nothing") end
    -- 45 octets, so that the base64url needs no padding.
    local header = string.format('{"alg":"RS256","kid":"%021d"}', math.random(1e9) * 1e5 + math.random(1e5))
    local token = encode(header) .. ".e30.AAAA"
    return wrk.format("POST", "/v1/sign-in/google", { ["Content-Type"] = "application/json" }, '{"idToken":"' .. token .. '"}')
end

function delay()
    return math.random(0, 2 * pause)
end

dofile("Benchmarks/report.lua")
