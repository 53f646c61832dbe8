import JSON
import Postgres
import TestSupport
import Testing

/// An account, as its owner sees it.
struct OwnAccount: Sendable {
    let id: String
    let email: String?
    /// `claimed`, `stated` or `proven`
    let emailProof: String?
    let emailTakenAt: String?
    let createdAt: String
    let hasPassword: Bool
    /// The providers of its identities, the oldest first.
    let providers: [String]

    init(_ json: JSONValue?, _ location: SourceLocation = #_sourceLocation) throws {
        let json = try #require(json, sourceLocation: location)
        id = try #require(json["accountId"]?.string, sourceLocation: location)
        email = json["email"]?.string
        emailProof = json["emailProof"]?.string
        emailTakenAt = json["emailTakenAt"]?.string
        createdAt = try #require(json["createdAt"]?.string, sourceLocation: location)
        hasPassword = try #require(json["hasPassword"]?.bool as Bool?, sourceLocation: location)
        providers = (json["identities"]?.elements ?? []).compactMap { $0["provider"]?.string }
        #expect(json["status"]?.string == "active", sourceLocation: location)
        #expect(
            json["emailVerified"]?.bool == (emailProof == "stated" || emailProof == "proven"), sourceLocation: location)
    }
}

/// A device that is signed in (`signedIn`).
struct SignedInDevice: Sendable {
    let account: OwnAccount
    /// The provider of the identity that opened the session; `nil` for a password and a mailed code.
    let provider: String?
    let bearer: String

    init(_ answer: Answer, status: Int = 200, _ location: SourceLocation = #_sourceLocation) throws {
        #expect(answer.status == status, "\(answer.text)", sourceLocation: location)
        #expect(answer.json?["status"]?.string == "signedIn", "\(answer.text)", sourceLocation: location)
        account = try OwnAccount(answer.json?["account"], location)
        provider = answer.json?["identity"]?["provider"]?.string
        bearer = try answer.bearer(location)
    }
}

/// The question that somebody is asked whom the service does not know (`linkRequired`).
struct Question: Sendable {
    /// What the person is shown of the account that has their address.
    struct Holder: Hashable, Sendable {
        let providers: [String]
        var createdAt: String?
        /// Each as `apple k***@example.com`; `nil` when they are not shown.
        var identities: [String]?

        /// What is shown of the account on a device, which has this identity alone.
        static func on(_ device: SignedInDevice, _ identity: String) -> Self {
            Self(
                providers: [String(identity.prefix { $0 != " " })], createdAt: device.account.createdAt,
                identities: [identity])
        }
    }

    let ticket: String
    /// What the person came with: `apple`, `google`, or `email` for a mailed code.
    let method: String
    let email: String?
    /// In the order in which the service suggests them.
    let choices: [String]
    /// `nil` when the person is shown no account.
    let holder: Holder?

    init(_ answer: Answer, _ location: SourceLocation = #_sourceLocation) throws {
        #expect(answer.status == 200, "\(answer.text)", sourceLocation: location)
        #expect(answer.json?["status"]?.string == "linkRequired", "\(answer.text)", sourceLocation: location)
        ticket = try answer.linkTicket(location)
        method = try answer.text("identity.provider", location)
        email = answer.json?["identity"]?["email"]?.string
        choices = (answer.json?["choices"]?.elements ?? []).compactMap(\.string)
        holder = answer.json?["holder"].map { shown in
            Holder(
                providers: (shown["providers"]?.elements ?? []).compactMap(\.string),
                createdAt: shown["createdAt"]?.string,
                identities: shown["identities"]?.elements?.map {
                    "\($0["provider"]?.string ?? "") \($0["email"]?.string ?? "")"
                })
        }
    }
}

/// What people do in the stories.
extension World {
    /// The password of people who have one.
    static let password = "correct horse battery"

    /// Somebody makes an account by an address that nobody has proven, and a password.
    func register(_ email: String, password: String = Self.password) async throws -> Answer {
        try await service.post("/v1/accounts", ["email": .string(email), "password": .string(password)])
    }

    /// The person types the code that is mailed to the address of their account.
    func verify(_ email: String, bearer: String, _ location: SourceLocation = #_sourceLocation) async throws {
        let code = try await mailedCode("verifyEmail", to: email)
        try await service.verifyEmail(code, bearer: bearer).expecting(204, sourceLocation: location)
    }

    func openAppleAccount(_ person: String, email: String) async throws {
        let members: TokenMint.Members = ["email": .string(email)]
        try await sandbox.addApplePerson(person, members.text)
    }

    /// - Parameter workspace: the domain whose Google Workspace has the account; `nil` for an account that its owner opened.
    func openGoogleAccount(_ person: String, email: String, workspace: String? = nil) async throws {
        let members: TokenMint.Members = ["email": .string(email)]
        try await sandbox.addGooglePerson(person, members.with("hostedDomain", workspace.map { .string($0) }).text)
    }

    /// The person taps the provider's button.
    func signIn(_ person: String, with provider: Sandbox.Provider) async throws -> Answer {
        switch provider {
        case .apple: return try await service.signInWithApple(try await appleToken(person))
        case .google: return try await service.signInWithGoogle(try await googleToken(person))
        }
    }

    /// The person has a code mailed to them, and types it.
    func signIn(byCodeTo email: String) async throws -> Answer {
        try await signIn(email, code: try await mailedCode("signIn", to: email))
    }

    func signIn(_ email: String, code: String) async throws -> Answer {
        try await service.post("/v1/sign-in/email-code", ["email": .string(email), "code": .string(code)])
    }

    func signIn(_ email: String, password: String) async throws -> Answer {
        try await service.post("/v1/sign-in/password", ["email": .string(email), "password": .string(password)])
    }

    /// The person chooses to make an account.
    func create(for question: Question, password: String? = nil) async throws -> Answer {
        let members: TokenMint.Members = ["linkTicket": .string(question.ticket)]
        return try await service.post("/v1/links/create", members.with("password", password.map { .string($0) }))
    }

    /// The person chooses the account that there is.
    ///
    /// - Parameters:
    ///   - proof: the members that prove it; none where the ticket does, or the session of `device`.
    ///   - device: one that is signed in to the account.
    func bind(
        for question: Question, proof: TokenMint.Members = [:], on device: SignedInDevice? = nil
    ) async throws -> Answer {
        let members = proof.with("linkTicket", .string(question.ticket))
        return try await service.post("/v1/links/bind", members, bearer: device?.bearer)
    }

    /// An account of somebody new, made by the provider's button.
    func newAccount(
        _ person: String, with provider: Sandbox.Provider, _ location: SourceLocation = #_sourceLocation
    ) async throws -> SignedInDevice {
        let question = try Question(try await signIn(person, with: provider), location)
        return try SignedInDevice(try await create(for: question), status: 201, location)
    }

    /// The same for a person whom no provider knew before.
    @discardableResult
    func newAccount(
        ofNew person: String, email: String? = nil, with provider: Sandbox.Provider,
        _ location: SourceLocation = #_sourceLocation
    ) async throws -> SignedInDevice {
        try await newPerson(person, email: email)
        return try await newAccount(person, with: provider, location)
    }

    func account(on device: SignedInDevice, _ location: SourceLocation = #_sourceLocation) async throws -> OwnAccount {
        let answer = try await service.get("/v1/account", bearer: device.bearer)
        return try OwnAccount(answer.expecting(200, sourceLocation: location).json, location)
    }

    /// The number of accounts that have an address or an identity with it.
    func countAccounts(with email: String) async throws -> Int64 {
        try await count(
            """
            SELECT count(*) FROM accounts a
            WHERE a.email = \(email)
                OR EXISTS (SELECT FROM identities i WHERE i.account_id = a.account_id AND i.email = \(email))
            """)
    }

    // MARK: Mail

    /// Waits for a mail with these words in its subject.
    func mail(about words: String, to email: String) async throws -> MailServer.Message {
        var found: MailServer.Message?
        try await eventually("mail about “\(words)” to \(email)") {
            found = try mailbox(email).first { $0.header("Subject")?.contains(words) == true }
            return found != nil
        }
        return try #require(found)
    }

    /// The subjects of everything that has been mailed to an address that an account has. Works once for an address
    /// that no sign-in code was asked for: that code is mailed last, so everything else has arrived before.
    func subjects(mailedTo email: String) async throws -> [String] {
        try await eventually("an empty outbox") {
            try await count("SELECT count(*) FROM outbox WHERE recipient = \(email)") == 0
        }
        _ = try await mailedCode("signIn", to: email)
        return try mailbox(email).compactMap { $0.header("Subject") }
    }
}
