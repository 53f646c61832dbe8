import Curl
import JOSE
import JSON
import OpenSSL
import TestSupport
import Testing

private let faults = Result { try DataFile("Fixtures/control-faults.tsv").rows }

@Suite(.fixture(Sandbox.self)) struct ControlTests {
    private var sandbox: Sandbox { .current }

    @Test(.sharedSandbox, arguments: try faults.get() + [["apple/persons", "\u{FEFF}{}", "not a JSON object"]])
    func `a control request with a fault in it is refused and says which`(_ row: [String]) async throws {
        let (path, body, message) = (row[0], row[1], row[2])
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
        for row in try DataFile("Fixtures/control-missing.tsv").rows {
            let refusal = try await sandbox.refusal(row[0], row[1])
            #expect(refusal.status == 404, "\(row[0])")
            #expect(refusal.message?.contains(row[2]) == true, "\(refusal.message ?? "")")
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
