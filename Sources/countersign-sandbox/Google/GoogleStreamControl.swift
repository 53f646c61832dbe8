import Hummingbird
import JSON

/// The controls of Google's project: its service accounts, its domains, and the state of its event stream.
struct GoogleStreamControl: Sendable {
    let stream: GoogleEventStream

    func add(to group: RouterGroup<SandboxContext>) {
        group.post("service-accounts") { request, _ in
            let members = try await request.members(["email", "keyId", "publicKey", "revoked", "role"])
            let account = try update(members)
            return Response.json { write(account, &$0) }
        }
        group.get("service-accounts") { _, _ in
            Response.items(stream.accounts) { write($0, &$1) }
        }
        group.post("authorized-domains") { request, _ in
            let members = try await request.members(["domains"])
            stream.authorizedDomains = try members.texts("domains").map { $0.lowercased() }
            return Response.json { writer in
                writer.member("domains", stream.authorizedDomains)
            }
        }
        group.get("stream") { _, _ in
            let configuration = try? stream.configuration()
            return Response.json { write(configuration, stream.verifications, &$0) }
        }
    }

    private func update(_ members: ControlMembers) throws(ControlRefusal) -> GoogleServiceAccount {
        let email = try members.identifier("email")
        let keyID = try members.identifier("keyId")
        let hasRole = try members.flag("role", else: true)
        guard try members.flag("revoked") else {
            let key = try GoogleServiceAccount.publicKey(members)
            return stream.update(email) { account in
                account.keys[keyID] = key
                account.hasRole = hasRole
            }
        }
        guard members.raw("publicKey") == nil else { throw .invalid("publicKey and revoked exclude each other.") }
        guard stream.accounts.contains(where: { $0.email == email && $0.keys[keyID] != nil }) else {
            throw .notFound("\(email) has no key \(keyID).")
        }
        return stream.update(email) { $0.keys[keyID] = nil }
    }

    private func write(_ account: GoogleServiceAccount, _ writer: inout JSONWriter) {
        writer.member("email", account.email)
        writer.member("keyIds", account.keys.keys.sorted())
        writer.member("role", account.hasRole)
    }

    private func write(
        _ configuration: GoogleEventStream.Configuration?, _ verifications: [GoogleEventStream.Verification],
        _ writer: inout JSONWriter
    ) {
        if let configuration {
            writer.member("url", configuration.url)
            writer.member("eventTypes", configuration.eventTypes)
            writer.member("enabled", configuration.isEnabled)
        }
        writer.objects("verifications", of: verifications) { verification, writer in
            writer.member("state", verification.state)
            if let delivery = verification.delivery {
                writer.object("delivery", delivery.write)
            }
        }
    }
}
