import Foundation
import JOSE
import OpenSSL
import TestSupport
import Testing

/// Tokens that are meant to be expensive to refuse. Each runs in a process of its own, so that the memory measured is
/// its own.
@Suite struct TokenBombTests {
    /// Bytes of memory in use, from the kernel.
    private static func residentMemory() throws -> Int {
        let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return try #require(Int(fields[1])) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// Refuses `token` ten thousand times with less than 5 ms each and 8 MiB in all.
    private static func expectCheap(_ token: [UInt8], _ expected: TokenRejection) throws {
        let keys = try TokenMint.shared.keySet
        for _ in 0..<100 { _ = rejection(of: token, by: keys) }
        let before = try residentMemory()
        let start = ContinuousClock.now
        var refused = 0
        for _ in 0..<10_000 where rejection(of: token, by: keys) == expected { refused += 1 }
        let time = ContinuousClock.now - start
        #expect(refused == 10_000)
        #expect(time < .milliseconds(5) * 10_000)
        #expect(try residentMemory() - before < 8 << 20)
    }

    @Test func `a megabyte of periods costs nothing`() async {
        await #expect(processExitsWith: .success) {
            try Self.expectCheap([UInt8](repeating: UInt8(ascii: "."), count: 1_000_000), .tooLarge)
        }
    }

    @Test func `sixteen KiB of periods cost next to nothing`() async {
        await #expect(processExitsWith: .success) {
            try Self.expectCheap([UInt8](repeating: UInt8(ascii: "."), count: 16_384), .malformed)
            try Self.expectCheap([UInt8](repeating: UInt8(ascii: "."), count: 16_385), .tooLarge)
        }
    }

    @Test func `a header of two megabytes costs nothing`() async {
        await #expect(processExitsWith: .success) {
            let mint = try TokenMint.shared
            let header = mint.header(.rs256).with("kid", .string(String(repeating: "k", count: 2_000_000)))
            try Self.expectCheap(mint.token(["sub": "subject"], header: header), .tooLarge)
        }
    }

    @Test func `a token of 17 KiB costs nothing`() async {
        await #expect(processExitsWith: .success) {
            let claims: TokenMint.Members = ["sub": .string(String(repeating: "s", count: 12_000))]
            let token = try TokenMint.shared.token(claims)
            #expect(token.count > 16_384)
            try Self.expectCheap(token, .tooLarge)
        }
    }

    @Test(arguments: [9, 513, 10_000])
    func `a header of brackets costs next to nothing`(depth: Int) async {
        await #expect(processExitsWith: .success) { [depth] in
            let header = [UInt8](repeating: UInt8(ascii: "["), count: depth)
            let token = try TokenMint.shared.token(header: header, payload: [UInt8]("{}".utf8))
            try Self.expectCheap(token, depth < 1_000 ? .malformed : .tooLarge)
        }
    }

    @Test func `a signed payload of brackets is refused`() throws {
        let mint = try TokenMint.shared
        for depth in [9, 513, 9_216] {
            let payload = [UInt8](repeating: UInt8(ascii: "["), count: depth)
            let token = try mint.token(header: mint.header(.es256).bytes, payload: payload, by: .es256)
            #expect(rejection(of: token, by: mint.keySet) == .malformed)
        }
    }
}
