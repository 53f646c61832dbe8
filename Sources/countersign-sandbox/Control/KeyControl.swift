import HTTPTypes
import Hummingbird
import JSON

/// The controls of one provider's keys, under `/control/apple/keys` and `/control/google/keys`.
struct KeyControl: Sendable {
    let keys: ProviderKeys

    func add(to group: RouterGroup<SandboxContext>) {
        group.get("keys") { _, _ in listing() }
        group.post("keys") { request, _ in
            let members = try await request.members(["keyId", "published"])
            let id = try members.optionalText("keyId")
            let published = try members.flag("published", else: true)
            try refusing { () throws(ProviderKeys.Failure) in _ = try keys.add(id: id, published: published) }
            return listing()
        }
        group.post("keys/rotate") { request, _ in
            _ = try await request.members([])
            try refusing { () throws(ProviderKeys.Failure) in _ = try keys.rotate() }
            return listing()
        }
        group.post("keys/revoke") { request, _ in
            let id = try await request.members(["keyId"]).text("keyId")
            try refusing { () throws(ProviderKeys.Failure) in try keys.revoke(id: id) }
            return listing()
        }
        group.post("keys/cache-control") { request, _ in
            switch try await request.members(["value"]).changedText("value") {
            case .unchanged: throw ControlRefusal.invalid("value is missing; null sends no header.")
            case .removed: keys.cacheControl = nil
            case .set(let value):
                guard HTTPField.isValidValue(value) else {
                    throw ControlRefusal.invalid("value must be one that a header field can have.")
                }
                keys.cacheControl = value
            }
            return listing()
        }
    }

    private func refusing(
        _ body: () throws(ProviderKeys.Failure) -> Void
    ) throws(ControlRefusal) {
        do {
            try body()
        } catch {
            switch error {
            case .unknown: throw .notFound("There is no published key of that id.")
            case .taken: throw .conflict("There is a key of that id already.")
            case .last: throw .conflict("The last published key stays; a fault can answer an empty set.")
            case .full: throw .conflict("There are \(ProviderKeys.capacity) keys already; reset drops them.")
            }
        }
    }

    private func listing() -> Response {
        .json { writer in
            writer.member("cacheControl", keys.cacheControl)
            writer.objects("items", of: keys.listing) { key, writer in
                writer.member("keyId", key.id)
                writer.member("published", key.isPublished)
                writer.member("signing", key.isSigning)
            }
        }
    }
}
