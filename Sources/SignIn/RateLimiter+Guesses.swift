import Accounts

/// A secret that can be guessed. The raw value is a label of a metric and a reason of the audit trail.
enum GuessKind: String, CaseIterable {
    case password
    case emailCode = "email_code"
}

/// What tries a password, and keeps an allowance of its own when others have used up the account's.
enum PasswordGuesser: Sendable {
    /// A network, if the account is used from there.
    case network(Network)
    /// A session of the account.
    case session(SessionID)

    fileprivate var key: String {
        switch self {
        case .network(let network): network.text
        case .session(let id): "session/\(id)"
        }
    }
}

/// Guesses at passwords and codes. They are counted beforehand, so that concurrent guesses are counted too; only a wrong
/// one stays counted.
extension RateLimiter {
    /// Runs a guess at a mailed code, whose tries are counted with the code.
    ///
    /// - Parameters:
    ///   - address: to which it was mailed.
    ///   - account: that it is for, if that isn't the one that has the address.
    func guessingCode<Proven: Sendable>(
        of address: EmailAddress?, in account: AccountID?, by call: Call,
        _ guess: () async throws(SignInFailure) -> Proven
    ) async throws(SignInFailure) -> Proven {
        try await drawNetworks(.guessPerNetwork, by: call)
        let outcome: Result<Proven, SignInFailure>
        do throws(SignInFailure) {
            outcome = .success(try await guess())
        } catch {
            if case .invalidCredentials = error {
                try await noteWrong(.emailCode, of: account == nil ? address : nil, in: account, by: call)
                throw error
            }
            outcome = .failure(error)
        }
        await putBackNetworks(.guessPerNetwork, by: call)
        return try outcome.get()
    }

    /// Runs a guess at the password of an account, identified by the address that was tried.
    ///
    /// An attack from elsewhere does not lock the owner out at home. Each guesser has an allowance beside the
    /// account's; once the account's is used up, the right password works only for a guesser that the account knows.
    /// All others are refused after the same work with the same answer, which reveal neither whom the account knows nor
    /// whether it exists.
    ///
    /// - Parameters:
    ///   - address: that of the account, if it can be one.
    ///   - id: the account, where it is known without its address.
    ///   - guesser: `nil` if nothing is known of it.
    ///   - isKnown: whether the account that is proven knows the guesser; for a wrong password, the same question about
    ///     no account.
    ///   - guess: is given whether what is right may be refused all the same, and so has to take as long as what is wrong.
    func guessingPassword<Proven: Sendable>(
        of account: String, with address: EmailAddress?, in id: AccountID? = nil, guesser: PasswordGuesser?,
        by call: Call, isKnown: (Proven?) async throws(SignInFailure) -> Bool,
        _ guess: (Bool) async throws(SignInFailure) -> Proven
    ) async throws(SignInFailure) -> Proven {
        try await drawNetworks(.guessPerNetwork, by: call)
        let own = guesser.map { Subject.one($0.key, of: account) }
        let used: Int64?
        do throws(SignInFailure) {
            used = try await drawPassword(of: account, with: address, in: id, own: own, by: call)
        } catch {
            await putBackNetworks(.guessPerNetwork, by: call)
            throw error
        }
        let proven: Proven?
        do throws(SignInFailure) {
            proven = try await guess(used != nil)
        } catch {
            if case .invalidCredentials = error {
                proven = nil
            } else {
                if used == nil { await putBack(.passwordPerAccount, of: .everybody(account)) }
                await putBack(.passwordPerAccount, of: own)
                await putBackNetworks(.guessPerNetwork, by: call)
                throw error
            }
        }
        if let used {
            // Right or wrong, the same is asked and written.
            let isKnown = try await isKnown(proven)
            guard proven != nil, isKnown else {
                try await noteWrong(.password, of: address, in: id, by: call)
                throw refusal(.passwordPerAccount, used, of: address, in: id, by: call)
            }
        }
        guard let proven else {
            try await noteWrong(.password, of: address, in: id, by: call)
            throw .invalidCredentials
        }
        if used == nil { await putBack(.passwordPerAccount, of: .everybody(account)) }
        await putBack(.passwordPerAccount, of: own)
        await putBackNetworks(.guessPerNetwork, by: call)
        return proven
    }

    /// - Returns: `nil`, or the seconds to wait for those whom the account doesn't know, because others have used up what
    ///   there is for them.
    private func drawPassword(
        of account: String, with address: EmailAddress?, in id: AccountID?, own: Subject?, by call: Call
    ) async throws(SignInFailure) -> Int64? {
        if let own, let wait = try await wait(.passwordPerAccount, of: own) {
            throw refusal(.passwordPerAccount, wait, of: address, in: id, by: call)
        }
        do throws(SignInFailure) {
            let wait = try await wait(.passwordPerAccount, of: .everybody(account))
            if let wait, own == nil { throw refusal(.passwordPerAccount, wait, of: address, in: id, by: call) }
            return wait
        } catch {
            await putBack(.passwordPerAccount, of: own)
            throw error
        }
    }

    /// Counts and records a wrong guess. That all of them are too many refuses nothing, but makes codes longer.
    private func noteWrong(
        _ kind: GuessKind, of address: EmailAddress?, in account: AccountID? = nil, by call: Call
    ) async throws(SignInFailure) {
        wrongGuesses.count(kind)
        let event = AuditEvent(.guessRejected, by: .person, in: call, accountID: account, reason: kind.rawValue)
        refusals.note(event, of: address, at: clock.now())
        if try await wait(.guessPerService, of: .service) != nil { noteUsedUp(.guessPerService) }
    }

    /// Whether there are so many wrong guesses that every address is taken for attacked.
    func isServiceGuessedAt() async throws(SignInFailure) -> Bool { try await isUsedUp(.guessPerService, of: .service) }

    /// Draws the allowance of a code for an address, and takes it back where the request comes to nothing: of several
    /// at once one makes the code. What its own requests have used up is used up for a network; what others have used
    /// up only where nothing is known of the network.
    ///
    /// That it is used up is counted and recorded, and shows in no answer: while a code is live nothing is drawn, so a
    /// refusal would show that none is. Nor does it show in the time: the statements are the same in each case.
    ///
    /// - Parameters:
    ///   - isNew: whether a code is called for. Where none is, nothing is drawn, and the request gets no allowance.
    ///   - isUse: whether the request has come to something.
    func drawingCode<Outcome>(
        for address: EmailAddress, isNew: Bool = true, by call: Call, counting isUse: (Outcome) -> Bool,
        _ request: (EmailCodeAllowance?) async throws(SignInFailure) -> Outcome
    ) async throws(SignInFailure) -> Outcome {
        let shared = Subject.everybody(address.text)
        var drawn: [Subject] = []
        let outcome: Result<Outcome, SignInFailure>
        do throws(SignInFailure) {
            var isOpen = isNew
            if let network = call.caller.network {
                let own = Subject.one(network.text, of: address.text)
                isOpen = try await drawCode(own, if: isNew)
                if isOpen { drawn.append(own) }
            }
            let isShared = try await drawCode(shared, if: isOpen)
            let isOwn = !drawn.isEmpty
            if isShared { drawn.append(shared) }
            if isNew, !isShared { noteRefusal(.mailPerAddress, by: call) }
            let allowance: EmailCodeAllowance = isShared ? .full : isOwn ? .onlyIfKnown : .usedUp
            outcome = .success(try await request(isNew ? allowance : nil))
        } catch {
            outcome = .failure(error)
        }
        if case .success(let done) = outcome, isUse(done) { return done }
        for subject in drawn { await putBack(.mailPerAddress, of: subject) }
        return try outcome.get()
    }

    /// Draws one of the allowances of a code, unless it is used up or not to be drawn; by the same statements then.
    ///
    /// - Returns: whether it was drawn.
    private func drawCode(_ subject: Subject, if isDrawn: Bool) async throws(SignInFailure) -> Bool {
        let isUsedUp = try await isUsedUp(.mailPerAddress, of: subject)
        let wait = try await wait(.mailPerAddress, of: subject, isRehearsal: isUsedUp || !isDrawn)
        return isDrawn && !isUsedUp && wait == nil
    }
}
