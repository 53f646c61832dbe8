/// An invalid member of a request: an entry of `errors` in a problem.
package struct FieldError: Equatable, Sendable {
    /// The kind of error. Clients may switch on these values; a test pins them.
    package enum Reason: String, CaseIterable, Sendable {
        case required
        case unknown
        case wrongType = "wrong_type"
        case tooLong = "too_long"
        /// Not one of the values that this member can have.
        case notAllowed = "not_allowed"
        /// Of the right type, but not of the right form.
        case invalid
        case outOfRange = "out_of_range"
        case duplicate
    }

    /// The name of the member; within an object, its path: `device.name`.
    package let field: String
    package let reason: Reason

    package init(field: String, reason: Reason) {
        self.field = field
        self.reason = reason
    }
}
