import Postgres
import TestSupport
import Testing

/// Many changes of one account at once, by an app and on its page, in a service with four connections to the database.
@Suite(.limitedConcurrency, .webWorld, .timeLimit(.minutes(30))) struct AccountCrowdTests: WorldSuite {
    @Test func `fifty sign-outs of one session at once leave connections to its account's others, and to others`()
        async throws
    {
        let (browser, page, bearer) = try await AccountHolder.signedIn("crowd")
        let other = try await AccountHolder.signedIn("passer-by").bearer
        let (service, load) = (service, Load())
        let (signOuts, last) = try await scratch.withPool(.test(poolSize: 1)) { database in
            try await database.transaction { transaction in
                try await transaction.execute("SELECT FROM accounts WHERE email = 'crowd@example.com' FOR UPDATE")
                let signOuts = Task {
                    try await concurrently(0..<50) { _ in
                        let answer = try await service.signOut("others", bearer: bearer)
                        load.count("\(answer.status)")
                        return answer
                    }
                }
                // Two hold a connection.
                try await transaction.awaitWaiters(2)
                try await eventually("the refusal of the others") { load.counts["503", default: 0] >= 48 }
                // And one of another session, the last of the account.
                let last = Task { try await browser.submit("/web/account/sign-out-everywhere", on: page) }
                try await transaction.awaitWaiters(3)
                for path in ["/web/account/sign-out-everywhere", "/web/account/devices/end"] {
                    let refused = try await browser.submit(path, on: page)
                    #expect(refused.status == 503 && refused.answer["Retry-After"] == "1", "\(refused.answer.text)")
                }
                // What only reads takes no place.
                try await service.get("/v1/sessions", bearer: bearer).expecting(200)
                try await service.signOut("others", bearer: other).expecting(204)
                return (signOuts, last)
            }
        }
        let answers = try await signOuts.value
        #expect(answers.count { $0.code == "temporarily_unavailable" && $0.retryAfter == 1 } >= 48)
        _ = try await last.value
        let again = try await world.signIn("crowd@example.com", password: World.password)
        try await service.signOut("others", bearer: try again.bearer()).expecting(204)
    }
}
