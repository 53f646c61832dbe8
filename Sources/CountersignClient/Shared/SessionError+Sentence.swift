public import Foundation

extension SessionError: LocalizedError {
    /// A sentence for a person, in the first of their languages that there is.
    public var errorDescription: String? { description(in: Locale.preferredLanguages) }

    /// A sentence for a person. Languages are those of the server's pages: `en de fr es it pt-BR nl pl ja ko zh-Hans ar`;
    /// without one of them it is English.
    ///
    /// - Parameter languages: tags (BCP 47), best first.
    public func description(in languages: [String]) -> String { sentence.text(in: languages) }

    private var sentence: Sentence {
        switch self {
        case .reauthenticate, .noSession: .signInAgain
        case .transient(nil, _): .unreachable
        case .transient: .busy
        case .insecureRequest: .misconfigured
        case .cancelled: .cancelled
        case .storage: .notStored
        case .refused(let code, _, _): Self.sentences[code] ?? .refused
        }
    }

    /// By the codes of the server, and those of the library.
    private static let sentences: [String: Sentence] = [
        "invalid_request": .invalid, "weak_password": .weakPassword,
        "invalid_token": .notAccepted, "invalid_credentials": .wrongCredentials, "invalid_session": .signInAgain,
        "account_disabled": .disabled, "reauthentication_required": .notFresh, "not_found": .gone,
        "email_taken": .emailTaken, "identity_already_linked": .alreadyLinked, "provider_already_linked": .otherLinked,
        "last_sign_in_method": .onlyWay, "link_ticket_expired": .expired,
        "foreign_callback": .notAccepted, "attempt_spent": .expired,
        "foreign_host": .misconfigured, "unsupported_callback": .misconfigured,
        "invalid_window": .misconfigured,
    ]
}
