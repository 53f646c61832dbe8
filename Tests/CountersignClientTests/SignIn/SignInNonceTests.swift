import Foundation
import Testing

@testable import CountersignClient

@Suite struct SignInNonceTests {
    /// FIPS 180-2, appendix B.1, and a hash whose bytes begin with zeros.
    @Test(arguments: [
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ("886", "000f21ac06aceb9cdd0575e82d0d85fc39bed0a7a1d71970ba1641666a44f530"),
    ]) func `a request to Apple carries the nonce's SHA-256 in hexadecimal`(_ value: String, _ hash: String) {
        let nonce = SignInNonce(value: value, expiresAt: Date(timeIntervalSince1970: 0))
        #expect(nonce.hashedValue == hash)
    }
}
