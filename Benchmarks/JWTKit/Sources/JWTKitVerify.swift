import Foundation
import JWTKit

/// The verification of the same tokens by jwt-kit and its own type for Apple's identity tokens.
///
///     jwtkit-verify RS256|ES256 SECONDS DIRECTORY        prints verifications per second
@main
enum JWTKitVerify {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let seconds = Double(arguments[2]) else {
            throw Usage()
        }
        let directory = URL(filePath: arguments[3], directoryHint: .isDirectory)
        let document = try String(contentsOf: directory.appending(path: "jwks.json"), encoding: .utf8)
        let keys = try await JWTKeyCollection().add(jwksJSON: document)
        let text = try Data(contentsOf: directory.appending(path: "\(arguments[1]).tokens"))
        let tokens = text.split(separator: UInt8(ascii: "\n")).map { Array($0) }

        let clock = ContinuousClock()
        let start = clock.now
        let end = start.advanced(by: .seconds(seconds))
        var count = 0
        while clock.now < end {
            for token in tokens {
                let claims = try await keys.verify(token, as: AppleIdentityToken.self)
                try claims.audience.verifyIntendedAudience(includes: "com.example.countersign.ios")
            }
            count += tokens.count
        }
        print(Int(Double(count) / ((clock.now - start) / .seconds(1))))
    }
}

struct Usage: Error, CustomStringConvertible {
    let description = "usage: jwtkit-verify RS256|ES256 SECONDS DIRECTORY"
}
