import TestSupport
import Testing

/// `countersign google risc`, as a process that manages the stream of the sandbox's project.
@Suite struct GoogleCommandTests {
    private static let endpoint = "http://127.0.0.1:1/v1/events/google"
    private static let risc = "https://schemas.openid.net/secevent/risc/event-type/"

    /// The sandbox with a project that has a client, the account's file, and a way to run a command beside them.
    private struct Project {
        let sandbox: Sandbox
        let path: String

        func run(_ arguments: String..., environment: [String: String] = [:]) async throws -> FinishedProcess {
            try await CountersignProcess.run(
                ["google", "risc"] + arguments + ["--api-url", sandbox.riscURL],
                environment: [
                    "COUNTERSIGN_GOOGLE_SERVICE_ACCOUNT_PATH": path,
                    "COUNTERSIGN_GOOGLE_KEYS_URL": sandbox.googleKeysURL,
                    "COUNTERSIGN_GOOGLE_RISC_CONFIGURATION_URL": sandbox.riscConfigurationURL,
                ].merging(environment) { $1 })
        }
    }

    private func project(hasRole: Bool = true, _ body: (Project) async throws -> Void) async throws {
        try await Sandbox.run { sandbox in
            try await sandbox.registerServiceAccount(hasRole: hasRole)
            try await sandbox.registerGoogleClient("web", secret: "GOCSPX-web")
            try await ServiceAccountFile.with { path in try await body(Project(sandbox: sandbox, path: path)) }
        }
    }

    @Test func `A stream is registered, verified, switched off and on, and printed`() async throws {
        try await project { project in
            let before = try await project.run("status").ended(1)
            #expect(before.output.isEmpty)
            #expect(
                before.errors
                    == "countersign: There is no stream yet: `countersign google risc register --url URL` makes one.\n")

            let registered = try await project.run("register", "--url", Self.endpoint).ended()
            #expect(registered.errors.isEmpty)
            #expect(registered.output.hasPrefix(#"{"status":"enabled","url":"\#(Self.endpoint)","events":["#))
            #expect(try await project.sandbox.eventStream().url == Self.endpoint)
            #expect(try await project.sandbox.eventStream().eventTypes?.count == 7)

            let verified = try await project.run("verify", "--state", "hello").ended()
            #expect(verified.output == "Google was asked for a verification event\n")
            #expect(try await project.sandbox.eventStream().verifications.map(\.state) == ["hello"])

            #expect(try await project.run("disable").output == "disabled\n")
            let off = try await project.run("status").ended()
            #expect(off.output.hasPrefix(#"{"status":"disabled","#))
            #expect(try await project.run("enable").output == "enabled\n")
            #expect(try await project.run("status").output == registered.output)
        }
    }

    @Test func `Some events alone can be asked for, and status misses the others`() async throws {
        try await project { project in
            let registered = try await project.run(
                "register", "--url", Self.endpoint, "--events", "sessions-revoked", "--events",
                "\(Self.risc)account-purged"
            ).ended()
            #expect(registered.errors == "countersign: warning: Google dropped \(Self.risc)account-purged\n")
            #expect(try await project.sandbox.eventStream().eventTypes == [Self.risc + "sessions-revoked"])
            let status = try await project.run("status").ended()
            #expect(status.errors.contains("warning: Google is not asked for tokens-revoked, token-revoked, "))
            #expect(!status.errors.contains("sessions-revoked"))
        }
    }

    @Test func `Issuers and keys that differ from what Google publishes are warned of`() async throws {
        try await project { project in
            let other = try await project.run(
                "register", "--url", Self.endpoint,
                environment: [
                    "COUNTERSIGN_GOOGLE_ISSUERS": "https://issuer.example",
                    "COUNTERSIGN_GOOGLE_KEYS_URL": "https://keys.example/",
                ])
            #expect(other.code == 0)
            #expect(other.errors.contains("names an issuer that google.issuers lacks"))
            #expect(other.errors.contains("names another key address than google.keysUrl"))
            try await project.sandbox.fail("/google/.well-known/risc-configuration", .status(503))
            let unread = try await project.run("status").ended()
            #expect(unread.errors.contains("(google.riscConfigurationUrl) can't be read"))
        }
    }

    @Test func `A refusal of Google's is a sentence that says what to look at`() async throws {
        try await project(hasRole: false) { project in
            let role = try await project.run("status").ended(1)
            #expect(role.errors.contains("needs the role roles/riscconfigs.admin"))
            #expect(role.errors.contains("Google says: The caller does not have permission."))
            try await project.sandbox.registerServiceAccount()
            let domain = try await project.run("register", "--url", "https://auth.example.com/v1/events/google")
            #expect(domain.code == 1)
            #expect(domain.errors.contains("Google says: The delivery URL is not https on an authorized domain"))
            try await project.sandbox.revokeServiceAccountKey(ServiceAccountFile.email, keyID: ServiceAccountFile.keyID)
            let key = try await project.run("enable").ended(1)
            #expect(key.errors.contains("does not accept the service account's key \(ServiceAccountFile.keyID)"))
            try await project.sandbox.fail("/google/v1beta/*", .status(500))
            let down = try await project.run("disable").ended(1)
            #expect(down.errors.contains("does not answer as it should (http_500)"))
            for run in [role, domain, key, down] {
                #expect(run.output.isEmpty)
                #expect(run.errors.filter { $0 == "\n" }.count == 1, "\(run.errors)")
            }
        }
    }

    private static let setting = "google.serviceAccountPath (COUNTERSIGN_GOOGLE_SERVICE_ACCOUNT_PATH): "

    private func status(_ path: String?) async throws -> FinishedProcess {
        try await CountersignProcess.run(
            ["google", "risc", "status", "--api-url", "http://127.0.0.1:1"],
            environment: path.map { ["COUNTERSIGN_GOOGLE_SERVICE_ACCOUNT_PATH": $0] } ?? [:])
    }

    @Test func `Without a service account nothing is asked`() async throws {
        let none = try await status(nil).ended(2)
        #expect(none.errors == "countersign: \(Self.setting)is required\n")
        let nowhere = try await status("/nowhere.json").ended(2)
        #expect(nowhere.errors == "countersign: \(Self.setting)names no file (/nowhere.json)\n")
        try await ServiceAccountFile.with(mode: 0o604) { path in
            let open = try await status(path).ended(2)
            #expect(open.errors.contains("others than its owner can open"))
        }
    }

    @Test(arguments: [
        ("canary", "isn't JSON"), (#"{"type":"canary"}"#, "isn't the key of a service account"),
        (#"{"type":"service_account","client_email":"canary@a"}"#, "private_key_id is missing"),
        (
            #"{"type":"service_account","client_email":"canary@a","private_key_id":"k","private_key":"canary"}"#,
            "private_key isn't an unencrypted PKCS#8 RSA key"
        ),
    ])
    func `A file that is no service account's is refused, and not shown`(
        _ contents: String, _ sentence: String
    ) async throws {
        try await ServiceAccountFile.with(contents) { path in
            let command = try await status(path)
            // The service itself doesn't need the file, and reports the fault all the same.
            let check = try await CountersignProcess.run(
                ["config", "check"], environment: ["COUNTERSIGN_GOOGLE_SERVICE_ACCOUNT_PATH": path])
            for run in [command, check] {
                #expect(run.code == 2)
                #expect(run.errors.contains(Self.setting))
                #expect(run.errors.contains(sentence))
                #expect(!run.errors.contains("canary"))
            }
        }
    }
}
