import Foundation
import HTTPAPI
import TestSupport
import Testing

@testable import countersign

/// What the doctor says of account linking.
@Suite(.timeLimit(.minutes(3))) struct DoctorLinkingTests {
    var scratch: ScratchDatabase { .current }

    private static let fingerprint = Array(repeating: "1F", count: 32).joined(separator: ":")
    private static let otherFingerprint = Array(repeating: "2E", count: 32).joined(separator: ":")

    private static let variables = [
        "COUNTERSIGN_OAUTH_ENABLED": "true", "COUNTERSIGN_APP_FLIP_APPLE_APP_IDS": "ABCDE12345.com.acme.app",
        "COUNTERSIGN_APP_FLIP_ANDROID_APPS": "com.acme.app=\(fingerprint)",
    ]

    /// The files of the configuration above, in which a test changes something.
    private static func files(
        appID: String = "ABCDE12345.com.acme.app", package: String = "com.acme.app", fingerprint: String = fingerprint,
        path: String = "/app-flip"
    ) -> AssociationFiles {
        AssociationFiles(
            appleAppIDs: [appID], androidApps: [.init(package: package, fingerprint: fingerprint)], path: path)
    }

    private static func doctor(
        _ variables: [String: String], _ body: (Doctor) async throws -> [Finding]
    ) async throws -> [String] {
        let setup = try ConfigurationSetup()
        setup.environment.merge(variables) { $1 }
        return try await Doctor.with(setup.environment, body).map(\.line)
    }

    /// What the doctor says of the association files at this URL, which stands as `URL` in it.
    private static func appFlip(at url: String, _ changes: [String: String] = [:]) async throws -> [String] {
        let variables = variables.merging(["COUNTERSIGN_SERVER_PUBLIC_URL": url]) { $1 }.merging(changes) { $1 }
        return try await doctor(variables) { await $0.appFlip() }.map { $0.replacing(url, with: "URL") }
    }

    /// The same of a server on loopback that answers with these steps, by the path.
    private static func appFlip(
        _ answer: @escaping @Sendable (AssociationFiles.File) -> LoopbackServer.Step
    ) async throws -> [String] {
        let server = try LoopbackServer { request in
            [AssociationFiles.File(rawValue: request.target).map(answer) ?? .respond(500)]
        }
        let findings = try await appFlip(at: server.url)
        withExtendedLifetime(server) {}
        return findings
    }

    private static func respond(
        _ files: AssociationFiles, _ file: AssociationFiles.File, contentType: String = "application/json"
    ) -> LoopbackServer.Step { .respond(headers: [("Content-Type", contentType)], body: files.content(of: file)) }

    private static let apple = AssociationFiles.File.apple.rawValue
    private static let android = AssociationFiles.File.android.rawValue

    @Test(.fixture(ScratchDatabase.self))
    func `the files that the service itself serves are the configured ones`() async throws {
        let settings = [
            "postgres.url": scratch.url, "apple.keysUrl": "http://127.0.0.1:1/",
            "google.keysUrl": "http://127.0.0.1:1/", "oauth.enabled": "true",
            "appFlip.appleAppIds": "ABCDE12345.com.acme.app",
            "appFlip.androidApps": "com.acme.app=\(Self.fingerprint)",
        ]
        try await Countersign.serve(settings) { service in
            let findings = try await Self.appFlip(at: service.url)
            #expect(
                findings == [
                    "ok appFlip: URL\(Self.apple) is the one that is configured",
                    "ok appFlip: URL\(Self.android) is the one that is configured",
                ])
            let changed = try await Self.appFlip(
                at: service.url, ["COUNTERSIGN_APP_FLIP_APPLE_APP_IDS": "ABCDE12345.com.acme.new"])
            #expect(changed.count == 2)
            #expect(changed.first?.hasPrefix("failure appFlip: URL\(Self.apple) lacks the app ABCDE12345.") == true)
        }
    }

    @Test func `without account linking, and without an app, nothing is fetched`() async throws {
        let server = try LoopbackServer { _ in [.respond(500)] }
        #expect(try await Self.appFlip(at: server.url, ["COUNTERSIGN_OAUTH_ENABLED": "false"]) == [])
        let none = try await Self.appFlip(
            at: server.url, ["COUNTERSIGN_APP_FLIP_APPLE_APP_IDS": "", "COUNTERSIGN_APP_FLIP_ANDROID_APPS": ""])
        #expect(none == ["ok appFlip: is off: neither appFlip.appleAppIds nor appFlip.androidApps is set"])
        #expect(server.history.requests.isEmpty)
        let androidAlone = try await Self.appFlip(at: server.url, ["COUNTERSIGN_APP_FLIP_APPLE_APP_IDS": ""])
        #expect(androidAlone.count == 1)
        #expect(server.history.requests.map(\.target) == [Self.android])
    }

    @Test func `a public URL that doesn't answer is a warning`() async throws {
        let port = try FreePort.choose(1)[0]
        let findings = try await Self.appFlip(at: "http://127.0.0.1:\(port)")
        #expect(findings.count == 2)
        for (finding, path) in zip(findings, [Self.apple, Self.android]) {
            #expect(finding.hasPrefix("warning appFlip: URL\(path) can't be reached from here (connect); "))
        }
    }

    @Test func `a redirect, another status and another content type are failures, whatever the body`() async throws {
        let files = Self.files()
        let faults: [(LoopbackServer.Step, LoopbackServer.Step, String)] = [
            (
                .respond(301, headers: [("Location", "https://www.example.com/")]), .respond(307),
                "is answered with a redirect (status 30"
            ),
            (
                .respond(404, headers: [("Content-Type", "application/json")], body: files.content(of: .apple)),
                .respond(403), "is answered with status 40"
            ),
            (
                Self.respond(files, .apple, contentType: "text/html; charset=utf-8"),
                Self.respond(files, .android, contentType: "application/json5"), "comes as "
            ),
            (.respond(body: files.content(of: .apple)), .respond(text: "[]"), "comes without a Content-Type"),
        ]
        for (apple, android, sentence) in faults {
            let findings = try await Self.appFlip { $0 == .apple ? apple : android }
            #expect(findings.count == 2, "\(sentence)")
            for (finding, path) in zip(findings, [Self.apple, Self.android]) {
                #expect(finding.hasPrefix("failure appFlip: URL\(path) \(sentence)"), "\(finding)")
            }
        }
    }

    @Test func `a content type with a charset is good`() async throws {
        let files = Self.files()
        let findings = try await Self.appFlip {
            Self.respond(files, $0, contentType: "Application/JSON; charset=UTF-8")
        }
        #expect(findings.map { $0.prefix(3) } == ["ok ", "ok "], "\(findings)")
    }

    @Test func `what a file lacks is named`() async throws {
        let lacking: [(AssociationFiles, AssociationFiles.File, String)] = [
            (Self.files(appID: "ABCDE12345.com.acme.old"), .apple, "the app ABCDE12345.com.acme.app"),
            (Self.files(path: "/flip"), .apple, "the path /app-flip of the app ABCDE12345.com.acme.app"),
            (Self.files(package: "com.acme.old"), .android, "the package com.acme.app"),
            (
                Self.files(fingerprint: Self.otherFingerprint), .android,
                "the fingerprint \(Self.fingerprint) of the package com.acme.app"
            ),
        ]
        for (served, file, sentence) in lacking {
            let failures = try await Self.appFlip { Self.respond(served, $0) }.filter { !$0.hasPrefix("ok ") }
            #expect(failures.count == 1, "\(failures)")
            #expect(
                failures.first?.hasPrefix("failure appFlip: URL\(file.rawValue) lacks \(sentence); ") == true,
                "\(failures)")
        }
    }

    @Test func `a page in the place of a file is a failure, and more apps than the configured ones a warning`()
        async throws
    {
        let more = AssociationFiles(
            appleAppIDs: ["ABCDE12345.com.acme.app", "ABCDE12345.com.acme.more"],
            androidApps: [
                .init(package: "com.acme.app", fingerprint: Self.otherFingerprint),
                .init(package: "com.acme.app", fingerprint: Self.fingerprint),
            ], path: "/app-flip")
        let warnings = try await Self.appFlip { Self.respond(more, $0) }
        #expect(warnings.count == 2)
        #expect(warnings.allSatisfy { $0.hasPrefix("warning appFlip: ") && $0.contains("has what is configured") })
        let pages = try await Self.appFlip { _ in
            .respond(headers: [("Content-Type", "application/json")], text: "<html></html>")
        }
        #expect(pages.count == 2)
        #expect(pages.allSatisfy { $0.hasPrefix("failure appFlip: ") && $0.contains(" is no JSON; ") })
    }

    // MARK: - Consent

    private static func consentTexts(
        _ scratch: ScratchDatabase, scopes: String = "profile,email,devices.read,devices.write", texts: String
    ) async throws -> [String] {
        let directory = try ScratchDirectory()
        defer { directory.remove() }
        return try await doctor([
            "COUNTERSIGN_POSTGRES_URL": scratch.url, "COUNTERSIGN_OAUTH_ENABLED": "true",
            "COUNTERSIGN_OAUTH_SCOPES": scopes,
            "COUNTERSIGN_OAUTH_SCOPE_TEXTS_PATH": try directory.write("scopes.yaml", texts),
        ]) { await $0.consentTexts() }
    }

    /// Makes a client by the command, and gives its id.
    private static func client(_ scratch: ScratchDatabase, _ options: [String] = []) async throws -> String {
        let arguments = ["oauth-client", "create", "--name", "Lamp", "--redirect-uri", "https://a.example/in"]
        let run = try await CountersignProcess.run(
            arguments + options,
            environment: [
                "COUNTERSIGN_POSTGRES_URL": scratch.url,
                "COUNTERSIGN_OAUTH_SCOPES": "profile,email,devices.read,devices.write",
            ])
        let printed = try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: String]
        return try #require(printed?["clientId"], "\(run.errors)")
    }

    private static let gapped = """
        devices.read: {en: See your lamps, de: Ihre Lampen sehen, fr: Voir vos lampes}
        devices.write: {en: Switch your lamps}
        """

    @Test(.fixture(ScratchDatabase.self))
    func `a scope that an enabled client may have lacks no language that another has`() async throws {
        let none = try await Self.consentTexts(scratch, texts: Self.gapped)
        #expect(none == ["ok consentTexts: nobody is asked: no client is enabled"])

        _ = try await Self.client(scratch, ["--scope", "devices.read", "--scope", "email"])
        let sound = try await Self.consentTexts(scratch, texts: Self.gapped)
        #expect(
            sound == [
                "ok consentTexts: each scope of 1 enabled client has a sentence in en, de, fr; the pages in ar, "
                    + "es, it, ja, ko, nl, pl, pt-BR, zh-Hans have the English one"
            ])

        // It has no list of its own, and so may have all.
        let id = try await Self.client(scratch)
        let gap = try await Self.consentTexts(scratch, texts: Self.gapped)
        #expect(
            gap == [
                "warning consentTexts: the scope devices.write has no sentence in de, fr, and English stands there; "
                    + "add it to the file of oauth.scopeTextsPath"
            ])

        let disabled = try await CountersignProcess.run(
            ["oauth-client", "disable", id], environment: ["COUNTERSIGN_POSTGRES_URL": scratch.url])
        #expect(disabled.code == 0, "\(disabled.errors)")
        #expect(try await Self.consentTexts(scratch, texts: Self.gapped) == sound)
    }

    @Test(.fixture(ScratchDatabase.self))
    func `built-in sentences are in every language until an English one takes their place`() async throws {
        _ = try await Self.client(scratch)
        let all = "en, ar, de, es, fr, it, ja, ko, nl, pl, pt-BR, zh-Hans"
        let builtIn = try await Self.consentTexts(scratch, scopes: "profile,email", texts: "profile: {de: Ihr Name}\n")
        #expect(builtIn == ["ok consentTexts: each scope of 1 enabled client has a sentence in en, de"])
        let replaced = try await Self.consentTexts(
            scratch, scopes: "profile,email",
            texts: "profile: {en: Your name}\nemail: {en: Your address, de: Ihre Adresse}\n")
        #expect(replaced.count == 1)
        #expect(
            replaced.first?.hasPrefix("warning consentTexts: the scope profile has no sentence in de, and ") == true
        )
        let unread = try await Self.consentTexts(
            scratch, scopes: "devices.read", texts: "devices.read: {en: See your lamps, de-AT: Lampen, sv: Lampor}"
        )
        #expect(unread.count == 2)
        #expect(
            unread.first == "warning consentTexts: oauth.scopeTextsPath has sentences in de-AT, sv, and the pages "
                + "don't; the languages of the pages are \(all)")
    }

    @Test(.fixture { try await ScratchDatabase.withFresh($0) })
    func `without a database, or without account linking, that is said`() async throws {
        let off = try await Self.doctor([:]) { await $0.consentTexts() }
        #expect(off == ["ok consentTexts: nobody is asked: oauth.enabled is false"])
        // No migration was applied: there is no table of clients.
        let findings = try await Self.consentTexts(scratch, texts: Self.gapped)
        #expect(
            findings == [
                "note consentTexts: the clients couldn't be read: the schema is not the one that this program needs"
            ])
    }
}
