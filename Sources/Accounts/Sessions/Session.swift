/// The method by which a person proved who they are (RFC 8176 where it has a value).
package enum AuthenticationMethod: String, Sendable {
    case password = "pwd"
    case oneTimeCode = "otp"
    case apple
    case google

    package init(_ provider: Provider) {
        switch provider {
        case .apple: self = .apple
        case .google: self = .google
        }
    }
}

/// A signed-in device.
package struct Session: Hashable, Sendable {
    package let id: SessionID
    package let accountID: AccountID
    /// That of the account.
    package let externalID: ExternalID?
    /// The identity that opened it; it ends with that identity's link or authorization.
    package let identityID: IdentityID?
    package let authenticatedAt: Timestamp
    package let methods: [AuthenticationMethod]
    package let createdAt: Timestamp
    package var expiresAt: Timestamp
    /// The generation of the newest refresh token.
    package let generation: Int32

    package init(
        id: SessionID, accountID: AccountID, externalID: ExternalID? = nil, identityID: IdentityID?,
        authenticatedAt: Timestamp, methods: [AuthenticationMethod], createdAt: Timestamp, expiresAt: Timestamp,
        generation: Int32
    ) {
        self.id = id
        self.accountID = accountID
        self.externalID = externalID
        self.identityID = identityID
        self.authenticatedAt = authenticatedAt
        self.methods = methods
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.generation = generation
    }

    /// Whether the person authenticated so recently that the session authorizes what others don't.
    package func isFresh(at now: Timestamp) -> Bool {
        now <= authenticatedAt.advanced(bySeconds: Lifetimes.freshAuthenticationSeconds)
    }

    /// Whether it was opened so recently, whenever the person had authenticated for it.
    package func isNew(at now: Timestamp) -> Bool {
        now <= createdAt.advanced(bySeconds: Lifetimes.freshAuthenticationSeconds)
    }
}

/// A live session and its account, as they were at one moment.
package struct LiveAccount: Sendable {
    package let session: Session
    package let account: Account

    package init(session: Session, account: Account) {
        self.session = session
        self.account = account
    }
}

/// The sessions of an account that a revocation means, seen from one of them.
package enum RevocationScope: String, CaseIterable, Sendable {
    case current
    case others
    case all
}

/// The device as the client described it; shown to the account's owner in the list of sessions.
package struct Device: Hashable, Sendable {
    package let name: String?
    package let platform: String?

    package init(name: String?, platform: String?) {
        self.name = name
        self.platform = platform
    }

    /// - Returns: `nil` when the client stated neither.
    package init?(stated name: String?, platform: String?) {
        guard name != nil || platform != nil else { return nil }
        self.init(name: name, platform: platform)
    }
}

/// A signed-in device as its owner sees it in the list of sessions.
package struct SessionSummary: Hashable, Sendable {
    package let id: SessionID
    package let device: Device?
    /// The client's network address as text, when the session was opened.
    package let address: String?
    /// The same when it was last refreshed, or opened if it never was; `nil` if unrecorded.
    package let lastUsedAddress: String?
    package let createdAt: Timestamp
    /// When it was last refreshed, or opened if it never was.
    package let lastUsedAt: Timestamp
    package let methods: [AuthenticationMethod]

    package init(
        id: SessionID, device: Device?, address: String?, lastUsedAddress: String?, createdAt: Timestamp,
        lastUsedAt: Timestamp, methods: [AuthenticationMethod]
    ) {
        self.id = id
        self.device = device
        self.address = address
        self.lastUsedAddress = lastUsedAddress
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
        self.methods = methods
    }
}

/// A session about to be opened.
package struct NewSession: Sendable {
    package let id: SessionID
    package let authenticatedAt: Timestamp
    /// When the person authenticated at the provider of the identity that opens it: not later than `authenticatedAt`,
    /// which may be that of a password. `nil` without an identity.
    package let providerAuthenticatedAt: Timestamp?
    package let methods: [AuthenticationMethod]
    package let now: Timestamp
    package let expiresAt: Timestamp
    package let device: Device?
    /// The client's network address as text.
    package let address: String?
    /// The id of the request that opens it, for the audit trail.
    package let requestID: String?
    /// The IPv4 /24 or IPv6 /64 of the address, for the audit trail.
    package let network: Network?

    package init(
        id: SessionID, authenticatedAt: Timestamp, providerAuthenticatedAt: Timestamp? = nil,
        methods: [AuthenticationMethod], now: Timestamp, expiresAt: Timestamp, device: Device?, address: String?,
        requestID: String? = nil, network: Network? = nil
    ) {
        self.id = id
        self.authenticatedAt = authenticatedAt
        self.providerAuthenticatedAt = providerAuthenticatedAt
        self.methods = methods
        self.now = now
        self.expiresAt = expiresAt
        self.device = device
        self.address = address
        self.requestID = requestID
        self.network = network
    }

    /// The methods as one text, in the order in which they were used.
    package var amr: String { methods.map(\.rawValue).joined(separator: " ") }
}
