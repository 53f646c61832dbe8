import Curl
import JOSE
import JSON
import TestSupport
import Testing

@Suite struct ControlTests {
    @Test(arguments: [
        ("apple/persons", #"{"name":"kim","nmae":"x"}"#, "Unknown member nmae"),
        ("apple/persons", #"{"email":"x"}"#, "name is missing"),
        ("apple/persons", #"{"name":"a/b"}"#, "name must be"),
        ("apple/persons", #"{"name":"ki\u0301m"}"#, "name must be"),
        ("apple/persons", #"{"name":"kim","hidesEmail":"yes"}"#, "hidesEmail must be true or false"),
        ("apple/persons", #"{"name":"kim","realUserStatus":3}"#, "realUserStatus must be a whole number from 0 to 2"),
        ("apple/persons", #"{"name":"kim","realUserStatus":1e300}"#, "realUserStatus must be"),
        ("apple/persons", #"{"name":"kim","subjects":{"T":1}}"#, "subjects.T must be a string"),
        ("apple/persons", #"{"name":"kim","name":"lee"}"#, "not a JSON object"),
        ("apple/persons", "[]", "must be a JSON object"),
        ("apple/persons", "{", "not a JSON object"),
        ("apple/persons", "\u{FEFF}{}", "not a JSON object"),
        ("apple/authorize", #"{"person":"kim"}"#, "clientId is missing"),
        ("apple/authorize", #"{"person":"kim","clientId":"a b"}"#, "clientId must be"),
        ("apple/authorize", #"{"person":"kim","clientId":"a","scopes":["phone"]}"#, "scopes must be"),
        ("apple/authorize", #"{"person":"kim","clientId":"a","token":{"sig":1}}"#, "Unknown member token.sig"),
        ("apple/authorize", #"{"person":"kim","clientId":"a","token":[]}"#, "token must be an object"),
        ("apple/authorize", #"{"person":"kim","clientId":"a","token":{"signature":"x"}}"#, "token.signature must be"),
        ("apple/authorize", #"{"person":"k","clientId":"a","redirectUri":"http://a.example/"}"#, "redirectUri must be"),
        ("apple/authorize", #"{"person":"k","clientId":"a","redirectUri":"https://1.2.3.4/"}"#, "redirectUri must be"),
        ("apple/authorize", #"{"person":"k","clientId":"a","redirectUri":"https://[::1]/"}"#, "redirectUri must be"),
        (
            "apple/authorize", #"{"person":"k","clientId":"a","redirectUri":"https://localhost/"}"#,
            "redirectUri must be"
        ),
        ("apple/authorize", #"{"person":"k","clientId":"a","redirectUri":"https://a.example/#b"}"#, "redirectUri must"),
        ("apple/authorize", #"{"person":"k","clientId":"a","exchange":{"tok":1}}"#, "Unknown member exchange.tok"),
        (
            "apple/authorize", #"{"person":"k","clientId":"a","exchange":{"token":{"sig":1}}}"#,
            "Unknown member exchange.token.sig"
        ),
        ("apple/teams", #"{"teamId":"T","keyId":"K"}"#, "publicKey must be a P-256 key"),
        ("apple/teams", #"{"teamId":"T","keyId":"K","publicKey":"x"}"#, "publicKey must be a P-256 key"),
        (
            "apple/teams", #"{"teamId":"T","keyId":"K","publicKey":{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}}"#,
            "publicKey must be a P-256 key"
        ),
        ("apple/teams", #"{"teamId":"T","keyId":"K","publicKey":"x","revoked":true}"#, "exclude each other"),
        ("apple/teams", #"{"keyId":"K","publicKey":"x"}"#, "teamId is missing"),
        ("apple/transfers", #"{"clientId":"a","fromTeam":"T"}"#, "toTeam is missing"),
        ("apple/clients", #"{"clientId":"a"}"#, "teamId is missing"),
        ("apple/clients", #"{"clientId":"a","redirectUris":"x"}"#, "redirectUris must be an array"),
        ("apple/clients", #"{"clientId":"a","redirectUris":["http://a.example/"]}"#, "redirectUris must be https"),
        ("google/clients", #"{"clientId":"a","redirectUris":[]}"#, "clientSecret is missing"),
        ("google/clients", #"{"clientId":"a","redirectUris":[],"deleted":true}"#, "exclude each other"),
        ("apple/auto", "{}", "person is missing"),
        ("apple/auto", #"{"action":"agree"}"#, "action must be one of continue, cancel"),
        ("apple/auto", #"{"action":"cancel","times":0}"#, "times must be a whole number"),
        ("apple/auto", #"{"action":"cancel","clientId":"a b"}"#, "clientId must be"),
        ("google/auto", #"{"action":"cancel","hideEmail":true}"#, "Unknown member hideEmail"),
        ("apple/browser", "{}", "autoSubmit is missing"),
        ("google/clients", #"{"clientId":"a"}"#, "clientSecret is missing"),
        ("google/clients", #"{"clientId":"a","clientSecret":"x","deleted":true}"#, "exclude each other"),
        ("google/authorize", #"{"person":"k","clientId":"a","serverClientId":"a b"}"#, "serverClientId must be"),
        ("google/authorize", #"{"person":"k","clientId":"a","forceConsent":1}"#, "forceConsent must be"),
        ("google/persons", #"{"name":"kim","hidesEmail":true}"#, "Unknown member hidesEmail"),
        ("google/authorize", #"{"person":"kim","clientId":"a","azp":1}"#, "azp must be"),
        ("google/keys/rotate", #"{"now":true}"#, "Unknown member now. Known here: none"),
        ("apple/keys/cache-control", "{}", "value is missing"),
        ("apple/keys/cache-control", #"{"value":"a\r\nb: c"}"#, "value must be"),
        ("clock/set", #"{"now":"yesterday"}"#, "now must be an RFC 3339 time"),
        ("clock/set", #"{"now":"99999-01-01T00:00:00Z"}"#, "now must be an RFC 3339 time"),
        ("clock/advance", #"{"seconds":1.5}"#, "seconds must be a whole number"),
        ("clock/advance", #"{"seconds":9223372036854775807}"#, "seconds must be a whole number"),
        ("clock/advance", #"{"seconds":253402300799}"#, "out of the years"),
        ("reset", #"{"all":true}"#, "Unknown member all"),
    ])
    func `a control request with a fault in it is refused and says which`(
        _ path: String, _ body: String, _ message: String
    ) async throws {
        try await SharedSandbox.use { sandbox in
            let refusal = try await sandbox.refusal(path, body)
            #expect(refusal.status == 400)
            #expect(refusal.error == "invalid_request")
            #expect(refusal.message?.contains(message) == true, "\(refusal.message ?? "")")
        }
    }

    @Test func `persons, keys and paths that do not exist are not found`() async throws {
        try await SharedSandbox.use { sandbox in
            let apple = try await sandbox.refusal("apple/authorize", #"{"person":"nobody","clientId":"a"}"#)
            #expect(apple.status == 404)
            #expect(apple.message?.contains("There is no Apple person nobody") == true)
            let google = try await sandbox.refusal("google/authorize", #"{"person":"nobody","clientId":"a"}"#)
            #expect(google.status == 404)
            #expect(try await sandbox.get("/control/apple/persons/nobody").status == 404)
            #expect(try await sandbox.get("/control/google/persons/nobody").status == 404)
            for (path, body) in [
                ("apple/teams", #"{"teamId":"T","keyId":"K","revoked":true}"#),
                ("google/clients", #"{"clientId":"nobody","deleted":true}"#),
                ("google/withdraw", #"{"person":"nobody","clientId":"a"}"#),
            ] {
                #expect(try await sandbox.refusal(path, body).status == 404, "\(path)")
            }
            let unknown = try await sandbox.refusal("apple/nothing", "{}")
            #expect(unknown.status == 404)
            #expect(unknown.message?.contains("POST /control/apple/nothing") == true)
        }
    }

    @Test func `a control request of more than a mebibyte is too large`() async throws {
        try await SharedSandbox.use { sandbox in
            let body = #"{"name":"\#(String(repeating: "a", count: 1 << 20))"}"#
            let refusal = try await sandbox.refusal("apple/persons", body)
            #expect(refusal.status == 413)
            #expect(refusal.error == "too_large")
        }
    }

    @Test func `persons and clients can be read back`() async throws {
        try await Sandbox.run { sandbox in
            let subject = try await sandbox.addApplePerson("kim", #"{"email":"kim@example.com"}"#)
            try await sandbox.addGooglePerson("lee")
            try await sandbox.assignAppleClient("com.other.app", team: "OTHERTEAM1")
            let kim = try await sandbox.control("apple/persons/kim")
            #expect(kim["email"]?.string == "kim@example.com")
            #expect(kim["teams"]?["SANDBOX001"]?["subject"]?.string == subject)
            #expect(kim["teams"]?["OTHERTEAM1"]?["subject"]?.string != subject)
            let apple = try await sandbox.control("apple/persons")["items"]?.elements
            #expect(apple?.map { $0["name"]?.string } == ["kim"])
            let google = try await sandbox.control("google/persons")["items"]?.elements
            #expect(google?.map { $0["name"]?.string } == ["lee"])
            let clients = try await sandbox.control("apple/clients")["items"]?.elements
            #expect(clients?.map { $0["teamId"]?.string } == ["OTHERTEAM1"])
        }
    }

    @Test func `the clock stands, moves, runs and follows the system again`() async throws {
        try await Sandbox.run { sandbox in
            try await sandbox.setClock("2026-01-01T12:00:00Z")
            try await sandbox.advanceClock(by: 3600)
            let standing = try await sandbox.control("clock")
            #expect(standing["now"]?.string == "2026-01-01T13:00:00Z")
            #expect(standing["running"]?.bool == false)
            try await sandbox.advanceClock(by: -7200)
            #expect(try await sandbox.control("clock")["now"]?.string == "2026-01-01T11:00:00Z")
            try await sandbox.setClock("2026-01-01T12:00:00Z", running: true)
            let running = try await sandbox.control("clock")
            #expect(running["running"]?.bool == true)
            #expect(running["now"]?.string?.hasPrefix("2026-01-01T12:0") == true)
            let system = try await sandbox.control("clock/follow-system", "{}")
            #expect(system["now"]?.string?.hasPrefix("2026-01-01T12:0") == false)
        }
    }

    @Test func `a reset brings back the start`() async throws {
        try await Sandbox.run { sandbox in
            let keys = try await sandbox.keySet(.google).keyIDs
            try await sandbox.addApplePerson("kim")
            try await sandbox.setClock("2026-01-01T12:00:00Z")
            try await sandbox.fail("/google/*", .status(500))
            try await sandbox.rotateKeys(.google)
            try await sandbox.reset()
            #expect(try await sandbox.history().isEmpty)
            #expect(try await sandbox.keySet(.google).keyIDs == keys)
            #expect(try await sandbox.control("apple/persons")["items"]?.elements?.isEmpty == true)
            #expect(try await sandbox.control("clock")["running"]?.bool == true)
            #expect(try await sandbox.control("faults")["items"]?.elements?.isEmpty == true)
        }
    }

    @Test func `the same seed and keys give the same tokens whatever else happened`() async throws {
        func outcome(_ seed: String, others: [String] = []) async throws -> [String] {
            try await Sandbox.run(seed: seed) { sandbox in
                try await sandbox.setClock("2026-01-01T12:00:00Z")
                for other in others { try await sandbox.addApplePerson(other) }
                try await sandbox.addApplePerson("kim", #"{"hidesEmail":true}"#)
                try await sandbox.addGooglePerson("kim")
                let apple = try await sandbox.authorizeApple("kim", clientID: "app")
                let google = try await sandbox.authorizeGoogle("kim", clientID: "web")
                return [
                    apple.user, apple.email ?? "", apple.authorizationCode, apple.identityToken, google.userID,
                    google.serverAuthCode, google.accessToken, google.idToken,
                    try await sandbox.signingKeyID(.apple), try await sandbox.signingKeyID(.google),
                ]
            }
        }
        let one = try await outcome("one")
        #expect(try await outcome("one", others: ["lee", "max"]) == one)
        for (left, right) in zip(one, try await outcome("two")) { #expect(left != right) }
    }
}
