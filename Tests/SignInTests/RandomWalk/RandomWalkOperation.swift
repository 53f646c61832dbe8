/// A step that a walker may take.
enum WalkOperation: String, CaseIterable, Sendable {
    // With a provider
    case signIn
    case signInWithCode
    case repostToken
    case signInInBrowser
    // With a ticket
    case create
    case bindBySession
    case bindByPassword
    case bindByCode
    case bindToShown
    case cancel
    // Without one
    case register
    case signInByPassword
    case signInByCode
    case resetPassword
    // In a session
    case changePassword
    case requestEmail
    case verifyEmail
    case rename
    case link
    case unlink
    case deleteAccount
    case refresh
    case refreshStale
    case revokeSessions
    case endSession
    // A client of the OAuth server
    case linkClient
    case refreshAsClient
    // The operator, the workers and the providers
    case disable
    case enable
    case replaceEmail
    case unblock
    case revokeByOperator
    case deliverEvent
    case withdraw
    case revokeDue
    case sweep
    case passTime

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
        .revokeSessions,
        .refresh, .deliverEvent, .revokeDue, .sweep,
    ]

    /// The failures, by the names of their cases, that its documentation allows. Every other one is a fault, also each
    /// that reports a fault of the database or of the service: a deadlock shows as `storageUnavailable`.
    var allowedFailures: Set<String> {
        switch self {
        case .signIn, .signInWithCode, .repostToken:
            ["credentialRejected", "accountDisabled", "identityBlocked"]
        case .signInInBrowser:
            // A password that is changed meanwhile proves nothing to the app that has the code; hours may pass meanwhile.
            [
                "credentialRejected", "accountDisabled", "identityBlocked", "invalidCredentials", "webCodeRejected",
                "webFlowExpired", "webAnswerRefused", "webCookieMissing",
            ]
        case .create:
            ["linkTicketExpired", "emailTaken", "identityAlreadyLinked", "invalidCredentials"]
        case .bindBySession:
            [
                "linkTicketExpired", "invalidSession", "reauthenticationRequired", "identityAlreadyLinked",
                "providerAlreadyLinked", "memberNotAllowed",
            ]
        case .bindByPassword, .bindByCode, .bindToShown:
            [
                "linkTicketExpired", "invalidCredentials", "accountDisabled", "identityAlreadyLinked",
                "providerAlreadyLinked", "memberNotAllowed", "missingCredential",
            ]
        case .register:
            ["emailTaken"]
        case .signInByPassword, .signInByCode, .resetPassword:
            ["invalidCredentials", "accountDisabled"]
        case .changePassword:
            ["invalidSession", "reauthenticationRequired", "invalidCredentials", "missingCredential", "emailRequired"]
        case .requestEmail:
            ["invalidSession", "reauthenticationRequired"]
        case .verifyEmail:
            ["invalidSession", "invalidCredentials", "emailTaken"]
        case .link:
            [
                "invalidSession", "reauthenticationRequired", "credentialRejected", "identityAlreadyLinked",
                "providerAlreadyLinked",
            ]
        case .unlink:
            ["invalidSession", "reauthenticationRequired", "identityNotFound", "lastSignInMethod"]
        case .deleteAccount:
            ["invalidSession", "reauthenticationRequired"]
        case .refresh, .refreshStale:
            ["invalidRefreshToken", "refreshTokenReused"]
        case .rename, .revokeSessions:
            ["invalidSession"]
        case .endSession:
            ["invalidSession", "sessionNotFound"]
        case .linkClient:
            // The session has ended; by App Flip, or before the code was redeemed, so that the code has gone with the link.
            ["invalidSession", "cancelled", "unrecoverable", "invalidGrant", "webFlowExpired"]
        case .refreshAsClient:
            ["invalidGrant"]
        case .enable:
            ["notFound", "emailRequired"]
        case .replaceEmail:
            ["notFound", "accountDisabled", "emailUnchanged", "emailTaken"]
        case .disable, .unblock:
            ["notFound"]
        case .cancel, .revokeByOperator, .deliverEvent, .withdraw, .revokeDue, .sweep, .passTime:
            []
        }
    }
}
