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
    ) {
        #expect(ConfigurationReader.isSecret(mode: mode, owner: owner) == isSecret)
    }

    @Test(.enabled(if: geteuid() == 0, "gives a file to a group"))
    func `a configuration of root's for the group of the service is sound, whoever checks it`() async throws {
        let setup = try Setup()
        let path = try setup.file(
            "root.yaml", "google: { clientIds: a, serverClientId: a, serverClientSecret: s }", mode: 0o640)
        try #require(chown(path, 0, 10_001) == 0)
        let arguments = ["config", "check", "--config", path]
        let run = try await CountersignProcess.run(arguments, environment: setup.environment)
        #expect((run.code, run.errors) == (0, ""))
        try #require(chmod(path, 0o644) == 0)
        let open = try await CountersignProcess.run(arguments, environment: setup.environment)
        #expect(open.code == 2)
        #expect(open.errors.contains("set its mode to 0600 (0640 if it is root's"), "\(open.errors)")
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
}
