import CountersignClient
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension App {
    private var resource: URLRequest { URLRequest(url: service.appendingPathComponent("v1/account")) }

    private func header(_ request: URLRequest) -> String { request.value(forHTTPHeaderField: "Authorization") ?? "" }

    func refresh() async throws {
        report.step("The session is refreshed, once for however many callers")
        let before = header(try await client.authorize(resource))
        try report.expect(before.hasPrefix("Bearer "), "a request gets the access token")
        try await client.setNeedsRefresh()
        let (shared, request) = (client, resource)
        let headers = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try await shared.authorize(request).value(forHTTPHeaderField: "Authorization") ?? ""
                }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        try report.expect(headers.count, 1, "eight callers get one token")
        try report.expect(headers.contains(before), false, "which is another one")
        let account = try await client.account()
        try report.expect(account.id, accountID, "and it is accepted")
    }

    func restart() async throws {
        report.step("The app starts again")
        let next = try Self.client(service, folder: options.folder)
        try report.expect(await next.canAuthorize, true, "the session was stored")
        let (data, response) = try await next.data(for: resource)
        try report.expect(response.statusCode, 200, "the app's own request is answered")
        try report.expect(String(decoding: data, as: UTF8.self).contains(accountID), true, "for the same account")
        let current = try await next.devices().first(where: \.isCurrent)
        try report.expect(
            current?.platform, DeviceDescription.current.platform,
            "and the person's list of devices says what this one is")
    }

    func refuse() async throws {
        report.step("Refusals end no session, and the token goes to nobody else")
        let forged = try await sandbox.apple(person, options.appleClient, forged: true)
        try await report.expect(SessionError.refused(code: "invalid_token", status: 401), "a forged token") {
            () async throws(SessionError) in
            _ = try await client.signIn(apple: AppleCredential(identityToken: forged.identityToken))
        }
        guard let foreign = URL(string: "https://example.net/v1/account") else { return }
        try await report.expect(SessionError.refused(code: "foreign_host", status: 0), "a request to another host") {
            () async throws(SessionError) in _ = try await client.authorize(URLRequest(url: foreign))
        }
        try report.expect(await client.canAuthorize, true, "the session is as it was")
    }

    func endElsewhere() async throws {
        report.step("Another device ends this session: the app is asked to sign in again")
        let other = SignInClient(baseURL: service, store: InMemorySessionStore(), allowsLoopbackHTTP: true)
        let given = try await sandbox.google(person, options.googleClient)
        _ = try signedIn(try await other.signIn(google: GoogleCredential(idToken: given.idToken)))
        try await other.signOutOtherDevices()

        var code: String?
        do throws(SessionError) {
            _ = try await client.account()
        } catch {
            guard case .reauthenticate(let said, _) = error else { throw Mismatch("the ended session: \(error)") }
            code = said
        }
        guard let code else { throw Mismatch("the ended session still answers") }
        try report.expect(await state(), .ended(code: code), "the session has ended with \(code)")
        let again = try await sandbox.google(person, options.googleClient)
        let known = try signedIn(try await client.signIn(google: GoogleCredential(idToken: again.idToken)))
        try report.expect(known.id, accountID, "a sign-in brings the account back")
    }
}
