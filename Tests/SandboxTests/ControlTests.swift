import Curl
import JOSE
import JSON
import OpenSSL
import TestSupport
import Testing

/// Bodies by their path, and what is said of their faults.
private let faults: KeyValuePairs = [
    "apple/persons": [
        (#"{"name":"kim","nmae":"x"}"#, "Unknown member nmae"),
        (#"{"email":"x"}"#, "name is missing"),
        (#"{"name":"a/b"}"#, "name must be"),
        (#"{"name":"ki\u0301m"}"#, "name must be"),
        (#"{"name":"kim","hidesEmail":"yes"}"#, "hidesEmail must be true or false"),
        (#"{"name":"kim","realUserStatus":3}"#, "realUserStatus must be a whole number from 0 to 2"),
        (#"{"name":"kim","realUserStatus":1e300}"#, "realUserStatus must be"),
        (#"{"name":"kim","subjects":{"T":1}}"#, "subjects.T must be a string"),
        (#"{"name":"kim","name":"lee"}"#, "not a JSON object"),
        ("[]", "must be a JSON object"),
        ("{", "not a JSON object"),
        ("\u{FEFF}{}", "not a JSON object"),
    ],
    "apple/authorize": [
        (#"{"person":"kim"}"#, "clientId is missing"),
        (#"{"person":"kim","clientId":"a b"}"#, "clientId must be"),
        (#"{"person":"kim","clientId":"a","scopes":["phone"]}"#, "scopes must be"),
        (#"{"person":"kim","clientId":"a","token":{"sig":1}}"#, "Unknown member token.sig"),
        (#"{"person":"kim","clientId":"a","token":[]}"#, "token must be an object"),
        (#"{"person":"kim","clientId":"a","token":{"signature":"x"}}"#, "token.signature must be"),
        (#"{"person":"k","clientId":"a","redirectUri":"http://a.example/"}"#, "redirectUri must be"),
        (#"{"person":"k","clientId":"a","redirectUri":"https://1.2.3.4/"}"#, "redirectUri must be"),
        (#"{"person":"k","clientId":"a","redirectUri":"https://[::1]/"}"#, "redirectUri must be"),
        (#"{"person":"k","clientId":"a","redirectUri":"https://localhost/"}"#, "redirectUri must be"),
        (#"{"person":"k","clientId":"a","redirectUri":"https://a.example/#b"}"#, "redirectUri must"),
        (#"{"person":"k","clientId":"a","exchange":{"tok":1}}"#, "Unknown member exchange.tok"),
        (#"{"person":"k","clientId":"a","exchange":{"token":{"sig":1}}}"#, "Unknown member exchange.token.sig"),
    ],
    "apple/teams": [
        (#"{"teamId":"T","keyId":"K"}"#, "publicKey must be a P-256 key"),
        (#"{"teamId":"T","keyId":"K","publicKey":"x"}"#, "publicKey must be a P-256 key"),
        (
            #"{"teamId":"T","keyId":"K","publicKey":{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}}"#,
            "publicKey must be a P-256 key"
        ),
        (#"{"teamId":"T","keyId":"K","publicKey":"x","revoked":true}"#, "exclude each other"),
        (#"{"keyId":"K","publicKey":"x"}"#, "teamId is missing"),
    ],
    "apple/transfers": [
        (#"{"clientId":"a","fromTeam":"T"}"#, "toTeam is missing")
    ],
    "apple/clients": [
        (#"{"clientId":"a"}"#, "teamId is missing"),
        (#"{"clientId":"a","redirectUris":"x"}"#, "redirectUris must be an array"),
        (#"{"clientId":"a","redirectUris":["http://a.example/"]}"#, "redirectUris must be https"),
    ],
    "google/clients": [
        (#"{"clientId":"a","redirectUris":[]}"#, "clientSecret is missing"),
        (#"{"clientId":"a","redirectUris":[],"deleted":true}"#, "exclude each other"),
        (#"{"clientId":"a"}"#, "clientSecret is missing"),
        (#"{"clientId":"a","clientSecret":"x","deleted":true}"#, "exclude each other"),
    ],
    "apple/auto": [
        ("{}", "person is missing"),
        (#"{"action":"agree"}"#, "action must be one of continue, cancel"),
        (#"{"action":"cancel","times":0}"#, "times must be a whole number"),
        (#"{"action":"cancel","clientId":"a b"}"#, "clientId must be"),
    ],
    "google/auto": [
        (#"{"action":"cancel","hideEmail":true}"#, "Unknown member hideEmail")
    ],
    "apple/browser": [
        ("{}", "autoSubmit is missing")
    ],
    "google/authorize": [
        (#"{"person":"k","clientId":"a","serverClientId":"a b"}"#, "serverClientId must be"),
        (#"{"person":"k","clientId":"a","forceConsent":1}"#, "forceConsent must be"),
        (#"{"person":"kim","clientId":"a","azp":1}"#, "azp must be"),
    ],
    "google/persons": [
        (#"{"name":"kim","hidesEmail":true}"#, "Unknown member hidesEmail")
    ],
    "google/keys/rotate": [
        (#"{"now":true}"#, "Unknown member now. Known here: none")
    ],
    "apple/keys/cache-control": [
        ("{}", "value is missing"),
        (#"{"value":"a\r\nb: c"}"#, "value must be"),
    ],
    "clock/set": [
        (#"{"now":"yesterday"}"#, "now must be an RFC 3339 time"),
        (#"{"now":"99999-01-01T00:00:00Z"}"#, "now must be an RFC 3339 time"),
    ],
    "clock/advance": [
        (#"{"seconds":1.5}"#, "seconds must be a whole number"),
        (#"{"seconds":9223372036854775807}"#, "seconds must be a whole number"),
        (#"{"seconds":253402300799}"#, "out of the years"),
    ],
    "apple/events": [
        (#"{"clientId":"a","type":"x"}"#, "One of person and subject"),
        (#"{"clientId":"a","type":"x","person":"k","subject":"s"}"#, "One of person and subject"),
        (#"{"clientId":"a","subject":"s"}"#, "type is missing"),
        (#"{"clientId":"a","subject":"s","type":"x","form":"array"}"#, "form must be one of string, object"),
        (#"{"clientId":"a","subject":"s","type":"x","unit":"days"}"#, "unit must be one of milliseconds, seconds"),
        (#"{"clientId":"a","subject":"s","type":"x","eventTime":1}"#, "eventTime must be"),
        (#"{"clientId":"a","subject":"s","type":"x","eventTime":"now"}"#, "eventTime must be an RFC 3339 time"),
        (#"{"clientId":"a","subject":"s","type":"x","deliveries":2}"#, "deliveries has no meaning without target"),
        (
            #"{"clientId":"a","subject":"s","type":"x","target":"http://127.0.0.1/","deliveries":0}"#,
            "deliveries must be"
        ),
        (#"{"clientId":"a","subject":"s","type":"x","target":"https://127.0.0.1/"}"#, "target must be"),
        (#"{"clientId":"a","subject":"s","type":"x","target":"http://a.example/"}"#, "target must be"),
        (#"{"clientId":"a","subject":"s","type":"x","target":"http://127.0.0.1.a.example/"}"#, "target must be"),
        (#"{"clientId":"a","subject":"s","type":"x","target":"http://0.0.0.0/"}"#, "target must be"),
        (#"{"clientId":"a","subject":"s","type":"x","token":{"sig":1}}"#, "Unknown member token.sig"),
    ],
    "google/events": [
        (#"{"clientId":"a","type":"x","person":"k","subject":"s"}"#, "One of person, subject and refreshToken"),
        (
            #"{"clientId":"a","type":"x","subject":"s","identifier":"prefix"}"#,
            "One of person, subject and refreshToken"
        ),
        (#"{"clientId":"a","type":"x","refreshToken":"t"}"#, "One of person, subject and refreshToken"),
        (#"{"clientId":"a","type":"x","refreshToken":"t","identifier":"sha1"}"#, "identifier must be one of"),
        (#"{"clientId":"a","type":"x","subject":"s","subjectType":"email"}"#, "subjectType must be one of"),
        (#"{"clientId":"a","subject":"s"}"#, "type is missing"),
        (#"{"clientId":"a","type":"x","subject":"s","trailingSlash":1}"#, "trailingSlash must be true or false"),
        (#"{"clientId":"a","type":"x","subject":"s","target":"http://10.0.0.1/"}"#, "target must be"),
    ],
    "google/linking": [
        (#"{\#(linking)}"#, "server is missing"),
        (#"{"server":"http://127.0.0.1:1"}"#, "clientId is missing"),
        (#"{\#(linking),"server":"http://auth.example.com"}"#, "server must be an https: URL, or an http: URL"),
        (#"{\#(linking),"server":"https://kim@auth.example.com"}"#, "server must be"),
        (#"{\#(linking),"server":"https://auth.example.com?a=b"}"#, "server must be"),
        (#"{\#(linking),"server":"ftp://127.0.0.1"}"#, "server must be"),
        (#"{\#(linking),"server":"https://a.example","flipLink":"lamp:/flip"}"#, "flipLink must be"),
        (#"{"server":"https://a.example","clientId":"c","clientSecret":"s","project":"a/b"}"#, "project must be"),
        (#"{\#(linking),"server":"https://a.example","secret":"s"}"#, "Unknown member secret"),
    ],
    "google/service-accounts": [
        (#"{"keyId":"k","publicKey":"x"}"#, "email is missing"),
        (#"{"email":"a@b","keyId":"k","publicKey":"x"}"#, "publicKey must be an RSA key"),
        (#"{"email":"a@b","keyId":"k","publicKey":{"kty":"EC"}}"#, "publicKey must be an RSA key"),
        (#"{"email":"a@b","keyId":"k","publicKey":"x","revoked":true}"#, "exclude each other"),
    ],
    "receiver": [
        (#"{"secrets":["whsec_"]}"#, "secrets must be of the form"),
        (#"{"secrets":["whsec_%"]}"#, "secrets must be of the form"),
        (#"{"secrets":["whpk_AAAA"]}"#, "secrets must be of the form"),
        (#"{"secrets":["whsk_AAAA"]}"#, "secrets must be of the form"),
        (#"{"secrets":["secret"]}"#, "secrets must be of the form"),
        (#"{"secrets":[""]}"#, "secrets must be of the form"),
    ],
    "reset": [
        (#"{"all":true}"#, "Unknown member all")
    ],
]

private let linking = #""clientId":"c","clientSecret":"s","project":"p""#

@Suite(.fixture(Sandbox.self)) struct ControlTests {
    private var sandbox: Sandbox { .current }

    @Test(.sharedSandbox, arguments: faults.flatMap { path, rows in rows.map { (path, $0.0, $0.1) } })
    func `a control request with a fault in it is refused and says which`(
        _ path: String, _ body: String, _ message: String
    ) async throws {
        let refusal = try await sandbox.refusal(path, body)
        #expect(refusal.status == 400)
        #expect(refusal.error == "invalid_request")
        #expect(refusal.message?.contains(message) == true, "\(refusal.message ?? "")")
    }

    @Test(.sharedSandbox) func `persons, keys, tokens and paths that do not exist are not found`() async throws {
        let apple = try await sandbox.refusal("apple/authorize", #"{"person":"nobody","clientId":"a"}"#)
        #expect(apple.status == 404)
        #expect(apple.message?.contains("There is no Apple person nobody") == true)
        let google = try await sandbox.refusal("google/authorize", #"{"person":"nobody","clientId":"a"}"#)
        #expect(google.status == 404)
        #expect(try await sandbox.get("/control/apple/persons/nobody").status == 404)
        #expect(try await sandbox.get("/control/google/persons/nobody").status == 404)
        for (path, body, message) in [
            ("apple/teams", #"{"teamId":"T","keyId":"K","revoked":true}"#, "Team T has no key K"),
            ("google/clients", #"{"clientId":"nobody","deleted":true}"#, "There is no client nobody"),
            ("google/withdraw", #"{"person":"nobody","clientId":"a"}"#, "nobody has not authorized a"),
            ("google/service-accounts", #"{"email":"a@b","keyId":"k","revoked":true}"#, "a@b has no key k"),
            ("apple/events", #"{"clientId":"a","type":"x","person":"nobody"}"#, "no Apple person nobody"),
            ("google/events", #"{"clientId":"a","type":"x","person":"nobody"}"#, "no Google person nobody"),
            (
                "google/events", #"{"clientId":"a","type":"x","person":"nobody","identifier":"prefix"}"#,
                "nobody has never had a refresh token of a"
            ),
            (
                "google/events",
                #"{"clientId":"a","type":"x","refreshToken":"sha256:0123456789abcdef","identifier":"prefix"}"#,
                "no refresh token of the fingerprint sha256:0123456789abcdef"
            ),
        ] {
            let refusal = try await sandbox.refusal(path, body)
            #expect(refusal.status == 404, "\(path)")
            #expect(refusal.message?.contains(message) == true, "\(refusal.message ?? "")")
        }
        let unknown = try await sandbox.refusal("apple/nothing", "{}")
        #expect(unknown.status == 404)
        #expect(unknown.message?.contains("POST /control/apple/nothing") == true)
    }

    @Test(.sharedSandbox) func `a control request of more than a mebibyte is too large`() async throws {
        let body = #"{"name":"\#(String(repeating: "a", count: 1 << 20))"}"#
        let refusal = try await sandbox.refusal("apple/persons", body)
        #expect(refusal.status == 413)
        #expect(refusal.error == "too_large")
    }

    @Test func `persons and clients can be read back`() async throws {
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

    @Test func `the clock stands, moves, runs and follows the system again`() async throws {
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

    @Test func `a reset brings back the start`() async throws {
        let keys = try await sandbox.keySet(.google).keyIDs
        try await sandbox.addApplePerson("kim")
        try await sandbox.setClock("2026-01-01T12:00:00Z")
        try await sandbox.fail("/google/*", .status(500))
        try await sandbox.rotateKeys(.google)
        try await sandbox.registerAppleKey(keyID: "FIRST", P256PrivateKey())
        try await sandbox.registerGoogleClient("web", secret: "secret")
        try await sandbox.reset()
        for registered in ["apple/teams", "apple/clients", "google/clients"] {
            #expect(try await sandbox.control(registered)["items"]?.elements?.isEmpty == true, "\(registered)")
        }
        #expect(try await sandbox.history().isEmpty)
        #expect(try await sandbox.keySet(.google).keyIDs == keys)
        #expect(try await sandbox.control("apple/persons")["items"]?.elements?.isEmpty == true)
        #expect(try await sandbox.control("clock")["running"]?.bool == true)
        #expect(try await sandbox.control("faults")["items"]?.elements?.isEmpty == true)
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
