package import Accounts
package import Providers
package import Storage

/// The transfer of an app's users to another developer team, one user at a time. Each result is stored, so that the next
/// run does not repeat it.
package struct AppleTransfers: Sendable {
    package struct Progress: Sendable {
        package var total: Int
        package var done = 0
        package var failed = 0
    }

    package enum Report: Sendable {
        /// Apple's answer: the transfer identifier, or the new subject.
        case moved(IdentityID, ProviderSubject)
        case failed(IdentityID, error: String)
        case progress(Progress)
    }

    /// The reason why a run stopped.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private static let page = 100

    private let store: TransferStore
    private let endpoint: AppleTokenEndpoint
    private let clock: any WallClock
    private let origin: ChangeOrigin

    /// - Parameter origin: of the operator who moves them.
    package init(
        store: TransferStore, endpoint: AppleTokenEndpoint, clock: any WallClock, origin: ChangeOrigin = .commandLine
    ) {
        self.store = store
        self.endpoint = endpoint
        self.clock = clock
        self.origin = origin
    }

    /// The sending team's part: asks for the transfer identifiers of its identities that have none yet.
    ///
    /// - Parameter rate: the maximum number of identities per second.
    package func export(
        realm: Realm, targetTeam: String, clientID: ProviderClientID, dryRun: Bool, rate: Int, report: (Report) -> Void
    ) async throws -> Progress {
        let counted = try await store.count(realm: realm, targetTeam: targetTeam)
        var run = Run(Progress(total: counted.identities, done: counted.exported), clientID: clientID, rate: rate)
        guard !dryRun else { return run.progress }
        var last: IdentityID?
        while true {
            let page = try await store.withoutTransferSubject(
                realm: realm, targetTeam: targetTeam, after: last, limit: AppleTransfers.page)
            for identity in page {
                try await step(&run, identity, report) { token in
                    let transferSubject = try await endpoint.transferSubject(
                        of: identity.subject, to: targetTeam, clientID: clientID, migrationToken: token,
                        at: clock.now())
                    try await store.store(
                        transferSubject, of: identity.identityID, targetTeam: targetTeam,
                        by: clock.call(by: origin))
                    return transferSubject
                }
                last = identity.identityID
            }
            guard page.count == AppleTransfers.page else { return run.progress }
        }
    }

    /// The receiving team's part: asks for the identities' subjects in the new team and stores them.
    ///
    /// - Parameter rate: the maximum number of identities per second.
    package func `import`(
        realm: Realm, targetTeam: String, clientID: ProviderClientID, dryRun: Bool, rate: Int, report: (Report) -> Void
    ) async throws -> Progress {
        let total = try await store.awaitingSubjectCount(targetTeam: targetTeam)
        var run = Run(Progress(total: total), clientID: clientID, rate: rate)
        guard !dryRun else { return run.progress }
        var last: IdentityID?
        while true {
            let page = try await store.awaitingSubject(targetTeam: targetTeam, after: last, limit: AppleTransfers.page)
            for identity in page {
                guard let transferSubject = identity.transferSubject else { continue }
                try await step(&run, identity, report) { token in
                    let (subject, email) = try await endpoint.transferred(
                        transferSubject, clientID: clientID, migrationToken: token, at: clock.now())
                    let adoption = try await store.adopt(
                        transferSubject, as: IdentityKey(provider: .apple, realm: realm, subject: subject),
                        of: targetTeam, email: email, event: AuditEvent(.identityTransferred, from: origin),
                        by: clock.call(by: origin))
                    // Who has signed in meanwhile is moved by that, and who is gone need not be.
                    if adoption != .moved, try await store.awaits(transferSubject) { throw Conflict() }
                    return subject
                }
                last = identity.identityID
            }
            guard page.count == AppleTransfers.page else { return run.progress }
        }
    }

    // MARK: -

    /// The new subject is taken, or the account already has an identity in the new team.
    private struct Conflict: Error {}

    private struct Run {
        var progress: Progress
        let clientID: ProviderClientID
        let pause: Duration
        var token: (text: String, until: Timestamp)?
        /// Consecutive calls that Apple did not answer.
        var unansweredCalls = 0

        init(_ progress: Progress, clientID: ProviderClientID, rate: Int) {
            self.progress = progress
            self.clientID = clientID
            pause = .seconds(1) / max(1, rate)
        }
    }

    private func step(
        _ run: inout Run, _ identity: TransferringIdentity, _ report: (Report) -> Void,
        _ move: (_ migrationToken: String) async throws -> ProviderSubject
    ) async throws {
        do {
            let subject = try await move(try await migrationToken(&run))
            run.unansweredCalls = 0
            run.progress.done += 1
            report(.moved(identity.identityID, subject))
        } catch is Conflict {
            run.progress.failed += 1
            report(.failed(identity.identityID, error: "conflict"))
        } catch let refusal as EndpointRefusal {
            switch refusal {
            case .clientRejected(let error, let keyID):
                throw Failure(description: "Apple refuses the key \(keyID) (\(error)); nothing more was asked for.")
            case .notConfigured:
                throw Failure(description: "\(run.clientID) is no client of a team that has a signing key.")
            case .unavailable:
                run.token = nil
                run.unansweredCalls += 1
                guard run.unansweredCalls < 5 else {
                    throw Failure(description: "Apple does not answer (\(refusal.code)); run the command again later.")
                }
            case .grantRejected, .requestRejected, .credentialRejected:
                run.unansweredCalls = 0
            }
            run.progress.failed += 1
            report(.failed(identity.identityID, error: refusal.code))
        }
        if (run.progress.done + run.progress.failed).isMultiple(of: AppleTransfers.page) {
            report(.progress(run.progress))
        }
        try await Task.sleep(for: run.pause)
    }

    /// The migration token: good for an hour, renewed ten minutes before its end.
    private func migrationToken(_ run: inout Run) async throws -> String {
        let now = clock.now()
        if let token = run.token, now < token.until { return token.text }
        let text = try await endpoint.migrationToken(of: run.clientID, at: now)
        run.token = (text, now.advanced(bySeconds: 3_000))
        return text
    }
}
