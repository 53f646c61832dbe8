package import Accounts
import Storage

/// Signing in on our own page: by a password or a mailed code, with the limits of `/v1`.
extension WebSignIn {
    package func password(
        email: String, password: String, in reference: FlowReference, by call: Call
    ) async throws(SignInFailure) -> WebStep {
        try await steps.counting(.password, as: \.stepOutcome) { () throws(SignInFailure) in
            _ = try await readOpen(reference, by: call)
            guard configuration.offersPassword else { throw .memberNotAllowed("password") }
            let proven = try await passwords.beginSignIn(email: email, password: password, by: call)
            return try await settle(
                .password(proven.accountID, passwordHash: proven.passwordHash, at: call.now), in: reference, by: call)
        }
    }

    /// Mails a code to sign in with.
    package func mailCode(to email: String, in reference: FlowReference, by call: Call) async throws(SignInFailure) {
        try await steps.counting(.mailCode) { () throws(SignInFailure) in
            _ = try await readOpen(reference, by: call)
            guard configuration.offersEmailCode else { throw .mailUnavailable }
            try await emailCodes.mailCode(to: email, for: .signIn, by: call)
        }
    }

    package func emailCode(
        email: String, code: String, in reference: FlowReference, by call: Call
    ) async throws(SignInFailure) -> WebStep {
        try await steps.counting(.emailCode, as: \.stepOutcome) { () throws(SignInFailure) in
            _ = try await readOpen(reference, by: call)
            let proven = try await emailCodes.beginSignIn(email: email, code: code, by: call)
            return try await settle(.emailCode(proven, at: call.now), in: reference, by: call)
        }
    }

    /// - Parameter person: proven while nobody else continued the flow; if somebody did, nothing comes of it.
    func settle(
        _ person: ProvenPerson, in reference: FlowReference, by call: Call
    ) async throws(SignInFailure) -> WebStep {
        let flow = try await stored { try await store.take(reference.id, of: reference.browser.hash, by: call) }
        guard let flow else { throw .webFlowExpired }
        return try await settle(flow, person, by: call)
    }
}
