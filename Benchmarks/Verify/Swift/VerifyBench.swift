import Foundation
import JOSE
import OpenSSL

/// Verifications per second on the path of a sign-in: the token as bytes in, checked claims out. Signatures per second of
/// the same claims: claims in, ES256 token out.
///
///     verify-bench mint DIRECTORY
///     verify-bench run RS256|ES256 SECONDS THREADS DIRECTORY
///     verify-bench sign SECONDS
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
        case ("sign", 2):
            guard let seconds = Double(arguments[2]) else { throw Usage() }
            print(Int(try Mint().signatures(for: seconds)))
        default:
            throw Usage()
        }
    }
}

struct Usage: Error, CustomStringConvertible {
    let description = "usage: verify-bench mint DIRECTORY | run RS256|ES256 SECONDS THREADS DIRECTORY | sign SECONDS"
}
