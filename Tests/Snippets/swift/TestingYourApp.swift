// What the article leaves to the app.
import CountersignClient
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

func given<Value>() -> Value { fatalError() }

let client = SignInClient(baseURL: given(), store: InMemorySessionStore())
