import Accounts
import Administration
import Postgres
import SignIn
import TestSupport
import Testing

@Suite(.fixture(SignInFixture.self)) struct SessionListTests {
    var fixture: SignInFixture { .current }

    private func open(
        _ subject: String = "a-1", device: Device? = nil, address: String? = nil
    ) async throws -> SignedIn {
        let client = Caller(requestID: "test", address: address, network: nil, device: device)
        switch try await fixture.signIn(.apple, try fixture.apple(subject), by: client) {
        case .signedIn(let signedIn): return signedIn
        case .linkRequired(let ticket): return try await fixture.create(ticket)
        }
    }

    @Test func `the list shows where an account is signed in, the newest first`() async throws {
        let created = try await open()
        fixture.clock.advance(by: 10)
        let phone = Device(name: "Kim's phone", platform: "ios")
        let second = try await open(device: phone, address: "2001:db8::1")
        fixture.clock.advance(by: 10)
        let third = try await open(device: Device(name: nil, platform: "android"))
        fixture.clock.advance(by: 10)
        let refreshed = try await fixture.refresh(second.session.refreshToken)
        _ = try await open("a-2")

        let list = try await fixture.service.sessions.list(of: created.account.id, by: fixture.call)
        #expect(list.map(\.id) == [third, second, created].map(\.session.id))
        #expect(refreshed.id == second.session.id)
        #expect(list[1].device == phone)
        #expect(list[1].address == "2001:db8::1")
        #expect(list[1].createdAt.seconds == SignInFixture.start + 10)
        #expect(list[1].lastUsedAt.seconds == SignInFixture.start + 30)
        #expect(list[0].device == Device(name: nil, platform: "android"))
        #expect(list[0].lastUsedAt == list[0].createdAt)
        #expect(list.allSatisfy { $0.methods == [.apple] })
    }

    @Test func `ended and expired sessions are not in the list`() async throws {
        let first = try await open()
        fixture.clock.advance(by: 5_183_999)
        let second = try await open()
        let third = try await open()
        #expect(try await fixture.service.sessions.list(of: first.account.id, by: fixture.call).count == 3)
        fixture.clock.advance(by: 1)
        try await fixture.service.sessions.end(third.session.id, in: try await fixture.opened(second), by: fixture.call)
        #expect(
            try await fixture.service.sessions.list(of: first.account.id, by: fixture.call).map(\.id) == [
                second.session.id
            ])
    }

    @Test func `of many sessions the two hundred newest are listed, and the one that asks before them`() async throws {
        let created = try await open()
        var opened: [SessionID] = []
        for _ in 0..<205 {
            fixture.clock.advance(by: 1)
            opened.append(try await open().session.id)
        }
        let listed = try await fixture.service.sessions.list(of: created.account.id, by: fixture.call).map(\.id)
        #expect(listed == Array(opened.reversed().prefix(200)))
        // The one that asks comes first, however old it is.
        let asked = try await fixture.service.sessions.list(
            of: created.account.id, askedBy: created.session.id, by: fixture.call
        ).map(\.id)
        #expect(asked == [created.session.id] + opened.reversed().prefix(199))
        // An administrator can list all of them, page by page.
        let admin = try await fixture.administered()
        #expect(try await admin.sessions(of: created.account.id, by: 50) == opened.reversed() + [created.session.id])
    }

    @Test func `a session of somebody else, an ended, an expired and an unknown one are not there`() async throws {
        let old = try await open()
        fixture.clock.advance(by: 5_184_000)
        let kim = try await open()
        let ended = try await open()
        let session = try await fixture.opened(kim)
        try await fixture.service.sessions.end(ended.session.id, in: session, by: fixture.call)
        let ada = try await open("a-2")
        let records = try await fixture.count("audit_events WHERE type = 'signed_out'")
        let unknown = SessionID(now: fixture.clock.now())
        for id in [old.session.id, ended.session.id, ada.session.id, unknown] {
            try await expectFailure("sessionNotFound") {
                try await fixture.service.sessions.end(id, in: session, by: fixture.call)
            }
        }
        _ = try await fixture.opened(ada)
        #expect(try await fixture.count("audit_events WHERE type = 'signed_out'") == records)
    }

    @Test func `of fifty who end one session at once, one does`() async throws {
        let session = try await fixture.opened(try await open())
        let outcomes = try await race(50) { _ in
            try await fixture.service.sessions.end(session.id, in: session, by: fixture.call)
        }
        #expect(outcomes == ["won": 1, "sessionNotFound": 49])
        // Who wins need not be who came first, and is in a sum then.
        try await fixture.service.refusals.flush()
        #expect(try await fixture.count("audit_events WHERE type = 'signed_out'") == 1)
    }
}
