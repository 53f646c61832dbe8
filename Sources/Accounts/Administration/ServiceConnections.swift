/// The connections of the service's role to the database that came from one address under one name.
package struct ServiceConnections: Sendable {
    /// Nil for those by a socket.
    package let address: String?
    package let program: String
    package let connections: Int
    /// When the oldest of them was made.
    package let since: Timestamp

    package init(address: String?, program: String, connections: Int, since: Timestamp) {
        self.address = address
        self.program = program
        self.connections = connections
        self.since = since
    }
}
