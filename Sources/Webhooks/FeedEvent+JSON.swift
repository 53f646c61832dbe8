package import Accounts
package import JSON

extension FeedEvent {
    /// The event as it stands in the feed and as it is pushed, byte for byte: the members of an object.
    package func write(to writer: inout JSONWriter) {
        writer.member("id", id.description)
        writer.member("type", type)
        writer.member("timestamp", happenedAt.rfc3339)
        writer.name("data")
        writer.object { writer in
            writer.member("accountId", accountID.description)
            writer.member("externalId", externalID)
            writer.member("sequence", sequence)
            writer.members(of: members)
        }
    }

    package var body: [UInt8] { JSONWriter.object(write) }
}
