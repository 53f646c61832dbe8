import Accounts
import Curl
import Foundation
import Postgres
import TestSupport
import Testing

@testable import countersign

/// What the doctor says of passwords that came with an import, and a machine without libargon2.
@Suite(.fixture(ScratchDatabase.self), .timeLimit(.minutes(3))) struct DoctorPasswordTests {
    var scratch: ScratchDatabase { .current }

    private static let bcrypt = "$2y$04$mIJxfrCaEI3GukZe11CiXublhEFanu5.ododkll1WphfSp6pn4zIu"
    private static let argon2 =
        "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"

    private static func rows(_ hashes: [String]) -> String {
        hashes.enumerated().map { number, hash in
            #"{"externalId":"u\#(number)","email":"u\#(number)@example.com","passwordHash":"\#(hash)"}"# + "\n"
        }.joined()
    }

    private static func run(
        _ words: [String], _ scratch: ScratchDatabase, libraries: String? = nil, input: String = ""
    ) async throws -> FinishedProcess {
        var environment = try ImportCommandTests.environment(scratch)
        environment["COUNTERSIGN_APPLE_KEYS_URL"] = "http://127.0.0.1:1/"
        environment["LD_LIBRARY_PATH"] = libraries
        return try await CountersignProcess.run(words, environment: environment, input: input)
    }

    /// What is said of passwords by a machine that is not too busy for it: a warning is of a check that took too long.
    private static func findings(_ scratch: ScratchDatabase, _ more: [String: String] = [:]) async throws -> [String] {
        let variables = try ImportCommandTests.environment(scratch).merging(more) { $1 }
        var findings: [Finding] = []
        for _ in 0..<10 {
            findings = try await Doctor.with(variables, clock: SystemClock(), timeout: .seconds(60)) {
                await $0.passwords()
            }
            guard findings.contains(where: { $0.status == .warning }) else { break }
        }
        return findings.map(\.line)
    }

    /// A folder whose libargon2 is none, and is found first.
    private static func withoutArgon2(_ body: (String) async throws -> Void) async throws {
        let folder = try ScratchDirectory()
        defer { folder.remove() }
        try folder.write("libargon2.so.1", "")
        try await body(folder.url.path)
    }

    @Test func `imported passwords are counted, and a library that they need is missed`() async throws {
        #expect(try await Self.findings(scratch) == ["ok passwords: all are hashed by this service"])
        let run = try await Self.run(
            ["import", "ndjson", "-"], scratch, input: Self.rows([Self.bcrypt, Self.argon2, Self.argon2]))
        #expect(run.code == 0, "\(run.errors)")
        let sound = try await Self.findings(scratch)
        #expect(sound.count == 1 && sound[0].hasPrefix("ok "), "\(sound)")
        #expect(sound.first?.hasSuffix("3 passwords imported, of kinds that can be checked here") == true, "\(sound)")
        try await Self.withoutArgon2 { folder in
            let run = try await Self.run(["doctor"], scratch, libraries: folder)
            let found = run.lines.filter { $0.contains(" passwords: ") }
            #expect(found.count == 1 && found[0].hasPrefix("failure "), "\(found)")
            #expect(found.first?.contains("2 passwords imported, which can't be checked here") == true, "\(found)")
            #expect(found.first?.contains("libargon2-1") == true, "\(found)")
        }
    }

    @Test func `Firebase's passwords are not said to be right, as they may be of another project's key`() async throws {
        let folder = try ScratchDirectory()
        defer { folder.remove() }
        let key = try folder.write("signer", Data(repeating: 7, count: 64).base64EncodedString())
        try await scratch.execute(
            """
            INSERT INTO accounts (account_id, password_hash, created_at)
            VALUES (gen_random_uuid(), 'firebase$42xEC+ixf3L2lw==$' || repeat('A', 86), now())
            """)
        let found = try await Self.findings(scratch, ["COUNTERSIGN_PASSWORDS_FIREBASE_SIGNER_KEY_PATH": key])
        #expect(found.count == 1 && found[0].hasPrefix("ok "), "\(found)")
        #expect(found.first?.contains("can be checked here; Firebase's by the key of one project") == true, "\(found)")
    }

    @Test func `an import without the library drops what needs it, and takes the row`() async throws {
        try await Self.withoutArgon2 { folder in
            let run = try await Self.run(
                ["import", "ndjson", "-"], scratch, libraries: folder, input: Self.rows([Self.bcrypt, Self.argon2]))
            #expect(run.code == 0, "\(run.errors)")
            #expect(
                try ImportCommandTests.lines(run.output).map(\.words) == [
                    "1 u0 created", "2 u1 created password_dropped:argon2",
                ])
        }
    }

    @Test func `passwords that take longer to check than a refusal are counted, by kind`() async throws {
        let costly = Self.bcrypt.replacing("$04$", with: "$12$")
        let run = try await Self.run(
            ["import", "ndjson", "-"], scratch, input: Self.rows([costly, costly, Self.bcrypt, Self.argon2]))
        #expect(run.code == 0, "\(run.errors)")
        let findings = try await Doctor.with(ImportCommandTests.environment(scratch)) { doctor in
            try await scratch.withPool(.test(poolSize: 1)) { database in
                try await doctor.passwords(in: database) { hash in
                    if case .crypt(let setting, _) = hash.scheme { setting.contains("$12$") } else { false }
                }
            }
        }
        #expect(findings.map(\.status) == [.warning], "\(findings)")
        #expect(findings.first?.detail.hasPrefix("2 passwords imported (bcrypt), which take longer") == true)
    }
}
