package import Accounts
import OpenSSL
import Storage

/// Registering by an address, and a forgotten password, on our own page. Neither the answers nor their time say whether an
/// account has the address: its reader learns that by mail.
extension WebSignIn {
    /// Keeps what a new person has typed, and mails to the address.
    package func register(
        email: String, password: String, displayName: DisplayName?, in reference: FlowReference, by call: Call
    ) async throws(SignInFailure) {
        try await steps.counting(.mailCode) { () throws(SignInFailure) in
            _ = try await readOpenForMail(reference, by: call)
            let address = EmailAddress(email)
            // First, so that it is said whatever the address is.
            try PasswordPolicy.require(password, for: address)
            guard let address else { throw .malformedEmail }
            try await limits.drawNetworks(.registrationPerNetwork, by: call)
            let hash = try await emailCodes.hasher.hash(password, by: call)
            let registration = WebRegistration(email: address, passwordHash: hash, displayName: displayName)
            let until = call.now.advanced(bySeconds: Lifetimes.emailCodeSeconds)
            let isKept = try await stored {
                try await registrations.keep(
                    registration, in: reference.id, of: reference.browser.hash, until: until, by: call)
            }
            guard isKept else { throw .webFlowExpired }
            try await mail(registration, of: reference.id, by: call)
        }
    }

    /// Mails the code once more, or another one where its tries are used up. What was typed is kept for as long as that is good.
    package func mailRegistrationCode(in reference: FlowReference, by call: Call) async throws(SignInFailure) {
        try await steps.counting(.mailCode) { () throws(SignInFailure) in
            guard let registration = try await registration(in: reference, by: call) else {
                throw .missingCredential("password")
            }
            try await mail(registration, of: reference.id, by: call)
            try await stored {
                try await registrations.prolong(
                    registration, in: reference.id, of: reference.browser.hash,
                    codesOf: Self.codeHash(of: reference.id), by: call)
            }
        }
    }

    /// What was typed in the flow before.
    package func registration(
        in reference: FlowReference, by call: Call
    ) async throws(SignInFailure) -> WebRegistration? {
        _ = try await readOpenForMail(reference, by: call)
        return try await stored { try await registrations.registration(in: reference.id, by: call) }
    }

    /// Makes the account, whose address the code proves, and goes on in the flow.
    package func confirmRegistration(
        code typed: String, in reference: FlowReference, by call: Call
    ) async throws(SignInFailure) -> WebStep {
        try await takingForm(.emailCode, in: reference, by: call) { () throws(SignInFailure) in
            let flow = try await readOpenForMail(reference, by: call)
            guard
                let registration = try await stored({ try await registrations.registration(in: flow.id, by: call) })
            else { throw .invalidCredentials }
            try requireSigner(toEnd: flow, by: call)
            let mailedCode = try await emailCodes.proveCode(
                typed, for: .register, of: registration.email, ticketHash: Self.codeHash(of: flow.id), by: call)
            let newID = try AccountID.fresh(at: call.now)
            let code = try code(of: flow, in: reference, by: call)
            // Where the address was proven meanwhile, or its reader was mailed no code, none is right.
            let taken = try await refusals.notingDisabledAccount(with: mailedCode.email, by: call) {
                () throws(SignInFailure) in
                try await stored {
                    try await store.register(
                        newID, registration, proven: mailedCode, in: flow.id, of: reference.browser.hash,
                        code: code?.new, by: call)
                }
            }
            guard let taken else { throw .webFlowExpired }
            return try await goOn(in: taken.flow, for: taken.person, code?.secret, answering: reference, by: call)
        }
    }

    // MARK: Forgotten password

    /// Mails a code for a new password.
    package func mailResetCode(
        to email: String, in reference: FlowReference, by call: Call
    ) async throws(SignInFailure) {
        try await steps.counting(.mailCode) { () throws(SignInFailure) in
            _ = try await readOpenForMail(reference, by: call)
            try await emailCodes.mailCode(to: email, for: .resetPassword, by: call)
            try await prolong(reference, by: call)
        }
    }

    /// Sets the new password. Who came for nothing else is signed in; in a flow of an app or a client the person signs in
    /// with it.
    package func resetPassword(
        email: String, code: String, newPassword: String, in reference: FlowReference, by call: Call
    ) async throws(SignInFailure) -> WebStep {
        try await takingForm(.emailCode, in: reference, by: call) { () throws(SignInFailure) in
            let flow = try await readOpenForMail(reference, by: call)
            guard flow.kind == .account else {
                try await emailCodes.resetPassword(email: email, code: code, newPassword: newPassword, by: call)
                return .passwordReset(try await page(of: flow, by: call))
            }
            try requireSigner(toEnd: flow, by: call)
            let (mailedCode, hash) = try await emailCodes.beginReset(
                email: email, code: code, newPassword: newPassword, by: call)
            let taken = try await refusals.notingDisabledAccount(with: mailedCode.email, by: call) {
                () throws(SignInFailure) in
                try await stored {
                    try await store.resetPassword(
                        to: hash, proven: mailedCode, in: flow.id, of: reference.browser.hash, by: call)
                }
            }
            guard let taken else { throw .webFlowExpired }
            return try await settle(taken.flow, taken.person, answering: reference, by: call)
        }
    }

    // MARK: What they share

    /// The flow, where mail is sent, and the app doesn't want one provider alone.
    private func readOpenForMail(
        _ reference: FlowReference, by call: Call
    ) async throws(SignInFailure) -> StoredWebFlow {
        guard configuration.offersEmailCode else { throw .mailUnavailable }
        let flow = try await readOpen(reference, by: call)
        guard flow.onlyProvider == nil else { throw .webFlowExpired }
        return flow
    }

    private func mail(_ registration: WebRegistration, of id: WebFlowID, by call: Call) async throws(SignInFailure) {
        try await emailCodes.mailCode(
            to: registration.email, for: .register, ticketHash: Self.codeHash(of: id), by: call)
    }

    /// By what the codes of a flow's registration differ from those of others for the same address.
    private static func codeHash(of id: WebFlowID) -> SecretHash {
        SecretHash(SHA256.hash(Array("countersign registration 1 \(id)".utf8)))
    }
}
