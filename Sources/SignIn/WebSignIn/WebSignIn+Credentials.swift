package import Accounts
import OpenSSL
import Storage

/// Signing in on our own page: by a password or a mailed code, with the limits of `/v1`.
extension WebSignIn {
    package func password(
        email: String, password: String, in reference: FlowReference, by call: Call
    ) async throws(SignInFailure) -> WebStep {
        try await takingForm(.password, in: reference, by: call) { () throws(SignInFailure) in
            let flow = try await readOpen(reference, by: call)
            guard configuration.offersPassword else { throw .memberNotAllowed("password") }
            let proven = try await passwords.beginSignIn(
                email: email, password: password, opensSession: flow.opensSession, by: call)
            return try await take(
                flow, for: .password(proven.accountID, passwordHash: proven.passwordHash, at: call.now), in: reference,
                by: call)
        }
    }

    /// Mails a code to sign in with.
    package func mailCode(to email: String, in reference: FlowReference, by call: Call) async throws(SignInFailure) {
        try await steps.counting(.mailCode) { () throws(SignInFailure) in
            _ = try await readOpen(reference, by: call)
            guard configuration.offersEmailCode else { throw .mailUnavailable }
            try await emailCodes.mailCode(to: email, for: .signIn, by: call)
            try await prolong(reference, by: call)
        }
    }

    package func emailCode(
        email: String, code: String, in reference: FlowReference, by call: Call
    ) async throws(SignInFailure) -> WebStep {
        try await takingForm(.emailCode, in: reference, by: call) { () throws(SignInFailure) in
            let flow = try await readOpen(reference, by: call)
            let proven = try await emailCodes.beginSignIn(
                email: email, code: code, opensSession: flow.opensSession, by: call)
            return try await take(flow, for: .emailCode(proven, at: call.now), in: reference, by: call)
        }
    }

    /// Takes a flow for a person who was proven while no other request continued it; if one did, nothing comes of it.
    private func take(
        _ flow: StoredWebFlow, for person: ProvenPerson, in reference: FlowReference, by call: Call
    ) async throws(SignInFailure) -> WebStep {
        let code = try code(of: flow, in: reference, by: call)
        let taken = try await stored {
            try await store.take(reference.id, of: reference.browser.hash, for: person, code: code?.new, by: call)
        }
        guard let taken else { throw .webFlowExpired }
        return try await goOn(in: taken, for: person, code?.secret, answering: reference, by: call)
    }

    /// The code with which a flow that ends at an app is taken for its person; `nil` for one that ends here.
    func code(
        of flow: StoredWebFlow, in reference: FlowReference, by call: Call
    ) throws(SignInFailure) -> (secret: OpaqueSecret, new: NewWebCode)? {
        guard flow.kind == .app else { return nil }
        let secret = try codes.code(in: reference)
        return (secret, try newCode(secret, of: flow, by: call))
    }

    /// - Parameter code: with which the flow was taken.
    func goOn(
        in flow: StoredWebFlow, for person: ProvenPerson, _ code: OpaqueSecret?, answering reference: FlowReference,
        by call: Call
    ) async throws(SignInFailure) -> WebStep {
        guard let code else { return try await settle(flow, person, answering: reference, by: call) }
        return .returned(try appReturn(.code(code.text), of: flow))
    }

    // MARK: A form that comes twice

    /// Takes a form that may end the flow. Who clicks twice sends it twice, and sees the answer to the second alone: as
    /// long as the code waits for the app, or the browser's session is live, that is the answer to the first.
    func takingForm(
        _ step: WebStepCounters.Step, in reference: FlowReference, by call: Call,
        _ take: () async throws(SignInFailure) -> WebStep
    ) async throws(SignInFailure) -> WebStep {
        try await steps.counting(step, as: \.stepOutcome) { () throws(SignInFailure) in
            do throws(SignInFailure) {
                return try await take()
            } catch {
                switch error {
                // A mailed code is spent by the first, and so is a ticket.
                case .webFlowExpired, .invalidCredentials, .linkTicketExpired:
                    guard reference.input != nil,
                        let answered = try await answered(reference, after: error, by: call),
                        let before = try await stepAgain(answered, in: reference, by: call)
                    else { throw error }
                    return before
                default: throw error
                }
            }
        }
    }

    /// What the flow of a form or answer has come to that comes once more. What is under way is waited for: it takes several
    /// statements to open a session and to end its flow.
    ///
    /// - Parameters:
    ///   - refusal: of what came once more.
    ///   - earliest: a session that was made by then is no answer any more.
    ///   - limit: how long is waited.
    func answered(
        _ reference: FlowReference, after refusal: SignInFailure, sessionsSince earliest: Timestamp? = nil,
        within limit: Duration = .seconds(2), by call: Call
    ) async throws(SignInFailure) -> AnsweredWebFlow? {
        let deadline = ContinuousClock.now + limit
        var pause = Duration.milliseconds(100)
        while true {
            let answered = try await stored {
                try await store.answered(reference.id, of: reference.browser.hash, sessionsSince: earliest, by: call)
            }
            guard let answered, answered.answer == nil, refusal.leavesAnswer(to: answered.flow),
                ContinuousClock.now < deadline, (try? await Task.sleep(for: pause)) != nil
            else { return answered }
            pause = min(pause * 2, .seconds(1))
        }
    }

    /// The step to which the same input of the browser has led before; `nil` where it was another one, or has led to none.
    func stepAgain(
        _ answered: AnsweredWebFlow, in reference: FlowReference, by call: Call
    ) async throws(SignInFailure) -> WebStep? {
        guard let answer = answered.answer else { return nil }
        let flow = answered.flow
        let (recipient, hash): (WebCodes.Recipient, SecretHash) =
            switch answer {
            case .code(let hash): (.app, hash)
            case .session(let id, let hash): (.browser(id), hash)
            }
        let code = try await codeAgain(in: reference, from: codes.sent(to: recipient), by: call) {
            constantTimeEquals($0.hash.bytes, hash.bytes)
        }
        guard let code else { return nil }
        switch answer {
        case .code: return .returned(try appReturn(.code(code.text), of: flow))
        case .session: return .signedIn(try await page(of: flow, by: call), WebSessionSecret(code))
        }
    }

    /// The code that the same form or answer of the browser has got before, if it still waits. Any other counts as a guess: with
    /// the cookie one could try here what it was that the person typed.
    ///
    /// - Parameter waits: whether a code is one that waits for its recipient.
    package func codeAgain(
        in reference: FlowReference, from codes: WebCodes, by call: Call, _ waits: (OpaqueSecret) -> Bool
    ) async throws(SignInFailure) -> OpaqueSecret? {
        try await limits.drawNetworks(.guessPerNetwork, by: call)
        guard let code = try codes.code(in: reference, where: waits) else { return nil }
        await limits.putBackNetworks(.guessPerNetwork, by: call)
        return code
    }
}

extension SignInFailure {
    /// Whether another request of the flow may be the cause, and will yet have its answer.
    fileprivate func leavesAnswer(to flow: StoredWebFlow) -> Bool {
        switch flow.status {
        case .verifying: true
        case .linking: if case .linkTicketExpired = self { true } else { false }
        default: false
        }
    }
}
