struct GooglePerson: ProviderPerson {
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

    init(name: String) { self.name = name }

    mutating func update(_ members: ControlMembers) {
        members.change(&email, "email")
        emailVerified = members.flag("emailVerified", else: emailVerified)
        members.change(&hostedDomain, "hostedDomain")
        members.change(&givenName, "givenName")
        members.change(&familyName, "familyName")
        members.change(&picture, "picture")
        members.change(&chosenSubject, "subject")
    }

    /// Twenty-one digits, as Google's are.
    func subject(seed: Seed) -> String { chosenSubject ?? "1" + seed.digits(20, for: "google.sub", name) }

    /// The claims of the scope `profile`.
    var profile: JSONObject {
        ["name": displayName, "picture": picture, "given_name": givenName, "family_name": familyName]
    }
}
