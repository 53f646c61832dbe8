import Foundation
import JOSE
import OpenSSL

/// Verifications per second on the path of a sign-in: the token as bytes in, checked claims out.
///
///     verify-bench mint DIRECTORY
///     verify-bench run RS256|ES256 SECONDS THREADS DIRECTORY
@main
enum VerifyBench {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        switch (arguments.first, arguments.count) {
        case ("mint", 2):
            try Mint().write(to: URL(filePath: arguments[2], directoryHint: .isDirectory))
        case ("run", 5):
            guard let algorithm = SignatureAlgorithm(rawValue: arguments[2]), let seconds = Double(arguments[3]),
                let threads = Int(arguments[4])
            else { throw Usage() }
            let run = try Run(algorithm, in: URL(filePath: arguments[5], directoryHint: .isDirectory))
            print(Int(try run.rate(for: seconds, threads: threads)))
        default:
            throw Usage()
        }
    }
}

struct Usage: Error, CustomStringConvertible {
    let description = "usage: verify-bench mint DIRECTORY | run RS256|ES256 SECONDS THREADS DIRECTORY"
}
