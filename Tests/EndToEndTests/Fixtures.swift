import Foundation

/// The tables in the folder of this name.
enum Fixtures {
    static func decoded<Value: Decodable>(_ name: String, as type: Value.Type = Value.self) throws -> Value {
        try JSONDecoder().decode(type, from: Data(text(name).utf8))
    }

    static func text(_ name: String) throws -> String {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures")
        return try String(contentsOf: folder.appending(path: name), encoding: .utf8)
    }
}
