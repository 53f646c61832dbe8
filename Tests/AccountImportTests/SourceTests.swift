import AccountImport
import Accounts
import Testing

/// What the exporters of other systems write, as neutral rows.
@Suite struct SourceTests {
    /// A row in words: what a test compares.
    private static func words(_ row: SourceRow) -> String {
        switch row {
        case .malformed: return row.summary
        case .deleted(let id): return "deleted \(id ?? "-")"
        case .anonymous(let id): return "anonymous \(id ?? "-")"
        case .person(let row):
            var words = [row.externalID, row.email ?? "-", row.isEmailVerified ? "verified" : "unverified"]
            words.append(row.displayName ?? "-")
            words.append(row.createdAt?.rfc3339 ?? "-")
            if row.isDisabled { words.append("disabled") }
            words += row.identities.map { identity in
                "\(identity.provider.rawValue):\(identity.subject)" + (identity.email.map { " <\($0)>" } ?? "")
                    + (identity.isEmailVerified ? "!" : "")
            }
            words += row.skipped.map { "skipped:\($0)" }
            if let password = row.password ?? (row.hasPassword ? "unhashed" : nil) { words.append(password) }
            return words.joined(separator: " ")
        }
    }

    private func expect(
        _ source: any ImportSource, _ expected: [String], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let words = try await source.rows().map(Self.words)
        #expect(words == expected, sourceLocation: sourceLocation)
    }

    // MARK: Firebase

    @Test func `Firebase's JSON`() async throws {
        for size in [1, 13, 100_000] {
            try await expect(
                FirebaseSource(PieceInput(try SourceFormat.firebase.example, size: size)),
                [
                    "f1 kim@example.com verified Kim, \"K\" 2020-09-13T12:26:40Z apple:001.kim <x@privaterelay.appleid.com> "
                        + "google:109876543210987654321 <kim@gmail.com> skipped:gc.apple.com firebase$c2FsdA==$aGFzaA==",
                    "anonymous f2", "f3 - unverified - - disabled skipped:phone", "malformed - unreadable",
                    "malformed - required:localId",
                ])
        }
    }

    /// The columns as the exporter writes them: no header, only name and claims quoted, a comma behind the last.
    static func record(_ cells: [Int: String]) -> String { (0..<52).map { (cells[$0] ?? "") + "," }.joined() }

    @Test func `Firebase's CSV of 52 columns`() async throws {
        let text = [
            Self.record([
                0: "f1", 1: "kim@example.com", 2: "true", 3: "aGFzaA==", 4: "c2FsdA==", 5: "\"Kim, \"\"K\"\"\nLine\"",
                7: "109876543210987654321", 8: "kim@gmail.com", 23: "1600000000123", 26: "false",
                27: "\"{\"\"a\"\":1}\"",
                28: "001.kim",
            ]),
            Self.record([0: "f2", 23: "1600000000123"]),
            Self.record([0: "f3", 11: "fb", 25: "+4930", 26: "true", 32: "other"]), "short,row", "",
        ].joined(separator: "\n")
        try await expect(
            FirebaseSource(PieceInput(text)),
            [
                "f1 kim@example.com verified Kim, \"K\"\nLine 2020-09-13T12:26:40Z google:109876543210987654321 <kim@gmail.com> "
                    + "apple:001.kim firebase$c2FsdA==$aGFzaA==",
                "anonymous f2", "f3 - unverified - - disabled skipped:facebook.com skipped:column32",
                "malformed - unreadable",
            ])
    }

    /// The exporter quotes a name for a comma in it, and no mark or line end within.
    @Test(arguments: [
        ("\"Robert \"Bob\" Smith, Jr.\"", "Robert \"Bob\" Smith, Jr."), ("\"Kim \"KL\", Lee\"", "Kim \"KL\", Lee"),
        ("\"A\", \"B\", C\"", "A\", \"B\", C"), ("\"Ace", "\"Ace"), ("Kim \"K\" Lee", "Kim \"K\" Lee"), ("5\"", "5\""),
        ("Kim\nLee", "Kim\nLee"), ("\"Kim,\r\n\"K\" Lee\"", "Kim,\n\"K\" Lee"), ("\"Kim, \"\"K\"\"\"", "Kim, \"K\""),
        ("\"Kim, \"K\"\"", "Kim, \"K\""),
    ])
    func `a name in Firebase's CSV is itself, and moves no column`(_ written: String, _ name: String) async throws {
        let cells = [
            1: "kim@example.com", 2: "true", 7: "109", 8: "kim@gmail.com", 9: written,
            10: "https://photos.example/p.jpg",
            23: "1600000000123", 26: "true", 27: #""{""a"":""x"",""b"":\"y"}""#, 30: written,
        ]
        let text = ["f1", "f2", "f3"].map { id in
            Self.record(cells.merging(id == "f2" ? [0: id, 5: written] : [0: id, 5: "Lee"]) { $1 })
        }
        func words(_ id: String, _ name: String) -> String {
            "\(id) kim@example.com verified \(name) 2020-09-13T12:26:40Z disabled google:109 <kim@gmail.com>"
        }
        try await expect(
            FirebaseSource(PieceInput(text.joined(separator: "\r\n"))),
            [words("f1", "Lee"), words("f2", name), words("f3", "Lee")])
    }

    @Test func `a record of CSV whose columns are others is malformed, and takes none of the next`() async throws {
        let good = Self.record([0: "f9", 1: "kim@example.com", 23: "1600000000123"])
        let bad = [
            [0: "f1", 2: "yes"], [0: "f2", 26: "https://photos.example/p.jpg"], [0: "f3", 23: "Kim"],
            [0: "f4", 7: "1\"09"],
            [0: "f5", 6: "a,b"], [0: "f6", 5: "\"Kim, Lee"], [0: "f7", 5: "Kim, Lee"],
        ]
        for cells in bad {
            try await expect(
                FirebaseSource(PieceInput(Self.record(cells) + "\n" + good)),
                ["malformed - unreadable", "f9 kim@example.com unverified - 2020-09-13T12:26:40Z"])
        }
        let marks = "f1,,,,," + String(repeating: "\",", count: 10_000)
        try await expect(FirebaseSource(PieceInput(marks)), ["malformed - unreadable"])
    }

    @Test func `a record of CSV that is cut off is malformed, wherever that is`() async throws {
        let record = Self.record([0: "f1", 1: "kim@example.com", 5: "\"Kim\"", 23: "1600000000123", 28: "001.kim"])
        try await expect(
            FirebaseSource(PieceInput(record)), ["f1 kim@example.com unverified Kim 2020-09-13T12:26:40Z apple:001.kim"]
        )
        for length in 1..<record.utf8.count - 1 {
            let text = String(record.prefix(length))
            let commas = text.count { $0 == "," }
            if (25...27).contains(commas) || commas == 28 && text.hasSuffix(",") {
                // As an older exporter's.
                await #expect(throws: SourceFault.self) { _ = try await FirebaseSource(PieceInput(text)).rows() }
            } else {
                try await expect(FirebaseSource(PieceInput(text)), ["malformed - unreadable"])
            }
        }
    }

    @Test(arguments: 26...28)
    func `CSV of an older firebase-tools, which leaves Apple out, is named as that`(_ columns: Int) async throws {
        let cells = [
            0: "f1", 1: "kim@example.com", 2: "false", 5: "\"Kim, \"K\" Lee\"", 7: "109", 9: "\"Kim, Lee\"",
            23: "1600000000123", 24: "1600000000123",
        ]
        let record = (0..<columns).map { (cells[$0] ?? "") + "," }.joined()
        for text in [record, record + "\r\n" + record, "short,row\n" + record] {
            let fault = await #expect(throws: SourceFault.self) {
                _ = try await FirebaseSource(PieceInput(text)).rows()
            }
            #expect(fault?.sentence.contains("older firebase-tools") == true, "\(text)")
        }
        // Among others it is a row that can't be read.
        try await expect(
            FirebaseSource(PieceInput(Self.record([0: "f9"]) + "\n" + record)),
            ["anonymous f9", "malformed - unreadable"])
    }

    @Test func `an array of Firebase's users is no export, and the fault says what makes one of it`() throws {
        for text in ["[]", "\n [{\"localId\":\"f1\"}]", "[\n  {\n    \"uid\": \"f1\"\n  }\n]\n"] {
            let fault = #expect(throws: SourceFault.self, "\(text)") { _ = try FirebaseSource(PieceInput(text)) }
            #expect(fault?.sentence.contains("jq '{users: .}' FILE") == true, "\(text)")
        }
    }

    @Test func `a document that is not whole, or no such document, is no source`() async throws {
        for text in ["{\"users\":[{\"localId\":\"f1\"}", "{\"users\":[", "{}", "{\"people\":[]}"] {
            await #expect(throws: SourceFault.self, "\(text)") { _ = try await FirebaseSource(PieceInput(text)).rows() }
        }
        await #expect(throws: SourceFault.self) {
            _ = try await CognitoSource(PieceInput("nonsense"), aliases: [:]).rows()
        }
    }

    // MARK: Neutral rows

    @Test func `a neutral row that names its address and its password as ways in loses none`() async throws {
        let row = #"""
            {"externalId":"u1","email":"kim@example.com","identities":[{"provider":"password","subject":"u1"},{"provider":"email","subject":"kim@example.com"},{"provider":"siwa","subject":"001.kim"},{"provider":"google","subject":"109"}]}
            """#
        try await expect(
            NeutralSource(PieceInput(row), aliases: [:]),
            ["u1 kim@example.com unverified - - google:109 skipped:siwa"])
        try await expect(
            NeutralSource(PieceInput(row), aliases: ["siwa": .apple]),
            ["u1 kim@example.com unverified - - apple:001.kim google:109"])
    }

    @Test func `a hash of Spring Security's comes without the id of its encoder where that is bcrypt`() async throws {
        let rows = ["{bcrypt}$2a$10$abc", "{noop}secret"].map {
            #"{"externalId":"u1","email":"kim@example.com","passwordHash":"\#($0)"}"#
        }
        try await expect(
            NeutralSource(PieceInput(rows.joined(separator: "\n")), aliases: [:]),
            ["$2a$10$abc", "{noop}secret"].map { "u1 kim@example.com unverified - - \($0)" })
    }

    // MARK: Auth0

    @Test func `Auth0's lines`() async throws {
        try await expect(
            Auth0Source(PieceInput(try SourceFormat.auth0.example), aliases: [:]),
            [
                "google-oauth2|42 kim@gmail.com verified - 2020-09-13T12:26:40Z google:42 <kim@gmail.com>! "
                    + "apple:001.kim <kim@icloud.com>! skipped:sms",
                "auth0|5f lee@example.com unverified Lee - disabled $2b$10$abc",
                "apple|001.ada ada@icloud.com verified - - apple:001.ada <ada@icloud.com>!",
                "malformed - required:user_id",
            ])
    }

    @Test func `a custom connection of Auth0 stands before the subject, and an alias says what it is`()
        async throws
    {
        let lines = """
            {"user_id":"oidc|siwa|001.kim","identities":[{"provider":"oidc","connection":"siwa","user_id":"siwa|001.kim"},\
            {"provider":"samlp","connection":"corp","user_id":"corp|7"},{"provider":"google-oauth2","user_id":"109"}]}
            {"user_id":"oauth2|siwa|001.lee"}
            """
        try await expect(
            Auth0Source(PieceInput(lines), aliases: ["siwa": .apple]),
            [
                "oidc|siwa|001.kim - unverified - - apple:001.kim google:109 skipped:corp",
                "oauth2|siwa|001.lee - unverified - - apple:001.lee",
            ])
        try await expect(
            Auth0Source(PieceInput(lines), aliases: [:]),
            [
                "oidc|siwa|001.kim - unverified - - google:109 skipped:siwa skipped:corp",
                "oauth2|siwa|001.lee - unverified - - skipped:siwa",
            ])
    }

    // MARK: Cognito

    @Test func `Cognito's users, whose identities are JSON in a string`() async throws {
        try await expect(
            CognitoSource(PieceInput(try SourceFormat.cognito.example), aliases: [:]),
            [
                "c1 kim@example.com verified Kim Example 2020-09-13T12:26:40Z google:109 apple:001.Kim skipped:corp",
                "c2 lee@example.com unverified - 2020-09-13T12:26:40Z disabled", "malformed - required:sub",
                "malformed c3 invalid:identities",
            ])
        let named = CognitoSource(PieceInput(try SourceFormat.cognito.example), aliases: ["corp": .google])
        #expect(try await named.rows().first.map(Self.words)?.hasSuffix(" google:109 apple:001.Kim google:7") == true)
    }

    // MARK: Keycloak

    @Test func `Keycloak's export, whose credentials are JSON in strings`() async throws {
        try await expect(
            KeycloakSource(PieceInput(try SourceFormat.keycloak.example), aliases: ["siwa": .apple]),
            [
                "k1 kim@example.com verified Kim Example 2020-09-13T12:26:40Z google:109 apple:001.kim skipped:github "
                    + "keycloak$pbkdf2-sha256$27500$c2FsdA==$dmFsdWU=",
                "k2 lee@example.com unverified - - disabled keycloak$argon2id$v=19$m=7168,t=5,p=1$c2FsdA==$dmFsdWU=",
                "k3 - unverified - - keycloak$", "anonymous k4", "k5 max@example.com unverified - - unhashed",
            ])
    }
}
