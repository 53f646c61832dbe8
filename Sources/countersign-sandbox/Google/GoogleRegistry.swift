/// What developers have registered at Google: clients that have a secret, and the event stream.
struct GoogleRegistry: Sendable {
    struct Client: Sendable {
        let id: String
        var secret: String
        /// Those of a web client.
        var redirectURIs: [String] = []
        /// The Workspace domain whose persons alone may use it.
        var internalTo: String?
        var isDeleted = false

        /// Without the secret, which Google's console shows only once.
        var json: JSONObject {
            ["clientId": id, "redirectUris": redirectURIs, "internalTo": internalTo, "deleted": isDeleted]
        }
    }

    var stream = GoogleEventStream()
    private var clientsByID: [String: Client] = [:]

    var clients: [Client] { clientsByID.values.sorted { $0.id < $1.id } }

    func client(_ id: String) -> Client? { clientsByID[id] }

    mutating func keep(_ client: Client) { clientsByID[client.id] = client }

    /// The client as a control request has it: a new one, or changed in what the request names. A client with a new
    /// secret is no longer deleted.
    func updated(_ members: ControlMembers) -> Client {
        let id = members.clientID()
        let known = client(id)
        let isDeleted = members.flag("deleted")
        if isDeleted, let other = members.names.first(where: { $0 != "clientId" && $0 != "deleted" }) {
            members.refuse("\(other) and deleted exclude each other.")
        }
        let needsSecret = !isDeleted && (known == nil || members.names == ["clientId"])
        let secret = needsSecret ? members.text("clientSecret") : members.optionalText("clientSecret")
        var client = known ?? Client(id: id, secret: "")
        if let secret {
            client.secret = secret
            client.isDeleted = false
        }
        client.redirectURIs = members.redirectURIs() ?? client.redirectURIs
        members.change(&client.internalTo, "internalTo")
        if isDeleted { client.isDeleted = true }
        return client
    }

    func requireClient(_ id: String, secret: String) throws(EndpointRefusal) {
        guard let client = client(id) else { throw .google(.invalidClient, "The OAuth client was not found.") }
        guard !client.isDeleted else { throw .google(.deletedClient, "The OAuth client was deleted.") }
        guard client.secret == secret else {
            throw .google(.invalidClient, "The provided client secret is invalid.")
        }
    }
}
