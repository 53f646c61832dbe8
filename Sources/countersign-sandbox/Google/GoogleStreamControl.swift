import Hummingbird
import OpenSSL

/// The controls of Google's project: its service accounts, its domains, and the state of its event stream.
extension Provider<Google> {
    func addStreamControls(to group: RouterGroup<SandboxContext>) {
        group.post("service-accounts") { request, _ in
            let (email, keyID, hasRole, key) = try await request.body { members in
                (
                    members.identifier("email"), members.identifier("keyId"), members.flag("role", else: true),
                    members.publicKey(.rs256)
                )
            }
            let account = try accounts.change { state throws(ControlRefusal) in
                var account = state.registry.stream.account(email) ?? GoogleServiceAccount(email: email)
                guard key != nil || account.keys[keyID] != nil else {
                    throw .notFound("\(email) has no key \(keyID).")
                }
                account.keys[keyID] = key
                if key != nil { account.hasRole = hasRole }
                state.registry.stream.keep(account)
                return account
            }
            return Response.json(account.json)
        }
        group.get("service-accounts") { _, _ in Response.items(accounts.registry.stream.accounts.map(\.json)) }
        group.post("authorized-domains") { request, _ in
            let domains = (try await request.body { $0.texts("domains") } ?? []).map { $0.lowercased() }
            accounts.change { $0.registry.stream.authorizedDomains = domains }
            return Response.json(["domains": domains])
        }
        group.get("stream") { _, _ in
            let stream = accounts.registry.stream
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
