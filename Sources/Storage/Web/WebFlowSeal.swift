import Accounts
import Foundation
import KeyRing

/// The sealed columns of `web_flows`: JSON under the key ring's `web` subkey, bound to the flow and the column.
struct WebFlowSeal: Sendable {
    enum Column: String {
        case secrets = "sealed_secrets"
        case answer = "sealed_answer"
        case person = "sealed_person"
        case ticket = "sealed_ticket"
        case errand = "sealed_errand"
        case registration = "sealed_registration"

        var table: String { self == .registration ? "web_registrations" : "web_flows" }
    }

    let keyRing: KeyRing

    // Neither is inlined: as part of an asynchronous function they crash the optimizer of Swift 6.3.1.

    @inline(never)
    func seal(_ value: some Encodable, _ column: Column, of flow: WebFlowID) throws -> [UInt8] {
        let encoder = JSONEncoder()
        return try keyRing.seal(Array(encoder.encode(value)), for: .web, at: location(column, flow))
    }

    @inline(never)
    func open<Value: Decodable>(_ sealed: [UInt8], _ column: Column, of flow: WebFlowID) throws -> Value {
        let bytes = try keyRing.open(sealed, for: .web, at: location(column, flow))
        return try JSONDecoder().decode(Value.self, from: Data(bytes))
    }

    private func location(_ column: Column, _ flow: WebFlowID) -> SealedLocation {
        SealedLocation(table: column.table, row: flow.description, column: column.rawValue)
    }
}

extension ProvenPerson: Codable {
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Form(self))
    }

    package init(from decoder: any Decoder) throws {
        self = try decoder.singleValueContainer().decode(Form.self).person
    }

    /// The stored form: texts, numbers and nothing that the domain checks.
    private enum Form: Codable {
        case identity(IdentityForm)
        case password(accountID: UUID, passwordHash: String, provenAt: Int64)
        case emailCode(CodeForm, provenAt: Int64)

        init(_ person: ProvenPerson) {
            switch person {
            case .identity(let identity, let grant, let displayName):
                self = .identity(IdentityForm(identity, grant, displayName))
            case .password(let accountID, let passwordHash, let time):
                self = .password(
                    accountID: accountID.uuid, passwordHash: passwordHash.text, provenAt: time.microseconds)
            case .emailCode(let code, let time):
                self = .emailCode(CodeForm(code), provenAt: time.microseconds)
            }
        }

        var person: ProvenPerson {
            get throws {
                switch self {
                case .identity(let form):
                    .identity(
                        try form.identity, grant: form.grant?.grant,
                        displayName: form.displayName.flatMap(DisplayName.init)
                    )
                case .password(let accountID, let passwordHash, let time):
                    .password(
                        AccountID(uuid: accountID), passwordHash: PasswordHash(passwordHash),
                        at: Timestamp(microseconds: time))
                case .emailCode(let form, let time): .emailCode(try form.code, at: Timestamp(microseconds: time))
                }
            }
        }
    }

    private struct Unreadable: Error {}

    private struct IdentityForm: Codable {
        let provider: String
        let realm: String
        let subject: String
        let email: EmailForm?
        let clientID: String
        let authenticatedAt: Int64
        let issuedAt: Int64
        let transferSubject: String?
        let displayName: String?
        let name: String?
        let grant: GrantForm?

        init(_ identity: VerifiedIdentity, _ grant: NewGrant?, _ displayName: DisplayName?) {
            provider = identity.key.provider.rawValue
            realm = identity.key.realm.text
            subject = identity.key.subject.text
            email = identity.email.map(EmailForm.init)
            clientID = identity.clientID.text
            authenticatedAt = identity.authenticatedAt.microseconds
            issuedAt = identity.issuedAt.microseconds
            transferSubject = identity.transferSubject?.text
            self.displayName = displayName?.text
            name = identity.name?.text
            self.grant = grant.map(GrantForm.init)
        }

        var identity: VerifiedIdentity {
            get throws {
                guard let provider = Provider(rawValue: provider), let subject = ProviderSubject(subject) else {
                    throw Unreadable()
                }
                return VerifiedIdentity(
                    key: IdentityKey(provider: provider, realm: Realm(realm), subject: subject),
                    email: try email?.email, clientID: ProviderClientID(clientID),
                    authenticatedAt: Timestamp(microseconds: authenticatedAt),
                    issuedAt: Timestamp(microseconds: issuedAt),
                    transferSubject: transferSubject.flatMap(ProviderSubject.init),
                    name: name.flatMap(DisplayName.init))
            }
        }
    }

    private struct EmailForm: Codable {
        let address: String
        let isVerified: Bool
        let isPrivateRelay: Bool
        let isAuthoritative: Bool

        init(_ email: ProviderEmail) {
            address = email.address.text
            isVerified = email.isVerified
            isPrivateRelay = email.isPrivateRelay
            isAuthoritative = email.isAuthoritative
        }

        var email: ProviderEmail {
            get throws {
                guard let address = EmailAddress.existing(address) else { throw Unreadable() }
                return ProviderEmail(
                    address: address, isVerified: isVerified, isPrivateRelay: isPrivateRelay,
                    isAuthoritative: isAuthoritative)
            }
        }
    }

    private struct GrantForm: Codable {
        let clientID: String
        let refreshToken: String
        let exchangedAt: Int64
        let checkAt: Int64?

        init(_ grant: NewGrant) {
            clientID = grant.clientID.text
            refreshToken = grant.refreshToken.text
            exchangedAt = grant.exchangedAt.microseconds
            checkAt = grant.checkAt?.microseconds
        }

        var grant: NewGrant {
            NewGrant(
                clientID: ProviderClientID(clientID), refreshToken: ProviderRefreshToken(refreshToken),
                exchangedAt: Timestamp(microseconds: exchangedAt),
                checkAt: checkAt.map(Timestamp.init(microseconds:)))
        }
    }

    private struct CodeForm: Codable {
        let id: UUID
        let keyID: String
        let email: String
        let purpose: String
        let digits: Int32
        let expiresAt: Int64

        init(_ code: EmailCode) {
            id = code.id.uuid
            keyID = code.keyID
            email = code.email.text
            purpose = code.purpose.rawValue
            digits = code.length.rawValue
            expiresAt = code.expiresAt.microseconds
        }

        var code: EmailCode {
            get throws {
                guard let email = EmailAddress.existing(email), let purpose = EmailCodePurpose(rawValue: purpose),
                    let length = EmailCode.Length(rawValue: digits)
                else { throw Unreadable() }
                return EmailCode(
                    id: EmailCodeID(uuid: id), keyID: keyID, email: email, purpose: purpose, length: length,
                    expiresAt: Timestamp(microseconds: expiresAt))
            }
        }
    }
}
