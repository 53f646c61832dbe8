import Foundation

extension SignInClient {
    /// Signs in with what Apple gave the app.
    ///
    /// - Throws: `refused("invalid_token", 401)` for a credential that the server does not accept: ask Apple for a new one,
    ///   also after `transient`, as the code may have been used.
    public func signIn(apple credential: AppleCredential) async throws(SessionError) -> SignInOutcome {
        begin()
        let subject = credential.subject
        var body = credential.members
        body["fullName"] = keepName(StoredName(credential.fullName), of: subject)?.json
        return try await signIn("v1/sign-in/apple", body, subject: subject)
    }

    /// Signs in with what Google gave the app.
    ///
    /// - Throws: as for Apple.
    public func signIn(google credential: GoogleCredential) async throws(SessionError) -> SignInOutcome {
        try await signIn("v1/sign-in/google", credential.members)
    }

    /// Signs in with a password.
    ///
    /// - Throws: `refused("invalid_credentials", 401)` for a wrong password and an unknown address alike.
    public func signIn(email: String, password: String) async throws(SessionError) -> ClientAccount {
        let (outcome, requestID) = try await answered(
            "v1/sign-in/password", ["email": .string(email), "password": .string(password)])
        guard case .signedIn(let account) = outcome else { throw .transient(retryAfter: nil, requestID: requestID) }
        return account
    }

    /// Signs in with a mailed code.
    public func signIn(email: String, code: String) async throws(SessionError) -> SignInOutcome {
        try await signIn("v1/sign-in/email-code", ["email": .string(email), "code": .string(code)])
    }

    /// Has a sign-in code mailed if the address has an account; the answer is the same for every address.
    public func requestSignInCode(to email: String) async throws(SessionError) {
        try await requestCode(["email": .string(email), "purpose": "signIn"])
    }

    /// A nonce of the server's for one sign-in with this provider.
    public func makeNonce(for provider: IdentityProvider) async throws(SessionError) -> SignInNonce {
        begin()
        let answer = try await server.send("v1/nonces", ["provider": .string(provider.rawValue)])
        let wire = try answer.body(NonceWire.self, status: 201)
        return SignInNonce(value: wire.nonce, expiresAt: wire.expiresAt.date)
    }

    /// Posts a credential and opens the session of the answer.
    ///
    /// - Parameter subject: the `sub` at Apple of who signs in.
    func signIn(
        _ path: String, _ body: [String: JSONValue], subject: String? = nil
    ) async throws(SessionError) -> SignInOutcome {
        try await answered(path, body, subject: subject).outcome
    }

    /// As ``signIn(_:_:subject:)``, with the id of the request.
    private func answered(
        _ path: String, _ body: [String: JSONValue], subject: String? = nil
    ) async throws(SessionError) -> (outcome: SignInOutcome, requestID: String?) {
        begin()
        var body = body
        body["device"] = device.json
        let sentAt = now()
        let answer = try await server.send(path, body)
        switch try answer.body(SignInWire.self) {
        case .signedIn(let signedIn):
            let account = try open(signedIn, sentAt: sentAt, answer.requestID, subject: subject)
            return (.signedIn(account), answer.requestID)
        case .linkRequired(let ticket): return (.linkRequired(ticket), answer.requestID)
        }
    }

    /// Opens the session of an account that the server has just made.
    func openMade(_ answer: HTTPAnswer, sentAt: Date) throws(SessionError) -> ClientAccount {
        guard case .signedIn(let signedIn) = try answer.body(SignInWire.self, status: 201) else {
            throw .transient(retryAfter: nil, requestID: answer.requestID)
        }
        return try open(signedIn, sentAt: sentAt, answer.requestID)
    }

    /// Makes the session of an answer the client's. One that the store does not take is the client's all the same, but
    /// shown and used only when it is saved.
    func open(
        _ answer: SignInWire.SignedIn, sentAt: Date, _ requestID: String?, subject: String? = nil
    ) throws(SessionError) -> ClientAccount {
        let account = answer.account.account
        var session = try answer.session.session(of: account.id, sentAt: sentAt, requestID)
        session.openedBy = answer.identity?.identityId
        let isApple = answer.identity?.provider == .apple
        refreshes.renounce()
        defer { announce() }
        let names = unkeptNames
        unkeptNames = [:]
        try keeper.change(replacingUnreadable: true) { document in
            document.session = session
            document.appleNames.merge(names) { $1 }
            if let subject { document.appleNames[subject] = nil }
            // Until it is the account's: the service signs in also where it can't store it.
            if isApple, let subject = answer.identity?.subject, account.displayName != nil {
                document.appleNames[subject] = nil
            }
        }
        return account
    }

    /// Keeps the name that Apple has given, or finds the one that it gave before.
    func keepName(_ name: StoredName?, of subject: String?) -> StoredName? {
        guard let subject else { return name }
        guard let name else {
            return (try? keeper.reloaded())?.appleNames[subject] ?? unkeptNames[subject]
        }
        do { try keeper.change { $0.appleNames[subject] = name } } catch {
            // A store that fails stops no sign-in at this point.
            unkeptNames[subject] = name
        }
        return name
    }
}
