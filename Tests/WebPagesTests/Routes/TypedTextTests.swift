import TestSupport
import Testing

/// What people type or paste into the forms of the pages, on a real port.
@Suite(.fixture(PageServer.self), .timeLimit(.minutes(5))) struct TypedTextTests {
    var server: PageServer { .current }

    @Test func `white space and invisible marks around a typed address do not count, and within it they do`()
        async throws
    {
        try await server.register()
        var browser = PageBrowser(server)
        for typed in [
            "kim@example.com ", "\u{FEFF} kim@example.com\u{2060}",
            "\t\u{202A} kim@example.com\u{202C}\u{A0}\u{200B}\n",
        ] {
            let chooser = try await browser.chooser()
            let wrong = try await browser.submit(
                chooser, "/web/password", [("email", typed), ("password", "a wrong password")])
            #expect(wrong.status == 401 && wrong.text.contains("value=\"kim@example.com\""), "\(wrong.text)")
            for (screen, path) in [
                ("email", "/web/email-code"), ("forgot", "/web/forgot"), ("register", "/web/register"),
            ] {
                let page = try await browser.submit(
                    chooser, "/web/password", [("email", typed), ("password", ""), ("to", screen)])
                #expect(page.text.contains("value=\"kim@example.com\""), "\(page.text)")
                let password = screen == "register" ? [("password", PageServer.person.password)] : []
                let sent = try await browser.submit(page, path, [("email", typed)] + password)
                #expect(sent.status == 200 && sent.text.contains("<bdi>kim@example.com</bdi>"), "\(sent.text)")
            }
            let right = try await browser.submit(
                chooser, "/web/password", [("email", typed), ("password", PageServer.person.password)])
            #expect(right.location?.hasPrefix("\(PageServer.link)?code=") == true, "\(right.text)")
        }
        let chooser = try await browser.chooser()
        for (typed, status) in [
            ("kim @example.com", 401), ("kim\u{200B}@example.com", 401), ("kim\u{7}@example.com", 400), (" ", 401),
        ] {
            let page = try await browser.submit(
                chooser, "/web/password", [("email", typed), ("password", PageServer.person.password)])
            #expect(page.status == status, "\(typed)")
        }
    }

    @Test func `white space that is pasted along with a code does not count, and a control makes it a wrong one`()
        async throws
    {
        try await server.register()
        let email = ("email", PageServer.person.email)
        var browser = PageBrowser(server)
        let chooser = try await browser.chooser()
        let page = try await browser.submit(chooser, "/web/password", [email, ("password", ""), ("to", "email")])
        let sent = try await browser.submit(page, "/web/email-code", [email])
        let code = try await server.mailedCode()
        let wrong = try await browser.submit(sent, "/web/email-code", [email, ("code", "\(code)\u{7}")])
        #expect(wrong.status == 401 && wrong.text.contains(#"name="code""#), "\(wrong.text)")
        let typed = "\t\(code.prefix(3))\t\(code.dropFirst(3))\r\n"
        let right = try await browser.submit(sent, "/web/email-code", [email, ("code", typed)])
        #expect(right.location?.hasPrefix("\(PageServer.link)?code=") == true, "\(right.text)")
    }

    @Test func `a password with a control is a wrong or a weak one`() async throws {
        try await server.register()
        let email = ("email", PageServer.person.email)
        let typed = "\(PageServer.person.password)\t"
        var browser = PageBrowser(server)
        let chooser = try await browser.chooser()
        let wrong = try await browser.submit(chooser, "/web/password", [email, ("password", typed)])
        #expect(wrong.status == 401 && wrong.text.contains(#"autocomplete="current-password""#), "\(wrong.text)")
        for (screen, path, fields) in [
            ("register", "/web/register", [("password", typed)]),
            ("forgot", "/web/forgot", [("code", "123456"), ("newPassword", typed)]),
        ] {
            let page = try await browser.submit(chooser, "/web/password", [email, ("password", ""), ("to", screen)])
            let weak = try await browser.submit(page, path, [email] + fields)
            #expect(weak.status == 400 && weak.text.contains(#"autocomplete="new-password""#), "\(weak.text)")
        }
    }
}
