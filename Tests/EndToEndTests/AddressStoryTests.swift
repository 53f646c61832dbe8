import Foundation
import TestSupport
import Testing

/// What becomes of people who come back by another button, lose a way in, or get an address that somebody else had, as
/// they see it. The rules are those of docs/linking.md, "Who has an address".
@Suite(.limitedConcurrency, .mailedWorld(["limits.mailPerAddress": "0"]), .timeLimit(.minutes(30)))
struct AddressStoryTests: WorldSuite {
    // MARK: The same person by two buttons

    @Test
    func `with a company's address and a Google account of one's own, a code from the mailbox makes it one account`()
        async throws
    {
        let email = "sam@company.example"
        try await world.openAppleAccount("sam", email: email)
        try await world.openGoogleAccount("sam", email: email)

        // Google does not run this mailbox either: Sam is shown by what button the account is entered, and no more.
        let phone = try await world.newAccount("sam", with: .apple)
        let question = try Question(try await world.signIn("sam", with: .google))
        #expect(question.choices == ["bind", "create"])
        #expect(question.holder == .init(providers: ["apple"]))
        try await world.bind(for: question).expectRefusal(400, "invalid_request")

        // The code proves the mailbox: now Sam sees who is in the account, and the same call again is the answer.
        let code = try await world.mailedCode("bind", to: email, ticket: question.ticket)
        let proof: TokenMint.Members = ["email": .string(email), "emailCode": .string(code)]
        let shown = try Question(try await world.bind(for: question, proof: proof))
        #expect(shown.ticket == question.ticket)
        #expect(shown.method == "google")
        #expect(shown.choices == ["bind", "create"])
        #expect(shown.holder == .on(phone, "apple s***@company.example"))
        #expect(try await world.account(on: phone).providers == ["apple"])
        let laptop = try SignedInDevice(try await world.bind(for: question, proof: proof))
        #expect(laptop.account.id == phone.account.id)
        #expect(laptop.account.emailProof == "proven")
        #expect(laptop.account.providers == ["apple", "google"])
        #expect(try await world.countAccounts(with: email) == 1)
    }

    // MARK: A mailbox that changes hands

    @Test
    func `who buys a domain begins with an account of their own, and the former owner is mailed elsewhere`()
        async throws
    {
        let (email, elsewhere) = ("me@sold.example", "former.owner@gmail.com")
        try await world.openAppleAccount("former-owner", email: email)
        try await world.openGoogleAccount("former-owner", email: elsewhere)
        let phone = try await world.newAccount("former-owner", with: .apple)
        let added = try Question(try await world.signIn("former-owner", with: .google))
        let laptop = try SignedInDevice(try await world.bind(for: added, on: phone))
        #expect(laptop.account.email == email)

        try await world.openGoogleAccount("buyer", email: email, workspace: "sold.example")
        let question = try Question(try await world.signIn("buyer", with: .google))
        #expect(question.choices == ["bind", "create"])
        #expect(question.holder?.identities == ["apple m***@sold.example", "google f***@gmail.com"])
        let buyer = try SignedInDevice(try await world.create(for: question), status: 201)
        #expect(buyer.account.id != phone.account.id)
        #expect(buyer.account.email == email)
        #expect(buyer.account.providers == ["google"])

        // The former owner hears of it where the buyer does not read along, and has lost nothing but the address.
        _ = try await world.mail(about: "has no email address any more", to: elsewhere)
        let subjects = try await world.subjects(mailedTo: email)
        #expect(subjects.contains { $0.contains("Your address is now used") })
        #expect(!subjects.contains { $0.contains("has no email address any more") })
        let kept = try await world.account(on: phone)
        #expect(kept.id == phone.account.id)
        #expect(kept.email == nil)
        #expect(kept.emailTakenAt != nil)
        for provider in Sandbox.Provider.allCases {
            let device = try SignedInDevice(try await world.signIn("former-owner", with: provider))
            #expect(device.account.id == phone.account.id)
        }
    }

    @Test
    func `who reads the mailbox and doesn't know the account begins with one of their own, with a password`()
        async throws
    {
        let email = "lou@passed-on.example"
        try await world.openAppleAccount("lou", email: email)
        let phone = try await world.newAccount("lou", with: .apple)

        let question = try Question(try await world.signIn(byCodeTo: email))
        #expect(question.method == "email" && question.email == email)
        #expect(question.holder?.identities == ["apple l***@passed-on.example"])
        let weak = try await world.create(for: question, password: "short")
        weak.expectRefusal(400, "weak_password")
        let reader = try SignedInDevice(try await world.create(for: question, password: World.password), status: 201)
        #expect(reader.account.id != phone.account.id)
        #expect(reader.account.email == email)
        #expect(reader.account.emailProof == "proven")
        #expect(reader.account.hasPassword)
        #expect(reader.account.providers.isEmpty && reader.provider == nil)
        #expect(
            try SignedInDevice(try await world.signIn(email, password: World.password)).account.id
                == reader.account.id)

        // Whose Apple ID it is keeps what they had, but for the address.
        let back = try SignedInDevice(try await world.signIn("lou", with: .apple))
        #expect(back.account.id == phone.account.id)
        #expect(back.account.email == nil)
        #expect(back.account.emailTakenAt != nil)
    }

    // MARK: After the mailbox was proven

    @Test
    func `what was in the account before its mailbox was proven is mailed when it signs in next, once`() async throws {
        let email = "quinn.before@gmail.com"
        try await world.openAppleAccount("quinn", email: email)
        try await world.openGoogleAccount("quinn", email: email)
        // A token of a minute ago, which somebody has kept.
        let minuteAgo = Int64(Date.now.timeIntervalSince1970) - 60
        let kept = try await world.appleToken(
            "quinn", .init(claims: #"{"iat":\#(minuteAgo),"auth_time":\#(minuteAgo),"exp":\#(minuteAgo + 3600)}"#))
        let asked = try Question(try await service.signInWithApple(kept))
        let phone = try SignedInDevice(try await world.create(for: asked), status: 201)
        let question = try Question(try await world.signIn("quinn", with: .google))
        let laptop = try SignedInDevice(try await world.bind(for: question))
        #expect(laptop.account.id == phone.account.id)

        try await service.signInWithApple(kept).expectRefusal(401, "invalid_token")
        #expect(try await service.get("/v1/account", bearer: phone.bearer).code == "invalid_session")
        for _ in 1...2 {
            let device = try SignedInDevice(try await world.signIn("quinn", with: .apple))
            #expect(device.account.id == phone.account.id)
            // The mailbox's owner came with Google, and needs no mail about that.
            _ = try SignedInDevice(try await world.signIn("quinn", with: .google))
        }
        let subjects = try await world.subjects(mailedTo: email)
        let notices = subjects.filter { $0.contains("Somebody signed in to your") }
        #expect(notices.count == 1 && notices.allSatisfy { $0.hasSuffix("with Apple") }, "\(notices)")
    }
}
