@file:Suppress("UNUSED_PARAMETER", "unused")

package android.net

abstract class Uri {
    abstract fun buildUpon(): Builder
    fun getQueryParameter(key: String): String? = TODO()

    class Builder {
        fun appendQueryParameter(key: String, value: String): Builder = TODO()
        fun build(): Uri = TODO()
    }

    companion object {
        @JvmStatic fun parse(text: String): Uri = TODO()
    }
}
