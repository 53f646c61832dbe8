import Accounts
import Administration
import Postgres
import SignIn
import TestSupport
import Testing

/// Each way in which something happens to an account, and the events that the feed has of it. Registering on the pages, what
/// providers report, merging, importing and clients of the OAuth server are with their own tests.
@Suite(.fixture(EmailReplacementFixture.self)) struct AccountEventTests {
    var fixture: EmailReplacementFixture { .current }
    private var people: SignInFixture { fixture.people }

    private typealias Fixture = EmailReplacementFixture
    private static let vouchedFor = "kim@third.example"

    enum Way: CaseIterable {
        // Passwords
        case firstPassword, newPassword, reset, resetOfClaimed
        // Addresses
        case verification, verificationOfImported, claimOfProvider, changeOfAddress, firstProof, takeOver, successor
        case takenFromClaimed, takenFromStated, replacement
        // The account
        case disabling, enablingWithAddress, deletion, deletionByAdministrator
        // Its identities
        case unlinking, detaching

        /// As ``ServiceFixture/announced(of:)`` has them.
        var events: [String] {
            get throws {
                try #require(try DataFile("AccountEvents.json").decoded(as: [String: [String]].self)["\(self)"])
            }
        }
    }

    /// The account as it is before.
    private func account(for way: Way) async throws -> SignedIn {
        switch way {
        case .newPassword, .reset, .changeOfAddress: return try await people.member(Fixture.old)
        case .resetOfClaimed, .verification, .takenFromClaimed: return try await people.register(Fixture.old)
        case .firstProof:
            let registered = try await people.register(Fixture.old)
            _ = try await people.bind(.google("g-1"), registered.session.credential)
            return registered
        case .firstPassword, .successor:
            return try await people.signUp(.google("g-1", SignInFixture.hosted(Fixture.old)))
        case .verificationOfImported, .claimOfProvider:
            let person = try await people.signUp(.google("g-1", SignInFixture.email(Fixture.old)))
            // One that came with an import, and that nobody has typed here.
            try await people.database.execute("UPDATE accounts SET password_hash = 'x', password_is_unused = true")
            return person
        case .takeOver, .takenFromStated: return try await people.formerReader()
        case .replacement: return try await fixture.requested()
        case .enablingWithAddress:
            let claimed = try await people.register(Fixture.old)
            _ = try await people.signUp(.google("g-2", SignInFixture.hosted(Fixture.old)))
            return claimed
        case .disabling, .deletion, .deletionByAdministrator, .unlinking, .detaching: return try await fixture.member()
        }
    }

    private func go(_ way: Way, of kim: SignedIn) async throws {
        let id = kim.account.id
        switch way {
        case .firstPassword: try await people.changePassword(of: kim, from: nil)
        case .newPassword: try await people.changePassword(of: kim)
        case .reset, .resetOfClaimed:
            try await people.reset(Fixture.old, code: try await people.code(.resetPassword, for: Fixture.old))
        case .verification, .verificationOfImported: try await people.verify(kim, Fixture.old)
        case .claimOfProvider: _ = try await people.session(.google("g-1", SignInFixture.hosted(Fixture.old)))
        case .changeOfAddress:
            try await people.requestEmail(Fixture.new, of: kim)
            try await people.verifyEmail(try await people.digits(.verifyEmail, of: Fixture.new), of: kim)
        case .firstProof:
            _ = try await people.signIn(Fixture.old, code: try await people.code(.signIn, for: Fixture.old))
        case .takeOver: _ = try await people.bind(try await people.ownersAnswer().ticket, .ticket)
        case .successor: _ = try await people.ticket(.google("g-2", SignInFixture.hosted(Fixture.old)))
        case .takenFromClaimed: _ = try await people.signUp(.google("g-2", SignInFixture.hosted(Fixture.old)))
        case .takenFromStated: _ = try await people.create(try await people.ownersTicket())
        case .replacement: try await fixture.sweepInADay()
        case .disabling: try await fixture.admin.disable(id, reason: "case 17")
        case .enablingWithAddress: try await fixture.admin.enable(id, email: Self.vouchedFor, reason: "case 18")
        case .deletion: try await people.deleteAccount(kim)
        case .deletionByAdministrator:
            try await fixture.admin.administration.delete(id, reason: "case 19", by: fixture.admin.administrator)
        case .unlinking: try await people.unlink(try await people.account(kim).identities.first, of: kim)
        case .detaching: try await fixture.admin.detach(try #require(try await people.account(kim).identities.first).id)
        }
    }

    @Test(arguments: Way.allCases)
    func `the feed has of each way what happened, and on whose account`(_ way: Way) async throws {
        let kim = try await account(for: way)
        try await people.forgetEvents()
        try await go(way, of: kim)
        #expect(try await people.announced(of: kim.account.id) == way.events)
    }
}
