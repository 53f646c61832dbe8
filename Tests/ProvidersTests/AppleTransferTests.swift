import Accounts
import Curl
import Providers
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct AppleTransferTests {
    let now = Timestamp(seconds: referenceTime)
    let person = ProviderSubject(AppleFixture.subject)
    let transfer = ProviderSubject("760000.0f1e2d3c4b5a69788796a5b4c3d2e1f0.1827")

    private func transferSubject(_ apps: EndpointServer) async throws -> ProviderSubject {
        try await apps.apple().transferSubject(
            of: #require(person), to: "RECIPIENT1", clientID: AppleFixture.clientID, migrationToken: "canary-bearer",
            at: now)
    }

    private func transferred(_ apps: EndpointServer) async throws -> (subject: ProviderSubject, email: ProviderEmail?) {
        try await apps.apple().transferred(
            #require(transfer), clientID: AppleFixture.clientID, migrationToken: "canary-bearer", at: now)
    }

    @Test func `a migration token is asked for as the client`() async throws {
        let answer = #"{"access_token":"b34re4.0.mqrs.Example","token_type":"Bearer","expires_in":3600}"#
        try await withEndpoint(.apple, answering: .respond(text: answer)) { apps in
            let token = try await apps.apple().migrationToken(of: AppleFixture.clientID, at: now)
            #expect(token == "b34re4.0.mqrs.Example")
            let form = try apps.form()
            let secret = try form.value("client_secret")
            #expect(form.target == "/auth/token")
            #expect(
                form.lines == [
                    "client_id=com.example.lamp", "client_secret=\(secret)", "grant_type=client_credentials",
                    "scope=user.migration",
                ])
            #expect(try AppleSecretVerifier().accepts(secret, clientID: AppleFixture.clientID, at: referenceTime))
            #expect(apps.fetcher.requests.map(\.timeout) == [.seconds(10)])
        }
    }

    @Test func `the sender asks what the recipient is to ask for`() async throws {
        let answer = #"{"transfer_sub":"760000.0f1e2d3c4b5a69788796a5b4c3d2e1f0.1827"}"#
        try await withEndpoint(.apple, answering: .respond(text: answer)) { apps in
            #expect(try await transferSubject(apps) == transfer)
            let form = try apps.form()
            let secret = try form.value("client_secret")
            #expect(form.target == "/auth/usermigrationinfo")
            #expect(
                form.lines == [
                    "client_id=com.example.lamp", "client_secret=\(secret)", "sub=\(AppleFixture.subject)",
                    "target=RECIPIENT1",
                ])
            #expect(apps.requests[0].header("Authorization") == "Bearer canary-bearer")
        }
    }

    @Test func `the recipient learns who it is and under which relay address`() async throws {
        let answer = #"{"sub":"001999.new","email":"n3w@privaterelay.appleid.com","is_private_email":true}"#
        try await withEndpoint(.apple, answering: .respond(text: answer)) { apps in
            let (subject, email) = try await transferred(apps)
            #expect(subject.text == "001999.new")
            #expect(email?.address == EmailAddress("n3w@privaterelay.appleid.com"))
            #expect(email?.isPrivateRelay == true)
            #expect(email?.isVerified == false)
            let form = try apps.form()
            let secret = try form.value("client_secret")
            #expect(form.target == "/auth/usermigrationinfo")
            #expect(
                form.lines == [
                    "client_id=com.example.lamp", "client_secret=\(secret)",
                    "transfer_sub=760000.0f1e2d3c4b5a69788796a5b4c3d2e1f0.1827",
                ])
            #expect(apps.requests[0].header("Authorization") == "Bearer canary-bearer")
        }
        try await withEndpoint(.apple, answering: .respond(text: #"{"sub":"001999.new"}"#)) { apps in
            let email = try await transferred(apps).email
            #expect(email == nil)
        }
    }

    @Test(
        arguments: [
            (#"{}"#, "unexpected_json"), (#"{"sub":"","transfer_sub":""}"#, "unexpected_json"),
            (#"{"sub":1,"transfer_sub":1}"#, "unexpected_json"), ("", "not_json"),
            (#"{"access_token":""}"#, "unexpected_json"),
        ])
    func `a success without what it must hold is an outage`(body: String, detail: String) async throws {
        let expected = EndpointRefusal.unavailable(detail: detail)
        try await withEndpoint(.apple, answering: .respond(text: body)) { apps in
            await #expect(throws: expected) { _ = try await transferSubject(apps) }
            await #expect(throws: expected) { _ = try await transferred(apps) }
            await #expect(throws: expected) {
                try await apps.apple().migrationToken(of: AppleFixture.clientID, at: now)
            }
            #expect(apps.requests.count == 3)
        }
    }

    @Test func `an unknown subject is distinguished from a client that may not ask`() async throws {
        for (error, expected): (String, EndpointRefusal) in [
            ("invalid_request", .requestRejected(error: "invalid_request")),
            ("invalid_client", .clientRejected(error: "invalid_client", keyID: EndpointFixture.keyID)),
            ("invalid_token", .unavailable(detail: "invalid_token")),
        ] {
            try await withEndpoint(.apple, answering: .respond(400, text: "{\"error\":\"\(error)\"}")) { apps in
                await #expect(throws: expected) { _ = try await transferSubject(apps) }
                await #expect(throws: expected) { _ = try await transferred(apps) }
                #expect(apps.requests.count == 2)
                try apps.expectSilence(expected)
            }
        }
        try await withEndpoint(.apple, answering: .respond(400, text: #"{"error":"invalid_request"}"#)) { apps in
            await #expect(
                throws: EndpointRefusal.clientRejected(error: "invalid_request", keyID: EndpointFixture.keyID)
            ) { try await apps.apple().migrationToken(of: AppleFixture.clientID, at: now) }
        }
    }

    @Test func `nothing is sent for a client without a key`() async throws {
        try await withEndpoint(.apple, answering: .respond()) { apps in
            await #expect(throws: EndpointRefusal.notConfigured) {
                try await apps.apple().migrationToken(of: "com.example.other", at: now)
            }
            #expect(apps.requests.isEmpty)
        }
    }
}
