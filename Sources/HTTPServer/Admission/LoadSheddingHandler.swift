import NIOCore

/// The first handler of a connection: it rejects requests for overload by their bytes, before they are decoded.
///
/// At three times the capacity two thirds of the requests are rejected, and the CPU time of each rejection is lost to
/// the requests that are admitted. Two fifths of that time are the decoder and the handlers behind it, whose memory is
/// seldom in the processor's cache when so many connections are open. This handler recognises a request that arrives in
/// one piece, and the next one after a body in pieces. Everything else goes to the decoder, and is rejected behind it.
final class LoadSheddingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The position in the stream of requests, as far as the bytes show it.
    private enum Position {
        case betweenRequests
        case inBody(missingBytes: Int)
        /// A request was not plain. Where the next one begins can't be seen for the rest of the connection.
        case unknown
    }

    private let rejections: PrebuiltRejections
    private let connection: ConnectionHandler
    private var position = Position.betweenRequests

    init(rejections: PrebuiltRejections, connection: ConnectionHandler) {
        self.rejections = rejections
        self.connection = connection
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        connection.willDecode(bytes.readableBytes)
        switch position {
        case .betweenRequests:
            guard let request = RequestPeek(bytes.readableBytesUInt8Span, limits: rejections.limits) else {
                position = .unknown
                break
            }
            if request.missingBytes > 0 {
                position = .inBody(missingBytes: request.missingBytes)
            } else if connection.isIdle,
                let response = rejections.rejection(of: request, in: bytes.readableBytesUInt8Span)
            {
                connection.reject(with: response)
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
