import Postgres
import TestSupport
import Testing

/// What keeps registration from being used up: its limits, each in a world that has them small; and where it is not there.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct RegistrationLimitTests: WorldSuite {
    @Test(.webWorld(["limits.mailPerAddress": "1/h"]))
    func `an address to which too much was mailed is answered as ever, held or not, and mailed nothing`() async throws {
        try await world.claim("claimer@example.com")
        var pages: [String] = []
        for email in ["claimer@example.com", "newcomer@example.com"] {
            let browser = world.browser()
            for _ in 0..<2 {
                let page = try await browser.register(email)
                #expect(page.html.text.contains("If too many codes were asked for at this address, no new one"))
                pages.append(try page.body(without: email))
            }
            #expect(try await world.mail(1, to: email).recipients == [email])
        }
        #expect(Set(pages).count == 1)
        #expect(try await world.count("SELECT count(*) FROM mailed_codes") == 2)
        try await eventually("the refusals in the trail") {
            try await world.count(
                """
                SELECT COALESCE(sum(occurrences), 0) FROM audit_events
                WHERE type = 'rate_limited' AND reason = 'mailPerAddress'
                """) == 2
        }
        #expect(try await service.metric("countersign_limit_refusals_total", #"limit="mailPerAddress""#) == 2)
        for email in ["claimer@example.com", "newcomer@example.com"] { #expect(try world.mailbox(email).count == 1) }
    }

    @Test(.webWorld(["limits.registrationPerNetwork": "1/h"]))
    func `a network begins as many registrations as it may`() async throws {
        let browser = world.browser()
        try await browser.register("first@example.com")
        let neighbour = world.browser(address: browser.address)
        let page = try await neighbour.open(Browser.registration)
        let refused = try await neighbour.fillIn("second@example.com", name: "Kim", on: page).expecting(429)
        #expect(refused.answer["Retry-After"].flatMap(Int.init).map { (3000...3600).contains($0) } == true)
        let form = try refused.form("/web/register")
        #expect(form.input("email")?.value == "second@example.com")
        #expect(form.input("name")?.value == "Kim")
        #expect(try await world.count("SELECT count(*) FROM web_registrations") == 1)
        // A weak password costs nothing, and another network is another's.
        let weak = try await neighbour.submit(
            form, on: refused, typed: ["email": "second@example.com", "password": "password"])
        #expect(weak.status == 400)
        try await world.browser().register("second@example.com")
        _ = try await world.code(1, mailedTo: "second@example.com")
    }

    @Test func `where no mail is sent there is neither page, nor a way to one`() async throws {
        try await WebWorld.run(["mail.smtpUrl": Countersign.unset, "mail.from": Countersign.unset]) { world in
            let browser = world.browser()
            let chooser = try await browser.openAccount()
            let password = try chooser.form("/web/password")
            let query = password.action.drop { $0 != "?" }
            for word in ["register", "forgot"] {
                let path = "/web/\(word)"
                #expect(try await browser.open(WebWorld.publicURL + path).status == 404)
                #expect(try await browser.open(WebWorld.publicURL + path + query).status == 404)
                let posted = try await browser.send(
                    password.fields + [("password", "correct horse battery")], to: path + query, on: chooser)
                #expect(posted.status == 404)
                #expect(!chooser.html.links.contains { $0.target.contains(word) })
                #expect(!chooser.html.forms.contains { $0.buttons.contains { $0.value == word } })
                // Nor does a screen that is asked for by its name.
                let asked = try await browser.submit(password, on: chooser, typed: ["to": word])
                let named = try await browser.open(chooser.url + "&with=\(word)")
                for page in [asked, named] {
                    #expect(page.status == 200)
                    #expect(page.html.forms.map(\.path) == chooser.html.forms.map(\.path))
                }
            }
        }
    }
}
