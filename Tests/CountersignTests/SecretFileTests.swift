import Foundation
import TestSupport
import Testing

@testable import countersign

/// Who may open the files that hold secrets.
@Suite(.timeLimit(.minutes(2))) struct SecretFileTests {
    private typealias Setup = ConfigurationSetup

    @Test(
        arguments: [
            (0o600, 10_001, true), (0o400, 10_001, true), (0o700, 10_001, true), (0o440, 10_001, false),
            (0o640, 10_001, false), (0o604, 10_001, false), (0o600, 0, true), (0o440, 0, true), (0o640, 0, true),
            (0o660, 0, false), (0o444, 0, false), (0o644, 0, false), (0o450, 0, false),
        ] as [(Int, uid_t, Bool)])
    func `a secret file is its owner's alone, or root's and readable for a group`(
        mode: Int, owner: uid_t, isSecret: Bool
    ) { #expect(ConfigurationReader.isSecret(mode: mode, owner: owner) == isSecret) }

    @Test(.enabled(if: geteuid() == 0, "gives a file to a group"))
    func `a configuration of root's for the group of the service is sound for root as well`() async throws {
        let setup = try Setup()
        let path = try setup.file(
            "root.yaml", "google: { clientIds: a, serverClientId: a, serverClientSecret: s }", mode: 0o640)
        try #require(chown(path, 0, 10_001) == 0)
        let arguments = ["config", "check", "--config", path]
        let run = try await CountersignProcess.run(arguments, environment: setup.environment)
        #expect((run.code, run.errors) == (0, ""))
        try #require(chmod(path, 0o644) == 0)
        let open = try await CountersignProcess.run(arguments, environment: setup.environment).ended(2)
        #expect(open.errors.contains("set its mode to 0600, or to 0640 if it is root's"), "\(open.errors)")
    }

    @Test(
        arguments: [
            ("google: { clientIds: a, serverClientId: a, serverClientSecret: s }", "google.serverClientSecret"),
            ("mail: { smtpUrl: \"smtp://a:b@mail.example\", from: a@b.example }", "mail.smtpUrl"),
            ("postgres.migrationUrl: \"postgresql://owner:pw@/app\"", "postgres.migrationUrl"),
            ("postgres.migrationUrl: \"user=owner password=pw dbname=app\"", "postgres.migrationUrl"),
            ("mail: { smtpUrl: \"smtp://mail.example\", from: a@b.example }", nil),
            ("postgres.migrationUrl: \"postgresql://owner@/app?passfile=p\"", nil),
        ] as [(String, String?)])
    func `a file with a secret in it is for its owner alone`(yaml: String, key: String?) throws {
        let setup = try Setup()
        #expect(setup.faults(yaml: yaml).isEmpty)
        let path = try setup.file("open.yaml", yaml, mode: 0o644)
        let sources = try ConfigurationSources(path: path, environment: setup.environment)
        do {
            _ = try sources.load(ServiceConfiguration.init)
            #expect(key == nil)
        } catch {
            #expect(error.faults.count == 1)
            let fault = error.faults[0].description
            #expect(key.map { fault.hasPrefix($0 + " (") } == true, "\(fault)")
            #expect(fault.contains("set its mode to 0600"))
        }
    }

    private static let files = Result { try DataFile("Fixtures/connection-files.tsv").rows.map { ($0[0], $0[1]) } }

    @Test(arguments: try files.get())
    func `a file that the connection string names is looked at as any other`(parameter: String, fault: String) throws {
        let setup = try Setup(["POSTGRES_URL": nil])
        for (name, mode) in [("sound", 0o600), ("grouped", 0o640), ("open", 0o644)] {
            _ = try setup.file(name, "*:*:*:*:canary\n", mode: mode)
        }
        let faults = setup.faults(yaml: "postgres.url: \"postgresql://service@/app?\(parameter)\"\n")
        let folder = setup.directory.path
        let said = fault.replacing("FOLDER", with: folder).replacing("ADVICE", with: ConfigurationReader.modeAdvice)
        #expect(faults == (fault == "-" ? [] : ["postgres.url (\(folder)/config.yaml): \(said)"]))
    }

    @Test func `a tilde in the connection string is no home folder, as to libpq`() async throws {
        let setup = try Setup()
        let path = try setup.file("pgpass", "*:*:*:*:canary\n", mode: 0o600)
        setup.environment["HOME"] = setup.directory.path
        for (passfile, isSound) in [(path, true), ("~/pgpass", false)] {
            setup.environment["COUNTERSIGN_POSTGRES_URL"] = "postgresql://service@/app?passfile=\(passfile)"
            let run = try await CountersignProcess.run(["config", "check"], environment: setup.environment)
            #expect((run.code == 0) == isSound, "\(run.errors)")
            #expect(run.errors.contains("passfile names no file") == !isSound, "\(run.errors)")
        }
    }

    @Test func `serve refuses a password file that libpq would warn of in lines that are no log`() async throws {
        let setup = try Setup()
        let path = try setup.file("pgpass", "*:*:*:*:canary\n", mode: 0o644)
        setup.environment["COUNTERSIGN_POSTGRES_URL"] = "postgresql://service@/app?passfile=\(path)"
        for command in ["serve", "doctor"] {
            let run = try await CountersignProcess.run([command], environment: setup.environment)
            #expect(run.code != 0)
            let said = run.output + run.errors
            #expect(said.contains("passfile names a file that others than its owner can open"), "\(said)")
            #expect(said.contains(path))
            #expect(!said.contains("WARNING") && !said.contains("canary"), "\(said)")
        }
    }
}
