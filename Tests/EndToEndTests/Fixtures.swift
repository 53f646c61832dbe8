import TestSupport

/// The tables in the folder of this name.
enum Fixtures { static func file(_ name: String) throws -> DataFile { try DataFile("Fixtures/\(name)") } }
