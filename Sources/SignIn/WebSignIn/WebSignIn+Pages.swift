package import Accounts
import Storage

/// Signing in on our own page: by a password or a mailed code, with the limits of `/v1`.
extension WebSignIn {
    package func password(
        email: String, password: String, flow id: WebFlowID, browser: BrowserSecret?, client: Client
    ) async throws(SignInFailure) -> WebStep {
        try await steps.counting(.password, as: \.stepOutcome) { () throws(SignInFailure) in
            _ = try await readOpen(id, browser: browser)
            guard configuration.offersPassword else { throw .memberNotAllowed("password") }
            let proven = try await passwords.provePassword(email: email, password: password, client: client)
            return try await settle(
                id, .password(proven.accountID, passwordHash: proven.passwordHash, at: clock.now()), browser: browser,
                client: client)
        }
    }

    /// Mails a code to sign in with.
    package func mailCode(
        to email: String, flow id: WebFlowID, browser: BrowserSecret?, client: Client
    ) async throws(SignInFailure) {
        try await steps.counting(.mailCode) { () throws(SignInFailure) in
            _ = try await readOpen(id, browser: browser)
            guard configuration.offersEmailCode else { throw .mailUnavailable }
            try await emailCodes.mailCode(to: email, for: .signIn, client: client)
        }
    }

    package func emailCode(
        email: String, code: String, flow id: WebFlowID, browser: BrowserSecret?, client: Client
    ) async throws(SignInFailure) -> WebStep {
        try await steps.counting(.emailCode, as: \.stepOutcome) { () throws(SignInFailure) in
            _ = try await readOpen(id, browser: browser)
            let proven = try await emailCodes.proveCode(code, for: .signIn, of: EmailAddress(email), by: client)
            return try await settle(id, .emailCode(proven, at: clock.now()), browser: browser, client: client)
        }
    }

    /// - Parameter person: proven while nobody else continued the flow; if somebody did, nothing comes of it.
    private func settle(
        _ id: WebFlowID, _ person: ProvenPerson, browser: BrowserSecret?, client: Client
    ) async throws(SignInFailure) -> WebStep {
        guard let browser,
            let flow = try await stored({ try await store.take(id, of: browser.hash, at: clock.now()) })
        else { throw .webFlowExpired }
        return try await settle(flow, person, client: client)
    }
}
