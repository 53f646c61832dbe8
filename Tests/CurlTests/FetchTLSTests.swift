import Curl
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct FetchTLSTests {
    static let response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    @Test(arguments: [TLSPeer.Certificate.issued, .selfSigned])
    func `a certificate that proves the host is accepted`(certificate: TLSPeer.Certificate) async throws {
        let peer = try await TLSPeer(certificate, .respond(Self.response))
        try await withFetcher {
            $0.caBundlePath = peer.authority
        } _: { fetcher in
            let response = try await fetcher.fetch(.forTests(url: peer.url))
            #expect(response.status == 200)
            #expect(response.body == Array("ok".utf8))
        }
    }

    /// By the file of its own authority, of none, and of one that isn't there.
    @Test(
        arguments: [
            (.issuedForAnotherHost, ""), (.selfSignedExpired, ""), (.issued, nil), (.selfSigned, nil),
            (.issued, ".missing"),
        ] as [(TLSPeer.Certificate, String?)])
    func `a certificate for another host or time, or of an authority that isn't trusted, is refused`(
        certificate: TLSPeer.Certificate, ending: String?
    ) async throws {
        let peer = try await TLSPeer(certificate, .respond(Self.response))
        try await withFetcher {
            if let ending { $0.caBundlePath = peer.authority + ending }
        } _: { fetcher in
            await #expect(throws: FetchError(.tls, requestSent: false)) {
                try await fetcher.fetch(.forTests(url: peer.url))
            }
        }
    }

    @Test func `TLS without HTTP behind it is refused`() async throws {
        let peer = try await TLSPeer(.issued, .respond("gibberish"))
        try await withFetcher {
            $0.caBundlePath = peer.authority
        } _: { fetcher in
            await #expect(throws: FetchError(.other, requestSent: true)) {
                try await fetcher.fetch(.forTests(url: peer.url))
            }
        }
    }

    @Test func `requests to a peer that offers HTTP 2 share one connection`() async throws {
        // The peer serves one connection at a time: a second one would wait for ever.
        let peer = try await TLSPeer(.issued, .raw, protocols: "h2,http/1.1")
        // RFC 9113 §4.1: length, type, flags, stream. SETTINGS and its acknowledgement; for streams 1 and 3 HEADERS
        // with `:status: 200` from the static table (RFC 7541 appendix A, index 8) and DATA that ends the stream.
        var answer: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0] + [0, 0, 0, 4, 1, 0, 0, 0, 0]
        for stream: UInt8 in [1, 3] {
            answer += [0, 0, 1, 1, 4, 0, 0, 0, stream, 0x88] + [0, 0, 2, 0, 1, 0, 0, 0, stream] + Array("ok".utf8)
        }
        // Curl opens the second stream when the peer's first SETTINGS have come.
        let settings = Array(answer[..<9])
        let rest = Array(answer[9...])
        let exchange = Task.detached {
            let first = await peer.exchange(answering: settings) { hasRequest(on: 1, in: $0) }
            return await peer.exchange(after: first, answering: rest) { hasRequest(on: 3, in: $0) }
        }
        try await withFetcher {
            $0.caBundlePath = peer.authority
        } _: { fetcher in
            async let one = fetcher.fetch(.forTests(url: peer.url))
            async let two = fetcher.fetch(.forTests(url: peer.url))
            for response in [try await one, try await two] {
                #expect(response.status == 200)
                #expect(response.body == Array("ok".utf8))
            }
        }
        let received = await exchange.value
        #expect(received.firstRange(of: Array("PRI * HTTP/2.0\r\n".utf8)) != nil)
        #expect(hasRequest(on: 3, in: received))
    }

    @Test func `a connection on which a request had no answer serves no other one`() async throws {
        let peer = try await TLSPeer(.issued, .raw, protocols: "h2")
        // As above; one that answers its first request, and no other.
        let answer: [UInt8] =
            [0, 0, 0, 4, 0, 0, 0, 0, 0] + [0, 0, 0, 4, 1, 0, 0, 0, 0] + [0, 0, 1, 1, 4, 0, 0, 0, 1, 0x88]
            + [0, 0, 2, 0, 1, 0, 0, 0, 1] + Array("ok".utf8)
        let exchange = Task.detached {
            for _ in 1...2 {
                _ = await peer.exchange(answering: answer) { bytes in
                    bytes.firstRange(of: Array("PRI * HTTP/2.0\r\n".utf8)) != nil && hasRequest(on: 1, in: bytes)
                }
            }
        }
        try await withFetcher {
            $0.caBundlePath = peer.authority
        } _: { fetcher in
            let first = try await fetcher.fetch(.forTests(url: peer.url))
            await #expect(throws: FetchError.self) {
                try await fetcher.fetch(.forTests(url: peer.url, timeout: .milliseconds(300)))
            }
            let next = try await fetcher.fetch(.forTests(url: peer.url))
            #expect(first.status == 200 && next.status == 200)
        }
        await exchange.value
    }
}

/// Whether a request has come on this stream: the type of a HEADERS frame, its flags with END_STREAM and END_HEADERS,
/// and the stream (RFC 9113 §6.2). Searched for rather than parsed up to: `s_server` prints its own remarks between.
private func hasRequest(on stream: UInt8, in bytes: [UInt8]) -> Bool {
    bytes.indices.dropLast(5).contains { index in
        bytes[index] == 1 && bytes[index + 1] & 5 == 5 && bytes[(index + 2)...].starts(with: [0, 0, 0, stream])
    }
}
