package import Accounts
import Foundation

/// The stored form of an errand: a word for the act, and one text about it.
extension AccountErrand: Codable {
    private struct Form: Codable {
        let act: Word
        let subject: String?
        let account: UUID?
        let session: UUID?
    }

    private enum Word: String, Codable {
        case rename
        case changeEmail
        case changePassword
        case link
        case unlinkIdentity
        case unlinkClient
        case export
        case delete
    }

    private struct Unreadable: Error {}

    package func encode(to encoder: any Encoder) throws {
        let (word, subject): (Word, String?) =
            switch act {
            case .rename(let typed): (.rename, typed)
            case .changeEmail(let typed): (.changeEmail, typed)
            case .changePassword: (.changePassword, nil)
            case .link(let provider): (.link, provider.rawValue)
            case .unlinkIdentity(let id): (.unlinkIdentity, id.description)
            case .unlinkClient(let id): (.unlinkClient, id.text)
            case .export: (.export, nil)
            case .delete: (.delete, nil)
            }
        var container = encoder.singleValueContainer()
        try container.encode(Form(act: word, subject: subject, account: account?.uuid, session: session?.uuid))
    }

    package init(from decoder: any Decoder) throws {
        let form = try decoder.singleValueContainer().decode(Form.self)
        let act: AccountAct? =
            switch form.act {
            case .rename: .rename(typed: form.subject)
            case .changeEmail: .changeEmail(typed: form.subject)
            case .changePassword: .changePassword
            case .link: form.subject.flatMap(Provider.init).map { .link($0) }
            case .unlinkIdentity: form.subject.flatMap(IdentityID.init).map { .unlinkIdentity($0) }
            case .unlinkClient: form.subject.flatMap(OAuthClientID.init).map { .unlinkClient($0) }
            case .export: .export
            case .delete: .delete
            }
        guard let act else { throw Unreadable() }
        self.init(
            act, of: form.account.map { AccountID(uuid: $0) }, linkingTo: form.session.map { SessionID(uuid: $0) })
    }
}
