import Accounts
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
        try await SignInFixture.withMail { people in
            let world = try ProviderEventFixture(people: people)
            let bystander = try await world.account(.apple, "ada")
            let ended = try await Self.make(cause, in: world)
            let early = try await people.opened(ended.victim)
            #expect(early.id == ended.victim.id)
            try await ended.end()
            try await people.expectEnded(ended.victim)
            if cause != .accountDisabled {
                let left = try await people.service.sessions.list(of: early.accountID, by: people.call)
                #expect(left.allSatisfy { $0.id != early.id })
            }
            guard cause != .expired else { return }
            _ = try await people.opened(bystander)
            _ = try await people.refresh(bystander.session.refreshToken)
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
        case .consentRevoked, .accountDeletedAtApple:
            let victim = try await world.bind(.apple, to: try await world.account(.google)).session
            let event = cause == .consentRevoked ? "consent-revoked" : "account-delete"
            return Case(victim: victim) { try await world.deliver(.apple, try world.apple(event, id: "e")) }
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
        let sessions = people.service.sessions
        let session = try await people.opened(victim)
        switch cause {
        case .signedOutElsewhere, .signedOutEverywhere:
            let scope: RevocationScope = cause == .signedOutElsewhere ? .others : .all
            try await sessions.revoke(scope, of: try await people.opened(other), by: people.call)
        case .listedAndEnded: try await sessions.end(session.id, in: try await people.opened(other), by: people.call)
        case .tokenReused:
            let second = try await people.refresh(victim.refreshToken)
            _ = try await people.refresh(second.refreshToken)
            try await expectFailure("refreshTokenReused") { try await people.refresh(victim.refreshToken) }
        case .expired: people.clock.advance(by: 5_184_000)
        default: try await sessions.revoke(.current, of: session, by: people.call)
        }
        guard [.signedOut, .listedAndEnded, .tokenReused, .signedOutElsewhere].contains(cause) else { return }
        // The other one goes on.
        _ = try await people.opened(other)
    }

    private static func change(_ victim: SignedIn, _ cause: Cause, in people: SignInFixture) async throws {
        switch cause {
        case .accountDeleted: try await people.deleteAccount(victim)
        case .passwordChanged:
            let other = try await people.signIn(email)
            try await people.changePassword(of: other)
            _ = try await people.opened(other)
        case .passwordReset: try await people.reset(email, code: try await people.code(.resetPassword, for: email))
        case .mailboxProven:
            let owner = try await people.signIn(email, code: try await people.code(.signIn, for: email))
            _ = try await people.opened(owner)
        case .emailReclaimed: _ = try await people.signUp(.google("owner", SignInFixture.hosted(email)))
        default: try await people.disable(victim)
        }
    }

    private static func unlink(
        _ identity: Identity, _ cause: Cause, from account: SignedIn, in world: ProviderEventFixture
    ) async throws {
        let people = world.people
        switch cause {
        case .identityReplaced:
            let ticket = try await people.ticket(.apple("kim-2"))
            _ = try await people.bind(ticket, account.session.credential, replacing: true)
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
