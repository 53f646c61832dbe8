import Curl
import Foundation
import OpenSSL
import Postgres
import TestSupport
import Testing

@testable import countersign

/// Where the relative paths of a configuration count from, and what is said of a file that is not there.
@Suite(.timeLimit(.minutes(2))) struct ConfigurationPathTests {
    private typealias Setup = ConfigurationSetup

    private static let yaml = """
        postgres.url: "postgresql://service@/app"
        apple: { clientIds: [com.example.lamp], teamId: ABCDE12345, keyId: FGHIJ67890, privateKeyPath: AuthKey.p8 }
        keyring: { path: keyring }
        pages: { logoPath: pictures/logo.svg }

        """

    /// The files that `yaml` names, beside it.
    private static func installed() throws -> Setup {
        let setup = try Setup()
        _ = try setup.file("countersign.yaml", yaml)
        _ = try setup.file("AuthKey.p8", String(decoding: P256PrivateKey().pem(), as: UTF8.self))
        _ = try setup.file("pictures/logo.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>")
        return setup
    }

    private static func check(_ setup: Setup, _ arguments: [String] = [], from directory: String) async throws
        -> FinishedProcess
    {
        try await CountersignProcess.run(
            ["config", "check"] + arguments,
            environment: arguments.isEmpty
                ? ["COUNTERSIGN_CONFIG": setup.directory.appending(path: "countersign.yaml").path] : [:],
            directory: directory)
    }

    @Test func `the files beside a configuration are found wherever the program is started`() async throws {
        let setup = try Self.installed()
        for directory in ["/", setup.directory.path, setup.directory.appending(path: "pictures").path] {
            let run = try await Self.check(setup, from: directory)
            #expect(run.code == 0, "\(directory): \(run.errors)")
        }
        let relative = try await Self.check(
            setup, ["--config", "../countersign.yaml"], from: "\(setup.directory.path)/pictures")
        #expect(relative.code == 0, "\(relative.errors)")
    }

    @Test func `a file that is not there is named by the path that was tried`() async throws {
        let setup = try Self.installed()
        for name in ["keyring", "AuthKey.p8", "pictures/logo.svg"] {
            try FileManager.default.removeItem(at: setup.directory.appending(path: name))
        }
        let run = try await Self.check(setup, from: "/").ended(2)
        let folder = setup.directory.path
        for (key, path) in [
            // A bare word may be a secret: the folder shows where it was looked for.
            ("keyring.path", ": not shown, as it may be the secret itself"), ("apple.privateKeyPath", "AuthKey.p8"),
            ("pages.logoPath", "pictures/logo.svg"),
        ] {
            let line = run.errors.split(separator: "\n").first { $0.hasPrefix("countersign: \(key) (") }
            #expect(line?.hasSuffix("\(folder)/\(path))") == true, "\(run.errors)")
        }
        let missing = try await Self.check(setup, ["--config", "nowhere.yaml"], from: "/usr")
        #expect(missing.errors == "countersign: /usr/nowhere.yaml (--config): is no file\n")
    }

    @Test func `a path in a variable counts from where the program is started`() async throws {
        let setup = try Self.installed()
        let environment = setup.environment.merging(["COUNTERSIGN_KEYRING_PATH": "./keyring"]) { $1 }
        let there = try await CountersignProcess.run(
            ["config", "check"], environment: environment, directory: setup.directory.path)
        #expect(there.code == 0, "\(there.errors)")
        let elsewhere = try await CountersignProcess.run(
            ["config", "check"], environment: environment, directory: "/usr")
        #expect(elsewhere.errors.contains("keyring.path (COUNTERSIGN_KEYRING_PATH): names no file (/usr/./keyring)"))
    }

    @Test(arguments: [
        "k1 \(String(repeating: "A", count: 43))=", String(repeating: "A", count: 100), "{\"private_key\":\"x\"}",
        "GOCSPX-console123secret", "whsec_C2FVsBQIhrscChlQIMV", "whsec_C2FV/BQIhrscChlQIMV", "d-FL95Q19q7MQmFpd7hHD0Ty",
        String(repeating: "0a", count: 32), "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJsYW1wIn0.c2lnbmF0dXJlLW9mLWl0",
    ])
    func `a secret in the place of its file's name is not shown`(secret: String) async throws {
        let setup = try Setup()
        let withheld = "not shown, as it may be the secret itself)"
        setup.environment["COUNTERSIGN_KEYRING_PATH"] = secret
        let folder = secret.contains("/") ? "" : "in \(FileManager.default.currentDirectoryPath)/: "
        #expect(setup.faults() == ["keyring.path (COUNTERSIGN_KEYRING_PATH): names no file (\(folder)\(withheld)"])
        let run = try await CountersignProcess.run(["config", "show"], environment: setup.environment)
        #expect(run.output.contains("keyring.path: \"<names no file>\""), "\(run.output)")
        #expect(!(run.output + run.errors).contains(secret))
    }

    @Test func `a word that names a file is shown, and one in the file counts from there`() async throws {
        let setup = try Self.installed()
        let path = setup.directory.appending(path: "countersign.yaml").path
        let shown = try await CountersignProcess.run(["config", "show", "--config", path])
        #expect(shown.output.contains("keyring.path: \"keyring\""), "\(shown.output)")
        setup.environment["COUNTERSIGN_KEYRING_PATH"] = nil
        let faults = setup.faults(yaml: "keyring.path: GOCSPX-canary\n")
        #expect(faults.first?.contains("names no file (in \(setup.directory.path)/: not shown") == true, "\(faults)")
        #expect(!faults.joined().contains("canary"))
    }

    @Test(arguments: ["-----BEGIN PRIVATE KEY-----\nMIGT\n-----END PRIVATE KEY-----\n", "k1 AAAA\r\nk2 BBBB"])
    func `the content of a file in the place of its path is called that`(content: String) throws {
        let setup = try Setup(["KEYRING_PATH": content])
        let flaw = "there is a line break in it, as in the content of a file: write where the file is"
        #expect(setup.faults() == ["keyring.path (COUNTERSIGN_KEYRING_PATH): expects a path: \(flaw)"])
    }

    @Test func `a pipe in the place of a secret's file is none, and isn't waited for`() throws {
        let setup = try Setup()
        let path = setup.directory.appending(path: "pipe").path
        try #require(mkfifo(path, 0o600) == 0)
        setup.environment["COUNTERSIGN_KEYRING_PATH"] = path
        #expect(setup.faults() == ["keyring.path (COUNTERSIGN_KEYRING_PATH): names no file (\(path))"])
    }

    @Test func `every key that names a file or a folder counts from the file's folder`() {
        // `appFlip.path` is a path of a URL.
        let paths = Settings.exampleRows.filter { $0.name.hasSuffix("Path") || $0.name == Settings.keyringPath.name }
        #expect(paths.count >= 8)
        for row in paths { #expect(row.located("a/b", in: "/etc") == "/etc/a/b", "\(row.name)") }
        for row in paths { #expect(row.located("/a/b", in: "/etc") == "/a/b", "\(row.name)") }
    }

    private static let located = Result { try DataFile("Fixtures/located-files.tsv").rows.map { ($0[0], $0[1]) } }

    @Test(arguments: try located.get())
    func `a connection string gets the whole paths of its files`(given: String, located: String) {
        #expect(Database.Configuration.locatingFiles(of: given, in: "/etc/a b") == located)
    }

    @Test func `a key that names a secret's file says so, and no other does`() {
        #expect(
            Settings.exampleRows.filter(\.namesSecret).map(\.name).sorted() == [
                "apple.privateKeyPath", "apple.team.beta.privateKeyPath", "console.google.clientSecretPath",
                "google.serviceAccountPath", "keyring.path", "passwords.firebase.signerKeyPath",
                "webhooks.endpoint.crm.secretPath",
            ])
    }

    @Test func `a password file beside the configuration opens the database, from wherever it is asked`() async throws {
        try await PrivateCluster.run { cluster, url in
            let scratch = ScratchDatabase(url: url)
            try await scratch.execute("CREATE ROLE guarded LOGIN SUPERUSER PASSWORD 'canary'")
            let rules = try await scratch.texts("SELECT current_setting('hba_file')")[0]
            let trusting = try String(contentsOfFile: rules, encoding: .utf8)
            try Data(("local all guarded scram-sha-256\n" + trusting).utf8).write(to: URL(filePath: rules))
            try await cluster.stop()
            _ = try await cluster.start()
            let setup = try Setup()
            let socket = PrivateCluster.socketDirectory(url)
            _ = try setup.file("pgpass", "*:*:*:guarded:canary\n")
            let path = try setup.file(
                "countersign.yaml", "postgres.url: \"postgresql://guarded@/postgres?host=\(socket)&passfile=pgpass\"\n")
            try await CountersignProcess.run(["migrate", "status", "--config", path], directory: "/").ended()
        }
    }
}
