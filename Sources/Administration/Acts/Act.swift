package import Accounts
import Primitives
package import SignIn

/// What an administrator may do to one thing. The admin API's operation, the console's button and question, and the
/// operator's command come from this one value.
package struct Act: Sendable {
    /// The last word of its path, but for a client's id, and of its command.
    package let name: String
    package let subject: Subject
    /// The scope that its operation requires.
    package let scope: AdminKey.Scope
    package let reason: Reason
    /// What it takes beside a reason.
    package var fields: [Field] = []
    package var mail = Mail.none
    /// Its operation of the admin API; `nil` where that has none.
    package var operation: Operation? = .post
    package var isDangerous = true
    /// The words on its button.
    package let label: String
    /// What it will do, in a sentence or two.
    package let consequence: String
    /// What it will do besides, by how well the account's address is known.
    package var consequenceByProof: [EmailProof: String] = [:]
    /// What is said after it.
    package let result: String
    /// What is said instead, when there was nothing to do.
    package var nothing = "Nothing had to be done."

    /// Does it, and records it under the administrator's name.
    package let perform:
        @Sendable (Administration, _ id: String, ActInput, Administrator) async throws(AdministrationFailure) ->
            ActResult

    /// What it is done to. The raw value is the folder of its path.
    package enum Subject: String, Sendable {
        case account = "accounts"
        case identity = "identities"
        case session = "sessions"
        case revocation = "revocations"
        case providerEvent = "provider-events"
        case oauthClient = "oauth-clients"
        case adminKey = "admin-keys"
        case webhook = "webhooks"

        /// The parameter of the admin API's paths.
        package var parameter: String {
            switch self {
            case .account: "accountId"
            case .identity: "identityId"
            case .session: "sessionId"
            case .revocation: "revocationId"
            case .providerEvent: "eventId"
            case .oauthClient: "clientId"
            case .adminKey: "keyId"
            case .webhook: "name"
            }
        }

        /// Whether a text has the form of an id of one.
        package func isID(_ text: String) -> Bool {
            switch self {
            case .oauthClient: OAuthClientID(text) != nil
            // What is no name is that of no endpoint.
            case .webhook: true
            default: Identifier<Act>(text) != nil
            }
        }

        /// The word for one, in a sentence.
        package var noun: String {
            switch self {
            case .account: "account"
            case .identity: "identity"
            case .session: "session"
            case .revocation: "revocation"
            case .providerEvent: "event"
            case .oauthClient: "client"
            case .adminKey: "key"
            case .webhook: "endpoint"
            }
        }
    }

    /// Whether the trail says why.
    package enum Reason: Sendable {
        case required
        case optional
        case none
    }

    /// What is mailed, so that mail has to be configured.
    package enum Mail: Sendable {
        case none
        /// Those whom it concerns are notified.
        case notice
        /// The same, where mail is configured; it need not be.
        case noticeIfConfigured
        /// A code, which is derived from the key ring and limited.
        case code
    }

    package enum Field: Sendable {
        /// The address that an account is given.
        case address
        /// The same, for an account that has no way to sign in left.
        case missingAddress
        /// Whether an identity stays linked.
        case keep
        /// The name that an account is given, or none.
        case name
        /// From when on.
        case since
        /// Which of the clients that an account is linked to. It stands in the path, in no body and no form.
        case client
    }

    package enum Operation: Sendable {
        /// `POST` of the path and the name, with the reason in the body; one that is not required may be in the query too.
        case post
        /// `POST` of the path and what follows it; the body, which may be absent, has the reason.
        case send(String)
        /// `PATCH` of the path, with fields and reason in the body.
        case patch
        /// `DELETE` of the path, and of what follows it, with the reason in the query.
        case delete(String = "")
    }

    /// Those that administrators need: that of the act, and the one of the page that it is on.
    package var scopes: Set<AdminKey.Scope> { subject == .adminKey ? [scope] : [.read, scope] }

    /// Whether it is refused where no mail is sent.
    package var needsMail: Bool {
        switch mail {
        case .notice, .code: true
        case .none, .noticeIfConfigured: false
        }
    }

    /// Whether it is there only where the OAuth server is on.
    package var needsOAuthServer: Bool { subject == .oauthClient || fields.contains(.client) }
}

/// What is said to an act.
package struct ActInput: Sendable {
    package var reason: String?
    package var email: EmailAddress?
    package var name: DisplayName?
    package var keepsIdentity: Bool
    package var since: Timestamp?
    package var client: OAuthClientID?

    package init(
        reason: String? = nil, email: EmailAddress? = nil, name: DisplayName? = nil, keepsIdentity: Bool = false,
        since: Timestamp? = nil, client: OAuthClientID? = nil
    ) {
        self.reason = reason
        self.email = email
        self.name = name
        self.keepsIdentity = keepsIdentity
        self.since = since
        self.client = client
    }

    /// The most bytes of a reason.
    package static let longestReason = AuditEvent.longestReason

    /// Whether a reason, which the trail keeps, is one line of 1 to 1,024 bytes, and not of spaces alone.
    package static func isReason(_ text: String) -> Bool {
        1...longestReason ~= text.utf8.count && !text.utf8.contains(where: \.isASCIIControl)
            && text.utf8.contains { $0 != 0x20 }
    }

    /// The text, if it can be a reason.
    package static func reason(_ text: String) -> String? { isReason(text) ? text : nil }

    /// The reason of an act that requires one, which its front has asked for.
    var statedReason: String {
        get throws(AdministrationFailure) {
            guard let reason else { throw .fault(operation: "act without its reason") }
            return reason
        }
    }
}

/// What has come of an act.
package enum ActResult: Sendable {
    case done
    /// There was nothing to do, and nothing is recorded.
    case nothing
    /// It was tried, and failed elsewhere: why, in a sentence.
    case failed(String)
    /// Done, and workers do what it entails elsewhere.
    case accepted
    case account(AccountRecord, isChanged: Bool = true)
    /// What it was about, as it is now.
    case record(any AdminRecord, isChanged: Bool = true)
    /// What it was done to, as it is now; no worker has anything left to do.
    case changed(any AdminRecord, isChanged: Bool = true)
    /// What was asked for.
    case document(PersonalDataExport)
}

extension Act {
    package static let all: [Act] = accountActs + identityActs + sessionActs + workActs + settingActs + webhookActs

    static func identifier<Of>(_ text: String) throws(AdministrationFailure) -> Identifier<Of> {
        guard let id = Identifier<Of>(text) else { throw .notFound }
        return id
    }
}
