import Accounts

extension AccountPage.Notice {
    private static let ofClient = "client "

    /// As ``DoneLink`` has it; `nil` for what is said without.
    var word: String? {
        switch self {
        case .renamed: "renamed"
        case .emailChanged: "email"
        case .addressKept: "kept"
        case .passwordChanged: "password"
        case .deviceEnded: "device"
        case .othersEnded: "others"
        case .unlinkedProvider(let provider): provider.rawValue
        case .unlinkedClient(let name): Self.ofClient + name
        case .linkedProvider, .otherAccount: nil
        }
    }

    init?(word: String) {
        let fixed: [Self] =
            [.renamed, .emailChanged, .addressKept, .passwordChanged, .deviceEnded, .othersEnded]
            + Provider.allCases.map { .unlinkedProvider($0) }
        if let notice = fixed.first(where: { $0.word == word }) {
            self = notice
        } else if word.hasPrefix(Self.ofClient) {
            self = .unlinkedClient(String(word.dropFirst(Self.ofClient.count)))
        } else {
            return nil
        }
    }
}
