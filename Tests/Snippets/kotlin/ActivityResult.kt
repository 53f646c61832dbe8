package androidx.activity.result

interface ActivityResultCaller

abstract class ActivityResultLauncher<I>
