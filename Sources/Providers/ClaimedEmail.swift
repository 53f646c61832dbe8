import Accounts
import JSON
import Primitives

/// A claim that Apple and Google send as a boolean or as the text of one.
enum ClaimedFlag {
    case yes
    case no
    case absent
    /// Neither: a number, null, `"TRUE"`, an empty string.
    case unreadable

    init(_ claim: JSONValue?) {
        guard let claim else {
            self = .absent
            return
        }
        if claim.bool == true || claim.isString(equalTo: "true") {
            self = .yes
        } else if claim.bool == false || claim.isString(equalTo: "false") {
            self = .no
        } else {
            self = .unreadable
        }
    }
}

/// The email of a verified token. It never refuses a sign-in: the subject identifies the person, and an address that can't
/// be read or isn't explicitly marked verified only loses what it could have been used for.
struct ClaimedEmail {
    let address: EmailAddress
    private let verified: ClaimedFlag
    private let isPrivate: ClaimedFlag

    init?(_ claims: JSONValue) {
        guard let address = claims["email"]?.string.flatMap(EmailAddress.init) else { return nil }
        self.address = address
        verified = ClaimedFlag(claims["email_verified"])
        isPrivate = ClaimedFlag(claims["is_private_email"])
    }

    /// Only `true` and `"true"` count, and only if `is_private_email` can be read.
    private var isVerified: Bool { verified == .yes && isPrivate != .unreadable }

    /// The email by Apple's rules. Apple runs its own mail domains; its relay has addresses in one of them too, so Apple must
    /// also have said that this is no relay address.
    var atApple: ProviderEmail {
        let isOwn = ["icloud.com", "me.com", "mac.com"].contains { address.isIn(domain: $0) }
        return ProviderEmail(
            address: address, isVerified: isVerified, isPrivateRelay: isPrivate == .yes,
            isAuthoritative: isVerified && isPrivate == .no && isOwn)
    }

    /// The email by Google's rules. Google runs gmail.com, and hosts the domain of an account that has `hd`. Of any other
    /// address it only knows that the person could once read mail there.
    func atGoogle(isHosted: Bool) -> ProviderEmail {
        ProviderEmail(
            address: address, isVerified: isVerified, isPrivateRelay: false,
            isAuthoritative: isVerified && (isHosted || address.isIn(domain: "gmail.com")))
    }
}

extension EmailAddress {
    /// Whether the domains are equal; both are lower-case ASCII.
    fileprivate func isIn(domain other: String) -> Bool { domain.hasSameBytes(as: other) }
}
