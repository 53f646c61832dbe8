import Foundation
import Testing

@testable import CountersignClient

@Suite struct SentenceTests {
    private static let tags = ["en", "de", "fr", "es", "it", "pt-BR", "nl", "pl", "ja", "ko", "zh-Hans", "ar"]

    @Test func `every language has every sentence, none of them twice`() {
        #expect(Sentence.languages.map(\.tag) == Self.tags)
        for (tag, sentences) in Sentence.languages {
            #expect(sentences.count == Sentence.allCases.count, "\(tag)")
            #expect(Set(sentences).count == sentences.count, "\(tag)")
            #expect(sentences.allSatisfy { ".。".contains($0.last ?? " ") }, "\(tag)")
        }
    }

    @Test(arguments: [
        (["de-AT"], "de"), (["DE"], "de"), (["pt-PT", "en"], "pt-BR"), (["zh-Hant-TW"], "zh-Hans"), (["zh"], "zh-Hans"),
        (["sv-SE", "nl_BE", "en"], "nl"), ([], "en"), (["", "-", "tlh"], "en"), (["arz"], "en"), (["ar-EG"], "ar"),
    ]) func `the first language that there is is taken, by its first part`(_ wanted: [String], _ tag: String) throws {
        let own = try #require(Sentence.languages.first { $0.tag == tag })
        #expect(SessionError.noSession.description(in: wanted) == own.sentences[Sentence.signInAgain.rawValue])
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
