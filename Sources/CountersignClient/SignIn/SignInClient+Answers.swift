import Foundation

extension SignInClient {
    /// The URL that a request of another app was answered with, also before a restart.
    func keptAnswer(to request: String) -> URL? {
        _ = try? loaded()
        guard let answer = keeper.known.answers[request], Double(answer.expiresAt) > now().timeIntervalSince1970 else {
            return nil
        }
        return URL(string: answer.url)
    }

    /// Keeps the answer to a request until a point in time.
    ///
    /// - Throws: when the store does not have it: it may be in memory alone, or nowhere.
    func keepAnswer(_ url: URL, to request: String, until end: Date) throws(SessionError) {
        let time = Timestamp.seconds(now())
        try keeper.change { document in
            document.answers = document.answers.filter { $0.value.expiresAt > time }
            document.answers[request] = StoredAnswer(url: url.absoluteString, expiresAt: Timestamp.seconds(end))
        }
    }
}
