import Accounts
import SignIn
import Storage
import TestSupport

/// The operations of people in a session.
extension RandomWalker {
    mutating func changePassword() async throws {
        let session = try await liveSession()
        let current = chance(3, of: 4) ? try one(of: WalkPerson.passwords) : nil
        try await world.service.accounts.changePassword(
            of: session, current: current, to: try one(of: WalkPerson.passwords), by: call)
        world.memory.note(.passwordChanged, by: client.requestID)
    }

    mutating func requestEmail() async throws {
        let session = try await liveSession()
        let address = try anyAddress()
        let before = try await world.service.accounts.account(of: session).email
        let isRequest = try await world.service.accounts.requestEmail(address, of: session, by: call)
        // The address that the account has is only proven, not changed.
        guard isRequest, before?.text != address,
            try await world.storage.accounts.account(session.accountID)?.email == before
        else { return }
        world.memory.note(.emailChangeRequested, by: client.requestID)
    }

    mutating func verifyEmail() async throws {
        let session = try await liveSession()
        let addresses = try await world.storage.accounts.unprovenEmails(
            of: session.accountID, by: .at(world.clock.now()))
        let address = try one(of: addresses)
        let code = try await code(.verifyEmail, to: address.text)
        try await world.service.emailCodes.verifyEmail(code: code.digits, of: session, by: call)
        world.memory.used(code: code.id)
        world.memory.note(code: address.text, by: client.requestID)
        world.memory.note(.emailVerified, .emailChanged, by: client.requestID)
    }

    mutating func rename() async throws {
        _ = try await world.service.accounts.rename(
            accountOf: try await liveSession(), to: DisplayName("Name \(steps)"), by: call)
        world.memory.note(.displayNameChanged, by: client.requestID)
    }

    mutating func link() async throws {
        let session = try await liveSession()
        let (provider, credential) = try credential(withCode: chance(1, of: 2))
        _ = try await world.service.linking.link(provider, credential, to: session, by: call)
        world.memory.note(.identityLinked, by: client.requestID)
    }

    mutating func unlink() async throws {
        let session = try await liveSession()
        let others = try await world.service.accounts.account(of: try await liveSession()).identities
        let identities = try await world.service.accounts.account(of: session).identities
        // Now and then another account's.
        let identity = try anyIdentity(of: chance(1, of: 8) ? others : identities)
        try await world.service.accounts.unlink(identity.id, of: session, by: call)
        world.memory.note(.identityUnlinked, by: client.requestID)
    }

    mutating func refresh(isStale: Bool) async throws {
        let session = try anySession()
        guard let newest = session.refreshTokens.last else { throw Idle() }
        let token = isStale ? try one(of: session.refreshTokens) : newest
        let issued = try await world.service.sessions.refresh(token, by: call)
        world.memory.remember(refreshToken: issued.refreshToken, of: session.id)
    }

    mutating func endSession() async throws {
        let session = try await liveSession()
        let listed = Set(try await world.service.sessions.list(of: session.accountID, by: call).map(\.id))
        // In the walkers' order: that of the list is random among sessions that were opened at the same time.
        let ended = try one(of: world.memory.read(\.sessions).map(\.id).filter(listed.contains))
        try await world.service.sessions.end(ended, in: session, by: call)
        world.memory.note(.signedOut, by: client.requestID)
    }
}
