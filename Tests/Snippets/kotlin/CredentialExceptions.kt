package androidx.credentials.exceptions

abstract class GetCredentialException(message: CharSequence?) : Exception(message?.toString())

class GetCredentialCancellationException(message: CharSequence? = null) : GetCredentialException(message)

class GetCredentialProviderConfigurationException(message: CharSequence? = null) : GetCredentialException(message)

class NoCredentialException(message: CharSequence? = null) : GetCredentialException(message)
