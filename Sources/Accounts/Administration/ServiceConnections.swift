/// The connections of the service's role to the database that came from one address under one name.
package struct ServiceConnections: Sendable {
    /// Nil for those by a socket.
    package let address: String?
    package let program: String
    /// Of a process of the service that says so: its release, its commit, and its id on its machine.
    package var version: (number: String, commit: String, process: String)? {
        let words = program.split(separator: " ").map(String.init)
        return words.count == 4 && words[0] == "countersign" ? (words[1], words[2], words[3]) : nil
    }
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
