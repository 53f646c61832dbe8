import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// Each cause that ends a session. None of its tokens is good from then on.
@Suite struct SessionEndTests {
    private static let email = "kim@example.com"

    enum Cause: CaseIterable, Sendable {
        case signedOut, signedOutElsewhere, signedOutEverywhere, listedAndEnded, tokenReused, expired
        case accountDeleted, accountDisabled, passwordChanged, passwordReset
        case identityUnlinked, identityReplaced, identityMoved, authorizationRevoked
        case consentRevoked, accountDeletedAtApple, sessionsRevokedAtGoogle
        case emailReclaimed, mailboxProven
    }

    /// A live session, and what ends it.
    private struct Case {
        let victim: IssuedSession
        let end: @Sendable () async throws -> Void
    }

    @Test(arguments: Cause.allCases)
    func `neither token of a session that has ended is good`(cause: Cause) async throws {
        try await ProviderEventFixture.run { world in
            let service = world.people.service
            let bystander = try await world.account(.apple, "ada")
            let ended = try await Self.make(cause, in: world)
            let early = try await service.sessions.session(of: ended.victim.bearer, by: service.calls.begin(by: .local))
            #expect(early.id == ended.victim.id)
            try await ended.end()
            try await expectFailure("invalidSession") {
                try await service.sessions.session(of: ended.victim.bearer, by: service.calls.begin(by: .local))
            }
            try await expectFailure("invalidRefreshToken") {
                try await service.sessions.refresh(ended.victim.refreshToken, by: world.people.call)
            }
            if cause != .accountDisabled {
                #expect(
                    try await service.sessions.list(of: early.accountID, by: service.calls.begin(by: .local)).allSatisfy
                    { $0.id != early.id })
            }
            guard cause != .expired else { return }
            _ = try await service.sessions.session(of: bystander.session.bearer, by: service.calls.begin(by: .local))
            _ = try await service.sessions.refresh(bystander.session.refreshToken, by: world.people.call)
        }
    }

    private static func make(_ cause: Cause, in world: ProviderEventFixture) async throws -> Case {
        let people = world.people
        switch cause {
        case .signedOut, .signedOutElsewhere, .signedOutEverywhere, .listedAndEnded, .tokenReused, .expired:
            let victim = try await world.account(.apple).session
            let other = try await world.session(.apple)
            return Case(victim: victim) { try await signOut(victim, cause, from: other, in: people) }
        case .accountDeleted, .accountDisabled, .passwordChanged, .passwordReset, .mailboxProven, .emailReclaimed:
            let victim = try await people.register(email)
            return Case(victim: victim.session) { try await change(victim, cause, in: people) }
        case .identityUnlinked, .identityReplaced, .authorizationRevoked:
            let account = try await world.account(.google)
            let victim = try await world.bind(.apple, to: account)
            let identity = try #require(victim.identity)
            return Case(victim: victim.session) { try await unlink(identity, cause, from: account, in: world) }
        case .identityMoved:
            let early = try await people.ticket(.apple("kim"))
            let stray = try await world.account(.apple)
            let main = try await world.account(.google)
            return Case(victim: stray.session) {
                _ = try await people.service { $0.strayAccountPolicy = .merge }.tickets.bind(
                    linkTicket: early.linkTicket, credential: main.session.credential, by: people.call)
            }
        case .consentRevoked:
            let victim = try await world.bind(.apple, to: try await world.account(.google)).session
            return Case(victim: victim) { try await world.deliver(.apple, try world.apple("consent-revoked", id: "e")) }
        case .accountDeletedAtApple:
            let victim = try await world.bind(.apple, to: try await world.account(.google)).session
            return Case(victim: victim) { try await world.deliver(.apple, try world.apple("account-delete", id: "e")) }
        case .sessionsRevokedAtGoogle:
            let victim = try await world.account(.google).session
            return Case(victim: victim) {
                try await world.deliver(
                    .google, try world.google(ProviderEventFixture.risc + "sessions-revoked", id: "e"))
            }
        }
    }

    private static func signOut(
        _ victim: IssuedSession, _ cause: Cause, from other: SignedIn, in people: SignInFixture
    ) async throws {
        let service = people.service
        let session = try await service.sessions.session(of: victim.bearer, by: service.calls.begin(by: .local))
        switch cause {
        case .signedOutElsewhere:
            try await service.sessions.revoke(
                .others,
                of: try await service.sessions.session(of: other.session.bearer, by: service.calls.begin(by: .local)),
                by: people.call)
        case .signedOutEverywhere:
            try await service.sessions.revoke(
                .all,
                of: try await service.sessions.session(of: other.session.bearer, by: service.calls.begin(by: .local)),
                by: people.call)
        case .listedAndEnded: try await service.sessions.end(session.id, of: session.accountID, by: people.call)
        case .tokenReused:
            let second = try await service.sessions.refresh(victim.refreshToken, by: people.call)
            _ = try await service.sessions.refresh(second.refreshToken, by: people.call)
            try await expectFailure("refreshTokenReused") {
                try await service.sessions.refresh(victim.refreshToken, by: people.call)
            }
        case .expired: people.clock.advance(by: 5_184_000)
        default: try await service.sessions.revoke(.current, of: session, by: people.call)
        }
        guard [.signedOut, .listedAndEnded, .tokenReused, .signedOutElsewhere].contains(cause) else { return }
        // The other one goes on.
        _ = try await service.sessions.session(of: other.session.bearer, by: service.calls.begin(by: .local))
    }

    private static func change(_ victim: SignedIn, _ cause: Cause, in people: SignInFixture) async throws {
        let service = try people.service { $0.mailLanguages = ["en"] }
        let client = people.client
        switch cause {
        case .accountDeleted:
            try await service.accounts.delete(
                accountOf: try await service.sessions.session(
                    of: victim.session.bearer, by: service.calls.begin(by: .local)), by: service.calls.begin(by: client)
            )
        case .passwordChanged:
            let other = try await people.signIn(email)
            try await service.accounts.changePassword(
                of: try await people.opened(other), current: SignInFixture.password, to: "another good password",
                by: service.calls.begin(by: client))
            _ = try await service.sessions.session(of: other.session.bearer, by: service.calls.begin(by: .local))
        case .passwordReset:
            try await service.emailCodes.mailCode(to: email, for: .resetPassword, by: service.calls.begin(by: client))
            try await service.emailCodes.resetPassword(
                email: email, code: try await people.digits(.resetPassword, of: email),
                newPassword: "another good password",
                by: service.calls.begin(by: client))
        case .mailboxProven:
            try await service.emailCodes.mailCode(to: email, for: .signIn, by: service.calls.begin(by: client))
            let owner = try await service.emailCodes.signIn(
                email: email, code: try await people.digits(.signIn, of: email), by: service.calls.begin(by: client)
            ).session
            _ = try await service.sessions.session(of: owner.session.bearer, by: service.calls.begin(by: .local))
        case .emailReclaimed:
            _ = try await people.signUp(.google("owner", SignInFixture.hosted(email)))
        default:
            _ = try await people.database.execute(
                "UPDATE accounts SET status = 'disabled' WHERE account_id = \(victim.account.id)")
        }
    }

    private static func unlink(
        _ identity: Identity, _ cause: Cause, from account: SignedIn, in world: ProviderEventFixture
    ) async throws {
        let people = world.people
        switch cause {
        case .identityReplaced:
            let ticket = try await people.ticket(.apple("kim-2"))
            _ = try await people.service.tickets.bind(
                linkTicket: ticket.linkTicket, credential: account.session.credential, replacing: true,
                by: people.call)
        case .authorizationRevoked:
            _ = try await world.storage.accounts.revoke(
                identity.id, unlinking: true, recording: AuditEvent(.revocationRequested, by: .operator),
                by: .at(people.clock.now()))
        default:
            let session = try await people.opened(account)
            try await people.service.accounts.unlink(identity.id, of: session, by: people.call)
        }
        // What opened the account's other session is still there.
        _ = try await people.opened(account)
    }
}
