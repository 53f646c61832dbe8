import HTTPTypes
import Hummingbird
import JOSE

/// The response of a provider's key set endpoint (RFC 7517 §5).
struct KeySetResponse: Sendable {
    let keys: [SigningKey]
    let cacheControl: String?

    func response() async throws -> Response {
        var published: [PublicJWK] = []
        for key in keys { published.append(PublicJWK(try await key.material, keyID: key.id)) }
        var response = Response.json(document: PublicJWK.document(published))
        if let cacheControl { response.headers[.cacheControl] = cacheControl }
        return response
    }
}
