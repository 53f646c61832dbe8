import CountersignClient
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The sandbox's control API: what Apple's and Google's SDKs would hand to the app.
struct Sandbox {
    let url: URL
    private let transport = URLSessionTransport()

    struct Apple: Decodable {
        let identityToken: String
        let authorizationCode: String
    }

    struct Google: Decodable {
        let idToken: String
        let serverAuthCode: String?
    }

    func addPerson(_ name: String, email: String) async throws {
        for provider in ["apple", "google"] {
            _ = try await post("\(provider)/persons", ["name": name, "email": email])
        }
    }

    func apple(_ person: String, _ client: String, nonce: String? = nil, forged: Bool = false) async throws -> Apple {
        var body: [String: Any] = ["person": person, "clientId": client]
        body["nonce"] = nonce
        if forged { body["token"] = ["signature": "forged"] }
        return try JSONDecoder().decode(Apple.self, from: try await post("apple/authorize", body))
    }

    func google(_ person: String, _ client: String, nonce: String? = nil) async throws -> Google {
        var body: [String: Any] = ["person": person, "clientId": client]
        body["nonce"] = nonce
        return try JSONDecoder().decode(Google.self, from: try await post("google/authorize", body))
    }

    private func post(_ path: String, _ body: [String: Any]) async throws -> Data {
        var request = URLRequest(url: url.appendingPathComponent("control/\(path)"))
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = try JSONSerialization.data(withJSONObject: body)
        let (data, response) = try await transport.send(request)
        guard 200..<300 ~= response.statusCode else {
            throw Mismatch(
                "the sandbox answers \(path) with \(response.statusCode) \(String(decoding: data, as: UTF8.self))")
        }
        return data
    }
}
