import Postgres
import TestSupport
import Testing

/// The pages that mail a code, on a real port: what they say to who asks for the mail once more.
@Suite(.fixture(PageServer.self), .timeLimit(.minutes(5))) struct MailedCodeFormTests {
    var server: PageServer { .current }

    @Test(arguments: [
        ("email", "/web/email-code", "signIn"), ("forgot", "/web/forgot", "resetPassword"),
        ("register", "/web/register", "register"),
    ])
    func `who asks again reads when another mail is sent, the same for every address`(
        _ screen: String, _ path: String, _ purpose: String
    ) async throws {
        try await server.register()
        let sentence = "Another mail is on its way if the last one is more than a minute old."
        var pages: Set<String> = []
        for email in [PageServer.person.email, "nobody@example.com"] {
            func mails() async throws -> [Int32] {
                try await server.database.query(
                    "SELECT mails FROM mailed_codes WHERE email = \(email) AND purpose = \(purpose)", as: Int32.self)
            }
            var browser = PageBrowser(server)
            let chooser = try await browser.chooser()
            let page = try await browser.submit(
                chooser, "/web/password", [("email", email), ("password", ""), ("to", screen)])
            let password = screen == "register" ? [("password", PageServer.person.password)] : []
            let sent = try await browser.submit(page, path, [("email", email)] + password)
            #expect(sent.status == 200 && !sent.text.contains(sentence), "\(sent.text)")
            #expect(sent.text.contains(#"<button class="quiet" name="again" value="1">"#))
            // At once, which mails nothing, and after a minute.
            for (seconds, count) in [(0, 1), (61, 2)] as [(Int64, Int32)] {
                server.clock.advance(by: seconds)
                let again = try await browser.submit(sent, path, [("email", email), ("again", "1")])
                #expect(again.status == 200 && again.text.contains(sentence), "\(again.text)")
                #expect(try await mails() == [count])
                pages.insert(
                    again.text.replacing(email, with: "ADDRESS")
                        .replacing(#/(flow=|name="csrf" value=")[\w-]+/#, with: ""))
            }
        }
        #expect(pages.count == 1)
    }
}
