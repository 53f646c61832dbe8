import TestSupport
import Testing

/// An account whose address is of one of the three degrees, and a device that is signed in to it.
struct DegreeHolder: Sendable {
    enum Degree: String, CaseIterable, Sendable {
        case claimed
        case stated
        case proven
    }

    static let password = "correct horse battery"

    let degree: Degree
    let email: String
    let device: SignedInDevice
    /// How many codes have been mailed to it; other mail comes besides.
    var mailedCodes: Int { degree == .proven ? 1 : 0 }
}

extension World {
    /// - Parameter name: of the person at the providers, whom no other test uses.
    func holder(_ degree: DegreeHolder.Degree, _ name: String, email: String) async throws -> DegreeHolder {
        let device: SignedInDevice
        switch degree {
        case .stated:
            // Apple does not run the mailbox.
            try await openAppleAccount(name, email: email)
            device = try await newAccount(name, with: .apple)
            let set = try await service.send(
                "PUT", "/v1/account/password", ["newPassword": .string(DegreeHolder.password)], bearer: device.bearer)
            #expect(set.status == 204)
        case .claimed, .proven:
            device = try SignedInDevice(
                try await service.post(
                    "/v1/accounts", ["email": .string(email), "password": .string(DegreeHolder.password)]),
                status: 201)
            guard degree == .proven else { break }
            let code = try await mailedCode("verifyEmail", to: email)
            let verified = try await service.post(
                "/v1/account/verify-email", ["code": .string(code)], bearer: device.bearer)
            #expect(verified.status == 204)
        }
        #expect(try await account(on: device).emailProof == degree.rawValue)
        return DegreeHolder(degree: degree, email: email, device: device)
    }
}

/// The four ways to prove an account to *bind* to, in each degree of its address, for somebody whose provider states the
/// same address and does not run the mailbox.
@Suite(.limitedConcurrency, .mailedWorld(["limits.mailPerAddress": "0"]), .timeLimit(.minutes(5)))
struct BindProofTests {
    var world: World { .current }

    /// The holder, and the question that somebody new is asked.
    private func arrival(
        at degree: DegreeHolder.Degree, _ name: String, workspace: String? = nil
    ) async throws -> (holder: DegreeHolder, question: Question) {
        let email = "\(name)@company.example"
        let holder = try await world.holder(degree, name, email: email)
        try await world.openGoogleAccount(name, email: email, workspace: workspace)
        return (holder, try Question(try await world.signIn(name, with: .google)))
    }

    private func expectSignedIn(
        _ answer: Answer, to holder: DegreeHolder, _ proof: String, _ location: SourceLocation = #_sourceLocation
    ) throws {
        let device = try SignedInDevice(answer, location)
        #expect(device.account.id == holder.device.account.id, sourceLocation: location)
        #expect(device.account.emailProof == proof, sourceLocation: location)
        #expect(device.provider == "google", sourceLocation: location)
    }

    private func isLive(_ holder: DegreeHolder) async throws -> Bool {
        try await world.service.get("/v1/account", bearer: holder.device.bearer).status == 200
    }

    @Test(arguments: DegreeHolder.Degree.allCases)
    func `a session of the account binds`(_ degree: DegreeHolder.Degree) async throws {
        let (holder, question) = try await arrival(at: degree, "session-\(degree)")
        let answer = try await world.bind(for: question, on: holder.device)
        // The identity is in the account now, and knows its address better than the one who typed it.
        try expectSignedIn(answer, to: holder, degree == .proven ? "proven" : "stated")
        #expect(try await isLive(holder))
    }

    @Test(arguments: DegreeHolder.Degree.allCases)
    func `the account's password binds`(_ degree: DegreeHolder.Degree) async throws {
        let (holder, question) = try await arrival(at: degree, "password-\(degree)")
        let answer = try await world.bind(
            for: question, proof: ["email": .string(holder.email), "password": .string(DegreeHolder.password)])
        try expectSignedIn(answer, to: holder, degree == .proven ? "proven" : "stated")
        #expect(try await isLive(holder))
    }

    @Test(arguments: [DegreeHolder.Degree.claimed, .proven])
    func `a mailed code binds`(_ degree: DegreeHolder.Degree) async throws {
        let (holder, question) = try await arrival(at: degree, "code-\(degree)")
        let code = try await world.mailedCode("bind", to: holder.email, ticket: question.ticket)
        let answer = try await world.bind(
            for: question, proof: ["email": .string(holder.email), "emailCode": .string(code)])
        try expectSignedIn(answer, to: holder, "proven")
        // Who only typed the address is out.
        #expect(try await isLive(holder) == (degree == .proven))
    }

    /// The holder is shown to who has typed the code.
    private func shownQuestion(
        _ name: String
    ) async throws -> (holder: DegreeHolder, question: Question, code: TokenMint.Members) {
        let (holder, question) = try await arrival(at: .stated, name)
        #expect(question.choices == ["bind", "create"])
        #expect(question.holder == .init(providers: ["apple"]))
        let code = try await world.mailedCode("bind", to: holder.email, ticket: question.ticket)
        let proof: TokenMint.Members = ["email": .string(holder.email), "emailCode": .string(code)]
        let shown = try Question(try await world.bind(for: question, proof: proof))
        #expect(shown.ticket == question.ticket)
        #expect(shown.method == "google")
        #expect(shown.choices == ["bind", "create"])
        #expect(shown.holder?.providers == ["apple"])
        #expect(shown.holder?.identities == ["apple \(name.prefix(1))***@company.example"])
        #expect(try await isLive(holder))
        return (holder, shown, proof)
    }

    @Test func `a mailed code shows a stated account, and from then on the ticket binds alone`() async throws {
        let (holder, question, code) = try await shownQuestion("shown")
        try expectSignedIn(try await world.bind(for: question), to: holder, "proven")
        #expect(try await !isLive(holder))
        for proof in [[:], code] {
            #expect(try await world.bind(for: question, proof: proof).code == "link_ticket_expired")
        }
    }

    @Test func `a mailed code that comes again binds too`() async throws {
        let (holder, question, code) = try await shownQuestion("again")
        try expectSignedIn(try await world.bind(for: question, proof: code), to: holder, "proven")
        #expect(try await !isLive(holder))
    }

    @Test func `who has been shown a stated account that isn't theirs makes one, with the address`() async throws {
        let (holder, question, _) = try await shownQuestion("mine")
        let own = try SignedInDevice(try await world.create(for: question), status: 201)
        #expect(own.account.id != holder.device.account.id)
        #expect(own.account.email == holder.email)
        #expect(own.account.emailProof == "proven")
        let former = try await world.account(on: holder.device)
        #expect(former.email == nil)
        #expect(former.emailTakenAt != nil)
    }

    @Test func `a ticket of the provider that runs the mailbox shows a stated account, and binds alone`() async throws {
        let (holder, question) = try await arrival(at: .stated, "workspace", workspace: "company.example")
        #expect(question.holder?.identities == ["apple w***@company.example"])
        try expectSignedIn(try await world.bind(for: question), to: holder, "proven")
        #expect(try await !isLive(holder))
    }

    @Test(arguments: DegreeHolder.Degree.allCases)
    func `a ticket that has shown no account binds to none alone, and stays good`(
        _ degree: DegreeHolder.Degree
    ) async throws {
        let (holder, question) = try await arrival(at: degree, "ticket-\(degree)")
        let refused = try await world.bind(for: question)
        #expect(refused.status == 400)
        #expect(refused.code == "invalid_request")
        #expect(try await isLive(holder))
        let answer = try await world.bind(for: question, on: holder.device)
        #expect(try SignedInDevice(answer).account.id == holder.device.account.id)
    }
}
