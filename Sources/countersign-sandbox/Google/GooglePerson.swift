import JOSE

/// A person with a Google Account.
struct GooglePerson: Sendable {
    /// The name that tests and developers use for the person; no token has it.
    let name: String
    var email: String?
    var emailVerified = true
    /// The Workspace or Cloud domain that hosts the account.
    var hostedDomain: String?
    var givenName: String?
    var familyName: String?
    var picture: String?
    /// The subject that a test has chosen; nil derives one.
    var chosenSubject: String?

    static let memberNames = [
        "name", "email", "emailVerified", "hostedDomain", "givenName", "familyName", "picture", "subject",
    ]

    init(name: String) {
        self.name = name
    }

    /// Applies the members that are present; the others stay unchanged.
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
