import Primitives

/// The people who may sign in to the console with Google: the list of the configuration.
package struct ConsoleStaff: Sendable {
    package struct Person: Hashable, Sendable {
        /// As the trail has it.
        package let name: String
        package let email: EmailAddress
        package let scopes: Set<AdminKey.Scope>

        package init(name: String, email: EmailAddress, scopes: Set<AdminKey.Scope>) {
            self.name = name
            self.email = email
            self.scopes = scopes
        }
    }

    package let people: [Person]

    package init(_ people: [Person]) { self.people = people }

    package func person(with email: EmailAddress) -> Person? { people.first { $0.email == email } }

    package func person(named name: String) -> Person? { people.first { $0.name.hasSameBytes(as: name) } }
}
