import Accounts
import Foundation
import Postgres
import TestSupport
import Testing

@testable import countersign

/// A database across a network: what the configuration asks for, and what is warned of.
@Suite(.timeLimit(.minutes(3))) struct DatabaseTransportTests {
    private typealias Setup = ConfigurationSetup

    @Test(
        arguments: [
            ("postgresql:///app?host=/run/postgresql", .local), ("postgresql:///app", .local),
            ("host=@abstract dbname=app", .local), ("postgresql://127.0.0.1:5433/app", .local),
            ("postgresql://LocalHost/app", .local), ("postgresql://[::1]/app", .local),
            ("postgresql://db/app?hostaddr=127.0.0.1", .local), ("postgresql://localhost,127.0.0.1/app", .local),
            ("postgresql://db/app", .unstated), ("host=10.0.0.1 dbname=app", .unstated),
            ("postgresql://localhost,db/app", .unstated), ("postgresql:///app?host=db", .unstated),
            ("postgresql://127.0.0.1.example/app", .unstated),
            ("postgresql://localhost/app?hostaddr=10.0.0.1", .unstated),
            ("postgresql://db/app?sslmode=verify-full", .verified), ("host=db sslmode=verify-full", .verified),
            ("postgresql://db/app?sslmode=verify-ca", .chosen("verify-ca")),
            ("postgresql://db/app?sslmode=prefer", .chosen("prefer")),
            ("postgresql://db/app?sslmode=disable", .chosen("disable")),
            ("service=prod", .unstated), ("postgresql:///app?service=prod", .unstated),
            ("service=prod sslmode=verify-full", .verified), ("service=prod sslmode=require", .chosen("require")),
            ("service=prod host=/run/postgresql", .local), ("service=prod host=db", .unstated),
            ("postgresql://%zz", nil),
        ] as [(String, TransportSecurity?)])
    func `a connection string says who can stand in between`(url: String, expected: TransportSecurity?) {
        #expect(TransportSecurity(url: url) == expected)
    }

    @Test(arguments: ["postgres.url", "postgres.migrationUrl"])
    func `a host across a network without sslmode is refused`(key: String) throws {
        let setup = try Setup()
        let variable = key == "postgres.url" ? "COUNTERSIGN_POSTGRES_URL" : "COUNTERSIGN_POSTGRES_MIGRATION_URL"
        setup.environment[variable] = "postgresql://service:canary@db.internal/app"
        let faults = setup.faults()
        #expect(faults.count == 1)
        #expect(faults.allSatisfy { $0.hasPrefix("\(key) (") && $0.contains("sslmode=verify-full") }, "\(faults)")
        #expect(!faults.contains { $0.contains("canary") })
        setup.environment[variable]? += "?sslmode=verify-full"
        #expect(setup.faults().isEmpty)
        #expect(try setup.load().warnings.isEmpty)
        setup.environment[variable] = "postgresql://service@db.internal/app?sslmode=require"
        #expect(try setup.load().warnings == [.unverifiedDatabase(key: key, sslmode: "require")])
    }

    @Test func `a provider's keys from elsewhere are warned of where the service is in public`() async throws {
        let setup = try Setup([
            "GOOGLE_CLIENT_IDS": "client", "APPLE_KEYS_URL": "http://127.0.0.1:1/keys",
            "GOOGLE_KEYS_URL": "https://keys.example/certs",
        ])
        #expect(try setup.load().warnings.isEmpty)
        setup.environment["COUNTERSIGN_SERVER_PUBLIC_URL"] = "https://localhost:8443"
        #expect(try setup.load().warnings.isEmpty)
        setup.environment["COUNTERSIGN_SERVER_PUBLIC_URL"] = "https://auth.example.com"
        let foreign: [ConfigurationWarning] = [
            .foreignKeys(.apple, url: "http://127.0.0.1:1/keys"),
            .foreignKeys(.google, url: "https://keys.example/certs"),
        ]
        #expect(try setup.load().warnings == foreign)
        setup.environment["COUNTERSIGN_GOOGLE_KEYS_URL"] = "http://127.0.0.1:1/keys"
        for findings in try await Doctor.with(setup.environment, { [await $0.appleKeys(), await $0.googleKeys()] }) {
            #expect(findings.map(\.status) == [.failure, .failure])
            #expect(findings[0].detail.contains("is not the provider's own address"))
        }
        setup.set(["APPLE_KEYS_URL": nil, "GOOGLE_KEYS_URL": nil])
        #expect(try setup.load().warnings.isEmpty)
    }

    /// `127.1` is 127.0.0.1 to the resolver and a name like any other to the rule, so it stands for a host elsewhere.
    @Test func `the doctor looks at the connection to a server that speaks TLS`() async throws {
        try await PrivateCluster.run { cluster, url in
            let port = try FreePort.choose(1)[0]
            try await ScratchDatabase(url: url).withPool(.test(poolSize: 1)) { database in
                // It takes what it is sent, which the server may send after its end otherwise.
                let certificate = """
                    cat >/dev/null; openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test \
                    -addext subjectAltName=IP:127.0.0.1 -keyout server.key -out server.crt 2>/dev/null
                    """
                try await database.execute(SQL(unsafeSQL: "COPY (SELECT 1) TO PROGRAM '\(certificate)'"))
                for setting in ["ssl = on", "listen_addresses = '127.0.0.1'", "port = \(port)"] {
                    try await database.execute(SQL(unsafeSQL: "ALTER SYSTEM SET \(setting)"))
                }
            }
            let root = try await ScratchDatabase(url: url).texts("SELECT pg_read_file('server.crt')")[0]
            try await cluster.stop()
            _ = try await cluster.start()

            let setup = try Setup()
            let own = try setup.file("root.crt", root)
            // Of nobody here.
            let foreign = try setup.file("other.crt", DataFile("Fixtures/other-certificate.pem").text)
            func findings(_ parameters: String, _ check: CheckName) async throws -> [Finding] {
                setup.environment["COUNTERSIGN_POSTGRES_URL"] =
                    "postgresql://postgres@127.1:\(port)/postgres?\(parameters)"
                return try await Doctor.with(setup.environment) { await $0.database() }.filter { $0.check == check }
            }
            let verified = try await findings("sslmode=verify-full&sslrootcert=\(own)", .databaseTransport)
            #expect(verified.map(\.status) == [.ok], "\(verified.map(\.line))")
            let wrong = try await findings("sslmode=verify-full&sslrootcert=\(foreign)", .database)
            #expect(wrong.map(\.status) == [.failure], "\(wrong.map(\.line))")
            let required = try await findings("sslmode=require", .databaseTransport)
            #expect(required.map(\.status) == [.warning], "\(required.map(\.line))")
            let plain = try await findings("sslmode=disable", .databaseTransport)
            #expect(plain.map(\.status) == [.warning, .warning], "\(plain.map(\.line))")
            #expect(plain.contains { $0.detail.contains("not encrypted") })
        }
    }
}
