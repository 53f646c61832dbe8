import CountersignClient
import Foundation
import Postgres
import TestSupport
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What a person does with their account, by the library for apps, against a service.
@Suite(
    .limitedConcurrency, .mailedWorld(["limits.mailPerAddress": "0", "oauth.enabled": "true"]),
    .timeLimit(.minutes(30)))
struct ClientLibraryAccountTests: WorldSuite {
    private func google(_ person: String) async throws -> GoogleCredential {
        GoogleCredential(idToken: try await world.googleToken(person))
    }

    private func apple(_ person: String) async throws -> AppleCredential {
        AppleCredential(identityToken: try await world.appleToken(person))
    }

    /// A new account by Google of a person with an Apple account too.
    private func newAccount(_ person: String, _ client: SignInClient) async throws -> ClientAccount {
        try await world.newPerson(person)
        guard case .linkRequired(let ticket) = try await client.signIn(google: try await google(person)) else {
            throw Missing()
        }
        return try await client.create(ticket, displayName: "Kim")
    }

    private struct Missing: Error {}

    private static let ended = SessionError.reauthenticate(code: "invalid_refresh_token")

    private static func refused(_ code: String, _ status: Int) -> SessionError { .refused(code: code, status: status) }

    private func state(_ client: SignInClient) async -> SessionState? {
        for await state in client.states { return state }
        return nil
    }

    @Test func `an account is registered, proven, renamed, moved, and signed in to again`() async throws {
        let client = try world.app()
        let made = try await client.register(email: "reg@example.com", password: World.password, displayName: "Reg")
        #expect(made.displayName == "Reg" && made.hasPassword && made.emailProof == .claimed && !made.isEmailVerified)
        #expect(try await client.devices().map(\.name) == ["Kim’s phone"])
        await #expect(throws: Self.refused("email_taken", 409)) {
            try await world.app().register(email: "reg@example.com", password: World.password)
        }
        await #expect(throws: Self.refused("weak_password", 400)) {
            try await world.app().register(email: "reg2@example.com", password: "password")
        }
        try await client.requestVerification(of: "reg@example.com")
        try await client.verifyEmail(code: try await world.code(1, mailedTo: "reg@example.com"))
        #expect(try await client.account().emailProof == .proven)
        #expect(try await client.setDisplayName("Regina").displayName == "Regina")
        #expect(try await client.setDisplayName(nil).displayName == nil)

        try await client.requestEmailChange(to: "moved@example.com")
        await #expect(throws: Self.refused("invalid_credentials", 401)) { try await client.verifyEmail(code: "wrong") }
        try await client.verifyEmail(code: try await world.code(1, mailedTo: "moved@example.com"))
        #expect(try await client.account().email == "moved@example.com")

        await #expect(throws: Self.refused("invalid_credentials", 401)) {
            try await client.setPassword("another horse battery", current: "wrong")
        }
        try await client.setPassword("another horse battery", current: World.password)
        try await client.requestPasswordReset(for: "moved@example.com")
        let code = try await world.code(2, mailedTo: "moved@example.com")
        try await client.resetPassword(email: "moved@example.com", code: code, newPassword: World.password)
        await #expect(throws: Self.ended) { try await client.account() }
        #expect(try await client.signIn(email: "moved@example.com", password: World.password).id == made.id)

        let tablet = try world.app(on: "Tablet")
        try await tablet.requestSignInCode(to: "moved@example.com")
        let digits = try await world.code(3, mailedTo: "moved@example.com")
        guard case .signedIn(let account) = try await tablet.signIn(email: "moved@example.com", code: digits) else {
            throw Missing()
        }
        #expect(account.id == made.id)
        let own = try #require(try await tablet.devices().first(where: \.isCurrent))
        #expect(own.name == "Tablet" && own.methods == ["otp"])
    }

    @Test func `devices are listed, signed out one by one, all others, and everywhere`() async throws {
        let phone = try world.app(on: "Phone")
        let account = try await newAccount("devices", phone)
        let tablet = try world.app(on: "Tablet")
        let laptop = try world.app(on: "Laptop")
        for other in [tablet, laptop] { _ = try await other.signIn(google: try await google("devices")) }
        let devices = try await phone.devices()
        #expect(Set(devices.map(\.name)) == ["Phone", "Tablet", "Laptop"])
        #expect(devices.filter(\.isCurrent).map(\.name) == ["Phone"])
        #expect(devices.allSatisfy { $0.platform == "iOS" && $0.methods == ["google"] })

        let id = try #require(devices.first { $0.name == "Tablet" }?.id)
        try await phone.signOut(device: id)
        await #expect(throws: Self.ended) { try await tablet.account() }
        await #expect(throws: Self.refused("not_found", 404)) { try await phone.signOut(device: id) }
        try await phone.signOutOtherDevices()
        await #expect(throws: Self.ended) { try await laptop.account() }
        #expect(try await phone.account().id == account.id)

        _ = try await tablet.signIn(google: try await google("devices"))
        let own = try #require(try await tablet.devices().first(where: \.isCurrent))
        try await tablet.signOut(device: own.id)
        #expect(await state(tablet) == .signedOut)
        #expect(try await phone.devices().count == 1)

        _ = try await tablet.signIn(google: try await google("devices"))
        try await phone.signOutEverywhere()
        #expect(await state(phone) == .signedOut)
        await #expect(throws: Self.ended) { try await tablet.account() }
    }

    @Test func `a provider is added, and the one that opened the session is taken away`() async throws {
        let client = try world.app()
        let account = try await newAccount("linked", client)
        let google = try #require(account.identities.first)
        await #expect(throws: Self.refused("last_sign_in_method", 409)) { try await client.unlink(identity: google.id) }
        let both = try await client.link(apple: try await apple("linked"))
        #expect(both.id == account.id && both.identities.map(\.provider) == [.google, .apple])
        await #expect(throws: Self.refused("identity_already_linked", 409)) {
            try await client.link(apple: try await self.apple("linked"))
        }
        try await world.newPerson("linked-2")
        await #expect(throws: Self.refused("provider_already_linked", 409)) {
            try await client.link(google: try await self.google("linked-2"))
        }
        try await client.unlink(identity: google.id)
        // Without a call that the service could refuse.
        let request = URLRequest(url: try #require(URL(string: service.url + "/things")))
        await #expect(throws: Self.ended) { try await client.authorize(request) }
        #expect(await state(client) == .ended(code: "invalid_refresh_token"))
        guard case .signedIn(let left) = try await client.signIn(apple: try await apple("linked")) else {
            throw Missing()
        }
        #expect(left.id == account.id && left.identities.map(\.provider) == [.apple])
    }

    @Test func `what needs a fresh sign-in says so, and is done after one; a deleted account is gone`() async throws {
        let store = InMemorySessionStore()
        let client = try world.app(on: "Phone", store)
        let account = try await newAccount("leaver", client)
        try await world.age(sessionsOf: account.id)
        let stale = Self.refused("reauthentication_required", 403)
        await #expect(throws: stale) { try await client.deleteAccount() }
        await #expect(throws: stale) { try await client.exportAccount() }
        await #expect(throws: stale) { try await client.link(apple: try await self.apple("leaver")) }
        await #expect(throws: stale) { try await client.requestEmailChange(to: "other@example.com") }
        await #expect(throws: stale) { try await client.setPassword(World.password) }
        do throws(SessionError) {
            try await client.deleteAccount()
        } catch {
            // What support finds the request by.
            #expect(error.requestID?.isEmpty == false)
        }
        #expect(try await client.account().id == account.id)

        _ = try await client.signIn(google: try await google("leaver"))
        let export = try await client.exportAccount()
        #expect(String(decoding: export, as: UTF8.self).contains(account.id))
        try await client.deleteAccount()
        #expect(store.load() == nil)
        #expect(await state(client) == .signedOut)
        guard case .linkRequired = try await client.signIn(google: try await google("leaver")) else { throw Missing() }
    }

    @Test func `linked services are listed and unlinked`() async throws {
        let client = try world.app()
        _ = try await newAccount("home", client)
        #expect(try await client.linkedServices().isEmpty)
        #expect(try await client.identities().map(\.provider) == [.google])
        let service = try await world.linkingClient()
        let target = "https://oauth-redirect.googleusercontent.com/a/com.google.OPA"
        let link = try #require(URL(string: "https://auth.example.com/app-flip"))
        let encoded = try #require(target.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        let url = try #require(URL(string: "\(link)?client_id=\(service.id)&state=s&redirect_uri=\(encoded)"))
        guard case .request(let asked) = AppFlipLink(url, configuration: .init(link: link, clientID: service.id)) else {
            throw Missing()
        }
        #expect(await client.answer(asked, consent: true).absoluteString.contains("code="))
        let linked = try #require(try await client.linkedServices().first)
        #expect(linked.id == service.id && linked.name == "Google" && linked.scopes.contains("email"))
        try await client.unlink(service: linked.id)
        #expect(try await client.linkedServices().isEmpty)
        await #expect(throws: Self.refused("not_found", 404)) { try await client.unlink(service: linked.id) }
    }

    @Test func `an identity that its provider has disabled shows, and a replacement of the address is stopped`()
        async throws
    {
        let client = try world.app()
        let account = try await newAccount("troubled", client)
        let key = try await world.adminKey("read,manage")
        let asked = try await service.administer(
            "POST", "/admin/v1/accounts/\(account.id)/replace-email", bearer: key,
            body: #"{"email":"new@new.example","reason":"case 17"}"#)
        #expect(asked.status == 202, "\(asked.body)")
        #expect(try await client.account().emailReplacement?.maskedEmail == "n***@new.example")
        try await client.cancelEmailReplacement()
        #expect(try await client.account().emailReplacement == nil)

        try await scratch.execute(
            """
            UPDATE identities SET blocked_at = now(), block_reason = 'hijacking' WHERE account_id = \(account.id)::uuid
            """)
        #expect(try await client.account().identities.map(\.isBlocked) == [true])
    }
}
