import Curl
import Foundation
import JSON
import Primitives

/// Google's servers as the service's client: requests over HTTP, none of which follows a redirect.
struct LinkingClient: Sendable {
    let settings: LinkingSettings
    let fetcher: any Fetcher

    static let timeout: Duration = .seconds(15)
    private static let maximumBytes = 1 << 20

    /// - Parameter secret: another one than the client's.
    func token(_ fields: [(String, String)], secret: String? = nil) async -> LinkingAnswer {
        await post("/oauth/token", fields, secret: secret ?? settings.clientSecret)
    }

    func refresh(_ token: String) async -> LinkingAnswer {
        await self.token([("grant_type", "refresh_token"), ("refresh_token", token)])
    }

    func revoke(_ token: String, hint: String) async -> LinkingAnswer {
        await post("/oauth/revoke", [("token", token), ("token_type_hint", hint)], secret: settings.clientSecret)
    }

    func userInfo(_ token: String) async -> LinkingAnswer {
        await get(settings.server + "/oauth/userinfo", headers: [("Authorization", "Bearer " + token)])
    }

    func get(_ url: String, headers: [(name: String, value: String)] = []) async -> LinkingAnswer {
        await fetch(FetchRequest(url: url, headers: headers))
    }

    private func post(_ path: String, _ fields: [(String, String)], secret: String) async -> LinkingAnswer {
        let id = settings.clientID
        guard settings.usesBasic else {
            let client = [("client_id", id), ("client_secret", secret)]
            return await fetch(.form(url: settings.server + path, fields: client + fields))
        }
        var request = FetchRequest.form(url: settings.server + path, fields: fields)
        // Each half form-encoded (RFC 6749 §2.3.1).
        let pair = PercentEncoding.encode(id) + ":" + PercentEncoding.encode(secret)
        request.headers.append(("Authorization", "Basic " + Data(pair.utf8).base64EncodedString()))
        return await fetch(request)
    }

    private func fetch(_ request: FetchRequest) async -> LinkingAnswer {
        var request = request
        request.timeout = Self.timeout
        request.maximumBodyBytes = Self.maximumBytes
        do throws(FetchError) {
            return LinkingAnswer(try await fetcher.fetch(request))
        } catch {
            return LinkingAnswer(error)
        }
    }
}

/// What the service has answered.
struct LinkingAnswer: Sendable {
    /// 0 without an answer.
    let status: Int
    let headers: FetchHeaders
    /// nil for a body that is not JSON.
    let json: JSONValue?
    private let failure: FetchError?

    init(_ response: FetchResponse) {
        status = response.status
        headers = response.headers
        json = try? JSONValue(parsing: response.body)
        failure = nil
    }

    init(_ failure: FetchError) {
        status = 0
        headers = FetchHeaders()
        json = nil
        self.failure = failure
    }

    /// A member that is a string and not empty.
    func text(_ name: String) -> String? { json?[name]?.string.flatMap { $0.isEmpty ? nil : $0 } }

    func isRefused(_ status: Int, _ error: String) -> Bool { self.status == status && text("error") == error }

    func mediaType(is expected: String) -> Bool {
        let media = headers.first("Content-Type")?.prefix { $0 != ";" }.lowercased()
        return media?.trimmingCharacters(in: .whitespaces) == expected
    }

    var isStored: Bool {
        let control = headers.all("Cache-Control").joined(separator: ",").lowercased()
        return !control.contains("no-store")
    }

    /// The status and what may be shown of the body: nothing that is secret.
    var summary: String {
        if let failure { return "no answer: \(failure.code.rawValue)" }
        let shown = ["error", "account_found", "token_type"].compactMap { name in
            text(name).map { "\(name) \($0)" }
        }
        let location = headers.first("Location").map { "to \($0.prefix { $0 != "?" && $0 != "#" })" }
        return ([String(status)] + shown + [location].compactMap(\.self)).joined(separator: ", ")
    }
}
