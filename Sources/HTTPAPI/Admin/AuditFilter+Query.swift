package import Accounts
import HTTPServer
import Primitives

/// The conditions of a search in the trail, as the admin API's query and the console's form name them.
extension AuditFilter {
    package static let parameterNames = [
        "actor", "type", "accountId", "identity", "network", "request", "since", "until",
    ]

    /// Sets the condition that a parameter names; `false` for what is no value of it.
    package mutating func set(_ name: String, to text: String) -> Bool {
        switch name {
        case "actor": actor = ActorCondition(text)
        case "type": kind = AuditEvent.Kind(rawValue: text)
        case "accountId": accountID = AccountID(text)
        case "identity": identityID = IdentityID(text)
        case "network": network = Self.network(text)
        case "request": requestID = Request.isID(text) ? text : nil
        case "since": since = Timestamp(rfc3339: text)
        case "until": until = Timestamp(rfc3339: text)
        default: return false
        }
        return parameters.contains { $0.name == name }
    }

    /// A network as rows have it, or that of an address.
    private static func network(_ text: String) -> Network? {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let network = parts.first.flatMap({ IPAddress(String($0)) })?.network else { return nil }
        return parts.count == 1 || network == text ? Network(network) : nil
    }
}

extension Fields {
    mutating func auditFilter() -> AuditFilter {
        var filter = AuditFilter()
        for name in AuditFilter.parameterNames {
            _ = optionalValue(name) { text in filter.set(name, to: text) ? text : nil }
        }
        return filter
    }
}
