import Foundation
import Testing

@testable import CountersignClient

@Suite struct SentenceTests {
    private static let tags = ["en", "de", "fr", "es", "it", "pt-BR", "nl", "pl", "ja", "ko", "zh-Hans", "ar"]

    @Test func `every language has every sentence, none of them twice`() {
        #expect(Sentence.languages.map(\.key) == Self.tags)
        for (tag, sentences) in Sentence.languages {
            #expect(sentences.count == Sentence.allCases.count, "\(tag)")
            #expect(Set(sentences).count == sentences.count, "\(tag)")
            #expect(sentences.allSatisfy { ".。".contains($0.last ?? " ") }, "\(tag)")
        }
    }

    @Test func `Dutch says u, as the pages and mails do, and never je`() throws {
        let dutch = try #require(Sentence.languages.first { $0.key == "nl" })
        let words = Set(dutch.value.flatMap { $0.lowercased().split { !$0.isLetter } })
        #expect(words.isDisjoint(with: ["je", "jij", "jou", "jouw"]) && words.isSuperset(of: ["u", "uw"]))
    }

    @Test(arguments: [
        (["de-AT"], "de"), (["DE"], "de"), (["pt-PT", "en"], "pt-BR"), (["zh-Hant-TW"], "zh-Hans"), (["zh"], "zh-Hans"),
        (["sv-SE", "nl_BE", "en"], "nl"), ([], "en"), (["", "-", "tlh"], "en"), (["arz"], "en"), (["ar-EG"], "ar"),
    ]) func `the first language that there is is taken, by its first part`(_ wanted: [String], _ tag: String) throws {
        let own = try #require(Sentence.languages.first { $0.key == tag })
        #expect(SessionError.noSession.description(in: wanted) == own.value[Sentence.signInAgain.rawValue])
    }

    @Test func `a sentence says what the person can do`() {
        let cases: [(SessionError, String)] = [
            (.refused(code: "weak_password", status: 400), "8 characters"),
            (.refused(code: "reauthentication_required", status: 403), "once more"),
            (.refused(code: "last_sign_in_method", status: 409), "another one first"),
            (.refused(code: "a_later_code", status: 418), "contact support"),
            (.transient(retryAfter: nil), "in a moment"), (.transient(retryAfter: 900), "later"),
            (.reauthenticate(code: "refresh_token_reused"), "sign in again"), (.storage("secret"), "Unlock"),
            (.insecureRequest, "set up"), (.cancelled, "cancelled"),
        ]
        for (error, part) in cases {
            let text = error.description(in: ["en-GB"])
            #expect(text.contains(part) && !text.contains("_") && !text.contains("secret"), "\(text)")
            #expect(error.errorDescription == error.description(in: Locale.preferredLanguages))
        }
    }

    @Test func `an error carries the request's id, which makes it no other error`() async throws {
        let server = try ScriptedServer { _ in
            .problem(409, "email_taken", headers: ["X-Request-Id": "01a1fc41-9b43"])
        }
        do {
            _ = try await server.client().register(email: "a@x.example", password: "p")
            Issue.record("no error")
        } catch {
            #expect(error.requestID == "01a1fc41-9b43" && error == .refused(code: "email_taken", status: 409))
            #expect(error != .refused(code: "email_taken", status: 400) && error != .refused(code: "e", status: 409))
        }
        #expect(SessionError.transient(retryAfter: 1, requestID: "a") == .transient(retryAfter: 1))
        #expect(SessionError.transient(retryAfter: 1) != .transient(retryAfter: nil))
        #expect(SessionError.reauthenticate(code: "a", requestID: "b") != .reauthenticate(code: "b", requestID: "b"))
        #expect(SessionError.noSession.requestID == nil && SessionError.noSession != .cancelled)
    }

    @Test func `an answer that is none to the call carries the request's id too`() async throws {
        typealias Call = @Sendable (SignInClient) async throws(SessionError) -> Void
        let ticket = try LinkTests.ticket()
        let question = Fixture.linkRequired()
        let dead = Fixture.session(2, expiresIn: "0")
        let opened = Fixture.signedIn(session: dead)
        let register: Call = { (client) async throws(SessionError) in
            _ = try await client.register(email: "a@x.example", password: "p")
        }
        let create: Call = { (client) async throws(SessionError) in _ = try await client.create(ticket) }
        let signIn: Call = { (client) async throws(SessionError) in
            _ = try await client.signIn(email: "a@x.example", password: "p")
        }
        let bind: Call = { (client) async throws(SessionError) in _ = try await client.bind(ticket, proof: .ticket) }
        let refresh: Call = { (client) async throws(SessionError) in _ = try await client.account() }
        let cases: [(Int, String, Call)] = [
            (201, question, register), (201, question, create), (200, question, signIn), (201, opened, register),
            (201, opened, create), (200, opened, signIn), (200, opened, bind), (200, dead, refresh),
        ]
        for (number, (status, body, call)) in cases.enumerated() {
            let server = try ScriptedServer { _ in .json(status, body, headers: ["X-Request-Id": "id-\(number)"]) }
            let client = server.client(FaultyStore(Fixture.document(expiresIn: -1)))
            do throws(SessionError) {
                try await call(client)
                Issue.record("no error of case \(number)")
            } catch {
                #expect(error == .transient(retryAfter: nil), "case \(number)")
                #expect(error.requestID == "id-\(number)", "case \(number)")
            }
        }
    }

    @Test(arguments: ["a b", "<script>", String(repeating: "a", count: 129)])
    func `what is no id is not one`(_ id: String) async throws {
        let server = try ScriptedServer { _ in .problem(503, "down", headers: ["X-Request-Id": id]) }
        do {
            _ = try await server.client().makeNonce(for: .apple)
            Issue.record("no error")
        } catch {
            #expect(error == .transient(retryAfter: nil) && error.requestID == nil)
        }
    }
}
