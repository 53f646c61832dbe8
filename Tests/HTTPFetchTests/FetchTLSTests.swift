import Foundation
import HTTPFetch
import Testing

@Suite(.timeLimit(.minutes(1)))
struct FetchTLSTests {
    static let response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    @Test(arguments: [TLSPeer.Certificate.issued, .selfSigned])
    func `a certificate that proves the host is accepted`(certificate: TLSPeer.Certificate) async throws {
        let peer = try TLSPeer(certificate, .respond(Self.response))
        try await withFetcher {
            $0.caBundlePath = peer.authority
        } _: { fetcher in
            let response = try await fetcher.fetch(FetchRequest.patient(url: peer.url))
            #expect(response.status == 200)
            #expect(response.body == Array("ok".utf8))
        }
    }

    @Test(arguments: [TLSPeer.Certificate.issuedForAnotherHost, .selfSignedExpired])
    func `a certificate of a trusted authority for another host or another time is refused`(
        certificate: TLSPeer.Certificate
    ) async throws {
        let peer = try TLSPeer(certificate, .respond(Self.response))
        try await withFetcher {
            $0.caBundlePath = peer.authority
        } _: { fetcher in
            await #expect(throws: FetchError(.tls, requestSent: false)) {
                try await fetcher.fetch(FetchRequest.patient(url: peer.url))
            }
        }
    }

    @Test(arguments: [TLSPeer.Certificate.issued, .selfSigned])
    func `a certificate that nobody vouches for is refused`(certificate: TLSPeer.Certificate) async throws {
        let peer = try TLSPeer(certificate, .respond(Self.response))
        try await withFetcher { fetcher in
            await #expect(throws: FetchError(.tls, requestSent: false)) {
                try await fetcher.fetch(FetchRequest.patient(url: peer.url))
            }
        }
    }

    @Test
    func `an authority file that isn't there is no reason to trust`() async throws {
        let peer = try TLSPeer(.issued, .respond(Self.response))
        try await withFetcher {
            $0.caBundlePath = peer.authority + ".missing"
        } _: { fetcher in
            await #expect(throws: FetchError(.tls, requestSent: false)) {
                try await fetcher.fetch(FetchRequest.patient(url: peer.url))
            }
        }
    }

    @Test
    func `TLS without HTTP behind it is refused`() async throws {
        let peer = try TLSPeer(.issued, .respond("gibberish"))
        try await withFetcher {
            $0.caBundlePath = peer.authority
        } _: { fetcher in
            await #expect(throws: FetchError(.other, requestSent: true)) {
                try await fetcher.fetch(FetchRequest.patient(url: peer.url))
            }
        }
    }

    @Test
    func `a peer that offers HTTP 2 is spoken to in it`() async throws {
        let peer = try TLSPeer(.issued, .raw, protocols: "h2,http/1.1")
        // RFC 9113 §4.1: length, type, flags, stream; SETTINGS, its acknowledgement, HEADERS with `:status: 200` from
        // the static table (RFC 7541 appendix A, index 8), DATA that ends the stream.
        let answer: [UInt8] =
            [0, 0, 0, 4, 0, 0, 0, 0, 0] + [0, 0, 0, 4, 1, 0, 0, 0, 0]
            + [0, 0, 1, 1, 4, 0, 0, 0, 1, 0x88] + [0, 0, 2, 0, 1, 0, 0, 0, 1] + Array("ok".utf8)
        let exchange = Task.detached {
            peer.exchange(answering: answer) { Http2Frames(in: $0).types.contains(1) }
        }
        try await withFetcher {
            $0.caBundlePath = peer.authority
        } _: { fetcher in
            let response = try await fetcher.fetch(FetchRequest.patient(url: peer.url))
            #expect(response.status == 200)
            #expect(response.body == Array("ok".utf8))
        }
        #expect(Http2Frames(in: await exchange.value).types.contains(1))
    }
}

/// The types of the whole frames behind a client's connection preface (RFC 9113 §3.4).
private struct Http2Frames {
    let types: [UInt8]

    init(in bytes: [UInt8]) {
        var types: [UInt8] = []
        if let preface = bytes.firstRange(of: Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)) {
            var rest = bytes[preface.upperBound...]
            while rest.count >= 9 {
                let head = Array(rest.prefix(9))
                let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
                guard rest.count >= 9 + length else { break }
                types.append(head[3])
                rest = rest.dropFirst(9 + length)
            }
        }
        self.types = types
    }
}
