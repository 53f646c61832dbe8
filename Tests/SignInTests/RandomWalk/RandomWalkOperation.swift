import TestSupport

/// A step that a walker may take.
enum WalkOperation: String, CaseIterable, Sendable {
    // With a provider
    case signIn, signInWithCode, repostToken, signInInBrowser
    // With a ticket
    case create, bindBySession, bindByPassword, bindByCode, bindToShown, cancel
    // Without one
    case register, signInByPassword, signInByCode, resetPassword
    // In a session
    case changePassword, requestEmail, verifyEmail, rename, link, unlink, deleteAccount, refresh, refreshStale
    case revokeSessions, endSession
    // A client of the OAuth server
    case linkClient, refreshAsClient
    // The operator, the workers and the providers
    case disable, enable, replaceEmail, unblock, revokeByOperator, deliverEvent, withdraw, revokeDue, sweep, passTime

    /// The relative frequency with which it is chosen: such that accounts live long enough to get into every state.
    var weight: Int {
        switch self {
        case .signIn: 14
        case .signInWithCode: 10
        case .create, .bindBySession, .unlink: 8
        case .signInByPassword, .link, .refresh, .linkClient: 6
        case .signInInBrowser, .bindByPassword, .bindByCode, .bindToShown, .deliverEvent, .passTime: 5
        case .register, .signInByCode, .resetPassword, .changePassword, .requestEmail, .verifyEmail, .deleteAccount,
            .refreshAsClient:
            4
        case .repostToken, .enable, .revokeDue: 3
        case .cancel, .refreshStale, .revokeSessions, .endSession, .revokeByOperator, .withdraw, .sweep: 2
        case .rename, .disable, .replaceEmail, .unblock: 1
        }
    }

    /// The operations that move identities between accounts, and those that lead there.
    static let contended: [WalkOperation] = [
        .signIn, .signInWithCode, .create, .bindBySession, .bindToShown, .cancel, .link, .unlink, .deleteAccount,
        .revokeSessions, .refresh, .deliverEvent, .revokeDue, .sweep,
    ]

    private static let allowedFailures = Result { try DataFile("AllowedFailures.tsv").rows }

    /// Whether its documentation allows the failure, by the name of its case. Every other one is a fault, also each that
    /// reports a fault of the database or of the service: a deadlock shows as `storageUnavailable`.
    func allows(_ failure: String) throws -> Bool {
        try Self.allowedFailures.get().contains { row in
            row[0].split(separator: " ").contains { $0 == rawValue }
                && row[1].split(separator: " ").contains { $0 == failure }
        }
    }
}
