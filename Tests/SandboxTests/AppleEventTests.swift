import Foundation
import JOSE
import JSON
import TestSupport
import Testing

/// Apple's server-to-server notifications, as the sandbox makes and sends them.
@Suite(.sharedSandbox) struct AppleEventTests {
    private var sandbox: Sandbox { .current }
    private let name = UUID().uuidString

    init() async throws { try await sandbox.addApplePerson(name, #"{"email":"kim@example.com","hidesEmail":true}"#) }

    @Test(.fixture(Sandbox.self)) func `an event is a token of Apple's with one happening as text`() async throws {
        try await sandbox.setClock("2026-01-01T12:00:00Z")
        let subject = try await sandbox.addApplePerson("kim", #"{"email":"kim@example.com"}"#)
        let event = try await sandbox.sendAppleEvent("consent-revoked", person: "kim", clientID: "app")
        let token = try UnverifiedToken(Array(event.token.utf8)).verified(by: try await sandbox.keySet(.apple))
        let rules = ClaimRules.securityEvent(issuers: ["https://appleid.apple.com"], audiences: ["app"])
        let checked = try rules.check(token, at: 1_767_268_800)
        #expect(checked.tokenID == event.tokenID)
        #expect(event.deliveries.isEmpty)

        let parts = try TokenParts(event.token)
        #expect(parts.claimNames == ["iss", "aud", "iat", "exp", "jti", "events"])
        #expect(parts.header["typ"] == nil)
        #expect(parts.claims["exp"]?.integer == 1_767_355_200)
        let text = try #require(parts.claims["events"]?.string)
        #expect(text == #"{"type":"consent-revoked","sub":"\#(subject)","event_time":1767268800000}"#)
    }

    @Test func `an event may also be an object, with its time in seconds`() async throws {
        let event = try await sandbox.sendAppleEvent(
            "account-delete", person: name, clientID: "app", form: .object, unit: .seconds,
            at: "2026-01-01T00:00:00Z", tokenID: "chosen-1")
        let claims = try TokenParts(event.token).claims
        #expect(claims["jti"]?.string == "chosen-1")
        #expect(claims["events"]?["type"]?.string == "account-delete")
        #expect(claims["events"]?["event_time"]?.integer == 1_767_225_600)
    }

    @Test func `a running clock gives milliseconds`() async throws {
        let before = Int64(Date().timeIntervalSince1970 * 1000)
        let event = try await sandbox.sendAppleEvent("x", person: name, clientID: "app", form: .object)
        let time = try #require(try TokenParts(event.token).claims["events"]?["event_time"]?.integer)
        #expect(before...Int64(Date().timeIntervalSince1970 * 1000) ~= time)
    }

    @Test func `only an event about mail has the team's address, and the flag as text`() async throws {
        let mail = try await sandbox.sendAppleEvent("email-disabled", person: name, clientID: "app", form: .object)
        let event = try #require(try TokenParts(mail.token).claims["events"])
        #expect(event["email"]?.string?.hasSuffix("@privaterelay.appleid.com") == true)
        #expect(event["is_private_email"]?.string == "true")
        let other = try await sandbox.sendAppleEvent("account-deleted", person: name, clientID: "app", form: .object)
        #expect(try TokenParts(other.token).claims["events"]?["email"] == nil)
    }

    @Test func `a subject is the client's team's, or any other`() async throws {
        let team = "TEAM" + name.prefix(6)
        try await sandbox.assignAppleClient("app." + name, team: team)
        let ours = try await sandbox.sendAppleEvent("x", person: name, clientID: "app." + name, form: .object)
        let theirs = try await sandbox.control("apple/persons/\(name)")["teams"]?[team]?["subject"]?.string
        #expect(try TokenParts(ours.token).claims["events"]?["sub"]?.string == theirs)
        let other = try await sandbox.sendAppleEvent("x", subject: "001.nobody", clientID: "app", form: .object)
        #expect(try TokenParts(other.token).claims["events"]?["sub"]?.string == "001.nobody")
    }

    @Test func `each event has an id of its own, and may be made unsound`() async throws {
        let one = try await sandbox.sendAppleEvent("x", person: name, clientID: "app")
        let two = try await sandbox.sendAppleEvent("x", person: name, clientID: "app")
        #expect(one.tokenID != two.tokenID)
        let forged = try await sandbox.sendAppleEvent(
            "x", person: name, clientID: "app", token: .init(signature: .forged))
        #expect(rejection(of: forged.token, by: try await sandbox.keySet(.apple)) == .signatureMismatch)
    }

    @Test func `a delivery posts the payload as JSON, as often as asked, and reports the answers`() async throws {
        let receiver = try LoopbackServer { request in
            [request.connection == 0 ? .respond(503, text: "later") : .respond(200)]
        }
        let event = try await sandbox.sendAppleEvent(
            "consent-revoked", person: name, clientID: "app", to: receiver.url + "/v1/events/apple?a=b",
            deliveries: 3)
        #expect(event.deliveries.map(\.status) == [503, 200, 200])
        #expect(event.deliveries.map(\.body) == ["later", nil, nil])
        let requests = receiver.history.requests
        #expect(requests.count == 3)
        for request in requests {
            #expect(request.method == "POST")
            #expect(request.target == "/v1/events/apple?a=b")
            #expect(request.header("Content-Type") == "application/json")
            #expect(String(decoding: request.body, as: UTF8.self) == #"{"payload":"\#(event.token)"}"#)
        }
    }

    @Test func `a receiver that is away or hangs up is reported as a failure`() async throws {
        var url = "http://127.0.0.1:1/"
        let unreachable = try await sandbox.sendAppleEvent("x", person: name, clientID: "app", to: url)
        #expect(unreachable.deliveries.map(\.failure) == ["connect"])
        #expect(unreachable.deliveries.map(\.status) == [nil])
        let receiver = try LoopbackServer { _ in [.reset] }
        url = receiver.url
        let reset = try await sandbox.sendAppleEvent("x", person: name, clientID: "app", to: url, deliveries: 2)
        #expect(reset.deliveries.map(\.failure) == ["no_answer", "no_answer"])
    }

    @Test func `an event that is delayed can be overtaken`() async throws {
        let receiver = try LoopbackServer { _ in [.respond(200)] }
        let url = receiver.url
        async let late = sandbox.sendAppleEvent(
            "x", person: name, clientID: "app", tokenID: "late", to: url, delaySeconds: 2)
        let early = try await sandbox.sendAppleEvent("x", person: name, clientID: "app", tokenID: "early", to: url)
        let tokens = [early.token, try await late.token]
        let bodies = receiver.history.requests.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(bodies == tokens.map { #"{"payload":"\#($0)"}"# })
    }
}
