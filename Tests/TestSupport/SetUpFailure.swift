/// What a fixture lacks or could not do.
package struct SetUpFailure: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
