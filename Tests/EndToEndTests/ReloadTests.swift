import Foundation
import Postgres
import TestSupport
import Testing

/// SIGHUP to a running service whose configuration file has changed (threat J10).
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct ReloadTests {
    private static let added = "com.example.lamp.added"

    @Test func `fifty broken files change nothing and say why, a good one takes effect, and no request is dropped`()
        async throws
    {
        let files = try ReloadedFiles()
        try await World.run(files.settings) { world in
            let service = world.service
            _ = try await world.newAccount("kim")
            let old = try await world.appleToken("kim")
            let new = try await world.sandbox.authorizeApple("kim", clientID: Self.added).identityToken
            let google = try await world.googleToken("kim")
            let load = Task { try await Self.failures(of: service, token: google) }

            let faults = try ReloadedFiles.faults
            #expect(faults.count >= 50)
            for fault in faults {
                try files.restore()
                try fault.make(files)
                try await Self.reload(service, "refused", #""key":"\#(fault.key ?? files.path)""#, fault.words)
                #expect(try await service.signInWithApple(old).status == 200, "\(fault.name)")
                #expect(try await service.signInWithApple(new).status == 401, "\(fault.name)")
            }
            #expect(!service.log.contains(ReloadedFiles.typedSecret))
            #expect(try await service.metric("countersign_configuration_reloads_total", "refused") >= 50)
            #expect(try await service.privateGet("/metrics").text.contains("_last_reload_successful 0\n"))

            try files.restore()
            files.yaml.replace("[\(Countersign.appleClient)]", with: "[\(Self.added)]")
            try files.write()
            try await Self.reload(service, "adopted", #""changed":"apple.clientIds""#)
            #expect(try await service.signInWithApple(new).status == 200)
            let removed = try await service.signInWithApple(old).expecting(401)
            #expect(try removed.text("code") == "invalid_token")
            #expect(try await service.privateGet("/metrics").text.contains("_last_reload_successful 1\n"))
            load.cancel()
            #expect(try await load.value == [])
        }
    }

    @Test func `limits, issuers, policies and the log's level follow the file without a restart`() async throws {
        let files = try ReloadedFiles()
        try await World.run(files.settings) { world in
            let service = world.service
            _ = try await world.newAccount("ada")
            let token = try await world.appleToken("ada")
            func guess(_ email: String) async throws -> Int {
                try await service.post(
                    "/v1/sign-in/password", ["email": .string(email), "password": "wrong password"]
                ).status
            }
            #expect(try await guess("before@example.com") == 401)
            #expect(try await guess("before@example.com") == 401)
            files.yaml += "limits: {passwordPerAccount: 1/d}\n"
            files.yaml.replace("level: notice", with: "level: info")
            try files.write()
            try await Self.reload(service, "adopted", #""changed":"limits.passwordPerAccount, log.level""#)
            #expect(try await guess("after@example.com") == 401)
            #expect(try await guess("after@example.com") == 429)
            let signedIn = try await service.signInWithApple(token)
            _ = try await service.logged(try #require(signedIn.header("X-Request-Id")))

            files.yaml += "nonces: {policy: required}\n"
            try files.write()
            try await Self.reload(service, "adopted")
            #expect(try await service.signInWithApple(token).status == 401)
            files.yaml.replace("policy: required", with: "policy: optional")

            let elsewhere = try await world.googleToken("ada", .init(claims: #"{"iss":"https://elsewhere.example"}"#))
            #expect(try await service.signInWithGoogle(elsewhere).code == "invalid_token")
            #expect(
                try await service.metric(
                    "countersign_sign_ins_total", #"provider="google""#, #"reason="issuer_rejected""#) == 1)
            let event = try await world.sandbox.sendGoogleEvent(
                "sessions-revoked", about: .person("ada"), clientID: Countersign.googleClient,
                token: .init(claims: #"{"iss":"https://elsewhere.example"}"#))
            #expect(try await service.deliverGoogleEvent(event.token).status == 400)
            #expect(
                try await service.metric(
                    "countersign_provider_events_total", #"outcome="refused""#, #"reason="issuer_rejected""#) == 1)
            files.yaml += "google: {issuers: [https://elsewhere.example]}\n"
            try files.write()
            try await Self.reload(service, "adopted")
            #expect(try await service.signInWithApple(token).status == 200)
            #expect(try await service.signInWithGoogle(elsewhere).status == 200)
            #expect(try await service.deliverGoogleEvent(event.token).status == 202)
            #expect(try await service.signInWithGoogle(try await world.googleToken("ada")).status == 401)
        }
    }

    @Test func `a changed key that needs a restart is named, and not applied`() async throws {
        let files = try ReloadedFiles()
        try await World.run(files.settings) { world in
            let service = world.service
            files.yaml += """
                tokens: {issuer: https://elsewhere.example}
                mail: {serviceName: Lamp}

                """
            files.yaml.replace("level: notice", with: "level: info")
            try files.write()
            try files.writeKeyRing(id: "other")
            let log = try await Self.reload(service, "adopted", #""changed":"log.level""#)
            for key in ["tokens.issuer", "mail.serviceName", "keyring.path"] {
                #expect(log.contains(#""message":"changed key takes effect at next start","key":"\#(key)""#), "\(log)")
            }
            let document = try await service.get("/.well-known/openid-configuration")
            #expect(try document.text("issuer") == service.url)
            // The old ring still seals, and opens what it has sealed.
            #expect(try await world.newAccount("eve").status == 201)
        }
    }

    @Test func `a rotated key of Apple's is used from the next exchange on`() async throws {
        let files = try ReloadedFiles()
        try await World.run(files.settings) { world in
            let service = world.service
            try await world.newPerson("zoe")
            let key = try files.rotateAppleKey()
            try await Self.reload(service, "adopted", #""changed":"apple.privateKeyPath""#)
            // The sandbox knows the old key alone: the refusal shows that the new one was used.
            #expect(try await service.signIn(.apple, world.authorize("zoe").codeAlone).status == 503)
            try await world.sandbox.registerAppleKey(team: World.appleTeam, keyID: World.appleKeyID, key)
            #expect(try await service.signIn(.apple, world.authorize("zoe").codeAlone).status == 200)
        }
    }

    @Test func `a team that has people and is left out is a warning, of the reload and of each start`() async throws {
        let files = try ReloadedFiles()
        try await World.run(files.settings) { world in
            let service = world.service
            #expect(try await world.newAccount("kim").status == 201)
            let alone = files.yaml
            files.yaml += files.team("beta")
            try files.write()
            let added = try await Self.reload(service, "adopted")
            #expect(!added.contains("Apple team"))

            try await world.scratch.execute("UPDATE identities SET realm = 'beta' WHERE provider = 'apple'")
            let warning = #""message":"people's Apple team is not configured","key":"apple.teams","team":"beta""#
            files.yaml = alone
            try files.write()
            try await Self.reload(service, "adopted", warning)
            files.yaml.replace("level: notice", with: "level: info")
            try files.write()
            let later = try await Self.reload(service, "adopted")
            #expect(!later.contains("Apple team"))

            try await World.serve(world.scratch, world.sandbox, files.settings) { other in
                try await eventually("the warning") { other.service.log.contains(warning) }
                #expect(!other.service.log.contains("behind a pooler"))
            }
        }
    }

    @Test func `the gauges of a team and of a webhook come and go with them`() async throws {
        let files = try ReloadedFiles()
        try await World.run(files.settings) { world in
            let service = world.service
            func gauges() async throws -> Set<String> {
                let page = try await service.privateGet("/metrics").text
                let found = page.matches(of: /(?m)^countersign_(\w+)\{(?:team|endpoint)="(\w+)"\}/)
                // Counters stay.
                return Set(found.filter { !$0.1.hasSuffix("_total") }.map { "\($0.2) \($0.1)" })
            }
            func ofTeam(_ name: String) -> Set<String> {
                ["\(name) apple_client_secret_age_seconds", "\(name) apple_key_file_age_seconds"]
            }
            let crm: Set = ["crm webhook_active", "crm webhook_behind_seconds", "crm webhook_parked_accounts"]
            let alone = files.yaml
            let cases: [(lines: String, gauges: Set<String>)] = [
                (files.team("beta"), ofTeam("beta")), (files.team("beta", hasKey: false), []),
                (files.team("beta"), ofTeam("beta")), (try files.webhook("crm"), crm), ("", []),
            ]
            for (lines, expected) in cases {
                files.yaml = alone + lines
                try files.write()
                try await Self.reload(service, "adopted")
                try await eventually("the gauges \(expected)") { try await gauges() == expected.union(ofTeam("main")) }
            }
            #expect(try await service.privateGet("/metrics").text.contains("countersign_metrics_refused_total 0\n"))
        }
    }

    /// Signs in until cancelled.
    ///
    /// - Returns: the failures. Two requests may be shed by a busy machine; a fault of the reload would cost fifty.
    private static func failures(of service: Countersign, token: String) async throws -> [String] {
        var failures: [String] = []
        var shed = 0
        while !Task.isCancelled {
            do {
                let answer = try await service.signInWithGoogle(token)
                if answer.code == "temporarily_unavailable", shed < 2 {
                    shed += 1
                } else if answer.status != 200 {
                    failures.append("\(answer.status)")
                }
            } catch {
                if !Task.isCancelled { failures.append("\(error)") }
            }
        }
        return failures
    }

    /// Sends the signal, and waits until the service has handled it and logged these words.
    ///
    /// - Returns: the log written meanwhile.
    @discardableResult
    static func reload(_ service: Countersign, _ outcome: String, _ words: String...) async throws -> String {
        func count() async throws -> [Double] {
            let series = "countersign_configuration_reloads_total"
            return [try await service.metric(series, "adopted"), try await service.metric(series, "refused")]
        }
        let before = try await count()
        let written = service.log.utf8.count
        service.send(SIGHUP)
        try await eventually("a reload") { try await count() != before }
        #expect((try await count()[0] > before[0]) == (outcome == "adopted"))
        let all = [outcome == "adopted" ? "configuration reloaded" : "configuration not reloaded"] + words
        var log = ""
        // The log arrives by a pipe.
        try await eventually("a log with \(all)") {
            log = String(decoding: Array(service.log.utf8.dropFirst(written)), as: UTF8.self)
            return log.hasSuffix("\n") && all.allSatisfy(log.contains)
        }
        return log
    }
}
