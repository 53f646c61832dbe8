import Foundation
import JSON
import Postgres
import TestSupport
import Testing

/// Staff at the console by Google: the sandbox's authorization page and token endpoint, and the cookies on the wire.
@Suite(.limitedConcurrency, .staffWorld(), .serialized, .timeLimit(.minutes(30))) struct ConsoleStaffTests: WorldSuite {
    private static let refusal = "This Google account may not use the console."

    /// Adds a person of Google's.
    private func person(_ name: String, _ members: String) async throws {
        _ = try await world.sandbox.addGooglePerson(name, members)
    }

    @Test func `a person of the list signs in, with the scopes of the list, under its name`() async throws {
        try await person("google-kim", #"{"email":"Kim@Lamp.example","hostedDomain":"lamp.example"}"#)
        let rows = try await world.rows()
        let visit = ConsoleVisit(world)
        let asking = try await visit.open("/console/accounts")
        let link = try #require(asking.html.links.first { $0.label == "Sign in with Google" })
        let google = try await visit.browser.click(link.target, on: asking, following: false)
        let url = try google.location()
        let asked = Dictionary(uniqueKeysWithValues: FormEncoding.parameters(of: url).map { ($0.name, $0.value) })
        #expect(asked["code_challenge_method"] == "S256" && asked["nonce"] != nil && asked["hd"] == "lamp.example")
        #expect(asked["access_type"] == nil && asked["scope"] == "openid email")
        let flow = try #require(visit.browser.cookie("csn_console_flow", of: visit.origin))
        #expect(flow.attributes["samesite"] == "Lax" && flow.attributes["path"] == "/console/callback")
        #expect(flow.attributes["httponly"] == "" && flow.attributes["max-age"] == "600")
        for secret in [asked["state"], asked["nonce"]] { #expect(secret?.contains(flow.value) == false) }

        let answer = try await world.sandbox.authorize(at: url, person: "google-kim")
        let callback = try #require(answer.target) + "?" + FormEncoding.encode(answer.parameters)
        let back = try await visit.browser.open(callback).expecting(200)
        #expect(back.html.refresh == "/console/accounts")
        #expect(back.html.links.map(\.target).contains("/console/accounts"))
        let page = try await visit.open("/console/accounts")
        #expect(!page.isSignIn && page.html.text.contains("kim"))
        // The list gives read and manage.
        #expect(try await visit.open("/console/admin-keys").status == 200)
        #expect(
            try await world.count(
                "SELECT count(*) FROM audit_events WHERE type = 'console_opened' AND actor_name = 'kim' AND reason = 'google'"
            ) == 1)
        #expect(try await world.rows() == rows, "no account, identity or grant")
        #expect(try await world.count("SELECT count(*) FROM provider_grants") == 0)
        // Once is all that the answer is good for, in this browser or another.
        for browser in [visit, ConsoleVisit(world)] {
            let again = try await browser.browser.open(callback)
            #expect(again.status == 400 && again.notice != nil && again.isSignIn)
        }
    }

    @Test func `who is not of the list, of the domain or verified is refused in one sentence, and leaves no address`()
        async throws
    {
        let refused = [
            ("visitor", #"{"email":"visitor@lamp.example","hostedDomain":"lamp.example"}"#),
            ("outside", #"{"email":"ann@lamp.example","hostedDomain":"other.example"}"#),
            ("private", #"{"email":"ann@lamp.example"}"#),
            ("unverified", #"{"email":"ann@lamp.example","emailVerified":false,"hostedDomain":"lamp.example"}"#),
        ]
        for (name, members) in refused {
            try await person(name, members)
            let page = try await StaffWorld.signIn(name, ConsoleVisit(world))
            #expect(page.status == 401 && page.notice == Self.refusal && page.isSignIn, "\(name)")
            #expect(page.answer["WWW-Authenticate"] == "Bearer", "\(name)")
            #expect(page.answer.values("Set-Cookie").allSatisfy { !$0.hasPrefix("csn_console=") }, "\(name)")
        }
        try await eventually("the refusals") {
            try await world.count(
                "SELECT COALESCE(sum(occurrences), 0) FROM audit_events WHERE type = 'console_refused' AND network IS NOT NULL"
            )
                >= 4
        }
        #expect(
            try await world.count("SELECT count(*) FROM audit_events e WHERE strpos(e::text, '@lamp.example') > 0") == 0
        )
        #expect(!service.log.contains("visitor@lamp.example"))
    }

    @Test func `a name belongs to one account at Google until it is forgotten`() async throws {
        try await person("google-bo", #"{"email":"bo@lamp.example","hostedDomain":"lamp.example"}"#)
        let bo = ConsoleVisit(world)
        #expect(try await StaffWorld.signIn("google-bo", bo).status == 200)
        // The address has changed hands.
        try await person("google-bo-2", #"{"email":"bo@lamp.example","hostedDomain":"lamp.example"}"#)
        let other = ConsoleVisit(world)
        let refused = try await StaffWorld.signIn("google-bo-2", other)
        #expect(refused.status == 401 && refused.notice == Self.refusal)
        #expect(try await world.run(["console", "forget", "bo"]).status == 0)
        #expect(try await bo.open("/console/").isSignIn)
        #expect(try await StaffWorld.signIn("google-bo-2", other).status == 200)
        #expect(try await !other.open("/console/").isSignIn)
        // Read is all that the list gives.
        #expect(try await other.open("/console/admin-keys").status == 403)

        let ended = try await world.run(["console", "end", "bo"])
        #expect(ended.status == 0 && ended.output == "ended 1\n")
        #expect(try await other.open("/console/").isSignIn)
        let unknown = try await world.run(["console", "end", "nobody"])
        #expect(unknown.status == 1 && unknown.error == "countersign: Nobody has signed in to the console as nobody.\n")
        for kind in ["console_ended", "console_forgotten"] {
            #expect(try await world.recorded("type = \(kind) AND actor = 'operator' AND reason = 'bo'") == 1)
        }
    }

    @Test
    func `an answer that is another's, cancelled, or that Google does not honour says so on the form`() async throws {
        try await person("google-kim-2", #"{"email":"kim@lamp.example","hostedDomain":"lamp.example"}"#)
        let cancelled = try await StaffWorld.signIn("google-kim-2", ConsoleVisit(world), action: "cancel")
        #expect(cancelled.status == 400 && cancelled.notice == "Nobody was signed in at Google.")
        for forged in ["state": "forged", "iss": "https://accounts.example.com"] {
            let page = try await StaffWorld.signIn(
                "google-kim-2", ConsoleVisit(world), changes: [forged.key: forged.value])
            #expect(page.status == 400 && page.isSignIn, "\(forged.key)")
        }
        let elsewhere = try await StaffWorld.signIn(
            "google-kim-2", ConsoleVisit(world), returningBy: ConsoleVisit(world))
        #expect(elsewhere.status == 400)
        let late = ConsoleVisit(world)
        let old = try await StaffWorld.signIn(
            "google-kim-2", late,
            meanwhile: {
                try await scratch.execute("UPDATE console_flows SET created_at = now() - interval '11 minutes'")
            })
        #expect(old.status == 400)
        try await world.sandbox.control("faults", #"{"path":"/google/token","effect":"status","status":500,"times":1}"#)
        let down = try await StaffWorld.signIn("google-kim-2", ConsoleVisit(world))
        #expect(down.status == 503 && down.notice?.hasPrefix("Google can't be asked") == true)
        // A host that is not the console's gets no way back of its making.
        let host = try await service.exchange(
            service.privatePort, "GET", "/console/sign-in/google", authorization: nil, host: "evil.example")
        #expect(host.status == 403)
    }

    @Test func `a client secret that Google refuses is an error in the log that names the client`() async throws {
        try await person("google-secretless", #"{"email":"kim@lamp.example","hostedDomain":"lamp.example"}"#)
        try await world.sandbox.fail("/google/token", .status(401, body: #"{"error":"invalid_client"}"#), times: 1)
        let page = try await StaffWorld.signIn("google-secretless", ConsoleVisit(world))
        #expect(page.status == 503 && page.notice?.hasPrefix("Google can't be asked") == true)
        // The lines of a request come before its own.
        _ = try await service.logged(try #require(page.answer["X-Request-Id"]))
        let lines = try service.logLines().filter {
            $0["message"]?.string?.hasPrefix("client credentials refused") == true
        }
        #expect(lines.map { $0["level"]?.string } == ["error"])
        #expect(lines.first?["error"]?.string == "invalid_client")
        #expect(lines.first?["key"]?.string == StaffWorld.client)
        #expect(lines.first?["client"]?.string == StaffWorld.client)
    }

    @Test func `an answer of another flow leaves the one under way, and only a person cancels`() async throws {
        try await person("google-ann", #"{"email":"ann@lamp.example","hostedDomain":"lamp.example"}"#)
        let visit = ConsoleVisit(world)
        func begin() async throws -> (url: String, state: String) {
            let begun = try await visit.browser.open(
                visit.origin + "/console/sign-in/google?to=%2Fconsole%2Faccounts%3Fq%3Dada%40example.com",
                following: false)
            let url = try begun.location()
            return (url, try #require(FormEncoding.parameters(of: url).first { $0.name == "state" }).value)
        }
        let url = try await begin().url
        #expect(try await world.count("SELECT count(*) FROM console_flows WHERE destination = '/console/accounts'") > 0)
        #expect(try await world.count("SELECT count(*) FROM console_flows WHERE strpos(destination, '?') > 0") == 0)
        let stray = try await visit.open("/console/callback/google?state=other&error=access_denied")
        #expect(stray.status == 400 && stray.isSignIn)
        let answer = try await world.sandbox.authorize(at: url, person: "google-ann")
        let target = try #require(answer.target) + "?" + FormEncoding.encode(answer.parameters)
        let back = try await visit.browser.open(target)
        #expect(back.status == 200 && back.html.refresh == "/console/accounts")

        for (query, status) in [
            ("error=access_denied", 400), ("error=server_error", 503), ("error=canary", 503),
            ("error=access_denied&error=server_error", 400), ("code=a&code=b", 400),
        ] {
            let page = try await visit.open("/console/callback/google?state=\(try await begin().state)&\(query)")
            #expect(page.status == status && page.notice != nil, "\(query)")
        }
        #expect(!service.log.contains("canary"))
    }

    @Test func `a session of staff ends when it is not used for 30 minutes, and after 8 hours`() async throws {
        for (column, minutes) in [("last_used_at", 30), ("created_at", 8 * 60)] as [(String, Int32)] {
            let name = "google-bo-\(column)"
            try await person(name, #"{"email":"bo@lamp.example","hostedDomain":"lamp.example"}"#)
            let visit = ConsoleVisit(world)
            // The address is that of another account at Google each time.
            _ = try await world.run(["console", "forget", "bo"])
            #expect(try await StaffWorld.signIn(name, visit).status == 200)
            try await visit.age("staff_name = 'bo'", column, minutes: minutes - 5)
            #expect(try await !visit.open("/console/").isSignIn, "\(column)")
            try await visit.age("staff_name = 'bo'", column, minutes: minutes + 1)
            #expect(try await visit.open("/console/").isSignIn, "\(column)")
        }
    }

    @Test func `a HEAD and a prefetch of the way to Google and back begin and spend nothing`() async throws {
        try await person("google-bo-early", #"{"email":"bo@lamp.example","hostedDomain":"lamp.example"}"#)
        _ = try await world.run(["console", "forget", "bo"])
        let (visit, flows) = (ConsoleVisit(world), try await world.count("SELECT count(*) FROM console_flows"))
        let path = visit.origin + "/console/sign-in/google"
        func expectNothing(of url: String) async throws {
            let head = try await visit.browser.open(url, method: "HEAD", following: false).expecting(200)
            // A browser drops a refusal that it has prefetched, and asks again at the click.
            let prefetch = try await visit.browser.open(
                url, following: false, headers: [("Sec-Purpose", "prefetch;prerender")]
            ).expecting(403)
            for page in [head, prefetch] {
                #expect(page.locations == [] && page.answer.values("Set-Cookie") == [], "\(url)")
            }
        }
        try await expectNothing(of: path)
        // Nor does a page of others that loads it.
        let foreign = try await visit.browser.open(path, following: false, headers: [("Sec-Fetch-Site", "cross-site")])
        #expect(foreign.status == 200 && foreign.isSignIn && foreign.answer.values("Set-Cookie") == [])
        #expect(try await world.count("SELECT count(*) FROM console_flows") <= flows)
        let url = try #require(try await visit.browser.open(path, following: false).answer["Location"])
        let answer = try await world.sandbox.authorize(at: url, person: "google-bo-early")
        let callback = try #require(answer.target) + "?" + FormEncoding.encode(answer.parameters)
        try await expectNothing(of: callback)
        // What a row says leads to no page of others.
        try await scratch.execute("UPDATE console_flows SET destination = 'https://elsewhere.example/console/'")
        #expect(try await visit.browser.open(callback).html.refresh == "/console/")
    }

    @Test func `where the database can't be asked the form says so, and the next try succeeds`() async throws {
        try await person("google-jo", #"{"email":"jo@lamp.example","hostedDomain":"lamp.example"}"#)
        try await scratch.execute(
            """
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
            AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'disk_full'; END $$
            """,
            "CREATE TRIGGER refuse BEFORE INSERT OR DELETE ON console_flows FOR EACH STATEMENT EXECUTE FUNCTION refuse()"
        )
        let visit = ConsoleVisit(world)
        func expectForm(_ page: Browser.Page) {
            #expect(page.status == 503 && page.isSignIn && page.answer["Retry-After"] != nil)
            #expect(page.notice == "Nobody can be signed in right now. Try again in a moment.")
        }
        expectForm(try await visit.open("/console/sign-in/google"))
        try await scratch.execute("ALTER TABLE console_flows DISABLE TRIGGER refuse")
        let back = try await StaffWorld.signIn(
            "google-jo", visit,
            meanwhile: { try await scratch.execute("ALTER TABLE console_flows ENABLE TRIGGER refuse") })
        expectForm(back)
        try await scratch.execute("DROP FUNCTION refuse CASCADE")
        #expect(try await StaffWorld.signIn("google-jo", visit).status == 200)
    }

    @Test func `a network that has begun too often sees the form, and when to come again`() async throws {
        let settings = try StaffWorld.settings(secretFile: "console-secret-limited")
        let limit = ["limits.webFlowsPerNetwork": "1/d"]
        try await World.run(settings.merging(limit) { $1 }, StaffWorld.addresses) { world in
            let visit = ConsoleVisit(world)
            let path = visit.origin + "/console/sign-in/google"
            #expect(try await visit.browser.open(path, following: false).answer["Location"] != nil)
            let limited = try await visit.browser.open(path, following: false)
            #expect(limited.status == 429 && limited.isSignIn && limited.notice != nil)
            #expect(limited.answer["Retry-After"] != nil)
        }
    }

    @Test func `staff whom a reload lets in find Google's keys fetched, also where people don't sign in with it`()
        async throws
    {
        let files = try ReloadedFiles()
        files.yaml.replace("google.clientIds: [\(Countersign.googleClient)]\n", with: "")
        try files.write()
        let off = ["google.serverClientId": Countersign.unset, "google.serverClientSecret": Countersign.unset]
        try await World.run(files.settings.merging(off) { $1 }, StaffWorld.addresses) { world in
            try await StaffWorld.register(at: world)
            _ = try await world.sandbox.addGooglePerson(
                "k", #"{"email":"kim@lamp.example","hostedDomain":"lamp.example"}"#)
            let keys = #"countersign_key_set_keys{provider="google"}"#
            #expect(try await !world.service.privateGet("/metrics").text.contains(keys))
            #expect(try await !world.service.privateGet("/health/ready").text.contains("google"))
            files.yaml += try StaffWorld.yaml(["kim"])
            try files.write()
            try await ReloadTests.reload(world.service, "adopted", "console.staff")
            // Before anybody comes.
            try await eventually("Google's keys") {
                let text = try await world.service.privateGet("/metrics").text
                return text.contains(keys) && !text.contains(keys + " 0\n")
            }
            #expect(try await world.service.privateGet("/health/ready").text.contains("google"))
            #expect(try await StaffWorld.signIn("k", ConsoleVisit(world)).status == 200)
        }
    }

    @Test func `a reload that lets staff in by foreign keys warns of them once, and the gauge follows`() async throws {
        let files = try ReloadedFiles()
        files.yaml.replace("google.clientIds: [\(Countersign.googleClient)]\n", with: "")
        try files.write()
        let plain = files.yaml
        let settings = [
            "google.serverClientId": Countersign.unset, "google.serverClientSecret": Countersign.unset,
            "server.publicUrl": "https://auth.example.com",
        ]
        try await World.run(files.settings.merging(settings) { $1 }, StaffWorld.addresses) { world in
            func warnings(in log: String) -> [Substring] {
                log.split(separator: "\n").filter { $0.contains("keys come from another address") }
            }
            func gauge(of provider: String) async throws -> Bool {
                try await world.service.privateGet("/metrics").text
                    .contains("countersign_key_set_foreign{provider=\"\(provider)\"} 1\n")
            }
            try await eventually("the warning of the start") { warnings(in: world.service.log).count == 1 }
            let reloads: [(staff: [String], isNew: Bool)] = [
                (["kim"], true), (["kim", "bo"], false), ([], false), (["kim"], true),
            ]
            for (staff, isNew) in reloads {
                files.yaml = try staff.isEmpty ? plain : plain + StaffWorld.yaml(staff)
                try files.write()
                let log = try await ReloadTests.reload(world.service, "adopted", "console.staff")
                let found = warnings(in: log)
                #expect(found.count == (isNew ? 1 : 0), "\(staff): \(found)")
                #expect(found.allSatisfy { $0.contains(#""provider":"google""#) }, "\(found)")
                #expect(try await gauge(of: "google") == !staff.isEmpty, "\(staff)")
                #expect(try await gauge(of: "apple"))
            }
        }
    }

    @Test func `a reload takes no list with the name of an admin key`() async throws {
        let files = try ReloadedFiles()
        let plain = files.yaml
        files.yaml = try plain + StaffWorld.yaml(["kim"])
        try files.write()
        try await World.run(files.settings, StaffWorld.addresses) { world in
            _ = try await world.adminKey("read", name: "bo")
            files.yaml = try plain + StaffWorld.yaml(["kim", "bo"])
            try files.write()
            try await ReloadTests.reload(
                world.service, "refused", #""key":"console.staff""#, "has names that admin keys have: bo")
            try await world.scratch.execute("UPDATE admin_keys SET revoked_at = now() WHERE name = 'bo'")
            try await ReloadTests.reload(world.service, "adopted", "console.staff")
        }
    }

    @Test func `who is taken off the list is out at the reload, and keys where they open nothing`() async throws {
        let files = try ReloadedFiles()
        let plain = files.yaml
        files.yaml = try plain + StaffWorld.yaml(["kim", "bo"])
        try files.write()
        try await World.run(files.settings, StaffWorld.addresses) { world in
            try await StaffWorld.register(at: world)
            _ = try await world.sandbox.addGooglePerson(
                "k", #"{"email":"kim@lamp.example","hostedDomain":"lamp.example"}"#)
            let staff = ConsoleVisit(world)
            #expect(try await StaffWorld.signIn("k", staff).status == 200)
            let keyed = try await ConsoleVisit.signedIn(to: world, "read", name: "keyed")
            files.yaml = try plain + StaffWorld.yaml(["bo"], keys: false)
            try files.write()
            try await ReloadTests.reload(world.service, "adopted", "console.staff")
            let form = try await staff.open("/console/")
            #expect(form.html.forms.isEmpty && form.html.links.contains { $0.label == "Sign in with Google" })
            #expect(try await world.count("SELECT count(*) FROM console_sessions WHERE staff_name = 'kim'") == 0)
            #expect(try await keyed.open("/console/").html.forms.isEmpty)
            let key = try await world.adminKey("read", name: "api")
            #expect(try await world.service.administer("GET", "/admin/v1/outbox", bearer: key).status == 200)
            let typed = try await keyed.browser.send([("key", key)], to: "/console/sign-in", on: form)
            #expect(typed.status == 401 && typed.notice == "Admin keys open nothing here.")
        }
    }
}
