import HTTPTypes
import Hummingbird

/// The controls of one provider's keys, under `/control/apple/keys` and `/control/google/keys`.
struct KeyControl: Sendable {
    let keys: ProviderKeys

    func add(to group: RouterGroup<SandboxContext>) {
        group.get("keys") { _, _ in listing() }
        group.post("keys") { request, _ in
            let (id, published) = try await request.body { members in
                (members.optionalText("keyId"), members.flag("published", else: true))
            }
            try keys.add(id: id, published: published)
            return listing()
        }
        group.post("keys/rotate") { request, _ in
            try await request.emptyBody()
            try keys.rotate()
            return listing()
        }
        group.post("keys/revoke") { request, _ in
            let id = try await request.body { $0.text("keyId") }
            try keys.revoke(id: id)
            return listing()
        }
        group.post("keys/cache-control") { request, _ in
            guard let value = try await request.body({ $0.changedText("value") }) else {
                throw ControlRefusal.invalid("value is missing; null sends no header.")
            }
            guard value.map(HTTPField.isValidValue) ?? true else {
                throw ControlRefusal.invalid("value must be one that a header field can have.")
            }
            keys.cacheControl = value
            return listing()
        }
    }

    private func listing() -> Response { .json(["cacheControl": keys.cacheControl, "items": keys.listing]) }
}
