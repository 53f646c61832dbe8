@file:Suppress("UNUSED_PARAMETER", "unused")

package androidx.lifecycle

import kotlinx.coroutines.CoroutineScope

interface LifecycleOwner

abstract class ViewModel

// There is no `lifecycleScope`: it ends with each rotation, and what the documents call is not to be sent twice.
val ViewModel.viewModelScope: CoroutineScope get() = TODO()

fun interface Observer<T> {
    fun onChanged(value: T)
}

class MutableLiveData<T> {
    var value: T? = null

    fun observe(owner: LifecycleOwner, observer: Observer<in T>) {}
}

class SavedStateHandle {
    operator fun <T> get(key: String): T? = TODO()
    operator fun <T> set(key: String, value: T?) {}
    fun <T> remove(key: String): T? = TODO()
}
