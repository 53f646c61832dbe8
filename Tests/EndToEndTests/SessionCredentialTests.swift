import Foundation
import JOSE
import JSON
import KeyRing
import OpenSSL
import Postgres
import Storage
import TestSupport
import Testing

/// Authorization of the API for apps: each operation of openapi.yaml with each kind of credential, over the wire.
@Suite(.limitedConcurrency, .mailedWorld(OAuthWorld.settings), .serialized, .timeLimit(.minutes(30)))
struct SessionCredentialTests: WorldSuite {
    /// A person with an account, and the claims of an access token for it.
    private struct Owner {
        let name: String
        let created: Answer
        let claims: TokenMint.Members

        /// - Parameter name: one that is not taken yet.
        init(_ name: String, in world: World) async throws {
            self.name = name
            created = try await world.newAccount(name)
            let now = Int64(Date().timeIntervalSince1970)
            claims = [
                "iss": .string(world.service.url), "aud": .string(world.service.url),
                "sub": .string(try created.accountID()), "sid": .string(try created.sessionID()), "iat": .integer(now),
                "exp": .integer(now + 900), "jti": .string(name), "auth_time": .integer(now), "amr": ["apple"],
            ]
        }

        var bearer: String { get throws { try created.bearer() } }
    }

    /// The key by which the service signs access tokens.
    private func signingKey() async throws -> (id: String, key: P256PrivateKey) {
        let keyRing = try KeyRing(
            parsing: try String(contentsOfFile: try Countersign.keyRingPath.get(), encoding: .utf8))
        return try await scratch.withPool { database in
            let stored = try #require(try await ServiceDatabase(database, keyRing: keyRing).signingKeys.keys().first)
            let der = try keyRing.open(
                stored.sealedPrivateKey, for: .signing, at: StoredSigningKey.location(keyID: stored.keyID))
            return (stored.keyID, try P256PrivateKey(der: der))
        }
    }

    /// Values of `Authorization` that are no live session's, by their kind.
    ///
    /// - Parameter name: the name of a new person, to whom most of the credentials belong.
    private func refused(_ name: String) async throws -> [String: String] {
        let owner = try await Owner(name, in: world)
        let access = try owner.bearer
        let (keyID, key) = try await signingKey()
        let signer = TokenSigner(key: key, keyID: keyID, type: "at+jwt")
        let otherType = TokenSigner(key: key, keyID: keyID, type: "JWT")
        let otherSigner = TokenSigner(key: try P256PrivateKey(), keyID: keyID, type: "at+jwt")
        let now = Int64(Date().timeIntervalSince1970)

        /// The access token of one more session.
        func another() async throws -> (id: String, bearer: String) {
            let session = try await world.signIn(name, with: .apple)
            return (try session.sessionID(), try session.bearer())
        }
        let ended = try await another()
        #expect(try await service.delete("/v1/sessions/\(ended.id)", bearer: access).status == 204)
        let lapsed = try await another()
        let disabled = try await Owner("\(name)-disabled", in: world)
        try await scratch.execute(
            "UPDATE sessions SET expires_at = now() - interval '1 hour' WHERE session_id = \(lapsed.id)::uuid",
            "UPDATE accounts SET status = 'disabled' WHERE email = \("\(name)-disabled@example.com")")
        let deleted = try await Owner("\(name)-deleted", in: world)
        #expect(try await service.delete("/v1/account", bearer: try deleted.bearer).status == 202)

        let headers = [
            "empty": "Bearer ", "as Basic": "Basic \(access)", "bare": access, "two": "Bearer \(access),\(access)",
        ]
        let tokens = [
            "malformed": "a.b.c", "cut short": String(access.dropLast()),
            "an admin key": try await world.adminKey("read,revoke,manage"),
            "a refresh token": try owner.created.refreshToken(),
            "a link ticket": try await world.ticket("\(name)-unlinked"),
            "Apple's": try await world.appleToken(name), "Google's": try await world.googleToken(name),
            "expired": try signer.sign(
                owner.claims.with("iat", .integer(now - 4500)).with("exp", .integer(now - 3600)).bytes),
            "another issuer's": try signer.sign(owner.claims.with("iss", "https://example.com").bytes),
            "for another audience": try signer.sign(owner.claims.with("aud", "https://example.com").bytes),
            "of no session": try signer.sign(owner.claims.with("sid", nil).bytes),
            "of another type": try otherType.sign(owner.claims.bytes),
            "signed by another key": try otherSigner.sign(owner.claims.bytes),
            "of a session that was ended": ended.bearer, "of a session that has expired": lapsed.bearer,
            "of a disabled account": try disabled.bearer, "of a deleted account": try deleted.bearer,
        ]
        return headers.merging(tokens.mapValues { "Bearer \($0)" }) { header, _ in header }
    }

    /// A request that succeeds with the owner's session: the parameter of its path, and its body.
    private func request(
        _ operation: APIDocument.Operation, of owner: Owner
    ) async throws -> (id: String, body: TokenMint.Members?) {
        func token() async throws -> TokenMint.Members { ["idToken": .string(try await world.googleToken(owner.name))] }
        switch operation.description {
        case "GET /v1/account", "DELETE /v1/account", "DELETE /v1/account/email-replacement", "GET /v1/account/export",
            "GET /v1/account/identities", "GET /v1/account/linked-clients", "GET /v1/sessions":
            return ("", nil)
        case "PATCH /v1/account": return ("", ["displayName": "Kim"])
        case "POST /v1/account/verify-email":
            let email = "\(owner.name)@new.example"
            let asked = try await service.send(
                "PUT", "/v1/account/email", ["email": .string(email)], bearer: try owner.bearer)
            #expect(asked.status == 202)
            return ("", ["code": .string(try World.code(in: try await world.mail(1, to: email)))])
        case "PUT /v1/account/email": return ("", ["email": .string("\(owner.name)@new.example")])
        case "PUT /v1/account/password": return ("", ["newPassword": "correct horse battery"])
        case "POST /v1/account/identities/{providerOrIdentityId}": return ("google", try await token())
        case "DELETE /v1/account/identities/{providerOrIdentityId}":
            let linked = try await service.post(
                "/v1/account/identities/google", try await token(), bearer: try owner.bearer)
            return (try linked.text("identityId"), nil)
        case "DELETE /v1/sessions/{sessionId}": return (try owner.created.sessionID(), nil)
        case "POST /v1/sessions/revoke": return ("", ["scope": "all"])
        case "DELETE /v1/account/linked-clients/{clientId}":
            let client = try await world.linkingClient()
            let flip = try await service.post("/oauth/flip", client.flip, bearer: try owner.bearer).expecting(200)
            #expect(try await world.redeem(try flip.text("code"), client).status == 200)
            return (client.id, nil)
        case "POST /oauth/flip": return ("", try await world.linkingClient().flip)
        case "POST /v1/links/bind":
            return ("", ["linkTicket": .string(try await world.ticket("\(owner.name)-google"))])
        default:
            Issue.record("\(operation) is new: which request of it succeeds?")
            return ("", nil)
        }
    }

    @Test func `no operation on an account opens without a live session of it, and each does with one`() async throws {
        let refused = try await refused("impostor")
        let (keyID, key) = try await signingKey()
        let signer = TokenSigner(key: key, keyID: keyID, type: "at+jwt")
        let operations = try APIDocument.read().operations.filter { $0.credentials.contains("session") }
        #expect(operations.count > 12)
        for (number, operation) in operations.enumerated() {
            let owner = try await Owner("owner-\(number)", in: world)
            let (id, members) = try await request(operation, of: owner)
            let body = members.map { String(decoding: $0.bytes, as: UTF8.self) }
            func send(_ authorization: String?, id: String = id, body: String? = body) async throws -> RawAnswer {
                try await service.exchange(
                    service.port, operation.method, operation.path(id), authorization: authorization, body: body)
            }
            // App Flip answers in words of its own, of which OAuthFlipTests says more.
            let isFlip = operation.template == "/oauth/flip"
            func expectRefusal(_ answer: RawAnswer, _ kind: String) {
                let isDisabled = isFlip && kind == "of a disabled account"
                #expect(answer.status == (isDisabled ? 403 : 401), "\(kind): \(operation)")
                if isFlip {
                    #expect(
                        answer.json?["flip_error"]?.string == (isDisabled ? "unrecoverable" : "cancelled"),
                        "\(kind): \(operation)")
                } else {
                    #expect(answer.code == "invalid_session", "\(kind): \(operation)")
                }
                #expect(answer["WWW-Authenticate"] == (isDisabled ? nil : "Bearer"), "\(kind): \(operation)")
            }
            let rows = try await world.rows()
            for (kind, authorization) in refused {
                let answer = try await send(authorization)
                if operation.template == "/v1/links/bind", ["as Basic", "bare"].contains(kind) {
                    // No bearer at all: another proof is missing.
                    #expect(answer.json?.fieldErrors == ["password required"], "\(kind): \(operation)")
                } else {
                    expectRefusal(answer, kind)
                }
            }
            if !operation.isOpen {
                expectRefusal(try await send(nil), "none")
                // A caller without a session learns nothing about the form of a valid request.
                if !isFlip {
                    let malformed = operation.method == "GET" ? nil : "{"
                    expectRefusal(try await send(nil, id: "x", body: malformed), "malformed request")
                }
            }
            #expect(try await world.rows() == rows, "\(operation)")
            // Signed by the test, so that the refusals above are due to the claims.
            let answer = try await send("Bearer \(try signer.sign(owner.claims.bytes))")
            #expect((200...204).contains(answer.status), "\(operation): \(answer.body)")
        }
    }

    /// Otherwise a client could believe that an address or a subject says what is deleted.
    @Test
    func `an operation that takes no body refuses one with members, and an empty object does no harm`() async throws {
        let operations = try APIDocument.read().operations.filter {
            $0.template.hasPrefix("/v1/") && $0.method != "GET" && !$0.hasBody
        }
        #expect(operations.count >= 5)
        for (number, operation) in operations.enumerated() {
            #expect(operation.statuses.isSuperset(of: [400, 415]), "\(operation)")
            let owner = try await Owner("bodiless-\(number)", in: world)
            let id = try await request(operation, of: owner).id
            func send(_ body: String, type: String = "application/json") async throws -> RawAnswer {
                try await service.ask(
                    operation.method, operation.path(id), bearer: try owner.bearer, body: body, type: type)
            }
            let unknown = try await send(#"{"email":"other@example.com","sub":"other"}"#)
            #expect(unknown.status == 400, "\(operation): \(unknown.body)")
            #expect(unknown.json?.fieldErrors == ["email unknown", "sub unknown"], "\(operation)")
            for body in ["{", "[]", "null", "{}{}"] {
                let malformed = try await send(body)
                #expect(malformed.status == 400 && malformed.code == "invalid_request", "\(operation): \(body)")
            }
            #expect(try await send("{}", type: "text/plain").status == 415, "\(operation)")
            // None of them has deleted anything.
            let done = try await send("{}")
            #expect((200...204).contains(done.status), "\(operation): \(done.body)")
        }
    }

    @Test func `an operation that needs no credential answers alike with any credential`() async throws {
        let credentials = try await refused("anybody")
        let document = try APIDocument.read()
        let operations = document.operations.filter { $0.credentials.isEmpty && !$0.isPage }
        #expect(operations.filter { !$0.isOpen }.isEmpty)
        #expect(operations.count > 15)
        for operation in operations {
            func send(_ authorization: String?) async throws -> String {
                let answer = try await service.exchange(
                    operation.isPrivate ? service.privatePort : service.port, operation.method, operation.template,
                    authorization: authorization, body: operation.hasBody ? "{}" : nil)
                return "\(answer.status) \(answer.code ?? "")"
            }
            let plain = try await send(nil)
            #expect(plain.hasPrefix(operation.hasBody ? "400" : "200"), "\(operation)")
            for (kind, authorization) in credentials {
                #expect(try await send(authorization) == plain, "\(kind): \(operation)")
            }
        }
    }
}
