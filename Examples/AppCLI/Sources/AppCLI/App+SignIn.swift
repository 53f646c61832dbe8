import CountersignClient
import Foundation

extension App {
    func refuseInsecure() async throws {
        report.step("Nobody is signed in, and http is refused but where development allows it")
        try report.expect(await client.canAuthorize, false, "no session at first")
        try report.expect(await state(), .signedOut, "observers see that nobody is signed in")
        let strict = SignInClient(baseURL: service, store: InMemorySessionStore())
        try await report.expect(SessionError.insecureRequest, "a client without the switch sends nothing by http") {
            () async throws(SessionError) in _ = try await strict.makeNonce(for: .apple)
        }
    }

    func signInWithApple() async throws {
        report.step("A new person signs in with Apple: a ticket, and an account once they choose so")
        try await sandbox.addPerson(person, email: email)
        var name = PersonNameComponents()
        (name.givenName, name.familyName) = ("Kim", "Example")
        let nonce = try await client.makeNonce(for: .apple)
        let given = try await sandbox.apple(person, options.appleClient, nonce: nonce.hashedValue)
        let ticket = try linkTicket(
            try await client.signIn(
                apple: AppleCredential(
                    identityToken: given.identityToken, authorizationCode: given.authorizationCode, nonce: nonce.value,
                    fullName: name)))
        try report.expect(ticket.choices, [.create, .bind], "to create an account is the first choice")
        try report.expect(ticket.provider, .apple, "the ticket is Apple's")
        try report.expect(await client.canAuthorize, false, "a ticket is no session")

        let account = try await client.create(ticket)
        accountID = account.id
        try report.expect(account.email, email, "the account has the address that Apple has verified")
        try report.expect(account.displayName, "Kim Example", "and the name that Apple gives once")
        try report.expect(await state(), .signedIn(accountID: account.id), "observers see the account")

        let again = try await sandbox.apple(person, options.appleClient)
        let known = try signedIn(try await client.signIn(apple: AppleCredential(identityToken: again.identityToken)))
        try report.expect(known.id, accountID, "the next sign-in is the same account at once")
    }

    func signInWithGoogle() async throws {
        report.step("Google proves the same mailbox: the ticket shows whose account it is, and binds to it")
        let nonce = try await client.makeNonce(for: .google)
        let given = try await sandbox.google(person, options.googleClient, nonce: nonce.value)
        let ticket = try linkTicket(
            try await client.signIn(
                google: GoogleCredential(
                    idToken: given.idToken, serverAuthCode: given.serverAuthCode, nonce: nonce.value)))
        try report.expect(ticket.choices.first, .bind, "to bind is the first choice")
        try report.expect(ticket.holder?.providers, [.apple], "the holder is entered by Apple")
        try report.expect(ticket.holder?.identities.count, 1, "this ticket proves the mailbox, so identities are shown")
        try report.expect(ticket.provesHolder, true, "and it needs no other proof")
        try report.expect(await client.canAuthorize, true, "the session from before is left alone")

        guard case .signedIn(let account) = try await client.bind(ticket, proof: .ticket) else {
            throw Mismatch("the ticket did not bind")
        }
        try report.expect(account.id, accountID, "one account")
        try report.expect(Set(account.identities.map(\.provider)), [.apple, .google], "with two identities")
        try report.expect(account.emailProof, .proven, "whose address is proven now")
        try await report.expect(
            SessionError.refused(code: "link_ticket_expired", status: 410), "a ticket is good once"
        ) { () async throws(SessionError) in _ = try await client.bind(ticket, proof: .ticket) }
    }

    func signOut() async throws {
        report.step("Sign out")
        try await client.signOut()
        try report.expect(await client.canAuthorize, false, "the session is forgotten")
        try report.expect(await state(), .signedOut, "observers see it")
        try await report.expect(SessionError.noSession, "calls ask for a sign-in") { () async throws(SessionError) in
            _ = try await client.account()
        }
        let next = try Self.client(service, folder: options.folder)
        try report.expect(await next.canAuthorize, false, "nothing is left in the file")
    }
}
