import Foundation
import Postgres
import TestSupport
import Testing

/// `countersign import` from the files of other systems, as their exporters write them.
@Suite struct ImportFileTests {
    private static let signerKey =
        "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=="
    private static let firebaseHash =
        "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ=="

    /// The report of a run, and each account with its identities and the beginning of its hash.
    private func run(
        _ words: [String], _ file: String, configuration: [String: String] = [:]
    ) async throws -> (report: [String], accounts: [String], errors: String, code: Int32) {
        try await ScratchDatabase.withMigrated { scratch in
            let directory = try ScratchDirectory()
            defer { directory.remove() }
            let path = try directory.write("export", file)
            let run = try await CountersignProcess.run(
                ["import", words[0], path, "--apple-team", "main"] + words.dropFirst(),
                environment: ImportCommandTests.environment(scratch).merging(configuration) { $1 })
            let accounts = try await ImportCommandTests.accounts(in: scratch)
            return (try ImportCommandTests.lines(run.output).map(\.words), accounts, run.errors, run.code)
        }
    }

    @Test func `Firebase's JSON, whose hashes come with the project's key and not without`() async throws {
        let file = """
            {"users":[{"localId":"f1","email":"kim@example.com","emailVerified":true,"passwordHash":"\(Self.firebaseHash)",
            "salt":"42xEC+ixf3L2lw==","displayName":"Kim","createdAt":"1600000000123","providerUserInfo":[
            {"providerId":"apple.com","rawId":"001.kim","email":"x@privaterelay.appleid.com"},{"providerId":"password"},
            {"providerId":"google.com","rawId":"109"},{"providerId":"gc.apple.com","rawId":"G:1"}]},
            {"localId":"f2","createdAt":"1600000000123","providerUserInfo":[]}]}
            """
        let directory = try ScratchDirectory()
        defer { directory.remove() }
        let key = try directory.write("signer", "\(Self.signerKey)\n")
        let person = "f1 kim@example.com stated Kim active 2020-09-13 12:26:40.123 apple:001.kim google:109"
        let with = try await run(
            ["firebase"], file, configuration: ["COUNTERSIGN_PASSWORDS_FIREBASE_SIGNER_KEY_PATH": key])
        #expect(
            with.report == ["1 f1 created identity_skipped:gc.apple.com", "2 f2 refused anonymous"], "\(with.errors)")
        #expect(with.accounts == ["\(person) firebase$42xEC"])
        let missing = "passwords.firebase.signerKeyPath is not set"
        #expect(!with.errors.contains(missing))
        let rehearsed = try await run(["firebase", "--dry-run"], file)
        #expect(rehearsed.errors.contains(missing) && rehearsed.errors.contains("no later run adds"))
        let skipping = try await run(["firebase", "--skip-passwords"], file)
        #expect(!skipping.errors.contains(missing))
        let without = try await run(["firebase"], file)
        #expect(without.errors.contains(missing))
        #expect(
            without.report == [
                "1 f1 created identity_skipped:gc.apple.com password_dropped:firebase", "2 f2 refused anonymous",
            ], "\(without.errors)")
        #expect(without.accounts == [person])
    }

    @Test func `Firebase's CSV`() async throws {
        var cells = [String](repeating: "", count: 52)
        for (index, cell) in [
            0: "f1", 1: "kim@example.com", 2: "false", 5: "\"Kim, K\"", 7: "109", 23: "1600000000123", 26: "true",
            28: "001.kim",
        ] { cells[index] = cell }
        let found = try await run(["firebase"], cells.joined(separator: ",") + ",\n")
        #expect(found.report == ["1 f1 created"], "\(found.errors)")
        #expect(
            found.accounts == [
                "f1 kim@example.com claimed Kim, K disabled 2020-09-13 12:26:40.123 apple:001.kim google:109"
            ])
    }

    @Test func `a password that Firebase names and the source has no hash of is noted`() async throws {
        let file = #"""
            {"users":[{"localId":"f1","email":"kim@example.com","providerUserInfo":[{"providerId":"password"}]},
            {"localId":"f2","email":"lee@example.com","providerUserInfo":[{"providerId":"google.com","rawId":"109"}]},
            {"localId":"f3","email":"ada@example.com","providerUserInfo":[{"providerId":"password"}],"passwordHash":"\#(Self.firebaseHash)","salt":"42xEC+ixf3L2lw=="}]}
            """#
        let missing = "of some people Firebase names a password"
        for words in [["firebase", "--dry-run"], ["firebase"], ["firebase", "--skip-passwords"]] {
            let found = try await run(words, file)
            #expect(
                found.report == [
                    "1 f1 created password_missing", "2 f2 created", "3 f3 created password_dropped:firebase",
                ], "\(found.errors)")
            #expect(found.errors.contains(missing) != words.contains("--skip-passwords"), "\(found.errors)")
        }
    }

    @Test func `an export of an older firebase-tools, without Apple's identities, is not taken for all`() async throws {
        func file(_ more: String) -> String {
            #"""
            {"users":[{"localId":"f1","email":"x@privaterelay.appleid.com","emailVerified":true,"providerUserInfo":[]}\#(more)]}
            """#
        }
        let unmet = "has an Apple identity, so --apple-team did nothing: an older firebase-tools"
        for words in [["firebase", "--dry-run"], ["firebase"]] {
            let found = try await run(words, file(""))
            #expect(found.report == ["1 f1 created identity_missing"], "\(found.errors)")
            #expect(found.errors.contains(unmet), "\(found.errors)")
        }
        let more =
            #",{"localId":"f2","providerUserInfo":[{"providerId":"apple.com","rawId":"001.lee"}]}"#
        let found = try await run(["firebase"], file(more))
        #expect(found.report == ["1 f1 created identity_missing", "2 f2 created"], "\(found.errors)")
        #expect(!found.errors.contains("--apple-team"), "\(found.errors)")

        let record = (0..<28).map { ($0 == 0 ? "f1" : "") + "," }.joined()
        let table = try await run(["firebase"], record + "\n")
        #expect(table.report.isEmpty && table.errors.contains("older firebase-tools"), "\(table.errors)")
    }

    @Test func `Auth0's lines, with the hashes merged in`() async throws {
        let found = try await run(
            ["auth0"],
            #"""
            {"user_id":"auth0|5f","email":"kim@example.com","email_verified":true,"name":"Kim","created_at":"2020-09-13T12:26:40.123Z","identities":[{"provider":"auth0","user_id":"5f"},{"provider":"google-oauth2","user_id":"109"},{"provider":"apple","user_id":"001.kim"},{"provider":"sms","user_id":"7"}],"passwordHash":"$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy"}

            {"user_id":"auth0|60"}
            """#)
        #expect(
            found.report == ["1 auth0|5f created identity_skipped:sms", "2 auth0|60 refused no_way_in"],
            "\(found.errors)")
        #expect(
            found.accounts == [
                "auth0|5f kim@example.com stated Kim active 2020-09-13 12:26:40 apple:001.kim google:109 $2b$10$N9qo8uL"
            ])
    }

    @Test func `a password that Auth0 has and its lines don't is noted, and is no difference to one that came`()
        async throws
    {
        try await ScratchDatabase.withMigrated { scratch in
            let hash = #","passwordHash":"$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy""#
            func run(_ words: [String] = [], hash: String = "") async throws -> FinishedProcess {
                let rows = #"""
                    {"user_id":"auth0|1","email":"kim@example.com","identities":[{"provider":"auth0","user_id":"1"}]\#(hash)}
                    {"user_id":"auth0|2","email":"lee@example.com"}
                    {"user_id":"email|3","email":"ada@example.com","identities":[{"provider":"email","user_id":"3"}]}
                    """#
                return try await ImportCommandTests.run(["auth0", "-"] + words, scratch, input: rows).ended()
            }
            let missing = "of some people Auth0 has a password"
            #expect(try await run(["--dry-run"]).errors.contains(missing))
            let skipping = try await run(["--dry-run", "--skip-passwords"])
            #expect(!skipping.errors.contains(missing), "\(skipping.errors)")
            let merged = try await run(hash: hash)
            #expect(
                try ImportCommandTests.lines(merged.output).map(\.words) == [
                    "1 auth0|1 created", "2 auth0|2 created password_missing", "3 email|3 created",
                ], "\(merged.errors)")
            #expect(merged.errors.contains("password_missing 1"), "\(merged.errors)")
            let again = try await run()
            #expect(
                try ImportCommandTests.lines(again.output).map(\.words) == [
                    "1 auth0|1 unchanged", "2 auth0|2 unchanged password_missing", "3 email|3 unchanged",
                ], "\(again.errors)")
        }
    }

    @Test(arguments: [false, true])
    func `a source that calls no address verified says so of all of them`(_ isVerified: Bool) async throws {
        let lacking = "the source calls no address verified"
        let field = isVerified ? #","email_verified":true"# : ""
        let rows = [
            #"{"user_id":"email|1","email":"kim@example.com"\#(field)}"#,
            #"{"user_id":"email|2","email":"lee@example.com"}"#,
        ]
        let degrees = isVerified ? ["  claimed 1\n", "  stated 1\n"] : ["  claimed 2\n"]
        for words in [["auth0", "--dry-run"], ["auth0"]] {
            let found = try await run(words, rows.joined(separator: "\n"))
            #expect(found.report == ["1 email|1 created", "2 email|2 created"], "\(found.errors)")
            #expect(degrees.allSatisfy { found.errors.contains($0) }, "\(found.errors)")
            #expect(found.errors.contains(lacking) != isVerified, "\(found.errors)")
        }
    }

    @Test func `an alias is the word of the note, and one that nothing is called by is said to do nothing`()
        async throws
    {
        let file = #"{"user_id":"oidc|siwa|001.kim","identities":[{"provider":"oidc","user_id":"siwa|001.kim"}]}"#
        let unnamed = try await run(["auth0", "--dry-run"], file)
        #expect(unnamed.report == ["1 oidc|siwa|001.kim refused no_way_in identity_skipped:siwa"], "\(unnamed.errors)")
        #expect(!unnamed.errors.contains("is called"), "\(unnamed.errors)")
        let wrong = try await run(["auth0", "--provider-alias", "oidc=apple"], file)
        #expect(wrong.report == unnamed.report && wrong.accounts.isEmpty)
        #expect(wrong.errors.contains("nothing in the source is called oidc"), "\(wrong.errors)")
        let named = try await run(["auth0", "--provider-alias", "siwa=apple"], file)
        #expect(named.report == ["1 oidc|siwa|001.kim created"], "\(named.errors)")
        #expect(!named.errors.contains("is called"), "\(named.errors)")
    }

    @Test func `Cognito's users, by their attribute sub`() async throws {
        let found = try await run(
            ["cognito"],
            #"""
            {"Users":[{"Username":"google_109","Attributes":[{"Name":"sub","Value":"c1"},{"Name":"email","Value":"kim@example.com"},
            {"Name":"email_verified","Value":"true"},{"Name":"identities","Value":"[{\"userId\":\"109\",\"providerName\":\"Google\",\"providerType\":\"Google\"},{\"userId\":\"001.Kim\",\"providerName\":\"SignInWithApple\",\"providerType\":\"SignInWithApple\"}]"}],
            "UserCreateDate":"2020-09-13T14:26:40.123000+02:00","Enabled":true}]}
            """#)
        #expect(found.report == ["1 c1 created"], "\(found.errors)")
        #expect(found.accounts == ["c1 kim@example.com stated active 2020-09-13 12:26:40 apple:001.Kim google:109"])
    }

    @Test(arguments: ["PaginationToken", "NextToken"])
    func `one page of Cognito's users says that more follow, and the last of them that all are in`(_ token: String)
        async throws
    {
        func page(_ id: String, _ more: String = "") -> String {
            #"{"Users":[{"Attributes":[{"Name":"sub","Value":"\#(id)"},{"Name":"email","Value":"\#(id)@example.com"}]}]\#(more)}"#
        }
        let next = #","\#(token)":"CAIS""#
        for (file, isWhole) in [
            (page("a", next), false), (page("a", next + #","ResponseMetadata":{"RetryAttempts":0}"#), false),
            (page("a", #","\#(token)":null,"Other":"x""#), true), (page("a", #","\#(token)":"""#), true),
            ("[\(page("a", next)),\(page("b"))]", true), ("[\(page("a")),\(page("b", next))]", false),
        ] as [(String, Bool)] {
            let found = try await run(["cognito"], file)
            #expect(found.report.first == "1 a created", "\(found.errors)")
            #expect(found.errors.contains("says that more follow") != isWhole, "\(file): \(found.errors)")
            #expect(found.errors.contains("all are in") == isWhole, "\(file): \(found.errors)")
            #expect(found.code == (isWhole ? 0 : 1), "\(file): \(found.errors)")
        }
    }

    @Test func `Keycloak's export, whose aliases are the realm's own`() async throws {
        let file = #"""
            {"realm":"shop","users":[{"id":"k1","createdTimestamp":1600000000123,"enabled":true,"emailVerified":true,
            "firstName":"Kim","lastName":"Example","email":"kim@example.com","credentials":[{"type":"password",
            "secretData":"{\"value\":\"JsfNbCOIdZUbyBJ+BT+VoGI91Ec2rWLOvkLPDaX8e9k=\",\"salt\":\"P5rtFkGtPfoaryJ6PizUJw==\"}",
            "credentialData":"{\"hashIterations\":27500,\"algorithm\":\"pbkdf2-sha256\"}"}],
            "federatedIdentities":[{"identityProvider":"siwa","userId":"001.kim"}]},
            {"id":"k2","serviceAccountClientId":"shop"},
            {"id":"k3","email":"lee@example.com","createdTimestamp":1600100000000,
            "federationLink":"8c1d6a02","credentials":[]}]}
            """#
        let person = "k1 kim@example.com stated Kim Example active 2020-09-13 12:26:40.123"
        let others = ["2 k2 refused anonymous", "3 k3 created password_missing"]
        let ofDirectory = "k3 lee@example.com claimed active 2020-09-14 16:13:20"
        let named = try await run(["keycloak", "--provider-alias", "siwa=apple"], file)
        #expect(named.report == ["1 k1 created"] + others, "\(named.errors)")
        #expect(named.accounts == ["\(person) apple:001.kim keycloak$pbkdf", ofDirectory])
        let unnamed = try await run(["keycloak"], file)
        #expect(unnamed.report == ["1 k1 created identity_skipped:siwa"] + others, "\(unnamed.errors)")
        #expect(unnamed.accounts == ["\(person) keycloak$pbkdf", ofDirectory])
        let alias = "--apple-team did nothing; where the WORD of a note identity_skipped:WORD is Apple's, give"
        #expect(unnamed.errors.contains(alias) && !named.errors.contains("--apple-team"), "\(unnamed.errors)")
    }

    @Test func `a bcrypt hash of Spring Security's comes, and one of another encoder is noted`() async throws {
        let hash = "$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy"
        let rows = ["{bcrypt}\(hash)", "{noop}secret"].enumerated().map { number, hash in
            #"{"externalId":"s\#(number)","email":"s\#(number)@example.com","passwordHash":"\#(hash)"}"#
        }
        let found = try await run(["ndjson"], rows.joined(separator: "\n"))
        #expect(found.report == ["1 s0 created", "2 s1 created password_dropped:encrypted"], "\(found.errors)")
        let hashes = found.accounts.map { $0.contains("$2a$10$N9qo8uL") }
        #expect(hashes == [true, false])
    }

    @Test func `a neutral row that says little gets what goes without saying`() async throws {
        let found = try await ScratchDatabase.withMigrated { scratch in
            let rows = #"""
                {"externalId":"u1","displayName":"\#(String(repeating: "x", count: 101))","createdAt":"2024-05-06T07:08:09Z","identities":[{"provider":"apple","subject":"1","email":"x@privaterelay.appleid.com","emailVerified":true},{"provider":"google","subject":"2","email":"x@gmail.com","isPrivateEmail":true,"linkedAt":"2024-06-06T07:08:09Z"}]}
                {"externalId":"u2","identities":[{"provider":"google","subject":"3"}]}
                """#
            let run = try await ImportCommandTests.run(["ndjson", "-", "--apple-team", "main"], scratch, input: rows)
            #expect(try ImportCommandTests.lines(run.output).map(\.words) == ["1 u1 created name_cut", "2 u2 created"])
            return try await scratch.texts(
                """
                SELECT concat_ws(' ', i.subject, i.realm, i.email_verified, i.is_private_email,
                    CASE WHEN i.created_at = a.created_at THEN 'with the account'
                        ELSE (i.created_at AT TIME ZONE 'UTC')::text END,
                    CASE WHEN a.created_at > now() - interval '1 hour' THEN 'now' END, length(a.display_name))
                FROM identities i
                JOIN accounts a ON a.account_id = i.account_id
                ORDER BY i.subject
                """)
        }
        #expect(
            found == [
                "1 main t t with the account 100", "2 main f t 2024-06-06 07:08:09 100",
                "3 main f f with the account now",
            ])
    }
}
