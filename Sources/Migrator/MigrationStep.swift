/// One migration run, or to be run, in one direction.
package struct MigrationStep: Sendable, Equatable {
    package enum Direction: String, Sendable {
        case up
        case down
    }

    package let label: String
    package let direction: Direction
}
