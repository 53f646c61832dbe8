import Hummingbird
import OpenSSL

/// The controls of Google's project: its service accounts, its domains, and the state of its event stream.
struct GoogleStreamControl: Sendable {
    let stream: GoogleEventStream

    func add(to group: RouterGroup<SandboxContext>) {
        group.post("service-accounts") { request, _ in
            let (email, keyID, hasRole, key) = try await request.body { members in
                (
                    members.identifier("email"), members.identifier("keyId"), members.flag("role", else: true),
                    members.publicKey(.rs256)
                )
            }
            guard key != nil || stream.accounts.contains(where: { $0.email == email && $0.keys[keyID] != nil }) else {
                throw ControlRefusal.notFound("\(email) has no key \(keyID).")
            }
            let account = stream.update(email) { account in
                account.keys[keyID] = key
                if key != nil { account.hasRole = hasRole }
            }
            return Response.json(account.json)
        }
        group.get("service-accounts") { _, _ in Response.items(stream.accounts.map(\.json)) }
        group.post("authorized-domains") { request, _ in
            let domains = try await request.body { $0.texts("domains") } ?? []
            stream.authorizedDomains = domains.map { $0.lowercased() }
            return Response.json(["domains": stream.authorizedDomains])
        }
        group.get("stream") { _, _ in
            let configuration = try? stream.configuration()
            let verifications = stream.verifications.map { verification -> JSONObject in
                ["state": verification.state, "delivery": verification.delivery?.json]
            }
            return Response.json([
                "url": configuration?.url, "eventTypes": configuration?.eventTypes,
                "enabled": configuration?.isEnabled, "verifications": verifications,
            ])
        }
    }
}
