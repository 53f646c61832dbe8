@file:Suppress("UNUSED_PARAMETER", "unused")

package androidx.credentials

import android.content.Context
import android.os.Bundle

abstract class CredentialOption

abstract class Credential {
    val data: Bundle = TODO()
}

class GetCredentialRequest private constructor() {
    class Builder {
        fun addCredentialOption(option: CredentialOption): Builder = this
        fun build(): GetCredentialRequest = GetCredentialRequest()
    }
}

class GetCredentialResponse(val credential: Credential)

class ClearCredentialStateRequest

interface CredentialManager {
    suspend fun getCredential(context: Context, request: GetCredentialRequest): GetCredentialResponse
    suspend fun clearCredentialState(request: ClearCredentialStateRequest)

    companion object {
        lateinit var made: CredentialManager
        fun create(context: Context): CredentialManager = made
    }
}
