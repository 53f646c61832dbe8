import Accounts
import Foundation
import KeyRing
import OpenSSL
import Postgres
import Primitives
import Storage
import TestSupport
import Testing

@testable import countersign

/// The findings of the doctor, each of them provoked.
@Suite(.timeLimit(.minutes(3))) struct DoctorTests {
    /// A clock that is wrong.
    private struct SkewedClock: WallClock {
        let seconds: Int64
        func now() -> Timestamp { SystemClock().now().advanced(bySeconds: seconds) }
    }

    /// What a service beside the sandbox needs, in variables.
    private static func variables(_ scratch: ScratchDatabase, _ sandbox: Sandbox) throws -> [String: String] {
        [
            "COUNTERSIGN_POSTGRES_URL": scratch.url, "COUNTERSIGN_POSTGRES_POOL_SIZE": "4",
            "COUNTERSIGN_APPLE_CLIENT_IDS": Countersign.appleClient, "COUNTERSIGN_APPLE_KEYS_URL": sandbox.appleKeysURL,
            "COUNTERSIGN_APPLE_TOKEN_URL": sandbox.appleTokenURL,
            "COUNTERSIGN_APPLE_REVOKE_URL": sandbox.appleRevokeURL,
            "COUNTERSIGN_GOOGLE_CLIENT_IDS": Countersign.googleClient,
            "COUNTERSIGN_GOOGLE_KEYS_URL": sandbox.googleKeysURL,
            "COUNTERSIGN_GOOGLE_RISC_CONFIGURATION_URL": "http://127.0.0.1:1/",
            "COUNTERSIGN_KEYRING_PATH": try Countersign.keyRingPath.get(),
            "COUNTERSIGN_SERVER_PORT": "1", "COUNTERSIGN_ADMIN_PORT": "2",
        ]
    }

    private static func examine(
        _ variables: [String: String], clock: any WallClock = SystemClock(), timeout: Duration = .seconds(60)
    ) async throws -> [Finding] {
        try await Doctor.with(variables, clock: clock, timeout: timeout) { await $0.examine() }
    }

    private static func run(
        _ body: (_ scratch: ScratchDatabase, _ sandbox: Sandbox, _ variables: [String: String]) async throws -> Void
    ) async throws {
        try await ScratchDatabase.withMigrated { scratch in
            try await Sandbox.run { sandbox in try await body(scratch, sandbox, try variables(scratch, sandbox)) }
        }
    }

    private static func appleKey() throws -> String { String(decoding: try P256PrivateKey().pem(), as: UTF8.self) }

    @Test func `beside a service that runs, everything but what the test cluster lacks is sound`() async throws {
        try await Self.run { scratch, sandbox, variables in
            var variables = variables
            let directory = try ScratchDirectory()
            defer { directory.remove() }
            variables["COUNTERSIGN_APPLE_TEAM_ID"] = "ABCDE12345"
            variables["COUNTERSIGN_APPLE_KEY_ID"] = "FGHIJ67890"
            variables["COUNTERSIGN_APPLE_PRIVATE_KEY_PATH"] = try directory.write("apple.p8", Self.appleKey())
            try await Countersign.serve(["postgres.url": scratch.url, "apple.keysUrl": sandbox.appleKeysURL]) {
                service in
                variables["COUNTERSIGN_SERVER_PORT"] = "\(service.port)"
                var findings = try await Self.examine(variables)
                // A busy machine's answers come late.
                for _ in 0..<5 where findings.contains(where: { $0.detail.contains("timed_out") }) {
                    findings = try await Self.examine(variables)
                }
                for check in [
                    CheckName.configuration, .listeners, .database, .schema, .connections, .pooler, .keyRing,
                    .appleTeams, .appleSecret,
                    .appleKeys, .googleKeys, .appleEndpoints, .mail, .publicURL,
                ] {
                    let found = findings.filter { $0.check == check }
                    #expect(found.map(\.status) == [.ok], "\(check): \(found.map(\.line))")
                }
                // On a busy machine the comparison of the clocks takes seconds and may end as a warning.
                #expect(findings.filter { $0.check == .clock }.status < .failure)
                #expect(findings.map(\.check) == findings.map(\.check).sorted { $0.place < $1.place })

                variables["COUNTERSIGN_TOKENS_ISSUER"] = "https://elsewhere.example"
                let other = try await Self.examine(variables).filter { $0.check == .publicURL }
                #expect(other.map(\.status) == [.failure])
                #expect(other[0].detail.contains("another issuer"))
            }
        }
    }

    @Test func `a provider that can't be reached is a failure, an odd key name or variable a warning`() async throws {
        try await Self.run { _, sandbox, variables in
            var variables = variables
            variables["COUNTERSIGN_APPLE_KEYS_URL"] = "http://127.0.0.1:1/"
            variables["COUNTERSIGN_GOOGLE_KEYS_URL"] = sandbox.appleTokenURL
            variables["COUNTERSIGN_APPLE_TOKEN_URL"] = "http://127.0.0.1:1/token"
            variables["COUNTERSIGN_APPEL_TEAM_ID"] = "main"
            variables["COUNTERSIGN_APPLE_TEAM_ID"] = "main"
            variables["COUNTERSIGN_APPLE_KEY_ID"] = "FGHIJ67890"
            let directory = try ScratchDirectory()
            defer { directory.remove() }
            variables["COUNTERSIGN_APPLE_PRIVATE_KEY_PATH"] = try directory.write("apple.p8", Self.appleKey())
            let findings = try await Self.examine(variables)
            func found(_ check: CheckName) -> [Finding] { findings.filter { $0.check == check } }
            #expect(found(.configuration).map(\.status) == [.ok, .warning])
            #expect(found(.configuration)[1].detail.hasPrefix("COUNTERSIGN_APPEL_TEAM_ID belongs to no key; did you "))
            #expect(found(.appleKeys).map(\.status) == [.failure])
            #expect(found(.googleKeys).map(\.status) == [.failure])
            #expect(found(.appleEndpoints).map(\.status) == [.failure])
            #expect(found(.appleEndpoints)[0].detail.contains("/token can't be reached"))
            #expect(found(.appleSecret).map(\.status) == [.warning])
            #expect(found(.googleEvents).map(\.status) == [.warning])
            // Nothing runs on that port.
            #expect(found(.publicURL).map(\.status) == [.warning])
        }
    }

    @Test func `a team that has people and no name is a warning, with their number`() async throws {
        try await Self.run { scratch, _, variables in
            try await scratch.execute(
                """
                WITH a AS (
                    INSERT INTO accounts (account_id, created_at)
                    SELECT gen_random_uuid(), now() FROM generate_series(1, 5)
                    RETURNING account_id
                )
                INSERT INTO identities (identity_id, account_id, provider, realm, subject, created_at)
                SELECT account_id, account_id, CASE row_number() OVER () WHEN 1 THEN 'google' ELSE 'apple' END,
                    CASE row_number() OVER () WHEN 1 THEN 'none' WHEN 2 THEN 'main' WHEN 3 THEN 'beta' ELSE 'old' END,
                    account_id::text, now()
                FROM a
                """)
            var variables = variables
            variables["COUNTERSIGN_APPLE_TEAMS"] = "main,new"
            variables["COUNTERSIGN_APPLE_TEAM_NEW_CLIENT_IDS"] = "com.example.new"
            let found = try await Doctor.with(variables) { await $0.appleTeams() }
            #expect(found.map(\.status) == [.warning, .warning])
            #expect(
                found.map(\.detail) == [
                    "apple.teams has no team beta, and its people are unknown; their identities: 1",
                    "apple.teams has no team old, and its people are unknown; their identities: 2",
                ])
        }
    }

    /// A key ring of these lines, each of 32 bytes with that value.
    static func ring(_ lines: KeyValuePairs<String, UInt8>) -> String {
        lines.map { "\($0) \(Data(repeating: $1, count: 32).base64EncodedString())\n" }.joined()
    }

    private static func keyRing(
        _ variables: [String: String], _ lines: KeyValuePairs<String, UInt8>
    ) async throws -> [Finding] {
        var variables = variables
        let directory = try ScratchDirectory()
        defer { directory.remove() }
        variables["COUNTERSIGN_KEYRING_PATH"] = try directory.write("keyring", ring(lines))
        return try await examine(variables).filter { $0.check == .keyRing }
    }

    /// A signing key and a provider's refresh token.
    static func seal(_ scratch: ScratchDatabase, _ keyRing: KeyRing) async throws {
        let id = GrantID(now: SystemClock().now())
        let token = try keyRing.seal(
            Array("token".utf8), for: .grants,
            at: SealedLocation(table: "provider_grants", row: id.description, column: "sealed_refresh_token"))
        let signingKey = try keyRing.seal(
            Array("key".utf8), for: .signing, at: StoredSigningKey.location(keyID: "signing"))
        let script = try DataFile("Fixtures/sealed-values.sql").text.replacing(":grant", with: id.description)
            .replacing(":sealed_token", with: Hexadecimal.encode(token))
            .replacing(":sealed_key", with: Hexadecimal.encode(signingKey))
        try await scratch.withPool { try await $0.run(script: script) }
    }

    @Test func `a line that the ring lacks is named, and one that has other bytes`() async throws {
        try await Self.run { scratch, _, variables in
            try await Self.seal(scratch, try KeyRing(parsing: Self.ring(["k1": 1])))
            let whole = try await Self.keyRing(variables, ["k1": 1, "ancient": 9])
            #expect(whole.map(\.status) == [.ok])
            #expect(whole[0].detail == "2 keys, k1 writes")
            let older = try await Self.keyRing(variables, ["k2": 2, "k1": 1, "ancient": 9])
            #expect(older.map(\.status) == [.ok])
            #expect(older[0].detail.contains("refresh tokens of providers under k1, signing keys under k1"))
            let sealsAlone = try await Self.keyRing(variables, ["k1": 1])
            #expect(sealsAlone.map(\.status) == [.warning])
            #expect(sealsAlone[0].detail == "lacks the key ancient, under which there are audit seals")
            let lacking = try await Self.keyRing(variables, ["k2": 2, "ancient": 9])
            #expect(
                lacking.map(\.detail) == [
                    "lacks the key k1, under which there are refresh tokens of providers",
                    "lacks the key k1, under which there are signing keys",
                ])
            #expect(lacking.map(\.status) == [.failure, .failure])
            let other = try await Self.keyRing(variables, ["k1": 3, "ancient": 9])
            #expect(other.map(\.status) == [.failure, .failure])
            #expect(other[0].detail.hasPrefix("the line k1 is not the one that sealed refresh tokens of providers, "))
            #expect(other[1].detail == "the line k1 is not the one that sealed signing keys, signing among them")
        }
    }

    @Test func `a value in no known form is named, and costs the check nothing else`() async throws {
        try await Self.run { scratch, _, variables in
            try await Self.seal(scratch, try KeyRing(parsing: Self.ring(["k1": 1])))
            try await scratch.execute("UPDATE provider_grants SET sealed_refresh_token = '\\x01'")
            let findings = try await Self.keyRing(variables, ["k1": 1])
            #expect(findings.map(\.status) == [.failure, .warning])
            #expect(findings[0].detail.hasSuffix("is sealed in no form that this version knows"))
        }
    }

    @Test func `a database that doesn't get to its grants in time costs the key ring's check alone`() async throws {
        try await Self.run { scratch, _, variables in
            let findings = try await scratch.withPool { database in
                try await database.transaction { transaction in
                    _ = try await transaction.execute("LOCK TABLE provider_grants IN ACCESS EXCLUSIVE MODE")
                    return try await Self.examine(variables, timeout: .seconds(30))
                }
            }
            for (check, status) in [(CheckName.database, Finding.Status.ok), (.schema, .ok), (.keyRing, .warning)] {
                #expect(findings.filter { $0.check == check }.map(\.status) == [status], "\(check)")
            }
            #expect(findings.contains { $0.check == .privileges })
            #expect(findings.contains { $0.check == .durability })
        }
    }

    @Test func `a database that may lose commits, or whose clock differs, is reported`() async throws {
        try await Self.run { scratch, _, variables in
            let name = try await scratch.texts("SELECT quote_ident(current_database())")[0]
            try await scratch.execute("ALTER DATABASE \(unsafeSQL: name) SET synchronous_commit = off")
            let findings = try await Self.examine(variables, clock: SkewedClock(seconds: 40))
            let durability = findings.filter { $0.check == .durability && $0.status == .failure }
            #expect(durability.contains { $0.detail.hasPrefix("synchronous_commit is off") })
            #expect(findings.filter { $0.check == .clock }.map(\.status) == [.failure])
            let skewed = try await Self.examine(variables, clock: SkewedClock(seconds: -5))
            #expect(skewed.filter { $0.check == .clock }.map(\.status) == [.warning])
        }
    }

    @Test func `what the service's role may not do, or need not, is named`() async throws {
        try await Self.run { scratch, _, variables in
            let role = "doctor_" + UUID().uuidString.replacing("-", with: "").lowercased()
            try await scratch.execute("CREATE ROLE \(unsafeSQL: role) LOGIN")
            var variables = variables
            variables["COUNTERSIGN_POSTGRES_URL"] =
                scratch.url + (scratch.url.contains("?") ? "&" : "?") + "user=\(role)"
            func privileges() async throws -> [Finding] {
                try await Self.examine(variables).filter { $0.check == .privileges }
            }
            var granting = variables
            granting["COUNTERSIGN_POSTGRES_MIGRATION_URL"] = scratch.url
            try await CountersignProcess.run(["migrate", "up"], environment: granting).ended()
            #expect(try await privileges().map(\.status) == [.ok])
            try await scratch.execute("GRANT CREATE ON SCHEMA public TO PUBLIC")
            let open = try await privileges()
            #expect(open.map(\.status) == [.warning])
            #expect(open[0].detail.hasSuffix("may create objects in the schema public"))
            #expect(open[0].advice?.contains("REVOKE CREATE ON SCHEMA public FROM PUBLIC") == true)
            try await scratch.execute(
                "REVOKE CREATE ON SCHEMA public FROM PUBLIC", "GRANT DELETE ON audit_events TO \(unsafeSQL: role)")
            let more = try await privileges()
            #expect(more.map(\.status) == [.warning])
            #expect(more[0].detail.hasSuffix("DELETE on audit_events"))
            try await scratch.execute("REVOKE INSERT ON sessions FROM \(unsafeSQL: role)")
            let less = try await privileges()
            #expect(less.map(\.status) == [.failure])
            #expect(less[0].detail.hasSuffix("lacks INSERT on sessions"))
            try await scratch.execute("DROP OWNED BY \(unsafeSQL: role)", "DROP ROLE \(unsafeSQL: role)")
        }
    }

    @Test func `the least of the limits on connections is named, and it is what has to be raised`() async throws {
        try await Self.run { scratch, _, variables in
            var variables = variables
            func found(pool: Int) async throws -> Finding {
                variables["COUNTERSIGN_POSTGRES_POOL_SIZE"] = "\(pool)"
                return try #require(try await Self.examine(variables).first { $0.check == .connections })
            }
            let name = try await scratch.texts("SELECT quote_ident(current_database())")[0]
            try await scratch.execute("ALTER DATABASE \(unsafeSQL: name) CONNECTION LIMIT 41")
            let database = try await found(pool: 40)
            #expect(database.status == .failure && database.detail.hasSuffix("the database's CONNECTION LIMIT for 41"))
            #expect(database.advice == "raise the database's CONNECTION LIMIT, or lower postgres.poolSize")
            let role = "doctor_" + UUID().uuidString.replacing("-", with: "").lowercased()
            try await scratch.execute("CREATE ROLE \(unsafeSQL: role) LOGIN CONNECTION LIMIT 40")
            variables["COUNTERSIGN_POSTGRES_URL"] =
                scratch.url + (scratch.url.contains("?") ? "&" : "?") + "user=\(role)"
            let own = try await found(pool: 30)
            try await scratch.execute("DROP ROLE \(unsafeSQL: role)")
            #expect(own.status == .warning && own.detail.hasSuffix("the role's CONNECTION LIMIT for 40"))
            #expect(own.advice?.contains("raise the role's CONNECTION LIMIT, or ") == true, "\(own.line)")
        }
    }

    @Test func `months without a partition of the audit trail are a warning`() async throws {
        try await Self.run { scratch, _, variables in
            func found() async throws -> [Finding] {
                try await Self.examine(variables).filter { $0.check == .auditPartitions }
            }
            try await scratch.withPool { try await $0.awaitLastingMonth() }
            try await scratch.execute("SELECT make_audit_partitions()")
            #expect(try await found().map(\.status) == [.ok])
            let names = try await scratch.texts(
                "SELECT to_char((now() AT TIME ZONE 'UTC') + interval '2 months', '\"audit_events_\"YYYY_MM')")
            try await scratch.execute("DROP TABLE \(unsafeSQL: names[0])")
            let missing = try await found()
            #expect(missing.map(\.status) == [.warning])
            #expect(missing[0].detail.hasSuffix(": 1"))
        }
    }

    @Test func `an old schema, a lost database and a faulty configuration are failures of the command`() async throws {
        try await ScratchDatabase.withFresh { scratch in
            var variables = [
                "COUNTERSIGN_POSTGRES_URL": scratch.url, "COUNTERSIGN_APPLE_CLIENT_IDS": "a",
                "COUNTERSIGN_APPLE_KEYS_URL": "http://127.0.0.1:1/",
                "COUNTERSIGN_KEYRING_PATH": try Countersign.keyRingPath.get(), "COUNTERSIGN_SERVER_PORT": "1",
            ]
            let empty = try await CountersignProcess.run(["doctor"], environment: variables).ended(1)
            let found = empty.lines.filter { $0.contains(" schema: ") || $0.contains("keyRing: ") }
            #expect(
                found == [
                    "failure schema: The database has no schema yet: run `countersign migrate up`; "
                        + "`countersign migrate status` shows all",
                    "note    keyRing: couldn't be compared with the database: the schema is not the one that this "
                        + "program needs",
                ], "\(empty.output)")
            #expect(!empty.output.contains("SQLSTATE"))
            #expect(empty.output.contains("ok      configuration: "))
            let order = ["failure", "warning", "ok", "note"]
            let statuses = empty.lines.map { line in order.firstIndex { line.hasPrefix($0 + " ") } ?? -1 }
            #expect(statuses == statuses.sorted(), "\(empty.output)")
            #expect(empty.lines.allSatisfy { $0.dropFirst(7).first == " " && $0.dropFirst(8).first?.isLetter == true })

            variables["COUNTERSIGN_POSTGRES_URL"] = "postgresql://a:canary-password@127.0.0.1:1/none"
            let lost = try await CountersignProcess.run(["doctor", "--json"], environment: variables).ended(1)
            #expect(!(lost.output + lost.errors).contains("canary"))
            let report = try #require(try JSONSerialization.jsonObject(with: Data(lost.output.utf8)) as? [String: Any])
            #expect(report["status"] as? String == "failure")
            let checks = try #require(report["checks"] as? [[String: String]])
            let database = try #require(checks.first { $0["name"] == "database" })
            #expect(database["status"] == "failure")
            #expect(database["advice"]?.isEmpty == false)

            variables["COUNTERSIGN_LOG_LEVEL"] = "canary-level"
            variables["COUNTERSIGN_KEYRING_PATH"] = "/nowhere"
            let faulty = try await CountersignProcess.run(["doctor"], environment: variables).ended(1)
            #expect(faulty.lines.count == 2, "\(faulty.output)")
            #expect(faulty.lines.allSatisfy { $0.hasPrefix("failure configuration: ") })
            #expect(!faulty.output.contains("canary"))
        }
    }

    @Test func `a database in which a capital beyond ASCII is no other case of a letter is a warning`() async throws {
        try await ScratchDatabase.withFresh(encoding: "UTF8") { scratch in
            let variables = [
                "COUNTERSIGN_POSTGRES_URL": scratch.url, "COUNTERSIGN_APPLE_CLIENT_IDS": "a",
                "COUNTERSIGN_KEYRING_PATH": try Countersign.keyRingPath.get(),
            ]
            let found = try await Doctor.with(variables) { await $0.database() }.filter { $0.check == .database }
            #expect(found.map(\.status) == [.warning] && found[0].detail.contains(", UTF8, in a locale without"))
        }
    }

    @Test func `a secret file in an open directory, an open listener and proxies without bound are warnings`()
        async throws
    {
        let directory = try ScratchDirectory()
        defer { directory.remove() }
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: directory.url.path)
        let ring = try directory.write("keyring", Self.ring(["k1": 1]))
        let variables = [
            "COUNTERSIGN_POSTGRES_URL": "postgresql://127.0.0.1:1/none", "COUNTERSIGN_APPLE_CLIENT_IDS": "a",
            "COUNTERSIGN_KEYRING_PATH": ring, "COUNTERSIGN_ADMIN_HOST": "0.0.0.0",
            "COUNTERSIGN_SERVER_TRUSTED_PROXIES": "0.0.0.0/0", "COUNTERSIGN_WEBHOOKS_ENDPOINTS": "crm",
            "COUNTERSIGN_WEBHOOKS_ENDPOINT_CRM_URL": "https://crm.example.com/hook",
            "COUNTERSIGN_WEBHOOKS_ENDPOINT_CRM_SECRET_PATH": try directory.write(
                "webhook-secrets", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"),
            "COUNTERSIGN_PASSWORDS_FIREBASE_SIGNER_KEY_PATH": try directory.write(
                "signer-key", Data(repeating: 7, count: 64).base64EncodedString()),
        ]
        try await Doctor.with(variables) { doctor in
            let files = await doctor.files()
            #expect(files.allSatisfy { $0.status == .warning } && files.count == 3, "\(files)")
            for key in ["keyring.path", "webhooks.endpoint.crm.secretPath", "passwords.firebase.signerKeyPath"] {
                #expect(files.contains { $0.detail.contains(" \(key):") }, "\(files)")
            }
            #expect(await doctor.listeners().map(\.status) == [.warning, .warning])
        }
    }

    @Test func `every check is in the manual`() throws {
        let page = URL(filePath: #filePath).appending(path: "../../../docs/operations/doctor.md").standardized
        let text = try String(contentsOf: page, encoding: .utf8)
        for check in CheckName.allCases { #expect(text.contains("| `\(check.rawValue)` |"), "\(check.rawValue)") }
    }
}

extension CheckName {
    fileprivate var place: Int { CheckName.allCases.firstIndex(of: self) ?? -1 }
}
