import Foundation
import JSON
import OpenSSL
import Postgres
import Primitives
import TestSupport
import Testing

/// Secrets of code exchanges, and personal data after the deletion of an account.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct GrantSecretsTests {
    /// A dump of the whole database, as a thief of a backup reads it.
    private func dump(_ world: World) async throws -> String {
        let run = try await FinishedProcess.run(URL(filePath: "/usr/bin/env"), ["pg_dump", world.scratch.url])
        try #require(run.code == 0, "\(run.errors)")
        return run.output
    }

    /// All texts that look like a JWT, of any issuer: client secrets are JWTs, and no client may see them.
    private func tokens(in text: String) -> [String] {
        text.matches(of: /eyJ[A-Za-z0-9_-]+\.eyJ[A-Za-z0-9_-]+/).map { String($0.output) }
    }

    /// Our own client secrets and keys.
    private func ownSecrets() throws -> Canaries {
        var secrets = Canaries()
        _ = secrets.add("Google's client secret", World.googleSecret)
        let pem = try World.appleKey.get().pem()
        for line in String(decoding: pem, as: UTF8.self).split(separator: "\n") where line.utf8.count == 64 {
            _ = secrets.add("a line of the .p8", String(line))
        }
        // RFC 5915: the private key of P-256 follows 36 octets of PKCS#8.
        _ = secrets.add("the number in the .p8", Hexadecimal.encode(try World.appleKey.get().der[36..<68]))
        let ring = try String(contentsOfFile: Countersign.keyRingPath.get(), encoding: .utf8)
        let key = try #require(ring.split(whereSeparator: \.isWhitespace).last.map(String.init))
        _ = secrets.add("the key ring", key)
        _ = secrets.add("the key ring's bytes", Hexadecimal.encode(try #require(Data(base64Encoded: key))))
        return secrets
    }

    /// A provider's answer to a code, with tokens that a search can find.
    private func exchange(_ name: String, _ secrets: inout Canaries) -> Sandbox.ExchangeChanges {
        let refresh = secrets.add("\(name) refresh token", "canary-refresh-token-\(name)")
        let access = secrets.add("\(name) access token", "canary-access-token-\(name)")
        let claims = #"{"note":"\#(secrets.add("\(name) claim", "canary-exchanged-claim-\(name)"))"}"#
        return .init(
            token: .init(claims: claims, withoutClaims: ["at_hash"]),
            answer: #"{"refresh_token":"\#(refresh)","access_token":"\#(access)"}"#)
    }

    @Test
    func `neither a dump of the database nor the log holds a secret, and a deletion leaves nothing of the person`()
        async throws
    {
        var secrets = try ownSecrets()
        var person = Canaries()
        let email = person.add("email", "canary-mailbox@example.com")
        let device = TokenMint.Literal.raw(#"{"name":"\#(person.add("device", "canary-device"))","platform":"ios"}"#)
        let name = TokenMint.Literal.raw(
            #"{"givenName":"\#(person.add("given name", "Canarygiven"))","familyName":"Canaryfamily"}"#)
        var subject = Canaries()

        try await World.run(["log.level": "trace"]) { world in
            let service = world.service
            try await world.newPerson("bird", email: email)
            let phone = try await world.sandbox.authorizeApple(
                "bird", clientID: Countersign.appleClient, exchange: exchange("apple", &secrets))
            _ = subject.add("subject at Apple", phone.user)
            let ticket = try await service.post(
                "/v1/sign-in/apple",
                [
                    "identityToken": .string(secrets.add(token: "Apple token", phone.identityToken)),
                    "authorizationCode": .string(secrets.add("Apple code", phone.authorizationCode)),
                    "fullName": name,
                ])
            let created = try await service.create(try ticket.linkTicket()).expecting(201)
            #expect(try created.text("account.displayName") == "Canarygiven Canaryfamily")
            let access = try created.bearer()

            let other = try await world.sandbox.authorizeGoogle(
                "bird", clientID: Countersign.googleClient, forceConsent: true, exchange: exchange("google", &secrets))
            _ = subject.add("subject at Google", other.userID)
            let linkRequired = try await service.post(
                "/v1/sign-in/google",
                [
                    "idToken": .string(secrets.add(token: "Google token", other.idToken)),
                    "serverAuthCode": .string(secrets.add("Google code", other.serverAuthCode)),
                ])
            let linked = try await service.bind(try linkRequired.linkTicket(), bearer: access).expecting(200)
            #expect(try linked.text("identity.authorization") == "active")
            try await provokeRefusals(world, &secrets)

            let leaving = try await service.signIn(
                .apple, try await world.authorize("bird").tokenAlone.with("device", device))
            let bearer = try leaving.bearer()

            // The dump can be searched: stored data is found.
            let living = try await dump(world)
            #expect(person.found(inDump: living) == ["email", "device", "given name"])
            #expect(subject.found(inDump: living).count == 2)
            #expect(try await world.count("SELECT count(*) FROM provider_grants") == 2)
            #expect(secrets.found(inDump: living) == [])
            #expect(tokens(in: living) == [])

            #expect(try await service.delete("/v1/account", bearer: bearer).status == 202)
            try await eventually("the end of the revocations") {
                try await world.count("SELECT count(*) FROM outbox WHERE status = 'done'") == 2
            }
            let deleted = try await dump(world)
            #expect(secrets.found(inDump: deleted) == [])
            #expect(person.found(inDump: deleted) == [])
            #expect(try await world.rows().isEmpty)

            // After an hour the first deletion of expired data, by another process, removes the subject too.
            try await world.scratch.execute("UPDATE outbox SET finished_at = finished_at - interval '2 hours'")
            let ending = await service.stop()
            #expect(ending.status == 0)
            let log = ending.output + ending.error
            #expect(secrets.found(in: log) + person.found(in: log) + subject.found(in: log) == [])
            #expect(tokens(in: log) == [])
            #expect(log.contains("http_503") && log.contains("code not exchanged"))

            try await Countersign.serve(World.settings(world.scratch, world.sandbox)) { service in
                try await eventually("the deletion of the subjects") {
                    try await world.count("SELECT count(*) FROM outbox WHERE subject IS NOT NULL") == 0
                }
                #expect(subject.found(inDump: try await dump(world)) == [])

                let next = World(service: service, sandbox: world.sandbox, scratch: world.scratch)
                let again = try await next.create(try await next.authorize("bird"))
                #expect(try again.accountID() != (try created.accountID()))
                #expect(again.json?["account"]?["displayName"] == nil)
                #expect(try again.text("identity.authorization") == "active")
            }
        }
    }

    /// Posts invalid codes, and codes to endpoints that fail.
    private func provokeRefusals(_ world: World, _ secrets: inout Canaries) async throws {
        let service = world.service
        for provider in Sandbox.Provider.allCases {
            let member = provider == .apple ? "authorizationCode" : "serverAuthCode"
            let junk = secrets.add("\(provider) junk", "canary-junk-code-\(provider)")
            #expect(try await service.signIn(provider, [member: .string(junk)]).status == 401)
            for fault in [
                Sandbox.Fault.status(503, body: #"{"error":"canary-junk-code-\#(provider)"}"#), .resetMidBody,
            ] {
                try await world.sandbox.fail(provider.tokenPath, fault)
                let code = secrets.add("\(provider) code", try await world.authorize("bird", provider).code)
                #expect(try await service.signIn(provider, [member: .string(code)]).status == 503)
                try await world.sandbox.clearFaults()
            }
        }
        try await world.sandbox.revokeAppleKey(team: World.appleTeam, keyID: World.appleKeyID)
        let code = secrets.add("code under a bad key", try await world.authorize("bird").code)
        #expect(try await service.signIn(.apple, ["authorizationCode": .string(code)]).status == 503)
        try await World.registerClients(at: world.sandbox)
        try await world.sandbox.fail("/apple/auth/revoke", .status(503), times: 1)
    }
}
