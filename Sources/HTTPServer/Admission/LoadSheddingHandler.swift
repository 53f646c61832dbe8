import NIOCore

/// Refuses for overload what can be refused by its bytes, before anything is decoded.
///
/// Of three times as many requests as can be answered two thirds are refused, and what a refusal costs is taken from those
/// that are answered: two fifths of it are the decoder and what stands behind it, whose memory is seldom in the
/// processor's cache when so many connections are open. The gate knows a request that comes in one piece, and the next one
/// behind a body in pieces. Whatever it is not sure of goes on to the decoder, and is refused behind it.
final class LoadSheddingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// Where the decoder is, as far as the bytes tell.
    private enum Position {
        case betweenRequests
        case inBody(missingBytes: Int)
        /// Something was not plain. What follows can't be told from its bytes, as long as the connection lasts.
        case unknown
    }

    private let refusals: PrebuiltRejections
    private let connection: ConnectionHandler
    private var position = Position.betweenRequests

    init(refusals: PrebuiltRejections, connection: ConnectionHandler) {
        self.refusals = refusals
        self.connection = connection
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        switch position {
        case .betweenRequests:
            guard let request = RequestPeek(bytes.readableBytesUInt8Span, limits: refusals.limits) else {
                position = .unknown
                break
            }
            if request.missingBytes > 0 {
                position = .inBody(missingBytes: request.missingBytes)
            } else if connection.isIdle,
                let reply = refusals.refusal(of: request, in: bytes.readableBytesUInt8Span)
            {
                connection.reject(with: reply)
                return
            }
        case .inBody(let missingBytes):
            switch missingBytes - bytes.readableBytes {
            case 0: position = .betweenRequests
            case let rest where rest > 0: position = .inBody(missingBytes: rest)
            default: position = .unknown
            }
        case .unknown: break
        }
        context.fireChannelRead(data)
    }
}
