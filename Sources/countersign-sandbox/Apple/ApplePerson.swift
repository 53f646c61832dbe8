struct ApplePerson: ProviderPerson {
    let name: String
    var email: String?
    /// Whether the person chose "Hide My Email": every team sees a relay address of its own.
    var hidesEmail = false
    /// The choices made on Apple's page, by team; `hidesEmail` holds for the others.
    private var choicesToHide: [String: Bool] = [:]
    var emailVerified = true
    /// Whether a school or company manages the account.
    var isManaged = false
    var givenName: String?
    var familyName: String?
    /// 0 unsupported, 1 unknown, 2 likely real.
    var realUserStatus: Int64 = 2
    /// Subjects that a test has chosen, by team; every other team's is derived.
    var subjects: [String: String] = [:]

    init(name: String) { self.name = name }

    mutating func update(_ members: ControlMembers) {
        members.change(&email, "email")
        if let hides = members.optionalFlag("hidesEmail") {
            hidesEmail = hides
            choicesToHide = [:]
        }
        emailVerified = members.flag("emailVerified", else: emailVerified)
        isManaged = members.flag("managed", else: isManaged)
        members.change(&givenName, "givenName")
        members.change(&familyName, "familyName")
        realUserStatus = members.optionalInteger("realUserStatus", in: 0...2) ?? realUserStatus
        for (team, subject) in members.textObject("subjects") { subjects[team] = subject }
    }

    /// The subject that this team knows the person by: six digits, 32 hexadecimal ones and four digits, as Apple's are.
    func subject(team: String, seed: Seed) -> String {
        if let chosen = subjects[team] { return chosen }
        return "00" + seed.digits(4, for: "apple.sub.head", name, team) + "."
            + seed.hexadecimal(32, for: "apple.sub.body", name, team) + "."
            + seed.digits(4, for: "apple.sub.tail", name)
    }

    func hidesEmail(from team: String) -> Bool { choicesToHide[team] ?? hidesEmail }

    mutating func choose(toHide hides: Bool, from team: String) { choicesToHide[team] = hides }

    /// The address that this team sees: the relay's, the real one or none.
    func address(team: String, seed: Seed) -> String? {
        guard hidesEmail(from: team) else { return email }
        return seed.lowercase(10, for: "apple.relay", name, team) + "@privaterelay.appleid.com"
    }
}
