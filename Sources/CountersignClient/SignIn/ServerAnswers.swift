import Foundation

/// The answers of the server as they are written. A value of the wrong type or form makes the answer one that the
/// protocol does not know.
struct SessionWire: Decodable {
    let sessionId: String
    let accessToken: String
    let tokenType: String
    let expiresIn: Int
    let refreshToken: String
    let refreshExpiresAt: TimeWire

    /// - Parameters:
    ///   - sentAt: when it was asked for: the lifetime began later.
    ///   - requestID: of the answer.
    func session(of accountID: String, sentAt: Date, _ requestID: String?) throws(SessionError) -> StoredSession {
        // Ten years bound the sum.
        guard isToken(accessToken), isToken(refreshToken), tokenType.lowercased() == "bearer",
            (1...315_360_000).contains(expiresIn), !sessionId.isEmpty
        else { throw .transient(retryAfter: nil, requestID: requestID) }
        return StoredSession(
            sessionID: sessionId, accountID: accountID, accessToken: accessToken,
            accessExpiresAt: Timestamp.seconds(sentAt) + expiresIn, refreshToken: refreshToken,
            refreshExpiresAt: Timestamp.seconds(refreshExpiresAt.date))
    }
}

/// `2026-11-21T04:08:40Z`.
struct TimeWire: Decodable {
    let date: Date

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let date = Timestamp.parse(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "no RFC 3339 time in UTC")
        }
        self.date = date
    }
}

/// `SignedIn` or `LinkRequired`.
enum SignInWire: Decodable {
    case signedIn(SignedIn)
    case linkRequired(LinkTicket)

    struct SignedIn: Decodable {
        struct Identity: Decodable {
            let identityId: String?
            let provider: IdentityProvider
            let subject: String
        }

        let session: SessionWire
        let account: AccountWire
        /// What the person came with; absent after a password or a mailed code.
        let identity: Identity?
    }

    private enum CodingKeys: CodingKey {
        case status
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        switch try container.decode(String.self, forKey: .status) {
        case "signedIn": self = .signedIn(try SignedIn(from: decoder))
        case "linkRequired": self = .linkRequired(try LinkWire(from: decoder).ticket)
        default:
            throw DecodingError.dataCorruptedError(forKey: .status, in: container, debugDescription: "unknown status")
        }
    }
}

struct LinkWire: Decodable {
    struct Identity: Decodable {
        let provider: IdentityProvider
        let email: String?
        let emailVerified: Bool
        let isPrivateEmail: Bool
    }

    struct Holder: Decodable {
        struct Identity: Decodable {
            let provider: IdentityProvider
            let email: String?
            let linkedAt: TimeWire
        }

        let providers: [IdentityProvider]
        let createdAt: TimeWire?
        let identities: [Identity]?
    }

    let linkTicket: String
    let expiresAt: TimeWire
    let identity: Identity
    let choices: [String]
    let holder: Holder?

    var ticket: LinkTicket {
        LinkTicket(
            value: linkTicket, choices: choices.compactMap(LinkTicket.Choice.init), expiresAt: expiresAt.date,
            provider: identity.provider, email: identity.email, isEmailVerified: identity.emailVerified,
            isPrivateEmail: identity.isPrivateEmail,
            holder: holder.map { holder in
                LinkHolder(
                    providers: holder.providers, createdAt: holder.createdAt?.date,
                    identities: (holder.identities ?? []).map {
                        .init(provider: $0.provider, maskedEmail: $0.email, linkedAt: $0.linkedAt.date)
                    })
            })
    }
}

struct AccountWire: Decodable {
    struct Identity: Decodable {
        let identityId: String
        let provider: IdentityProvider
        let subject: String
        let email: String?
        let emailVerified: Bool
        let isPrivateEmail: Bool
        let emailDeliverable: Bool?
        let linkedAt: TimeWire
        let lastSignInAt: TimeWire?
        let authorization: String
        /// `{"since","reason"}`, which are for support, or `true`.
        let blocked: JSONValue?
        let credentialChangeRequired: Bool?

        var identity: ClientAccount.Identity {
            ClientAccount.Identity(
                id: identityId, provider: provider, subject: subject, email: email, isEmailVerified: emailVerified,
                isPrivateEmail: isPrivateEmail, isEmailDeliverable: emailDeliverable, linkedAt: linkedAt.date,
                lastSignInAt: lastSignInAt?.date, authorization: .init(rawValue: authorization),
                isBlocked: blocked?.bool ?? (blocked?.object != nil),
                isCredentialChangeRequired: credentialChangeRequired ?? false)
        }
    }

    struct Replacement: Decodable {
        let email: String
        let dueAt: TimeWire
    }

    let accountId: String
    let externalId: String?
    let email: String?
    let emailVerified: Bool
    let emailProof: String?
    let emailTakenAt: TimeWire?
    let emailReplacement: Replacement?
    let displayName: String?
    let status: String
    let createdAt: TimeWire
    let hasPassword: Bool
    let identities: [Identity]

    var account: ClientAccount {
        ClientAccount(
            id: accountId, externalID: externalId, email: email, isEmailVerified: emailVerified,
            emailProof: emailProof.map(ClientAccount.EmailProof.init), emailTakenAt: emailTakenAt?.date,
            emailReplacement: emailReplacement.map { EmailReplacement(maskedEmail: $0.email, dueAt: $0.dueAt.date) },
            displayName: displayName,
            status: ClientAccount.Status(rawValue: status), createdAt: createdAt.date, hasPassword: hasPassword,
            identities: identities.map(\.identity))
    }
}

/// `{"items":[…]}`.
struct ListWire<Item: Decodable>: Decodable {
    let items: [Item]
}

struct DeviceWire: Decodable {
    struct Description: Decodable {
        let name: String?
        let platform: String?
    }

    let sessionId: String
    let current: Bool
    let device: Description?
    let createdAt: TimeWire
    let lastUsedAt: TimeWire
    let amr: [String]

    var signedInDevice: SignedInDevice {
        SignedInDevice(
            id: sessionId, isCurrent: current, name: device?.name, platform: device?.platform,
            createdAt: createdAt.date, lastUsedAt: lastUsedAt.date, methods: amr)
    }
}

struct ServiceWire: Decodable {
    let clientId: String
    let name: String
    let scopes: [String]
    let linkedAt: TimeWire
    let lastUsedAt: TimeWire?

    var service: LinkedService {
        LinkedService(id: clientId, name: name, scopes: scopes, linkedAt: linkedAt.date, lastUsedAt: lastUsedAt?.date)
    }
}

struct NonceWire: Decodable {
    let nonce: String
    let expiresAt: TimeWire
}

/// 409 `provider_already_linked`.
struct ConflictWire: Decodable {
    struct Existing: Decodable {
        let email: String?
    }

    let existing: Existing?
}
