/// An app on its way from one team to another.
struct AppleTransfer: Sendable {
    /// Sixty days from the recipient's acceptance; what nobody has translated by then stays lost.
    static let window: Int64 = 60 * 86_400

    let clientID: String
    let fromTeam: String
    let toTeam: String
    let acceptedAt: Int64
    /// Who used the app at that moment; only they have anything to carry over.
    let persons: Set<String>

    var endsAt: Int64 { acceptedAt + Self.window }

    func isOpen(at now: Int64) -> Bool { now < endsAt }

    /// One for each person and recipient, whoever asks and however often.
    static func subject(of person: String, to team: String, seed: Seed) -> String {
        "76" + seed.digits(4, for: "apple.transfer.head", person, team) + "."
            + seed.hexadecimal(32, for: "apple.transfer.body", person, team) + "."
            + seed.digits(4, for: "apple.transfer.tail", person, team)
    }
}
