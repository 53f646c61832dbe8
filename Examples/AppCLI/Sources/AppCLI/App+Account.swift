import CountersignClient
import Foundation

extension App {
    func manageAccount() async throws {
        report.step("The person looks after the account")
        try report.expect(try await client.setDisplayName("Kim").displayName, "Kim", "it is renamed")
        guard let apple = try await client.account().identities.first(where: { $0.provider == .apple }) else {
            throw Mismatch("Apple is not linked")
        }
        try await client.unlink(identity: apple.id)
        try report.expect(
            try await client.account().identities.map(\.provider), [.google],
            "Apple is unlinked, and the session goes on")
        let again = try await sandbox.apple(person, options.appleClient)
        let linked = try await client.link(
            apple: AppleCredential(identityToken: again.identityToken, authorizationCode: again.authorizationCode))
        try report.expect(Set(linked.identities.map(\.provider)), [.apple, .google], "and linked again")
        try report.expect(
            String(decoding: try await client.exportAccount(), as: UTF8.self).contains(accountID), true,
            "everything that is stored can be had as a file")
        if options.flip != nil {
            guard let service = try await client.linkedServices().first else { throw Mismatch("no service is linked") }
            try report.expect(service.name, "Google", "Google is linked to the account")
            try await client.unlink(service: service.id)
            try report.expect(try await client.linkedServices().count, 0, "and unlinked")
        }
    }

    func deleteAccount() async throws {
        report.step("The person deletes the account")
        let given = try await sandbox.google(person, options.googleClient)
        _ = try signedIn(try await client.signIn(google: GoogleCredential(idToken: given.idToken)))
        try await client.deleteAccount()
        try report.expect(await state(), .signedOut, "observers see that nobody is signed in")
        let next = try Self.client(service, folder: options.folder)
        try report.expect(await next.canAuthorize, false, "nothing is left in the file")
        let again = try await sandbox.google(person, options.googleClient)
        let ticket = try linkTicket(try await client.signIn(google: GoogleCredential(idToken: again.idToken)))
        await client.cancel(ticket)
        try report.expect(ticket.choices.first, .create, "who comes back is new")
    }
}
