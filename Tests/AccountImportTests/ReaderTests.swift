import AccountImport
import Accounts
import Foundation
import Synchronization
import TestSupport
import Testing

/// Bytes in pieces of any size, as a pipe delivers them.
final class PieceInput: ByteInput {
    private let bytes: [UInt8]
    private let size: Int
    private let position = Mutex(0)

    convenience init(_ text: String, size: Int = 7) { self.init(Array(text.utf8), size: size) }

    init(_ bytes: [UInt8], size: Int = 7) {
        self.bytes = bytes
        self.size = size
    }

    func read() throws -> [UInt8]? {
        position.withLock { position in
            guard position < bytes.count else { return nil }
            defer { position += size }
            return Array(bytes[position..<min(bytes.count, position + size)])
        }
    }
}

@Suite struct ReaderTests {
    private func summaries(_ text: String, size: Int = 7) async throws -> [String] {
        try await NeutralSource(PieceInput(text, size: size), aliases: [:]).rows().map(\.summary)
    }

    @Test func `a neutral row is a line, whatever its end and in whatever pieces it comes`() async throws {
        let text = "{\"externalId\":\"a\"}\n\n  \t\r\n{\"externalId\":\"b\"}\r\n{\"externalId\":\"c\"}"
        for size in [1, 2, 7, 1_000] { #expect(try await summaries(text, size: size) == ["a", "b", "c"], "\(size)") }
    }

    @Test func `a line that is no neutral row is malformed for a reason, and the next one is read`() async throws {
        let deep = String(repeating: "[", count: 8) + String(repeating: "]", count: 8)
        let lines = [
            ("{\"externalId\":\"a\",\"email\":\(deep)}", "- over_limit"),
            (#"{"externalId":"\#(String(repeating: "x", count: 1 << 20))"}"#, "- over_limit"),
        ]
        for (line, fault) in try DataFile("MalformedRows.tsv").rows.map({ ($0[0], $0[1]) }) + lines {
            let words = try await summaries(line + "\n" + #"{"externalId":"next"}"#, size: 65_536)
            #expect(words == ["malformed \(fault)", "next"], "\(line.prefix(80))")
        }
    }

    @Test func `an array is no source of lines, in one line or in many, and the fault says what makes lines of it`()
        async throws
    {
        let pretty = "\n [\n  {\n    \"user_id\": \"auth0|1\"\n  }\n]\n"
        for text in [pretty, #"[{"externalId":"a"}]"#, "[]", "[" + String(repeating: " ", count: 2 << 20) + "]"] {
            for size in [1, 65_536] where size > 1 || text.utf8.count < 100 {
                for source in [
                    Auth0Source(PieceInput(text, size: size), aliases: [:]),
                    NeutralSource(PieceInput(text, size: size), aliases: [:]),
                ] as [any ImportSource] {
                    var source = source
                    do {
                        _ = try await source.next()
                        Issue.record("\(text.prefix(20)) was read")
                    } catch let fault as SourceFault {
                        #expect(fault.sentence.contains("jq -c '.[]'"))
                    }
                }
            }
        }
    }

    @Test func `null is as good as nothing`() async throws {
        let row =
            #"{"externalId":"a","email":null,"emailVerified":null,"displayName":null,"createdAt":null,"disabled":null,"#
            + #""identities":null,"passwordHash":null}"#
        #expect(try await summaries(row) == ["a"])
    }

    @Test func `times of RFC 3339 are read in each of their forms`() {
        for text in [
            "2026-01-01T01:02:03Z", "2026-01-01T01:02:03.456Z", "2026-01-01 01:02:03.456789+00:00",
            "2026-01-01T02:32:03+01:30", "2025-12-31T20:02:03-05:00",
        ] { #expect(Timestamp(internet: text)?.seconds == 1_767_229_323, "\(text)") }
        for text in [
            "", "2026-01-01", "2026-01-01T01:02:03", "2026-13-01T01:02:03Z", "2026-01-01T01:02:03.Z", "1767229323",
        ] { #expect(Timestamp(internet: text) == nil, "\(text)") }
    }

    // MARK: Rules

    private static let now = Timestamp(seconds: 1_767_229_323)

    private func checked(
        _ change: (inout NeutralRow) -> Void, rules: (inout RowRules) -> Void = { _ in }
    ) throws -> ImportRow {
        var row = NeutralRow(externalID: "u1")
        row.email = "Kim@Example.com"
        row.isEmailVerified = true
        change(&row)
        var all = RowRules()
        all.appleTeams = [.main]
        all.appleTeam = .main
        rules(&all)
        return try all.check(.person(row), at: Self.now)
    }

    private func code(_ row: ImportRow) -> ImportCode? {
        if case .refused(let code) = row.content { code } else { nil }
    }

    private func person(_ row: ImportRow) -> ImportedPerson? {
        if case .person(let person) = row.content { person } else { nil }
    }

    private static func identity(_ provider: Provider, _ subject: String = "s1", realm: String? = nil)
        -> NeutralRow.Identity
    {
        var identity = NeutralRow.Identity(provider: provider, subject: subject, word: "\(provider.rawValue).word")
        identity.realm = realm
        return identity
    }

    @Test func `a row is refused for the first of its faults`() throws {
        let cases: [(String, ImportCode?, (inout NeutralRow) -> Void)] = [
            ("as it is", nil, { _ in }),
            ("id", .rowMalformed, { $0.externalID = "" }),
            ("long id", .rowMalformed, { $0.externalID = String(repeating: "x", count: 256) }),
            ("team", .teamUnknown, { $0.identities = [Self.identity(.apple, realm: "other")] }),
            ("realm of Google", .teamUnknown, { $0.identities = [Self.identity(.google, realm: "other")] }),
            (
                "team of one before subject of another", .teamUnknown,
                { $0.identities = [Self.identity(.google, ""), Self.identity(.apple, realm: "other")] }
            ),
            ("team before subject", .teamUnknown, { $0.identities = [Self.identity(.apple, "", realm: "other")] }),
            ("subject", .subjectMalformed, { $0.identities = [Self.identity(.google, "a\u{1}")] }),
            (
                "subject before address", .subjectMalformed,
                {
                    $0.identities = [Self.identity(.google, "")]
                    $0.email = "none"
                }
            ),
            ("address", .emailMalformed, { $0.email = "kim at example" }),
            ("address with a filler", .emailMalformed, { $0.email = "kim\u{3164}@example.com" }),
            ("no way in", .noWayIn, { $0.email = nil }),
            ("empty address", .noWayIn, { $0.email = "" }),
        ]
        for (name, expected, change) in cases { #expect(code(try checked(change)) == expected, "\(name)") }
    }

    @Test func `what does not come along is noted, and the person comes`() throws {
        let cases: [(String, [String], (inout NeutralRow) -> Void, (inout RowRules) -> Void)] = [
            (
                "second identity", ["identity_skipped:google.word"],
                { $0.identities = [Self.identity(.google, "1"), Self.identity(.google, "2")] }, { _ in }
            ),
            (
                "skip Apple", ["identity_skipped:apple.word"], { $0.identities = [Self.identity(.apple)] },
                { $0.skipsApple = true }
            ),
            (
                "skip Google", ["identity_skipped:google.word"], { $0.identities = [Self.identity(.google)] },
                { $0.skipsGoogle = true }
            ),
            (
                "address of an identity", ["email_dropped"],
                {
                    $0.identities = [Self.identity(.google)]
                    $0.identities[0].email = "none"
                }, { _ in }
            ),
            ("name", ["name_cut"], { $0.displayName = String(repeating: "é", count: 101) }, { _ in }),
            ("name that fits", [], { $0.displayName = String(repeating: "é", count: 100) }, { _ in }),
            (
                "name of marks", ["name_cut"], { $0.displayName = "e" + String(repeating: "\u{301}", count: 800) },
                { _ in }
            ),
            ("name of nothing", [], { $0.displayName = String(repeating: "\u{115F}", count: 800) }, { _ in }),
            (
                "relay address alone", ["identity_missing"],
                {
                    $0.email = "x@privaterelay.appleid.com"
                    $0.identities = [Self.identity(.google)]
                }, { _ in }
            ),
            (
                "relay address of an identity", [],
                {
                    $0.email = "x@privaterelay.appleid.com"
                    $0.identities = [Self.identity(.apple)]
                }, { _ in }
            ),
            (
                "relay address, Apple left out", [], { $0.email = "x@privaterelay.appleid.com" },
                { $0.skipsApple = true }
            ),
            ("password elsewhere", ["password_missing"], { $0.hasPassword = true }, { _ in }),
            (
                "word", ["identity_skipped:facebook", "identity_skipped:unnamed"],
                { $0.skipped = ["face\nbook", "é"] }, { _ in }
            ),
        ]
        for (name, notes, change, rules) in cases {
            let row = try checked(change, rules: rules)
            #expect(person(row) != nil, "\(name)")
            #expect(row.notes.map(\.text) == notes, "\(name)")
        }
    }

    @Test func `a hash that can't be checked here is noted, and the person comes`() throws {
        let hash = "oRvuhEVfAWL6Kg92ZnOJlrI8fuQWEwBzxrO0bOUN4Ko"
        let cases: [(String, kind: String?, (inout RowRules) -> Void)] = [
            ("md5$x", "unknown", { _ in }),
            // Beyond the caps, also in our own form; and of Kratos, whose N is another.
            ("scrypt$1099511627776$s$8$1$AAAA", "scrypt", { _ in }),
            ("$scrypt$ln=18,r=8,p=1$c2FsdA$\(hash)", "scrypt", { _ in }),
            ("$scrypt$ln=16384,r=8,p=1$c2FsdA$\(hash)", "scrypt", { _ in }),
            // No password at Django's.
            ("!8xBlGd3jVgvJ", nil, { _ in }),
            ("$2y$04$mIJxfrCaEI3GukZe11CiXublhEFanu5.ododkll1WphfSp6pn4zIu", "bcrypt", { $0.skipsPasswords = true }),
            // Without its library.
            (
                "$argon2i$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$YC9+jJCrQhs5R6db7LlN8Q", "argon2",
                { $0.passwordKinds = [.bcrypt] }
            ),
            // A form of ours.
            (
                "keycloak$pbkdf2-sha256$27500$P5rtFkGtPfoaryJ6PizUJw==$JsfNbCOIdZUbyBJ+BT+VoGI91Ec2rWLOvkLPDaX8e9k=",
                "keycloak", { _ in }
            ),
        ]
        for (password, kind, rules) in cases {
            let row = try checked({ $0.password = password }, rules: rules)
            #expect(person(row) != nil, "\(password)")
            #expect(row.notes.map(\.text) == (kind.map { ["password_dropped:\($0)"] } ?? []), "\(password)")
        }
    }

    @Test func `a hash of another installation comes as an imported one, which is none of ours yet`() throws {
        let row = try checked {
            $0.password = "$scrypt$ln=17,r=8,p=1$-vv8_f7_AAAAAAAAAAAAAA$oRvuhEVfAWL6Kg92ZnOJlrI8fuQWEwBzxrO0bOUN4Ko"
        }
        #expect(row.notes.isEmpty)
        let hash = try #require(person(row)?.passwordHash)
        #expect(!hash.isOwn && hash.text.hasPrefix("scrypt$ln=17,r=8,p=1$-vv8_f7_"))
    }

    @Test func `a subject that is none of Apple's or Google's comes with a note`() throws {
        for subject in ["kim@gmail.com", "google-oauth2|100012345", " 999 ", "9\u{A0}9", "a b"] {
            let row = try checked { $0.identities = [Self.identity(.google, subject), Self.identity(.apple, subject)] }
            #expect(person(row)?.identities.map(\.key.subject.text) == [subject, subject], "\(subject)")
            #expect(row.notes == [.subjectUnusual], "\(subject)")
        }
        for subject in ["110169484474386276334", "001234.0123456789abcdef0123456789abcdef.0123"] {
            #expect(try checked { $0.identities = [Self.identity(.apple, subject)] }.notes.isEmpty, "\(subject)")
        }
    }

    @Test func `an address has the degree of the row's own word`() throws {
        #expect(person(try checked { _ in })?.emailProof == .stated)
        #expect(person(try checked { $0.isEmailVerified = false })?.emailProof == .claimed)
        #expect(person(try checked({ _ in }, rules: { $0.verified = .proven }))?.emailProof == .proven)
        #expect(
            person(try checked({ $0.isEmailVerified = false }, rules: { $0.verified = .proven }))?.emailProof
                == .claimed)
    }

    @Test func `an Apple identity without a team ends the run unless a team is given or Apple is left out`() throws {
        #expect(throws: SourceFault.self) {
            try checked({ $0.identities = [Self.identity(.apple)] }, rules: { $0.appleTeam = nil })
        }
        let other = try checked(
            { $0.identities = [Self.identity(.apple, realm: "other")] },
            rules: {
                $0.appleTeam = nil
                $0.appleTeams = [Realm("other")]
            })
        #expect(person(other)?.identities.first?.key.realm.text == "other")
    }

    @Test func `a relay address is known by its domain, and times that are missing or to come are now`() throws {
        let row = try checked {
            var identity = Self.identity(.apple)
            identity.email = "x@privaterelay.appleid.com"
            $0.identities = [identity]
            $0.createdAt = Self.now.advanced(bySeconds: 60)
        }
        let identity = try #require(person(row)?.identities.first)
        #expect(identity.isPrivateEmail)
        #expect(person(row)?.createdAt == Self.now)
        #expect(identity.linkedAt == Self.now)
    }
}
