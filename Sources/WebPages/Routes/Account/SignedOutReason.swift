import Accounts

/// Why a browser is signed out whose person has asked for something else.
enum SignedOutReason {
    /// They had signed in by what is unlinked now.
    case unlinked(Provider)
    case accountDeleted

    /// As ``DoneLink`` has it.
    var word: String {
        switch self {
        case .unlinked(let provider): provider.rawValue
        case .accountDeleted: "deleted"
        }
    }

    init?(word: String) {
        if let provider = Provider(rawValue: word) {
            self = .unlinked(provider)
        } else if word == Self.accountDeleted.word {
            self = .accountDeleted
        } else {
            return nil
        }
    }
}
