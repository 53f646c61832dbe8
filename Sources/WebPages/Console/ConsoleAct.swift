import Accounts
import HTTPServer
import OpenSSL
import SignIn

/// An act of an administrator: a button on a page, which leads to a page that says what it will do, whose form carries it
/// out.
struct ConsoleAct: Sendable {
    /// The acts, by the last segment of their paths.
    enum Kind: String, CaseIterable, Sendable {
        case disable
        case enable
        case signOut = "sign-out"
        case delete
        case export
        case unlink
        case revoke
        case unblock
        case retry
        case replay
        case disableClient = "disable-client"
        case enableClient = "enable-client"
        case revokeKey = "revoke-key"

        /// The words on its button.
        var label: String {
            switch self {
            case .disable, .disableClient: "Disable"
            case .enable, .enableClient: "Enable"
            case .signOut: "Sign out everywhere"
            case .delete: "Delete"
            case .export: "Export"
            case .unlink: "Unlink"
            case .revoke, .revokeKey: "Revoke"
            case .unblock: "Unblock"
            case .retry: "Retry"
            case .replay: "Replay"
            }
        }

        /// Those that a key needs: that of the act, and the one of the page that it is on.
        var scopes: Set<AdminKey.Scope> {
            switch self {
            case .revokeKey: [.manage]
            case .revoke, .retry: [.read, .revoke]
            default: [.read, .manage]
            }
        }

        /// The directory of what it is done to.
        private var directory: String {
            switch self {
            case .disable, .enable, .signOut, .delete, .export: "accounts"
            case .unlink, .revoke, .unblock: "identities"
            case .retry: "revocations"
            case .replay: "provider-events"
            case .disableClient, .enableClient: "oauth-clients"
            case .revokeKey: "admin-keys"
            }
        }

        /// With the parameter `id`.
        var template: String { "/console/\(directory)/{id}/\(rawValue)" }

        func path(of id: String) -> String { "/console/\(directory)/\(id)/\(rawValue)" }

        var isDangerous: Bool {
            switch self {
            case .enable, .enableClient, .export, .unblock, .retry, .replay: false
            default: true
            }
        }

        var reason: Reason {
            switch self {
            case .disable, .enable, .signOut, .revoke, .unblock: .required
            case .delete, .unlink, .retry, .replay: .optional
            case .disableClient, .enableClient, .export, .revokeKey: .none
            }
        }

        /// What it will do, in a sentence or two.
        var consequence: String {
            switch self {
            case .disable: "Nobody can sign in to the account, and all its sessions end. It can be enabled again."
            case .enable: "The person can sign in again. Sessions that have ended stay so."
            case .signOut:
                """
                All sessions of the account end, on every device. The person can sign in again, but not with what \
                was issued before.
                """
            case .delete:
                """
                The account and all that is known of the person is deleted, and the authorizations at Apple and Google \
                are revoked. This can't be undone.
                """
            case .export:
                """
                Everything that is stored about the person is downloaded as one JSON document, for the person who has asked \
                for it. It holds no password, token or code.
                """
            case .unlink:
                """
                The identity is taken from the account; its authorization at the provider stays. The last way to sign in \
                can't be unlinked.
                """
            case .revoke:
                """
                The authorization at the provider is revoked and the sessions that the identity opened end. The identity is \
                unlinked, unless it is the last way to sign in.
                """
            case .unblock:
                """
                The identity can sign in again, although its provider has reported that it disabled the person's account \
                there. A later event of the provider blocks it again.
                """
            case .retry: "The revocation is tried again at once."
            case .replay: "The event is processed again, as if it had just come."
            case .disableClient: "Nothing that the client has opens anything, from now on. What is linked stays linked."
            case .enableClient: "What is linked to the client works again."
            case .revokeKey:
                "The key opens nothing any more, and everybody who is signed in here with it is signed out."
            }
        }

        /// What is said after it.
        var result: String {
            switch self {
            case .disable: "The account is disabled."
            case .enable: "The account is enabled."
            case .signOut: "All its sessions have ended."
            case .delete: "The account is deleted."
            case .export: "The document was downloaded."
            case .unlink: "The identity is unlinked."
            case .revoke: "The revocation is requested."
            case .unblock: "The identity is unblocked."
            case .retry: "The revocation is tried again."
            case .replay: "The event is processed again."
            case .disableClient: "The client is disabled."
            case .enableClient: "The client is enabled."
            case .revokeKey: "The key is revoked."
            }
        }
    }

    enum Reason: Sendable {
        case required
        case optional
        case none
    }

    /// What it is done to, on the page that asks.
    let subject: [ConsoleFact]
    /// The page to which *Cancel* and the act lead.
    let back: String
    /// Further fields of the form.
    var fields: [ConsoleForm.Field] = []
}

extension ConsoleAct.Kind {
    /// That it was done, for the page to which it leads: good in this session alone, so that no link of somebody else's
    /// says so.
    func proof(for path: String, _ visitor: ConsoleVisitor) throws -> String {
        let token = try FormToken.text(secret: visitor.secret.text, flow: "console done \(rawValue)", action: path)
        return "\(rawValue).\(token)"
    }
}

extension ConsoleAct {
    /// What the form before has done, as the parameter `done` says.
    static func notice(for request: Request, _ visitor: ConsoleVisitor) throws -> ConsoleNotice? {
        guard let done = try request.parameterValue("done"),
            let kind = done.split(separator: ".").first.flatMap({ Kind(rawValue: String($0)) }),
            try constantTimeEquals(done, kind.proof(for: String(request.target.prefix { $0 != "?" }), visitor))
        else { return nil }
        return .done(kind.result)
    }

    private static func buttons(_ kinds: [Kind], of id: String, _ visitor: ConsoleVisitor) -> [ConsoleCell] {
        kinds.filter { $0.scopes.isSubset(of: visitor.administrator.key.scopes) }.map {
            .button($0.label, to: $0.path(of: id), isDangerous: $0.isDangerous)
        }
    }

    static func buttons(for account: Account, _ visitor: ConsoleVisitor) -> [ConsoleCell] {
        buttons(
            [account.status == .active ? .disable : .enable, .signOut, .export, .delete], of: "\(account.id)", visitor)
    }

    static func buttons(for identity: Identity, _ visitor: ConsoleVisitor) -> [ConsoleCell] {
        buttons((identity.isBlocked ? [.unblock] : []) + [.unlink, .revoke], of: "\(identity.id)", visitor)
    }

    static func buttons(for revocation: Revocation, _ visitor: ConsoleVisitor) -> [ConsoleCell] {
        revocation.status == .done ? [] : buttons([.retry], of: "\(revocation.id)", visitor)
    }

    static func buttons(for event: StoredProviderEvent, _ visitor: ConsoleVisitor) -> [ConsoleCell] {
        event.status == "pending" ? [] : buttons([.replay], of: "\(event.id)", visitor)
    }

    static func buttons(for client: OAuthClient, _ visitor: ConsoleVisitor) -> [ConsoleCell] {
        buttons([client.status == .active ? .disableClient : .enableClient], of: client.id.text, visitor)
    }

    static func buttons(for key: AdminKey, _ visitor: ConsoleVisitor) -> [ConsoleCell] {
        key.revokedAt == nil ? buttons([.revokeKey], of: "\(key.id)", visitor) : []
    }
}
