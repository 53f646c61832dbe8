import Accounts
import JSON
import SignIn

/// Members of the mobile API's values.
extension JSONWriter {
    mutating func members(of signedIn: SignedIn) {
        member("status", "signedIn")
        object("session") { $0.members(of: signedIn.session) }
        object("account") { $0.members(ofOwn: signedIn.account) }
        if let identity = signedIn.identity {
            object("identity") { $0.members(of: identity) }
        }
    }

    mutating func members(of linkRequired: LinkRequired) {
        member("status", "linkRequired")
        member("linkTicket", linkRequired.linkTicket)
        member("expiresAt", linkRequired.expiresAt.rfc3339)
        object("identity") { identity in
            switch linkRequired.person {
            case .identity(let person):
                identity.member("provider", person.key.provider.rawValue)
                identity.member("email", person.email?.address.text)
                identity.member("emailVerified", person.email?.isVerified ?? false)
                identity.member("isPrivateEmail", person.email?.isPrivateRelay ?? false)
            case .mailbox(let email):
                identity.member("provider", "email")
                identity.member("email", email.text)
                identity.member("emailVerified", true)
                identity.member("isPrivateEmail", false)
            }
        }
        member("choices", linkRequired.choices.lazy.map(\.rawValue))
        if let holder = linkRequired.holder {
            object("holder") { $0.members(of: holder) }
        }
    }

    /// The account that has the address, with no more than its owner needs to recognise it.
    private mutating func members(of holder: ShownHolder) {
        member("providers", holder.account.providers.lazy.map(\.rawValue))
        guard holder.showsIdentities else { return }
        member("createdAt", holder.account.createdAt.rfc3339)
        objects("identities", of: holder.account.identities) { identity, writer in
            writer.member("provider", identity.key.provider.rawValue)
            writer.member("email", identity.email?.masked)
            writer.member("linkedAt", identity.linkedAt.rfc3339)
        }
    }

    mutating func members(of session: IssuedSession) {
        member("sessionId", session.id.description)
        member("accessToken", session.accessToken)
        member("tokenType", "Bearer")
        member("expiresIn", session.expiresIn)
        member("refreshToken", session.refreshToken)
        member("refreshExpiresAt", session.refreshExpiresAt.rfc3339)
    }

    /// - Parameter isCurrent: whether it is the session of the request.
    mutating func members(of session: SessionSummary, isCurrent: Bool) {
        member("sessionId", session.id.description)
        member("current", isCurrent)
        if let device = session.device {
            object("device") { writer in
                writer.member("name", device.name)
                writer.member("platform", device.platform)
            }
        }
        member("ip", session.address)
        member("lastUsedIp", session.lastUsedAddress)
        member("createdAt", session.createdAt.rfc3339)
        member("lastUsedAt", session.lastUsedAt.rfc3339)
        member("amr", session.methods.lazy.map(\.rawValue))
    }

    /// An account as its owner sees it. An address that is about to take the place of its own is masked: the person who has
    /// lost the mailbox recognises it, and an intruder in the account doesn't learn it.
    mutating func members(ofOwn account: Account) {
        members(of: account)
        guard let replacement = account.emailReplacement else { return }
        object("emailReplacement") { writer in
            writer.member("email", replacement.email.masked)
            writer.member("dueAt", replacement.dueAt.rfc3339)
        }
    }

    mutating func members(of account: Account) {
        member("accountId", account.id.description)
        member("externalId", account.externalID?.text)
        member("email", account.email?.text)
        member("emailVerified", account.isEmailVerified)
        member("emailProof", account.emailProof?.rawValue)
        member("emailTakenAt", account.emailTakenAt?.rfc3339)
        member("displayName", account.displayName?.text)
        member("status", account.status.rawValue)
        member("createdAt", account.createdAt.rfc3339)
        member("hasPassword", account.hasPassword)
        objects("identities", of: account.identities) { $1.members(of: $0) }
    }

    mutating func members(of identity: Identity) {
        member("identityId", identity.id.description)
        member("provider", identity.key.provider.rawValue)
        member("subject", identity.key.subject.text)
        member("email", identity.email?.text)
        member("emailVerified", identity.isEmailVerified)
        member("isPrivateEmail", identity.isPrivateEmail)
        if let isDeliverable = identity.isEmailDeliverable { member("emailDeliverable", isDeliverable) }
        if let block = identity.block {
            object("blocked") { writer in
                writer.member("since", block.since.rfc3339)
                writer.member("reason", block.reason)
            }
        }
        if identity.credentialChangeRequiredAt != nil { member("credentialChangeRequired", true) }
        member("linkedAt", identity.linkedAt.rfc3339)
        member("lastSignInAt", identity.lastSignInAt?.rfc3339)
        member("authorization", identity.authorization.rawValue)
    }
}
