// Uses the blocks of docs/getting-started/calling.md. Scripts/snippets/calls.py is what it calls, and says with which URL.

import android.app.Activity
import android.content.Context
import androidx.credentials.ClearCredentialStateRequest
import androidx.credentials.CredentialManager
import androidx.credentials.GetCredentialRequest
import androidx.credentials.GetCredentialResponse
import androidx.credentials.exceptions.GetCredentialCancellationException
import androidx.credentials.exceptions.GetCredentialException
import androidx.credentials.exceptions.GetCredentialProviderConfigurationException
import androidx.credentials.exceptions.NoCredentialException
import java.io.IOException
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking

fun main(arguments: Array<String>): Unit = runBlocking {
    val api = arguments[0]
    val countersign = Countersign(api, "Kim’s phone")
    try {
        countersign.bind("ticket", Proof.Ticket)
        error("an answer that was never sent")
    } catch (failure: IOException) {
        println("no answer: $failure")
    }

    var stored: Session? = Session("session", "access-1", "refresh-1")
    val (one, other) = List(2) { Person(stored!!, countersign, { stored }, { stored = it }) }
    // Each time the access token has expired, once for a caller of a backend and once for three of the service.
    check(lamp(one, api) == "Kim’s lamp")
    countersign.call("POST", "/expire")
    other.call("GET", "/v1/account")
    countersign.call("POST", "/expire")
    List(3) { launch { one.call("GET", "/v1/account") } }.forEach { it.join() }
    check(stored == Session("session", "access-4", "refresh-4")) { "stored is $stored" }

    one.signOut()
    check(stored == null)
    check(!isSignedIn(other))
    // What another person has there is not theirs.
    stored = Session("another", "access-5", "refresh-5")
    other.signOut()
    check(stored?.sessionId == "another")

    check(!offersBrowser(GetCredentialCancellationException()))
    check(offersBrowser(NoCredentialException()))
    check(offersBrowser(GetCredentialProviderConfigurationException()))
}

/** Whether a sign-in by Google's sheet does, which ends so. */
private suspend fun offersBrowser(failure: GetCredentialException): Boolean {
    CredentialManager.made = object : CredentialManager {
        override suspend fun getCredential(context: Context, request: GetCredentialRequest): GetCredentialResponse =
            throw failure
        override suspend fun clearCredentialState(request: ClearCredentialStateRequest) {}
    }
    var isOffered = false
    check(idToken(Activity(), "client", "nonce") { isOffered = true } == null)
    return isOffered
}
