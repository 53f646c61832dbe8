/// The transfer of an app from one team to another.
struct AppleTransfer: Sendable {
    /// Seconds from the recipient's acceptance in which users can be migrated: sixty days. Later the new subjects can't
    /// be looked up.
    static let window: Int64 = 60 * 86_400

    let clientID: String
    let fromTeam: String
    let toTeam: String
    let acceptedAt: Int64
    /// The persons who used the app at that moment; only they can be migrated.
    let persons: Set<String>

    var endsAt: Int64 { acceptedAt + Self.window }

    var json: JSONObject {
        [
            "clientId": clientID, "fromTeam": fromTeam, "toTeam": toTeam, "acceptedAt": Timestamp.text(acceptedAt),
            "endsAt": Timestamp.text(endsAt), "persons": persons.sorted(),
        ]
    }

    func isOpen(at now: Int64) -> Bool { now < endsAt }

    /// The transfer identifier: always the same for a person and recipient.
    static func subject(of person: String, to team: String, seed: Seed) -> String {
        "76" + seed.digits(4, for: "apple.transfer.head", person, team) + "."
            + seed.hexadecimal(32, for: "apple.transfer.body", person, team) + "."
            + seed.digits(4, for: "apple.transfer.tail", person, team)
    }
}
