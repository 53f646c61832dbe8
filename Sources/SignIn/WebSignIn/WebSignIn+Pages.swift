package import Accounts
import Storage

/// Signing in on our own page: by a password or a mailed code, with the limits of `/v1`.
extension WebSignIn {
    package func password(
        email: String, password: String, flow id: WebFlowID, browser: BrowserSecret?, by call: Call
    ) async throws(SignInFailure) -> WebStep {
        try await steps.counting(.password, as: \.stepOutcome) { () throws(SignInFailure) in
            _ = try await readOpen(id, browser: browser, by: call)
            guard configuration.offersPassword else { throw .memberNotAllowed("password") }
            let proven = try await passwords.provePassword(email: email, password: password, by: call)
            return try await settle(
                id, .password(proven.accountID, passwordHash: proven.passwordHash, at: call.now), browser: browser,
                by: call)
        }
    }

    /// Mails a code to sign in with.
    package func mailCode(
        to email: String, flow id: WebFlowID, browser: BrowserSecret?, by call: Call
    ) async throws(SignInFailure) {
        try await steps.counting(.mailCode) { () throws(SignInFailure) in
            _ = try await readOpen(id, browser: browser, by: call)
            guard configuration.offersEmailCode else { throw .mailUnavailable }
            try await emailCodes.mailCode(to: email, for: .signIn, by: call)
        }
    }

    package func emailCode(
        email: String, code: String, flow id: WebFlowID, browser: BrowserSecret?, by call: Call
    ) async throws(SignInFailure) -> WebStep {
        try await steps.counting(.emailCode, as: \.stepOutcome) { () throws(SignInFailure) in
            _ = try await readOpen(id, browser: browser, by: call)
            let proven = try await emailCodes.proveCode(code, for: .signIn, of: EmailAddress(email), by: call)
            return try await settle(id, .emailCode(proven, at: call.now), browser: browser, by: call)
        }
    }

    /// - Parameter person: proven while nobody else continued the flow; if somebody did, nothing comes of it.
    func settle(
        _ id: WebFlowID, _ person: ProvenPerson, browser: BrowserSecret?, by call: Call
    ) async throws(SignInFailure) -> WebStep {
        guard let browser,
            let flow = try await stored({ try await store.take(id, of: browser.hash, by: call) })
        else { throw .webFlowExpired }
        return try await settle(flow, person, by: call)
    }
}
