public import Foundation

/// The account that is signed in. What the server wants fresh, a sign-in of the last ten minutes, throws
/// `refused("reauthentication_required", 403)`: sign in again, then repeat, if it was the same account that signed in.
///
/// Each call is for the account that is signed in as it begins. When another one has signed in before it is sent, or sent
/// once more, it throws `cancelled`.
extension SignInClient {
    /// Makes an account with an address and a password, and signs in to it. The address is claimed until a mailed code has
    /// proven it.
    ///
    /// - Throws: `refused("email_taken", 409)`, `refused("weak_password", 400)`.
    public func register(
        email: String, password: String, displayName: String? = nil
    ) async throws(SessionError) -> ClientAccount {
        begin()
        var body: [String: JSONValue] = ["email": .string(email), "password": .string(password)]
        body["displayName"] = displayName.map(JSONValue.string)
        body["device"] = device.json
        let sentAt = now()
        return try openMade(try await server.send("v1/accounts", body), sentAt: sentAt)
    }

    /// - Parameter name: nil clears it.
    public func setDisplayName(_ name: String?) async throws(SessionError) -> ClientAccount {
        let body: [String: JSONValue] = ["displayName": name.map(JSONValue.string) ?? .null]
        return try await send("v1/account", body, method: "PATCH").body(AccountWire.self).account
    }

    /// Deletes the account (fresh). Its authorizations at Apple and Google are revoked. The person is signed out here and
    /// the store is empty; with `storage`, which says that the store did not let go of it, the account is gone too.
    public func deleteAccount() async throws(SessionError) {
        let owner = try signedIn().accountID
        try await send("v1/account", method: "DELETE").require(202)
        defer { announce() }
        _ = try? keeper.reloaded()
        // Another person may have signed in meanwhile, here or in another process.
        guard keeper.known.isOpen(only: owner) else { return }
        unkeptNames = [:]
        try close { document in
            if document.isOpen(only: owner) { document = SessionDocument() }
        }
    }

    /// Everything that is stored about the person, as JSON to be saved as a file (fresh; five an hour).
    /// `URLSessionTransport` takes answers of at most 16 MiB, or of its `maximumBytes`, that are there within 15 seconds: one
    /// that takes longer needs a transport of your own.
    public func exportAccount() async throws(SessionError) -> Data {
        let answer = try await send("v1/account/export")
        try answer.require(200)
        guard JSONValue.object(in: answer.body) != nil else {
            throw .transient(retryAfter: nil, requestID: answer.requestID)
        }
        return answer.body
    }

    // MARK: Identities

    /// The ways to sign in by a provider, the oldest first.
    public func identities() async throws(SessionError) -> [ClientAccount.Identity] {
        try await send("v1/account/identities").body(ListWire<AccountWire.Identity>.self).items.map(\.identity)
    }

    /// Adds Apple as a way to sign in (fresh).
    ///
    /// - Throws: `refused("identity_already_linked", 409)`; `refused("provider_already_linked", 409)` when the account has
    ///   another identity of Apple's, to be unlinked first. With `transient` the credential may be used up, and linked:
    ///   look at ``account()``, then ask Apple for a new one.
    public func link(apple credential: AppleCredential) async throws(SessionError) -> ClientAccount {
        let subject = credential.subject
        var body = credential.members
        body["fullName"] = keepName(StoredName(credential.fullName), of: subject)?.json
        let account = try await link("apple", body, isCode: credential.authorizationCode != nil)
        // If the write fails, the name stays in the store; the server has it by now.
        if let subject { try? keeper.change { $0.appleNames[subject] = nil } }
        return account
    }

    /// Adds Google as a way to sign in (fresh).
    ///
    /// - Throws: as for Apple.
    public func link(google credential: GoogleCredential) async throws(SessionError) -> ClientAccount {
        try await link("google", credential.members, isCode: credential.serverAuthCode != nil)
    }

    private func link(
        _ provider: String, _ body: [String: JSONValue], isCode: Bool
    ) async throws(SessionError) -> ClientAccount {
        let owner = try signedIn().accountID
        try await send("v1/account/identities/\(provider)", body, isCode: isCode).require(201)
        let account = try await account()
        guard account.id == owner else { throw .cancelled }
        return account
    }

    /// Takes a way to sign in from the account, and revokes the authorization at its provider (fresh). The sessions that it
    /// opened end; if the one at hand is among them, the next call says so, and ``states`` too.
    ///
    /// - Throws: `refused("last_sign_in_method", 409)`; `refused("not_found", 404)`.
    public func unlink(identity id: String) async throws(SessionError) {
        let session = try signedIn()
        try await send("v1/account/identities/\(try pathPart(id))", method: "DELETE").require(202)
        // Also a call that would send nothing is to find out. A session of an earlier version does not say what opened it.
        let mayBeOver = session.openedBy == nil || session.openedBy == id
        if mayBeOver, keeper.known.session?.sessionID == session.sessionID { try? setNeedsRefresh() }
    }

    // MARK: Linked services

    /// The services that the account is linked to, such as Google Home, the oldest first.
    ///
    /// - Throws: `refused("not_found", 404)` where the server links no services.
    public func linkedServices() async throws(SessionError) -> [LinkedService] {
        try await send("v1/account/linked-clients").body(ListWire<ServiceWire>.self).items.map(\.service)
    }

    /// Ends a service's access to the account, at once.
    public func unlink(service id: String) async throws(SessionError) {
        try await send("v1/account/linked-clients/\(try pathPart(id))", method: "DELETE").require(204)
    }

    /// An id as a part of a path. The server's are of letters, digits and `-._`; another one, or one that means another
    /// path, is nothing of the server's.
    func pathPart(_ id: String) throws(SessionError) -> String {
        guard id.utf8.contains(where: isAlphanumeric),
            id.utf8.allSatisfy({ isAlphanumeric($0) || "-._".utf8.contains($0) })
        else { throw .refused(code: "not_found", status: 0) }
        return id
    }
}
