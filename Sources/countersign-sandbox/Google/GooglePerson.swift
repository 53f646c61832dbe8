import JOSE

/// Somebody with a Google Account.
struct GooglePerson: Sendable {
    /// What tests and developers call this person; Google never shows it.
    let name: String
    var email: String?
    var emailVerified = true
    /// The Workspace or Cloud domain that hosts the account.
    var hostedDomain: String?
    var givenName: String?
    var familyName: String?
    var picture: String?
    /// A subject that a test wants to choose; else it is derived.
    var chosenSubject: String?

    static let memberNames = [
        "name", "email", "emailVerified", "hostedDomain", "givenName", "familyName", "picture", "subject",
    ]

    init(name: String) {
        self.name = name
    }

    /// Takes over the members that are there; the others stay as they are.
    mutating func update(_ members: ControlMembers) throws(ControlRefusal) {
        try members.change(&email, "email")
        emailVerified = try members.flag("emailVerified", else: emailVerified)
        try members.change(&hostedDomain, "hostedDomain")
        try members.change(&givenName, "givenName")
        try members.change(&familyName, "familyName")
        try members.change(&picture, "picture")
        try members.change(&chosenSubject, "subject")
    }

    /// Twenty-one digits, as Google's are.
    func subject(seed: Seed) -> String {
        chosenSubject ?? "1" + seed.digits(20, for: "google.sub", name)
    }

    var displayName: String? {
        let parts = [givenName, familyName].compactMap { $0 }
        return parts.isEmpty ? nil : parts.joined(separator: " ")
    }
}
