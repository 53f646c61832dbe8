import CountersignClient
import Foundation

extension App {
    /// A link as Google's app opens it.
    private func link(_ query: String = "") throws -> URL {
        guard let url = URL(string: "https://auth.example.com/app-flip\(query)") else {
            throw Mismatch("no URL: \(query)")
        }
        return url
    }

    func flip() async throws {
        report.step("Google's app asks for a link by App Flip")
        let clientID = options.flip ?? "google-link-7f3a"
        let target = "https://oauth-redirect.googleusercontent.com/a/com.google.OPA"
        let encoded = "https%3A%2F%2Foauth-redirect.googleusercontent.com%2Fa%2Fcom.google.OPA"
        let configuration = AppFlipConfiguration(link: try link(), clientID: clientID)
        func parsed(_ parameters: String) throws -> AppFlipLink {
            AppFlipLink(try link("?\(parameters)"), configuration: configuration)
        }
        let asked = "client_id=\(clientID)&scope=profile&state=Xy%2F9%2B1"

        guard case .request(let request) = try parsed("\(asked)&redirect_uri=\(encoded)") else {
            throw Mismatch("the link was not taken")
        }
        try report.expect(request.state, "Xy/9+1", "the state is kept as it came")
        try report.expect(request.redirectURI, target, "the target is one of Google's")
        guard case .reject(let back) = try parsed("client_id=another&state=s&redirect_uri=\(encoded)") else {
            throw Mismatch("another client was not refused")
        }
        try report.expect(back.absoluteString.hasPrefix("\(target)?"), true, "another client goes back to Google")
        try report.expect(back.absoluteString.contains("error=invalid_request"), true, "as an invalid request")
        try report.expect(
            try parsed("\(asked)&redirect_uri=https%3A%2F%2Fexample.net%2F"), .ignore, "another target is not opened")
        try report.expect(
            try parsed("\(asked)&redirect_uri=\(encoded)&redirect_uri=\(encoded)"), .ignore, "nor one that comes twice")

        let refusal = await client.answer(request, consent: false)
        try report.expect(refusal.absoluteString.hasPrefix("\(target)?"), true, "a refusal goes back to Google")
        try report.expect(refusal.absoluteString.contains("error="), true, "with an error")
        try report.expect(await client.answer(request, consent: true), refusal, "and a second answer is the first one")

        guard options.flip != nil else { return report.skip("App Flip with a code: there is no --flip") }
        guard
            case .request(let next) = try parsed(
                "client_id=\(clientID)&scope=profile&state=another&redirect_uri=\(encoded)")
        else { throw Mismatch("the link was not taken") }
        let answer = await client.answer(next, consent: true)
        try report.expect(answer.absoluteString.contains("code="), true, "a consent goes back with a code")
    }

    func migrate() async throws {
        report.step("A session of GTMOAuth2 is taken over")
        let old = InMemorySessionStore(Data("refresh_token=1%2F%2Frt&scope=email&userEmail=ana%40example.net".utf8))
        let new = InMemorySessionStore()
        let migrator = SessionMigrator(
            sources: [
                GTMAppAuthSource(store: InMemorySessionStore()), GTMOAuth2Source.google(store: old, clientID: "old"),
            ],
            destination: new)
        try report.expect(try migrator.migrate(), .migrated(from: "GTMOAuth2"), "it was found")
        try report.expect(try migrator.migrate(), .alreadyDone, "a second run finds it done")
        try report.expect(old.load() == nil, "the old item is gone")
        guard let session = try OAuthSession(restoringFrom: new) else { throw Mismatch("nothing was migrated") }
        try report.expect(await session.tokens.refreshToken, "1//rt", "and the tokens are there")
    }
}
