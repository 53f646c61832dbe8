import Accounts
import Foundation
import OpenSSL
import TestSupport
import Testing

/// `countersign token verify`, as a process, on tokens that Apple and Google really signed.
@Suite struct TokenVerifyTests {
    /// One of Apple's.
    private let token: Vectors.RealToken

    init() throws { token = try #require(try Vectors.realIDTokens.first) }

    private static func path(_ name: String) -> String {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Vectors/jwks/\(name)").path
    }

    private static func provider(of token: Vectors.RealToken) -> String {
        token.issuer.contains("apple") ? "apple" : "google"
    }

    /// The options under which a real token is valid; a test changes one of them.
    private static func options(
        for token: Vectors.RealToken, provider: String? = nil, clientID: String? = nil, jwks: String? = nil,
        at time: Int64? = nil
    ) throws -> [String] {
        let keySet = try #require(token.keySets.first)
        return [
            "token", "verify", "--provider", provider ?? Self.provider(of: token), "--client-id",
            clientID ?? token.audience, "--jwks", jwks ?? path(keySet), "--at",
            Timestamp(seconds: time ?? token.issuedAt).rfc3339,
        ]
    }

    private static func refusal(_ reason: String) -> String { "{\"valid\":false,\"reason\":\"\(reason)\"}" }

    @Test(arguments: try Vectors.realIDTokens)
    func `a real token is valid in its own time, with the keys of that time`(token: Vectors.RealToken) async throws {
        // Google also published its keys as certificates, which are no key set.
        for keySet in token.keySets where !keySet.contains("legacy") {
            let run = try await CountersignProcess.run(
                Self.options(for: token, jwks: Self.path(keySet)) + [token.token])
            #expect(run.code == 0, "\(run.errors)")
            #expect(run.lines.count == 1)
            let answer = try #require(try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any])
            #expect(answer["valid"] as? Bool == true)
            #expect(answer["subject"] as? String == token.claims.sub)
            #expect(answer["email"] as? String == token.claims.email)
            #expect(answer["emailVerified"] as? Bool == (token.claims.email != nil))
            let claims = try #require(answer["claims"] as? [String: Any])
            #expect(claims["aud"] as? String == token.audience)
            #expect(claims["iat"] as? Int64 == token.issuedAt)
        }
    }

    /// The first one of each provider.
    @Test(arguments: [("apple", "google"), ("google", "apple")])
    func `a real token is refused when one thing is not its own`(provider: String, other: String) async throws {
        let token = try #require(try Vectors.realIDTokens.first { Self.provider(of: $0) == provider })
        let otherKeys = Self.path("\(other)_2024-06-05.json")
        let cases: [(options: [String], reason: String)] = [
            (try Self.options(for: token, at: token.expiresAt + 60), "expired"),
            (try Self.options(for: token, at: token.issuedAt - 61), "not_yet_valid"),
            (try Self.options(for: token, clientID: token.audience + "x"), "audience_rejected"),
            (try Self.options(for: token, clientID: String(token.audience.dropLast())), "audience_rejected"),
            (try Self.options(for: token, jwks: otherKeys), "key_unknown"),
            (try Self.options(for: token, provider: other), "issuer_rejected"),
            (try Self.options(for: token) + ["--nonce", "n"], "nonce_missing"),
        ]
        for (options, reason) in cases {
            let run = try await CountersignProcess.run(options + [token.token])
            #expect(run.output == Self.refusal(reason) + "\n", "\(options) \(run.errors)")
            #expect(run.code == 1)
        }
    }

    @Test func `lines are tokens, with or without a last line feed`() async throws {
        let options = try Self.options(for: token)
        let unended = try await CountersignProcess.run(options, input: "\n\(token.token)")
        #expect(unended.lines.count == 2)
        #expect(unended.lines.first == Substring(Self.refusal("malformed")))
        #expect(unended.lines.last?.hasPrefix("{\"valid\":true") == true)
        let ended = try await CountersignProcess.run(options, input: "\(token.token)\n")
        #expect(ended.lines.count == 1)
        #expect(ended.code == 0)
        let nothing = try await CountersignProcess.run(options, input: "")
        #expect(nothing.output.isEmpty)
        #expect(nothing.code == 0)
        // More than is read of a line.
        let long = try await CountersignProcess.run(options, input: String(repeating: ".", count: 20_000))
        #expect(long.output == Self.refusal("too_large") + "\n")
    }

    @Test func `an answer comes before the next token is asked for`() async throws {
        let process = Process()
        process.executableURL = try CountersignProcess.executable
        process.arguments = try Self.options(for: token)
        process.environment = [:]
        let (stdin, stdout) = (Pipe(), Pipe())
        process.standardInput = stdin
        process.standardOutput = stdout
        try process.start()
        for _ in 0..<3 {
            try stdin.fileHandleForWriting.write(contentsOf: Data("\(token.token)\n".utf8))
            // Blocks for ever if the answer depends on more input.
            let answer = stdout.fileHandleForReading.availableData
            #expect(String(decoding: answer, as: UTF8.self).hasPrefix("{\"valid\":true"))
        }
        try stdin.fileHandleForWriting.close()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }

    @Test func `a hundred thousand tokens are answered in order and in little memory`() async throws {
        let broken = String(token.token.dropLast(4)) + "AAAA"
        let padding = String(repeating: "a", count: 900)
        var input = Data()
        var expected: [Bool] = []
        for index in 0..<100_000 {
            let isReal = index % 37 == 0
            input.append(contentsOf: (isReal ? token.token : index % 11 == 0 ? broken : padding).utf8)
            input.append(0x0A)
            expected.append(isReal)
        }
        // 64 MiB of heap and stacks for an input of 88 MiB: it can't be held.
        #expect(input.count > 80 << 20)
        let limited = try [
            "-c", "ulimit -s 1024; ulimit -d 65536; exec \"$0\" \"$@\"", CountersignProcess.executable.path,
        ]
        let run = try await FinishedProcess.run(
            URL(filePath: "/bin/sh"), limited + Self.options(for: token), environment: [:], input: input)
        #expect(run.code == 1, "\(run.errors)")
        #expect(run.lines.map { $0.hasPrefix("{\"valid\":true") } == expected)
    }

    @Test func `a signature alone is believed for any kind of JWS, and nothing in it is read`() async throws {
        let keySet = Self.path(try #require(token.keySets.first))
        let tampered = String(token.token.dropLast(4)) + "AAAA"
        let run = try await CountersignProcess.run(
            ["token", "verify", "--signature-only", "--jwks", keySet, token.token, tampered, ""])
        #expect(run.output == "{\"valid\":true}\n\(Self.refusal("signature_mismatch"))\n\(Self.refusal("malformed"))\n")
        #expect(run.code == 1)
        let notification = try #require(try Vectors.realAppleNotifications.first)
        let kinds = try await CountersignProcess.run(
            [
                "token", "verify", "--signature-only", "--jwks", Self.path(try #require(notification.keySets.first)),
                notification.token,
            ])
        #expect(kinds.output == "{\"valid\":true}\n")
        #expect(kinds.code == 0)
        let mint = try TokenMint.shared
        let logout = try mint.token([:], header: mint.header(.rs256).with("typ", "logout+jwt"))
        let keys = FileManager.default.temporaryDirectory.appending(path: "jwks-\(UUID().uuidString)")
        try Data(mint.keySetDocument).write(to: keys)
        defer { try? FileManager.default.removeItem(at: keys) }
        let other = try await CountersignProcess.run(
            ["token", "verify", "--signature-only", "--jwks", keys.path, String(decoding: logout, as: UTF8.self)])
        #expect(other.output == "{\"valid\":true}\n")
    }

    @Test(arguments: try Vectors.realAppleNotifications)
    func `a notification is no identity token`(token: Vectors.RealToken) async throws {
        let run = try await CountersignProcess.run(Self.options(for: token) + [token.token])
        #expect(run.output == Self.refusal("event_token") + "\n")
    }

    @Test(arguments: ["{\"keys\":[]}", "not json", "", "{\"keys\":[{\"kty\":\"oct\",\"kid\":\"a\",\"k\":\"AAAA\"}]}"])
    func `a key set file without a usable key leaves every key unknown`(document: String) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "jwks-\(UUID().uuidString)")
        try Data(document.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let run = try await CountersignProcess.run(
            Self.options(for: token, jwks: file.path) + [token.token, token.token])
        #expect(run.output == "\(Self.refusal("key_unknown"))\n\(Self.refusal("key_unknown"))\n")
        #expect(run.code == 1)
    }

    @Test func `the configured client IDs and issuers count when none is given`() async throws {
        let arguments = [
            "token", "verify", "--provider", "apple", "--jwks", Self.path(try #require(token.keySets.first)), "--at",
            Timestamp(seconds: token.issuedAt).rfc3339, token.token,
        ]
        let clients = ["COUNTERSIGN_APPLE_CLIENT_IDS": "com.example.other, \(token.audience)"]
        #expect(try await CountersignProcess.run(arguments, environment: clients).code == 0)
        let issuers = clients.merging(["COUNTERSIGN_APPLE_ISSUERS": "https://apple.example"]) { $1 }
        let refused = try await CountersignProcess.run(arguments, environment: issuers)
        #expect(refused.output == Self.refusal("issuer_rejected") + "\n")
    }

    @Test(
        arguments: [
            (["--provider", "apple", "x"], "--client-id"),
            (["--provider", "apple", "--client-id", "a", "--jwks", "/nowhere", "x"], "/nowhere"),
            (["--provider", "apple", "--client-id", "a", "--config", "/nowhere", "x"], "/nowhere"),
        ] as [([String], String)])
    func `a command line that names what there is not is a usage error of one sentence`(
        arguments: [String], word: String
    ) async throws {
        let run = try await CountersignProcess.run(["token", "verify"] + arguments).ended(2)
        #expect(run.output.isEmpty)
        #expect(run.errors.hasPrefix("countersign: "))
        #expect(run.errors.contains(word))
        #expect(run.errors.split(separator: "\n").count == 1)
    }

    @Test func `help says that an audience comes from the command line or the configuration`() async throws {
        let help = try await CountersignProcess.run(["token", "verify", "--help"])
        let words = help.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.contains("Else the configured ones; one is needed, but for --signature-only."), "\(words)")
    }

    @Test func `a provider whose keys can't be had is said to be unavailable`() async throws {
        // Port 9 is for the discard service; nothing answers HTTP there.
        let run = try await CountersignProcess.run(
            [
                "token", "verify", "--provider", "apple", "--client-id", token.audience, "--at",
                Timestamp(seconds: token.issuedAt).rfc3339, token.token,
            ], environment: ["COUNTERSIGN_APPLE_KEYS_URL": "http://127.0.0.1:9/keys"])
        #expect(run.output == Self.refusal("keys_unavailable") + "\n")
        #expect(run.code == 1)
        // In the form of the service's log for terminals.
        #expect(run.errors.contains("Z warning key set not refreshed provider=apple reason="), "\(run.errors)")
    }

    @Test func `that keys were fetched is nothing to say`() async throws {
        let document = [UInt8](try Data(contentsOf: URL(filePath: Self.path(try #require(token.keySets.first)))))
        let server = try LoopbackServer { _ in [.respond(body: document)] }
        let run = try await CountersignProcess.run(
            [
                "token", "verify", "--provider", "apple", "--client-id", token.audience, "--at",
                Timestamp(seconds: token.issuedAt).rfc3339, token.token,
            ], environment: ["COUNTERSIGN_APPLE_KEYS_URL": server.url + "/keys"])
        #expect(run.code == 0, "\(run.output)")
        #expect(server.history.requests.count == 1)
        #expect(run.errors.isEmpty, "\(run.errors)")
    }
}
