import Accounts

/// A page, with everything that is shown on it. The target makes HTML of it and decides nothing: which buttons there
/// are, where they lead and what went wrong is said by the values.
protocol WebPage: Sendable {
    /// What stands between the heading and the footer.
    static var template: String { get }

    func view(in localization: Localization, _ theme: PageTheme) -> PageView
}

extension WebPage {
    /// The name of its template in the library. The parts that pages share have names that are no type's.
    static var templateName: String { String(describing: Self.self) }
}

/// Where a form goes. Every form is `method=post` with one hidden field `csrf`.
struct FormTarget: Hashable, Sendable {
    /// A path on this origin, with its query.
    let action: String
    let csrf: String
    /// What it posts besides, by name, without being asked: also what was typed on a page before, which is in no URL.
    var hidden: [String: String] = [:]
}

/// What a person signs in for; it is the heading of every page on the way.
enum SignInPurpose: Hashable, Sendable {
    /// An app of the operator's, by its name.
    case app(String)
    /// The person's own account page.
    case account
    /// A client of the OAuth server, by its name.
    case client(String)
}

/// A page that mails a code: first the address, then the code.
enum CodeStep: Sendable {
    /// Posts `email`.
    case address
    /// Posts `email` (hidden) and `code`; another form `email` and `again=1`, for another mail. Says that a code was mailed if
    /// the address is known, in the same words for every address.
    ///
    /// - Parameter isAgain: whether the person has just asked for another mail. When one is sent is then said in general, as
    ///   what becomes of this one may depend on what the address's owner has done since.
    case code(email: String, isAgain: Bool = false)
}

/// How the person has just proven who they are, when no account is known for it yet.
enum ProvenSource: Hashable, Sendable {
    case apple
    case google
    /// A mailed code.
    case mailbox
}

/// What was wrong with a form that is shown again. Each has one sentence and marks the fields it is about.
enum FormError: String, CaseIterable, Sendable {
    /// Unknown address or wrong password: one sentence for both.
    case wrongPassword
    /// Wrong, spent or expired: one sentence for all.
    case wrongCode
    case invalidEmail
    case missingPassword
    case wrongCurrentPassword
    case missingCode
    case weakPassword
    case invalidDisplayName
    case emailTaken
    case identityAlreadyLinked
    /// The same, of an identity that the person of an account wants to add to it.
    case linkedElsewhere
    /// The account has another identity of the provider.
    case providerAlreadyLinked
    /// The account that was shown is another one by now, or has got another identity.
    case holderChanged
    /// What was brought opens the account that was shown no more, of which less is shown now, or nothing.
    case holderLost
    case lastSignInMethod
    case accountDisabled
    /// The provider has disabled the person's account there. Other ways may open the account.
    case identityBlocked
    case tooManyTries
    case mailUnavailable
    case providerUnavailable
    /// Apple or Google reported an error, or their answer was refused.
    case providerRefused
    /// The person cancelled at the provider.
    case cancelledAtProvider
    /// What was brought from a provider is not of the account that is shown.
    case otherIdentity
}

/// An account that exists already, as far as the person may see it.
struct AccountHolder: Sendable {
    /// The identities of the account, or no more than their providers.
    let identities: [HeldIdentity]
    /// Since when the account exists; only where the person has proven the mailbox.
    let createdAt: Timestamp?
}

/// An identity of an account that exists already.
struct HeldIdentity: Sendable {
    let provider: Provider
    var maskedEmail: String?
    var linkedAt: Timestamp?
}

/// A field of a form, by its name on the wire.
enum FormField: String, Sendable {
    case email
    case password
    case code
    case displayName
    case currentPassword
}

extension FormError {
    /// Whether something went wrong; what the person chose at a provider did not.
    var isFault: Bool { self != .cancelledAtProvider }

    /// The fields that it is about; the last one gets the focus.
    var fields: [FormField] {
        switch self {
        case .wrongPassword: [.email, .password]
        case .wrongCode, .missingCode: [.code]
        case .invalidEmail, .emailTaken: [.email]
        case .missingPassword, .weakPassword: [.password]
        case .wrongCurrentPassword: [.currentPassword]
        case .invalidDisplayName: [.displayName]
        case .identityAlreadyLinked, .linkedElsewhere, .providerAlreadyLinked, .holderChanged, .holderLost,
            .lastSignInMethod, .accountDisabled, .identityBlocked, .tooManyTries, .mailUnavailable,
            .providerUnavailable, .providerRefused, .cancelledAtProvider, .otherIdentity:
            []
        }
    }
}
